//! What memory looks like at a moment of a run: the shared variables, the nodes, what the threads
//! know of them.

use crate::Words;
use crate::places::{Held, Place, Shape, whole};
use seriatim_lang::machine::{FREED, State, VACANT};
use seriatim_lang::steps::{NULL, Reg, Slot};
use seriatim_lang::types::Scalar;
use seriatim_spec::run::{Cell, CellKind, Local, Memory, Node};

impl Words<'_> {
    /// Memory at a moment. A node has the same number at all moments of a run.
    pub fn memory(&self, state: &State) -> Memory {
        let machine = self.machine;
        let node = |(id, words): (usize, &[i32])| {
            let of = (words[0] & (FREED - 1)) as usize;
            let layout = machine.steps.structs.get(of)?;
            let places = self.places.structs.get(of).map_or(&[][..], Vec::as_slice);
            Some(Node {
                id: id as u32,
                kind: layout.name.clone(),
                fields: self.cells(places, &layout.slots, &words[1..]),
                freed: words[0] & FREED != 0,
            })
        };
        let alive = |(_, words): &(usize, &[i32])| words[0] != VACANT;
        let nodes = state.heap.chunks_exact(machine.node_stride()).enumerate();
        Memory {
            variables: self.cells(&self.places.shared, &machine.steps.shared, &state.words),
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
            let mut own: Vec<Cell> = Vec::new();
            for register in 0..machine.steps.register_count() {
                let Some(slot) = machine.steps.register(pc, Reg(register as u32)) else { continue };
                let cell = self.cell(slot, state.words[registers + register]);
                if cell.node.is_some() && !slot.name.starts_with('_') {
                    // What is called the same in an inner function has ended with it.
                    own.retain(|other| other.name != cell.name);
                    own.push(cell);
                }
            }
            found.extend(named_whole(own).into_iter().map(|cell| Local { thread, cell }));
        }
        found
    }

    /// Each variable or field as one cell.
    fn cells(&self, places: &[Place], slots: &[Slot], words: &[i32]) -> Vec<Cell> {
        if places.is_empty() {
            return slots.iter().zip(words).map(|(slot, word)| self.cell(slot, *word)).collect();
        }
        let held = Held { slots, words };
        let mut cells = Vec::new();
        for Place { name, first, shape } in places {
            self.add_cells(name.clone(), shape, held.range(*first, shape.width()), &mut cells);
        }
        cells
    }

    /// One cell for what has a shape. An array that refers to nodes, and a tuple that refers to
    /// several, become one for each part: a cell refers to one node.
    fn add_cells(&self, name: String, shape: &Shape, held: Held<'_>, cells: &mut Vec<Cell>) {
        let parts = held.slots.iter().zip(held.words).map(|(slot, word)| self.cell(slot, *word));
        let references: Vec<Cell> = parts.filter(|part| part.kind == CellKind::Reference).collect();
        match (shape, &references[..]) {
            (Shape::Scalar | Shape::Variant(_), _) => {
                let value = self.value(shape, held);
                cells.push(Cell { name, value, ..self.cell(&held.slots[0], held.words[0]) });
            }
            (_, []) => {
                let value = self.value(shape, held);
                cells.push(Cell { name, value, node: None, kind: CellKind::Plain });
            }
            (Shape::Tuple(_), [only]) => {
                let value = self.value(shape, held);
                cells.push(Cell { name, value, node: only.node, kind: CellKind::Reference });
            }
            _ => {
                for (index, part, held) in held.parts(shape) {
                    self.add_cells(name.clone() + &shape.index(index), part, held, cells);
                }
            }
        }
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

/// Variables of which one part refers to a node are called by their own name, and not by the
/// part's.
fn named_whole(cells: Vec<Cell>) -> Vec<Cell> {
    let count = |name: &str| cells.iter().filter(|cell| whole(&cell.name) == name).count();
    let name = |cell: &Cell| match whole(&cell.name) {
        name if count(name) == 1 => name.to_owned(),
        _ => cell.name.clone(),
    };
    cells.iter().map(|cell| Cell { name: name(cell), ..cell.clone() }).collect()
}
