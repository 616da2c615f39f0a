//! Histories of transactions to verdicts.

mod brute;
mod check;
mod explain;
pub mod generate;
mod level;
mod minimise;
mod order;
mod prepare;
mod replay;
mod solve;
#[cfg(test)]
mod tests;
mod transaction;
mod weak;
mod witness;

pub use check::{Answer, Checker, Confirmation, Defect, Options, Standing, Unknown, Violation, check};
pub use explain::Explanation;
pub use level::{Demand, Level, UnknownLevel};
pub use minimise::Part;
pub use prepare::FlawKind;
pub use replay::{Rejection, replay};
pub use solve::Statistics;
pub use transaction::{
    Builder, Clock, KeyId, Kind, Op, Outcome, SessionId, Transaction, Transactions, TxnId, Writers,
};
pub use witness::{Moment, Witness};
