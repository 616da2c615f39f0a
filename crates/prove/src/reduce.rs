//! Simpler programs that can do everything a program can: what is proved of them holds for it.
//!
//! *Theorem.* Let `P` and `Q` be programs with the same methods such that every run of `P` has a
//! run of `Q` with the same calls and returns, or a run of `Q` that fails before `P` does anything
//! that `Q` has not done. If no run of `Q` fails and all of its histories are linearizable, then no
//! run of `P` fails and all of its histories are linearizable: they are histories of `Q`. So a
//! proof may speak of `Q`, as long as each rewriting of steps keeps this inclusion. The rewritings:
//!
//! - [`bucket`]: one bucket of a hash table for the whole of it (by another argument, in its file);
//! - [`slice`]: data that decides nothing is left out (statistics, time stamps, names of makers);
//! - [`ticket`]: two counters that are a ticket lock become a lock;
//! - [`queue_lock`]: a queue of nodes with a word each that is a lock becomes one;
//! - [`linked_queue_lock`]: so does one whose nodes are linked by those who wait;
//! - [`counted`]: a reference with a count that is exchanged with it becomes a plain one, and nodes
//!   that are recycled are collected;
//! - [`spin`]: a word that is taken and given back becomes a lock, in a variable or in a node;
//! - [`section`]: what is written under a lock, or while a number is odd, is written in one step, and
//!   what is read between two looks at such a number is read in one step;
//! - [`contents`]: a reference to an immutable record becomes what the record holds;
//! - [`values`]: values become whole numbers, so that the content of an object may be one.
//!
//! The proof of `Q` contains what `P` owes to its locks: only the holder releases. Each file says
//! what its rewriting keeps and what would make it unsound. A rewriting works on the steps, keeps
//! the source positions, and changes nothing where one of its conditions does not hold.
//!
//! The checker of certificates has rewritings of its own (its file `reduce.rs`); a certificate is
//! read as one of the program that it makes out of the same source, or not at all.

mod bucket;
mod contents;
mod counted;
mod linked_queue_lock;
mod queue_lock;
mod section;
mod slice;
mod spin;
mod tail;
mod ticket;
mod values;
mod ways;

#[cfg(test)]
mod inclusion;

use seriatim_lang::steps::{Instr, Op, Pc, Place, Root, Steps};
use seriatim_lang::types::StructId;

/// Of which program a proof speaks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reduction {
    /// The program without the data that decides nothing, with one bucket for a hash table, and with
    /// locks for ticket locks and queue locks.
    Sliced,
    /// The same, with locks for all words that are used as one.
    Locked,
    /// The same, with one step for a section, and with numbers for values and for records that hold
    /// one.
    Valued,
}

impl Reduction {
    /// All of them, in the order in which they are tried.
    pub const ALL: [Reduction; 3] = [Reduction::Sliced, Reduction::Locked, Reduction::Valued];

    /// Rewrites the steps; says whether this is another program than that of the reduction before.
    /// `by_key` says that every operation of the specification concerns the key of its call only.
    pub fn apply(self, steps: &mut Steps, by_key: bool) -> bool {
        slice::slice(steps);
        // What is counted in each bucket decides nothing either, but only now is that one slot.
        if by_key && bucket::single(steps) {
            slice::slice(steps);
        }
        // Counters that are a ticket lock are nothing else: tried as numbers, they have no end.
        ticket::locks(steps);
        queue_lock::locks(steps);
        linked_queue_lock::locks(steps);
        counted::plain(steps);
        if self == Reduction::Sliced {
            return true;
        }
        let spins = spin::locks(steps);
        if self == Reduction::Locked {
            return spins;
        }
        let sections = steps.structs.is_empty() && section::atomic(steps);
        let records = contents::unboxed(steps);
        let values = values::numbered(steps);
        sections || records || values
    }
}

/// A slot of the shared variables, or of every node of a struct.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Word {
    home: Option<StructId>,
    slot: u32,
}

impl Word {
    /// The first slot of a place.
    fn of(place: &Place) -> Word {
        Word { home: home(place), slot: place.offset }
    }

    /// Whether an access to a place may touch the slot.
    fn is_in(self, place: &Place) -> bool {
        home(place) == self.home && place.slots().contains(&self.slot)
    }
}

/// The struct of the node in which a place lies.
fn home(place: &Place) -> Option<StructId> {
    match &place.root {
        Root::Shared => None,
        Root::Node(_, of) => Some(*of),
    }
}

/// The method in whose code a position lies: registers of two methods have nothing in common.
fn method(steps: &Steps, at: usize) -> Option<usize> {
    steps.methods.iter().position(|m| (m.entry.0..m.end.0).contains(&(at as u32)))
}

/// In the code that takes the place of one instruction: the instruction of this number in it. All
/// other targets are positions of the old code.
const fn inner(number: u32) -> Pc {
    Pc(INNER + number)
}

const INNER: u32 = 1 << 30;

/// Puts other code in the place of instructions: `instead` gives it, if there is any.
fn replace(steps: &mut Steps, instead: impl Fn(Pc, &Instr) -> Option<Vec<Op>>) {
    replace_each(steps, |pc, instr| {
        let ops = instead(pc, instr)?;
        Some(ops.into_iter().map(|op| (op, instr.inside_atomic)).collect())
    });
}

/// The same, where it is said of each instruction whether it lies inside an atomic block.
fn replace_each(steps: &mut Steps, instead: impl Fn(Pc, &Instr) -> Option<Vec<(Op, bool)>>) {
    let mut code: Vec<Instr> = Vec::new();
    let mut begins: Vec<u32> = Vec::new();
    for (at, instr) in steps.code.iter().enumerate() {
        let begin = code.len() as u32;
        begins.push(begin);
        let Some(ops) = instead(Pc(at as u32), instr) else {
            code.push(instr.clone());
            continue;
        };
        for (mut op, inside_atomic) in ops {
            targets(&mut op, |to| match to.0.checked_sub(INNER) {
                // Marked as final: positions of the new code come after those of the old one.
                Some(number) => Pc(INNER + begin + number),
                None => to,
            });
            let decides = matches!(op, Op::Assume(_) | Op::Any { .. } | Op::Choose(_));
            let pauses = instr.pauses && decides;
            code.push(Instr { op, inside_atomic, fused: false, pauses, ..instr.clone() });
        }
    }
    begins.push(code.len() as u32);
    let new = |old: Pc| match old.0.checked_sub(INNER) {
        Some(done) => Pc(done),
        None => Pc(begins[old.0 as usize]),
    };
    code.iter_mut().for_each(|instr| targets(&mut instr.op, new));
    steps.code = code;
    (steps.init, steps.thread_init) = (new(steps.init), new(steps.thread_init));
    steps.threads.iter_mut().for_each(|thread| thread.entry = new(thread.entry));
    for method in &mut steps.methods {
        (method.entry, method.end) = (new(method.entry), new(method.end));
    }
}

/// Changes all positions at which an instruction may continue elsewhere.
fn targets(op: &mut Op, to: impl Fn(Pc) -> Pc) {
    match op {
        Op::Cas { fail: target, .. }
        | Op::StoreConditional { fail: target, .. }
        | Op::Branch { otherwise: target, .. }
        | Op::Jump(target) => *target = to(*target),
        Op::Choose(ways) => ways.iter_mut().for_each(|way| *way = to(*way)),
        _ => {}
    }
}

/// The instruction that only goes on: code to put in the place of one that is left out.
fn nothing(pc: Pc) -> Op {
    Op::Jump(Pc(pc.0 + 1))
}
