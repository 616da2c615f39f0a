//! Every run of N threads over a bounded object: takes a checked program, gives a verdict with its
//! bounds, and for a violation the shortest run that shows it. Operations are unbounded; threads,
//! heap nodes and data are not.

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
mod hash_compaction;
mod intern;
mod memo;
mod options;
mod outcome;
mod pack;
mod path;
mod progress;
mod pure_iterations;
mod readable;
mod refinement;
mod replay;
mod sabotage;
mod saved;
mod search;
mod second_opinion;
mod situation;
mod store;
mod subject;
mod trace;
pub mod weak;
mod worker;

pub use bounds::{can_wait, constants};
pub use expectation::{Expectation, expectations, starting_bounds};
pub use growth::{Growth, grow, raise};
pub use options::{
    Guarantee, Limits, MemoryModel, Mode, Options, Reductions, SecondOpinion, Synchronise,
};
pub use outcome::*;
pub use replay::{Replay, replay};
pub use saved::{BadRun, Saved};
pub use second_opinion::Reviewed;
pub use situation::{Situation, follow};
pub use trace::{event, headline};

use refinement::{points, refinement};
use seriatim_lang::{Diagnostic, Program};
use seriatim_limits::Cancel;

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
    // What is found is told: only the searches themselves, which can say how far they came, are left.
    Cancel::undisturbed(|| decided(program, options, progress))
}

fn decided(
    program: &Program,
    options: &Options,
    progress: &mut dyn FnMut(&Statistics),
) -> Result<Outcome, Diagnostic> {
    let is_weak = weak::model(program, options) != MemoryModel::Sc;
    if let (true, Mode::Progress(_)) = (is_weak, options.mode) {
        let why = "progress is decided on sequentially consistent memory only (--model sc)";
        let reason = Reason::Unsupported(why.to_owned());
        return Ok(refinement::unknown(program, options, reason));
    }
    if options.hash_compaction
        && let Some(why) = hash_compaction::refusal(options, is_weak)
    {
        return Ok(refinement::unknown(program, options, Reason::Unsupported(why)));
    }
    if is_weak {
        return weak::explore(program, options, progress);
    }
    match options.mode {
        Mode::Points => points(program, options, progress),
        Mode::Progress(guarantee) => progress::decide(program, options, guarantee, progress),
        Mode::Refinement | Mode::Compat => refinement(program, options, progress),
    }
}

/// Explores with linearization points; if they fail, says whether the algorithm or the annotation
/// is at fault.
pub fn run_points(program: &Program, options: &Options) -> Result<Outcome, Diagnostic> {
    run(program, &Options { mode: Mode::Points, ..options.clone() })
}

/// Decides whether the object guarantees progress within the bounds.
pub fn run_progress(
    program: &Program,
    options: &Options,
    guarantee: Guarantee,
) -> Result<Outcome, Diagnostic> {
    run(program, &Options { mode: Mode::Progress(guarantee), ..options.clone() })
}
