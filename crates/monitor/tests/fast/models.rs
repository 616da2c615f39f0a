//! Sequential objects in their most obvious form.

use crate::oracle::{Model, Op};
use seriatim_history::Value;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// The order in which a container gives its values back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Fifo,
    Lifo,
    Largest,
    Smallest,
}

/// A queue, stack or priority queue.
#[derive(Clone, Copy, Debug)]
pub struct Containers(pub Order);

impl Containers {
    fn head(&self, state: &[Value]) -> Option<usize> {
        let indices = 0..state.len();
        match self.0 {
            Order::Fifo => indices.min(),
            Order::Lifo => indices.max(),
            Order::Largest => indices.max_by_key(|&i| &state[i]),
            Order::Smallest => indices.min_by_key(|&i| &state[i]),
        }
    }
}

impl Containers {
    /// Lets an operation take effect and gives its result.
    pub fn apply(&self, state: &mut Vec<Value>, op: &Op) -> Option<Value> {
        match op.method {
            "insert" => {
                state.extend(op.arg.clone());
                None
            }
            "remove" => Some(self.head(state).map_or(Value::Nil, |head| state.remove(head))),
            "is_empty" => Some(Value::Bool(state.is_empty())),
            "size" => Some(Value::Int(state.len() as i64)),
            _ => Some(self.head(state).map_or(Value::Nil, |head| state[head].clone())),
        }
    }
}

impl Model for Containers {
    type State = Vec<Value>;

    fn initial(&self) -> Vec<Value> {
        Vec::new()
    }

    /// Where values do not tell in which order they come out, those that nobody ever returned are
    /// alike.
    fn simplified<'o>(&self, ops: &'o [Op]) -> Cow<'o, [Op]> {
        let is_returned = |value: &Option<Value>| ops.iter().any(|op| op.result == *value);
        let alike = |op: &Op| op.method == "insert" && !is_returned(&op.arg);
        match self.0 {
            Order::Fifo | Order::Lifo if ops.iter().any(alike) => {
                let anything = || Some(Value::text("anything"));
                let simple = ops.iter().map(|op| match alike(op) {
                    true => Op { arg: anything(), ..op.clone() },
                    false => op.clone(),
                });
                simple.collect()
            }
            _ => Cow::Borrowed(ops),
        }
    }

    fn step(&self, state: &Vec<Value>, op: &Op) -> Vec<Vec<Value>> {
        let head = self.head(state);
        let seen = head.map_or(Value::Nil, |head| state[head].clone());
        let fits = |result: Value| op.ret.is_none() || op.result == Some(result);
        let mut next = state.clone();
        match op.method {
            "insert" => {
                next.extend(op.arg.clone());
                vec![next]
            }
            "remove" if fits(seen.clone()) => {
                head.map(|head| next.remove(head));
                vec![next]
            }
            "peek" if fits(seen) => vec![next],
            "is_empty" if fits(Value::Bool(head.is_none())) => vec![next],
            "size" if fits(Value::Int(state.len() as i64)) => vec![next],
            _ => vec![],
        }
    }
}

/// A set of which each operation answers true or false.
#[derive(Clone, Copy, Debug)]
pub struct Keys;

impl Model for Keys {
    type State = BTreeSet<Value>;

    fn initial(&self) -> BTreeSet<Value> {
        BTreeSet::new()
    }

    fn step(&self, state: &BTreeSet<Value>, op: &Op) -> Vec<BTreeSet<Value>> {
        let key = op.arg.clone().unwrap_or(Value::Nil);
        let mut next = state.clone();
        let result = match op.method {
            "insert" => next.insert(key),
            "remove" => next.remove(&key),
            _ => next.contains(&key),
        };
        let fits = op.ret.is_none() || op.result == Some(Value::Bool(result));
        if fits { vec![next] } else { vec![] }
    }
}

/// A mutex that anybody may release.
#[derive(Clone, Copy, Debug)]
pub struct Mutex;

impl Model for Mutex {
    type State = bool;

    fn initial(&self) -> bool {
        false
    }

    fn step(&self, held: &bool, op: &Op) -> Vec<bool> {
        let answers = |answer: bool| op.ret.is_none() || op.result == Some(Value::Bool(answer));
        match op.method {
            "lock" if !held => vec![true],
            "unlock" if *held => vec![false],
            "try_lock" if answers(!held) => vec![true],
            "is_locked" if answers(*held) => vec![*held],
            _ => vec![],
        }
    }
}

/// A register that holds nil at first.
#[derive(Clone, Copy, Debug)]
pub struct Register;

impl Model for Register {
    type State = Value;

    fn initial(&self) -> Value {
        Value::Nil
    }

    fn step(&self, state: &Value, op: &Op) -> Vec<Value> {
        match op.method {
            "write" => op.arg.iter().cloned().collect(),
            "read" if op.ret.is_none() || op.result.as_ref() == Some(state) => vec![state.clone()],
            _ => vec![],
        }
    }
}

/// A counter.
#[derive(Clone, Copy, Debug)]
pub struct Counter;

impl Model for Counter {
    type State = i64;

    fn initial(&self) -> i64 {
        0
    }

    fn step(&self, state: &i64, op: &Op) -> Vec<i64> {
        match op.method {
            "inc" => vec![state + 1],
            "dec" => vec![state - 1],
            _ if op.ret.is_none() || op.result == Some(Value::Int(*state)) => vec![*state],
            _ => vec![],
        }
    }
}

