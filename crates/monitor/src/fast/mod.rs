//! Exact monitors: one file per object, each with its theorem, its cost and its precondition.
//!
//! Every monitor takes a [`Part`] of a history (all of it, or the operations of one key) and gives
//! `Result<Claim, Declined>`: a verdict is exact and carries a witness or a counterexample; a
//! monitor whose precondition does not hold declines with the reason, and the caller falls back to
//! the general search. [`check`] finds the monitor of an [`Object`].
//!
//! ```
//! use seriatim_history::{Builder, Call, Return, Value};
//! use seriatim_monitor::fast::{self, Object, Part};
//! let mut builder = Builder::new("example");
//! let client = builder.process(&Value::Int(0));
//! let (enq, deq) = (builder.method("enq"), builder.method("deq"));
//! let seven = builder.values().intern_int(7);
//! builder.call(1, client, Call::new(enq).arg(seven)).unwrap();
//! builder.ret(2, client, Return::ok()).unwrap();
//! builder.call(3, client, Call::new(deq)).unwrap();
//! builder.ret(4, client, Return { result: seven, ..Return::ok() }).unwrap();
//! let history = builder.finish().unwrap();
//! let verdict = fast::check(Object::Queue, Part::whole(&history)).unwrap();
//! assert_eq!(verdict.word(), "linearizable");
//! ```

mod budget;
mod containers;
mod declined;
mod locality;
mod objects;
mod online;
mod part;
pub mod queue;
mod shrink;
mod structures;
mod violation;

pub(crate) use budget::part_allowance;
pub use budget::{Allowance, Budget, Unlimited};
pub use containers::priority_queue::Priority;
pub use containers::{priority_queue, stack};
pub use declined::Declined;
pub use objects::{counter, fetch_and_add, log, map, multiset, mutex, register, semaphore, set};
pub use online::{Called, Online, Returned, Stop, Violation};
pub use part::Part;

use crate::sabotage::{Sabotage, is_broken};
use seriatim_history::ValueId;
use seriatim_spec::{Claim, Witness};

/// An object that has a fast monitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Object {
    /// First in, first out: [`queue`].
    Queue,
    /// Last in, first out: [`stack`].
    Stack,
    /// The first by priority out: [`priority_queue`].
    PriorityQueue(Priority),
    /// Keys that are in or out: [`set`].
    Set,
    /// Keys with copies: [`multiset`].
    Multiset,
    /// One lock: [`mutex`].
    Mutex,
    /// One value, initially the given one: [`register`].
    Register(ValueId),
    /// A register a key, initially with the given value: [`map`].
    Map(ValueId),
    /// A number that is raised and lowered by one: [`counter`].
    Counter,
    /// A number that tells what it was: [`fetch_and_add`].
    FetchAndAdd,
    /// Permits, initially the given number: [`semaphore`].
    Semaphore(u32),
    /// What is appended stays: [`log`].
    Log,
}

/// Decides a part of a history with the monitor of an object.
pub fn check(object: Object, part: Part<'_>) -> Result<Claim, Declined> {
    Ok(sabotaged(decide(object, part)?, part))
}

/// The claim, unless monitors are broken on purpose.
fn sabotaged(mut claim: Claim, part: Part<'_>) -> Claim {
    if is_broken(Sabotage::BlindMonitor) {
        return Claim::Linearizable(Witness { order: part.operations().collect() });
    }
    if is_broken(Sabotage::FalseCore) {
        return violation::counterexample(part.operations().collect(), "on purpose".to_owned());
    }
    if let Claim::Violation(core) = &mut claim
        && is_broken(Sabotage::GapInCore)
    {
        core.operations.remove(core.operations.len() / 2);
    }
    claim
}

fn decide(object: Object, part: Part<'_>) -> Result<Claim, Declined> {
    match object {
        Object::Queue => queue::check(part),
        Object::Stack => stack::check(part),
        Object::PriorityQueue(priority) => priority_queue::check(part, priority),
        Object::Set => set::check(part),
        Object::Multiset => multiset::check(part),
        Object::Mutex => mutex::check(part),
        Object::Register(initial) => register::check(part, initial),
        Object::Map(default) => map::check(part, default),
        Object::Counter => counter::check(part),
        Object::FetchAndAdd => fetch_and_add::check(part),
        Object::Semaphore(permits) => semaphore::check(part, permits),
        Object::Log => log::check(part),
    }
}
