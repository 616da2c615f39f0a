//! Every run of N threads over a bounded object: takes a checked program, gives a verdict with its bounds, and for a
//! violation the shortest run that shows it. Operations are unbounded; threads, heap nodes and data are not.

mod attempts;
mod canonical;
mod codec;
mod configurations;
mod deadlock;
mod expectation;
mod frozen;
mod granularity;
mod growth;
mod intern;
mod memo;
mod options;
mod outcome;
mod pack;
mod page;
mod path;
mod picture;
mod progress;
mod readable;
mod replay;
mod retries;
mod saved;
mod search;
mod store;
mod subject;
mod trace;
mod worker;

pub use expectation::{Expectation, expectations, starting_bounds};
pub use growth::{Growth, grow, raise};
pub use options::{Limits, Mode, Options, Reductions};
pub use outcome::*;
pub use page::page;
pub use progress::run_progress;
pub use replay::{Replay, replay};
pub use saved::{BadRun, Saved};
pub use trace::render;

use options::{MOST_KEYS, MOST_THREADS, MOST_VALUES};
use search::{Ending, Search};
use seriatim_lang::machine::Stop;
use seriatim_lang::steps::Op;
use seriatim_lang::{Diagnostic, Program, lower_points};
use subject::Subject;
use worker::Premise;

/// Explores a program within bounds.
pub fn run(program: &Program, options: &Options) -> Result<Outcome, Diagnostic> {
    run_with(program, options, &mut |_| {})
}

/// Explores a program within bounds and reports progress.
pub fn run_with(
    program: &Program,
    options: &Options,
    progress: &mut dyn FnMut(&Statistics),
) -> Result<Outcome, Diagnostic> {
    if let Some(why) = refusal(options) {
        return Ok(unknown(options, Reason::Unsupported(why)));
    }
    let mut subject = Subject::new(program, options)?;
    let initial = match subject.machine.initial() {
        Ok(initial) => initial,
        Err(stop) => return Err(bad_start(&subject, stop)),
    };
    let (mut search, start) = match Search::new(&subject, options) {
        Ok(ready) => ready,
        Err(reason) => return Ok(unknown(options, reason)),
    };
    let ending = search.run(&initial, start, progress);
    let statistics = search.statistics;
    let verdict = match ending {
        Ending::Complete => Verdict::Holds,
        Ending::Unknown(reason) => Verdict::Unknown(reason),
        Ending::Unfounded(premise) => {
            let reductions = without(options.reductions, premise);
            return run_with(program, &Options { reductions, ..options.clone() }, progress);
        }
        Ending::Violation(at, kind) => {
            let found = trace::counterexample(&search, (&initial, start), at, kind);
            Verdict::Violation(Box::new(found))
        }
    };
    Ok(Outcome { verdict, statistics, bounds: bounds(options), options: options.clone() })
}

/// Explores with linearization points; if they fail, says whether the algorithm or the annotation is at fault.
pub fn run_points(program: &Program, options: &Options) -> Result<Outcome, Diagnostic> {
    let steps = lower_points(program, options.threads.max(1), options.client.as_deref())?;
    if !steps.code.iter().any(|instr| matches!(instr.op, Op::Lin { .. })) {
        let why = "the file has no linearization points (`@lin`)".to_string();
        return Ok(unknown(options, Reason::Unsupported(why)));
    }
    let mut outcome = run(program, &Options { mode: Mode::Points, ..options.clone() })?;
    if let Verdict::Violation(counterexample) = &mut outcome.verdict
        && counterexample.kind == ViolationKind::WrongPoint
    {
        let free = run(program, &Options { mode: Mode::Refinement, ..options.clone() })?;
        counterexample.blame = match free.verdict {
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
        Premise::Retirement => Reductions { retries: false, ..reductions },
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

fn unknown(options: &Options, reason: Reason) -> Outcome {
    let statistics = Statistics::default();
    Outcome {
        verdict: Verdict::Unknown(reason),
        statistics,
        bounds: bounds(options),
        options: options.clone(),
    }
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

/// The bounds of an exploration, as words.
pub fn bounds(options: &Options) -> String {
    let count =
        |number: u32, noun: &str| format!("{number} {noun}{}", if number == 1 { "" } else { "s" });
    let mut parts = vec![count(options.threads, "thread")];
    if let Some(client) = &options.client {
        parts.push(format!("client {client}"));
    }
    if let Some(capacity) = options.capacity {
        parts.push(format!("at most {} added to the object", count(capacity, "node")));
    }
    if let Some(nodes) = options.nodes {
        parts.push(format!("at most {} alive", count(nodes, "node")));
    }
    parts.push(count(options.values, "value"));
    parts.push(count(options.keys, "key"));
    parts.push("any number of operations".to_string());
    parts.join(", ")
}
