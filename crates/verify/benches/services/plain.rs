//! Two objects without a version, in Rust and in the algorithm language: cells, which are checked
//! key by key, and a bank, which is checked as a whole.

use crate::draw::Random;
use seriatim_monitor::Recording;
use seriatim_spec::{Next, Spec, key_of};
use std::collections::BTreeMap;
use std::fmt::Write;

pub const CELLS: &str = "spec cells {
  var cells: map<int, int> = {}
  method put(k: int, v: int) { cells[k] = v }
  method get(k: int) -> int { return if k in cells { cells[k] } else { 0 } }
  method cas(k: int, old: int, next: int) -> bool {
    let found = if k in cells { cells[k] } else { 0 }
    if found != old { return false }
    cells[k] = next
    return true
  }
}";

pub const BANK: &str = "spec bank {
  var balance: map<int, int> = {}
  method put(a: int, amount: int) {
    balance[a] = amount + (if a in balance { balance[a] } else { 0 })
  }
  method cas(from: int, to: int, amount: int) -> bool {
    let has = if from in balance { balance[from] } else { 0 }
    if has < amount { return false }
    balance[from] = has - amount
    balance[to] = amount + (if to in balance { balance[to] } else { 0 })
    return true
  }
  method get(a: int) -> int { return if a in balance { balance[a] } else { 0 } }
}";

/// Which object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Plain {
    Cells,
    Bank,
}

/// What is called: put and deposit, get and read, compare-and-set and transfer.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    Put(i32, i32),
    Get(i32),
    Cas(i32, i32, i32),
}

type State = BTreeMap<i32, i32>;

impl Plain {
    pub fn source(self) -> &'static str {
        match self {
            Plain::Cells => CELLS,
            Plain::Bank => BANK,
        }
    }

    fn run(self, state: &State, op: &Op) -> (State, i32) {
        let mut after = state.clone();
        let has = |key: &i32| state.get(key).copied().unwrap_or(0);
        let answer = match (self, op) {
            (Plain::Cells, Op::Put(key, value)) => after.insert(*key, *value).map_or(0, |_| 0),
            (Plain::Bank, Op::Put(key, value)) => {
                after.insert(*key, has(key) + value).map_or(0, |_| 0)
            }
            (_, Op::Get(key)) => has(key),
            (Plain::Cells, Op::Cas(key, old, new)) if has(key) == *old => {
                after.insert(*key, *new);
                1
            }
            (Plain::Bank, Op::Cas(from, to, amount)) if has(from) >= *amount => {
                after.insert(*from, has(from) - amount);
                let there = after.get(to).copied().unwrap_or(0);
                after.insert(*to, there + amount);
                1
            }
            (_, Op::Cas(..)) => 0,
        };
        (after, answer)
    }
}

impl Spec for Plain {
    type State = State;
    type Op = Op;
    type Ret = i32;

    fn initial(&self) -> State {
        State::new()
    }

    fn step(&self, state: &State, op: &Op, ret: Option<&i32>) -> Next<State> {
        let (after, answer) = self.run(state, op);
        Next::when(ret.is_none_or(|ret| *ret == answer), || after)
    }

    fn is_read_only(&self, op: &Op, ret: Option<&i32>) -> bool {
        matches!((op, ret), (Op::Get(_), _) | (Op::Cas(..), Some(0)))
    }

    fn key(&self, op: &Op) -> Option<u64> {
        let (Op::Put(key, _) | Op::Get(key) | Op::Cas(key, ..)) = op;
        (*self == Plain::Cells).then(|| key_of(key))
    }
}

/// A run of an object in both forms: recorded, and as lines.
pub fn run(object: Plain, operations: u64, clients: u64, keys: u64) -> (Recording<Plain>, String) {
    let mut random = Random::new(11);
    let mut state = object.initial();
    let mut recording = Recording::new(object);
    let mut lines = String::new();
    let mut free = vec![0; clients as usize];
    for number in 0..operations {
        let point = (number + 1) * 10;
        let process = number % clients;
        let call = free[process as usize] + 1;
        let ret = point + 1 + random.below(clients * 8);
        let call = call.max(point.saturating_sub(clients * 8));
        free[process as usize] = ret.min(point + 10 * clients - 10);
        let ret = free[process as usize];
        let (key, value) = (random.below(keys) as i32, 1 + random.below(9) as i32);
        let has = state.get(&key).copied().unwrap_or(0);
        let op = match random.below(5) {
            0 | 1 => Op::Put(key, value),
            2 | 3 => Op::Get(key),
            _ if object == Plain::Bank => Op::Cas(key, (key + 1) % keys as i32, value),
            _ => Op::Cas(key, if value > 4 { has } else { value }, value),
        };
        let (after, answer) = object.run(&state, &op);
        state = after;
        line(&mut lines, (process, call, ret), &op, answer);
        recording.operation(process as i64, op, call, Some((ret, answer))).expect("a history");
    }
    (recording, lines)
}

fn line(lines: &mut String, (process, call, ret): (u64, u64, u64), op: &Op, answer: i32) {
    let (name, arg, result) = match op {
        Op::Put(key, value) => ("put", format!("[{key},{value}]"), "null".to_owned()),
        Op::Get(key) => ("get", format!("{key}"), answer.to_string()),
        Op::Cas(a, b, c) => ("cas", format!("[{a},{b},{c}]"), (answer == 1).to_string()),
    };
    writeln!(
        lines,
        "{{\"process\":{process},\"op\":\"{name}\",\"arg\":{arg},\"result\":{result},\
         \"call\":{call},\"return\":{ret}}}"
    )
    .expect("a string takes everything");
}
