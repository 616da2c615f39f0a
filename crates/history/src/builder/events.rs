//! What a builder is told: calls, returns, and the times of operations that a log tells whole.

use crate::{MethodId, Outcome, Time, ValueId};

/// What a process calls.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// The operation's name.
    pub method: MethodId,
    /// The object, where there are several.
    pub object: ValueId,
    /// The key, where it is apart from the argument.
    pub key: ValueId,
    /// The argument.
    pub arg: ValueId,
    /// The operation's own id, where the source gives one.
    pub id: ValueId,
    /// The recorded time, where the source gives one.
    pub time: Option<Time>,
}

impl Call {
    /// A call without argument.
    pub fn new(method: MethodId) -> Self {
        let absent = ValueId::ABSENT;
        Call { method, object: absent, key: absent, arg: absent, id: absent, time: None }
    }

    /// The call with an argument.
    pub fn arg(self, arg: ValueId) -> Self {
        Call { arg, ..self }
    }

    /// The call with a key.
    pub fn key(self, key: ValueId) -> Self {
        Call { key, ..self }
    }
}

/// What comes back.
#[derive(Clone, Copy, Debug)]
pub struct Return {
    /// How the operation ended.
    pub outcome: Outcome,
    /// Its result.
    pub result: ValueId,
    /// The id that its call gave, where the source gives one.
    pub id: ValueId,
    /// The recorded time, where the source gives one.
    pub time: Option<Time>,
}

impl Return {
    /// A return of the given outcome and result.
    pub fn new(outcome: Outcome, result: ValueId) -> Self {
        Return { outcome, result, id: ValueId::ABSENT, time: None }
    }

    /// A return without result.
    pub fn ok() -> Self {
        Return::new(Outcome::Ok, ValueId::ABSENT)
    }
}

/// A whole operation, for logs that have one a line.
#[derive(Clone, Copy, Debug)]
pub struct Interval {
    /// When it was called.
    pub call: Time,
    /// When it returned; `None` when it is pending.
    pub ret: Option<Time>,
}
