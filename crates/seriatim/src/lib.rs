//! Is a concurrent object linearizable?
//!
//! An object is linearizable when its operations, however they overlap in time, could have happened one
//! after another (Latin: *seriatim*) in an order that respects real time. This crate brings the parts of
//! Seriatim together under one name; the command `seriatim` is built on it.
//!
//! ```
//! let history = seriatim::read_str(
//!     "# @object queue\n\
//!      [1] call enq(1)\n[1] return\n\
//!      [1] call enq(2)\n[1] return\n\
//!      [2] call deq\n[2] return 2\n",
//! )?;
//! let answer = seriatim::check(&history, "queue")?;
//! assert!(answer.is_violation()); // 2 overtook 1
//! println!("{answer}"); // drawn, with the reason why
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! - [`history`]: what happened: operations, histories, file formats.
//! - [`spec`]: what should happen: specifications, verdicts, the replayer of witnesses.
//! - [`monitor`]: histories to verdicts.
//! - `harness`, a feature: real Rust objects to histories and verdicts: record, stress, explore,
//!   shrink.
//! - [`lang`]: the algorithm language: text to checked programs to atomic steps.
//! - [`explore`]: every run of N threads of an algorithm, by refinement.
//! - [`lists`]: these methods of a list-based set on every list.
//! - [`prove`]: proofs for any number of threads.
//! - [`certify`]: the checker of these proofs, which shares only the language with the prover.
//! - [`verify`]: algorithms to answers: chooses between these engines.
//! - [`report`]: verdicts to people and programs.
//! - [`limits`]: time, memory and interruption, for the whole process.
//! - [`scale`]: logs larger than memory, and shards of them.
//! - [`transactions`]: histories of transactions to isolation levels.

#![forbid(unsafe_code)]

// The command speaks of the library by its name.
#[cfg(feature = "cli")]
extern crate self as seriatim;

/// The command line as a function, for programs that have the command inside.
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod command;
mod door;
pub mod foreign;
pub mod question;
mod routed;

pub use seriatim_certify as certify;
#[cfg(feature = "cluster")]
pub use seriatim_cluster as cluster;
pub use seriatim_explore as explore;
#[cfg(feature = "harness")]
pub use seriatim_harness as harness;
pub use seriatim_history as history;
pub use seriatim_lang as lang;
pub use seriatim_limits as limits;
pub use seriatim_lists as lists;
pub use seriatim_monitor as monitor;
#[cfg(feature = "parquet")]
pub use seriatim_parquet as parquet;
pub use seriatim_prove as prove;
pub use seriatim_report as report;
pub use seriatim_scale as scale;
pub use seriatim_spec as spec;
pub use seriatim_transactions as transactions;
pub use seriatim_verify as verify;

pub use door::{CheckError, CheckedHistory, Specification, check};
pub use seriatim_algorithms::{Algorithm, algorithm, algorithms};
pub use seriatim_history::{History, InputError, OpId, Value, read, read_str};
pub use seriatim_monitor::{Checked, Options, Recorded, Recording, check as check_with};
pub use seriatim_spec::{
    ChosenReader, Counterexample, Failures, Next, Spec, SpecChoice, Unknown, Verdict, Witness,
    validate,
};
pub use seriatim_verify::{SeriReader, history_of};

/// The examples of the READMEs, run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
#[doc = include_str!("../README.md")]
struct Readme;
