//! A history that the fast monitor of its object decides as a whole, without its being split or
//! interpreted first: for long histories that is half the time and most of the memory.
//!
//! *Precondition.* There is a monitor for the object, there are neither failed operations nor
//! several objects, and every record can be read ([`vet`]). Else the parts are looked at one by
//! one.

use crate::choose;
use crate::confirm::Contradiction;
use crate::decision::rejected;
use crate::fast::{self, Allowance, Declined, Object, part_allowance};
use crate::grounds::{CONTRADICTED, Witnesses};
use crate::options::{Monitors, Options};
use crate::replay_parts::replay_filled;
use crate::vet;
use seriatim_history::{History, InputError, OpId};
use seriatim_spec::{
    Cancel, Checked, Claim, DecidedBy, LeftOut, Limit, PartStanding, PartVerdict, Reader, Stopped,
    Unknown, Verdict,
};

/// Whether a fast monitor can be asked.
pub(crate) enum Monitor {
    /// That of this object.
    Ready(Object),
    /// None fits, for this reason.
    Unfit(String),
    /// None is wanted, or the specification is not a built-in one.
    Unwanted,
}

/// What the monitor said of a whole history.
pub(crate) enum Whole {
    /// It claims this of the one part that the history is.
    Decided(DecidedWhole),
    /// It declined, for this reason.
    Declined(Declined),
    /// It was stopped.
    Stopped(Limit),
    /// The parts have to be looked at.
    NotAsked,
}

impl Monitor {
    pub fn object(&self) -> Option<Object> {
        match self {
            Monitor::Ready(object) => Some(*object),
            Monitor::Unfit(_) | Monitor::Unwanted => None,
        }
    }

    pub fn of(history: &mut History, reader: &dyn Reader, options: &Options<'_>) -> Self {
        match (options.monitors, reader.chosen()) {
            (Monitors::Use, Some(chosen)) => {
                choose::object(chosen, history).map_or_else(Monitor::Unfit, Monitor::Ready)
            }
            _ => Monitor::Unwanted,
        }
    }

    /// The verdict on a whole history, without interpreting it first: for long histories that is
    /// half the time and most of the memory.
    pub fn check_whole(
        &self,
        history: &History,
        reader: &dyn Reader,
        threads: usize,
        cancel: &Cancel,
    ) -> Whole {
        let Monitor::Ready(object) = *self else { return Whole::NotAsked };
        let is_plain = !history.has_failures() && !history.has_objects();
        if history.is_empty() || !is_plain || !vet::is_readable(history, reader, threads) {
            return Whole::NotAsked;
        }
        let claim =
            match cancel.during(|| ask_first(object, fast::Part::on(history, None, threads))) {
                Ok(Ok(claim)) => claim,
                Ok(Err(declined)) => return Whole::Declined(declined),
                Err(Stopped(reason)) => return Whole::Stopped(reason.into()),
            };
        let part = PartVerdict {
            label: String::new(),
            operations: history.len(),
            standing: match claim {
                Claim::Linearizable(_) => PartStanding::Linearizable,
                Claim::Violation(_) => PartStanding::Violation,
            },
            decided_by: DecidedBy::Monitor(choose::name(object)),
            fell_back: None,
        };
        Whole::Decided(DecidedWhole { claim, part })
    }
}

/// Asks a monitor; stops it if it takes long.
pub(crate) fn ask_first(object: Object, part: fast::Part<'_>) -> Result<Claim, Declined> {
    let allowance = Allowance::new(part_allowance(part.len()));
    let answer = fast::check(object, part.within(&allowance));
    answer.map_err(|declined| if allowance.is_spent() { Declined::Stopped } else { declined })
}

/// A claim about a whole history, which is one part.
pub(crate) struct DecidedWhole {
    claim: Claim,
    part: PartVerdict,
}

impl DecidedWhole {
    /// The answer to a history that a monitor decided as a whole.
    pub fn conclude(
        self,
        history: &mut History,
        reader: &dyn Reader,
        options: &Options<'_>,
        object: Option<Object>,
    ) -> Result<Checked, InputError> {
        let DecidedWhole { claim, mut part } = self;
        let (mut defect, mut confirmation, mut left_out) = (None, None, LeftOut::default());
        let mut unfair = None;
        let verdict = match claim {
            Claim::Linearizable(witness) => {
                let replay = || replay_filled(history, reader, witness);
                match options.request().patient().during(replay) {
                    Ok(replayed) => match replayed? {
                        Ok(replayed) => Verdict::Linearizable(replayed),
                        Err(invalid) => {
                            defect = Some(invalid.to_string());
                            Verdict::Unknown(rejected(defect.clone()))
                        }
                    },
                    Err(Stopped(reason)) => {
                        part.standing = PartStanding::Open;
                        Verdict::Unknown(Unknown { limit: reason.into(), ..rejected(None) })
                    }
                }
            }
            Claim::Violation(core) => {
                let witnesses = Witnesses { history, reader, options, object };
                let all: Vec<OpId> = (0..history.len()).map(OpId::from).collect();
                match witnesses.grounds(&all, &part.decided_by, core)? {
                    Ok(grounds) => {
                        (confirmation, left_out) = (Some(grounds.confirmation), grounds.left_out);
                        unfair = grounds.defect;
                        Verdict::Violation(grounds.core)
                    }
                    Err(Contradiction) => {
                        defect = Some(CONTRADICTED.to_owned());
                        Verdict::Unknown(rejected(defect.clone()))
                    }
                }
            }
        };
        if defect.is_some() {
            part.standing = PartStanding::Open;
        }
        let (parts, configurations, memory) = (vec![part], 0, 0);
        let defect = defect.or(unfair);
        Ok(Checked { verdict, parts, configurations, memory, defect, confirmation, left_out })
    }
}
