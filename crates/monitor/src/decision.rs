//! What was found out about one part of a history, and by whom, before it is replayed or confirmed.

use crate::choose;
use crate::fast::{Declined, Object};
use crate::search::dovetail::Finding;
use seriatim_spec::{Claim, Confirmation, Counterexample, DecidedBy};

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
        }
    }
}
