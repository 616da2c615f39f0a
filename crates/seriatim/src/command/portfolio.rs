//! `seriatim verify` without an engine: all of them, each for what it does best.
//!
//! First `explore` hunts at the bounds of the file, for a third of the time: most mistakes show there, with a run. Then
//! `prove` tries any number of threads. If it gets stuck, `lists` looks at pairs of methods on every list, where it
//! applies, and `explore` raises the bounds for the rest of the time. A violation that any of them finds is definite. The
//! answer is *proved*, *violated* with a run, or *unknown* with the place where the proof got stuck and with what was
//! covered.

use super::output::say;
use super::prove::{Attempt, attempt};
use super::verify::{Arguments, Question, explore_once, tell};
use super::{Exit, Failure};
use seriatim::explore::{Options, Outcome, Verdict, raise};
use seriatim::lang::Program;
use seriatim::lists::{self, all_compositions, decide};
use std::time::{Duration, Instant};

/// The time for explorations if none is given.
pub const TIME: Duration = Duration::from_secs(30);

/// How many abstract states `lists` may make of one pair of methods before the others have their turn.
const LIST_STATES: u64 = 300_000;

/// Decides with all engines.
pub fn run(
    arguments: &Arguments,
    question: &Question<'_>,
    bounds: Options,
) -> Result<Exit, Failure> {
    let Question { source, program, .. } = *question;
    let time = bounds.limits.time.unwrap_or(TIME);
    let mut covered = Covered::default();
    let first = within(&bounds, time / 3);
    if let Some(exit) = covered.explore(arguments, question, &first)? {
        return Ok(exit);
    }
    let name = &source.name;
    let (why, picture) = match attempt(program, arguments.certificate.as_deref())? {
        Attempt::Proved(sentence) => {
            say(&format!("{name}: {sentence}\n"))?;
            return Ok(Exit::Holds);
        }
        Attempt::Unknown(why, picture) => (why, picture),
    };
    if let Some(exit) = covered.lists(program)? {
        return Ok(exit);
    }
    let end = Instant::now() + time - time / 3;
    let mut larger = bounds;
    while covered.finished && Instant::now() < end && raise(program, &mut larger) {
        let options = within(&larger, end.saturating_duration_since(Instant::now()));
        if let Some(exit) = covered.explore(arguments, question, &options)? {
            return Ok(exit);
        }
    }
    let picture = picture.filter(|_| !arguments.quiet);
    let picture = picture.map(|p| format!("\n{p}\n")).unwrap_or_default();
    say(&format!("{name}: unknown: {}; not proved: {why}\n{picture}", covered.text()))?;
    Ok(Exit::Unknown)
}

fn within(bounds: &Options, time: Duration) -> Options {
    let mut options = bounds.clone();
    options.limits.time = Some(time);
    options
}

/// What is known beside the proof.
#[derive(Default)]
struct Covered {
    /// The largest bounds within which every run is right.
    bounds: Option<String>,
    /// Whether the last exploration saw everything.
    finished: bool,
    /// How many pairs of methods are right on every list, if that was asked.
    pairs: Option<usize>,
}

impl Covered {
    /// Explores within bounds; an exit if a run goes wrong.
    fn explore(
        &mut self,
        arguments: &Arguments,
        question: &Question<'_>,
        options: &Options,
    ) -> Result<Option<Exit>, Failure> {
        let (source, program) = (question.source, question.program);
        let outcome: Outcome = explore_once(arguments, source, program, options)?;
        self.finished = false;
        match outcome.verdict {
            Verdict::Violation(_) => return tell(arguments, question, &outcome).map(Some),
            Verdict::Holds => {
                self.finished = true;
                if !arguments.quiet {
                    tell(arguments, question, &outcome)?;
                }
                self.bounds = Some(outcome.bounds);
            }
            Verdict::Unknown(_) => {}
        }
        Ok(None)
    }

    /// Decides all pairs of methods on lists of any length, where that applies; an exit if a run goes wrong.
    fn lists(&mut self, program: &Program) -> Result<Option<Exit>, Failure> {
        let options = lists::Options { max_states: LIST_STATES, ..lists::Options::default() };
        let mut right = 0;
        for composition in all_compositions(program, 2) {
            let Ok(outcome) = decide(program, &composition, &options) else { return Ok(None) };
            match outcome.elements {
                lists::Verdict::Holds => right += 1,
                lists::Verdict::Fails(_) => {
                    say(&lists::render(program, &outcome))?;
                    return Ok(Some(Exit::Violated));
                }
                lists::Verdict::Unknown(_) => {}
            }
        }
        self.pairs = (right > 0).then_some(right);
        Ok(None)
    }

    fn text(&self) -> String {
        let bounds = match &self.bounds {
            Some(bounds) => format!("every run is right for {bounds}"),
            None => "no run that goes wrong was found, but not all were seen".to_owned(),
        };
        match self.pairs {
            Some(pairs) => format!("{bounds}; {pairs} pairs of methods are right on every list"),
            None => bounds,
        }
    }
}
