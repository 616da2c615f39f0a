//! Which locks a thread holds at each position of a method.
//!
//! Forward data flow over the locks that methods take themselves. A lock of a node is known by its
//! slot and by the registers that surely refer to the node: a copy of such a register joins them, a
//! register that is overwritten leaves. A thread that takes a lock twice waits for ever, so
//! different known locks are different locks. Where two ways meet, a lock that both hold stays if
//! some register names it on both.
//!
//! *What it answers*: every lock that it names is held. It also says where the list is *complete*,
//! so that no other lock is held. When the name of a lock is lost, the list is no longer complete;
//! when something unknown is released, nothing is known to be held any more.
//!
//! *What would make it unsound*: a lock that is named and was released. Only `unlock` of this
//! program text releases locks, and a release of a lock that is not known forgets all.

use crate::analysis::flow::{definitions, successors};
use crate::front::types::StructId;
use crate::steps::*;
use std::collections::BTreeSet;
use std::ops::Range;

/// A lock that a thread holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeldLock {
    /// The shared variable at this slot.
    Shared(u32),
    /// A lock of a node.
    Node {
        /// The registers that surely refer to the node; at least one.
        registers: BTreeSet<u32>,
        /// Its struct.
        id: StructId,
        /// Which of its locks.
        slot: u32,
    },
}

/// The locks that are held at a position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Locks {
    named: Vec<HeldLock>,
    complete: bool,
}

impl Locks {
    const NONE: Locks = Locks { named: vec![], complete: true };

    /// All locks that are held, if they are known.
    pub fn all(&self) -> Option<&[HeldLock]> {
        self.complete.then_some(&self.named[..])
    }

    /// The shared locks that are surely held.
    pub fn shared(&self) -> impl Iterator<Item = u32> + use<'_> {
        self.named.iter().filter_map(|lock| match lock {
            HeldLock::Shared(slot) => Some(*slot),
            HeldLock::Node { .. } => None,
        })
    }

    /// The locks that are surely held of the node to which a register refers, by their slots.
    pub fn of_node(&self, reg: Reg) -> impl Iterator<Item = u32> + use<'_> {
        self.named.iter().filter_map(move |lock| match lock {
            HeldLock::Node { registers, slot, .. } if registers.contains(&reg.0) => Some(*slot),
            _ => None,
        })
    }

    /// The place in the list of the lock at a place.
    fn position(&self, place: &Place) -> Option<usize> {
        self.named.iter().position(|lock| match (lock, &place.root) {
            (HeldLock::Shared(slot), Root::Shared) => {
                *slot == place.offset && place.dims.is_empty()
            }
            (HeldLock::Node { registers, slot, .. }, Root::Node(Ex::Reg(reg), _)) => {
                registers.contains(&reg.0) && *slot == place.offset && place.dims.is_empty()
            }
            _ => false,
        })
    }

    fn take(&mut self, place: &Place) {
        match &place.root {
            Root::Shared if place.dims.is_empty() => {
                self.named.push(HeldLock::Shared(place.offset));
            }
            Root::Node(Ex::Reg(reg), id) if place.dims.is_empty() => {
                let registers = BTreeSet::from([reg.0]);
                self.named.push(HeldLock::Node { registers, id: *id, slot: place.offset });
            }
            _ => self.complete = false,
        }
    }

    fn release(&mut self, place: &Place) {
        match self.position(place) {
            Some(at) => drop(self.named.remove(at)),
            None => *self = Locks { named: vec![], complete: false },
        }
    }

    /// Registers were overwritten; those that got a copy of a register are given.
    fn overwrite(&mut self, gone: Range<u32>, copies: &[(u32, u32)]) {
        for lock in &mut self.named {
            let HeldLock::Node { registers, .. } = lock else { continue };
            let copied = copies.iter().filter(|(_, source)| registers.contains(source));
            let copied: Vec<u32> = copied.map(|(target, _)| *target).collect();
            registers.retain(|r| !gone.contains(r));
            registers.extend(copied);
        }
        let count = self.named.len();
        self.named.retain(
            |lock| !matches!(lock, HeldLock::Node { registers, .. } if registers.is_empty()),
        );
        self.complete &= self.named.len() == count;
    }

    /// What is held whichever of two ways was taken. A lock that could be two of the other way is
    /// forgotten.
    fn join(&self, other: &Locks) -> Locks {
        let common = |lock: &HeldLock| {
            let mut same = other.named.iter().filter_map(|known| meet(lock, known));
            let found = same.next()?;
            let back = self.named.iter().filter(|known| meet(known, &found).is_some()).count();
            (same.next().is_none() && back == 1).then_some(found)
        };
        let named: Vec<HeldLock> = self.named.iter().filter_map(common).collect();
        let kept = named.len() == self.named.len() && named.len() == other.named.len();
        Locks { named, complete: self.complete && other.complete && kept }
    }
}

/// The lock that both are, with the registers that name it on both ways.
fn meet(a: &HeldLock, b: &HeldLock) -> Option<HeldLock> {
    match (a, b) {
        (HeldLock::Shared(a), HeldLock::Shared(b)) => (a == b).then_some(HeldLock::Shared(*a)),
        (
            HeldLock::Node { registers: a, id, slot },
            HeldLock::Node { registers: b, id: other, slot: same },
        ) if (id, slot) == (other, same) => {
            let registers: BTreeSet<u32> = a.intersection(b).copied().collect();
            let named = !registers.is_empty();
            named.then_some(HeldLock::Node { registers, id: *id, slot: *slot })
        }
        _ => None,
    }
}

