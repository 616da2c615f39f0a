//! Sequential objects in their most obvious form.

use crate::oracle::{Model, Op};
use seriatim_history::Value;
use std::collections::BTreeSet;

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

impl Model for Containers {
    type State = Vec<Value>;

    fn initial(&self) -> Vec<Value> {
        Vec::new()
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
