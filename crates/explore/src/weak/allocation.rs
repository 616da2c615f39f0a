//! The life of a node: it is made, accessed, given back, and made again in the same place.
//!
//! Where a program frees nodes, each has one word more than its fields, its *life*. On a model that
//! knows data races, an access of the node reads that word and a free writes it, both plainly: an
//! access that may come after the free is then found by the rule for all data races.

use super::code::{Node, Target};
use super::event::Done;
use super::memory::{Content, Memory, Who};
use super::step::{Ran, Stepper};
use seriatim_lang::machine::{Cut, Fault, Stop};
use seriatim_lang::steps::{Instr, NULL, Op, Ordering, Pc};

impl<M: Memory> Stepper<'_, M> {
    /// A new node: fresh, or in the place of one that was freed.
    pub(super) fn allocate(&mut self, of: u32, slots: &[i32], pc: Pc) -> Ran<usize> {
        let nodes = &self.state.nodes;
        let is_quiet = |node: &Node| {
            let words = node.base..node.base + self.layout.size(of);
            self.state.memory.is_quiet(self.thread, words)
        };
        let freed: Vec<usize> = (0..nodes.len())
            .filter(|n| nodes[*n].freed && nodes[*n].of == of && is_quiet(&nodes[*n]))
            .collect();
        let room = self.manner.nodes.is_none_or(|most| (nodes.len() as u32) < most);
        let options = freed.len() as u32 + u32::from(room);
        if options == 0 {
            return Err(Stop::Bounded(Cut::Nodes));
        }
        let pick = if options > 1 { self.choices.pick(options) as usize } else { 0 };
        self.state.clock += 1;
        let name = self.state.clock;
        let who = Who { thread: self.thread, order: Ordering::Relaxed, event: name };
        let words = self.layout.node_words(of, slots);
        let index = match freed.get(pick).copied() {
            Some(index) => {
                let base = self.state.nodes[index].base;
                self.state.memory.adopt(self.thread, base + words.len() - 1);
                self.state.memory.allocate(who, base, words);
                index
            }
            None => {
                let last = self.state.nodes.last();
                let shared = self.layout.shared.len();
                let base = last.map_or(shared, |last| last.base + self.layout.size(last.of));
                self.state.memory.allocate(who, base, words);
                self.state.nodes.push(Node { of, freed: false, base, name });
                self.state.nodes.len() - 1
            }
        };
        let node = &mut self.state.nodes[index];
        node.freed = false;
        let name = node.name;
        if self.log.is_some() {
            self.note(pc, Done::New(name, self.told_slots(of, slots)));
        }
        Ok(index)
    }

    /// Whether a new node may have to wait for writes under way before it takes the place of a
    /// freed one.
    pub(super) fn may_find_room(&self, instr: &Instr) -> bool {
        let Op::New { of, .. } = &instr.op else { return false };
        let may = |node: &Node| node.freed && node.of == of.0;
        self.state.memory.can_flush(self.thread) && self.state.nodes.iter().any(may)
    }

    pub(super) fn free(&mut self, node: i32, pc: Pc) -> Ran<()> {
        if node == NULL {
            return self.fault(Fault::NullDereference, pc);
        }
        let Node { of, freed, base, name } = self.state.nodes[node as usize];
        self.state.clock += 1;
        if freed {
            return self.fault(Fault::DoubleFree, pc);
        }
        let life = base + self.layout.size(of) - 1;
        if M::RACES {
            let who =
                Who { thread: self.thread, order: Ordering::Relaxed, event: self.state.clock };
            if self.state.memory.write_plain(who, life, Content::of(&[0])).is_err() {
                return self.fault(Fault::DataRace, pc);
            }
        }
        self.state.memory.hand_on(self.thread, life);
        self.state.nodes[node as usize].freed = true;
        self.note(pc, Done::Free(name));
        Ok(())
    }

    /// Checks that the node of an access lives, and leaves behind that it was accessed.
    pub(super) fn alive(&mut self, target: &Target, pc: Pc) -> Ran<()> {
        let Some(node) = target.node.filter(|_| self.layout.lives) else {
            return Ok(());
        };
        let (of, freed, base) = {
            let node = &self.state.nodes[node];
            (node.of, node.freed, node.base)
        };
        let life = base + self.layout.size(of) - 1;
        let who = Who { thread: self.thread, order: Ordering::Relaxed, event: self.state.clock };
        if M::RACES && self.state.memory.read_plain(who, life).is_err() {
            return self.fault(Fault::DataRace, pc);
        }
        match freed {
            true => self.fault(Fault::UseAfterFree, pc),
            false => Ok(()),
        }
    }
}
