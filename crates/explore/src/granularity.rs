//! Where steps begin: which accesses are fused with the step before them.
//!
//! An access is fused if no other thread notices it or can influence it (`locality`), or if it
//! reads what a lock protects that the thread holds (`guarded`); releasing a lock is fused because
//! it is a left mover (Lipton), if nobody else can release it (`lock_order`). An atomic block that
//! touches registers only is no access at all.
//!
//! *What would make it unsound*: a cycle of accesses that are all fused. The step would never end,
//! and the engine would take a loop that waits for a variable which nobody writes for local code
//! without end, which is an error only if there is no shared access in it. Therefore every such
//! cycle keeps its accesses as steps ([`closes_cycle`]). And an access that is undone: a step that
//! comes to an `assume` that does not hold does not exist. Therefore no access and no `assume`
//! outside of atomic blocks belong to one step: a thread rests before the `assume` (`pauses` of
//! `seriatim-lang`).

use crate::options::Reductions;
use crate::sabotage::{Sabotage, is_broken};
use seriatim_lang::flow::reaches_without_step;
use seriatim_lang::guarded::guarded_reads;
use seriatim_lang::liveness::Liveness;
use seriatim_lang::locality::local_accesses;
use seriatim_lang::lock_order::is_disciplined;
use seriatim_lang::machine::Granularity;
use seriatim_lang::steps::{Op, Pc, Steps};

/// The steps that a choice of reductions asks for.
pub fn granularity(steps: &Steps, liveness: &Liveness, reductions: &Reductions) -> Granularity {
    if !reductions.fusion {
        return Granularity::Fine;
    }
    let mut local = local_accesses(steps, liveness);
    let locks_join = reductions.lock_movers && is_disciplined(steps);
    if locks_join {
        let guarded = guarded_reads(steps, liveness);
        for ((mark, instr), guarded) in local.iter_mut().zip(&steps.code).zip(guarded) {
            *mark |= guarded || matches!(instr.op, Op::Unlock(_));
        }
    }
    for (at, mark) in local.iter_mut().enumerate() {
        *mark |=
            is_broken(Sabotage::ForgottenEffect) && matches!(steps.code[at].op, Op::Store { .. });
        *mark |= is_local_block(steps, at);
    }
    let kept: Vec<usize> = (0..local.len())
        .filter(|at| local[*at] && steps.code[*at].accesses())
        .filter(|at| closes_cycle(steps, &local, Pc(*at as u32)))
        .collect();
    kept.into_iter().for_each(|at| local[at] = false);
    Granularity::Fused { local, locks_join }
}

/// Whether an atomic block begins here that touches registers only. One that waits is a step, and
/// so is one with a linearization point, whose moment counts.
fn is_local_block(steps: &Steps, at: usize) -> bool {
    let inside = steps.code[at + 1..].iter().take_while(|instr| instr.inside_atomic);
    let local = |op: &Op| {
        matches!(
            op,
            Op::Set { .. }
                | Op::SetAt { .. }
                | Op::Branch { .. }
                | Op::Jump(_)
                | Op::Check { .. }
                | Op::Assert(_)
        )
    };
    matches!(steps.code[at].op, Op::Atomic) && inside.map(|instr| &instr.op).all(local)
}

/// Whether a run can come back to a position without an access that is a step.
fn closes_cycle(steps: &Steps, local: &[bool], start: Pc) -> bool {
    // A pause is no access: a step goes on across it.
    let is_step = |at: usize| steps.code[at].accesses() && !local[at];
    reaches_without_step(steps, start, is_step, |at| at == start.0 as usize)
}
