//! Leaves out data that decides nothing.
//!
//! *Decided*: which slots and registers flow into a condition, a result, a `cas`, a reference, an
//! index or a check that may fail; the others, and all instructions that do nothing but compute
//! them, are left out. Flow is followed backwards, register by register of each method without
//! regard to the order of instructions, until nothing more is needed.
//!
//! *Why it is sound*: whatever is left out is read only into what is left out. So the remaining
//! steps see and do the same, and the run of `Q` is that of `P` without the rest; a step that is
//! left out changed nothing that remains.
//!
//! *What would make it unsound*: to leave out an instruction that may fail. A field of a node is
//! left out only for an assertion that there is a node ([`node_is_there`]); bounded numbers, arrays
//! with an index other than a thread, divisions and conversions that are checked
//! ([`is_harmless`]) are needed. So is whatever is accessed together with other slots.

use super::{Word, home, method, nothing};
use seriatim_lang::flow::{expression_uses, expressions, reads_own_number};
use seriatim_lang::steps::{BinOp, Ex, Instr, NULL, Op, Pc, Place, Reg, Root, Slot, Steps};
use seriatim_lang::types::{Scalar, StructId};
use std::collections::BTreeSet;

/// Leaves out what decides nothing.
pub fn slice(steps: &mut Steps) {
    let needed = Needed::of(steps);
    let words = needed.left_out(steps);
    if words.is_empty() {
        return;
    }
    let code = std::mem::take(&mut steps.code);
    let left = |(at, instr): (usize, Instr)| needed.without(steps, at, instr);
    steps.code = code.into_iter().enumerate().map(left).collect();
    renumber(steps, &words);
    steps.uses_tids = uses_threads(steps);
}

/// What flows into something that matters.
#[derive(Clone, Default, PartialEq, Eq)]
struct Needed {
    words: BTreeSet<Word>,
    registers: BTreeSet<(Option<usize>, Reg)>,
}

impl Needed {
    fn of(steps: &Steps) -> Needed {
        let mut needed = Needed::default();
        let structs = steps.structs.iter().enumerate();
        let homes = structs.map(|(of, s)| (Some(StructId(of as u32)), &s.slots));
        for (home, slots) in homes.chain([(None, &steps.shared)]) {
            let kept = slots.iter().zip(0..).filter(|(slot, _)| !is_plain_data(slot));
            needed.words.extend(kept.map(|(_, slot)| Word { home, slot }));
            // The content stays, so that a program that does not use it is told what is wrong.
            let value = slots.iter().position(|slot| slot.kind.scalar == Scalar::Value);
            needed.words.extend(value.map(|slot| Word { home, slot: slot as u32 }));
        }
        loop {
            let before = needed.clone();
            for (at, instr) in steps.code.iter().enumerate() {
                needed.grow(steps, at, &instr.op);
            }
            if needed == before {
                return needed;
            }
        }
    }

    /// What an instruction needs, if what is needed already is.
    fn grow(&mut self, steps: &Steps, at: usize, op: &Op) {
        let mut all: Vec<Ex> = Vec::new();
        let place = op.place();
        if let Some(place) = place {
            let decides = matches!(op, Op::Cas { .. } | Op::StoreConditional { .. });
            // What is accessed together stays together.
            let together = words(place).any(|word| self.words.contains(&word));
            if decides || together || !is_simple(steps, at, place) {
                self.words.extend(words(place));
            }
            if let Root::Node(node, _) = &place.root {
                all.push(node.clone());
            }
            all.extend(place.dims.iter().map(|d| d.index.clone()));
        }
        match op {
            Op::Set { dst, value } => {
                let kept = (0..)
                    .zip(value)
                    .filter(|(i, ex)| self.has(steps, at, Reg(dst.0 + i)) || !is_harmless(ex));
                all.extend(kept.map(|(_, ex)| ex.clone()));
            }
            Op::Load { dst, place } => {
                let read = (0..place.width).any(|i| self.has(steps, at, Reg(dst.0 + i)));
                if read {
                    self.words.extend(words(place));
                }
            }
            Op::Swap { dst, place, .. } | Op::FetchAdd { dst, place, .. } => {
                if self.has(steps, at, *dst) {
                    self.words.extend(words(place));
                }
                self.stored(op, place, &mut all);
            }
            Op::Store { place, .. } => self.stored(op, place, &mut all),
            Op::New { of, fields, .. } => {
                let needs = |slot: u32| self.words.contains(&Word { home: Some(*of), slot });
                let kept = (0..).zip(fields).filter(|(slot, ex)| needs(*slot) || !is_harmless(ex));
                all.extend(kept.map(|(_, ex)| ex.clone()));
            }
            Op::Check { value, kind } => {
                let any_number = matches!(kind.scalar, Scalar::Int(range) if range.is_default());
                if !(any_number && is_number(value)) {
                    all.push(value.clone());
                }
            }
            // Points are for other engines.
            Op::Lin { .. } => {}
            op => expressions(op, &mut |ex| all.push(ex.clone())),
        }
        let of = method(steps, at);
        for ex in &all {
            expression_uses(ex, &mut |reg| {
                self.registers.insert((of, reg));
            });
        }
    }

