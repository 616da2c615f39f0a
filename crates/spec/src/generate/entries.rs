//! Things of the generator that keep entries in order or may lose them, and a place that is filled
//! once: sorted map, cache, once-cell.

use super::draw::Draw;
use super::model::{Datum, Done, Invocation, Model, Thread};
use hashbrown::HashMap;
use seriatim_history::Value;
use std::collections::BTreeMap;

fn with_value(method: &'static str, key: i64, value: i64) -> Invocation {
    Invocation::new(method, Datum::Pair(key, value))
}

/// Two values are put under a key one after the other, and then the first is there: it was
/// overwritten by the second and cannot come back.
fn overwritten(draw: &mut Draw) -> Vec<Done> {
    let (key, first, second) = (draw.key(), draw.fresh(), draw.fresh());
    let put = |value| (with_value("put", key, value), Datum::Absent);
    vec![put(first), put(second), (Invocation::int("get", key), Datum::Int(first))]
}

/// Sorted map.
#[derive(Default)]
pub(crate) struct Sorted {
    pub entries: BTreeMap<i64, i64>,
}

fn entry(entry: Option<(i64, i64)>) -> Datum {
    entry.map_or(Datum::Nil, |(key, value)| Datum::Pair(key, value))
}

impl Model for Sorted {
    fn methods(&self) -> &'static [(&'static str, f64)] {
        &[
            ("get", 0.15),
            ("put", 0.2),
            ("update", 0.1),
            ("get_or_insert", 0.1),
            ("take", 0.1),
            ("contains", 0.05),
            ("first", 0.05),
            ("last", 0.05),
            ("pop_first", 0.05),
            ("pop_last", 0.05),
            ("range", 0.05),
            ("size", 0.05),
        ]
    }

    fn call(&mut self, method: &'static str, _: Thread, draw: &mut Draw) -> Invocation {
        match method {
            "put" | "update" | "get_or_insert" => with_value(method, draw.key(), draw.value()),
            "get" | "take" | "contains" => Invocation::int(method, draw.key()),
            "range" => {
                let (one, other) = (draw.key(), draw.key());
                Invocation::new(method, Datum::Pair(one.min(other), one.max(other)))
            }
            _ => Invocation::bare(method),
        }
    }

    fn apply(&mut self, call: &Invocation, _: Thread) -> Option<Datum> {
        let entries = &mut self.entries;
        let copied = |(key, value): (&i64, &i64)| (*key, *value);
        Some(match (call.method, &call.arg) {
            ("put", &Datum::Pair(key, value)) => Datum::or_nil(entries.insert(key, value)),
            ("update", &Datum::Pair(key, value)) => {
                Datum::or_nil(entries.get_mut(&key).map(|held| std::mem::replace(held, value)))
            }
            ("range", &Datum::Pair(from, to)) => {
                let inside = entries.range(from..=to);
                let pair = |(&key, &value)| Value::list([Value::Int(key), Value::Int(value)]);
                Datum::Other(Value::list(inside.map(pair)))
            }
            (_, &Datum::Pair(key, value)) => Datum::Int(*entries.entry(key).or_insert(value)),
            ("get", Datum::Int(key)) => Datum::or_nil(entries.get(key).copied()),
            ("take", Datum::Int(key)) => Datum::or_nil(entries.remove(key)),
            (_, Datum::Int(key)) => Datum::Truth(entries.contains_key(key)),
            ("first", _) => entry(entries.first_key_value().map(copied)),
            ("last", _) => entry(entries.last_key_value().map(copied)),
            ("pop_first", _) => entry(entries.pop_first()),
            ("pop_last", _) => entry(entries.pop_last()),
            _ => Datum::Int(entries.len() as i64),
        })
    }

    fn contradiction(&mut self, draw: &mut Draw, _: u64) -> Vec<Done> {
        overwritten(draw)
    }
}

/// Cache.
#[derive(Default)]
pub(crate) struct Forgetful {
    pub entries: HashMap<i64, i64>,
    pub looks: u64,
}

/// One look of so many comes too late.
const FORGETS: u64 = 7;

impl Model for Forgetful {
    fn methods(&self) -> &'static [(&'static str, f64)] {
        &[
            ("get", 0.4),
            ("put", 0.3),
            ("get_or_insert", 0.1),
            ("take", 0.1),
            ("contains", 0.1),
            ("clear", 0.0),
        ]
    }

    fn call(&mut self, method: &'static str, _: Thread, draw: &mut Draw) -> Invocation {
        match method {
            "put" | "get_or_insert" => with_value(method, draw.key(), draw.value()),
            "clear" => Invocation::bare(method),
            _ => Invocation::int(method, draw.key()),
        }
    }

    fn apply(&mut self, call: &Invocation, _: Thread) -> Option<Datum> {
        let (Datum::Int(key) | Datum::Pair(key, _)) = call.arg else {
            self.entries.clear();
            return Some(Datum::Absent);
        };
        self.looks += 1;
        if self.looks.is_multiple_of(FORGETS) {
            self.entries.remove(&key);
        }
        Some(match (call.method, &call.arg) {
            ("put", &Datum::Pair(key, value)) => {
                self.entries.insert(key, value);
                Datum::Absent
            }
            (_, &Datum::Pair(key, value)) => Datum::Int(*self.entries.entry(key).or_insert(value)),
            ("get", _) => Datum::or_nil(self.entries.get(&key).copied()),
            ("take", _) => Datum::or_nil(self.entries.remove(&key)),
            _ => Datum::Truth(self.entries.contains_key(&key)),
        })
    }

    fn contradiction(&mut self, draw: &mut Draw, _: u64) -> Vec<Done> {
        overwritten(draw)
    }
}

/// Once-cell.
#[derive(Default)]
pub(crate) struct Once {
    pub value: Option<i64>,
}

impl Model for Once {
    fn methods(&self) -> &'static [(&'static str, f64)] {
        &[("get", 0.5), ("set", 0.25), ("get_or_init", 0.25)]
    }

    fn call(&mut self, method: &'static str, _: Thread, draw: &mut Draw) -> Invocation {
        match method {
            "get" => Invocation::bare(method),
            _ => Invocation::int(method, draw.value()),
        }
    }

    fn apply(&mut self, call: &Invocation, _: Thread) -> Option<Datum> {
        Some(match (call.method, &call.arg) {
            ("set", Datum::Int(value)) => {
                let is_empty = self.value.is_none();
                self.value.get_or_insert(*value);
                Datum::Truth(is_empty)
            }
            (_, Datum::Int(value)) => Datum::Int(*self.value.get_or_insert(*value)),
            _ => Datum::or_nil(self.value),
        })
    }

    /// The cell is filled twice.
    fn contradiction(&mut self, draw: &mut Draw, _: u64) -> Vec<Done> {
        let set = |value| (Invocation::int("set", value), Datum::Truth(true));
        vec![set(draw.fresh()), set(draw.fresh())]
    }
}
