//! Puts the content of immutable records in the place of references to them.
//!
//! *Decided*: whether every struct is a *record*: it has one field, which methods only read, and
//! references to it are held in variables and registers, compared with null only, and exchanged.
//! Then a reference becomes what its record holds, making a record becomes computing that, and
//! reading its field becomes nothing.
//!
//! *Why it is sound*: what a record holds never changes, so whoever has the reference has the
//! content. Two references are equal only if their contents are; a `cas` that succeeds in `P`
//! finds equal contents in `Q`, and one that fails in `P` although the contents are equal may fail
//! in `Q` as well ([`exchanged`]: in `Q` every such `cas` may fail). Null must be told from every
//! content: the field holds a value, which is never null, or no reference is ever null.
//!
//! *What would make it unsound*: a field that is written after the record was made; a branch on the
//! equality of two references, which are different more often than their contents; a record whose
//! content may look like null.

use super::ways::perhaps;
use super::{method, nothing, replace};
use seriatim_lang::flow::expressions;
use seriatim_lang::steps::{BinOp, Ex, NULL, Op, Pc, Place, Root, Slot, Steps};
use seriatim_lang::types::{Kind, Scalar, StructId};

/// Puts contents in the place of records, if every struct is one; says whether there are any.
pub fn unboxed(steps: &mut Steps) -> bool {
    let fields: Option<Vec<Kind>> = (0..steps.structs.len()).map(|of| field(steps, of)).collect();
    let Some(fields) = fields.filter(|fields| !fields.is_empty()) else { return false };
    if !is_only_held(steps) {
        return false;
    }
    let referred = |place: &Place| {
        let slot = steps.shared.get(place.offset as usize).filter(|_| place.root == Root::Shared);
        slot.is_some_and(|slot| matches!(slot.kind.scalar, Scalar::Ref(_)))
    };
    let referred: Vec<bool> =
        steps.code.iter().map(|i| i.op.place().is_some_and(referred)).collect();
    replace(steps, |pc, instr| exchanged(pc, &instr.op, referred[pc.0 as usize], &fields));
    let methods = steps.methods.iter_mut().flat_map(|m| &mut m.regs);
    for slot in steps.shared.iter_mut().chain(methods).chain(&mut steps.init_regs) {
        if let Scalar::Ref(of) = slot.kind.scalar {
            let field = fields[of.0 as usize];
            let nullable = slot.kind.nullable && field.scalar == Scalar::Value;
            slot.kind = Kind { nullable, ..field };
        }
    }
    steps.structs.clear();
    true
}

/// The field of a record: one, which nobody writes, and which is told from null.
fn field(steps: &Steps, of: usize) -> Option<Kind> {
    let [slot] = &steps.structs[of].slots[..] else { return None };
    let id = StructId(of as u32);
    let is_field = |place: &Place| matches!(place.root, Root::Node(_, of) if of == id);
    let written = steps.code.iter().any(|instr| {
        instr.op.place().is_some_and(is_field) && !matches!(instr.op, Op::Load { .. })
    });
    let null = |slot: &Slot| slot.kind.scalar == Scalar::Ref(id) && slot.kind.nullable;
    let told_from_null = match slot.kind.scalar {
        Scalar::Value => true,
        Scalar::Int(_) | Scalar::Bool | Scalar::Enum(_) => {
            !steps.shared.iter().any(null) && !mentions_null(steps)
        }
        _ => false,
    };
    (!written && told_from_null && !slot.kind.nullable && !slot.plain).then_some(slot.kind)
}

/// Whether null occurs in the code: if not, and if no variable begins with it, no reference is ever
/// null.
fn mentions_null(steps: &Steps) -> bool {
    fn inside(ex: &Ex) -> bool {
        match ex {
            Ex::Const(n) => *n == NULL,
            Ex::Not(a) | Ex::Neg(a) => inside(a),
            Ex::Bin(_, a, b) => inside(a) || inside(b),
            Ex::If(a, b, c) => inside(a) || inside(b) || inside(c),
            Ex::Reg(_) | Ex::SelfTid | Ex::At { .. } => false,
        }
    }
    let mut found = false;
    for instr in &steps.code {
        expressions(&instr.op, &mut |ex| found |= inside(ex));
    }
    found
}

