//! The program without the data that decides nothing.
//!
//! Slots and registers are *idle* if all of this holds; the largest such set is found by striking
//! out what does not fit, until all fits:
//! - what is idle is read by instructions that write nothing but idle slots and registers, and that
//!   have no other effect: no condition, no comparison, no result, no index, no reference to a node;
//! - an idle slot is no reference, lock, key, number with bounds or part of a larger word, and is
//!   accessed alone, or as the element of a thread;
//! - an instruction that writes idle things only cannot fail, except for want of a node.
//!
//! Without them the program has the same runs, seen without the idle slots and registers: by the
//! first condition nothing else depends on them. Where an access to an idle slot of a node would
//! have failed because there is none, the stand-in fails, too (`Assert`). It would be unsound to
//! leave out a failure: an expression that may have no value is never idle.

use super::{Where, all_slots, body_of, owner, slot_at, touched};
use seriatim_lang::flow;
use seriatim_lang::steps::{BinOp, Ex, NULL, Op, Pc, Place, Reg, Root, Slot, Steps};
use seriatim_lang::types::{Kind, Scalar};
use std::collections::BTreeSet;

/// What is idle.
struct Idle<'s> {
    steps: &'s Steps,
    slots: BTreeSet<Where>,
    registers: BTreeSet<(usize, u32)>,
}

/// The program without what is idle in it.
pub fn without(steps: &Steps) -> Steps {
    let idle = Idle::of(steps);
    let mut rest = steps.clone();
    if idle.slots.is_empty() {
        return rest;
    }
    for at in 0..rest.code.len() {
        idle.rewrite(at, &mut rest);
    }
    let gone = |word: Where| idle.slots.range((word.0, 0)..word).count() as u32;
    for instr in &mut rest.code {
        if let Some(place) = instr.op.place_mut() {
            place.offset -= gone((owner(place), place.offset));
        }
    }
    rest.thread_arrays.retain(|array| !idle.slots.contains(&(None, array.first)));
    rest.thread_arrays.iter_mut().for_each(|array| array.first -= gone((None, array.first)));
    let left = |of, slots: &[Slot]| {
        let numbered = slots.iter().zip(0..);
        let kept = numbered.filter(|(_, slot)| !idle.slots.contains(&(of, *slot)));
        kept.map(|(slot, _)| slot.clone()).collect::<Vec<Slot>>()
    };
    rest.shared = left(None, &steps.shared);
    for (number, layout) in rest.structs.iter_mut().enumerate() {
        let of = seriatim_lang::types::StructId(number as u32);
        layout.slots = left(Some(of), &steps.structs[number].slots);
    }
    let threads = |slot: &Slot| slot.kind.scalar == Scalar::Tid;
    let stored = rest.shared.iter().chain(&rest.persistent);
    rest.uses_tids = stored.chain(rest.structs.iter().flat_map(|s| &s.slots)).any(threads)
        || !rest.thread_arrays.is_empty()
        || rest.code.iter().any(|instr| flow::reads_own_number(&instr.op));
    rest
}

