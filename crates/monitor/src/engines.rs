//! What the engines find out about each part: first a look for results that nothing explains, then
//! the fast monitor of the object, then the versions that results tell, then the general search.
//!
//! An engine that does not apply leaves the part to the next one; the last one is exact for every
//! specification. What is found here is not yet believed: orders are replayed
//! ([`replay_parts`](crate::replay_parts)), violations confirmed ([`grounds`](crate::grounds)).

use crate::decision::Decision;
use crate::fast::{self, Budget, Declined};
use crate::options::{Monitors, Options};
use crate::partition::Part;
use crate::search::Memory;
use crate::search::dovetail::{self, Finding, Plan, Rival, StopAt};
use crate::versions::{self, Answer, Confirmed};
use crate::whole::{Monitor, ask_first};
use seriatim_history::{History, Horizon, OpId};
use seriatim_limits::InOrder;
use seriatim_spec::{
    Cancel, ClassId, Confirmation, Counterexample, DecidedBy, Explanation, Interpretation, Reader,
    Refutation, Stopped, refute,
};
use std::cell::RefCell;

pub(crate) struct Job<'j> {
    pub history: &'j History,
    pub reader: &'j dyn Reader,
    pub reading: &'j Interpretation,
    pub options: &'j Options<'j>,
    pub monitor: Monitor,
    /// Why the monitor declined the history as a whole, if it was asked.
    pub declined: Option<Declined>,
    pub cancel: Cancel,
    pub memory: Memory,
}

