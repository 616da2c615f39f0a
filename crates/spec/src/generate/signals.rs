//! Things of the generator that can be closed: weighted semaphore, watch cell, broadcast. Nobody
//! closes them unless it is asked for.

use super::draw::Draw;
use super::model::{Datum, Done, Invocation, Model, Thread};
use hashbrown::HashMap;
use seriatim_history::Value;

fn closed() -> Datum {
    Datum::Other(Value::text("closed"))
}

/// Weighted semaphore.
pub(crate) struct Permits {
    pub free: i64,
    pub is_closed: bool,
}

/// More permits than anybody gives.
const BEYOND: i64 = 1 << 40;

impl Model for Permits {
    fn methods(&self) -> &'static [(&'static str, f64)] {
        &[
            ("release", 0.35),
            ("try_acquire", 0.4),
            ("forget", 0.1),
            ("permits", 0.1),
            ("is_closed", 0.05),
            ("close", 0.0),
        ]
    }

    fn call(&mut self, method: &'static str, _: Thread, draw: &mut Draw) -> Invocation {
        match method {
            "release" | "try_acquire" | "forget" => {
                Invocation::int(method, 1 + draw.below(3) as i64)
            }
            _ => Invocation::bare(method),
        }
    }

    fn apply(&mut self, call: &Invocation, _: Thread) -> Option<Datum> {
        Some(match (call.method, &call.arg) {
            ("release", Datum::Int(count)) => {
                self.free += count;
                Datum::Absent
            }
            ("forget", Datum::Int(count)) => {
                let left = (self.free - count).max(0);
                Datum::Int(std::mem::replace(&mut self.free, left) - left)
            }
            (_, Datum::Int(_)) if self.is_closed => closed(),
            (_, Datum::Int(count)) => {
                let is_enough = self.free >= *count;
                self.free -= if is_enough { *count } else { 0 };
                Datum::Truth(is_enough)
            }
            ("close", _) => {
                self.is_closed = true;
                Datum::Absent
            }
            ("is_closed", _) => Datum::Truth(self.is_closed),
            _ => Datum::Int(self.free),
        })
    }

    fn contradiction(&mut self, _: &mut Draw, _: u64) -> Vec<Done> {
        vec![(Invocation::bare("permits"), Datum::Int(BEYOND))]
    }
}

/// Watch cell and broadcast. Receivers are numbers.
pub(crate) struct Sent {
    methods: &'static [(&'static str, f64)],
    values: Vec<i64>,
    had: HashMap<i64, usize>,
    is_closed: bool,
    capacity: i64,
}

impl Sent {
    pub const WATCH: &[(&str, f64)] = &[
        ("send", 0.25),
        ("send_replace", 0.1),
        ("read", 0.15),
        ("update", 0.3),
        ("has_changed", 0.1),
        ("subscribe", 0.1),
        ("close", 0.0),
    ];
    pub const BROADCAST: &[(&str, f64)] =
        &[("send", 0.3), ("try_recv", 0.5), ("len", 0.1), ("subscribe", 0.1), ("close", 0.0)];

    pub fn new(methods: &'static [(&'static str, f64)], capacity: i64) -> Self {
        let (values, had) = (Vec::new(), HashMap::new());
        Sent { methods, values, had, is_closed: false, capacity }
    }

    fn held(&self) -> Datum {
        Datum::or_nil(self.values.last().copied())
    }

    /// The next value of a receiver.
    fn receive(&mut self, receiver: i64) -> Datum {
        let kept = usize::try_from(self.capacity).unwrap_or(usize::MAX);
        let gone = self.values.len().saturating_sub(kept);
        let had = self.had.entry(receiver).or_insert(0);
        if *had < gone {
            let missed = (gone - *had) as i64;
            *had = gone;
            return Datum::Other(Value::list([Value::text("lagged"), Value::Int(missed)]));
        }
        match self.values.get(*had) {
            Some(value) => {
                *had += 1;
                Datum::Int(*value)
            }
            None if self.is_closed => closed(),
            None => Datum::Nil,
        }
    }
}

impl Model for Sent {
    fn methods(&self) -> &'static [(&'static str, f64)] {
        self.methods
    }

    fn call(&mut self, method: &'static str, _: Thread, draw: &mut Draw) -> Invocation {
        match method {
            "send" | "send_replace" => Invocation::int(method, draw.value()),
            "read" | "close" => Invocation::bare(method),
            _ => Invocation::int(method, draw.key()),
        }
    }

    fn apply(&mut self, call: &Invocation, _: Thread) -> Option<Datum> {
        let sent = self.values.len();
        let had = |sent: &Sent, receiver| sent.had.get(receiver).copied().unwrap_or(0);
        Some(match (call.method, &call.arg) {
            ("send", Datum::Int(value)) => {
                if !self.is_closed {
                    self.values.push(*value);
                }
                Datum::Truth(!self.is_closed)
            }
            ("send_replace", Datum::Int(value)) => {
                let before = self.held();
                self.values.push(*value);
                before
            }
            ("update", Datum::Int(receiver)) => {
                let is_new = had(self, receiver) < sent;
                self.had.insert(*receiver, sent);
                let held = self.values.last().map_or(Value::Nil, |value| Value::Int(*value));
                Datum::Other(Value::list([held, Value::Bool(is_new)]))
            }
            ("has_changed", Datum::Int(receiver)) => Datum::Truth(had(self, receiver) < sent),
            ("len", Datum::Int(receiver)) => Datum::Int((sent - had(self, receiver)) as i64),
            ("subscribe", Datum::Int(receiver)) => {
                self.had.insert(*receiver, sent);
                Datum::Absent
            }
            (_, Datum::Int(receiver)) => self.receive(*receiver),
            ("close", _) => {
                self.is_closed = true;
                Datum::Absent
            }
            _ => self.held(),
        })
    }

    /// Two values are sent one after the other. Then a cell shows the first, or somebody who has
    /// received nothing receives them the other way round.
    fn contradiction(&mut self, draw: &mut Draw, _: u64) -> Vec<Done> {
        let (first, second) = (draw.fresh(), draw.fresh());
        let send = |value| (Invocation::int("send", value), Datum::Absent);
        let mut all = vec![send(first), send(second)];
        match self.methods[1].0 {
            "try_recv" => {
                let receiver = draw.fresh();
                let got = |value| (Invocation::int("try_recv", receiver), Datum::Int(value));
                all.extend([second, first].map(got));
            }
            _ => all.push((Invocation::bare("read"), Datum::Int(first))),
        }
        all
    }
}