    /// What is written into a place, if somebody needs that place.
    fn stored(&self, op: &Op, place: &Place, all: &mut Vec<Ex>) {
        let needs = words(place).any(|word| self.words.contains(&word));
        expressions(op, &mut |ex| {
            if needs || !is_harmless(ex) {
                all.push(ex.clone());
            }
        });
    }

    fn has(&self, steps: &Steps, at: usize, reg: Reg) -> bool {
        // What outlives an operation is followed nowhere.
        (reg.0 as usize) < steps.persistent.len()
            || self.registers.contains(&(method(steps, at), reg))
    }

    /// The slots that nobody needs.
    fn left_out(&self, steps: &Steps) -> BTreeSet<Word> {
        let shared = (0..steps.shared.len() as u32).map(|slot| Word { home: None, slot });
        let structs = steps.structs.iter().enumerate().flat_map(|(of, layout)| {
            let home = Some(StructId(of as u32));
            (0..layout.slots.len() as u32).map(move |slot| Word { home, slot })
        });
        shared.chain(structs).filter(|word| !self.words.contains(word)).collect()
    }

    /// An instruction, without what nobody needs.
    fn without(&self, steps: &Steps, at: usize, mut instr: Instr) -> Instr {
        let pc = Pc(at as u32);
        let unneeded = |place: &Place| words(place).all(|word| !self.words.contains(&word));
        instr.op = match instr.op {
            Op::Set { dst, ref value }
                if (0..value.len() as u32).all(|i| !self.has(steps, at, Reg(dst.0 + i)))
                    && value.iter().all(is_harmless) =>
            {
                nothing(pc)
            }
            Op::Check { ref value, kind }
                if matches!(kind.scalar, Scalar::Int(range) if range.is_default())
                    && is_number(value)
                    && !self.uses_only_needed(steps, at, value) =>
            {
                nothing(pc)
            }
            Op::New { dst, of, fields } => {
                let kept = |slot: u32| self.words.contains(&Word { home: Some(of), slot });
                let fields = (0..).zip(fields).filter(|(slot, _)| kept(*slot));
                Op::New { dst, of, fields: fields.map(|(_, ex)| ex).collect() }
            }
            Op::Lin { .. } => nothing(pc),
            op => match op.place() {
                Some(place) if unneeded(place) => node_is_there(pc, place),
                _ => op,
            },
        };
        if matches!(instr.op, Op::Jump(_) | Op::Assert(_)) {
            instr.fused = false;
        }
        instr
    }

    fn uses_only_needed(&self, steps: &Steps, at: usize, ex: &Ex) -> bool {
        let mut all = true;
        expression_uses(ex, &mut |reg| all &= self.has(steps, at, reg));
        all
    }
}

/// In the place of an access to a slot that nobody needs: it fails if there is no node.
fn node_is_there(pc: Pc, place: &Place) -> Op {
    match &place.root {
        Root::Shared => nothing(pc),
        Root::Node(node, _) => {
            let null = Ex::Bin(BinOp::Eq, Box::new(node.clone()), Box::new(Ex::Const(NULL)));
            Op::Assert(Ex::Not(Box::new(null)))
        }
    }
}

