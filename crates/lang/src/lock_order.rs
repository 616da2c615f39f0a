//! Which locks a thread holds where it takes another one, and whether it takes them in a fixed order.
//!
//! If every thread takes locks in ascending order of some rank, and holds none when it returns or waits for a condition,
//! then no thread waits for a lock for ever: the one that waits for the highest lock waits for a thread that waits for
//! nothing higher. Taking several locks in a row is then one right mover (Lipton), for no deadlock can hide between them.
//!
//! *Decided* here: by forward data flow, exactly which locks are held at each `lock`: shared variables, or nodes by a
//! register that surely refers to them. `None` if that cannot be told, if a lock is held at a return or at an `assume`, or
//! if nodes are freed. The order itself is not decided but checked by the machine at every `lock` that it executes: nodes are
//! ranked by their only constant field of type `key`, shared variables by their place and before all nodes.

use crate::flow::{definitions, place, successors};
use crate::liveness::Liveness;
use crate::locality::local_accesses;
use crate::steps::*;
use crate::types::{Scalar, StructId};
use std::collections::{BTreeMap, BTreeSet};

/// A lock that a thread holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeldLock {
    /// The shared variable at this slot.
    Shared(u32),
    /// The lock of the node to which this register refers.
    Node(Reg, StructId),
}

/// What is known about the locks of a program.
#[derive(Clone, Debug)]
pub struct LockOrder {
    held: BTreeMap<Pc, Vec<HeldLock>>,
    ranks: Vec<Option<u32>>,
}

/// A held lock with all registers that surely refer to its node.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Name {
    Shared(u32),
    /// With the slot of the lock: a node may have several.
    Node(BTreeSet<u32>, StructId, u32),
}

impl LockOrder {
    /// Analyses a program.
    pub fn of(steps: &Steps, liveness: &Liveness) -> Option<LockOrder> {
        if steps.frees {
            return None;
        }
        let mut held = BTreeMap::new();
        for method in &steps.methods {
            let known = names(steps, method)?;
            for index in method.entry.0..method.end.0 {
                let Some(names) = &known[(index - method.entry.0) as usize] else { continue };
                match &steps.code[index as usize].op {
                    Op::Lock(_) => {
                        held.insert(Pc(index), names.iter().map(shown).collect::<Option<_>>()?);
                    }
                    Op::Return(_) | Op::Assume(_) if !names.is_empty() => return None,
                    _ => {}
                }
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

/// Whether every `unlock` surely releases a lock that its thread took in the same operation: only then is taking a lock a right
/// mover and releasing it a left mover, for nobody else can release it.
pub fn is_disciplined(steps: &Steps) -> bool {
    steps.methods.iter().all(|method| names(steps, method).is_some())
}

fn shown(name: &Name) -> Option<HeldLock> {
    match name {
        Name::Shared(slot) => Some(HeldLock::Shared(*slot)),
        Name::Node(registers, id, _) => registers.first().map(|r| HeldLock::Node(Reg(*r), *id)),
    }
}

/// For each struct its only field of type `key`, if no method writes it once the node is known to others.
fn ranks(steps: &Steps, liveness: &Liveness) -> Vec<Option<u32>> {
    let local = local_accesses(steps, liveness);
    let mut written: BTreeSet<(u32, u32)> = BTreeSet::new();
    for (instr, local) in steps.code.iter().zip(local) {
        let is_write = !matches!(instr.op, Op::Load { .. } | Op::Lock(_) | Op::Unlock(_));
        if let Some(place @ Place { root: Root::Node(_, id), .. }) = place(&instr.op)
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

/// For each position of a method, the locks that are held there; `None` where no run comes.
fn names(steps: &Steps, method: &MethodCode) -> Option<Vec<Option<Vec<Name>>>> {
    let first = method.entry.0;
    let mut known: Vec<Option<Vec<Name>>> = vec![None; (method.end.0 - first) as usize];
    known[0] = Some(vec![]);
    let mut todo = vec![method.entry];
    while let Some(pc) = todo.pop() {
        let Some(before) = known[(pc.0 - first) as usize].clone() else { continue };
        let instr = &steps.code[pc.0 as usize];
        let after = transfer(instr, before)?;
        for next in successors(&instr.op, pc) {
            let slot = &mut known[(next.0 - first) as usize];
            let joined = match slot {
                Some(old) => join(old, &after)?,
                None => after.clone(),
            };
            if slot.as_ref() != Some(&joined) {
                *slot = Some(joined);
                todo.push(next);
            }
        }
    }
    Some(known)
}

/// What is known where two ways meet; `None` if they hold different locks.
fn join(a: &[Name], b: &[Name]) -> Option<Vec<Name>> {
    if a.len() != b.len() {
        return None;
    }
    let both = |(a, b): (&Name, &Name)| match (a, b) {
        (Name::Shared(a), Name::Shared(b)) if a == b => Some(Name::Shared(*a)),
        (Name::Node(a, id, slot), Name::Node(b, other, same)) if (id, slot) == (other, same) => {
            let common: BTreeSet<u32> = a.intersection(b).copied().collect();
            (!common.is_empty()).then_some(Name::Node(common, *id, *slot))
        }
        _ => None,
    };
    a.iter().zip(b).map(both).collect()
}

fn transfer(instr: &Instr, mut held: Vec<Name>) -> Option<Vec<Name>> {
    match &instr.op {
        Op::Lock(_) | Op::Unlock(_) if instr.inside_atomic => return None,
        Op::Lock(place) => held.push(match &place.root {
            Root::Shared if place.dims.is_empty() => Name::Shared(place.offset),
            Root::Node(Ex::Reg(reg), id) => Name::Node(BTreeSet::from([reg.0]), *id, place.offset),
            _ => return None,
        }),
        Op::Unlock(place) => {
            let is_it = |name: &Name| match (name, &place.root) {
                (Name::Shared(slot), Root::Shared) => *slot == place.offset,
                (Name::Node(registers, _, slot), Root::Node(Ex::Reg(reg), _)) => {
                    registers.contains(&reg.0) && *slot == place.offset
                }
                _ => false,
            };
            let at = held.iter().position(is_it)?;
            held.remove(at);
        }
        Op::Set { dst, value } => copy(&mut held, *dst, value),
        Op::SetAt { first, span, .. } => {
            let gone = first.0..first.0 + span;
            each_node(&mut held, |registers| registers.retain(|r| !gone.contains(r)));
        }
        op => {
            let gone = definitions(op);
            each_node(&mut held, |registers| registers.retain(|r| !gone.contains(r)));
        }
    }
    let named = |name: &Name| !matches!(name, Name::Node(registers, ..) if registers.is_empty());
    held.iter().all(named).then_some(held)
}

fn copy(held: &mut [Name], dst: Reg, value: &[Ex]) {
    each_node(held, |registers| {
        let before = registers.clone();
        let targets = dst.0..dst.0 + value.len() as u32;
        registers.retain(|r| !targets.contains(r));
        for (target, ex) in targets.zip(value) {
            if matches!(ex, Ex::Reg(source) if before.contains(&source.0)) {
                registers.insert(target);
            }
        }
    });
}

fn each_node(held: &mut [Name], mut change: impl FnMut(&mut BTreeSet<u32>)) {
    for name in held {
        if let Name::Node(registers, ..) = name {
            change(registers);
        }
    }
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
