//! Is a concurrent object linearizable?
//!
//! An object is linearizable if its operations, however they overlap in time, could have happened
//! one after another (in Latin: *seriatim*) in an order that respects real time. This crate brings
//! all parts of Seriatim together under one name; the command `seriatim` is built on it.
//!
//! # Check a recorded history
//!
//! [`read`] reads a log in any format, [`check`] decides it under a specification, and the answer
//! displays itself as the report that the command prints.
//!
//! ```
//! let history = seriatim::read_str(
//!     r#"{"process":"ann","op":"enqueue","arg":1,"call":10,"return":20}
//!        {"process":"ann","op":"enqueue","arg":2,"call":30,"return":40}
//!        {"process":"bob","op":"dequeue","result":2,"call":50,"return":60}"#,
//! )?;
//! let answer = seriatim::check(&history, "queue")?;
//! assert!(answer.is_violation()); // 2 overtook 1
//! println!("{answer}"); // drawn, with the reason why
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Check an object of your own
//!
//! A [`Spec`] says what may happen when operations are called one after another. A [`Recording`]
//! collects what did happen, in your own types.
//!
//! ```
//! use seriatim::{Next, Recording, Spec};
//!
//! /// A ticket counter: each call returns the next number.
//! #[derive(Debug)]
//! struct Tickets;
//!
//! impl Spec for Tickets {
//!     type State = u32;
//!     type Op = ();
//!     type Ret = u32;
//!     fn initial(&self) -> u32 {
//!         0
//!     }
//!     fn step(&self, last: &u32, _: &(), ticket: Option<&u32>) -> Next<u32> {
//!         // `None`: the call never returned, and may have got any ticket.
//!         Next::when(ticket.is_none_or(|ticket| *ticket == last + 1), || last + 1)
//!     }
//! }
//!
//! let mut recording = Recording::new(Tickets);
//! recording.call(0, ())?;
//! recording.call(1, ())?;
//! recording.ret(0, 1)?;
//! recording.ret(1, 2)?;
//! let recorded = recording.finish()?;
//! assert!(seriatim::check(recorded.history(), &recorded)?.is_linearizable());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Verify an algorithm
//!
//! [`verify`](verify::verify) considers every run of an algorithm, not just one.
//!
//! ```
//! use seriatim::verify::{Options, verify};
//!
//! let program = seriatim::lang::check(
//!     "object lost_update : counter
//!      var n: int = 0
//!      method increment() -> int {
//!        let seen = n
//!        n = seen + 1
//!        return seen
//!      }",
//! )?;
//! let verified = verify(&program, &Options::default())?;
//! let run = verified.run().expect("two threads can read the same number");
//! assert_eq!(run.threads, 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Test a Rust object
//!
//! The feature `harness` calls an object from several threads, checks every execution, and shrinks
//! what fails; see the crate `seriatim-harness`.
//!
//! # The parts
//!
//! | module | what it does |
//! | --- | --- |
//! | [`history`] | what happened: operations, histories, file formats |
//! | [`map`] | reads logs in any format, by a file of rules |
//! | [`spec`] | what should happen: specifications, verdicts, the replay of orders |
//! | [`monitor`] | decides histories |
//! | [`transactions`] | decides isolation levels of histories of transactions |
//! | [`scale`] | logs larger than memory, and shards of them |
//! | `harness` (feature) | tests real Rust objects: records, stresses, explores, shrinks |
//! | [`lang`] | the algorithm language: from text to atomic steps |
//! | [`verify`] | decides algorithms, by choosing between the next three |
//! | [`explore`] | every run of N threads within bounds |
//! | [`lists`] | some methods of a list-based set, on lists of any length |
//! | [`prove`] | proofs for any number of threads |
//! | [`certify`] | the independent checker of these proofs |
//! | [`report`] | verdicts as text, JSON, JUnit and pages |
//! | [`limits`] | time, memory and interruption, for the whole process |

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
pub mod levels;
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
pub use seriatim_map as map;
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