/// All slots that an access may touch.
fn words(place: &Place) -> impl Iterator<Item = Word> + use<> {
    let home = home(place);
    place.slots().map(move |slot| Word { home, slot })
}

/// Whether a slot holds what may be left out: no reference, no lock, no number with bounds, no part
/// of a word that is more than this slot.
fn is_plain_data(slot: &Slot) -> bool {
    let free = match slot.kind.scalar {
        Scalar::Ref(_) | Scalar::Lock | Scalar::Key => false,
        Scalar::Int(range) => range.is_default(),
        Scalar::Bool | Scalar::Value | Scalar::Tid | Scalar::Enum(_) => true,
    };
    free && !slot.joined && !slot.plain
}

/// Whether an access is to one slot, or to an element for a thread.
fn is_simple(steps: &Steps, at: usize, place: &Place) -> bool {
    let thread = |index: &Ex| match index {
        Ex::SelfTid => true,
        Ex::Reg(reg) => steps
            .register(Pc(at as u32), *reg)
            .is_some_and(|slot| slot.kind.scalar == Scalar::Tid && !slot.kind.nullable),
        _ => false,
    };
    // The initialisation of an array goes through its slots by numbers.
    let fixed = |index: &Ex, len: u32| matches!(index, Ex::Const(n) if (0..len as i32).contains(n));
    match place.dims.as_slice() {
        [] => place.width == 1 || method(steps, at).is_none(),
        [dim] => place.width == 1 && (thread(&dim.index) || fixed(&dim.index, dim.len)),
        _ => false,
    }
}

/// Whether an expression always has a value.
fn is_harmless(ex: &Ex) -> bool {
    match ex {
        Ex::Const(_) | Ex::Reg(_) | Ex::SelfTid => true,
        Ex::At { .. } | Ex::Bin(BinOp::Div | BinOp::Rem, ..) => false,
        Ex::Not(a) | Ex::Neg(a) => is_harmless(a),
        Ex::Bin(_, a, b) => is_harmless(a) && is_harmless(b),
        Ex::If(a, b, c) => is_harmless(a) && is_harmless(b) && is_harmless(c),
    }
}

/// Whether an expression is a number for sure, and never null: a sum, a difference, a product.
fn is_number(ex: &Ex) -> bool {
    let calculated = matches!(ex, Ex::Bin(BinOp::Add | BinOp::Sub | BinOp::Mul, ..) | Ex::Neg(_));
    calculated && is_harmless(ex)
}

/// Takes the slots out of the layout.
fn renumber(steps: &mut Steps, left_out: &BTreeSet<Word>) {
    let before = |word: Word| {
        let earlier = left_out.iter().filter(|w| w.home == word.home && w.slot < word.slot);
        earlier.count() as u32
    };
    for instr in &mut steps.code {
        if let Some(place) = instr.op.place_mut() {
            place.offset -= before(Word::of(place));
        }
    }
    steps.thread_arrays.retain(|a| !left_out.contains(&Word { home: None, slot: a.first }));
    for array in &mut steps.thread_arrays {
        array.first -= before(Word { home: None, slot: array.first });
    }
    let keep = |home: Option<StructId>, slots: &mut Vec<Slot>| {
        let mut slot = 0..;
        slots.retain(|_| !left_out.contains(&Word { home, slot: slot.next().expect("a number") }));
    };
    keep(None, &mut steps.shared);
    for (of, layout) in steps.structs.iter_mut().enumerate() {
        keep(Some(StructId(of as u32)), &mut layout.slots);
    }
}

/// Whether threads are still stored, or index arrays.
fn uses_threads(steps: &Steps) -> bool {
    let slots = steps.structs.iter().flat_map(|s| &s.slots).chain(&steps.shared);
    let mut all = slots.chain(&steps.persistent);
    let stored = all.any(|slot| slot.kind.scalar == Scalar::Tid);
    stored || !steps.thread_arrays.is_empty() || steps.code.iter().any(|i| reads_own_number(&i.op))
}
