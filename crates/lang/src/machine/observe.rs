//! What a step did, instruction by instruction, for people who want to see a run.

use super::access::Spot;
use super::{FREED, Ran, Run};
use crate::steps::*;

/// An instruction that was executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Executed {
    /// Where it stands.
    pub pc: Pc,
    /// Where the thread went on; `None` if it waits there, leaves the bounds or fails.
    pub next: Option<Pc>,
    /// The shared place that it accessed.
    pub access: Option<Accessed>,
    /// The node that it made.
    pub made: Option<i32>,
    /// The node that it gave back.
    pub gave: Option<i32>,
}

/// A shared place before and after an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accessed {
    /// The heap node in which it lies; `None` for shared variables.
    pub node: Option<i32>,
    /// The struct of that node, by its number.
    pub of: u32,
    /// The first of its slots, in the node or among the shared variables.
    pub slot: usize,
    /// What it held.
    pub before: Vec<i32>,
    /// What it holds.
    pub after: Vec<i32>,
}

impl Run<'_> {
    /// Executes an instruction, and notes it if someone wants to know.
    #[inline]
    pub(super) fn proceed(&mut self, pc: Pc) -> Ran<Pc> {
        match self.log {
            None => self.execute(pc),
            Some(_) => self.execute_and_note(pc),
        }
    }

    fn execute_and_note(&mut self, pc: Pc) -> Ran<Pc> {
        let op = &self.machine.steps.code[pc.0 as usize].op;
        let spot = op.place().and_then(|place| Some((self.located(place, pc).ok()?, place.width)));
        let before = spot.map(|spot| self.words(spot));
        let result = self.execute(pc);
        let access = spot.zip(before).map(|(spot, before)| {
            let after = self.words(spot);
            match spot.0 {
                Spot::Shared(slot) => Accessed { node: None, of: 0, slot, before, after },
                Spot::Heap(at) => {
                    let stride = self.machine.node_stride();
                    let node = at / stride;
                    let of = (self.state.heap[node * stride] & (FREED - 1)) as u32;
                    let (node, slot) = (Some(node as i32), at % stride - 1);
                    Accessed { node, of, slot, before, after }
                }
            }
        });
        let made = match op {
            Op::New { dst, .. } if result.is_ok() => Some(self.register(dst.0)),
            _ => None,
        };
        let gave = match op {
            Op::Free(node) if result.is_ok() => self.evaluate(node, pc).ok(),
            _ => None,
        };
        self.note(Executed { pc, next: result.ok(), access, made, gave });
        result
    }

    pub(super) fn note(&mut self, executed: Executed) {
        let pc = executed.pc;
        if let Some(log) = &mut self.log {
            log.push(executed);
        }
        if let Some(film) = &mut self.film {
            let mut state = self.state.clone();
            state.words[self.machine.thread_base(self.thread)] = pc.0 as i32;
            film.push(state);
        }
    }

    fn words(&self, (spot, width): (Spot, u32)) -> Vec<i32> {
        (0..width).map(|i| self.read(spot, i)).collect()
    }
}
