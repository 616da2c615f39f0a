//! Multiset (bag): `add`, `remove`, `contains`, `multiplicity`. Also online.
//!
//! **Decides** whether a history of a multiset is linearizable: `remove` answers whether there was
//! a copy to remove.
//!
//! **Theorem.** Linearizability is local: each key is a count of its own. As long as nobody saw a
//! key absent, or counted its copies, additions may take effect at their calls and removals at
//! their returns: the history is right iff at every return of a removal there were at least as many
//! additions called as removals returned, and every query that saw a copy has a moment at which
//! there were more. Where somebody saw it absent, whether to run out of copies before or after an
//! addition is a real choice: breadth first, see `tally`.
//!
//! **Cost.** O(n · configurations). Online: O(1) an event; memory: the operations open and the keys
//! present.
//!
//! **Precondition.** The limits of `tally`. Online, a query that saw a key absent is declined where
//! it depends on the choice.

use crate::fast::locality;
use crate::fast::objects::flag::Moment;
use crate::fast::objects::tally::{self, Action, Change, Guard};
use crate::fast::online::{Called, Online, Returned, Stop, rename_keys};
use crate::fast::{Declined, Part};
use hashbrown::HashMap;
use seriatim_history::{OpId, Outcome, ValueId};
use seriatim_spec::{Claim, Witness, names};

/// What an operation does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Method {
    Add,
    Remove,
    Contains,
    Count,
}

impl Method {
    fn named(name: &str) -> Result<Self, Declined> {
        let is = |names: &[&str]| names.iter().any(|known| known.eq_ignore_ascii_case(name));
        if is(const { names("multiset", "add") }) {
            Ok(Method::Add)
        } else if is(const { names("multiset", "remove") }) {
            Ok(Method::Remove)
        } else if is(const { names("multiset", "contains") }) {
            Ok(Method::Contains)
        } else if is(const { names("multiset", "multiplicity") }) {
            Ok(Method::Count)
        } else {
            let method = name.to_owned();
            Err(Declined::UnknownMethod { method })
        }
    }

    /// The value that an operation is about. A `remove` without argument, which `nil` stands for as
    /// well, takes any value out: that is about all of them.
    fn value(self, arg: ValueId, shown: impl FnOnce() -> String) -> Result<ValueId, Declined> {
        match (self, arg) {
            (_, ValueId::ABSENT) | (Method::Remove, ValueId::NIL) => {
                Err(Declined::Unreadable { operation: shown(), expected: "a value as argument" })
            }
            _ => Ok(arg),
        }
    }

    /// What an operation with a result does; `None` if the result is not one of the method.
    fn action(self, result: ValueId) -> Option<(Change, Guard)> {
        match (self, result.as_bool()) {
            (Method::Add, Some(false)) => None,
            (Method::Add, _) => Some((Change::Up, Guard::None)),
            (Method::Remove, Some(true)) => Some((Change::Down, Guard::Positive)),
            (Method::Contains, Some(true)) => Some((Change::Same, Guard::Positive)),
            (Method::Remove | Method::Contains, Some(false)) => {
                Some((Change::Same, Guard::Exactly(0)))
            }
            (Method::Count, _) => {
                let count = result.as_inline_int()?;
                Some((Change::Same, Guard::Exactly(count)))
            }
            (Method::Remove | Method::Contains, None) => None,
        }
    }
}

/// Decides a part of a multiset's history.
pub fn check(part: Part<'_>) -> Result<Claim, Declined> {
    let history = part.history;
    let mut keys: HashMap<ValueId, u32> = HashMap::new();
    let mut parts: Vec<Vec<Action>> = Vec::new();
    for op in part.operations() {
        let operation = history.operation(op);
        let method = Method::named(operation.method())?;
        let (change, guard) = match (method, history.outcome(op)) {
            (Method::Contains | Method::Count, Outcome::Pending) => continue,
            (Method::Remove, Outcome::Pending) => (Change::Down, Guard::Positive),
            (_, Outcome::Failed) => continue,
            (_, Outcome::Ok | Outcome::Pending) => {
                let action = method.action(history.result(op));
                action.ok_or_else(|| Declined::Unreadable {
                    operation: operation.to_string(),
                    expected: "true, false or a number as result",
                })?
            }
        };
        let value = method.value(history.arg(op), || operation.to_string())?;
        let index = *keys.entry(value).or_insert(parts.len() as u32);
        if index as usize == parts.len() {
            parts.push(Vec::new());
        }
        parts[index as usize].push(Action { op, change, guard });
    }
    let mut orders = Vec::with_capacity(parts.len());
    for actions in &parts {
        match tally::order(&part, actions, 0)? {
            Ok(order) => orders.push(order),
            Err(wrong) => return Ok(tally::violation(&part, actions, 0, wrong)),
        }
    }
    let order = locality::merge(&part, &orders);
    Ok(Claim::Linearizable(Witness { order }))
}

