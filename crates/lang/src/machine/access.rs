//! The instructions that touch shared state: shared variables, heap nodes, locks, allocation.

use super::evaluate::check;
use super::{Cut, FREED, Fault, Ran, Run, Stop, VACANT};
use crate::analysis::held::HeldLock;
use crate::front::types::{Scalar, StructId};
use crate::steps::*;

/// Where the slots of a place lie.
#[derive(Clone, Copy)]
pub(super) enum Spot {
    Shared(usize),
    Heap(usize),
}

impl Run<'_> {
    pub(super) fn access(&mut self, pc: Pc) -> Ran<Pc> {
        let machine = self.machine;
        let next = Pc(pc.0 + 1);
        match &machine.steps.code[pc.0 as usize].op {
            Op::Load { dst, place } => {
                let spot = self.resolve(place, pc)?;
                for i in 0..place.width {
                    let word = self.read(spot, i);
                    self.set_register(dst.0 + i, word);
                }
            }
            Op::Store { place, value } => self.write_all(place, value, pc)?,
            Op::Cas { place, old, new, fail } => {
                let spot = self.resolve(place, pc)?;
                for (i, old) in old.iter().enumerate() {
                    if self.evaluate(old, pc)? != self.read(spot, i as u32) {
                        return Ok(*fail);
                    }
                }
                self.write_all_to(spot, place, new, pc)?;
            }
            Op::Swap { dst, place, value } => {
                let spot = self.resolve(place, pc)?;
                let before: Vec<i32> = (0..place.width).map(|i| self.read(spot, i)).collect();
                let values = self.evaluate_all(value, pc)?;
                self.write_to(spot, place, &values, pc);
                self.set_registers(*dst, &before);
            }
            Op::FetchAdd { dst, place, amount, kind } => {
                let spot = self.resolve(place, pc)?;
                let before = self.read(spot, 0);
                let after = before.saturating_add(self.evaluate(amount, pc)?);
                check(after, *kind, pc)?;
                self.write_to(spot, place, &[after], pc);
                self.set_register(dst.0, before);
            }
            Op::StoreConditional { place, value, link, fail } => {
                if self.register(link.0) == 0 {
                    return Ok(*fail);
                }
                self.write_all(place, value, pc)?;
            }
            Op::Lock(place) => {
                let spot = self.resolve(place, pc)?;
                self.check_order(place, pc)?;
                if self.read(spot, 0) != 0 {
                    return Err(Stop::Waits);
                }
                self.write_to(spot, place, &[1], pc);
            }
            Op::Unlock(place) => {
                let spot = self.resolve(place, pc)?;
                if self.read(spot, 0) == 0 {
                    return Err(Stop::Fault(Fault::UnlockFree, pc));
                }
                self.write_to(spot, place, &[0], pc);
            }
            Op::New { dst, of, fields } => {
                let values = self.evaluate_all(fields, pc)?;
                let node = self.allocate(*of)?;
                let at = node * machine.node_stride();
                self.seen.allocated = true;
                self.state.heap[at] = of.0 as i32;
                self.state.heap[at + 1..at + 1 + values.len()].copy_from_slice(&values);
                self.set_register(dst.0, node as i32);
            }
            Op::Free(node) => {
                let node = self.evaluate(node, pc)?;
                let at = self.node(node, pc)?;
                if self.state.heap[at] & FREED != 0 {
                    return Err(Stop::Fault(Fault::DoubleFree, pc));
                }
                self.state.heap[at] |= FREED;
            }
            _ => return Err(Stop::Ended),
        }
        Ok(next)
    }

    fn node(&self, node: i32, pc: Pc) -> Ran<usize> {
        if node == NULL {
            return Err(Stop::Fault(Fault::NullDereference, pc));
        }
        Ok(node as usize * self.machine.node_stride())
    }

    /// Where a place lies; an error if it lies in a node that was freed.
    pub(super) fn resolve(&self, place: &Place, pc: Pc) -> Ran<Spot> {
        let spot = self.located(place, pc)?;
        let steps = &self.machine.steps;
        if let Spot::Heap(at) = spot
            && steps.frees
            && !steps.recycles
            && self.state.heap[at - at % self.machine.node_stride()] & FREED != 0
        {
            return Err(Stop::Fault(Fault::UseAfterFree, pc));
        }
        Ok(spot)
    }

    /// Where a place lies, whether its node lives or not.
    pub(super) fn located(&self, place: &Place, pc: Pc) -> Ran<Spot> {
        let offset = (place.offset + self.offset(&place.dims, pc)?) as usize;
        match &place.root {
            Root::Shared => Ok(Spot::Shared(offset)),
            Root::Node(node, _) => {
                let node = self.evaluate(node, pc)?;
                Ok(Spot::Heap(self.node(node, pc)? + 1 + offset))
            }
        }
    }

    /// Whether a lock ranks above all that the thread holds.
    fn check_order(&self, place: &Place, pc: Pc) -> Ran<()> {
        let Some(order) = &self.machine.order else { return Ok(()) };
        let of_node = |reg: u32, id: StructId| {
            let node = Some(self.register(reg)).filter(|node| *node != NULL);
            order.rank(id).zip(node).map(|(slot, node)| {
                let at = node as usize * self.machine.node_stride();
                (1, id.0, self.state.heap[at + 1 + slot as usize])
            })
        };
        let rank = |lock: &HeldLock| match lock {
            HeldLock::Shared(slot) => Some((0, 0, *slot as i32)),
            HeldLock::Node { registers, id, .. } => {
                registers.first().and_then(|reg| of_node(*reg, *id))
            }
        };
        let wanted = match &place.root {
            Root::Shared => Some((0, 0, place.offset as i32)),
            Root::Node(Ex::Reg(reg), id) => of_node(reg.0, *id),
            Root::Node(..) => return Err(Stop::Disordered),
        };
        let below = |held: &HeldLock| rank(held).is_some_and(|held| wanted > Some(held));
        if order.held(pc).iter().all(below) { Ok(()) } else { Err(Stop::Disordered) }
    }

    pub(super) fn read(&self, spot: Spot, i: u32) -> i32 {
        match spot {
            Spot::Shared(at) => self.state.words[at + i as usize],
            Spot::Heap(at) => self.state.heap[at + i as usize],
        }
    }

    /// Writes the values of expressions, which are looked at before the place is.
    fn write_all(&mut self, place: &Place, values: &[Ex], pc: Pc) -> Ran<()> {
        match values {
            [one] => {
                let value = self.evaluate(one, pc)?;
                self.write_to(self.resolve(place, pc)?, place, &[value], pc);
            }
            several => {
                let values = self.evaluate_all(several, pc)?;
                self.write_to(self.resolve(place, pc)?, place, &values, pc);
            }
        }
        Ok(())
    }

    /// Writes the values of expressions where a place lies; most places have one.
    fn write_all_to(&mut self, spot: Spot, place: &Place, values: &[Ex], pc: Pc) -> Ran<()> {
        match values {
            [one] => self.write_to(spot, place, &[self.evaluate(one, pc)?], pc),
            several => self.write_to(spot, place, &self.evaluate_all(several, pc)?, pc),
        }
        Ok(())
    }

    fn write_to(&mut self, spot: Spot, place: &Place, values: &[i32], pc: Pc) {
        let machine = self.machine;
        let instr = &machine.steps.code[pc.0 as usize];
        self.seen.wrote |=
            machine.is_boundary(pc) || instr.inside_atomic || matches!(instr.op, Op::Unlock(_));
        match spot {
            Spot::Shared(at) => {
                self.state.words[at..at + values.len()].copy_from_slice(values);
                for link in &machine.steps.links {
                    let first = link.first as usize;
                    if first < at + values.len() && at < first + link.width as usize {
                        for thread in 0..machine.thread_count() {
                            let registers = machine.register_base(thread);
                            self.state.words[registers + link.reg.0 as usize] = 0;
                        }
                    }
                }
            }
            Spot::Heap(at) => {
                self.state.heap[at..at + values.len()].copy_from_slice(values);
                if !matches!(instr.op, Op::Lock(_) | Op::Unlock(_)) {
                    self.seen.written |= 1 << (at / machine.node_stride()).min(63);
                }
            }
        }
        let slots = match &place.root {
            Root::Shared => &machine.steps.shared,
            Root::Node(_, id) => &machine.steps.structs[id.0 as usize].slots,
        };
        let kind = slots.iter().skip(place.offset as usize).take(values.len());
        self.links_shared |= kind.into_iter().any(|s| matches!(s.kind.scalar, Scalar::Ref(_)));
    }

    /// A heap cell for a new node: any freed node of the struct, or a fresh one.
    fn allocate(&mut self, of: StructId) -> Ran<usize> {
        let machine = self.machine;
        let stride = machine.node_stride();
        let heap = &self.state.heap;
        let tag = |cell: usize| heap[cell * stride];
        let cells = heap.len() / stride;
        let freed: Vec<usize> = (0..cells).filter(|c| tag(*c) == of.0 as i32 | FREED).collect();
        let alive = (0..cells).filter(|c| tag(*c) != VACANT).count() as u32;
        let room = machine.bounds.nodes.is_none_or(|most| alive < most);
        let options = freed.len() as u32 + u32::from(room);
        if options == 0 {
            return Err(Stop::Bounded(Cut::Nodes));
        }
        let pick = if options > 1 { self.choices.pick(options) as usize } else { 0 };
        if let Some(cell) = freed.get(pick) {
            return Ok(*cell);
        }
        if let Some(cell) = (0..cells).find(|c| tag(*c) == VACANT) {
            return Ok(cell);
        }
        self.state.heap.extend(std::iter::repeat_n(0, stride));
        Ok(cells)
    }
}
