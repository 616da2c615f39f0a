//! Histories to verdicts.
//!
//! This crate takes a [`History`](seriatim_history::History) and a specification (anything that can
//! [read](seriatim_spec::Reader) the history) and gives a [`Verdict`](seriatim_spec::Verdict): a
//! witness, a minimal counterexample, or what ran out. The history is [split](partition) into
//! independent parts; each is decided by the [`fast`] monitor of its object, where its precondition
//! holds, else by the general [`search`], which is exact for every specification.

#![forbid(unsafe_code)]

mod assemble;
mod check;
mod check_partition;
mod choose;
mod confirm;
mod decision;
mod engines;
pub mod fast;
pub mod frontier;
mod grounds;
mod initial_values;
mod minimise;
mod options;
pub mod partition;
mod replay_parts;
mod sabotage;
pub mod search;
mod short;
mod ties;
mod typed;
mod vacuous;
mod versions;
mod vet;
mod violated_parts;
mod watch;
mod weaker;
mod whole;

pub use check::check;
pub use check_partition::{Refutation, refute_partition};
pub use initial_values::tell_initial_values;
pub use options::{Detail, Monitors, Options};
pub use search::dovetail::{Standing, StopAt};
pub use seriatim_spec::{
    Checked, Confirmation, DecidedBy, LeftOut, PartStanding, PartVerdict, Strategy,
};
pub use typed::{Recorded, Recording};
pub use vacuous::vacuous;
pub use violated_parts::violated_parts;
pub use watch::{WATCHED, watch};
pub use weaker::{Turns, Weaker, check_under, keep_turns};
