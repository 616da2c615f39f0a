//! Reads of keys that are fused with the step before them, so that no thread needs to rest there:
//! for proofs.
//!
//! The key of a node that nobody writes once it can be seen ([`crate::analysis::locality`]) is the
//! same whenever it is read. *Theorem* (Lipton, CACM 1975): such a read commutes with every step of
//! every other thread, so every run has the same steps in an order in which the read follows
//! immediately on the step of its thread before it. Calls stay where they are, and a return only
//! comes earlier by it: the interval of the operation gets shorter, and what is linearizable with
//! it is so with the longer one. What the shared state is between two other steps does not change.
//!
//! It would be unsound to fuse a read that is followed by an `assume` before the next step: if the
//! condition does not hold, the step before would be undone with it. A circle of such reads has no
//! step in it, and would be taken for a walk without end. In both cases the read stays a step.
//!
//! Other accesses that nobody notices could be fused in the same way. In proofs about lists it is
//! the keys that multiply what a thread may know while it rests.

use crate::analysis::flow::reaches_without_step;
use crate::analysis::liveness::Liveness;
use crate::analysis::locality::local_accesses;
use crate::front::types::Scalar;
use crate::steps::{Op, Pc, Root, Steps};

/// Marks the reads that are fused.
pub(crate) fn mark_fused(steps: &mut Steps) {
    let local = local_accesses(steps, &Liveness::of(steps));
    let reads: Vec<bool> = (0..local.len()).map(|at| local[at] && reads_key(steps, at)).collect();
    let is_fused = |at: usize| reads[at] && !must_be_step(steps, &reads, Pc(at as u32));
    let fused: Vec<bool> = (0..reads.len()).map(is_fused).collect();
    for (instr, fused) in steps.code.iter_mut().zip(fused) {
        instr.fused = fused;
    }
}

/// Whether an instruction is a read of the key of a node, and of nothing else.
fn reads_key(steps: &Steps, at: usize) -> bool {
    let instr = &steps.code[at];
    let Op::Load { place, .. } = &instr.op else { return false };
    let Root::Node(_, of) = &place.root else { return false };
    let slots = &steps.structs[of.0 as usize].slots;
    let is_key = |slot: u32| slots[slot as usize].kind.scalar == Scalar::Key;
    instr.is_shared_access() && place.slots().all(is_key)
}

/// Whether a run can come back to a position, or to an `assume`, without an access that is a step.
fn must_be_step(steps: &Steps, reads: &[bool], start: Pc) -> bool {
    let is_step = |at: usize| steps.code[at].is_shared_access() && !reads[at];
    let waits = |at: usize| {
        let instr = &steps.code[at];
        matches!(instr.op, Op::Assume(_)) && (!is_step(at) || instr.pauses)
    };
    reaches_without_step(steps, start, is_step, |at| at == start.0 as usize || waits(at))
}

#[cfg(test)]
mod tests {
    use crate::{check, lower};

    /// Which lines of the method have a read of a key that is fused.
    fn fused(body: &str) -> Vec<bool> {
        let source = format!(
            "object o : set
struct Node {{ key: key, next: Node? }}
var head: Node = new Node {{ key: -inf, next: null }}
var spare: Node = head
method contains(k: key) -> bool {{
{body}
}}
"
        );
        let program = check(&source).unwrap_or_else(|e| panic!("{}", e.render(&source, "test")));
        let steps = lower(&program, 2, None).expect("it lowers");
        let line = |at: usize| source[..at].matches('\n').count();
        let count = body.lines().count();
        let found = |number: usize| {
            let mut inside = steps.code.iter().filter(|i| line(i.span.start as usize) == number);
            inside.any(|i| i.fused)
        };
        (5..5 + count).map(found).collect()
    }

    #[test]
    fn keys_that_nobody_writes_are_fused() {
        assert_eq!(fused("let n = head\nreturn n.key == k"), [false, true]);
        let walk = "let n = head\nwhile n.key < k {\nn = n.next\n}\nreturn n.key == k";
        assert_eq!(fused(walk), [false, true, false, false, true]);
    }

    #[test]
    fn keys_that_are_written_and_reads_before_a_wait_are_steps() {
        assert_eq!(fused("let n = head\nn.key = k\nreturn n.key == k"), [false; 3]);
        assert_eq!(fused("let n = head\nlet m = n.key\nassume m < k\nreturn true"), [false; 4]);
        let circle = "let n = head\nlet m = n.key\nwhile m < k {\nm = n.key\n}\nreturn true";
        assert!(!fused(circle)[3], "the only access of a circle");
    }
}
