//! The program with whole numbers in the place of values, and 0 in the place of null.
//!
//! Condition: the program has no structs, and only values may be null in it. In this language values
//! are copied and compared for equality, and nothing else; so the numbers other than 0 serve as well
//! as any other set, and the stand-in is the same program with other names. What is a value and
//! never null is not 0: a method assumes that of its parameters, and where the language checks for
//! null, an assertion checks for 0. In the specification 0 is null, too (`crate::number_spec`).
//!
//! It would be unsound if 0 stood for null and for something else: numbers, booleans and variants of
//! the program must never be null, and null is not compared with them, either, nor checked to be one
//! of them ([`null_is_a_value`]): both would fail, and 0 is a number and the first of all others.

use super::{Rewriting, at_block, body_of, kinds_mut};
use seriatim_lang::flow;
use seriatim_lang::range::Range;
use seriatim_lang::steps::{BinOp, Ex, NULL, Op, Pc, Place, Reg, Steps};
use seriatim_lang::types::{Kind, Scalar};

/// The program with numbers, if it has values.
pub fn with_numbers(steps: &Steps) -> Option<Steps> {
    let mut result = steps.clone();
    let kinds: Vec<Kind> = kinds_mut(&mut result).into_iter().map(|kind| *kind).collect();
    let clear = |kind: &Kind| match kind.scalar {
        Scalar::Value => true,
        Scalar::Int(_) | Scalar::Bool | Scalar::Enum(_) | Scalar::Lock => !kind.nullable,
        Scalar::Ref(_) | Scalar::Key | Scalar::Tid => false,
    };
    let has_values = kinds.iter().any(|kind| kind.scalar == Scalar::Value);
    if !has_values || !steps.structs.is_empty() || !kinds.iter().all(clear) {
        return None;
    }
    (0..steps.code.len()).all(|at| null_is_a_value(steps, at)).then_some(())?;
    let mut code = Rewriting::of(steps);
    for at in 0..steps.code.len() {
        let mut ops: Vec<Op> = Vec::new();
        for method in steps.methods.iter().filter(|method| method.entry.0 as usize == at) {
            let given = method.params.iter().zip(method.first_param.0..);
            let given = given.filter(|(kind, _)| kind.scalar == Scalar::Value && !kind.nullable);
            ops.extend(given.map(|(_, reg)| Op::Assume(is_no_zero(Ex::Reg(Reg(reg))))));
        }
        let mut op = code.blocks[at][0].op.clone();
        super::rewrite_all(&mut op, &|ex| {
            if *ex == Ex::Const(NULL) {
                *ex = Ex::Const(0);
            }
        });
        ops.push(match op {
            Op::Check { value, kind } if kind.scalar == Scalar::Value && !kind.nullable => {
                Op::Assert(is_no_zero(value))
            }
            Op::Check { kind, .. } if kind.scalar == Scalar::Value => Op::Jump(at_block(at + 1, 0)),
            Op::Lin { .. } => Op::Jump(at_block(at + 1, 0)),
            Op::Any { dst, kind } => Op::Any { dst, kind: number_for(kind) },
            op => op,
        });
        code.put(at, ops);
    }
    code.finish(&mut result);
    kinds_mut(&mut result).into_iter().for_each(|kind| *kind = number_for(*kind));
    Some(result)
}