/// The locks that are held at each position of a program's methods.
#[derive(Clone, Debug)]
pub struct Held {
    at: Vec<Option<Locks>>,
}

impl Held {
    /// Analyses a program.
    pub fn of(steps: &Steps) -> Held {
        let mut held = Held { at: vec![None; steps.code.len()] };
        for method in &steps.methods {
            held.flow(steps, method.entry);
        }
        held
    }

    /// The locks that are held at a position; `None` if no run comes there.
    pub fn at(&self, pc: Pc) -> Option<&Locks> {
        self.at[pc.0 as usize].as_ref()
    }

    /// Whether every `unlock` surely releases a lock that its thread took in the same operation.
    pub fn knows_releases(&self, steps: &Steps) -> bool {
        self.at.iter().zip(&steps.code).all(|(locks, instr)| match (locks, &instr.op) {
            (Some(locks), Op::Unlock(place)) => locks.position(place).is_some(),
            _ => true,
        })
    }

    /// Whether all locks that are held are known everywhere.
    pub fn is_complete(&self) -> bool {
        self.at.iter().flatten().all(|locks| locks.complete)
    }

    fn flow(&mut self, steps: &Steps, entry: Pc) {
        self.at[entry.0 as usize] = Some(Locks::NONE);
        let mut todo = vec![entry];
        while let Some(pc) = todo.pop() {
            let Some(before) = self.at[pc.0 as usize].clone() else { continue };
            let op = &steps.code[pc.0 as usize].op;
            let after = transfer(op, before);
            for next in successors(op, pc) {
                let slot = &mut self.at[next.0 as usize];
                let joined = match slot {
                    Some(old) => old.join(&after),
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

fn transfer(op: &Op, mut locks: Locks) -> Locks {
    match op {
        Op::Lock(place) => locks.take(place),
        Op::Unlock(place) => locks.release(place),
        Op::Set { dst, value } => {
            let targets = dst.0..dst.0 + value.len() as u32;
            let copy = |(target, ex): (u32, &Ex)| match ex {
                Ex::Reg(source) => Some((target, source.0)),
                _ => None,
            };
            let copies: Vec<(u32, u32)> = targets.clone().zip(value).filter_map(copy).collect();
            locks.overwrite(targets, &copies);
        }
        Op::SetAt { first, span, .. } => locks.overwrite(first.0..first.0 + span, &[]),
        op => locks.overwrite(definitions(op), &[]),
    }
    locks
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is held at the `write` of the variable `here` in a method with this body: slots of node
    /// locks held through the register of `m`, whether the list is complete, and whether all
    /// releases are known.
    fn held(body: &str) -> (Vec<u32>, bool, bool) {
        let source = format!(
            "object o : register\nstruct Node {{ a: lock, b: lock, val: value?, next: Node? }}\n\
             var n: Node = new Node {{ val: null, next: null }}\nvar here: value? = null\n\
             method write(v: value) {{ let m = n; let o = n.next; {body} }}\n\
             method read() -> value? {{ return here }}"
        );
        let program = crate::check(&source).unwrap_or_else(|e| panic!("{}", e.render(&source, "")));
        let steps = crate::lower(&program, 2, None).expect("it can be lowered");
        let held = Held::of(&steps);
        let slot = steps.shared.iter().position(|s| s.name == "here").expect("a variable");
        let is_write = |i: &Instr| match &i.op {
            Op::Store { place, .. } => {
                place.root == Root::Shared && place.offset == slot as u32 && !i.inside_atomic
            }
            _ => false,
        };
        let at = steps.code.iter().position(is_write).expect("a write");
        let locks = held.at(Pc(at as u32)).expect("a run comes there");
        let m = steps.methods[0].regs.iter().position(|s| s.name == "m").expect("a register");
        let slots = locks.of_node(Reg((steps.persistent.len() + m) as u32)).collect();
        (slots, locks.all().is_some(), held.knows_releases(&steps))
    }

    #[test]
    fn locks_are_known_by_their_slot_and_by_copies_of_their_register() {
        assert_eq!(held("here = v"), (vec![], true, true));
        assert_eq!(held("lock(m.a); here = v; unlock(m.a)"), (vec![0], true, true));
        assert_eq!(held("lock(m.a); lock(m.b); here = v; unlock(m.b); unlock(m.a)").0, [0, 1]);
        assert_eq!(held("lock(m.a); unlock(m.b); here = v"), (vec![], false, false));
        assert_eq!(
            held("let c = m; lock(c.a); m = c; here = v; unlock(m.a)"),
            (vec![0], true, true)
        );
        assert_eq!(
            held("let c = m; lock(m.a); m = n; here = v; unlock(c.a)"),
            (vec![], false, false)
        );
        assert_eq!(held("lock(m.b); let c = m; unlock(c.b); here = v"), (vec![], true, true));
    }

    #[test]
    fn where_ways_meet_only_what_both_hold_is_held() {
        let sometimes = "if v == here { lock(m.a) }; here = v";
        assert_eq!(held(sometimes), (vec![], false, true));
        let either = "if v == here { lock(m.a) } else { lock(m.b) }; here = v";
        assert_eq!(held(either), (vec![], false, true));
        let both = "if v == here { lock(m.a) } else { lock(m.a) }; here = v; unlock(m.a)";
        assert_eq!(held(both), (vec![0], true, true));
        let twice =
            "let c = m; if v == here { lock(m.a) } else { c = n; lock(m.a); lock(c.a) }; here = v";
        assert!(!held(twice).1, "one lock on one way, two on the other");
    }
}
