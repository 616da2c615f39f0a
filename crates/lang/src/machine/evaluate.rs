//! Expressions over registers, and the instructions that touch nothing else.

use super::{Cut, Fault, Ran, Run, Stop};
use crate::front::types::{Kind, Scalar};
use crate::steps::lower::fits;
use crate::steps::*;

impl Run<'_> {
    pub(super) fn register(&self, reg: u32) -> i32 {
        self.state.words[self.machine.register_base(self.thread) + reg as usize]
    }

    pub(super) fn set_register(&mut self, reg: u32, value: i32) {
        let at = self.machine.register_base(self.thread) + reg as usize;
        self.state.words[at] = value;
    }

    pub(super) fn set_registers(&mut self, first: Reg, values: &[i32]) {
        let at = self.machine.register_base(self.thread) + first.0 as usize;
        self.state.words[at..at + values.len()].copy_from_slice(values);
    }

    pub(super) fn evaluate_all(&self, values: &[Ex], pc: Pc) -> Ran<Vec<i32>> {
        values.iter().map(|v| self.evaluate(v, pc)).collect()
    }

    fn registers(&self) -> &[i32] {
        &self.state.words[self.machine.register_base(self.thread)..]
    }

    #[inline]
    pub(super) fn evaluate(&self, ex: &Ex, pc: Pc) -> Ran<i32> {
        match ex {
            // What most are is not worth a call.
            Ex::Const(n) => Ok(*n),
            Ex::Reg(reg) => Ok(self.register(reg.0)),
            _ => evaluate(ex, self.registers(), self.thread, pc),
        }
    }

    #[inline]
    pub(super) fn offset(&self, dims: &[Dim], pc: Pc) -> Ran<u32> {
        if dims.is_empty() {
            return Ok(0);
        }
        offset(dims, self.registers(), self.thread, pc)
    }

    /// Executes an instruction and says where to go on.
    pub(super) fn execute(&mut self, pc: Pc) -> Ran<Pc> {
        let machine = self.machine;
        let next = Pc(pc.0 + 1);
        match &machine.steps.code[pc.0 as usize].op {
            Op::Set { dst, value } => {
                if let [value] = value.as_slice() {
                    let value = self.evaluate(value, pc)?;
                    self.set_register(dst.0, value);
                } else {
                    let values = self.evaluate_all(value, pc)?;
                    self.set_registers(*dst, &values);
                }
            }
            Op::SetAt { base, dims, value, .. } => {
                let values = self.evaluate_all(value, pc)?;
                let at = base.0 + self.offset(dims, pc)?;
                self.set_registers(Reg(at), &values);
            }
            Op::Branch { cond, otherwise } => {
                if self.evaluate(cond, pc)? == 0 {
                    return Ok(*otherwise);
                }
            }
            Op::Jump(to) => return Ok(*to),
            Op::Choose(targets) => {
                return Ok(targets[self.choices.pick(targets.len() as u32) as usize]);
            }
            Op::Any { dst, kind } => {
                let count = machine.domain(*kind);
                if count == 0 {
                    return Err(Stop::Bounded(Cut::Data));
                }
                let index = self.choices.pick(count);
                self.set_register(dst.0, machine.element(*kind, index));
            }
            Op::Assume(cond) => {
                if self.evaluate(cond, pc)? == 0 {
                    return Err(Stop::Waits);
                }
            }
            Op::Assert(cond) => {
                if self.evaluate(cond, pc)? == 0 {
                    return Err(Stop::Fault(Fault::Assertion, pc));
                }
            }
            Op::Check { value, kind } => {
                let value = self.evaluate(value, pc)?;
                check(value, *kind, pc)?;
            }
            Op::Lin { cond, help } if machine.steps.owners.is_some() => {
                let holds = match cond {
                    Some(cond) => self.evaluate(cond, pc)? != 0,
                    None => true,
                };
                if holds {
                    let who = help.as_ref().map(|h| self.evaluate(h, pc)).transpose()?;
                    let who = who.unwrap_or(self.thread as i32);
                    self.seen.effects.push((who != NULL).then_some(who as u32));
                }
            }
            Op::Lin { .. } => {}
            Op::Atomic | Op::Fence => {}
            Op::Return(_) | Op::Invoke { .. } | Op::End => return Err(Stop::Ended),
            _ => return self.access(pc),
        }
        Ok(next)
    }
}

