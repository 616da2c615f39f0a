//! Containers of the generator: stack, queue, deque, priority queue, set, multiset, log.

use super::draw::Draw;
use super::model::{Datum, Done, Invocation, Model, Thread, put, took};
use hashbrown::{HashMap, HashSet};
use seriatim_history::Value;
use std::collections::VecDeque;

/// Stack, queue and deque.
pub(crate) struct Line {
    pub items: VecDeque<i64>,
    pub methods: &'static [(&'static str, f64)],
}

impl Line {
    pub const STACK: &[(&str, f64)] = &[("push", 0.5), ("pop", 0.45), ("top", 0.05)];
    pub const QUEUE: &[(&str, f64)] = &[("enqueue", 0.5), ("dequeue", 0.45), ("front", 0.05)];
    pub const DEQUE: &[(&str, f64)] = &[
        ("push_front", 0.25),
        ("push_back", 0.25),
        ("pop_front", 0.22),
        ("pop_back", 0.22),
        ("front", 0.03),
        ("back", 0.03),
    ];
}

impl Model for Line {
    fn methods(&self) -> &'static [(&'static str, f64)] {
        self.methods
    }

    fn call(&mut self, method: &'static str, _: Thread, draw: &mut Draw) -> Invocation {
        match method {
            "push" | "enqueue" | "push_front" | "push_back" => {
                Invocation::int(method, draw.value())
            }
            _ => Invocation::bare(method),
        }
    }

    fn apply(&mut self, call: &Invocation, _: Thread) -> Option<Datum> {
        Some(match (call.method, &call.arg) {
            ("push_front", Datum::Int(value)) => {
                self.items.push_front(*value);
                Datum::Absent
            }
            (_, Datum::Int(value)) => {
                self.items.push_back(*value);
                Datum::Absent
            }
            ("pop" | "pop_back", _) => Datum::or_nil(self.items.pop_back()),
            ("dequeue" | "pop_front", _) => Datum::or_nil(self.items.pop_front()),
            ("top" | "back", _) => Datum::or_nil(self.items.back().copied()),
            _ => Datum::or_nil(self.items.front().copied()),
        })
    }

    fn starves(&self, call: &Invocation) -> bool {
        self.items.is_empty() && call.arg == Datum::Absent
    }

    /// Two values leave in the wrong order, although both were there.
    fn contradiction(&mut self, draw: &mut Draw, _: u64) -> Vec<Done> {
        let (a, b) = (draw.fresh(), draw.fresh());
        let (add, take, order) = match self.methods[0].0 {
            "push" => ("push", "pop", [a, b]),
            "enqueue" => ("enqueue", "dequeue", [b, a]),
            _ => ("push_back", "pop_front", [b, a]),
        };
        vec![put(add, a), put(add, b), took(take, order[0]), took(take, order[1])]
    }
}

/// Priority queue. Values are held so that the greatest leaves first.
pub(crate) struct Heap {
    pub items: std::collections::BinaryHeap<i64>,
    /// 1 if the greatest value leaves first, -1 if the least does.
    pub sign: i64,
}

impl Model for Heap {
    fn methods(&self) -> &'static [(&'static str, f64)] {
        &[("insert", 0.5), ("extract", 0.45), ("peek", 0.05)]
    }

    fn call(&mut self, method: &'static str, _: Thread, draw: &mut Draw) -> Invocation {
        match method {
            "insert" => Invocation::int(method, draw.scattered_value()),
            _ => Invocation::bare(method),
        }
    }

    fn apply(&mut self, call: &Invocation, _: Thread) -> Option<Datum> {
        Some(match (call.method, &call.arg) {
            (_, Datum::Int(value)) => {
                self.items.push(*value * self.sign);
                Datum::Absent
            }
            ("extract", _) => Datum::or_nil(self.items.pop().map(|item| item * self.sign)),
            _ => Datum::or_nil(self.items.peek().map(|item| item * self.sign)),
        })
    }

    fn starves(&self, call: &Invocation) -> bool {
        self.items.is_empty() && call.arg == Datum::Absent
    }

    /// A value leaves before one that should go first, although both were there.
    fn contradiction(&mut self, draw: &mut Draw, _: u64) -> Vec<Done> {
        let (least, greatest) = (draw.fresh(), draw.fresh());
        let (first, last) = match self.sign {
            1 => (greatest, least),
            _ => (least, greatest),
        };
        vec![
            put("insert", least),
            put("insert", greatest),
            took("extract", last),
            took("extract", first),
        ]
    }
}

/// Set.
#[derive(Default)]
pub(crate) struct Members {
    pub elements: HashSet<i64>,
}