/// A number that tells what it was before an addition.
#[derive(Clone, Copy, Debug)]
pub struct FetchAndAdd;

impl Model for FetchAndAdd {
    type State = i64;

    fn initial(&self) -> i64 {
        0
    }

    fn step(&self, state: &i64, op: &Op) -> Vec<i64> {
        let fits = op.ret.is_none() || op.result == Some(Value::Int(*state));
        let amount = op.arg.as_ref().and_then(Value::as_int).unwrap_or(1);
        match op.method {
            "read" if fits => vec![*state],
            "fetch_and_add" if fits => vec![state + amount],
            _ => vec![],
        }
    }
}

/// A multiset.
#[derive(Clone, Copy, Debug)]
pub struct Bag;

impl Model for Bag {
    type State = BTreeMap<Value, i64>;

    fn initial(&self) -> BTreeMap<Value, i64> {
        BTreeMap::new()
    }

    fn step(&self, state: &BTreeMap<Value, i64>, op: &Op) -> Vec<BTreeMap<Value, i64>> {
        let key = op.arg.clone().unwrap_or(Value::Nil);
        let mut next = state.clone();
        let count = next.entry(key).or_default();
        let result = match op.method {
            "add" => {
                *count += 1;
                return vec![next];
            }
            "remove" => {
                let found = *count > 0;
                *count -= i64::from(found);
                Value::Bool(found)
            }
            "contains" => Value::Bool(*count > 0),
            _ => Value::Int(*count),
        };
        let fits = op.ret.is_none() || op.result == Some(result);
        if fits { vec![next] } else { vec![] }
    }
}

/// A semaphore with some permits.
#[derive(Clone, Copy, Debug)]
pub struct Semaphore(pub i64);

impl Model for Semaphore {
    type State = i64;

    fn initial(&self) -> i64 {
        self.0
    }

    fn step(&self, permits: &i64, op: &Op) -> Vec<i64> {
        let answers = |answer: bool| op.ret.is_none() || op.result == Some(Value::Bool(answer));
        match op.method {
            "release" => vec![permits + 1],
            "acquire" if *permits > 0 => vec![permits - 1],
            "try_acquire" if answers(*permits > 0) => vec![0.max(permits - 1)],
            "available" if op.result == Some(Value::Int(*permits)) => vec![*permits],
            _ => vec![],
        }
    }
}

/// A log with indices: an `append` returns its index or nothing; `get` of an index, `read`,
/// `length`.
#[derive(Clone, Copy, Debug)]
pub struct IndexedLog;

impl Model for IndexedLog {
    type State = Vec<Value>;

    fn initial(&self) -> Vec<Value> {
        Vec::new()
    }

    fn answer(&self, state: &Vec<Value>) -> Option<Value> {
        Some(Value::list(state.iter().cloned()))
    }

    fn step(&self, state: &Vec<Value>, op: &Op) -> Vec<Vec<Value>> {
        let length = Value::Int(state.len() as i64);
        let at = |index: &Value| state.get(index.as_int()? as usize).cloned();
        let result = match (op.method, &op.arg) {
            ("append", _) => op.result.as_ref().map_or(Value::Nil, |_| length),
            ("read", Some(index)) => at(index).unwrap_or(Value::Nil),
            ("read", None) => Value::list(state.iter().cloned()),
            _ => length,
        };
        let mut next = state.clone();
        if op.method == "append" {
            next.extend(op.arg.clone());
        }
        let unsaid = op.method == "append" && op.result.is_none();
        match op.ret.is_none() || unsaid || op.result == Some(result) {
            true => vec![next],
            false => vec![],
        }
    }
}

/// A log that is read whole.
#[derive(Clone, Copy, Debug)]
pub struct Log;

impl Model for Log {
    type State = Vec<Value>;

    fn initial(&self) -> Vec<Value> {
        Vec::new()
    }

    fn answer(&self, state: &Vec<Value>) -> Option<Value> {
        Some(Value::list(state.iter().cloned()))
    }

    fn is_hopeless(&self, state: &Vec<Value>, op: &Op) -> bool {
        // What is appended stays: a read to come must begin with it.
        let read = op.result.as_ref().and_then(Value::as_list);
        read.is_some_and(|read| !read.starts_with(state))
    }

    fn step(&self, state: &Vec<Value>, op: &Op) -> Vec<Vec<Value>> {
        let mut next = state.clone();
        if op.method == "append" {
            next.extend(op.arg.clone());
            return vec![next];
        }
        let fits = op.ret.is_none() || op.result == Some(Value::list(next.iter().cloned()));
        if fits { vec![next] } else { vec![] }
    }
}

/// A map whose keys hold nil at first; `put` takes a list of key and value.
#[derive(Clone, Copy, Debug)]
pub struct Map;

impl Model for Map {
    type State = BTreeMap<Value, Value>;

    fn initial(&self) -> BTreeMap<Value, Value> {
        BTreeMap::new()
    }

    fn step(&self, state: &BTreeMap<Value, Value>, op: &Op) -> Vec<BTreeMap<Value, Value>> {
        let mut next = state.clone();
        match &op.arg {
            Some(Value::List(pair)) => {
                next.insert(pair[0].clone(), pair[1].clone());
                vec![next]
            }
            Some(key) => {
                let held = state.get(key).cloned().unwrap_or(Value::Nil);
                let fits = op.ret.is_none() || op.result == Some(held);
                if fits { vec![next] } else { vec![] }
            }
            None => vec![],
        }
    }
}
