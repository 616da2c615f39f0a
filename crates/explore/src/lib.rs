//! Every run of N threads over a bounded object: takes a checked program, gives a verdict with its bounds, and for a
//! violation the shortest run that shows it. Operations are unbounded; threads, heap nodes and data are not.

#![forbid(unsafe_code)]

mod answer;
mod bounds;
mod canonical;
mod codec;
mod configurations;
mod deadlock;
mod expectation;
mod final_fields;
mod granularity;
mod growth;
mod intern;
mod memo;
mod options;
mod outcome;
mod pack;
mod path;
mod progress;
mod pure_iterations;
mod readable;
mod replay;
mod sabotage;
mod saved;
mod search;
mod second_opinion;
mod store;
mod subject;
mod trace;
mod worker;

pub use bounds::{can_wait, constants};
pub use expectation::{Expectation, expectations, starting_bounds};
pub use growth::{Growth, grow, raise};
pub use options::{Limits, Mode, Options, Reductions, SecondOpinion};
pub use outcome::*;
pub use replay::{Replay, replay};
pub use saved::{BadRun, Saved};
pub use second_opinion::Reviewed;
pub use trace::{event, headline};

use bounds::bounds;
use options::{MOST_KEYS, MOST_THREADS, MOST_VALUES};
use search::{Ending, Search};
use second_opinion::second_opinion;
use seriatim_lang::machine::{State, Stop};
use seriatim_lang::steps::Op;
use seriatim_lang::types::Scalar;
use seriatim_lang::{Diagnostic, Program, lower_points};
use subject::Subject;
use worker::Premise;

/// Explores a program within bounds.
pub fn run(program: &Program, options: &Options) -> Result<Outcome, Diagnostic> {
    run_with(program, options, &mut |_| {})
}

/// Explores a program within bounds, asks what the mode says, and reports progress.
pub fn run_with(
    program: &Program,
    options: &Options,
    progress: &mut dyn FnMut(&Statistics),
) -> Result<Outcome, Diagnostic> {
    match options.mode {
        Mode::Points => points(program, options, progress),
        Mode::Progress => progress::lock_freedom(program, options, progress),
        Mode::Refinement | Mode::Compat => refinement(program, options, progress),
    }
}

/// Whether every history is explained, with the linearization points if the mode says so.
fn refinement(
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
    let ending = search.run(&initial, start, progress);
    let verdict = match ending {
        Ending::Complete => reviewed(&mut search, &initial),
        Ending::Unknown(reason) => Verdict::Unknown(reason),
        Ending::Unfounded(premise) => {
            let reductions = without(options.reductions, premise);
            return refinement(program, &Options { reductions, ..options.clone() }, progress);
        }
        Ending::Violation(at, kind) => {
            let found = trace::counterexample(&search, (&initial, start), at, kind);
            Verdict::Violation(Box::new(found))
        }
    };
    let mut statistics = search.statistics;
    statistics.cuts.numbers |= chooses_numbers(&subject);
    Ok(Outcome::new(program, options, &subject, (verdict, statistics)))
}

/// *Holds*, if a second opinion does not contradict it.
fn reviewed(search: &mut Search<'_>, initial: &State) -> Verdict {
    match second_opinion(search, initial) {
        Ok(reviewed) => {
            search.statistics.reviewed = reviewed;
            Verdict::Holds
        }
        Err(disagreement) => Verdict::Unknown(Reason::Disagreement(disagreement.text())),
    }
}

/// Explores with linearization points; if they fail, says whether the algorithm or the annotation is at fault.
pub fn run_points(program: &Program, options: &Options) -> Result<Outcome, Diagnostic> {
    run(program, &Options { mode: Mode::Points, ..options.clone() })
}

/// Decides whether the object is lock-free within the bounds.
pub fn run_progress(program: &Program, options: &Options) -> Result<Outcome, Diagnostic> {
    run(program, &Options { mode: Mode::Progress, ..options.clone() })
}

fn points(
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
fn without(reductions: Reductions, premise: Premise) -> Reductions {
    match premise {
        Premise::Retirement => Reductions { pure_iterations: false, ..reductions },
        Premise::LockOrder => Reductions { lock_nesting: false, ..reductions },
    }
}

fn refusal(options: &Options) -> Option<String> {
    if !MOST_THREADS.contains(&options.threads) {
        return Some(format!("1 to {} threads can be explored", MOST_THREADS.end()));
    }
    if !MOST_VALUES.contains(&options.values) || !MOST_KEYS.contains(&options.keys) {
        return Some("1 to 8 data values and at most 64 keys can be explored".to_string());
    }
    None
}

fn unknown(program: &Program, options: &Options, reason: Reason) -> Outcome {
    Outcome {
        verdict: Verdict::Unknown(reason),
        statistics: Statistics::default(),
        threads: options.threads,
        bounds: bounds(program, options, None),
        options: options.clone(),
    }
}

/// Whether a number without declared bounds is chosen somewhere: only those that the machine represents are.
fn chooses_numbers(subject: &Subject) -> bool {
    let is_number = |scalar| matches!(scalar, Scalar::Int(range) if range.is_default());
    let mut code = subject.machine.steps.code.iter();
    code.any(|instr| matches!(&instr.op, Op::Any { kind, .. } if is_number(kind.scalar)))
}

fn bad_start(subject: &Subject, stop: Stop) -> Diagnostic {
    match stop {
        Stop::Fault(fault, pc) => {
            let span = subject.machine.steps.code[pc.0 as usize].span;
            Diagnostic::new(span, format!("the initial state cannot be made: {}", fault.text()))
        }
        _ => Diagnostic::new(Default::default(), "the initial state cannot be made"),
    }
}
