//! The objects that a streamed witness is replayed on, in their plainest form.
//!
//! Nothing here is shared with the specifications or the monitors: neither the names of methods nor the
//! comparison of values. What is not sure to be right is wrong (`step` says no), and the part stays open.

use crate::judge::Judge;
use crate::split::Splitting;
use seriatim_history::Value;
use std::collections::{HashMap, VecDeque};

/// An object.
pub enum Object {
    /// A register, or a key of a map that is read and written: what it holds, and what it held first.
    Cell(Value, Value, &'static str),
    /// The first in is the first out.
    Queue(VecDeque<Value>),
    /// The last in is the first out.
    Stack(Vec<Value>),
    /// What is inside, each once.
    Set(HashMap<Value, u64>),
    /// What is inside, and how often.
    Multiset(HashMap<Value, u64>),
    /// A number.
    Counter(i64),
    /// Whether it is taken.
    Lock(bool),
}

/// An operation that helps to make a state.
pub struct Deed {
    /// Its name.
    pub method: &'static str,
    /// Its argument.
    pub arg: Option<Value>,
    /// Its result.
    pub result: Option<Value>,
}

/// What came back: `None` if nobody knows, `Some(None)` if the log tells of no result.
type Answered<'r> = Option<Option<&'r Value>>;

impl Object {
    /// The object of a part before its first operation; an error says why there is none.
    pub fn of(judge: &Judge) -> Result<Self, String> {
        let Some(chosen) = judge.reader.chosen() else {
            return Err("its specification is not a built-in one".to_owned());
        };
        let (name, parameters) = (chosen.choice.name(), chosen.choice.parameters());
        let init = parameters.value("init").cloned().unwrap_or(Value::Nil);
        let is_plain = parameters.names().next().is_none();
        Ok(match name {
            "register" if parameters.names().all(|given| given == "init") => {
                Object::Cell(init.clone(), init, "write")
            }
            "map" if is_plain && judge.splitting == Splitting::ByKey => {
                Object::Cell(Value::Nil, Value::Nil, "put")
            }
            "kv" if is_plain && judge.splitting == Splitting::ByKey => {
                Object::Cell(Value::text(""), Value::text(""), "put")
            }
            "queue" if is_plain => Object::Queue(VecDeque::new()),
            "stack" if is_plain => Object::Stack(Vec::new()),
            "set" if is_plain => Object::Set(HashMap::new()),
            "multiset" if is_plain => Object::Multiset(HashMap::new()),
            "counter" if is_plain => Object::Counter(0),
            "mutex" if is_plain => Object::Lock(false),
            _ => return Err(format!("{} cannot be replayed in windows", chosen.choice)),
        })
    }

    /// Operations that make the state, one after another, from the initial one.
    pub fn setup(&self) -> Vec<Deed> {
        let deed = |method, arg: &Value| Deed { method, arg: Some(arg.clone()), result: None };
        let found = |result: bool, deed: Deed| Deed { result: Some(Value::Bool(result)), ..deed };
        match self {
            Object::Cell(now, first, _) if now == first => Vec::new(),
            Object::Cell(now, _, write) => vec![deed(write, now)],
            Object::Queue(items) => items.iter().map(|item| deed("enqueue", item)).collect(),
            Object::Stack(items) => items.iter().map(|item| deed("push", item)).collect(),
            Object::Set(items) => items.keys().map(|item| found(true, deed("add", item))).collect(),
            Object::Multiset(items) => {
                let each = |(item, &count): (&Value, &u64)| {
                    (0..count).map(|_| deed("add", item)).collect::<Vec<_>>()
                };
                items.iter().flat_map(each).collect()
            }
            Object::Counter(0) | Object::Lock(false) => Vec::new(),
            Object::Counter(number) => vec![deed("add", &Value::Int(*number))],
            Object::Lock(true) => vec![Deed { method: "acquire", arg: None, result: None }],
        }
    }

