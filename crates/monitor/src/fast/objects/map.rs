//! Map: `put(key, value)`, `get(key)`; for the others see `cells`.
//!
//! **Decides** whether a history of a map is linearizable: every key is a register of
//! its own.
//!
//! **Theorem.** Linearizability is local: a history is linearizable iff its part for each key is.
//! See `register`, which judges all of them in one sweep.
//!
//! **Cost.** O(n).
//!
//! **Precondition.** To each key every value is written once, and nothing else is done; else see
//! `cells`.

use crate::fast::containers::container::Reach;
use crate::fast::objects::cells;
use crate::fast::objects::register::{self, Access, Method};
use crate::fast::{Declined, Part};
use seriatim_history::{History, MethodId, OpId, ValueId};
use seriatim_spec::{Claim, names};

/// Decides a part of a map's history; `default` is what a key that was not put holds.
pub fn check(part: Part<'_>, default: ValueId) -> Result<Claim, Declined> {
    match written_and_read(part, default) {
        Err(Declined::UnknownMethod { .. } | Declined::RepeatedValue { .. }) => {
            cells::check(part, default)
        }
        decided => decided,
    }
}

/// Decides a part in which values are put once and read.
fn written_and_read(part: Part<'_>, default: ValueId) -> Result<Claim, Declined> {
    let history = part.history;
    let names = (0..history.method_count()).map(|id| history.method_name(MethodId::from(id)));
    let methods: Vec<_> = names.map(method).collect();
    let of = |op: OpId| {
        let method = methods[history.method(op).index()].clone()?;
        let (key, arg) = key_and_value(history, op, method)?;
        Ok((method, key, method.value(history, op, arg)))
    };
    let (mut key_ids, mut ids) = (Reach::default(), Reach::default());
    for op in part.operations() {
        let (_, key, value) = of(op)?;
        key_ids.add(key);
        value.into_iter().for_each(|value| ids.add(value));
    }
    let (mut keys, mut next) = (key_ids.dense(part.len()), 0);
    register::decide(part, default, ids.dense(part.len()), |op| {
        let (method, key, value) = of(op)?;
        Ok(value.map(|value| {
            let key = keys.number(key, next);
            next = next.max(key + 1);
            Access { method, key, value }
        }))
    })
}

fn method(name: &str) -> Result<Method, Declined> {
    let is = |names: &[&str]| names.iter().any(|known| known.eq_ignore_ascii_case(name));
    if is(const { names("map", "get") }) {
        Ok(Method::Read)
    } else if is(const { names("map", "put") }) {
        Ok(Method::Write)
    } else {
        let method = name.to_owned();
        Err(Declined::UnknownMethod { method })
    }
}

/// The key of an operation and what it writes.
#[inline]
fn key_and_value(
    history: &History,
    op: OpId,
    method: Method,
) -> Result<(ValueId, ValueId), Declined> {
    let (key, arg) = (history.key(op), history.arg(op));
    if key.is_present() {
        return Ok((key, arg));
    }
    match (method, history.values().as_pair(arg)) {
        // A read that repeats its unknown value.
        (Method::Read, Some((key, ValueId::NIL))) => Ok((key, ValueId::ABSENT)),
        (Method::Read, _) if arg.is_present() => Ok((arg, ValueId::ABSENT)),
        (Method::Write, Some(pair)) => Ok(pair),
        _ => Err(Declined::Unreadable {
            operation: history.operation(op).to_string(),
            expected: "a key",
        }),
    }
}
