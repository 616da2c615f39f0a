//! Which reads are protected by a lock that the reader holds, so that nobody can change what they see.
//!
//! A field is *guarded* if every write to it after allocation hits a node whose own lock the writer holds, or a node
//! that is still private. A read of a guarded field by a thread that holds the node's lock commutes with all steps of
//! other threads (it is a both-mover in Lipton's sense), so it need not be a step of its own.
//!
//! Which locks are held is found by forward data flow: `lock(r)` adds `r`, a copy of `r` is held with it, `unlock(r)`
//! removes `r` and all registers that may be copies of it. Registers that are no copies of each other and are both held
//! refer to different nodes, since a thread that takes a lock twice waits for ever. What would make this unsound: a
//! register that refers to an unlocked node and is thought to be held; hence an `unlock` of a register that is not known to be
//! held forgets everything.

use crate::flow::{definitions, place, successors};
use crate::liveness::Liveness;
use crate::locality::local_accesses;
use crate::steps::*;
use crate::types::Scalar;
use std::collections::BTreeSet;

/// Registers whose node is locked by the thread, and pairs of registers that may be copies.
#[derive(Clone, Default, PartialEq, Eq)]
struct Held {
    registers: BTreeSet<u32>,
    copies: BTreeSet<(u32, u32)>,
}

/// For every position, whether it reads a guarded field of a node whose lock the thread holds.
pub fn guarded_reads(steps: &Steps, liveness: &Liveness) -> Vec<bool> {
    let private = local_accesses(steps, liveness);
    let mut reads = vec![false; steps.code.len()];
    let mut unguarded: BTreeSet<(u32, u32)> = BTreeSet::new();
    for method in &steps.methods {
        let held = held_locks(steps, method);
        for index in method.entry.0..method.end.0 {
            let op = &steps.code[index as usize].op;
            let Some(place @ Place { root: Root::Node(node, id), .. }) = place(op) else {
                continue;
            };
            let Some(held) = &held[(index - method.entry.0) as usize] else { continue };
            let own = matches!(node, Ex::Reg(r) if held.registers.contains(&r.0));
            if let Op::Load { .. } = op {
                reads[index as usize] = own;
            } else if !own && !private[index as usize] {
                unguarded.extend(place.slots().map(|slot| (id.0, slot)));
            }
        }
    }
    for (read, instr) in reads.iter_mut().zip(&steps.code) {
        if let Some(place @ Place { root: Root::Node(_, id), .. }) = place(&instr.op) {
            *read &= place.slots().all(|slot| !unguarded.contains(&(id.0, slot)));
        }
    }
    reads
}

/// For each position of a method, the locks that are surely held; `None` where no run comes.
fn held_locks(steps: &Steps, method: &MethodCode) -> Vec<Option<Held>> {
    let first = method.entry.0;
    let mut known: Vec<Option<Held>> = vec![None; (method.end.0 - first) as usize];
    known[0] = Some(Held::default());
    let mut todo = vec![method.entry];
    while let Some(pc) = todo.pop() {
        let Some(before) = known[(pc.0 - first) as usize].clone() else { continue };
        let op = &steps.code[pc.0 as usize].op;
        let after = transfer(steps, op, before);
        for next in successors(op, pc) {
            let slot = &mut known[(next.0 - first) as usize];
            let joined = match slot {
                Some(old) => Held {
                    registers: old.registers.intersection(&after.registers).copied().collect(),
                    copies: old.copies.union(&after.copies).copied().collect(),
                },
                None => after.clone(),
            };
            if slot.as_ref() != Some(&joined) {
                *slot = Some(joined);
                todo.push(next);
            }
        }
    }
    known
}

/// The register whose node a lock operation is about, if the lock is the node's only one.
fn subject(steps: &Steps, place: &Place) -> Option<u32> {
    let Root::Node(Ex::Reg(reg), id) = &place.root else { return None };
    let locks = steps.structs[id.0 as usize].slots.iter().filter(|s| s.kind.scalar == Scalar::Lock);
    (locks.count() == 1).then_some(reg.0)
}

fn transfer(steps: &Steps, op: &Op, mut held: Held) -> Held {
    match op {
        Op::Lock(place) => held.registers.extend(subject(steps, place)),
        Op::Unlock(place) if matches!(place.root, Root::Node(..)) => match subject(steps, place) {
            Some(reg) if held.registers.contains(&reg) => {
                let related = |r: &u32| *r == reg || held.copies.contains(&pair(*r, reg));
                let gone: Vec<u32> = held.registers.iter().copied().filter(related).collect();
                gone.iter().for_each(|r| {
                    held.registers.remove(r);
                });
            }
            _ => held.registers.clear(),
        },
        Op::Set { dst, value } => return copied(held, dst.0, value),
        _ => {}
    }
    for reg in definitions(op) {
        forget(&mut held, reg);
    }
    held
}

fn copied(mut held: Held, dst: u32, value: &[Ex]) -> Held {
    let before = held.clone();
    for index in 0..value.len() as u32 {
        forget(&mut held, dst + index);
    }
    let targets = dst..dst + value.len() as u32;
    for (target, ex) in targets.clone().zip(value) {
        let Ex::Reg(source) = ex else { continue };
        if !before.registers.contains(&source.0) {
            continue;
        }
        held.registers.insert(target);
        let related =
            before.registers.iter().filter(|r| before.copies.contains(&pair(**r, source.0)));
        let all = related.copied().chain([source.0]).filter(|r| !targets.contains(r));
        held.copies.extend(all.filter(|r| *r != target).map(|r| pair(r, target)));
        let same = targets.clone().zip(value).filter(|(t, v)| *t != target && *v == ex);
        held.copies.extend(same.map(|(t, _)| pair(t, target)));
    }
    held
}

fn forget(held: &mut Held, reg: u32) {
    held.registers.remove(&reg);
    held.copies.retain(|(a, b)| *a != reg && *b != reg);
}

fn pair(a: u32, b: u32) -> (u32, u32) {
    (a.min(b), a.max(b))
}
