//! Linearizability as refinement, without linearization points; and with them, where the file has
//! some.
//!
//! *Theorem* (Y. Liu, W. Chen, Y. A. Liu and J. Sun, "Model checking linearizability via
//! refinement", FM 2009): an implementation is linearizable iff each of its traces of calls and
//! returns is a trace of the specification in which an operation is call, one invisible atomic
//! effect, return. The search (`search`) goes through the product of the implementation with the
//! sets of all configurations of the specification that the same trace allows (`configurations`);
//! the implementation fails iff some return empties the set. With linearization points, an
//! operation takes effect where its point says, and nowhere else.
//!
//! *Holds* needs a second opinion (`second_opinion`), a violation is replayed (`replay`). A reduction whose premise turns out to be
//! false is switched off, and the search begins anew.
//!
//! *It would be unsound to* keep a reduction without its premise, to say *holds* of a search that
//! was cut short, or to believe linearization points where the results contradict them.

use crate::bounds::bounds;
use crate::hash_compaction::{self, hunt};
use crate::options::{MOST_KEYS, MOST_THREADS, MOST_VALUES, Mode, Options, Reductions};
use crate::outcome::{Blame, Outcome, Reason, Statistics, Verdict, ViolationKind};
use crate::path::path_to;
use crate::replay::evidenced;
use crate::search::{Ending, Search};
use crate::second_opinion::second_opinion;
use crate::subject::Subject;
use crate::trace::{self, Start};
use crate::worker::Premise;
use seriatim_lang::machine::{State, Stop};
use seriatim_lang::steps::Op;
use seriatim_lang::types::Scalar;
use seriatim_lang::{Diagnostic, Program, lower_points};

/// Whether every history is explained, with the linearization points if the mode says so.
pub(crate) fn refinement(
    program: &Program,
    options: &Options,
    progress: &mut dyn FnMut(&Statistics),
) -> Result<Outcome, Diagnostic> {
    if let Some(why) = refusal(options) {
        return Ok(unknown(program, options, Reason::Unsupported(why)));
    }
    let mut subject = Subject::new(program, options)?;
    let initial = match subject.machine.initial() {
        Ok(initial) => initial,
        Err(stop) => return Err(bad_start(&subject, stop)),
    };
    let (mut search, start) = match Search::new(&subject, options) {
        Ok(ready) => ready,
        Err(reason) => return Ok(unknown(program, options, reason)),
    };
    if options.hash_compaction {
        return hunted(program, search, Start { initial: &initial, set: start }, progress);
    }
    let ending = search.run(&initial, start, progress);
    let verdict = match ending {
        Ending::Complete => reviewed(&mut search, &initial),
        Ending::Unknown(reason) => Verdict::Unknown(reason),
        Ending::Unfounded(premise) => {
            let reductions = without(options.reductions, premise);
            return refinement(program, &Options { reductions, ..options.clone() }, progress);
        }
        Ending::Violation(at, kind) => {
            let start = Start { initial: &initial, set: start };
            let found = trace::counterexample(&search, start, &path_to(&search, at), kind);
            evidenced(program, options, found)
        }
    };
    let mut statistics = search.statistics;
    statistics.cuts.numbers |= chooses_numbers(&subject);
    Ok(Outcome::new(program, options, &subject, verdict, statistics))
}

/// Looks for a run that goes wrong, and never says *holds* (`hash_compaction`).
fn hunted(
    program: &Program,
    search: Search<'_>,
    start: Start<'_>,
    progress: &mut dyn FnMut(&Statistics),
) -> Result<Outcome, Diagnostic> {
    let options = search.common.options;
    let mut statistics = Statistics::default();
    let verdict = match hunt(&search, start.initial, start.set, &mut statistics, progress) {
        hash_compaction::Ending::Complete => Verdict::Unknown(Reason::HashCompaction),
        hash_compaction::Ending::Unknown(reason) => Verdict::Unknown(reason),
        hash_compaction::Ending::Unfounded(premise) => {
            let reductions = without(options.reductions, premise);
            return refinement(program, &Options { reductions, ..options.clone() }, progress);
        }
        hash_compaction::Ending::Violation(path, kind) => {
            evidenced(program, options, trace::counterexample(&search, start, &path, kind))
        }
    };
    statistics.cuts.numbers |= chooses_numbers(search.common.subject);
    Ok(Outcome::new(program, options, search.common.subject, verdict, statistics))
}

