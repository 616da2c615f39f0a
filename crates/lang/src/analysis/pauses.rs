//! Where a thread rests although it accesses nothing: before an `assume` over its own registers.
//!
//! What such an `assume` asks for never changes while the thread waits there, so a thread that
//! waits does so for ever; but the accesses before it have happened, and others see them. If it
//! were local code like any other, a step that ends in an `assume` that fails would not exist, and
//! its access would be undone.
//!
//! A value that was chosen since the last access (`any`, `choose`) is a different matter:
//! `let o: tid = any` followed by `assume o != self` chooses among the other threads. The thread
//! therefore rests before the choice, and the step from there has an outcome for each choice that
//! the `assume` allows. It waits only if it allows none.
//!
//! *Decided*: the positions of a method, outside of atomic blocks, that are an `assume` or a choice
//! from which an `assume` is reached without an access. Where nothing is chosen in vain this adds
//! resting points and no runs: choosing and looking at one's own registers commutes with every step
//! of the others.

use crate::analysis::flow::successors;
use crate::steps::{Op, Pc, Steps};

/// Marks the resting points.
pub(crate) fn mark_pauses(steps: &mut Steps) {
    let methods = steps.methods.iter().flat_map(|method| method.entry.0..method.end.0);
    let found: Vec<u32> = methods.filter(|at| is_pause(steps, Pc(*at))).collect();
    found.into_iter().for_each(|at| steps.code[at as usize].pauses = true);
}

fn is_pause(steps: &Steps, pc: Pc) -> bool {
    let instr = &steps.code[pc.0 as usize];
    let decides = matches!(instr.op, Op::Assume(_) | Op::Any { .. } | Op::Choose(_));
    decides && !instr.inside_atomic && comes_to_assume(steps, pc)
}

/// Whether an `assume` outside of atomic blocks stands at a position or follows without an access.
fn comes_to_assume(steps: &Steps, start: Pc) -> bool {
    let mut seen = vec![false; steps.code.len()];
    let mut todo = vec![start];
    while let Some(pc) = todo.pop() {
        let instr = &steps.code[pc.0 as usize];
        if matches!(instr.op, Op::Assume(_)) && !instr.inside_atomic {
            return true;
        }
        if !instr.accesses() && !std::mem::replace(&mut seen[pc.0 as usize], true) {
            todo.extend(successors(&instr.op, pc));
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use crate::steps::Op;
    use crate::{check, lower};

    /// Which kinds of instructions of a method with this body are resting points without an access.
    fn pauses(body: &str) -> Vec<&'static str> {
        let source = format!(
            "object o : register\nvar x: value? = null\n\
             method write(v: value) {{ {body} }}\nmethod read() -> value? {{ return x }}"
        );
        let program = check(&source).unwrap_or_else(|e| panic!("{}", e.render(&source, "test")));
        let steps = lower(&program, 2, None).expect("it lowers");
        let kind = |op: &Op| match op {
            Op::Assume(_) => "assume",
            Op::Any { .. } => "any",
            Op::Choose(_) => "choose",
            _ => "other",
        };
        steps.code.iter().filter(|i| i.pauses).map(|i| kind(&i.op)).collect()
    }

    #[test]
    fn a_thread_rests_before_a_condition_on_its_registers_and_before_what_it_chooses_for_it() {
        assert_eq!(pauses("x = v; let b = false; assume b"), ["assume"]);
        assert_eq!(pauses("let o: tid = any; assume o != self; x = v"), ["any", "assume"]);
        assert_eq!(pauses("let b = true; choose { b = false or x = v }; assume b").len(), 2);
    }

    #[test]
    fn a_condition_on_shared_state_is_a_step_by_itself_and_a_free_choice_is_none() {
        assert!(pauses("x = v; await x == v").is_empty());
        assert!(pauses("let o: tid = any; x = v").is_empty());
        assert_eq!(pauses("let o: tid = any; x = v; assume o != self"), ["assume"]);
        assert!(pauses("atomic { x = v; assume v == v }").is_empty());
    }
}
