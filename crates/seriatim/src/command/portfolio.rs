//! `seriatim verify` without an engine: all of them, each for what it does best.
//!
//! First `explore` hunts at the bounds of the file, for a third of the time: most mistakes show there, with a run. Then
//! `prove` tries any number of threads. If it gets stuck, `lists` looks at pairs of methods on every list, where it
//! applies, and `explore` raises the bounds for the rest of the time. A violation that any of them finds is definite;
//! one that is a deadlock leaves the question of linearizability open, and the proof is tried all the same. Each claim is
//! answered by whoever knows most about it.

use super::prove::{Attempt, attempt, draw, ends_the_question};
use super::verify::{Arguments, Question, explore_once, report, tell, tell_all};
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
    let first = explore_once(arguments, source, program, &within(&bounds, time / 3))?;
    if ends_the_question(&first) {
        return tell(arguments, question, &first);
    }
    let attempt = attempt(program, arguments.certificate.as_deref())?;
    if let Attempt::Proved(_) = attempt {
        return tell_all(arguments, question, &attempt.answer(program, &first), Some(&first));
    }
    let pairs = match pairs(program) {
        Pairs::Wrong(outcome) => {
            report(arguments, question, &outcome.answer(program))?;
            return Ok(Exit::Violated);
        }
        Pairs::Right(count) => count,
    };
    let rest = Instant::now() + time - time / 3;
    let covered = raised(arguments, question, first, (&bounds, rest))?;
    if ends_the_question(&covered) {
        return tell(arguments, question, &covered);
    }
    let attempt = attempt.noting(pairs);
    let exit = tell_all(arguments, question, &attempt.answer(program, &covered), Some(&covered))?;
    if let Attempt::Unknown(_, picture) = attempt {
        draw(picture.as_deref(), arguments.detail())?;
    }
    Ok(exit)
}

fn within(bounds: &Options, time: Duration) -> Options {
    let mut options = bounds.clone();
    options.limits.time = Some(time);
    options
}

/// Raises the bounds as long as there is time: the largest exploration that saw everything, or one that found a run.
fn raised(
    arguments: &Arguments,
    question: &Question<'_>,
    first: Outcome,
    (bounds, end): (&Options, Instant),
) -> Result<Outcome, Failure> {
    let Question { source, program, .. } = *question;
    let mut covered = first;
    let mut larger = bounds.clone();
    while matches!(covered.verdict, Verdict::Holds)
        && Instant::now() < end
        && raise(program, &mut larger)
    {
        let options = within(&larger, end.saturating_duration_since(Instant::now()));
        let next = explore_once(arguments, source, program, &options)?;
        match next.verdict {
            Verdict::Unknown(_) => break,
            Verdict::Holds | Verdict::Violation(_) => covered = next,
        }
    }
    Ok(covered)
}

/// What the pairs of methods show on lists of any length.
enum Pairs {
    /// So many are right, if that could be asked.
    Right(Option<usize>),
    /// One goes wrong.
    Wrong(Box<lists::Outcome>),
}

/// Decides all pairs of methods on lists of any length, where that applies.
fn pairs(program: &Program) -> Pairs {
    let options = lists::Options { max_states: LIST_STATES, ..lists::Options::default() };
    let mut right = 0;
    for composition in all_compositions(program, 2) {
        let Ok(outcome) = decide(program, &composition, &options) else {
            return Pairs::Right(None);
        };
        if outcome.answer(program).violated().is_some() {
            return Pairs::Wrong(Box::new(outcome));
        }
        right += usize::from(outcome.elements == lists::Verdict::Holds);
    }
    Pairs::Right((right > 0).then_some(right))
}
