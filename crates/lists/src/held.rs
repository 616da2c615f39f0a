//! Which locks a thread surely holds at each position of a method.
//!
//! Forward data flow. `lock(r)` adds the register `r`, a copy of a held register is held with it, `unlock(r)` removes
//! `r` and all registers that may be copies of it. Two held registers that are no copies of each other refer to
//! different nodes, since a thread that takes a lock twice waits for ever. Shared locks are known by their slot.
//!
//! All this presumes that nobody releases a lock that he does not hold. [`Held::of`] checks it: if some `unlock` is
//! about a lock that is not known to be held, there is no answer for the whole program.

use seriatim_lang::flow::{definitions, successors};
use seriatim_lang::steps::*;
use std::collections::BTreeSet;

/// What names a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lock {
    /// The lock of the node to which this register refers.
    OfNode(u32),
    /// The shared variable in this slot.
    Shared(u32),
}

/// Locks that are surely held, and pairs of registers that may be copies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Known {
    locks: BTreeSet<Lock>,
    copies: BTreeSet<(u32, u32)>,
}

/// The locks that are held at each position.
#[derive(Clone, Debug)]
pub struct Held {
    at: Vec<Option<Known>>,
}

impl Held {
    /// The locks that methods hold; `None` if one may release a lock that it does not hold.
    pub fn of(steps: &Steps) -> Option<Held> {
        let mut held = Held { at: vec![None; steps.code.len()] };
        for method in &steps.methods {
            held.flow(steps, method);
        }
        let released = |pc: usize| match &steps.code[pc].op {
            Op::Unlock(place) => held.at[pc]
                .as_ref()
                .is_none_or(|known| lock_of(place).is_some_and(|lock| known.locks.contains(&lock))),
            _ => true,
        };
        (0..steps.code.len()).all(released).then_some(held)
    }

    /// Whether no run comes to a position.
    pub fn is_unreachable(&self, pc: usize) -> bool {
        self.at[pc].is_none()
    }

    /// Whether a lock is surely held at a position.
    pub fn holds(&self, pc: usize, lock: Lock) -> bool {
        self.at[pc].as_ref().is_none_or(|known| known.locks.contains(&lock))
    }

    /// The shared locks that are held at a position.
    pub fn shared(&self, pc: usize) -> impl Iterator<Item = u32> + use<'_> {
        let locks = self.at[pc].iter().flat_map(|known| &known.locks);
        locks.filter_map(|lock| match lock {
            Lock::Shared(slot) => Some(*slot),
            Lock::OfNode(_) => None,
        })
    }

    fn flow(&mut self, steps: &Steps, method: &MethodCode) {
        self.at[method.entry.0 as usize] = Some(Known::default());
        let mut todo = vec![method.entry];
        while let Some(pc) = todo.pop() {
            let Some(before) = self.at[pc.0 as usize].clone() else { continue };
            let op = &steps.code[pc.0 as usize].op;
            let after = transfer(op, before);
            for next in successors(op, pc) {
                let slot = &mut self.at[next.0 as usize];
                let joined = match slot {
                    Some(old) => Known {
                        locks: old.locks.intersection(&after.locks).copied().collect(),
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
    }
}

/// The lock that a place names.
fn lock_of(place: &Place) -> Option<Lock> {
    match &place.root {
        Root::Node(Ex::Reg(reg), _) => Some(Lock::OfNode(reg.0)),
        Root::Shared if place.dims.is_empty() => Some(Lock::Shared(place.offset)),
        _ => None,
    }
}

fn transfer(op: &Op, mut known: Known) -> Known {
    match op {
        Op::Lock(place) => known.locks.extend(lock_of(place)),
        Op::Unlock(place) => match lock_of(place) {
            Some(Lock::OfNode(reg)) => {
                let copies = known.copies.clone();
                known.locks.retain(|lock| match lock {
                    Lock::OfNode(r) => *r != reg && !copies.contains(&pair(*r, reg)),
                    Lock::Shared(_) => true,
                });
            }
            Some(lock) => drop(known.locks.remove(&lock)),
            None => known.locks.clear(),
        },
        Op::Set { dst, value } => return copied(known, dst.0, value),
        Op::SetAt { .. } => known.locks.clear(),
        _ => {}
    }
    definitions(op).for_each(|reg| forget(&mut known, reg));
    known
}

/// After registers were set: a copy of a held register is held, and is a copy of all its copies.
fn copied(mut known: Known, dst: u32, value: &[Ex]) -> Known {
    let before = known.clone();
    let targets = dst..dst + value.len() as u32;
    targets.clone().for_each(|target| forget(&mut known, target));
    for (target, ex) in targets.clone().zip(value) {
        let Ex::Reg(source) = ex else { continue };
        if !before.locks.contains(&Lock::OfNode(source.0)) {
            continue;
        }
        known.locks.insert(Lock::OfNode(target));
        let older = before.copies.iter().filter_map(|(a, b)| match source.0 {
            s if s == *a => Some(*b),
            s if s == *b => Some(*a),
            _ => None,
        });
        let kept = older.chain([source.0]).filter(|r| !targets.contains(r));
        known.copies.extend(kept.map(|r| pair(r, target)));
        let related = |e: &Ex| match e {
            Ex::Reg(r) => r == source || before.copies.contains(&pair(r.0, source.0)),
            _ => false,
        };
        let others = targets.clone().zip(value).filter(|(t, e)| *t != target && related(e));
        known.copies.extend(others.map(|(t, _)| pair(t, target)));
    }
    known
}

fn forget(known: &mut Known, reg: u32) {
    known.locks.remove(&Lock::OfNode(reg));
    known.copies.retain(|(a, b)| *a != reg && *b != reg);
}

fn pair(a: u32, b: u32) -> (u32, u32) {
    (a.min(b), a.max(b))
}
