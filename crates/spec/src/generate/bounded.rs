//! The bounded deque of the generator.

use super::draw::Draw;
use super::model::{Datum, Done, Invocation, Model, Thread, took};
use seriatim_history::Value;
use std::collections::VecDeque;

/// Bounded deque.
pub(crate) struct Bounded {
    pub items: VecDeque<i64>,
    pub capacity: i64,
}

impl Bounded {
    fn is_full(&self) -> bool {
        self.items.len() as i64 >= self.capacity
    }

    fn push(&mut self, method: &str, value: i64) {
        match method {
            "push_front" | "force_push_front" => self.items.push_front(value),
            _ => self.items.push_back(value),
        }
    }
}

impl Model for Bounded {
    fn methods(&self) -> &'static [(&'static str, f64)] {
        &[
            ("push_back", 0.25),
            ("push_front", 0.1),
            ("force_push", 0.1),
            ("force_push_front", 0.05),
            ("pop_front", 0.25),
            ("pop_back", 0.1),
            ("front", 0.02),
            ("back", 0.02),
            ("drain", 0.01),
            ("size", 0.05),
            ("is_full", 0.05),
        ]
    }

    fn call(&mut self, method: &'static str, _: Thread, draw: &mut Draw) -> Invocation {
        match method {
            "push_back" | "push_front" | "force_push" | "force_push_front" => {
                Invocation::int(method, draw.value())
            }
            _ => Invocation::bare(method),
        }
    }

    fn apply(&mut self, call: &Invocation, _: Thread) -> Option<Datum> {
        let is_full = self.is_full();
        Some(match (call.method, &call.arg) {
            ("push_back" | "push_front", Datum::Int(value)) => {
                if !is_full {
                    self.push(call.method, *value);
                }
                Datum::Truth(!is_full)
            }
            (_, Datum::Int(value)) => {
                self.push(call.method, *value);
                let gone = match (is_full, call.method) {
                    (false, _) => None,
                    (true, "force_push") => self.items.pop_front(),
                    (true, _) => self.items.pop_back(),
                };
                Datum::or_nil(gone)
            }
            ("pop_front", _) => Datum::or_nil(self.items.pop_front()),
            ("pop_back", _) => Datum::or_nil(self.items.pop_back()),
            ("front", _) => Datum::or_nil(self.items.front().copied()),
            ("back", _) => Datum::or_nil(self.items.back().copied()),
            ("drain", _) => Datum::Other(Value::list(self.items.drain(..).map(Value::Int))),
            ("size", _) => Datum::Int(self.items.len() as i64),
            _ => Datum::Truth(is_full),
        })
    }

    fn starves(&self, call: &Invocation) -> bool {
        self.items.is_empty() && matches!(call.method, "pop_front" | "pop_back" | "front" | "back")
    }

    /// Two values leave in the wrong order, although both were there.
    fn contradiction(&mut self, draw: &mut Draw, _: u64) -> Vec<Done> {
        let (a, b) = (draw.fresh(), draw.fresh());
        let push = |value| (Invocation::int("push_back", value), Datum::Truth(true));
        vec![push(a), push(b), took("pop_front", b), took("pop_front", a)]
    }
}
