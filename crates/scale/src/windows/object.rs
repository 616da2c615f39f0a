//! The objects that a streamed witness is replayed on, in their plainest form.
//!
//! Nothing here is shared with the specifications or the monitors: neither the names of methods nor
//! the comparison of values. What is not sure to be right is wrong (`step` says no), and the part
//! stays open.

use crate::judge::Judge;
use crate::split::Splitting;
use seriatim_history::Value;
use std::collections::{HashMap, VecDeque};

/// An object.
#[derive(Clone)]
pub enum Object {
    /// A register, or a key of a map that is read and written: what it holds, and what it held
    /// first.
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
    /// What was appended.
    Log(Vec<Value>),
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

/// What the object answers, and how that may be recorded.
pub enum Answer {
    /// This, and it is always recorded.
    Tells(Value),
    /// This, if anything was recorded.
    Shows(Value),
    /// No more than that the operation is over; its argument, which is given here, may be repeated.
    Over(Value),
    /// Where something was appended, or no more than that the operation is over.
    Index(i64),
}

impl Answer {
    /// Whether the log's result can be this answer.
    pub fn fits(&self, told: Option<&Value>) -> bool {
        match (self, told) {
            (Answer::Tells(seen), told) => told == Some(seen),
            (_, None) => true,
            (Answer::Shows(seen), Some(told)) => told == seen,
            (Answer::Index(index), Some(Value::Int(told))) => told == index,
            (Answer::Index(_), Some(told)) => is_over(told),
            (Answer::Over(arg), Some(told)) => is_over(told) || told == arg,
        }
    }
}

/// Whether a result says no more than that the operation is over.
fn is_over(told: &Value) -> bool {
    match told {
        Value::Nil | Value::Bool(true) => true,
        told => told.as_str() == Some("ok"),
    }
}

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
            "log" if is_plain => Object::Log(Vec::new()),
            _ => return Err(format!("{} cannot be replayed in windows", chosen.choice)),
        })
    }

    /// How many values it holds.
    pub fn len(&self) -> usize {
        match self {
            Object::Cell(..) | Object::Lock(_) | Object::Counter(_) => 1,
            Object::Queue(items) => items.len(),
            Object::Stack(items) | Object::Log(items) => items.len(),
            Object::Set(items) | Object::Multiset(items) => items.len(),
        }
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
            Object::Log(items) => items.iter().map(|item| deed("append", item)).collect(),
            Object::Counter(0) | Object::Lock(false) => Vec::new(),
            Object::Counter(number) => vec![deed("add", &Value::Int(*number))],
            Object::Lock(true) => vec![Deed { method: "acquire", arg: None, result: None }],
        }
    }

    /// Does the operation; nothing if it cannot be done, or if it is not sure what it means.
    pub fn step(&mut self, method: &str, arg: Option<&Value>) -> Option<Answer> {
        let mut buffer = [0; LONGEST];
        let method = small_letters(method, &mut buffer)?;
        let without = matches!(arg, None | Some(Value::Nil));
        match arg {
            Some(arg) if !without => self.step_with(method, arg),
            _ => self.step_without(method),
        }
    }

    /// An operation with an argument.
    fn step_with(&mut self, method: &str, arg: &Value) -> Option<Answer> {
        let over = || Answer::Over(arg.clone());
        Some(match (self, method) {
            (Object::Cell(now, ..), "write" | "put" | "set" | "store" | "w") => {
                *now = arg.clone();
                over()
            }
            (Object::Queue(items), "enqueue" | "enq") => {
                items.push_back(arg.clone());
                over()
            }
            (Object::Stack(items), "push") => {
                items.push(arg.clone());
                over()
            }
            (Object::Set(items), "add" | "insert") => {
                Answer::Tells(Value::Bool(items.insert(arg.clone(), 1).is_none()))
            }
            (Object::Set(items), "remove" | "delete") => {
                Answer::Tells(Value::Bool(items.remove(arg).is_some()))
            }
            (Object::Set(items) | Object::Multiset(items), "contains" | "member") => {
                Answer::Tells(Value::Bool(items.contains_key(arg)))
            }
            (Object::Multiset(items), "add" | "insert") => {
                *items.entry(arg.clone()).or_default() += 1;
                over()
            }
            (Object::Multiset(items), "remove" | "delete") => {
                Answer::Tells(Value::Bool(take_one(items, arg)))
            }
            (Object::Counter(number), "add") => {
                *number = number.checked_add(arg.as_int()?)?;
                // A number that came back may be the sum, or the argument repeated.
                Answer::Over(Value::Nil)
            }
            (Object::Log(items), "append" | "add" | "push" | "write" | "send") => {
                items.push(arg.clone());
                Answer::Index(items.len() as i64 - 1)
            }
            (Object::Log(items), "read" | "get" | "poll") => {
                let index = usize::try_from(arg.as_int()?).ok();
                match index.and_then(|index| items.get(index)) {
                    Some(Value::Nil) => return None,
                    held => Answer::Shows(held.cloned().unwrap_or(Value::Nil)),
                }
            }
            _ => return None,
        })
    }

    /// An operation without an argument.
    fn step_without(&mut self, method: &str) -> Option<Answer> {
        let or_nil = |item: Option<Value>| Answer::Tells(item.unwrap_or(Value::Nil));
        Some(match (self, method) {
            (Object::Cell(now, ..), "read" | "get" | "load" | "r" | "lookup") => {
                Answer::Shows(now.clone())
            }
            (Object::Cell(now, ..), "write" | "put" | "set" | "store" | "w") => {
                *now = Value::Nil;
                Answer::Over(Value::Nil)
            }
            (Object::Queue(items), "dequeue" | "deq") => or_nil(items.pop_front()),
            (Object::Queue(items), "front" | "peek") => or_nil(items.front().cloned()),
            (Object::Queue(items), "is_empty") => Answer::Tells(Value::Bool(items.is_empty())),
            (Object::Stack(items), "pop") => or_nil(items.pop()),
            (Object::Stack(items), "top" | "peek") => or_nil(items.last().cloned()),
            (Object::Counter(number), "read" | "get") => Answer::Shows(Value::Int(*number)),
            (Object::Counter(number), "inc" | "increment") => {
                *number = number.checked_add(1)?;
                Answer::Over(Value::Nil)
            }
            (Object::Counter(number), "dec" | "decrement") => {
                *number = number.checked_sub(1)?;
                Answer::Over(Value::Nil)
            }
            (Object::Lock(taken @ false), "acquire" | "lock") => {
                *taken = true;
                Answer::Over(Value::Nil)
            }
            (Object::Lock(taken @ true), "release" | "unlock") => {
                *taken = false;
                Answer::Over(Value::Nil)
            }
            (Object::Lock(taken), "try_acquire" | "try_lock") => {
                Answer::Tells(Value::Bool(!std::mem::replace(taken, true)))
            }
            (Object::Lock(taken), "is_locked") => Answer::Tells(Value::Bool(*taken)),
            (Object::Log(items), "read" | "get" | "poll") => {
                Answer::Shows(Value::list(items.iter().cloned()))
            }
            (Object::Log(items), "length" | "size" | "len" | "count") => {
                Answer::Shows(Value::Int(items.len() as i64))
            }
            _ => return None,
        })
    }
}

/// No method that is known here has a longer name.
const LONGEST: usize = 16;

/// A name in small letters; nothing if it is longer than any that is known.
fn small_letters<'b>(name: &str, buffer: &'b mut [u8; LONGEST]) -> Option<&'b str> {
    let small = buffer.get_mut(..name.len())?;
    small.copy_from_slice(name.as_bytes());
    small.make_ascii_lowercase();
    std::str::from_utf8(small).ok()
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
