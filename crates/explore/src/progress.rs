//! Guarantees of progress, each decided by itself.
//!
//! *Runs.* A thread is *inside* from its call to its return, else *idle*. It *can go on* if some
//! choice lets it take a step; a step that leaves the bounds counts, since the run that takes it is
//! real. It *waits* if it is inside and can not go on: at a lock that is taken, at an `await` or
//! `assume` that no choice meets. What an idle thread waits for is its client's matter, and it need
//! not call. A run is *fair* (weakly) if every thread that is inside and can go on from some moment
//! on takes a step again and again. Choices are never fair, and a primitive lock promises nothing
//! about who gets it.
//!
//! - *Lock-free*: whatever threads stop for ever, as long as one that is inside goes on, operations
//!   keep returning. *Theorem*: threads and states being finite in number, the object is lock-free
//!   within the bounds iff no thread waits in a reachable state and the graph of steps that do not
//!   return has no cycle. (A thread that waits does so for ever if the others stop.)
//! - *Obstruction-free*: from every reachable state, each thread that goes on alone returns,
//!   whatever it chooses. *Theorem*: iff no thread waits in a reachable state and for no thread the
//!   graph of its own steps that do not return has a cycle.
//!
//! These two do not look at the specification: an operation that waits because the specification
//! blocks it is one that needs others. The other two do. Of the operations that never return in a
//! run, the specification *excuses* them if some linearization, of the operations that return and
//! perhaps of others that do, keeps all of them without effect and from some moment on not enabled,
//! not even for a moment.
//!
//! - *Starvation-free*: in every fair run the specification excuses those operations that never
//!   return. *Theorem*: iff there is no set `P` of threads with a reachable cycle (standing still
//!   is one) in which the threads of `P` stay inside and do not return, all others return or are
//!   idle somewhere, each thread takes a step or somewhere can not go on or is idle, and the
//!   breakpoint construction (Miyano and Hayashi 1984), which follows all explanations that keep
//!   `P` blocked since the last breakpoint, comes to breakpoints: then no explanation keeps `P`
//!   blocked for ever. All conditions hold of a strongly connected set as soon as they hold of a
//!   part, so maximal ones are looked at (`circle`).
//! - *Livelock-free*: the same of runs in which from some moment on no operation returns at all.
//!   The history is then finite, and the excuse is that of `deadlock`: some linearization without
//!   the pending operations enables none of them.
//!
//! So lock-free gives obstruction-free and livelock-free, starvation-free gives livelock-free, and
//! livelock-free gives deadlock-free. What textbooks call a deadlock-free lock is one that is
//! livelock-free here.
//!
//! *Reductions*. For the first two, the graph is that of representatives: a cycle of them unrolls to
//! a cycle of states, because renamings have finite order; where one thread is followed, its place
//! is (`nonblocking`). Fusion only moves accesses that nobody notices, no cycle consists of such
//! accesses, and threads that wait behind them are looked for access by access. For the fair ones,
//! only reductions that map states one to one up to names of nodes and things that nobody reads are
//! kept (dead registers, dead fields, heap symmetry): they keep who can go on, who steps, and what
//! is called and returned. Fusion and the symmetry of threads and values are off. For all, lock
//! movers, nesting and pure iterations are off: they leave out the very steps that are asked about.
//!
//! *Evidence*. A cycle of representatives is unrolled to one of states, and the run is judged anew
//! by its own code ([`judge`]): if that disagrees there is no verdict. *Holds* needs a second
//! opinion: the whole unreduced space with other algorithms where it is small ([`whole`]), else
//! random runs.
//!
//! *What would make it unsound*: to take a step that leaves the bounds for waiting; to drop an edge
//! because its target was not found; to judge each starving thread by itself (two threads that keep
//! each other out would excuse each other).

pub(crate) mod circle;
mod fair;
pub(crate) mod judge;
mod lasso;
mod nonblocking;
mod steps;
mod whole;

use crate::options::{Guarantee, Mode, Options, Reductions};
use crate::outcome::{Counterexample, Outcome, Reason, Statistics, Verdict};
use crate::path::path_to;
use crate::replay::evidenced;
use crate::sabotage::{Sabotage, is_broken};
use crate::search::{Ending, Search};
use crate::subject::Subject;
use crate::trace::{self, Start};
use seriatim_lang::machine::State;
use seriatim_lang::{Diagnostic, Program};
use seriatim_limits::Cancel;

