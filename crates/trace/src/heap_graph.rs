//! What memory looks like at a moment of a run: the shared variables, the nodes, what the threads
//! know of them.

use crate::Words;
use seriatim_lang::machine::{FREED, State, VACANT};
use seriatim_lang::steps::{NULL, Reg, Slot};
use seriatim_lang::types::Scalar;
use seriatim_spec::run::{Cell, CellKind, Local, Memory, Node};

impl Words<'_> {
    /// Memory at a moment. A node has the same number at all moments of a run.
    pub fn memory(&self, state: &State) -> Memory {
        let machine = self.machine;
        let node = |(id, words): (usize, &[i32])| {
            let layout = machine.steps.structs.get((words[0] & (FREED - 1)) as usize)?;
            Some(Node {
                id: id as u32,
                kind: layout.name.clone(),
                fields: self.cells(&layout.slots, &words[1..]),
                freed: words[0] & FREED != 0,
            })
        };
        let alive = |(_, words): &(usize, &[i32])| words[0] != VACANT;
        let nodes = state.heap.chunks_exact(machine.node_stride()).enumerate();
        Memory {
            variables: self.cells(&machine.steps.shared, &state.words),
            nodes: nodes.filter(alive).filter_map(node).collect(),
            locals: self.locals(state),
        }
    }

    /// The variables of threads that refer to nodes. A variable that was not assigned yet is null,
    /// and so is every one of an operation that has ended.
    fn locals(&self, state: &State) -> Vec<Local> {
        let machine = self.machine;
        let mut found: Vec<Local> = Vec::new();
        for thread in 0..machine.thread_count() {
            let pc = machine.pc(state, thread);
            let registers = machine.register_base(thread);
            for register in 0..machine.steps.register_count() {
                let Some(slot) = machine.steps.register(pc, Reg(register as u32)) else { continue };
                let cell = self.cell(slot, state.words[registers + register]);
                if cell.node.is_some() && !slot.name.starts_with('_') {
                    // What is called the same in an inner function has ended with it.
                    found.retain(|l| l.thread != thread || l.cell.name != cell.name);
                    found.push(Local { thread, cell });
                }
            }
        }
        found
    }

    fn cells(&self, slots: &[Slot], words: &[i32]) -> Vec<Cell> {
        slots.iter().zip(words).map(|(slot, word)| self.cell(slot, *word)).collect()
    }

    fn cell(&self, slot: &Slot, word: i32) -> Cell {
        let kind = match slot.kind.scalar {
            Scalar::Ref(_) => CellKind::Reference,
            Scalar::Lock => CellKind::Lock,
            Scalar::Bool if word == 0 || word == 1 => CellKind::Flag,
            _ => CellKind::Plain,
        };
        let node = (kind == CellKind::Reference && word != NULL).then_some(word as u32);
        Cell { name: slot.name.clone(), value: self.scalar(slot.kind, word), node, kind }
    }
}