/// A key with copies inside or operations open.
#[derive(Clone, Copy, Debug, Default)]
struct Key {
    /// Additions called less removals returned: there are never more copies.
    most: i64,
    /// Additions returned less removals called: there are never fewer copies.
    least: i64,
    /// Until when there could be a copy, if there can be none now.
    positive_until: Moment,
    /// Until when there could be no copy at all: `most` was 0.
    none_until: Moment,
    /// Until when there need not be a copy.
    needless_until: Moment,
    open: u32,
}

/// The multiset monitor for live streams.
#[derive(Default)]
pub struct Watch {
    keys: HashMap<ValueId, Key>,
    open: HashMap<OpId, (Method, ValueId, Moment)>,
    now: Moment,
}

impl Watch {
    /// Writes down how the key was just before the present event.
    fn key(&mut self, key: ValueId) -> &mut Key {
        let now = self.now;
        let key = self.keys.entry(key).or_default();
        if key.most > 0 {
            key.positive_until = now;
        }
        if key.most == 0 {
            key.none_until = now;
        }
        if key.least <= 0 {
            key.needless_until = now;
        }
        key
    }

    fn judge(&mut self, op: OpId, guard: Guard, call: Moment, key: Key) -> Result<(), Stop> {
        match guard {
            Guard::None => Ok(()),
            Guard::Positive if key.positive_until > call => Ok(()),
            Guard::Positive => Err(Stop::violation(op, "at no moment of it there was a copy")),
            Guard::Exactly(0) if key.none_until > call => Ok(()),
            Guard::Exactly(0) if key.needless_until <= call => {
                Err(Stop::violation(op, "at every moment of it there was a copy"))
            }
            Guard::Exactly(_) => Err(Stop::Declined(Declined::UnforcedQuery {
                operation: format!("operation {}", op.0),
            })),
        }
    }
}

impl Online for Watch {
    fn call(&mut self, called: Called<'_>) -> Result<(), Stop> {
        self.now += 1;
        let method = Method::named(called.method)?;
        let value = method.value(called.arg, || format!("operation {}", called.op.0))?;
        self.open.insert(called.op, (method, value, self.now));
        let key = self.key(value);
        key.open += 1;
        match method {
            Method::Add => key.most += 1,
            Method::Remove => key.least -= 1,
            Method::Contains | Method::Count => {}
        }
        Ok(())
    }

    fn ret(&mut self, returned: Returned<'_>) -> Result<(), Stop> {
        self.now += 1;
        let op = returned.op;
        match returned.outcome {
            Outcome::Pending => return Ok(()),
            // It did not happen, but another may have relied on it.
            Outcome::Failed => return Err(Stop::failed(op)),
            Outcome::Ok => {}
        }
        let Some((method, value, call)) = self.open.remove(&op) else {
            return Ok(());
        };
        let action = method.action(returned.result);
        let (change, guard) = action.ok_or_else(|| Declined::Unreadable {
            operation: format!("operation {}", op.0),
            expected: "true, false or a number as result",
        })?;
        let key = self.key(value);
        match (method, change) {
            (Method::Add, _) => key.least += 1,
            (Method::Remove, Change::Same) => key.least += 1,
            (Method::Remove, _) => key.most -= 1,
            _ => {}
        }
        key.open -= 1;
        let now = *key;
        if now.most < 0 {
            return Err(Stop::violation(op, "more copies were removed than were added"));
        }
        if now.most == 0 && now.open == 0 {
            self.keys.remove(&value);
        }
        match change {
            Change::Same => self.judge(op, guard, call, now),
            Change::Up | Change::Down => Ok(()),
        }
    }

    fn rename(&mut self, new_id: &mut dyn FnMut(ValueId) -> ValueId) {
        rename_keys(&mut self.keys, new_id);
        self.open.values_mut().for_each(|(_, key, _)| *key = new_id(*key));
    }

    fn remembered(&self) -> usize {
        self.open.len() + self.keys.len()
    }
}