/// Whether an instruction says null only where a value may be.
fn null_is_a_value(steps: &Steps, at: usize) -> bool {
    let op = &steps.code[at].op;
    let is_value = |kind: Kind| kind.scalar == Scalar::Value;
    let before = |reg: Reg| {
        let own = (reg.0 as usize).checked_sub(steps.persistent.len())?;
        steps.init_regs.get(own).filter(|_| body_of(steps, at) == 0)
    };
    let held = |reg: Reg| {
        let slot = steps.register(Pc(at as u32), reg).or_else(|| before(reg));
        slot.is_some_and(|slot| is_value(slot.kind))
    };
    let all = |list: &[Ex], are: &mut dyn Iterator<Item = bool>| {
        list.iter().zip(are).all(|(ex, is)| fits(ex, is, &held))
    };
    let stored = |place: &Place, list: &[Ex]| {
        all(list, &mut (place.offset..).map(|slot| is_value(steps.shared[slot as usize].kind)))
    };
    let indices = op.place().into_iter().flat_map(|place| &place.dims);
    let plain = indices.map(|dim| &dim.index).all(|index| fits(index, false, &held));
    plain
        && match op {
            Op::Set { dst, value } => all(value, &mut (dst.0..).map(|reg| held(Reg(reg)))),
            Op::Store { place, value } | Op::Swap { place, value, .. } => stored(place, value),
            Op::Cas { place, old, new, .. } => stored(place, old) && stored(place, new),
            Op::Check { value, kind } => fits(value, is_value(*kind), &held),
            Op::Return(values) => match body_of(steps, at).checked_sub(1) {
                Some(method) => {
                    let result = steps.methods[method].result.iter();
                    all(values, &mut result.map(|kind| is_value(*kind)))
                }
                None => true,
            },
            op => {
                let mut plain = true;
                flow::expressions(op, &mut |ex| plain &= fits(ex, false, &held));
                plain
            }
        }
}

/// Whether null is in an expression only where a value may be; `value` says whether the expression
/// may be one.
fn fits(ex: &Ex, value: bool, held: &dyn Fn(Reg) -> bool) -> bool {
    match ex {
        Ex::Const(n) => value || *n != NULL,
        Ex::Reg(_) | Ex::SelfTid => true,
        Ex::Not(a) | Ex::Neg(a) => fits(a, false, held),
        Ex::Bin(op, a, b) => {
            let values = *op == BinOp::Eq && (holds_value(a, held) || holds_value(b, held));
            fits(a, values, held) && fits(b, values, held)
        }
        Ex::If(cond, a, b) => {
            fits(cond, false, held) && fits(a, value, held) && fits(b, value, held)
        }
        Ex::At { dims, .. } => dims.iter().all(|dim| fits(&dim.index, false, held)),
    }
}

fn holds_value(ex: &Ex, held: &dyn Fn(Reg) -> bool) -> bool {
    match ex {
        Ex::Reg(reg) | Ex::At { first: reg, .. } => held(*reg),
        Ex::If(_, a, b) => holds_value(a, held) || holds_value(b, held),
        _ => false,
    }
}

fn number_for(kind: Kind) -> Kind {
    match kind.scalar == Scalar::Value {
        true => Kind { scalar: Scalar::Int(Range::plain()), nullable: false },
        false => kind,
    }
}

fn is_no_zero(ex: Ex) -> Ex {
    Ex::Not(Box::new(Ex::Bin(BinOp::Eq, Box::new(ex), Box::new(Ex::Const(0)))))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{library, lowered};
    use super::*;

    #[test]
    fn null_is_zero_where_a_value_may_be_and_nothing_anywhere_else() {
        let source = library("once_cell");
        assert!(with_numbers(&lowered(&source)).is_some());
        let set = "  let c = content
  if c != null { return false }
  if cas(content, null, v) { return true }
  return false";
        assert!(source.contains(set));
        for body in [
            "if v == null { return false }; let old = swap(content, v); return old == null",
            "let other: value? = null; return cas(content, other, if v == other { other } else { v })",
        ] {
            assert!(with_numbers(&lowered(&source.replacen(set, body, 1))).is_some(), "{body}");
        }
        for body in [
            "let b = cas(content, null, v); return if b { b } else { null }",
            "let b = false; return cas(content, null, v) == (b == null)",
            "let n = 0; return cas(content, null, v) == (null == n)",
            "let n: int = null; return cas(content, null, v)",
            "let b = cas(content, null, v); assert b != null; return b",
            "atomic { assume false == null }; return cas(content, null, v)",
        ] {
            assert!(with_numbers(&lowered(&source.replacen(set, body, 1))).is_none(), "{body}");
        }
    }
}
