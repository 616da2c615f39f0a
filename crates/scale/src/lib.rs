//! Logs that are larger than memory, and larger than one machine.
//!
//! This crate takes the files of a log and a specification, and gives a verdict on every *part* (a
//! key of a map, an element of a set, an object) as soon as it is known, within a limit of memory
//! that does not depend on the size of the log. Operations are [read](scan) one by one, put as
//! [bytes](record) into [buckets](spill) on disk by the hash of their [part](split), and read back
//! bucket by bucket to be [judged](judge) by the ordinary check. A part is linearizable by itself
//! or not (Herlihy & Wing 1990; Horn & Kroening 2015), so this decides the log; [`turns`] knows the
//! one exception.
//!
//! [`live`] watches events as they happen.
//!
//! The same pieces serve one process ([`run`](mod@run)), shards that know nothing of each other (a
//! [`Shard`] with a [verdict file](verdicts), put together by [`merge`](merge::merge)) and the
//! cluster of `seriatim-cluster`.

#![forbid(unsafe_code)]

mod error;
pub mod fingerprint;
mod giant;
pub mod judge;
mod kept;
pub mod live;
pub mod merge;
pub mod record;
pub mod run;
pub mod scan;
pub mod sort;
pub mod spill;
pub mod split;
pub mod turns;
pub mod verdicts;
mod windows;

pub use error::ScaleError;
pub use judge::{Judge, JudgedPart, Judgement};
pub use run::{Limits, Log, Plan, Shard, Summary, run};