/// The value of an expression over the registers of a thread.
pub fn evaluate(ex: &Ex, registers: &[i32], thread: usize, pc: Pc) -> Ran<i32> {
    let value = |ex: &Ex| match ex {
        Ex::Const(n) => Ok(*n),
        Ex::Reg(reg) => Ok(registers[reg.0 as usize]),
        _ => evaluate(ex, registers, thread, pc),
    };
    Ok(match ex {
        Ex::Const(n) => *n,
        Ex::Reg(reg) => registers[reg.0 as usize],
        Ex::At { base, dims, .. } => {
            registers[(base.0 + offset(dims, registers, thread, pc)?) as usize]
        }
        Ex::SelfTid => thread as i32,
        Ex::Not(a) => i32::from(value(a)? == 0),
        Ex::Neg(a) => value(a)?.saturating_neg(),
        Ex::Bin(BinOp::And, a, b) => match value(a)? {
            0 => 0,
            _ => value(b)?,
        },
        Ex::Bin(BinOp::Or, a, b) => match value(a)? {
            0 => value(b)?,
            _ => 1,
        },
        Ex::Bin(op, a, b) => binary(*op, value(a)?, value(b)?, pc)?,
        Ex::If(c, a, b) => match value(c)? {
            0 => value(b)?,
            _ => value(a)?,
        },
    })
}

/// How far the indices lead from the first slot.
pub fn offset(dims: &[Dim], registers: &[i32], thread: usize, pc: Pc) -> Ran<u32> {
    let mut offset = 0;
    for dim in dims {
        let index = evaluate(&dim.index, registers, thread, pc)?;
        if !(0..dim.len as i32).contains(&index) {
            return Err(Stop::Fault(Fault::BadIndex, pc));
        }
        offset += index as u32 * dim.stride;
    }
    Ok(offset)
}

/// Whether a value may stand in a slot. A number that leaves declared bounds is an error of the
/// algorithm; one that leaves the default range of `int` is a number like any other, only that the
/// machine does not represent it: that run is cut.
pub fn check(value: i32, kind: Kind, pc: Pc) -> Ran<()> {
    if fits(value, kind) {
        return Ok(());
    }
    Err(match kind.scalar {
        Scalar::Int(range) if value != NULL && range.is_default() => Stop::Bounded(Cut::Numbers),
        Scalar::Int(_) if value != NULL => Stop::Fault(Fault::OutOfRange, pc),
        _ => Stop::Fault(Fault::UnexpectedNull, pc),
    })
}

/// Calculates with whole numbers; a result that does not fit into a word is not represented.
fn binary(op: BinOp, a: i32, b: i32, pc: Pc) -> Ran<i32> {
    if b == 0 && matches!(op, BinOp::Div | BinOp::Rem) {
        return Err(Stop::Fault(Fault::DivisionByZero, pc));
    }
    let result = match op {
        BinOp::Add => a.checked_add(b),
        BinOp::Sub => a.checked_sub(b),
        BinOp::Mul => a.checked_mul(b),
        BinOp::Div => a.checked_div_euclid(b),
        BinOp::Rem => a.checked_rem_euclid(b),
        BinOp::Eq => Some(i32::from(a == b)),
        BinOp::Lt => Some(i32::from(a < b)),
        BinOp::And => Some(i32::from(a != 0 && b != 0)),
        BinOp::Or => Some(i32::from(a != 0 || b != 0)),
    };
    result.ok_or(Stop::Bounded(Cut::Numbers))
}
