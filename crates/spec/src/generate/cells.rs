//! Things of the generator that hold values at addresses: registers, maps, snapshots.

use super::draw::Draw;
use super::model::{Datum, Done, Invocation, Model, Thread, put, took};
use hashbrown::HashMap;
use seriatim_history::Value;

/// Registers of all kinds.
pub(crate) struct Cell {
    pub value: Datum,
    pub methods: &'static [(&'static str, f64)],
}

impl Cell {
    pub const PLAIN: &[(&str, f64)] = &[("read", 0.5), ("write", 0.5)];
    pub const CAS: &[(&str, f64)] = &[("read", 0.4), ("write", 0.3), ("cas", 0.25), ("swap", 0.05)];
    pub const RMW: &[(&str, f64)] = &[("read", 0.4), ("write", 0.1), ("rmw", 0.5)];
}

impl Model for Cell {
    fn methods(&self) -> &'static [(&'static str, f64)] {
        self.methods
    }

    fn call(&mut self, method: &'static str, _: Thread, draw: &mut Draw) -> Invocation {
        match (method, &self.value) {
            ("read", _) => Invocation::bare(method),
            ("cas", Datum::Int(now)) if draw.chance(0.6) => {
                Invocation::new(method, Datum::Pair(*now, draw.value()))
            }
            ("cas", _) => Invocation::new(method, Datum::Pair(draw.old_value(), draw.value())),
            _ => Invocation::int(method, draw.value()),
        }
    }

    fn apply(&mut self, call: &Invocation, _: Thread) -> Option<Datum> {
        Some(match (call.method, &call.arg) {
            ("read", _) => self.value.clone(),
            ("cas", Datum::Pair(old, new)) => {
                let found = self.value == Datum::Int(*old);
                if found {
                    self.value = Datum::Int(*new);
                }
                Datum::Truth(found)
            }
            ("write", arg) => {
                self.value = arg.clone();
                Datum::Absent
            }
            (_, arg) => std::mem::replace(&mut self.value, arg.clone()),
        })
    }

    /// The first value was overwritten by the second and cannot come back.
    fn contradiction(&mut self, draw: &mut Draw, _: u64) -> Vec<Done> {
        let (first, second) = (draw.fresh(), draw.fresh());
        vec![put("write", first), put("write", second), took("read", first)]
    }
}

/// Several registers, in transactions.
#[derive(Default)]
pub(crate) struct Registers {
    pub values: HashMap<i64, i64>,
}

/// A micro-operation: register, and the value that is written, `None` for a read.
type Micro = (i64, Option<i64>);

fn transaction(micros: impl IntoIterator<Item = (Micro, Value)>) -> Datum {
    let list = micros.into_iter().map(|((register, written), value)| {
        let f = if written.is_some() { "write" } else { "read" };
        Value::list([Value::Name(f.into()), Value::Int(register), value])
    });
    Datum::Other(Value::list(list))
}

fn called(micros: &[Micro]) -> Invocation {
    let shown = |micro: &Micro| (*micro, micro.1.map_or(Value::Nil, Value::Int));
    Invocation::new("txn", transaction(micros.iter().map(shown)))
}

fn micros(call: &Invocation) -> Vec<Micro> {
    let Datum::Other(list) = &call.arg else {
        return Vec::new();
    };
    let micro = |micro: &Value| match micro.as_list()? {
        [_, register, value] => Some((register.as_int()?, value.as_int())),
        _ => None,
    };
    list.as_list().unwrap_or_default().iter().filter_map(micro).collect()
}

impl Model for Registers {
    fn methods(&self) -> &'static [(&'static str, f64)] {
        &[("txn", 1.0)]
    }

    fn call(&mut self, _: &'static str, _: Thread, draw: &mut Draw) -> Invocation {
        let size = 1 + draw.below(3);
        let micros: Vec<Micro> =
            (0..size).map(|_| (draw.key(), draw.chance(0.4).then(|| draw.value()))).collect();
        called(&micros)
    }

    fn apply(&mut self, call: &Invocation, _: Thread) -> Option<Datum> {
        let run = |micro: Micro| match micro {
            (register, Some(value)) => {
                self.values.insert(register, value);
                (micro, Value::Int(value))
            }
            (register, None) => {
                let value = self.values.get(&register);
                (micro, value.map_or(Value::Nil, |&value| Value::Int(value)))
            }
        };
        let done: Vec<(Micro, Value)> = micros(call).into_iter().map(run).collect();
        Some(transaction(done))
    }

    /// The first value was overwritten by the second and cannot come back.
    fn contradiction(&mut self, draw: &mut Draw, _: u64) -> Vec<Done> {
        let (register, first, second) = (draw.key(), draw.fresh(), draw.fresh());
        let write = |value| (called(&[(register, Some(value))]), Datum::Absent);
        let read = (register, None);
        let seen = transaction([(read, Value::Int(first))]);
        vec![write(first), write(second), (called(&[read]), seen)]
    }
}

/// Maps of both kinds.
pub(crate) struct Keyed {
    pub values: HashMap<i64, Value>,
    pub methods: &'static [(&'static str, f64)],
}

impl Keyed {
    pub const MAP: &[(&str, f64)] = &[
        ("get", 0.5),
        ("put", 0.25),
        ("insert", 0.05),
        ("delete", 0.1),
        ("cas", 0.1),
        ("contains", 0.0),
        ("size", 0.0),
    ];
    pub const KV: &[(&str, f64)] = &[("get", 0.5), ("put", 0.2), ("append", 0.3), ("delete", 0.0)];