/// *Holds*, if a second opinion does not contradict it.
pub(crate) fn reviewed(search: &mut Search<'_>, initial: &State) -> Verdict {
    match second_opinion(search, initial) {
        Ok(reviewed) => {
            search.statistics.reviewed = reviewed;
            Verdict::Holds
        }
        Err(disagreement) => Verdict::Unknown(Reason::Disagreement(disagreement.text())),
    }
}

/// Explores with linearization points; if they fail, says whether the algorithm or the annotation
/// is at fault.
pub(crate) fn points(
    program: &Program,
    options: &Options,
    progress: &mut dyn FnMut(&Statistics),
) -> Result<Outcome, Diagnostic> {
    let steps = lower_points(program, options.threads.max(1), options.client.as_deref())?;
    if !steps.code.iter().any(|instr| matches!(instr.op, Op::Lin { .. })) {
        let why = "the file has no linearization points (`@lin`)".to_string();
        return Ok(unknown(program, options, Reason::Unsupported(why)));
    }
    let mut outcome = refinement(program, options, progress)?;
    if let Verdict::Violation(counterexample) = &mut outcome.verdict
        && counterexample.kind == ViolationKind::WrongPoint
    {
        let free = Options { mode: Mode::Refinement, ..options.clone() };
        counterexample.blame = match refinement(program, &free, progress)?.verdict {
            Verdict::Holds => Some(Blame::Annotation),
            Verdict::Violation(_) => Some(Blame::Algorithm),
            Verdict::Unknown(_) => None,
        };
    }
    Ok(outcome)
}

/// The reductions that do not rely on a premise.
pub(crate) fn without(reductions: Reductions, premise: Premise) -> Reductions {
    match premise {
        Premise::Retirement => Reductions { pure_iterations: false, ..reductions },
        Premise::LockOrder => Reductions { lock_nesting: false, ..reductions },
    }
}

pub(crate) fn refusal(options: &Options) -> Option<String> {
    if !MOST_THREADS.contains(&options.threads) {
        return Some(format!("1 to {} threads can be explored", MOST_THREADS.end()));
    }
    if !MOST_VALUES.contains(&options.values) || !MOST_KEYS.contains(&options.keys) {
        return Some("1 to 8 data values and at most 64 keys can be explored".to_string());
    }
    None
}

pub(crate) fn unknown(program: &Program, options: &Options, reason: Reason) -> Outcome {
    Outcome {
        verdict: Verdict::Unknown(reason),
        statistics: Statistics::default(),
        threads: options.threads,
        bounds: bounds(program, options, None),
        options: options.clone(),
    }
}

/// Whether a number without declared bounds is chosen somewhere: only those that the machine
/// represents are.
pub(crate) fn chooses_numbers(subject: &Subject) -> bool {
    let is_number = |scalar| matches!(scalar, Scalar::Int(range) if range.is_default());
    let mut code = subject.machine.steps.code.iter();
    code.any(|instr| matches!(&instr.op, Op::Any { kind, .. } if is_number(kind.scalar)))
}

pub(crate) fn bad_start(subject: &Subject, stop: Stop) -> Diagnostic {
    match stop {
        Stop::Fault(fault, pc) => {
            let span = subject.machine.steps.code[pc.0 as usize].span;
            Diagnostic::new(span, format!("the initial state cannot be made: {}", fault.text()))
        }
        _ => Diagnostic::new(Default::default(), "the initial state cannot be made"),
    }
}
