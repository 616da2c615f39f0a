//! The program with the contents of immutable records in the place of references to them.
//!
//! Conditions, for every struct of the program:
//! - it has one field, which is read and never written after the record was made;
//! - references to it are in shared variables of one slot and in registers, never in parameters,
//!   results, arrays, tuples or thread variables;
//! - two references are never compared by a branch, only a reference with null; a `cas` of a
//!   variable compares what it holds with null, or with a reference;
//! - no content looks like null: it is a value, which is not null, or there is no null anywhere.
//!
//! A run of the program is one of the stand-in: a reference that is held somewhere becomes what its
//! record holds, for ever. Where references are equal, contents are; where they are not, contents
//! may be, and a `cas` that compares with a reference may fail in the stand-in at any time. A `cas`
//! that compares with null fails in both or in none. Reading the field of null fails in both.
//!
//! It would be unsound to let a branch decide on the equality of contents, or to accept a field that
//! changes.

use super::idle::is_not_null;
use super::{Rewriting, at_block, body_of, either, kinds_mut, owner, touched};
use seriatim_lang::flow;
use seriatim_lang::steps::{BinOp, Ex, NULL, Op, Pc, Root, Steps};
use seriatim_lang::types::{Kind, Scalar, StructId};

/// The program without records, if all of its structs are records.
pub fn with_contents(steps: &Steps) -> Option<Steps> {
    let fields: Vec<Kind> = (0..)
        .map(StructId)
        .zip(&steps.structs)
        .map(|(of, _)| field(steps, of))
        .collect::<Option<_>>()?;
    if fields.is_empty() || !is_modest(steps) {
        return None;
    }
    let mut result = steps.clone();
    let mut code = Rewriting::of(steps);
    for (at, instr) in steps.code.iter().enumerate() {
        let on = Op::Jump(at_block(at + 1, 0));
        let value = |of: StructId| fields[of.0 as usize].scalar == Scalar::Value;
        let put = match &instr.op {
            Op::New { dst, fields, .. } => {
                vec![Op::Set { dst: *dst, value: vec![fields[0].clone()] }]
            }
            Op::Load { dst, place } => match &place.root {
                Root::Shared => continue,
                Root::Node(node, of) => {
                    let set = Op::Set { dst: *dst, value: vec![node.clone()] };
                    match value(*of) {
                        true => vec![Op::Assert(is_not_null(node)), set],
                        false => vec![set],
                    }
                }
            },
            Op::Check { value: reference, kind } => match kind.scalar {
                Scalar::Ref(of) if !kind.nullable && value(of) => {
                    vec![Op::Assert(is_not_null(reference))]
                }
                Scalar::Ref(_) => vec![on],
                _ => continue,
            },
            Op::Cas { place, old, fail, .. } => {
                let refers = |word: (Option<StructId>, u32)| {
                    is_reference(steps.shared[word.1 as usize].kind)
                };
                if !touched(place).into_iter().any(refers) || old[..] == [Ex::Const(NULL)] {
                    continue;
                }
                let mut cas = instr.op.clone();
                let fails = at_block(fail.0 as usize, 0);
                super::targets(&mut cas).into_iter().for_each(|to| *to = fails);
                either(at, cas, Pc(at as u32 + 1), *fail)
            }
            _ => continue,
        };
        code.put(at, put);
    }
    code.finish(&mut result);
    for kind in kinds_mut(&mut result) {
        if let Scalar::Ref(of) = kind.scalar {
            let field = fields[of.0 as usize];
            let nullable = kind.nullable && field.scalar == Scalar::Value;
            *kind = Kind { nullable, ..field };
        }
    }
    result.structs.clear();
    Some(result)
}

fn is_reference(kind: Kind) -> bool {
    matches!(kind.scalar, Scalar::Ref(_))
}