impl Idle<'_> {
    fn of(steps: &Steps) -> Idle<'_> {
        // The first value of a home may be the content, used or not.
        let is_value = |word: &Where| slot_at(steps, *word).kind.scalar == Scalar::Value;
        let is_second = |word: &Where| {
            all_slots(steps).into_iter().any(|w| w.0 == word.0 && w.1 < word.1 && is_value(&w))
        };
        let slots = all_slots(steps).into_iter().filter(|word| {
            may_be_idle(slot_at(steps, *word)) && (!is_value(word) || is_second(word))
        });
        let own = steps.persistent.len() as u32..steps.register_count() as u32;
        let bodies = 0..=steps.methods.len();
        let registers = bodies.flat_map(|body| own.clone().map(move |reg| (body, reg)));
        let mut idle = Idle { steps, slots: slots.collect(), registers: registers.collect() };
        loop {
            let size = idle.slots.len() + idle.registers.len();
            (0..steps.code.len()).for_each(|at| idle.strike_out(at));
            if idle.slots.len() + idle.registers.len() == size {
                return idle;
            }
        }
    }

    fn is_idle(&self, at: usize, register: u32) -> bool {
        self.registers.contains(&(body_of(self.steps, at), register))
    }

    /// Strikes out what an instruction makes matter.
    fn strike_out(&mut self, at: usize) {
        let op = &self.steps.code[at].op;
        let mut matter: Vec<&Ex> = Vec::new();
        if let Some(place) = op.place() {
            let words = touched(place);
            let alone = is_alone(self.steps, at, place);
            let compares = matches!(op, Op::Cas { .. } | Op::StoreConditional { .. });
            if !alone || compares || words.iter().any(|word| !self.slots.contains(word)) {
                self.slots.retain(|word| !words.contains(word));
            }
            if let Root::Node(node, _) = &place.root {
                matter.push(node);
            }
            matter.extend(place.dims.iter().map(|dim| &dim.index));
        }
        let first_idle = |place: &Place| self.slots.contains(&(owner(place), place.offset));
        match op {
            Op::Set { dst, value } => {
                let pairs = value.iter().zip(dst.0..);
                let kept = pairs.filter(|(ex, reg)| !(self.is_idle(at, *reg) && has_value(ex)));
                matter.extend(kept.map(|(ex, _)| ex));
            }
            Op::New { of, fields, .. } => {
                let pairs = fields.iter().zip(0..);
                let kept = pairs.filter(|(ex, slot)| {
                    !(self.slots.contains(&(Some(*of), *slot)) && has_value(ex))
                });
                matter.extend(kept.map(|(ex, _)| ex));
            }
            Op::Store { place, value } | Op::Swap { place, value, .. } => {
                let idle = first_idle(place);
                matter.extend(value.iter().filter(|ex| !(idle && has_value(ex))));
            }
            Op::FetchAdd { place, amount, .. } if first_idle(place) && has_value(amount) => {}
            Op::FetchAdd { amount, .. } => matter.push(amount),
            Op::Check { value, kind } if always_fits(value, *kind) => {}
            Op::Check { value, .. } => matter.push(value),
            Op::Lin { .. } | Op::Load { .. } => {}
            op => {
                let mut all = Vec::new();
                flow::uses(op, &mut |reg| all.push(reg));
                all.into_iter().for_each(|reg| self.matters(at, reg));
            }
        }
        let mut registers = Vec::new();
        matter.iter().for_each(|ex| flow::expression_uses(ex, &mut |reg| registers.push(reg)));
        registers.into_iter().for_each(|reg| self.matters(at, reg));
        // What is read into something that matters, matters.
        if let Op::Load { place, .. } | Op::Swap { place, .. } | Op::FetchAdd { place, .. } = op
            && flow::definitions(op).any(|reg| !self.is_idle(at, reg))
        {
            let words = touched(place);
            self.slots.retain(|word| !words.contains(word));
        }
    }

    fn matters(&mut self, at: usize, register: Reg) {
        self.registers.remove(&(body_of(self.steps, at), register.0));
    }

    /// An instruction without what is idle.
    fn rewrite(&self, at: usize, rest: &mut Steps) {
        let instr = &mut rest.code[at];
        let on = Op::Jump(Pc(at as u32 + 1));
        let all_idle = |mut registers: std::ops::Range<u32>| registers.all(|r| self.is_idle(at, r));
        let op = match &instr.op {
            Op::Set { value, .. } => {
                let idle = all_idle(flow::definitions(&instr.op)) && value.iter().all(has_value);
                idle.then_some(on)
            }
            Op::Check { value, kind } if always_fits(value, *kind) => {
                let mut idle = false;
                flow::expression_uses(value, &mut |reg| idle |= self.is_idle(at, reg.0));
                idle.then_some(on)
            }
            Op::New { dst, of, fields } => {
                let pairs = fields.iter().zip(0..);
                let kept = pairs.filter(|(_, slot)| !self.slots.contains(&(Some(*of), *slot)));
                let fields = kept.map(|(ex, _)| ex.clone()).collect();
                Some(Op::New { dst: *dst, of: *of, fields })
            }
            Op::Lin { .. } => Some(on),
            op => match op.place() {
                Some(place) if touched(place).iter().all(|word| self.slots.contains(word)) => {
                    Some(match &place.root {
                        Root::Shared => on,
                        Root::Node(node, _) => Op::Assert(is_not_null(node)),
                    })
                }
                _ => None,
            },
        };
        if let Some(op) = op {
            instr.fused &= matches!(op, Op::New { .. });
            instr.op = op;
        }
    }
}

/// That a reference leads to a node.
pub fn is_not_null(node: &Ex) -> Ex {
    let null = Box::new(Ex::Const(NULL));
    Ex::Not(Box::new(Ex::Bin(BinOp::Eq, Box::new(node.clone()), null)))
}

fn may_be_idle(slot: &Slot) -> bool {
    let sort = match slot.kind.scalar {
        Scalar::Bool | Scalar::Enum(_) | Scalar::Value | Scalar::Tid => true,
        Scalar::Int(range) => range.is_default(),
        Scalar::Ref(_) | Scalar::Lock | Scalar::Key => false,
    };
    sort && !slot.joined && !slot.plain
}

/// Whether a place is one slot, or one for each thread; where variables begin, a whole one.
fn is_alone(steps: &Steps, at: usize, place: &Place) -> bool {
    let begins = body_of(steps, at) == 0;
    match &place.dims[..] {
        [] => place.width == 1 || begins,
        [dim] if place.width == 1 => match &dim.index {
            Ex::SelfTid => true,
            Ex::Const(n) => 0 <= *n && *n < dim.len as i32,
            Ex::Reg(reg) => {
                let thread = Kind { scalar: Scalar::Tid, nullable: false };
                steps.register(Pc(at as u32), *reg).is_some_and(|slot| slot.kind == thread)
            }
            _ => false,
        },
        _ => false,
    }
}

/// Whether an expression has a value whatever the registers hold.
fn has_value(ex: &Ex) -> bool {
    match ex {
        Ex::Const(_) | Ex::Reg(_) | Ex::SelfTid => true,
        Ex::Not(a) | Ex::Neg(a) => has_value(a),
        Ex::Bin(op, a, b) => !matches!(op, BinOp::Div | BinOp::Rem) && has_value(a) && has_value(b),
        Ex::If(a, b, c) => [a, b, c].into_iter().all(|ex| has_value(ex)),
        Ex::At { .. } => false,
    }
}

/// Whether a check can only fail because whole numbers are kept in words.
fn always_fits(value: &Ex, kind: Kind) -> bool {
    let whole = matches!(kind.scalar, Scalar::Int(range) if range.is_default());
    let sum = match value {
        Ex::Bin(op, ..) => matches!(op, BinOp::Add | BinOp::Sub | BinOp::Mul),
        value => matches!(value, Ex::Neg(_)),
    };
    whole && sum && has_value(value)
}
