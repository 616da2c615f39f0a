//! The program with whole numbers in the place of values, and 0 in the place of null.
//!
//! Condition: the program has no structs, and only values may be null in it. In this language values
//! are copied and compared for equality, and nothing else; so the numbers other than 0 serve as well
//! as any other set, and the stand-in is the same program with other names. What is a value and
//! never null is not 0: a method assumes that of its parameters, and where the language checks for
//! null, an assertion checks for 0. In the specification 0 is null, too (`crate::number_spec`).
//!
//! It would be unsound if 0 stood for null and for something else: numbers, booleans and variants of
//! the program must never be null.

use super::{Rewriting, at_block, kinds_mut};
use seriatim_lang::range::Range;
use seriatim_lang::steps::{BinOp, Ex, NULL, Op, Reg, Steps};
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

fn number_for(kind: Kind) -> Kind {
    match kind.scalar == Scalar::Value {
        true => Kind { scalar: Scalar::Int(Range::plain()), nullable: false },
        false => kind,
    }
}

fn is_no_zero(ex: Ex) -> Ex {
    Ex::Not(Box::new(Ex::Bin(BinOp::Eq, Box::new(ex), Box::new(Ex::Const(0)))))
}
