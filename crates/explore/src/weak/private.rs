//! Nodes that only one thread can reach.
//!
//! *Theorem.* Where writes wait in queues, a write to a node that nothing leads to but the thread's
//! own registers may go to memory at once, and an access of it is no step of its own. Nobody else
//! can read the node before a later write or update of the thread makes it reachable; that comes
//! behind in the queue, or waits until the queue is empty. So whoever comes to know the node finds
//! the same in it, whenever memory took the write.
//!
//! *It would be unsound* if a waiting write of the thread itself led to the node, or went to it:
//! the node could be found, or be written, before its turn. Both count as ways to the node here. A
//! write that is `seqcst` waits for an empty queue whatever it writes, and is an access like any
//! other.

use super::code::{Node, Target};
use super::memory::Memory;
use super::step::{Stepper, Thread};
use seriatim_lang::steps::{Instr, NULL, Op, Ordering, Slot};
use seriatim_lang::types::{Kind, Scalar};

impl<M: Memory> Stepper<'_, M> {
    /// Whether an instruction reads or writes a node that only this thread can reach.
    pub(super) fn is_own(&self, instr: &Instr, target: &Target) -> bool {
        let is_simple = match instr.op {
            Op::Load { .. } => true,
            Op::Store { .. } => target.plain || instr.orders.access != Ordering::SeqCst,
            _ => false,
        };
        let Some(node) = target.node.filter(|_| M::QUEUES && self.manner.movers && is_simple)
        else {
            return false;
        };
        !self.reachable()[node]
    }

    /// The nodes to which something leads but the registers of this thread.
    fn reachable(&self) -> Vec<bool> {
        let steps = &self.subject.machine.steps;
        let mut reach = Reach { known: vec![false; self.state.nodes.len()], todo: vec![] };
        for (word, layout) in self.layout.shared.iter().enumerate() {
            self.visit(word, &steps.shared[layout.slots.clone()], &mut reach);
        }
        for word in self.state.memory.pinned() {
            let of = |node: &Node| node.base..node.base + self.layout.size(node.of);
            if let Some(node) = self.state.nodes.iter().position(|n| of(n).contains(&word)) {
                reach.add(node);
            }
        }
        let others = self.state.threads.iter().enumerate().filter(|(t, _)| *t != self.thread);
        others.for_each(|(_, other)| self.visit_registers(other, &mut reach));
        while let Some(node) = reach.todo.pop() {
            let Node { of, base, .. } = self.state.nodes[node];
            let slots = &steps.structs[of as usize].slots;
            for (place, layout) in self.layout.structs[of as usize].iter().enumerate() {
                self.visit(base + place, &slots[layout.slots.clone()], &mut reach);
            }
        }
        reach.known
    }

    fn visit(&self, word: usize, slots: &[Slot], reach: &mut Reach) {
        if slots.iter().any(|slot| is_reference(slot.kind)) {
            self.state.memory.contents(word, &mut |content| {
                content.slots().zip(slots).for_each(|(value, slot)| reach.follow(value, slot.kind));
            });
        }
    }

    fn visit_registers(&self, thread: &Thread, reach: &mut Reach) {
        let steps = &self.subject.machine.steps;
        for (number, value) in thread.registers.iter().enumerate() {
            let slot = steps.register(thread.pc, seriatim_lang::steps::Reg(number as u32));
            if let Some(slot) = slot {
                reach.follow(*value, slot.kind);
            }
        }
    }
}

/// What is reached so far.
struct Reach {
    known: Vec<bool>,
    todo: Vec<usize>,
}

impl Reach {
    fn add(&mut self, node: usize) {
        if !std::mem::replace(&mut self.known[node], true) {
            self.todo.push(node);
        }
    }

    fn follow(&mut self, value: i32, kind: Kind) {
        if is_reference(kind) && value != NULL {
            self.add(value as usize);
        }
    }
}

fn is_reference(kind: Kind) -> bool {
    matches!(kind.scalar, Scalar::Ref(_))
}
