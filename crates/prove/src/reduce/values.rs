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
//! would then be two things ([`is_of_values`]). So would it be if the program says null of something
//! else, in a comparison or where a check would find it ([`Nulls`]).

use super::{nothing, replace};
use seriatim_lang::flow::expressions;
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
    let nulls = Nulls { steps };
    if !(0..steps.code.len()).all(|at| nulls.are_values(at)) {
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

/// Where a program says null.
struct Nulls<'s> {
    steps: &'s Steps,
}

impl Nulls<'_> {
    /// Whether an instruction says it of values only.
    fn are_values(&self, at: usize) -> bool {
        let op = &self.steps.code[at].op;
        // Each expression, with whether its result may be null.
        let mut all: Vec<(&Ex, bool)> = Vec::new();
        let of_slots = |place: &Place| {
            let slots = self.steps.shared[place.offset as usize..].iter();
            slots.map(|slot| slot.kind.scalar == Scalar::Value)
        };
        match op {
            Op::Set { dst, value } => {
                all.extend((dst.0..).zip(value).map(|(reg, ex)| (ex, self.holds(at, Reg(reg)))));
            }
            Op::Store { place, value } | Op::Swap { place, value, .. } => {
                all.extend(value.iter().zip(of_slots(place)));
            }
            Op::Cas { place, old, new, .. } => {
                all.extend(old.iter().zip(of_slots(place)));
                all.extend(new.iter().zip(of_slots(place)));
            }
            Op::Check { value, kind } => all.push((value, kind.scalar == Scalar::Value)),
            Op::Return(value) => {
                let result = super::method(self.steps, at).map(|m| &self.steps.methods[m].result);
                let kinds = result.into_iter().flatten();
                all.extend(value.iter().zip(kinds.map(|kind| kind.scalar == Scalar::Value)));
            }
            _ => {}
        }
        if all.is_empty() {
            let mut right = true;
            expressions(op, &mut |ex| right &= self.fits(at, ex, false));
            return right;
        }
        let dims = op.place().into_iter().flat_map(|place| &place.dims);
        all.extend(dims.map(|dim| (&dim.index, false)));
        all.into_iter().all(|(ex, value)| self.fits(at, ex, value))
    }

    fn fits(&self, at: usize, ex: &Ex, value: bool) -> bool {
        match ex {
            Ex::Const(NULL) => value,
            Ex::Const(_) | Ex::Reg(_) | Ex::SelfTid => true,
            Ex::Not(a) | Ex::Neg(a) => self.fits(at, a, false),
            Ex::Bin(BinOp::Eq, a, b) => {
                let value = [a, b].into_iter().any(|side| self.is_value(at, side));
                self.fits(at, a, value) && self.fits(at, b, value)
            }
            Ex::Bin(_, a, b) => self.fits(at, a, false) && self.fits(at, b, false),
            Ex::If(c, a, b) => {
                self.fits(at, c, false) && self.fits(at, a, value) && self.fits(at, b, value)
            }
            Ex::At { dims, .. } => dims.iter().all(|dim| self.fits(at, &dim.index, false)),
        }
    }

    fn is_value(&self, at: usize, ex: &Ex) -> bool {
        match ex {
            Ex::Reg(reg) => self.holds(at, *reg),
            Ex::At { first, .. } => self.holds(at, *first),
            Ex::If(_, a, b) => self.is_value(at, a) || self.is_value(at, b),
            _ => false,
        }
    }

    /// Whether a register is one for values.
    fn holds(&self, at: usize, reg: Reg) -> bool {
        let own = (reg.0 as usize).checked_sub(self.steps.persistent.len());
        let slot = match (super::method(self.steps, at), own) {
            (_, None) => self.steps.persistent.get(reg.0 as usize),
            (Some(method), Some(own)) => self.steps.methods[method].regs.get(own),
            (None, Some(own)) => self.steps.init_regs.get(own),
        };
        slot.is_some_and(|slot| slot.kind.scalar == Scalar::Value)
    }
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
