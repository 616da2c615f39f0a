//! Map: `put(key, value)`, `get(key)`.
//!
//! **Decides** whether a history of a map is linearizable: every key is a register of
//! its own.
//!
//! **Theorem.** Linearizability is local: a history is linearizable iff its part for each key is.
//! See `register` for one key and `locality` for the common order.
//!
//! **Cost.** O(n).
//!
//! **Precondition.** To each key every value is written once, else declined; `delete` and
//! compare-and-set are declined (they write a value again, or read and write at once).

use super::container::Dense;
use super::locality;
use super::register::{self, Method};
use super::{Declined, Part};
use hashbrown::HashMap;
use seriatim_history::{History, OpId, Outcome, ValueId};
use seriatim_spec::{Verdict, Witness};

/// Decides a part of a map's history; `default` is what a key that was not put holds.
pub fn check(part: Part<'_>, default: ValueId) -> Result<Verdict, Declined> {
    let history = part.history;
    let mut keys: HashMap<ValueId, u32> = HashMap::new();
    let mut parts: Vec<Vec<OpId>> = Vec::new();
    for op in part.operations() {
        let (_, key, _) = read(history, op)?;
        let index = *keys.entry(key).or_insert(parts.len() as u32);
        if index as usize == parts.len() {
            parts.push(Vec::new());
        }
        parts[index as usize].push(op);
    }
    let meaning = |op: OpId| {
        let (method, _, value) = read(history, op)?;
        Ok(match (method, history.outcome(op)) {
            (_, Outcome::Failed) | (Method::Read, Outcome::Pending) => None,
            (Method::Read, Outcome::Ok) => Some(history.result(op)).filter(|v| v.is_present()),
            (Method::Write, _) => Some(value),
        }
        .map(|value| (method, value)))
    };
    let mut orders = Vec::with_capacity(parts.len());
    for operations in &parts {
        let part = Part::of(history, operations);
        match register::decide(part, default, Dense::hashed(), &meaning)? {
            Verdict::Linearizable(witness) => orders.push(witness.order),
            violation => return Ok(violation),
        }
    }
    let order = locality::merge(&part, &orders);
    Ok(Verdict::Linearizable(Witness { order }))
}

/// What an operation does, to which key, with which argument.
fn read(history: &History, op: OpId) -> Result<(Method, ValueId, ValueId), Declined> {
    let operation = history.operation(op);
    let is = |names: &[&str]| {
        let name = operation.method();
        names.iter().any(|known| known.eq_ignore_ascii_case(name))
    };
    let method = if is(&["get", "read", "lookup"]) {
        Method::Read
    } else if is(&["put", "write", "set"]) {
        Method::Write
    } else {
        let method = operation.method().to_owned();
        return Err(Declined::UnknownMethod { method });
    };
    let (key, arg) = (operation.key(), operation.arg());
    let pair = history.values().as_pair(arg);
    match (method, key.is_present(), pair) {
        (_, true, _) => Ok((method, key, arg)),
        (Method::Read, false, _) if arg.is_present() => Ok((method, arg, ValueId::ABSENT)),
        (Method::Write, false, Some((key, value))) => Ok((method, key, value)),
        _ => Err(Declined::Unreadable { operation: operation.to_string(), expected: "a key" }),
    }
}