/// Decides whether the object guarantees progress within the bounds.
pub fn decide(
    program: &Program,
    options: &Options,
    guarantee: Guarantee,
    progress: &mut dyn FnMut(&Statistics),
) -> Result<Outcome, Diagnostic> {
    if let Some(why) = crate::refinement::refusal(options) {
        return Ok(crate::refinement::unknown(program, options, Reason::Unsupported(why)));
    }
    let reductions = kept(options.reductions, guarantee);
    let options = Options { reductions, mode: Mode::Progress(guarantee), ..options.clone() };
    let mut subject = Subject::new(program, &options)?;
    let initial =
        subject.machine.initial().map_err(|stop| crate::refinement::bad_start(&subject, stop))?;
    let (mut search, set) = match Search::new(&subject, &options) {
        Ok(ready) => ready,
        Err(reason) => return Ok(crate::refinement::unknown(program, &options, reason)),
    };
    let start = Start { initial: &initial, set };
    let verdict = match search.run(&initial, set, progress) {
        Ending::Complete => match stall(&search, start, guarantee) {
            Ok(Some(found)) => judged(&subject, &initial, found),
            Ok(None) => reviewed(&mut search, &initial, guarantee),
            Err(reason) => Verdict::Unknown(reason),
        },
        Ending::Violation(at, kind) => {
            let found = trace::counterexample(&search, start, &path_to(&search, at), kind);
            evidenced(program, &options, found)
        }
        Ending::Unknown(reason) => Verdict::Unknown(reason),
        Ending::Unfounded(_) => Verdict::Unknown(Reason::Unsupported(
            "a reduction that is switched off for progress was used".to_string(),
        )),
    };
    let mut statistics = search.statistics;
    statistics.cuts.numbers |= crate::refinement::chooses_numbers(&subject);
    Ok(Outcome::new(program, &options, &subject, verdict, statistics))
}

/// The reductions that keep a guarantee; see the header.
pub(crate) fn kept(reductions: Reductions, guarantee: Guarantee) -> Reductions {
    let fair = guarantee.is_fair();
    let symmetric = !fair || is_broken(Sabotage::SymmetricThreads);
    Reductions {
        lock_movers: false,
        lock_nesting: false,
        pure_iterations: false,
        antichain: true,
        fusion: reductions.fusion && !fair,
        thread_symmetry: reductions.thread_symmetry && symmetric,
        value_symmetry: reductions.value_symmetry && !fair,
        ..reductions
    }
}

/// A run that makes no progress, if there is one.
fn stall(
    search: &Search<'_>,
    start: Start<'_>,
    guarantee: Guarantee,
) -> Result<Option<Counterexample>, Reason> {
    match guarantee {
        Guarantee::LockFree => nonblocking::lock_free(search, start),
        Guarantee::ObstructionFree => nonblocking::obstruction_free(search, start),
        Guarantee::LivelockFree => fair::livelock_free(search, start),
        Guarantee::StarvationFree => fair::starvation_free(search, start),
    }
}

/// A violation, if the judge agrees.
fn judged(subject: &Subject, initial: &State, found: Counterexample) -> Verdict {
    match judge::judge(subject, initial, &found.moves, found.kind) {
        Ok(kind) if kind == found.kind => Verdict::Violation(Box::new(found)),
        other => {
            let why = other.err().unwrap_or_else(|| "others starve in it".to_owned());
            Verdict::Unknown(Reason::Disagreement(format!("the run that was found is none: {why}")))
        }
    }
}

/// *Holds*, if a second opinion does not contradict it.
fn reviewed(search: &mut Search<'_>, initial: &State, guarantee: Guarantee) -> Verdict {
    let opinion = Cancel::if_possible(|| whole::whole(search, initial, guarantee));
    match opinion.unwrap_or(Ok(None)) {
        Ok(Some(reviewed)) => {
            search.statistics.reviewed = reviewed;
            Verdict::Holds
        }
        Ok(None) | Err(Reason::Time | Reason::Memory | Reason::Interrupted) => {
            crate::refinement::reviewed(search, initial)
        }
        Err(reason) => Verdict::Unknown(reason),
    }
}
