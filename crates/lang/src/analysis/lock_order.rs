//! Which locks a thread holds where it takes another one, and whether it takes them in a fixed
//! order.
//!
//! If every thread takes locks in ascending order of some rank, and holds none when it returns or
//! waits for a condition, then no thread waits for a lock for ever: the one that waits for the
//! highest lock waits for a thread that waits for nothing higher. Taking several locks in a row is
//! then one right mover (Lipton), for no deadlock can hide between them.
//!
//! *Decided* here: exactly which locks are held at each `lock` (`held`). `None` if that cannot be
//! told, if a lock is held at a return or at an `assume`, or if nodes are freed. The order itself
//! is not decided but checked by the machine at every `lock` that it executes: nodes are ranked by
//! their only constant field of type `key`, shared variables by their place and before all nodes.

use crate::analysis::held::{Held, HeldLock};
use crate::analysis::liveness::Liveness;
use crate::analysis::locality::local_accesses;
use crate::front::types::{Scalar, StructId};
use crate::steps::*;
use std::collections::{BTreeMap, BTreeSet};

/// What is known about the locks of a program.
#[derive(Clone, Debug)]
pub struct LockOrder {
    held: BTreeMap<Pc, Vec<HeldLock>>,
    ranks: Vec<Option<u32>>,
}

impl LockOrder {
    /// Analyses a program.
    pub fn of(steps: &Steps, liveness: &Liveness) -> Option<LockOrder> {
        let known = Held::of(steps);
        if steps.frees || !is_exact(steps, &known) {
            return None;
        }
        let mut held = BTreeMap::new();
        for (index, instr) in steps.code.iter().enumerate() {
            let pc = Pc(index as u32);
            let Some(locks) = known.at(pc).and_then(|locks| locks.all()) else { continue };
            match &instr.op {
                Op::Lock(_) => drop(held.insert(pc, locks.to_vec())),
                Op::Return(_) | Op::Assume(_) if !locks.is_empty() => return None,
                _ => {}
            }
        }
        Some(LockOrder { held, ranks: ranks(steps, liveness) })
    }

    /// The locks that a thread holds at a `lock`.
    pub fn held(&self, pc: Pc) -> &[HeldLock] {
        self.held.get(&pc).map_or(&[], |held| held)
    }

    /// The slot by which the nodes of a struct are ranked.
    pub fn rank(&self, id: StructId) -> Option<u32> {
        self.ranks[id.0 as usize]
    }
}

/// Whether every `unlock` surely releases a lock that its thread took in the same operation: only
/// then is taking a lock a right mover and releasing it a left mover, for nobody else can release
/// it.
pub fn is_disciplined(steps: &Steps) -> bool {
    is_exact(steps, &Held::of(steps))
}

fn is_exact(steps: &Steps, held: &Held) -> bool {
    let atomic = |i: &Instr| i.inside_atomic && matches!(i.op, Op::Lock(_) | Op::Unlock(_));
    let reached = |pc: usize| held.at(Pc(pc as u32)).is_some();
    let steps_alone =
        !steps.code.iter().enumerate().any(|(pc, instr)| atomic(instr) && reached(pc));
    steps_alone && held.is_complete() && held.knows_releases(steps)
}

/// For each struct its only field of type `key`, if no method writes it once the node is known to
/// others.
fn ranks(steps: &Steps, liveness: &Liveness) -> Vec<Option<u32>> {
    let local = local_accesses(steps, liveness);
    let mut written: BTreeSet<(u32, u32)> = BTreeSet::new();
    for (instr, local) in steps.code.iter().zip(local) {
        let is_write = !matches!(instr.op, Op::Load { .. } | Op::Lock(_) | Op::Unlock(_));
        if let Some(place @ Place { root: Root::Node(_, id), .. }) = instr.op.place()
            && is_write
            && !local
        {
            written.extend(place.slots().map(|slot| (id.0, slot)));
        }
    }
    let rank = |(id, layout): (usize, &StructLayout)| {
        let keys = layout.slots.iter().enumerate().filter(|(_, s)| s.kind.scalar == Scalar::Key);
        let keys: Vec<u32> = keys.map(|(slot, _)| slot as u32).collect();
        match keys.as_slice() {
            [slot] if !written.contains(&(id as u32, *slot)) => Some(*slot),
            _ => None,
        }
    };
    steps.structs.iter().enumerate().map(rank).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disciplined(body: &str) -> bool {
        let source = format!(
            "object o : register\nstruct Node {{ a: lock, b: lock, val: value? }}\n\
             var n: Node = new Node {{ val: null }}\n\
             method write(v: value) {{ let m = n; {body} }}\nmethod read() -> value? {{ return n.val }}"
        );
        let program = crate::check(&source).unwrap_or_else(|error| panic!("{error:?}"));
        is_disciplined(&crate::lower(&program, 2, None).expect("it has steps"))
    }

    #[test]
    fn only_the_lock_that_was_taken_may_be_released() {
        assert!(disciplined("lock(m.a); m.val = v; unlock(m.a)"));
        assert!(disciplined("lock(m.a); lock(m.b); m.val = v; unlock(m.b); unlock(m.a)"));
        assert!(!disciplined("lock(m.a); m.val = v; unlock(m.b)"));
        assert!(!disciplined("m.val = v; unlock(m.a)"));
    }
}
