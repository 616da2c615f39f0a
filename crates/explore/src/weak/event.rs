//! What was done in a run, access by access, and how a step writes it down.
//!
//! Events are what the evidence rests on and what the user reads, so they call a node by its name:
//! its place in the state changes whenever the state is put into canonical form.

use super::code::{Node, Target};
use super::memory::{Content, Memory};
use super::step::{Ran, Stepper};
use seriatim_lang::machine::{Fault, Stop};
use seriatim_lang::steps::{NULL, Ordering, Pc, Slot};
use seriatim_lang::types::Scalar;

/// What was done in a run, access by access.
#[derive(Clone, Debug)]
pub struct Event {
    /// Which thread.
    pub thread: usize,
    /// Which instruction.
    pub pc: Pc,
    /// Its number.
    pub number: u32,
    /// What it did.
    pub done: Done,
}

/// A word in a run: the node by its name, and the place of the word in it or among the shared ones.
pub type Named = (Option<u32>, usize);

/// What an instruction did.
#[derive(Clone, Debug)]
pub enum Done {
    /// It read a word.
    Read {
        /// Which.
        word: Named,
        /// What it gave.
        content: Content,
        /// The write that it comes from.
        from: u32,
        /// How many writes it does not see.
        behind: u32,
        /// How it was ordered; `None` if it is plain.
        order: Option<Ordering>,
    },
    /// It wrote a word.
    Write {
        /// Which.
        word: Named,
        /// What it holds now.
        content: Content,
        /// The write right before it; `u32::MAX` if it waits in a queue.
        after: u32,
        /// How it was ordered; `None` if it is plain.
        order: Option<Ordering>,
    },
    /// It read and wrote a word in one.
    Update {
        /// Which.
        word: Named,
        /// What it read.
        before: Content,
        /// The write that this comes from.
        from: u32,
        /// What it wrote.
        content: Content,
        /// How it was ordered.
        order: Ordering,
    },
    /// A fence.
    Fence(Ordering),
    /// Memory took the thread's oldest write, of this number.
    Flush(u32),
    /// It made a node: the one of this name, which may have been freed before, with these slots.
    New(u32, Vec<i32>),
    /// It gave a node back.
    Free(u32),
    /// It chose a value, or where to go on.
    Chose(i32),
    /// The client told it, before its next call, that the operation of this number had returned.
    Learns(u32),
    /// An operation began.
    Call(u32, Vec<i32>),
    /// The operation ended.
    Return(Vec<i32>),
    /// It is an error.
    Fault(Fault),
}

impl<M: Memory> Stepper<'_, M> {
    pub(super) fn note(&mut self, pc: Pc, done: Done) {
        let (thread, number) = (self.thread, self.state.clock);
        if let Some(log) = &mut self.log {
            log.push(Event { thread, pc, number, done });
        }
    }

    /// A content with nodes called by their names, if anybody wants to know.
    pub(super) fn told(&self, target: &Target, mut content: Content) -> Content {
        if self.log.is_none() {
            return content;
        }
        let steps = &self.subject.machine.steps;
        let (slots, word) = match target.node {
            None => (&steps.shared, &self.layout.shared[target.word]),
            Some(node) => {
                let Node { of, base, .. } = self.state.nodes[node];
                let words = &self.layout.structs[of as usize];
                (&steps.structs[of as usize].slots, &words[target.word - base])
            }
        };
        for (value, slot) in content.slots_mut().zip(&slots[word.slots.clone()]) {
            if matches!(slot.kind.scalar, Scalar::Ref(_)) && *value != NULL {
                *value = self.state.nodes[*value as usize].name as i32;
            }
        }
        content
    }

    /// The slots of a node with nodes called by their names.
    pub(super) fn told_slots(&self, of: u32, slots: &[i32]) -> Vec<i32> {
        let layout = &self.subject.machine.steps.structs[of as usize].slots;
        let told = |(value, slot): (&i32, &Slot)| match slot.kind.scalar {
            Scalar::Ref(_) if *value != NULL => self.state.nodes[*value as usize].name as i32,
            _ => *value,
        };
        slots.iter().zip(layout).map(told).collect()
    }

    pub(super) fn named(&self, target: &Target) -> Named {
        match target.node {
            None => (None, target.word),
            Some(node) => {
                let node = &self.state.nodes[node];
                (Some(node.name), target.word - node.base)
            }
        }
    }

    /// An error, which is told of.
    pub(super) fn fault<T>(&mut self, fault: Fault, pc: Pc) -> Ran<T> {
        self.state.clock += 1;
        self.note(pc, Done::Fault(fault));
        Err(Stop::Fault(fault, pc))
    }
}
