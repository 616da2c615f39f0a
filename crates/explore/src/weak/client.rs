//! Calls and returns: where the client's code hands over to a method, and takes its result.

use super::event::Done;
use super::memory::Memory;
use super::step::{FUEL, Ran, Seen, Stepper};
use crate::subject::Subject;
use seriatim_lang::machine::{Fault, Stop};
use seriatim_lang::steps::{NULL, Op, Pc};

/// How many operations of a thread have a number of their own.
pub const OPERATIONS: u32 = 8;

/// The number of an operation among all.
pub fn operation(thread: usize, index: u32) -> u32 {
    thread as u32 * OPERATIONS + index
}

impl<M: Memory> Stepper<'_, M> {
    /// Runs the client's code up to its next call and enters the method.
    pub(super) fn call(&mut self, seen: &mut Seen) -> Ran<()> {
        let steps = &self.subject.machine.steps;
        if self.manner.operations.is_some_and(|most| self.own().called >= most) {
            return Err(Stop::Ended);
        }
        for _ in 0..FUEL {
            let pc = self.own().pc;
            match &steps.code[pc.0 as usize].op {
                Op::End => return Err(Stop::Ended),
                Op::Invoke { method, args, .. } => {
                    let info = &steps.methods[*method as usize];
                    let args = self.values(args, pc)?;
                    let own = &mut self.state.threads[self.thread];
                    own.registers[info.first_param.0 as usize..].fill(NULL);
                    (own.caller, own.pc) = (pc, info.entry);
                    own.called += u32::from(self.manner.operations.is_some());
                    self.set(info.first_param, args.iter().copied());
                    let learned = self.state.memory.call(self.thread, self.choices);
                    self.state.clock += 1;
                    for number in (0..u64::BITS).filter(|bit| learned >> bit & 1 == 1) {
                        self.note(pc, Done::Learns(number));
                    }
                    if self.log.is_some() {
                        self.note(pc, Done::Call(*method, args.clone()));
                    }
                    let known = self.state.memory.returned(self.thread);
                    seen.call = Some((*method, args, known));
                    return Ok(());
                }
                _ => self.local(pc)?,
            }
        }
        Err(Stop::Fault(Fault::Endless, self.own().pc))
    }

    pub(super) fn give_back(&mut self, pc: Pc, seen: &mut Seen) -> Ran<()> {
        let steps = &self.subject.machine.steps;
        let Op::Return(value) = &steps.code[pc.0 as usize].op else { return Ok(()) };
        let value = self.values(value, pc)?;
        let number = operation(self.thread, self.own().called.saturating_sub(1));
        let exact = (!self.manner.is_stamped()).then_some(number);
        self.state.memory.give_back(self.thread, exact)?;
        self.state.clock += 1;
        if self.log.is_some() {
            self.note(pc, Done::Return(value.clone()));
        }
        let caller = self.own().caller;
        if let Op::Invoke { dst: Some(dst), .. } = &steps.code[caller.0 as usize].op {
            self.set(*dst, value.iter().copied());
        }
        let own = &mut self.state.threads[self.thread];
        own.registers[steps.persistent.len()..].fill(NULL);
        (own.pc, own.caller) = (rest(self.subject, Pc(caller.0 + 1)), Pc(0));
        let idle: Vec<usize> = (0..self.state.threads.len())
            .filter(|t| steps.method_at(self.state.threads[*t].pc).is_none())
            .collect();
        self.state.memory.settle(&idle);
        seen.ret = Some(value);
        Ok(())
    }
}

/// The resting point of idle code: jumps are followed.
pub fn rest(subject: &Subject, mut pc: Pc) -> Pc {
    for _ in 0..subject.machine.steps.code.len() {
        match subject.machine.steps.code[pc.0 as usize].op {
            Op::Jump(to) => pc = to,
            _ => return pc,
        }
    }
    pc
}
