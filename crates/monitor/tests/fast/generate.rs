//! Random histories: mostly linearizable by construction, then damaged a little.

use crate::models::Containers;
use crate::oracle::{Model, Op};
use seriatim_history::Value;
pub use seriatim_testing::Random;

/// How many histories a test tries: a hundred times as many in the long mode.
pub fn rounds(short: u64) -> u64 {
    if seriatim_testing::long() { short * 100 } else { short }
}

/// What a random history looks like.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub operations: u64,
    /// The width of the intervals in hundredths of the distance of linearization points.
    pub width: u64,
    /// The chance that an operation is pending, in percent.
    pub pending: u64,
    /// The chance that another damage is done, in percent.
    pub damage: u64,
}

impl Shape {
    pub fn random(random: &mut Random, most: u64) -> Self {
        Shape {
            operations: 3 + random.below(most - 2),
            width: [50, 120, 200, 400, 700][random.below(5) as usize],
            pending: [0, 0, 10, 30][random.below(4) as usize],
            damage: [0, 50, 75][random.below(3) as usize],
        }
    }
}

/// A random history of an object. `call` draws an operation with its results open: `candidates` are
/// the results to try, of which one that the model allows is taken; none: the one that the model
/// gives.
pub fn random_history<M: Model>(
    random: &mut Random,
    shape: Shape,
    model: &M,
    mut call: impl FnMut(&mut Random, u64) -> (&'static str, Option<Value>, Vec<Option<Value>>),
) -> Vec<Op> {
    let mut state = model.initial();
    let mut ops = Vec::new();
    for index in 0..shape.operations {
        let (method, arg, candidates) = call(random, index);
        let point = 1000 + 100 * index;
        let (early, late) = (random.below(shape.width + 1), random.below(shape.width + 1));
        let candidates = match candidates.is_empty() {
            true => vec![model.answer(&state)],
            false => candidates,
        };
        for result in candidates {
            let op = Op {
                method,
                arg: arg.clone(),
                result,
                call: point - early.min(point),
                ret: Some(point + late),
            };
            if let Some(next) = model.step(&state, &op).first() {
                state = next.clone();
                ops.push(op);
                break;
            }
        }
    }
    for op in &mut ops {
        if random.chance(shape.pending) {
            op.ret = None;
            op.result = None;
        }
    }
    while !ops.is_empty() && random.chance(shape.damage) {
        damage(random, &mut ops);
    }
    ops.sort_by_key(|op| op.call);
    ops
}

fn damage(random: &mut Random, ops: &mut Vec<Op>) {
    let a = random.below(ops.len() as u64) as usize;
    let b = random.below(ops.len() as u64) as usize;
    match random.below(4) {
        0 if a != b
            && ops[a].method == ops[b].method
            && ops[a].ret.is_some()
            && ops[b].ret.is_some() =>
        {
            let result = ops[a].result.take();
            ops[a].result = std::mem::replace(&mut ops[b].result, result);
        }
        1 => {
            let (call, ret) = (ops[a].call, ops[a].ret);
            if ops[b].ret.is_some() && ret.is_some() {
                (ops[a].call, ops[a].ret) = (ops[b].call, ops[b].ret);
                (ops[b].call, ops[b].ret) = (call, ret);
            }
        }
        2 => {
            let shift = random.below(300);
            ops[a].call = (ops[a].call + shift).saturating_sub(150);
            ops[a].ret = ops[a].ret.map(|ret| ret.max(ops[a].call));
        }
        _ => {
            ops.remove(a);
        }
    }
}

/// A history that processes make by taking turns at random: each call, effect and return is a turn.
/// `call` draws an operation; its result is what the model answers.
pub fn concurrent_run(
    random: &mut Random,
    operations: usize,
    processes: usize,
    model: &Containers,
    mut call: impl FnMut(&mut Random, usize) -> (&'static str, Option<Value>),
) -> Vec<Op> {
    let mut ops: Vec<Op> = Vec::new();
    let mut state = model.initial();
    // The open operation of each process, and whether it has taken effect.
    let mut open: Vec<Option<(usize, bool)>> = vec![None; processes];
    let mut time = 0;
    let mut returned = 0;
    while returned < operations {
        time += 1;
        let process = random.below(processes as u64) as usize;
        open[process] = match open[process] {
            None if ops.len() == operations => None,
            None => {
                let (method, arg) = call(random, ops.len());
                ops.push(Op { method, arg, result: None, call: time, ret: None });
                Some((ops.len() - 1, false))
            }
            Some((op, false)) => {
                ops[op].result = model.apply(&mut state, &ops[op]);
                Some((op, true))
            }
            Some((op, true)) => {
                ops[op].ret = Some(time);
                returned += 1;
                None
            }
        };
    }
    ops
}
