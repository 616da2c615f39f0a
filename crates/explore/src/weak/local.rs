//! Instructions that no other thread notices: work on registers, choices, conditions. Plain
//! accesses, new nodes and frees are among them (`step` says why) and are made by `access` and
//! `allocation`.

use super::event::Done;
use super::memory::Memory;
use super::step::{Ran, Stepper};
use seriatim_lang::machine::{Cut, Fault, Stop, check, offset};
use seriatim_lang::steps::{Op, Pc, Reg};

impl<M: Memory> Stepper<'_, M> {
    /// Executes an instruction that others do not notice.
    pub(super) fn local(&mut self, pc: Pc) -> Ran<()> {
        let code = &self.subject.machine.steps.code;
        let instr = &code[pc.0 as usize];
        let next = Pc(pc.0 + 1);
        match &instr.op {
            Op::Set { dst, value } => {
                if let [value] = value.as_slice() {
                    let value = self.value(value, pc)?;
                    self.set(*dst, [value]);
                } else {
                    let values = self.values(value, pc)?;
                    self.set(*dst, values);
                }
            }
            Op::SetAt { base, dims, value, .. } => {
                let values = self.values(value, pc)?;
                let at = offset(dims, &self.own().registers, self.thread, pc)?;
                self.set(Reg(base.0 + at), values);
            }
            Op::Branch { cond, otherwise } => {
                if self.value(cond, pc)? == 0 {
                    self.go(*otherwise);
                    return Ok(());
                }
            }
            Op::Jump(to) => {
                self.go(*to);
                return Ok(());
            }
            Op::Choose(targets) => {
                let pick = self.choices.pick(targets.len() as u32);
                let to = targets[pick as usize];
                self.note(pc, Done::Chose(to.0 as i32));
                self.go(to);
                return Ok(());
            }
            Op::Any { dst, kind } => {
                let count = self.subject.machine.domain(*kind);
                if count == 0 {
                    return Err(Stop::Bounded(Cut::Data));
                }
                let index = self.choices.pick(count);
                let value = self.subject.machine.element(*kind, index);
                self.note(pc, Done::Chose(value));
                self.set(*dst, [value]);
            }
            Op::Assume(cond) => {
                if self.value(cond, pc)? == 0 {
                    return Err(Stop::Waits);
                }
            }
            Op::Assert(cond) => {
                if self.value(cond, pc)? == 0 {
                    return self.fault(Fault::Assertion, pc);
                }
            }
            Op::Check { value, kind } => {
                let value = self.value(value, pc)?;
                if let Err(Stop::Fault(fault, _)) = check(value, *kind, pc) {
                    return self.fault(fault, pc);
                }
                check(value, *kind, pc)?;
            }
            Op::New { dst, of, fields } => {
                let values = self.values(fields, pc)?;
                let node = self.allocate(of.0, &values, pc)?;
                self.set(*dst, [node as i32]);
            }
            Op::Free(node) => {
                let node = self.value(node, pc)?;
                self.free(node, pc)?;
            }
            Op::Fence | Op::Load { .. } | Op::Store { .. } => {
                self.access(pc)?;
                return Ok(());
            }
            Op::Lin { .. } | Op::Atomic => {}
            _ => return Err(Stop::Ended),
        }
        self.go(next);
        Ok(())
    }
}
