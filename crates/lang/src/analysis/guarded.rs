//! Which reads are protected by a lock that the reader holds, so that nobody can change what they
//! see.
//!
//! A field is *guarded* by a lock of its struct if every write to it after allocation hits a node
//! of which the writer holds that lock, or a node that is still private. A read of a guarded field
//! by a thread that holds the lock commutes with all steps of other threads (it is a both-mover in
//! Lipton's sense), so it need not be a step of its own.
//!
//! Which locks are held is found by data flow (`held`). What would make this unsound: a write that
//! is not seen, or one by a thread that is thought to hold the lock.

use crate::analysis::held::Held;
use crate::analysis::liveness::Liveness;
use crate::analysis::locality::local_accesses;
use crate::steps::*;
use std::collections::{BTreeMap, BTreeSet};

/// For every position, whether it reads a guarded field of a node whose lock the thread holds.
pub fn guarded_reads(steps: &Steps, liveness: &Liveness) -> Vec<bool> {
    let private = local_accesses(steps, liveness);
    let held = Held::of(steps);
    let mut guards: BTreeMap<(u32, u32), BTreeSet<u32>> = BTreeMap::new();
    for (index, instr) in steps.code.iter().enumerate() {
        let Some((place, id, locks)) = access(&held, index, &instr.op) else { continue };
        if matches!(instr.op, Op::Load { .. }) || private[index] {
            continue;
        }
        for slot in place.slots() {
            let known = guards.entry((id, slot)).or_insert_with(|| locks.clone());
            known.retain(|lock| locks.contains(lock));
        }
    }
    let guarded = |(index, instr): (usize, &Instr)| {
        let Some((place, id, locks)) = access(&held, index, &instr.op) else { return false };
        let protected = |slot: u32| match guards.get(&(id, slot)) {
            Some(guards) => !guards.is_disjoint(&locks),
            None => !locks.is_empty(),
        };
        matches!(instr.op, Op::Load { .. }) && place.slots().all(protected)
    };
    steps.code.iter().enumerate().map(guarded).collect()
}

/// The place in a node that an instruction accesses, the struct, and the locks of the node that the
/// thread surely holds.
fn access<'o>(held: &Held, index: usize, op: &'o Op) -> Option<(&'o Place, u32, BTreeSet<u32>)> {
    let locks = held.at(Pc(index as u32))?;
    let place = op.place()?;
    let Root::Node(node, id) = &place.root else { return None };
    let own = match node {
        Ex::Reg(reg) => locks.of_node(*reg).collect(),
        _ => BTreeSet::new(),
    };
    Some((place, id.0, own))
}
