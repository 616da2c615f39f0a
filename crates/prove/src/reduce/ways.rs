//! What rewritings that follow nodes from hand to hand have in common: every way through a method,
//! which part an instruction plays on it, and who may refer to a node at all.
//!
//! *Why it is sound*: [`follow`] visits every pair of a position and what is known there, so what a
//! rewriting says of an instruction is said of every run that comes to it; [`Parts::play`] refuses an
//! instruction that plays different parts on different ways. It would be unsound to go on where a
//! limit stopped the visit: then nothing is known, and nothing is rewritten.

use super::{inner, method};
use seriatim_lang::flow::{successors, uses};
use seriatim_lang::steps::{Ex, Op, Pc, Reg, Steps};
use seriatim_lang::types::{Scalar, StructId};
use std::collections::{BTreeMap, BTreeSet};

/// More ways than this are not followed.
const MOST: usize = 20_000;

/// Follows every way through a method. `step` says where a way goes on behind an instruction, with
/// what is known there, or refuses.
pub fn follow<W: Clone + Ord>(
    steps: &Steps,
    of: usize,
    start: W,
    mut step: impl FnMut(Pc, W) -> Option<Vec<(Pc, W)>>,
) -> Option<()> {
    let mut seen = BTreeSet::new();
    let mut todo = vec![(steps.methods[of].entry, start)];
    while let Some((pc, way)) = todo.pop() {
        if method(steps, pc.0 as usize) != Some(of) || seen.len() > MOST {
            return None;
        }
        if seen.insert((pc, way.clone())) {
            todo.extend(step(pc, way)?);
        }
    }
    Some(())
}

/// A way goes on wherever the instruction does, and nothing else is known there.
pub fn go_on<W: Clone>(op: &Op, pc: Pc, way: &W) -> Vec<(Pc, W)> {
    successors(op, pc).into_iter().map(|to| (to, way.clone())).collect()
}

/// The parts that instructions play.
pub struct Parts<P>(BTreeMap<usize, P>);

impl<P: PartialEq> Parts<P> {
    pub fn none() -> Parts<P> {
        Parts(BTreeMap::new())
    }

    /// An instruction plays the same part on every way.
    pub fn play(&mut self, at: usize, part: P) -> Option<()> {
        match self.0.get(&at) {
            Some(played) => (*played == part).then_some(()),
            None => {
                self.0.insert(at, part);
                Some(())
            }
        }
    }

    pub fn at(&self, at: usize) -> Option<&P> {
        self.0.get(&at)
    }

    pub fn any(&self, is: impl FnMut(&P) -> bool) -> bool {
        self.0.values().any(is)
    }

    pub fn positions(&self) -> impl Iterator<Item = usize> {
        self.0.keys().copied()
    }

    /// Whatever concerns the rewriting was met on some way. What is never executed was not looked
    /// at: it may have nothing to do with it.
    pub fn cover(&self, steps: &Steps, concerns: impl Fn(&Op) -> bool) -> bool {
        let met = |at: usize| !concerns(&steps.code[at].op) || self.0.contains_key(&at);
        (0..steps.code.len()).all(met)
    }
}

/// Whether references to such nodes are in this variable, in such nodes and in registers only.
pub fn is_alone(steps: &Steps, of: StructId, variable: u32) -> bool {
    let shared = steps.shared.iter().enumerate().filter(|(slot, _)| *slot != variable as usize);
    let others = steps.structs.iter().enumerate().filter(|(id, _)| *id != of.0 as usize);
    let fields = others.flat_map(|(_, layout)| &layout.slots);
    let slots = shared.map(|(_, slot)| slot).chain(fields).chain(&steps.persistent);
    let outside = steps.methods.iter().flat_map(|m| m.result.iter().chain(&m.params));
    !slots.map(|slot| &slot.kind).chain(outside).any(|kind| kind.scalar == Scalar::Ref(of))
}

/// Nobody jumps to such a position, and no method begins there.
pub fn is_entered_from_before(steps: &Steps, inside: impl Fn(usize) -> bool) -> bool {
    let jumps = steps.code.iter().enumerate().flat_map(|(at, instr)| {
        let next = successors(&instr.op, Pc(at as u32));
        next.into_iter().filter(move |to| to.0 as usize != at + 1)
    });
    let mut entries = jumps.chain(steps.methods.iter().map(|m| m.entry));
    !entries.any(|to| inside(to.0 as usize))
}

/// What follows a read at once, a branch or an `await` of its own on what was read: where it goes on
/// if that is clear, and, where it does not wait, if it is set.
pub fn follows_at_once(
    steps: &Steps,
    at: usize,
    is_set: &dyn Fn(&Ex) -> bool,
    is_clear: &dyn Fn(&Ex) -> bool,
) -> Option<(Pc, Option<Pc>)> {
    let (behind, condition) = (Pc(at as u32 + 2), steps.code.get(at + 1)?);
    let alone = |at: usize| steps.code.get(at).is_some_and(|i| !i.inside_atomic);
    let inside = steps.code[at].inside_atomic;
    match &condition.op {
        Op::Branch { cond, otherwise } if !inside && is_set(cond) => {
            Some((*otherwise, Some(behind)))
        }
        Op::Branch { cond, otherwise } if !inside && is_clear(cond) => {
            Some((behind, Some(*otherwise)))
        }
        Op::Assume(cond) if inside && is_clear(cond) && alone(at + 2) => {
            let marker = matches!(steps.code[at - 1].op, Op::Atomic) && alone(at - 1);
            marker.then_some((behind, None))
        }
        _ => None,
    }
}

/// Whether a register is used by the instruction behind this one only.
pub fn is_used_once(steps: &Steps, at: usize, reg: Reg) -> bool {
    let of = method(steps, at);
    steps.code.iter().enumerate().all(|(other, instr)| {
        let mut used = false;
        uses(&instr.op, &mut |r| used |= r == reg && method(steps, other) == of);
        !used || other == at + 1 || looks_again(steps, other, reg)
    })
}

/// Whether an instruction is the condition of another look that uses the same register.
fn looks_again(steps: &Steps, at: usize, reg: Reg) -> bool {
    at.checked_sub(1)
        .is_some_and(|before| matches!(&steps.code[before].op, Op::Load { dst, .. } if *dst == reg))
}

/// Code that does `op` and goes on at `then`, or does nothing and goes on at `otherwise`.
pub fn perhaps(op: Op, then: Pc, otherwise: Pc) -> Vec<Op> {
    let ways = Op::Choose(vec![inner(1), inner(3)]);
    vec![ways, op, Op::Jump(then), Op::Atomic, Op::Jump(otherwise)]
}