impl Job<'_> {
    /// What the engines find out about each part, and the number of configurations met.
    pub fn run(&self, parts: &[Part]) -> (Vec<Decision>, usize) {
        let mut decisions: Vec<Decision> = vec![Decision::default(); parts.len()];
        self.inspect(parts, &mut decisions);
        self.ask_monitor(parts, &mut decisions);
        self.follow_versions(parts, &mut decisions);
        let configurations = self.search(parts, &mut decisions);
        (decisions, configurations)
    }

    /// Whether enough is known.
    fn is_over(&self, decisions: &[Decision]) -> bool {
        decisions.iter().any(|decision| self.is_last(decision))
    }

    /// Whether nothing need be known besides: it is a violation, and the first one ends the check.
    fn is_last(&self, decision: &Decision) -> bool {
        self.options.stop_at == StopAt::FirstViolation
            && decision.finding == Some(Finding::Violation)
    }

    /// Asks the fast monitor about each part that is not decided yet.
    fn ask_monitor(&self, parts: &[Part], decisions: &mut [Decision]) {
        let object = match &self.monitor {
            Monitor::Ready(object) => *object,
            Monitor::Unfit(reason) => {
                return decisions
                    .iter_mut()
                    .for_each(|decision| decision.fell_back = Some(reason.clone()));
            }
            Monitor::Unwanted => return,
        };
        if self.is_over(decisions) {
            return;
        }
        for (index, part) in parts.iter().enumerate() {
            if decisions[index].finding.is_some() {
                continue;
            }
            let is_whole = part.operations.len() == self.history.len();
            let asked = fast::Part::of(self.history, &part.operations);
            let answer = match &self.declined {
                Some(declined) if is_whole => Err(declined.clone()),
                _ => match self.cancel.during(|| ask_first(object, asked)) {
                    Ok(answer) => answer,
                    // Nobody knows, and nobody has the time to find out.
                    Err(Stopped(_)) => return,
                },
            };
            decisions[index] = Decision::of(object, answer);
            if self.is_last(&decisions[index]) {
                return;
            }
        }
    }

    /// Asks the monitor about a part for which it needs longer, while the search takes turns.
    fn ask_beside(&self, part: &Part, budget: &dyn Budget) -> Decision {
        let Monitor::Ready(object) = self.monitor else { return Decision::default() };
        let asked = fast::Part::of(self.history, &part.operations);
        Decision::of(object, fast::check(object, asked.within(budget)))
    }

    /// Decides along their versions the parts that tell them.
    fn follow_versions(&self, parts: &[Part], decisions: &mut [Decision]) {
        if self.options.monitors == Monitors::Skip || self.is_over(decisions) {
            return;
        }
        for (index, part) in parts.iter().enumerate() {
            if decisions[index].finding.is_some() {
                continue;
            }
            let operations = &part.operations;
            let ask = || versions::decide(self.history, self.reading, operations, &self.cancel);
            // If there is no time to find out, there is none to search either.
            let Ok(answer) = self.cancel.during(ask) else { return };
            decisions[index] = match answer {
                Answer::NoVersions => return,
                Answer::Declined(why) => Decision::fallen_back(why),
                Answer::Linearizable(versions) => {
                    let order = versions.iter().map(|&(op, _)| op).collect();
                    let finding = Some(Finding::Linearizable(order));
                    Decision { finding, decided_by: BY_VERSIONS, versions, ..Decision::default() }
                }
                Answer::Violation(core, confirmed) => {
                    match self.second_look(operations, confirmed) {
                        Some(sure) => Decision {
                            confirmation: Some(sure),
                            ..Decision::violation(BY_VERSIONS, core)
                        },
                        None => Decision::fallen_back(LYING_VERSIONS.to_owned()),
                    }
                }
            };
            if self.is_last(&decisions[index]) {
                return;
            }
        }
    }

    /// What the plainest search says of a part that is wrong by its versions; `None` if it finds an
    /// order.
    fn second_look(&self, part: &[OpId], confirmed: Confirmed) -> Option<Confirmation> {
        let by_search = match confirmed {
            Confirmed::Yes => Confirmation::Engine("the general search, given the versions"),
            Confirmed::No => Confirmation::None,
        };
        if part.len() > SMALL_PART {
            return Some(by_search);
        }
        let mut excerpt = self.history.restricted(part, Horizon::Whole);
        let refuted = || refute(&mut excerpt, self.reader, SMALL_EFFORT);
        match self.cancel.patient().during(refuted) {
            Ok(Ok(Refutation::Confirmed)) => Some(Confirmation::Whole),
            Ok(Ok(Refutation::Contradicted)) => None,
            Ok(Ok(Refutation::TooLarge) | Err(_)) | Err(Stopped(_)) => Some(by_search),
        }
    }

    /// Searches the parts that are not decided yet; gives the number of configurations met.
    fn search(&self, parts: &[Part], decisions: &mut [Decision]) -> usize {
        if self.is_over(decisions) {
            return 0;
        }
        // The smallest first: an easy violation shows at once.
        let mut order: Vec<usize> =
            (0..parts.len()).filter(|&index| decisions[index].finding.is_none()).collect();
        order.put_in_order_by_key(|&index| parts[index].operations.len());
        let operations: Vec<Vec<OpId>> =
            order.iter().map(|&index| parts[index].operations.clone()).collect();
        let slow: Vec<usize> =
            (0..order.len()).filter(|&place| decisions[order[place]].is_slow).collect();
        let answers = RefCell::new(Vec::new());
        let ask = |place: usize, budget: &dyn Budget| {
            let decision = self.ask_beside(&parts[order[place]], budget);
            let finding = decision.finding.clone();
            answers.borrow_mut().push((order[place], decision));
            finding
        };
        let plan = Plan {
            history: self.history,
            reading: self.reading,
            parts: &operations,
            strategies: &self.options.strategies,
            threads: self.options.threads,
            stop_at_first: self.options.stop_at,
            cancel: &self.cancel,
            memory: &self.memory,
            observer: self.options.observer,
        };
        let outcome = dovetail::run(&plan, &Rival { parts: &slow, decide: &ask });
        let found = outcome.findings.into_iter().zip(outcome.strategies);
        for (&index, (finding, strategy)) in order.iter().zip(found) {
            decisions[index].decided_by = match finding {
                Finding::Open(..) => DecidedBy::Nobody,
                _ => DecidedBy::Search(strategy),
            };
            decisions[index].finding = Some(finding);
        }
        for (index, decision) in answers.into_inner() {
            if decision.finding.is_some() && decision.finding == decisions[index].finding {
                decisions[index] = decision;
            } else {
                decisions[index].fell_back = decision.fell_back;
            }
        }
        outcome.configurations
    }

    /// Looks for a result that nothing in its part can explain.
    fn inspect(&self, parts: &[Part], decisions: &mut [Decision]) {
        for (part, decision) in parts.iter().zip(decisions) {
            let classes: Vec<ClassId> =
                part.operations.iter().filter_map(|&op| self.reading.class(op)).collect();
            let Some((class, reason)) = self.reading.alphabet.inexplicable(&classes) else {
                continue;
            };
            let mut culprits = part.operations.iter().copied();
            let culprit = culprits.find(|&op| self.reading.class(op) == Some(class));
            let Some(culprit) = culprit else { continue };
            let sentence = format!("{} cannot be: {reason}", self.history.operation(culprit));
            let core = Counterexample {
                operations: vec![culprit],
                horizon: Horizon::Whole,
                context: None,
                explanation: Explanation::because(sentence),
            };
            *decision = Decision::violation(DecidedBy::Inspection, core);
            if self.options.stop_at == StopAt::FirstViolation {
                return;
            }
        }
    }
}

/// Who decides histories along their versions.
pub(crate) const BY_VERSIONS: DecidedBy = DecidedBy::Monitor("versions");

/// What is wrong with an object whose history is refuted along the versions, and not by brute
/// force.
pub(crate) const LYING_VERSIONS: &str = "the object does not have the versions that it declares";

/// The largest part that brute force looks at after it was refuted along the versions, and its
/// effort.
pub(crate) const SMALL_PART: usize = 400;
pub(crate) const SMALL_EFFORT: usize = 20_000;