    fn holds_texts(&self) -> bool {
        self.methods == Keyed::KV
    }

    fn value(&self, number: i64) -> Value {
        match self.holds_texts() {
            true => Value::text(&format!("x{number}.")),
            false => Value::Int(number),
        }
    }

    fn key(&self, number: i64) -> Datum {
        match self.holds_texts() {
            true => Datum::Other(Value::text(&number.to_string())),
            false => Datum::Int(number),
        }
    }

    fn number(key: &Datum) -> i64 {
        match key {
            Datum::Int(number) => *number,
            Datum::Other(text) => text.as_str().and_then(|text| text.parse().ok()).unwrap_or(0),
            _ => 0,
        }
    }

    fn with_key(&self, method: &'static str, key: i64, arg: Datum) -> Invocation {
        let key = self.key(key);
        Invocation { method, key, arg }
    }

    fn get(&self, key: i64) -> Datum {
        match (self.values.get(&key), self.holds_texts()) {
            (Some(value), _) => Datum::Other(value.clone()),
            (None, true) => Datum::Other(Value::text("")),
            (None, false) => Datum::Nil,
        }
    }
}

impl Model for Keyed {
    fn methods(&self) -> &'static [(&'static str, f64)] {
        self.methods
    }

    fn call(&mut self, method: &'static str, _: Thread, draw: &mut Draw) -> Invocation {
        let key = draw.key();
        match method {
            "size" => Invocation::bare(method),
            "put" | "insert" | "append" => {
                let value = self.value(draw.value());
                self.with_key(method, key, Datum::Other(value))
            }
            "cas" => {
                let old = match self.values.get(&key) {
                    Some(value) if draw.chance(0.6) => value.clone(),
                    _ => self.value(draw.old_value()),
                };
                let new = self.value(draw.value());
                self.with_key(method, key, Datum::Other(Value::list([old, new])))
            }
            _ => self.with_key(method, key, Datum::Absent),
        }
    }

    fn apply(&mut self, call: &Invocation, _: Thread) -> Option<Datum> {
        let key = Keyed::number(&call.key);
        Some(match (call.method, &call.arg) {
            ("put", Datum::Other(value)) => {
                self.values.insert(key, value.clone());
                Datum::Absent
            }
            ("insert", Datum::Other(value)) => {
                let absent = !self.values.contains_key(&key);
                if absent {
                    self.values.insert(key, value.clone());
                }
                Datum::Truth(absent)
            }
            ("append", Datum::Other(suffix)) => {
                let base = self.values.get(&key).and_then(Value::as_str).unwrap_or("");
                let text = [base, suffix.as_str().unwrap_or("")].concat();
                self.values.insert(key, Value::text(&text));
                Datum::Absent
            }
            ("cas", Datum::Other(Value::List(pair))) => {
                let found = self.values.get(&key) == Some(&pair[0]);
                if found {
                    self.values.insert(key, pair[1].clone());
                }
                Datum::Truth(found)
            }
            ("delete", _) => Datum::Truth(self.values.remove(&key).is_some()),
            ("contains", _) => Datum::Truth(self.values.contains_key(&key)),
            ("size", _) => Datum::Int(self.values.len() as i64),
            _ => self.get(key),
        })
    }

    /// The first value was overwritten by the second and cannot come back.
    fn contradiction(&mut self, draw: &mut Draw, _: u64) -> Vec<Done> {
        let (key, first, second) = (draw.key(), draw.fresh(), draw.fresh());
        let put = |number| {
            let value = Datum::Other(self.value(number));
            (self.with_key("put", key, value), Datum::Absent)
        };
        let seen = Datum::Other(self.value(first));
        vec![put(first), put(second), (self.with_key("get", key, Datum::Absent), seen)]
    }
}

/// Snapshot.
pub(crate) struct Segments {
    pub values: Vec<Value>,
}

impl Model for Segments {
    fn methods(&self) -> &'static [(&'static str, f64)] {
        &[("update", 0.6), ("scan", 0.4), ("read", 0.0)]
    }

    fn call(&mut self, method: &'static str, _: Thread, draw: &mut Draw) -> Invocation {
        let segment = draw.below(self.values.len() as u64) as i64;
        match method {
            "update" => Invocation::new(method, Datum::Pair(segment, draw.value())),
            "read" => Invocation::int(method, segment),
            _ => Invocation::bare(method),
        }
    }

    fn apply(&mut self, call: &Invocation, _: Thread) -> Option<Datum> {
        Some(match call.arg {
            Datum::Pair(segment, value) => {
                self.values[segment as usize] = Value::Int(value);
                Datum::Absent
            }
            Datum::Int(segment) => Datum::Other(self.values[segment as usize].clone()),
            _ => Datum::Other(Value::list(self.values.iter().cloned())),
        })
    }

    /// The first value was overwritten by the second and cannot come back.
    fn contradiction(&mut self, draw: &mut Draw, _: u64) -> Vec<Done> {
        let (first, second) = (draw.fresh(), draw.fresh());
        let update = |value| (Invocation::new("update", Datum::Pair(0, value)), Datum::Absent);
        let read = (Invocation::int("read", 0), Datum::Int(first));
        vec![update(first), update(second), read]
    }
}
