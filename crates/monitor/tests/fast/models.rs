//! Sequential objects in their most obvious form.

use crate::oracle::{Model, Op};
use seriatim_history::Value;

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
