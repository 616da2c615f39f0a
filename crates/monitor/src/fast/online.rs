//! What the online monitors have in common.
//!
//! An online monitor reads events as they happen. After every event it is right about what has been
//! seen: it stops at the very event that makes the history wrong, with open operations taken as
//! pending. It keeps what the open operations and the object need, not what is past.

pub(in crate::fast) mod directory;
pub(in crate::fast) mod open_calls;
pub(in crate::fast) mod trace;

use crate::fast::Declined;
use hashbrown::HashMap;
use seriatim_history::{OpId, Outcome, ValueId, Values};

/// A call, as it is recorded.
#[derive(Clone, Copy, Debug)]
pub struct Called<'m> {
    /// The operation, numbered by its caller; no two open ones have the same number.
    pub op: OpId,
    /// The method's name.
    pub method: &'m str,
    /// The key, where it is apart from the argument.
    pub key: ValueId,
    /// The argument.
    pub arg: ValueId,
    /// The values of the stream.
    pub values: &'m Values,
}

/// A return, as it is recorded.
#[derive(Clone, Copy, Debug)]
pub struct Returned<'v> {
    /// The operation.
    pub op: OpId,
    /// How it ended. A pending one stays open for ever.
    pub outcome: Outcome,
    /// Its result.
    pub result: ValueId,
    /// The values of the stream.
    pub values: &'v Values,
}

/// Why an online monitor stops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The event makes the history wrong.
    Violation(Violation),
    /// The monitor cannot go on.
    Declined(Declined),
}

/// The event that makes a history wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The operation whose return it is.
    pub op: OpId,
    /// Why.
    pub reason: String,
}

impl From<Declined> for Stop {
    fn from(declined: Declined) -> Self {
        Stop::Declined(declined)
    }
}

impl Stop {
    /// An operation says that it failed.
    pub(super) fn failed(op: OpId) -> Self {
        Stop::Declined(Declined::Unreadable {
            operation: format!("operation {}", op.0),
            expected: "an operation that does not fail",
        })
    }

    /// The return of an operation makes the history wrong.
    pub(crate) fn violation(op: OpId, reason: impl Into<String>) -> Self {
        let reason = reason.into();
        Stop::Violation(Violation { op, reason })
    }
}

/// Gives the keys of a table new ids.
pub(super) fn rename_keys<T>(
    table: &mut HashMap<ValueId, T>,
    new_id: &mut dyn FnMut(ValueId) -> ValueId,
) {
    *table = table.drain().map(|(id, what)| (new_id(id), what)).collect();
}

/// A monitor that reads events as they happen. After it has stopped it must not be used again.
pub trait Online {
    /// An operation is called.
    fn call(&mut self, called: Called<'_>) -> Result<(), Stop>;

    /// An operation returns.
    fn ret(&mut self, returned: Returned<'_>) -> Result<(), Stop>;

    /// Whoever tells the events forgets values: those whose ids are still known here get new ids.
    fn rename(&mut self, new_id: &mut dyn FnMut(ValueId) -> ValueId);

    /// How many operations, values and other things are remembered.
    fn remembered(&self) -> usize;
}
