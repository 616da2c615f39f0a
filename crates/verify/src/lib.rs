//! Algorithms to answers: is every run of this program linearizable?
//!
//! What `seriatim-monitor` is for recorded histories, this crate is for programs of the algorithm
//! language: [`verify`] takes a checked program, asks the engines that can say something about it,
//! and gives one [`Answer`](seriatim_spec::answer::Answer), claim by claim, each with its scope and
//! its evidence. It decides who is asked and what follows from their answers ([`mod@choose`] has
//! the rules); the engines decide everything else, and `seriatim-report` turns the answer into
//! text.
//!
//! ```
//! use seriatim_verify::{Options, verify};
//!
//! let program = seriatim_lang::check(
//!     "object o : counter
//!      var n: int = 0
//!      method increment() -> int { let seen = n
//!                                  n = seen + 1
//!                                  return seen }",
//! )
//! .unwrap();
//! let verified = verify(&program, &Options::default()).unwrap();
//! assert_eq!(verified.answer.exit_code(), 1); // two threads see the same number
//! let run = verified.run().unwrap();
//! assert_eq!(run.threads, 2);
//! ```
//!
//! [`SeriReader`] is the other bridge between the two wings: a specification of the language judges
//! recorded histories.

#![forbid(unsafe_code)]

pub mod choose;
mod compositions;
mod options;
mod proof;
mod recorded;
mod seri;
mod situation;
mod verified;

pub use choose::verify;
pub use options::{Engine, Error, Lists, Options};
pub use proof::certified;
pub use recorded::Recorded;
pub use seri::{SeriLive, SeriReader, history_of};
pub use verified::Verified;