    /// Does the operation; whether it can be that it returned this.
    pub fn step(&mut self, method: &str, arg: Option<&Value>, result: Answered<'_>) -> bool {
        let method = method.to_ascii_lowercase();
        let without = matches!(arg, None | Some(Value::Nil));
        let (arg, nothing) = (arg.unwrap_or(&Value::Nil), Value::Nil);
        match (self, &method[..]) {
            (Object::Cell(now, ..), "read" | "get" | "load" | "r" | "lookup") => {
                without && is(result, now)
            }
            (Object::Cell(now, ..), "write" | "put" | "set" | "store" | "w") => {
                *now = arg.clone();
                is_bare(result, arg)
            }
            (Object::Queue(items), "enqueue" | "enq") => {
                items.push_back(arg.clone());
                !without && is_bare(result, arg)
            }
            (Object::Queue(items), "dequeue" | "deq") => {
                let taken = items.pop_front().unwrap_or(nothing);
                without && tells(result, &taken)
            }
            (Object::Queue(items), "front" | "peek") => {
                without && tells(result, items.front().unwrap_or(&nothing))
            }
            (Object::Stack(items), "push") => {
                items.push(arg.clone());
                !without && is_bare(result, arg)
            }
            (Object::Stack(items), "pop") => {
                let taken = items.pop().unwrap_or(nothing);
                without && tells(result, &taken)
            }
            (Object::Stack(items), "top" | "peek") => {
                without && tells(result, items.last().unwrap_or(&nothing))
            }
            (Object::Queue(items), "is_empty") => {
                without && tells(result, &Value::Bool(items.is_empty()))
            }
            (Object::Set(items), "add" | "insert") => {
                let is_new = items.insert(arg.clone(), 1).is_none();
                !without && tells(result, &Value::Bool(is_new))
            }
            (Object::Set(items), "remove" | "delete") => {
                let was_there = items.remove(arg).is_some();
                !without && tells(result, &Value::Bool(was_there))
            }
            (Object::Set(items) | Object::Multiset(items), "contains" | "member") => {
                !without && tells(result, &Value::Bool(items.contains_key(arg)))
            }
            (Object::Multiset(items), "add" | "insert") => {
                *items.entry(arg.clone()).or_default() += 1;
                !without && is_bare(result, arg)
            }
            (Object::Multiset(items), "remove" | "delete") if !without => {
                tells(result, &Value::Bool(take_one(items, arg)))
            }
            (Object::Counter(number), "read" | "get") => {
                without && is(result, &Value::Int(*number))
            }
            (Object::Counter(number), "add") => {
                let sum = arg.as_int().and_then(|more| number.checked_add(more));
                *number = sum.unwrap_or(*number);
                // A number that came back may be the sum, or the argument repeated.
                sum.is_some() && is_bare(result, &nothing)
            }
            (Object::Counter(number), "inc" | "increment" | "dec" | "decrement") => {
                let more = if method.starts_with("inc") { 1 } else { -1 };
                let sum = number.checked_add(more);
                *number = sum.unwrap_or(*number);
                without && sum.is_some() && is_bare(result, &nothing)
            }
            (Object::Lock(taken), "acquire" | "lock") => {
                !std::mem::replace(taken, true) && without && is_bare(result, &nothing)
            }
            (Object::Lock(taken), "release" | "unlock") => {
                std::mem::replace(taken, false) && without && is_bare(result, &nothing)
            }
            (Object::Lock(taken), "try_acquire" | "try_lock") => {
                let was_free = !std::mem::replace(taken, true);
                without && tells(result, &Value::Bool(was_free))
            }
            (Object::Lock(taken), "is_locked") => without && tells(result, &Value::Bool(*taken)),
            _ => false,
        }
    }
}

/// Whether a read that may have been recorded without its result can have seen this.
fn is(result: Answered<'_>, seen: &Value) -> bool {
    result.flatten().is_none_or(|told| told == seen)
}

/// Whether the result, which is always recorded, is this.
fn tells(result: Answered<'_>, seen: &Value) -> bool {
    result.is_none_or(|told| told == Some(seen))
}

/// Whether the result says no more than that the operation is over.
fn is_bare(result: Answered<'_>, arg: &Value) -> bool {
    let is_over = |told: &Value| match told {
        Value::Nil | Value::Bool(true) => true,
        told => told == arg || told.as_str() == Some("ok"),
    };
    result.flatten().is_none_or(is_over)
}

/// Takes one of a value out, if there is one.
fn take_one(items: &mut HashMap<Value, u64>, item: &Value) -> bool {
    match items.get_mut(item) {
        None => return false,
        Some(1) => _ = items.remove(item),
        Some(count) => *count -= 1,
    }
    true
}
