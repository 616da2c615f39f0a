//! The objects of the generator: fast, mutable, and written apart from the specifications, so that
//! the two check each other.
//!
//! A model draws calls, applies them, and makes a *contradiction*: a few operations on values that
//! nothing else names, with results that no order explains, whatever else happens around them.

use super::draw::Draw;
use seriatim_history::Value;

/// An argument or result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Datum {
    /// Nothing at all.
    Absent,
    /// `nil`: the container was empty.
    Nil,
    /// A boolean.
    Truth(bool),
    /// An integer.
    Int(i64),
    /// A list of two integers.
    Pair(i64, i64),
    /// Any other value.
    Other(Value),
}

impl Datum {
    pub(crate) fn or_nil(value: Option<i64>) -> Self {
        value.map_or(Datum::Nil, Datum::Int)
    }
}

/// What a thread calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invocation {
    /// The method's name.
    pub method: &'static str,
    /// The key, where the object has keys.
    pub key: Datum,
    /// The argument.
    pub arg: Datum,
}

impl Invocation {
    pub(crate) fn new(method: &'static str, arg: Datum) -> Self {
        let key = Datum::Absent;
        Invocation { method, key, arg }
    }

    pub(crate) fn int(method: &'static str, arg: i64) -> Self {
        Invocation::new(method, Datum::Int(arg))
    }

    pub(crate) fn bare(method: &'static str) -> Self {
        Invocation::new(method, Datum::Absent)
    }
}

/// What may become of an operation whose process crashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Crash {
    /// It takes effect or not.
    Either,
    /// It never takes effect.
    WithoutEffect,
    /// Its process must not crash.
    Never,
}

/// A thread of the generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Thread(pub u32);

/// A completed operation: what was called, what came back.
pub(crate) type Done = (Invocation, Datum);

/// An object that the generator runs.
pub(crate) trait Model: Send {
    /// The methods, with their usual shares.
    fn methods(&self) -> &'static [(&'static str, f64)];

    /// A call of a method.
    fn call(&mut self, method: &'static str, thread: Thread, draw: &mut Draw) -> Invocation;

    /// The operation takes effect; its result. `None`: it cannot now (a lock is held).
    fn apply(&mut self, call: &Invocation, thread: Thread) -> Option<Datum>;

    /// Whether the operation would find the container empty now.
    fn starves(&self, _call: &Invocation) -> bool {
        false
    }

    /// What may become of a call whose process crashes.
    fn crash(&self, _call: &Invocation, _thread: Thread) -> Crash {
        Crash::Either
    }

    /// Whether others wait for the thread to go on, even past the last operation (it holds a lock).
    fn is_awaited(&self, _thread: Thread) -> bool {
        false
    }

    /// Operations that, one after another in one process, no order explains. `open` is the number
    /// of operations of other processes that are open or pending.
    fn contradiction(&mut self, draw: &mut Draw, open: u64) -> Vec<Done>;
}

pub(crate) fn put(method: &'static str, value: i64) -> Done {
    (Invocation::int(method, value), Datum::Absent)
}

pub(crate) fn took(method: &'static str, value: i64) -> Done {
    (Invocation::bare(method), Datum::Int(value))
}