/// Whether references are held in single variables and in registers, and compared with null only.
fn is_only_held(steps: &Steps) -> bool {
    let is_reference = |slot: &Slot| matches!(slot.kind.scalar, Scalar::Ref(_));
    let results = steps.methods.iter().flat_map(|m| m.result.iter().chain(&m.params));
    let outside = results.into_iter().any(|kind| matches!(kind.scalar, Scalar::Ref(_)));
    let kept = steps.persistent.iter().any(is_reference);
    let parts = steps
        .shared
        .windows(2)
        .any(|two| two[1].joined && (is_reference(&two[0]) || is_reference(&two[1])));
    let mut fits = !outside && !kept && !parts;
    for (at, instr) in steps.code.iter().enumerate() {
        if let Some(place) = instr.op.place().filter(|place| place.root == Root::Shared) {
            let mut slots = place.slots().map(|slot| &steps.shared[slot as usize]);
            fits &= place.width == 1 && place.dims.is_empty() || !slots.any(is_reference);
        }
        let refers = |ex: &Ex| match ex {
            Ex::Reg(reg) => steps.register(Pc(at as u32), *reg).is_some_and(is_reference),
            Ex::Const(_) | Ex::SelfTid => false,
            // A choice between references is not looked into.
            Ex::If(..) | Ex::At { .. } => true,
            Ex::Not(_) | Ex::Neg(_) | Ex::Bin(..) => false,
        };
        expressions(&instr.op, &mut |ex| fits &= compares_with_null(ex, &refers));
        fits &= !matches!(instr.op, Op::Any { kind, .. } if matches!(kind.scalar, Scalar::Ref(_)));
        fits &= !matches!(instr.op, Op::Free(_) | Op::SetAt { .. } | Op::StoreConditional { .. });
        // Registers are known in methods only.
        fits &=
            method(steps, at).is_some() || !matches!(instr.op, Op::Branch { .. } | Op::Cas { .. });
    }
    fits
}

/// Whether no two references are compared in an expression.
fn compares_with_null(ex: &Ex, refers: &dyn Fn(&Ex) -> bool) -> bool {
    match ex {
        Ex::Bin(BinOp::Eq, a, b) => {
            let with_null = [a, b].iter().any(|side| ***side == Ex::Const(NULL));
            let inside = compares_with_null(a, refers) && compares_with_null(b, refers);
            inside && (with_null || !refers(a) && !refers(b))
        }
        Ex::Bin(_, a, b) => compares_with_null(a, refers) && compares_with_null(b, refers),
        Ex::Not(a) | Ex::Neg(a) => compares_with_null(a, refers),
        Ex::If(a, b, c) => [a, b, c].iter().all(|part| compares_with_null(part, refers)),
        Ex::Const(_) | Ex::Reg(_) | Ex::SelfTid | Ex::At { .. } => true,
    }
}

/// Fails if a reference leads nowhere; none if it never does.
fn there(reference: &Ex, field: Kind) -> Option<Op> {
    let null = Box::new(Ex::Const(NULL));
    let is_null = Ex::Bin(BinOp::Eq, Box::new(reference.clone()), null);
    (field.scalar == Scalar::Value).then_some(Op::Assert(Ex::Not(Box::new(is_null))))
}

/// What an instruction becomes; `on_reference` if it accesses a variable that refers to a record.
fn exchanged(pc: Pc, op: &Op, on_reference: bool, fields: &[Kind]) -> Option<Vec<Op>> {
    match op {
        Op::New { dst, fields, .. } => {
            Some(vec![Op::Set { dst: *dst, value: vec![fields.first()?.clone()] }])
        }
        Op::Load { dst, place: Place { root: Root::Node(node, of), .. } } => {
            let read = Op::Set { dst: *dst, value: vec![node.clone()] };
            Some(there(node, fields[of.0 as usize]).into_iter().chain([read]).collect())
        }
        Op::Check { value, kind } => match kind.scalar {
            Scalar::Ref(_) if kind.nullable => Some(vec![nothing(pc)]),
            Scalar::Ref(of) => {
                Some(vec![there(value, fields[of.0 as usize]).unwrap_or(nothing(pc))])
            }
            _ => None,
        },
        Op::Cas { old, fail, .. } if on_reference && old[..] != [Ex::Const(NULL)] => {
            Some(perhaps(op.clone(), Pc(pc.0 + 1), *fail))
        }
        _ => None,
    }
}
