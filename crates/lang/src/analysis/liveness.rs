//! Which registers are live where: a register is live at a position if some run from there reads it
//! before overwriting it. Backward data flow to a least fixpoint; a dead register can be reset
//! without changing any run.
//!
//! Registers that outlive an operation (thread variables, reservations, variables of the client)
//! are followed through calls: [`Liveness::is_needed`] knows from which call of the client the
//! method will return, so that a thread variable which every later operation writes before it reads
//! it is dead. [`Liveness::is_live`] knows no client and takes the registers of the object for live
//! everywhere.

use crate::analysis::flow::{definitions, successors, uses};
use crate::steps::{Ex, Op, Pc, Steps};

/// A set of registers for every position of the code.
#[derive(Clone, Debug)]
struct Sets {
    words: usize,
    bits: Vec<u64>,
}

impl Sets {
    fn new(steps: &Steps) -> Sets {
        let words = steps.register_count().div_ceil(64).max(1);
        Sets { words, bits: vec![0; words * (steps.code.len() + 1)] }
    }

    fn at(&self, pc: Pc) -> &[u64] {
        &self.bits[pc.0 as usize * self.words..][..self.words]
    }

    fn has(&self, pc: Pc, reg: usize) -> bool {
        self.at(pc)[reg / 64] >> (reg % 64) & 1 == 1
    }

    /// What `rule` makes of the sets after an instruction, until nothing changes.
    fn fixpoint(steps: &Steps, rule: &dyn Fn(&Sets, Pc, &mut [u64])) -> Sets {
        let mut sets = Sets::new(steps);
        let mut now = vec![0u64; sets.words];
        let mut changed = true;
        while changed {
            changed = false;
            for index in (0..steps.code.len()).rev() {
                let pc = Pc(index as u32);
                now.fill(0);
                let op = &steps.code[index].op;
                // Behind what never holds nothing is read, not even a result that was never given.
                let is_end = matches!(op, Op::Assert(Ex::Const(0)) | Op::Assume(Ex::Const(0)));
                for next in successors(op, pc).into_iter().filter(|_| !is_end) {
                    now.iter_mut().zip(sets.at(next)).for_each(|(a, b)| *a |= b);
                }
                rule(&sets, pc, &mut now);
                if sets.at(pc) != now {
                    sets.bits[index * sets.words..][..now.len()].copy_from_slice(&now);
                    changed = true;
                }
            }
        }
        sets
    }
}

/// What is known about the registers of a program.
#[derive(Clone, Debug)]
pub struct Liveness {
    /// With all registers of the object.
    live: Sets,
    /// Up to the end of the operation in methods, for ever in clients.
    own: Sets,
    /// What a register holds at a position of a method may still be there when the method returns.
    passes: Sets,
}

impl Liveness {
    /// Computes the live registers of a program.
    pub fn of(steps: &Steps) -> Liveness {
        let live = Sets::fixpoint(steps, &|_, pc, now| {
            before(steps, pc, now);
            put(now, 0..steps.object_registers);
        });
        let persistent = 0..steps.persistent.len() as u32;
        let passes = Sets::fixpoint(steps, &|_, pc, now| match &steps.code[pc.0 as usize].op {
            Op::Return(_) => put(now, persistent.clone()),
            op => take(now, definitions(op)),
        });
        let own = Sets::fixpoint(steps, &|sets, pc, now| {
            if let Op::Invoke { method, .. } = &steps.code[pc.0 as usize].op {
                take(now, result(steps, pc));
                let entry = steps.methods[*method as usize].entry;
                let through = passes.at(entry).iter().zip(sets.at(entry));
                now.iter_mut().zip(through).for_each(|(a, (pass, read))| *a = *a & pass | read);
                take(now, persistent.end..sets.words as u32 * 64);
            }
            before(steps, pc, now);
        });
        Liveness { live, own, passes }
    }

    /// Whether a register is live at a position; those of the object are live everywhere.
    pub fn is_live(&self, pc: Pc, reg: usize) -> bool {
        self.live.has(pc, reg)
    }

    /// Whether a thread at a position can ever read what a register holds; `caller` is the client's
    /// call that it executes, if any.
    pub fn is_needed(&self, steps: &Steps, pc: Pc, caller: Option<Pc>, reg: usize) -> bool {
        let after = |caller: Pc| {
            reg < steps.persistent.len()
                && self.passes.has(pc, reg)
                && !result(steps, caller).contains(&(reg as u32))
                && self.own.has(Pc(caller.0 + 1), reg)
        };
        self.own.has(pc, reg) || caller.is_some_and(after)
    }
}

/// The registers that get the result of a call.
fn result(steps: &Steps, pc: Pc) -> std::ops::Range<u32> {
    match &steps.code[pc.0 as usize].op {
        Op::Invoke { dst: Some(dst), method, .. } => {
            dst.0..dst.0 + steps.methods[*method as usize].result.len() as u32
        }
        _ => 0..0,
    }
}

/// From what is live after an instruction to what is live before it.
fn before(steps: &Steps, pc: Pc, now: &mut [u64]) {
    let op = &steps.code[pc.0 as usize].op;
    take(now, definitions(op));
    take(now, result(steps, pc));
    uses(op, &mut |reg| put(now, reg.0..reg.0 + 1));
}

fn put(now: &mut [u64], mut registers: std::ops::Range<u32>) {
    registers.by_ref().for_each(|r| now[r as usize / 64] |= 1 << (r % 64));
}

fn take(now: &mut [u64], mut registers: std::ops::Range<u32>) {
    registers.by_ref().for_each(|r| now[r as usize / 64] &= !(1 << (r % 64)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_variable_is_needed_only_until_the_client_cannot_read_it_again() {
        let source = "object o : register\nvar x: value? = null\n\
            thread var kept: value? = null\nthread var scratch: value? = null\n\
            method write(v: value) { scratch = v; x = scratch; kept = v }\n\
            method read() -> value? { let a = x; if a == null { return a }; return kept }\n\
            client c { thread one { write(any); read(); write(any) } }";
        let program = crate::check(source).expect("it is right");
        let steps = crate::lower(&program, 1, Some("c")).expect("it can be lowered");
        let liveness = Liveness::of(&steps);
        let calls: Vec<Pc> = (0..steps.code.len() as u32).map(Pc).collect();
        let calls = calls.into_iter();
        let calls: Vec<Pc> =
            calls.filter(|pc| matches!(steps.code[pc.0 as usize].op, Op::Invoke { .. })).collect();
        let idle = |call: usize| {
            let pc = Pc(calls[call].0 + 1);
            [0, 1].map(|reg| liveness.is_needed(&steps, pc, None, reg))
        };
        assert_eq!(idle(0), [true, false], "read() comes next");
        assert_eq!(idle(1), [false, false], "write() comes next");
        assert_eq!(idle(2), [false, false], "nothing comes any more");
        let entry = steps.methods[1].entry;
        let inside = |call: usize| liveness.is_needed(&steps, entry, Some(calls[call]), 0);
        assert!(inside(1));
        let end = Pc(steps.methods[0].end.0 - 1);
        let ending = |call: usize| liveness.is_needed(&steps, end, Some(calls[call]), 0);
        assert_eq!([ending(0), ending(2)], [true, false]);
        assert!(liveness.is_live(end, 0) && liveness.is_live(end, 1));
    }
}
