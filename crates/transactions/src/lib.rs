//! Histories of transactions to verdicts: does a recorded run of a database satisfy an isolation
//! level?
//!
//! Strict serializability, serializability and snapshot isolation with and without sessions, prefix
//! and causal consistency, read atomicity and read committed: each is decided exactly, with
//! evidence. A *yes* has an order of the transactions that was replayed against the record; a *no*
//! has a small part of the history that was decided a second time by exhaustive search, and a cycle
//! that says why.
//!
//! | module | concept |
//! | --- | --- |
//! | `transaction` | the recorded history |
//! | `level` | the levels, and which implies which |
//! | `prepare` | who read from whom; anomalies that need no order |
//! | `order` | a topological order under changing edges |
//! | `solve` | the levels that are NP-complete: conflict-driven learning over the order |
//! | `weak` | the levels that are polynomial |
//! | `session` | the four session guarantees |
//! | `counter` | histories with counters |
//! | `replay` | checks a *yes*; shares nothing with the engines |
//! | `brute` | checks a *no*; shares nothing with the engines |
//! | `window` | checks a *no* of strict serializability that is too large for `brute` |
//! | `minimise` | a violated history to a small part of it |
//! | `fewest` | how many transactions a violation needs |
//! | `explain`, `draw` | why the part is violated, for people |
//! | `check` | all of this together |
//! | `per_key` | linearizability of each key by itself |
//! | `page` | the answers as a page for a browser |
//!
//! ```
//! use seriatim_transactions::{Checker, Level, Options, Standing};
//! use seriatim_transactions::generate::{Plant, Store};
//!
//! let history = Store { plant: Plant::WriteSkew, ..Store::default() }.run();
//! let mut checker = Checker::new(&history, &Options::default());
//! let answer = checker.check(Level::StrictSerializable)?;
//! let Standing::Violated(violation) = answer.standing else { panic!("write skew was planted") };
//! assert!(violation.part.ids.len() < 10);
//! # Ok::<(), seriatim_transactions::Defect>(())
//! ```

#![forbid(unsafe_code)]

mod brute;
mod builder;
mod check;
mod clocks;
mod counter;
mod draw;
mod explain;
mod fewest;
pub mod generate;
mod level;
mod minimise;
mod mutation;
mod order;
mod page;
mod per_key;
mod prepare;
mod read;
mod replay;
mod session;
mod sets;
mod shown;
mod solve;
#[cfg(test)]
mod tests;
mod transaction;
mod weak;
mod window;
mod witness;

pub use builder::Builder;
pub use check::{
    Answer, Checker, Confirmation, Defect, Options, Standing, Unknown, Violation, check,
};
pub use draw::{Glyphs, draw, words};
pub use explain::{Anomaly, Arrow, End, Explanation, Proof, Step, Why};
pub use fewest::Needed;
pub use level::{Demand, Level, UnknownLevel};
pub use minimise::Part;
pub use page::{limit_in_words, page, standing_word};
pub use per_key::{KeyAnswer, check_keys};
pub use prepare::FlawKind;
pub use read::{NilReads, keys_of, of_history, read, read_bytes, read_independent, read_str};
pub use replay::{Rejection, replay};
pub use solve::Statistics;
pub use transaction::{
    Clock, KeyId, Kind, Op, Outcome, SessionId, Transaction, Transactions, TxnId, Writers,
};
pub use window::{Searched, search_through_time};
pub use witness::{Moment, Witness};