impl Model for Members {
    fn methods(&self) -> &'static [(&'static str, f64)] {
        &[("add", 0.3), ("remove", 0.3), ("contains", 0.4), ("size", 0.0), ("read", 0.0)]
    }

    fn call(&mut self, method: &'static str, _: Thread, draw: &mut Draw) -> Invocation {
        match method {
            "size" | "read" => Invocation::bare(method),
            _ => Invocation::int(method, draw.key()),
        }
    }

    fn apply(&mut self, call: &Invocation, _: Thread) -> Option<Datum> {
        Some(match (call.method, &call.arg) {
            ("add", Datum::Int(element)) => Datum::Truth(self.elements.insert(*element)),
            ("remove", Datum::Int(element)) => Datum::Truth(self.elements.remove(element)),
            (_, Datum::Int(element)) => Datum::Truth(self.elements.contains(element)),
            ("size", _) => Datum::Int(self.elements.len() as i64),
            _ => {
                let mut elements: Vec<i64> = self.elements.iter().copied().collect();
                elements.sort_unstable();
                Datum::Other(Value::list(elements.into_iter().map(Value::Int)))
            }
        })
    }

    /// An element that was added, and that nothing removes, is not there.
    fn contradiction(&mut self, draw: &mut Draw, _: u64) -> Vec<Done> {
        let element = Datum::Int(draw.fresh());
        let add = Invocation::new("add", element.clone());
        let contains = Invocation::new("contains", element);
        vec![(add, Datum::Truth(true)), (contains, Datum::Truth(false))]
    }
}

/// Multiset.
#[derive(Default)]
pub(crate) struct Bag {
    pub items: HashMap<i64, u64>,
    pub size: u64,
}

impl Model for Bag {
    fn methods(&self) -> &'static [(&'static str, f64)] {
        &[("add", 0.4), ("remove", 0.3), ("contains", 0.3), ("take", 0.0), ("size", 0.0)]
    }

    fn call(&mut self, method: &'static str, _: Thread, draw: &mut Draw) -> Invocation {
        match method {
            "take" | "size" => Invocation::bare(method),
            "add" => Invocation::int(method, draw.value()),
            _ => Invocation::int(method, draw.old_value()),
        }
    }

    fn apply(&mut self, call: &Invocation, _: Thread) -> Option<Datum> {
        Some(match (call.method, &call.arg) {
            ("add", Datum::Int(item)) => {
                *self.items.entry(*item).or_default() += 1;
                self.size += 1;
                Datum::Absent
            }
            ("remove", Datum::Int(item)) => Datum::Truth(self.remove(*item)),
            (_, Datum::Int(item)) => Datum::Truth(self.items.contains_key(item)),
            ("size", _) => Datum::Int(self.size as i64),
            _ => {
                // Any item is right; the least one is the same for the same seed.
                let item = self.items.keys().min().copied();
                if let Some(item) = item {
                    self.remove(item);
                }
                Datum::or_nil(item)
            }
        })
    }

    fn starves(&self, call: &Invocation) -> bool {
        self.size == 0 && call.method == "take"
    }

    /// An item that was added once is removed twice.
    fn contradiction(&mut self, draw: &mut Draw, _: u64) -> Vec<Done> {
        let item = draw.fresh();
        let removed = (Invocation::int("remove", item), Datum::Truth(true));
        vec![put("add", item), removed.clone(), removed]
    }
}

impl Bag {
    fn remove(&mut self, item: i64) -> bool {
        let hashbrown::hash_map::Entry::Occupied(mut count) = self.items.entry(item) else {
            return false;
        };
        self.size -= 1;
        *count.get_mut() -= 1;
        if *count.get() == 0 {
            count.remove();
        }
        true
    }
}

/// Append-only log.
#[derive(Default)]
pub(crate) struct Journal {
    pub items: Vec<i64>,
}

impl Model for Journal {
    fn methods(&self) -> &'static [(&'static str, f64)] {
        &[("append", 0.5), ("read", 0.4), ("length", 0.1)]
    }

    fn call(&mut self, method: &'static str, _: Thread, draw: &mut Draw) -> Invocation {
        match method {
            "append" => Invocation::int(method, draw.value()),
            "read" => Invocation::int(method, draw.below(self.items.len() as u64 + 2) as i64),
            _ => Invocation::bare(method),
        }
    }

    fn apply(&mut self, call: &Invocation, _: Thread) -> Option<Datum> {
        Some(match (call.method, &call.arg) {
            ("append", Datum::Int(value)) => {
                self.items.push(*value);
                Datum::Int(self.items.len() as i64 - 1)
            }
            ("read", Datum::Int(index)) => {
                let index = usize::try_from(*index).ok();
                Datum::or_nil(index.and_then(|index| self.items.get(index)).copied())
            }
            _ => Datum::Int(self.items.len() as i64),
        })
    }

    /// Two values are given one index.
    fn contradiction(&mut self, draw: &mut Draw, _: u64) -> Vec<Done> {
        let index = Datum::Int(self.items.len() as i64);
        let append = |value| (Invocation::int("append", value), index.clone());
        vec![append(draw.fresh()), append(draw.fresh())]
    }
}
