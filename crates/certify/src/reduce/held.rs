//! The program with locks for words that are used as locks.
//!
//! A word is used as a lock if it begins with one constant, *free*, wherever it begins, and methods
//! access it, outside of atomic blocks, in these ways only: `cas` from free to *taken*; `swap` to
//! taken; a store of free; `cas` from taken to free; a read. Taken is another constant, the same
//! everywhere, or `self`, where free is null.
//!
//! The lock of the stand-in is held by the thread that put taken into the word, as long as it is
//! there. Who finds it free and takes it, takes the lock; who does not, does nothing, and the
//! stand-in may do nothing at any time. What is read may be either. Who puts free there releases
//! the lock, and the stand-in fails if it is not the holder: so it is always the holder, a `cas`
//! from taken finds taken, and the word is free if and only if the lock is.
//!
//! Three things would make the stand-in miss runs: a thread that swaps its name for the name of the
//! holder, so that who comes after does not find its own; the name of a holder that is read and
//! compared with something else than null; and a word that begins taken. None is accepted.

use super::idle::is_not_null;
use super::{Rewriting, Where, all_slots, at_block, becomes_lock, body_of, each, slot_at, touched};
use seriatim_lang::flow;
use seriatim_lang::steps::{BinOp, Ex, NULL, Op, Pc, Reg, Root, Steps};
use seriatim_lang::types::Scalar;

/// The program with locks, if some words are used as locks.
pub fn with_locks(steps: &Steps) -> Option<Steps> {
    each(steps, all_slots(steps), |steps, word| Some(habit(steps, word)?.stand_in(steps, word)))
}

/// With which values a word is used as a lock.
struct Habit {
    free: Ex,
    taken: Ex,
}

/// What an access is for.
enum Access {
    Take(Pc),
    Exchange(Reg),
    Release,
    Read(Reg),
}

fn habit(steps: &Steps, word: Where) -> Option<Habit> {
    let slot = slot_at(steps, word);
    let after = (word.0, word.1 + 1);
    let is_last = !all_slots(steps).contains(&after);
    let is_whole = !slot.joined && (is_last || !slot_at(steps, after).joined);
    let named = match slot.kind.scalar {
        Scalar::Tid => true,
        Scalar::Bool | Scalar::Int(_) | Scalar::Enum(_) => false,
        _ => return None,
    };
    if !is_whole || named != slot.kind.nullable {
        return None;
    }
    let (mut begins, mut taken) = (Vec::new(), Vec::new());
    for (at, instr) in steps.code.iter().enumerate() {
        match &instr.op {
            Op::New { of, fields, .. } if Some(*of) == word.0 => {
                begins.push(fields[word.1 as usize].clone());
            }
            op if !op.place().is_some_and(|place| touched(place).contains(&word)) => {}
            Op::Store { value, .. } if body_of(steps, at) == 0 && word.0.is_none() => {
                begins.push(value[0].clone());
            }
            op => {
                // A word is accessed by itself, by methods, one step at a time.
                let place = op.place()?;
                if body_of(steps, at) == 0 || touched(place) != [word] || instr.inside_atomic {
                    return None;
                }
                match op {
                    Op::Cas { old, new, .. } => taken.extend([old[0].clone(), new[0].clone()]),
                    Op::Swap { value, .. } => taken.push(value[0].clone()),
                    _ => {}
                }
            }
        }
    }
    let free = begins.first().filter(|first| matches!(first, Ex::Const(_)))?.clone();
    taken.retain(|value| *value != free);
    let taken = taken.first()?.clone();
    let apart = match (&free, &taken, named) {
        (Ex::Const(NULL), Ex::SelfTid, true) => true,
        (Ex::Const(a), Ex::Const(b), false) => a != b && ![*a, *b].contains(&NULL),
        _ => false,
    };
    let habit = Habit { free, taken };
    let is_so = apart && begins.iter().all(|value| *value == habit.free);
    let mut takes = false;
    for (at, instr) in steps.code.iter().enumerate() {
        if body_of(steps, at) == 0 || instr.op.place().is_none_or(|p| touched(p) != [word]) {
            continue;
        }
        match habit.access(&instr.op)? {
            Access::Exchange(_) if named => return None,
            Access::Read(reg) if named && !is_compared_with_null(steps, at, reg) => return None,
            Access::Take(_) | Access::Exchange(_) => takes = true,
            Access::Release | Access::Read(_) => {}
        }
    }
    // Arrays begin all at once; a variable is stored by itself.
    let alone = steps.code.iter().enumerate().all(|(at, instr)| match instr.op.place() {
        Some(place) if touched(place).contains(&word) => {
            touched(place) == [word]
                && (word.0.is_some() || place.dims.is_empty() || body_of(steps, at) > 0)
        }
        _ => true,
    });
    (is_so && takes && alone).then_some(habit)
}

