//! Which fields of a node anyone can still read.
//!
//! References move between *cells*: shared slots, registers, fields of structs. Flow-insensitively,
//! an instruction moves a reference from one cell to another; the closure of these moves says where
//! a reference that sits in a cell now can ever sit. A field of a node is dead if no cell that
//! holds the node leads to a register through which that field is read. Its content then makes no
//! difference to any run, and it is forgotten.
//!
//! *What would make it unsound*: a move that is not seen. Every occurrence of a register in a value
//! counts as a move.

use crate::subject::Subject;
use seriatim_lang::flow::expression_uses;
use seriatim_lang::steps::*;
use seriatim_limits::InOrder;
use std::collections::BTreeMap;

/// A place that can hold a reference.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Cell {
    Shared(u32),
    Field(u32, u32),
    /// A register that outlives operations, or one of a method.
    Register(Option<u32>, u32),
}

/// For each cell, the slots that can be read of a node whose reference sits there.
pub struct Readable {
    shared: Vec<u64>,
    fields: Vec<Vec<u64>>,
    locations: Vec<Vec<u64>>,
}

#[derive(Default)]
struct Flow {
    moves: Vec<(Cell, Cell)>,
    reads: BTreeMap<Cell, u64>,
}

impl Readable {
    /// Analyses a subject; `None` if nodes are freed or too wide.
    pub fn of(subject: &Subject) -> Option<Readable> {
        let steps = &subject.machine.steps;
        if steps.frees || steps.structs.iter().any(|s| s.slots.len() > 64) {
            return None;
        }
        let mut flow = Flow::default();
        for (number, method) in steps.methods.iter().enumerate() {
            for pc in method.entry.0..method.end.0 {
                flow.instruction(steps, &steps.code[pc as usize].op, number as u32);
            }
        }
        let reads = flow.close();
        let look = |cell: Cell| reads.get(&cell).copied().unwrap_or(0);
        let locations = subject.locations.iter().map(|location| {
            let method =
                steps.methods.iter().position(|m| m.entry <= location.pc && location.pc < m.end);
            let cell =
                |(reg, _): &(u32, _)| look(register(steps, *reg, method.unwrap_or(0) as u32));
            location.registers.iter().map(cell).collect()
        });
        let fields = steps.structs.iter().enumerate().map(|(id, s)| {
            (0..s.slots.len()).map(|slot| look(Cell::Field(id as u32, slot as u32))).collect()
        });
        Some(Readable {
            shared: (0..steps.shared.len()).map(|slot| look(Cell::Shared(slot as u32))).collect(),
            fields: fields.collect(),
            locations: locations.collect(),
        })
    }

    /// What can be read of a node that a shared slot refers to.
    pub fn shared(&self, slot: usize) -> u64 {
        self.shared[slot]
    }

    /// What can be read of a node that a field refers to.
    pub fn field(&self, structure: usize, slot: usize) -> u64 {
        self.fields[structure][slot]
    }

    /// What can be read of a node that the `index`-th register of a location refers to.
    pub fn register(&self, location: usize, index: usize) -> u64 {
        self.locations[location][index]
    }
}

fn register(steps: &Steps, reg: u32, method: u32) -> Cell {
    let own = reg as usize >= steps.persistent.len();
    Cell::Register(own.then_some(method), reg)
}

/// The slots that an access may touch, as cells.
fn cells(place: &Place) -> Vec<Cell> {
    let reach: u32 = place.dims.iter().map(|d| d.stride * (d.len - 1)).sum();
    let slots = place.offset..place.offset + reach + place.width;
    match &place.root {
        Root::Shared => slots.map(Cell::Shared).collect(),
        Root::Node(_, id) => slots.map(|s| Cell::Field(id.0, s)).collect(),
    }
}

impl Flow {
    fn instruction(&mut self, steps: &Steps, op: &Op, method: u32) {
        let reg = |r: u32| register(steps, r, method);
        match op {
            Op::Set { dst, value } => self.values(value, steps, method, |i| vec![reg(dst.0 + i)]),
            Op::SetAt { first, span, value, .. } => {
                let all: Vec<Cell> = (first.0..first.0 + span).map(reg).collect();
                self.values(value, steps, method, |_| all.clone());
            }
            Op::New { of, fields, .. } => {
                self.values(fields, steps, method, |i| vec![Cell::Field(of.0, i)]);
            }
            Op::Load { dst, place } => self.load(steps, place, dst.0, method),
            Op::Swap { dst, place, value } => {
                self.load(steps, place, dst.0, method);
                self.values(value, steps, method, |_| cells(place));
            }
            Op::Store { place, value } => self.values(value, steps, method, |_| cells(place)),
            Op::Cas { place, new: value, .. } | Op::StoreConditional { place, value, .. } => {
                self.read(steps, place, method);
                self.values(value, steps, method, |_| cells(place));
            }
            Op::FetchAdd { place, .. } | Op::Lock(place) | Op::Unlock(place) => {
                self.read(steps, place, method);
            }
            _ => {}
        }
    }

    fn values(&mut self, values: &[Ex], steps: &Steps, method: u32, to: impl Fn(u32) -> Vec<Cell>) {
        for (index, value) in values.iter().enumerate() {
            expression_uses(value, &mut |r| {
                let from = register(steps, r.0, method);
                self.moves.extend(to(index as u32).into_iter().map(|to| (from, to)));
            });
        }
    }

    fn load(&mut self, steps: &Steps, place: &Place, dst: u32, method: u32) {
        self.read(steps, place, method);
        for from in cells(place) {
            let targets = dst..dst + place.width;
            self.moves.extend(targets.map(|r| (from, register(steps, r, method))));
        }
    }

    fn read(&mut self, steps: &Steps, place: &Place, method: u32) {
        let Root::Node(node, _) = &place.root else { return };
        let mut mask = 0;
        for cell in cells(place) {
            if let Cell::Field(_, slot) = cell {
                mask |= 1 << slot;
            }
        }
        expression_uses(node, &mut |r| {
            *self.reads.entry(register(steps, r.0, method)).or_default() |= mask;
        });
    }

    /// Propagates what can be read against the direction of the moves.
    fn close(mut self) -> BTreeMap<Cell, u64> {
        self.moves.put_in_order();
        self.moves.dedup();
        let mut changed = true;
        while changed {
            changed = false;
            for (from, to) in &self.moves {
                let mask = self.reads.get(to).copied().unwrap_or(0);
                let known = self.reads.entry(*from).or_default();
                changed |= *known | mask != *known;
                *known |= mask;
            }
        }
        self.reads
    }
}
