//! Which registers are live where: a register is live at a position if some run from there reads it before
//! overwriting it. Backward data flow to a least fixpoint; a dead register can be reset without changing any run.

use crate::flow::{definitions, successors, uses};
use crate::steps::{Op, Pc, Steps};

/// A set of registers for every position of the code.
#[derive(Clone, Debug)]
pub struct Liveness {
    words: usize,
    live: Vec<u64>,
}

impl Liveness {
    /// Computes the live registers of a program. The registers that belong to the object and outlive its
    /// operations (thread variables, reservations) are live everywhere.
    pub fn of(steps: &Steps) -> Liveness {
        let words = steps.register_count().div_ceil(64).max(1);
        let mut result = Liveness { words, live: vec![0; words * (steps.code.len() + 1)] };
        let mut changed = true;
        while changed {
            changed = false;
            for index in (0..steps.code.len()).rev() {
                changed |= result.update(steps, index);
            }
        }
        result
    }

    fn update(&mut self, steps: &Steps, index: usize) -> bool {
        let pc = Pc(index as u32);
        let op = &steps.code[index].op;
        let mut now = vec![0u64; self.words];
        for next in successors(op, pc) {
            let at = next.0 as usize * self.words;
            now.iter_mut().zip(&self.live[at..at + self.words]).for_each(|(a, b)| *a |= b);
        }
        for reg in definitions(op) {
            now[reg as usize / 64] &= !(1 << (reg % 64));
        }
        if let Op::Invoke { dst: Some(dst), method, .. } = op {
            let width = steps.methods[*method as usize].result.len() as u32;
            (dst.0..dst.0 + width).for_each(|r| now[r as usize / 64] &= !(1 << (r % 64)));
        }
        uses(op, &mut |reg| now[reg.0 as usize / 64] |= 1 << (reg.0 % 64));
        (0..steps.object_registers).for_each(|r| now[r as usize / 64] |= 1 << (r % 64));
        let at = index * self.words;
        let changed = self.live[at..at + self.words] != now[..];
        self.live[at..at + self.words].copy_from_slice(&now);
        changed
    }

    /// Whether a register is live at a position.
    pub fn is_live(&self, pc: Pc, reg: usize) -> bool {
        self.live[pc.0 as usize * self.words + reg / 64] >> (reg % 64) & 1 == 1
    }
}
