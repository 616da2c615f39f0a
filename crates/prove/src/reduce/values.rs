//! Takes values for whole numbers, and null for the number 0.
//!
//! *Decided*: for programs without structs, threads and keys, and for specifications of which the
//! state is one value. Values can only be copied and compared in this language, so any set will do
//! for them; whole numbers other than 0 are one, and 0 stands for null. A parameter that is never
//! null is assumed not to be 0 (`assume` at the begin of a method), and where the language looks
//! whether something is null, an assertion does. The specification is read in the same way
//! ([`crate::number_spec`]). So `Q` is `P` with other names for the values.
//!
//! *What would make it unsound*: a word that may be null and holds something else than values: 0
//! would then be two things ([`is_of_values`]).

use super::{nothing, replace};
use seriatim_lang::range::Range;
use seriatim_lang::steps::{BinOp, Dim, Ex, NULL, Op, Pc, Place, Reg, Root, Slot, Steps};
use seriatim_lang::types::{Kind, Scalar};

/// The number that stands for null.
pub const NO_VALUE: i32 = 0;

/// Takes values for numbers; says whether there are any.
pub fn numbered(steps: &mut Steps) -> bool {
    let methods = steps.methods.iter();
    let kinds = methods.flat_map(|m| m.params.iter().chain(&m.result).copied());
    let registers = steps.methods.iter().flat_map(|m| &m.regs).chain(&steps.init_regs);
    let slots = steps.shared.iter().chain(&steps.persistent).chain(registers);
    let all: Vec<Kind> = kinds.chain(slots.map(|slot| slot.kind)).collect();
    let any = all.iter().any(|kind| kind.scalar == Scalar::Value);
    if !any || !steps.structs.is_empty() || !all.iter().all(|kind| is_of_values(*kind)) {
        return false;
    }
    let entries: Vec<(Pc, Vec<Ex>)> = steps.methods.iter().map(|m| (m.entry, assumed(m))).collect();
    replace(steps, |pc, instr| {
        let entry = entries.iter().find(|(entry, all)| *entry == pc && !all.is_empty());
        let op = exchanged(pc, &instr.op);
        let assumes = entry.map(|(_, all)| all.iter().map(|ex| Op::Assume(ex.clone())));
        let begin: Vec<Op> = assumes.into_iter().flatten().collect();
        Some([begin, vec![op]].concat())
    });
    let methods = steps.methods.iter_mut();
    let kinds = methods.flat_map(|m| m.params.iter_mut().chain(&mut m.result));
    kinds.for_each(|kind| *kind = as_number(*kind));
    let registers = steps.methods.iter_mut().flat_map(|m| &mut m.regs);
    let slots: Vec<&mut Slot> = registers
        .chain(&mut steps.init_regs)
        .chain(&mut steps.shared)
        .chain(&mut steps.persistent)
        .collect();
    slots.into_iter().for_each(|slot| slot.kind = as_number(slot.kind));
    true
}

/// Whether a word holds values, or something that is never null.
fn is_of_values(kind: Kind) -> bool {
    match kind.scalar {
        Scalar::Value => true,
        Scalar::Bool | Scalar::Int(_) | Scalar::Enum(_) | Scalar::Lock => !kind.nullable,
        Scalar::Key | Scalar::Tid | Scalar::Ref(_) => false,
    }
}

fn as_number(kind: Kind) -> Kind {
    match kind.scalar {
        Scalar::Value => Kind { scalar: Scalar::Int(Range::plain()), nullable: false },
        _ => kind,
    }
}

/// That the parameters which are never null are not 0.
fn assumed(method: &seriatim_lang::steps::MethodCode) -> Vec<Ex> {
    let params = method.params.iter().zip(method.first_param.0..);
    let given = params.filter(|(kind, _)| kind.scalar == Scalar::Value && !kind.nullable);
    given.map(|(_, reg)| is_value(Ex::Reg(Reg(reg)))).collect()
}

fn is_value(ex: Ex) -> Ex {
    let null = Box::new(Ex::Const(NO_VALUE));
    Ex::Not(Box::new(Ex::Bin(BinOp::Eq, Box::new(ex), null)))
}

fn exchanged(pc: Pc, op: &Op) -> Op {
    let all = |values: &[Ex]| values.iter().map(renamed).collect::<Vec<Ex>>();
    match op {
        Op::Set { dst, value } => Op::Set { dst: *dst, value: all(value) },
        Op::Load { dst, place } => Op::Load { dst: *dst, place: placed(place) },
        Op::Store { place, value } => Op::Store { place: placed(place), value: all(value) },
        Op::Cas { place, old, new, fail } => {
            Op::Cas { place: placed(place), old: all(old), new: all(new), fail: *fail }
        }
        Op::Swap { dst, place, value } => {
            Op::Swap { dst: *dst, place: placed(place), value: all(value) }
        }
        Op::FetchAdd { dst, place, amount, kind } => {
            let amount = renamed(amount);
            Op::FetchAdd { dst: *dst, place: placed(place), amount, kind: *kind }
        }
        Op::Branch { cond, otherwise } => Op::Branch { cond: renamed(cond), otherwise: *otherwise },
        Op::Any { dst, kind } => Op::Any { dst: *dst, kind: as_number(*kind) },
        Op::Assume(cond) => Op::Assume(renamed(cond)),
        Op::Assert(cond) => Op::Assert(renamed(cond)),
        Op::Check { value, kind } if kind.scalar == Scalar::Value => match kind.nullable {
            true => nothing(pc),
            false => Op::Assert(is_value(renamed(value))),
        },
        Op::Check { value, kind } => Op::Check { value: renamed(value), kind: *kind },
        Op::Return(values) => Op::Return(all(values)),
        Op::Invoke { method, args, dst } => {
            Op::Invoke { method: *method, args: all(args), dst: *dst }
        }
        Op::Lin { .. } => nothing(pc),
        op => op.clone(),
    }
}

fn placed(place: &Place) -> Place {
    let dims = place.dims.iter();
    let dims = dims.map(|dim| Dim { index: renamed(&dim.index), ..dim.clone() }).collect();
    let root = match &place.root {
        Root::Shared => Root::Shared,
        Root::Node(node, of) => Root::Node(renamed(node), *of),
    };
    Place { root, dims, ..place.clone() }
}

/// An expression in which 0 stands for null.
fn renamed(ex: &Ex) -> Ex {
    let part = |ex: &Ex| Box::new(renamed(ex));
    match ex {
        Ex::Const(NULL) => Ex::Const(NO_VALUE),
        Ex::Not(a) => Ex::Not(part(a)),
        Ex::Neg(a) => Ex::Neg(part(a)),
        Ex::Bin(op, a, b) => Ex::Bin(*op, part(a), part(b)),
        Ex::If(a, b, c) => Ex::If(part(a), part(b), part(c)),
        Ex::Const(_) | Ex::Reg(_) | Ex::At { .. } | Ex::SelfTid => ex.clone(),
    }
}
