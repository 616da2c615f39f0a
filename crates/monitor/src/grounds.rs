//! What a violation rests on: its counterexample, made small, and a second opinion on it.
//!
//! An engine's violation is minimised ([`minimise`]) and confirmed ([`confirm`]). A reduction that
//! the second opinion contradicts is dropped, and what the engine found stands alone; if that is
//! contradicted as well, only brute force on the whole part can still convict it. *It would be
//! unsound* to print a violation for which somebody finds an order: the part is then open.

use crate::confirm::{Asked, Contradiction, Means, confirm};
use crate::decision::Decision;
use crate::fast::Object;
use crate::minimise::{Shrinker, illustrate, minimise};
use crate::options::{Detail, Options};
use crate::partition::Part;
use crate::search::Memory;
use crate::search::dovetail::Finding;
use seriatim_history::{History, Horizon, InputError, OpId};
use seriatim_spec::{
    Cancel, Confirmation, Counterexample, DecidedBy, Explanation, LeftOut, Limit, Reader,
};

/// Whoever is asked about a violation after an engine has found it.
pub(crate) struct Witnesses<'w> {
    pub history: &'w History,
    pub reader: &'w dyn Reader,
    pub options: &'w Options<'w>,
    pub object: Option<Object>,
}

/// What a violation rests on.
pub(crate) struct Grounds {
    pub core: Counterexample,
    pub confirmation: Confirmation,
    pub left_out: LeftOut,
    /// What is wrong with the way in which it was to be made small.
    pub defect: Option<String>,
}

impl Witnesses<'_> {
    /// The grounds of the first part that is violated. A part whose violation is contradicted is
    /// open, and the next one is looked at.
    pub fn violation(
        &self,
        parts: &[Part],
        decisions: &mut [Decision],
        defect: &mut Option<String>,
    ) -> Result<Option<Grounds>, InputError> {
        for (part, decision) in parts.iter().zip(decisions) {
            if decision.finding != Some(Finding::Violation) {
                continue;
            }
            let core = decision.core.take().unwrap_or_else(|| whole(&part.operations));
            if let Some(confirmation) = decision.confirmation {
                let by_monitor = part.operations.len() - core.operations.len();
                let left_out = LeftOut { by_monitor, ..LeftOut::default() };
                return Ok(Some(Grounds { core, confirmation, left_out, defect: None }));
            }
            match self.grounds(&part.operations, &decision.decided_by, core)? {
                Ok(grounds) => return Ok(Some(grounds)),
                Err(Contradiction) => {
                    decision.finding = Some(Finding::Open(Limit::Defect, 0));
                    *defect = Some(CONTRADICTED.to_owned());
                }
            }
        }
        Ok(None)
    }

    /// Makes a violation small, as far as that is wanted, and asks for a second opinion. A
    /// reduction that is contradicted is a defect and is not made. If what the engine found is
    /// contradicted, too, only the plainest search can still convict the part.
    pub fn grounds(
        &self,
        part: &[OpId],
        decided_by: &DecidedBy,
        mut found: Counterexample,
    ) -> Result<Result<Grounds, Contradiction>, InputError> {
        let by_monitor = part.len() - found.operations.len();
        let mut unfair = None;
        let is_reduced = self.options.detail == Detail::Minimal
            && *decided_by != DecidedBy::Inspection
            && !self.options.is_interrupted();
        if is_reduced {
            let cancel = self.options.request().within(self.options.explain);
            let memory = Memory::new(self.options.memory);
            let mut shrinker = Shrinker::new(self.history, self.reader, part, &cancel, &memory);
            shrinker.object = self.object;
            let (core, mut left_out) =
                Cancel::undisturbed(|| minimise(&mut shrinker, found.clone()));
            left_out.by_monitor = by_monitor;
            if let Ok(confirmation) = self.second_opinion(part, decided_by, &core)? {
                return Ok(Ok(Grounds { core, confirmation, left_out, defect: None }));
            }
            unfair = Some(UNFAIR.to_owned());
        }
        if self.options.detail == Detail::Minimal {
            let mut shown = found.clone();
            let illustrated = || illustrate(self.history, self.reader, &mut shown);
            if self.options.request().patient().during(illustrated).is_ok() {
                found = shown;
            }
        }
        let left_out = LeftOut { by_monitor, ..LeftOut::default() };
        if let Ok(confirmation) = self.second_opinion(part, decided_by, &found)? {
            return Ok(Ok(Grounds { core: found, confirmation, left_out, defect: unfair }));
        }
        let all = whole(part);
        Ok(match self.second_opinion(part, decided_by, &all)? {
            Ok(confirmation @ Confirmation::Whole) => {
                let (left_out, defect) = (LeftOut::default(), Some(UNFAIR.to_owned()));
                Ok(Grounds { core: all, confirmation, left_out, defect })
            }
            _ => Err(Contradiction),
        })
    }

    fn second_opinion(
        &self,
        part: &[OpId],
        decided_by: &DecidedBy,
        core: &Counterexample,
    ) -> Result<Result<Confirmation, Contradiction>, InputError> {
        let means = match self.options.detail {
            Detail::Plain => Means { operations: 2_000, configurations: 500, expansions: 3_000 },
            Detail::Minimal => {
                Means { operations: 20_000, configurations: 100_000, expansions: 100_000 }
            }
        };
        let ask = || confirm(self.history, self.reader, &Asked { part, core, decided_by }, means);
        self.options.request().patient().during(ask).unwrap_or(Ok(Ok(Confirmation::None)))
    }
}

/// Why operations are a violation, where nothing more can be said.
pub(crate) const NO_ORDER: &str = "no order explains these operations";

/// A part that is violated, all of it.
pub(crate) fn whole(part: &[OpId]) -> Counterexample {
    Counterexample {
        operations: part.to_vec(),
        horizon: Horizon::Whole,
        context: None,
        explanation: Explanation::because(NO_ORDER),
    }
}

/// What is wrong with an engine's violation.
pub(crate) const CONTRADICTED: &str =
    "the second checker finds an order for what is called a violation";

/// What is wrong with a counterexample that was made small; the violation stands without it.
pub(crate) const UNFAIR: &str =
    "the second checker finds an order for a counterexample that was made small";
