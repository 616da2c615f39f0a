//! What shows that a history satisfies a level.

use crate::transaction::TxnId;

/// The moments of a transaction under snapshot isolation and prefix consistency.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Moment {
    /// Its snapshot is taken.
    Begin,
    /// Its writes appear.
    Commit,
}

/// An order that explains every read. Transactions of unknown outcome that it leaves out did not
/// happen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Witness {
    /// The transactions one after another.
    Serial(Vec<TxnId>),
    /// Begins and commits.
    Events(Vec<(TxnId, Moment)>),
    /// The commit order of causal consistency and the levels below.
    Commits(Vec<TxnId>),
}
