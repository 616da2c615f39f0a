//! What was found out about one part of a history, and by whom, before it is replayed or confirmed.

use crate::choose;
use crate::fast::{Declined, Object};
use crate::partition::Part;
use crate::search::dovetail::Finding;
use seriatim_history::OpId;
use seriatim_spec::{
    Claim, Confirmation, Counterexample, DecidedBy, Limit, PartStanding, PartVerdict, Unknown,
};

/// What was found out about a part.
#[derive(Clone)]
pub(crate) struct Decision {
    pub finding: Option<Finding>,
    pub decided_by: DecidedBy,
    pub fell_back: Option<String>,
    /// The monitor was stopped since it took long.
    pub is_slow: bool,
    /// The counterexample, where whoever found the violation gave one.
    pub core: Option<Counterexample>,
    /// The second opinion, where whoever found the violation asked for it.
    pub confirmation: Option<Confirmation>,
    /// The version of the object behind each operation of an order, where whoever found it knows.
    pub versions: Vec<(OpId, u64)>,
}

impl Decision {
    pub fn is_linearizable(&self) -> bool {
        matches!(self.finding, Some(Finding::Linearizable(_)))
    }

    pub fn violation(decided_by: DecidedBy, core: Counterexample) -> Self {
        let (finding, core) = (Some(Finding::Violation), Some(core));
        Decision { finding, decided_by, core, ..Decision::default() }
    }

    /// What a monitor's answer says of a part.
    pub fn of(object: Object, answer: Result<Claim, Declined>) -> Self {
        let decided_by = DecidedBy::Monitor(choose::name(object));
        match answer {
            Ok(Claim::Linearizable(witness)) => {
                let finding = Some(Finding::Linearizable(witness.order));
                Decision { finding, decided_by, ..Decision::default() }
            }
            Ok(Claim::Violation(core)) => Decision::violation(decided_by, core),
            Err(declined) => {
                let is_slow = declined == Declined::Stopped;
                Decision { fell_back: Some(declined.to_string()), is_slow, ..Decision::default() }
            }
        }
    }

    /// What is told of a part.
    pub fn told(self, part: &Part) -> PartVerdict {
        PartVerdict {
            label: part.label.clone(),
            operations: part.operations.len(),
            standing: match self.finding {
                Some(Finding::Linearizable(_)) => PartStanding::Linearizable,
                Some(Finding::Violation) => PartStanding::Violation,
                Some(Finding::Open(..)) | None => PartStanding::Open,
            },
            decided_by: self.decided_by,
            fell_back: self.fell_back,
        }
    }

    pub fn fallen_back(why: String) -> Self {
        Decision { fell_back: Some(why), ..Decision::default() }
    }
}

impl Default for Decision {
    fn default() -> Self {
        Decision {
            finding: None,
            decided_by: DecidedBy::Nobody,
            fell_back: None,
            is_slow: false,
            core: None,
            confirmation: None,
            versions: Vec::new(),
        }
    }
}

/// Nobody knows, because the checker of an answer rejects it.
pub(crate) fn rejected(defect: Option<String>) -> Unknown {
    let limit = Limit::Defect;
    Unknown { limit, linearizable_events: 0, decided: Vec::new(), open: Vec::new(), defect }
}

/// What is known where some parts are open.
pub(crate) fn unknown(parts: &[Part], decisions: &[Decision]) -> Unknown {
    let limit = decisions.iter().find_map(|decision| match decision.finding {
        Some(Finding::Open(limit, _)) => Some(limit),
        _ => None,
    });
    let mut unknown = Unknown { limit: limit.unwrap_or(Limit::Defect), ..rejected(None) };
    for (part, decision) in parts.iter().zip(decisions) {
        match decision.finding {
            Some(Finding::Open(_, events)) => {
                unknown.linearizable_events += events;
                unknown.open.push(part.label.clone());
            }
            None | Some(Finding::Violation) => unknown.open.push(part.label.clone()),
            Some(Finding::Linearizable(_)) => unknown.decided.push(part.label.clone()),
        }
    }
    unknown
}