impl Habit {
    fn access(&self, op: &Op) -> Option<Access> {
        match op {
            Op::Cas { place, old, new, fail } if place.dims.is_empty() => {
                match (old[0] == self.free, new[0] == self.free) {
                    (true, false) if new[0] == self.taken => Some(Access::Take(*fail)),
                    (false, true) if old[0] == self.taken => Some(Access::Release),
                    _ => None,
                }
            }
            Op::Swap { dst, place, value } if place.dims.is_empty() => {
                (value[0] == self.taken).then_some(Access::Exchange(*dst))
            }
            Op::Store { place, value } if place.dims.is_empty() => {
                (value[0] == self.free).then_some(Access::Release)
            }
            Op::Load { dst, place } if place.dims.is_empty() => Some(Access::Read(*dst)),
            _ => None,
        }
    }

    fn stand_in(&self, steps: &Steps, word: Where) -> Steps {
        let mut result = steps.clone();
        becomes_lock(&mut result, word);
        let mut code = Rewriting::of(&result);
        for (at, instr) in steps.code.iter().enumerate() {
            let Some(place) = instr.op.place().filter(|place| touched(place) == [word]) else {
                continue;
            };
            let Some(access) = self.access(&instr.op).filter(|_| body_of(steps, at) > 0) else {
                continue;
            };
            let gets = |dst: Reg, value: &Ex| Op::Set { dst, value: vec![value.clone()] };
            let on = Op::Jump(at_block(at + 1, 0));
            let either = |a: u32, b: u32| Op::Choose(vec![at_block(at, a), at_block(at, b)]);
            let place = place.clone();
            code.put(
                at,
                match access {
                    Access::Take(fail) => {
                        let fails = Op::Jump(at_block(fail.0 as usize, 0));
                        vec![either(1, 3), Op::Lock(place), on, Op::Atomic, fails]
                    }
                    Access::Exchange(dst) => {
                        let (free, taken) = (gets(dst, &self.free), gets(dst, &self.taken));
                        vec![either(1, 4), Op::Lock(place), free, on, Op::Atomic, taken]
                    }
                    Access::Release => vec![Op::Unlock(place)],
                    Access::Read(dst) => {
                        let (free, taken) = (gets(dst, &self.free), gets(dst, &self.taken));
                        let there = match &place.root {
                            Root::Shared => Ex::Const(1),
                            Root::Node(node, _) => is_not_null(node),
                        };
                        vec![Op::Atomic, Op::Assert(there), either(3, 5), free, on, taken]
                    }
                },
            );
        }
        code.finish(&mut result);
        result
    }
}

/// Whether nothing is done with a register of a method but to ask whether it is null, in a
/// condition.
fn is_compared_with_null(steps: &Steps, at: usize, reg: Reg) -> bool {
    fn questions(ex: &Ex, reg: Reg) -> u32 {
        match ex {
            Ex::Not(a) => questions(a, reg),
            Ex::Bin(BinOp::And | BinOp::Or, a, b) => questions(a, reg) + questions(b, reg),
            Ex::Bin(BinOp::Eq, a, b) => {
                let null = [&**a, &**b].contains(&&Ex::Const(NULL));
                u32::from(null && [&**a, &**b].contains(&&Ex::Reg(reg)))
            }
            _ => 0,
        }
    }
    let body = body_of(steps, at);
    let same = (0..steps.code.len()).filter(|at| body_of(steps, *at) == body);
    same.map(|at| &steps.code[at].op).all(|op| {
        let mut used = 0;
        flow::uses(op, &mut |r| used += u32::from(r == reg));
        let asked = match op {
            Op::Branch { cond, .. } | Op::Assume(cond) => questions(cond, reg),
            _ => 0,
        };
        used == asked
    })
}