/// The kind of the only field of a record.
fn field(steps: &Steps, of: StructId) -> Option<Kind> {
    let [slot] = &steps.structs[of.0 as usize].slots[..] else { return None };
    let only_read = steps.code.iter().all(|instr| match instr.op.place() {
        Some(place) if owner(place) == Some(of) => {
            matches!(instr.op, Op::Load { .. }) && place.width == 1 && place.dims.is_empty()
        }
        _ => true,
    });
    let never_null = || {
        let nullable = |kind: Kind| kind.scalar == Scalar::Ref(of) && kind.nullable;
        !steps.shared.iter().any(|slot| nullable(slot.kind)) && !says_null(steps)
    };
    let apart = match slot.kind.scalar {
        Scalar::Value => true,
        Scalar::Bool | Scalar::Int(_) | Scalar::Enum(_) => never_null(),
        Scalar::Key | Scalar::Tid | Scalar::Lock | Scalar::Ref(_) => false,
    };
    (only_read && apart && !slot.kind.nullable && !slot.plain).then_some(slot.kind)
}

/// Whether null stands anywhere in the code.
fn says_null(steps: &Steps) -> bool {
    fn inside(ex: &Ex) -> bool {
        match ex {
            Ex::Const(n) => *n == NULL,
            Ex::Reg(_) | Ex::SelfTid => false,
            Ex::Not(a) | Ex::Neg(a) => inside(a),
            Ex::Bin(_, a, b) => inside(a) || inside(b),
            Ex::If(a, b, c) => [a, b, c].into_iter().any(|ex| inside(ex)),
            Ex::At { .. } => true,
        }
    }
    let mut found = false;
    steps.code.iter().for_each(|i| flow::expressions(&i.op, &mut |ex| found |= inside(ex)));
    found
}

/// Whether references are held and compared as they may be.
fn is_modest(steps: &Steps) -> bool {
    let mut outside = steps.methods.iter().flat_map(|m| m.params.iter().chain(&m.result));
    let joined = |at: usize| {
        steps.shared[at].joined || steps.shared.get(at + 1).is_some_and(|next| next.joined)
    };
    let mut shared = (0..steps.shared.len()).filter(|at| is_reference(steps.shared[*at].kind));
    if outside.any(|kind| is_reference(*kind))
        || steps.persistent.iter().any(|slot| is_reference(slot.kind))
        || shared.any(joined)
    {
        return false;
    }
    let mut modest = true;
    for (at, instr) in steps.code.iter().enumerate() {
        if let Some(place) = instr.op.place()
            && place.root == Root::Shared
            && place.slots().any(|slot| is_reference(steps.shared[slot as usize].kind))
        {
            modest &= place.width == 1 && place.dims.is_empty();
        }
        modest &= match &instr.op {
            Op::Free(_) | Op::SetAt { .. } | Op::StoreConditional { .. } => false,
            Op::Any { kind, .. } => !is_reference(*kind),
            // What registers hold is known in methods only.
            Op::Branch { .. } | Op::Cas { .. } => body_of(steps, at) > 0,
            _ => true,
        };
        flow::expressions(&instr.op, &mut |ex| modest &= asks_for_null_only(steps, at, ex));
    }
    modest
}

fn asks_for_null_only(steps: &Steps, at: usize, ex: &Ex) -> bool {
    let inside = |ex: &Ex| asks_for_null_only(steps, at, ex);
    let refers = |ex: &Ex| match ex {
        Ex::Reg(reg) => {
            steps.register(Pc(at as u32), *reg).is_some_and(|slot| is_reference(slot.kind))
        }
        Ex::If(..) | Ex::At { .. } => true,
        _ => false,
    };
    match ex {
        Ex::Bin(BinOp::Eq, a, b) => {
            let null = **a == Ex::Const(NULL) || **b == Ex::Const(NULL);
            (null || !(refers(a) || refers(b))) && inside(a) && inside(b)
        }
        Ex::Bin(_, a, b) => inside(a) && inside(b),
        Ex::Not(a) | Ex::Neg(a) => inside(a),
        Ex::If(a, b, c) => inside(a) && inside(b) && inside(c),
        Ex::Const(_) | Ex::Reg(_) | Ex::SelfTid | Ex::At { .. } => true,
    }
}
