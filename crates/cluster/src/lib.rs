//! One log on several machines, over Timely dataflow.
//!
//! This crate takes a [`Plan`](seriatim_scale::Plan) and the addresses of some processes, and gives
//! the verdicts on those parts of the log that fall to this process. Every worker (a thread of a
//! process) reads its share of the files; operations travel to the worker that their part falls to;
//! when the frontier says that all is read, each worker decides what it has, as a single process
//! does. The parts of process I of N are those of shard I of N, so a cluster, shards under a job
//! runner and a single process write the same verdicts.
//!
//! The processes make sure of each other by a shared [`Secret`] before they exchange anything, and
//! every byte that travels is tagged with it. Timely is fail-stop: when a process is lost while
//! operations travel, the others end. What was decided is in the verdict files, and the next run
//! leaves it out. Once everything is read, processes no longer need each other.

#![forbid(unsafe_code)]

mod exchange;
mod handshake;
pub mod hosts;
mod meeting;
mod reading;
mod sealed;
mod secret;
mod turns;

pub use exchange::{Cluster, ClusterError, Outcome, run};
pub use secret::Secret;
