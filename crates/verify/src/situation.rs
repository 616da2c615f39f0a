//! What a stuck proof teaches: whether threads come to the place where it got stuck.
//!
//! Three answers: a run on the way goes wrong, which settles the question; runs follow the trail and
//! are right, so that the proof may forget something that the algorithm relies on; or no run was seen
//! to follow it, so that the proof does not know why not. The last two are hints for whoever reads
//! on, and no part of the verdict.

use crate::options::{Error, Options};
use crate::proof::Attempt;
use seriatim_explore::{Outcome, Situation, follow};
use seriatim_lang::Program;
use seriatim_spec::Cancel;
use seriatim_spec::answer::StuckProof;
use seriatim_spec::run::{Action, Step};

/// What came of following the trail of a stuck proof.
pub enum Lesson {
    /// A run goes wrong.
    Wrong(Box<Outcome>),
    /// The attempt, which now says whether threads come to the place.
    Open(Attempt),
}

/// Follows the trail of an attempt that got stuck, within the bounds of the question.
pub fn followed(
    program: &Program,
    options: &Options<'_>,
    attempt: Attempt,
) -> Result<Lesson, Error> {
    let Attempt::Open { why, stuck: Some(mut stuck) } = attempt else {
        return Ok(Lesson::Open(attempt));
    };
    let cancel = Cancel::of_process();
    let found =
        cancel.during(|| follow(program, &options.bounds, &stuck.run)).unwrap_or(Ok(None))?;
    stuck.situation = match found {
        Some(Situation::Wrong(outcome)) => return Ok(Lesson::Wrong(outcome)),
        Some(Situation::Met { states }) => Some(met(states)),
        Some(Situation::NotMet { states, followed, whole }) => {
            Some(not_met(&stuck, states, followed, whole))
        }
        None => None,
    };
    Ok(Lesson::Open(Attempt::Open { why, stuck: Some(stuck) }))
}

fn met(states: usize) -> String {
    format!(
        "threads do come here: a run follows these steps, and of {states} states that were looked at \
         none goes wrong; if none ever does, the proof forgets something that the algorithm relies on"
    )
}

fn not_met(stuck: &StuckProof, states: usize, followed: usize, whole: bool) -> String {
    let steps = &stuck.run.steps;
    let place = match steps.get(followed) {
        Some(next) => format!(
            "runs follow {followed} of these {} steps, and then never {}",
            steps.len(),
            text(next)
        ),
        None => "no run follows these steps".to_owned(),
    };
    match whole {
        true => format!(
            "threads do not come here within the bounds ({states} states, all of them): {place}; the \
             proof does not know why not"
        ),
        false => format!(
            "nobody was seen to come here ({states} states): {place}; if that is impossible, the proof \
             does not know why"
        ),
    }
}

/// A step of a trail as words: who takes it, and where.
fn text(step: &Step) -> String {
    let who = if step.thread == 0 { "this thread" } else { "another thread" };
    let access = step.accesses.first();
    match access.map(|access| &access.action) {
        Some(Action::Call { call }) => format!("{who} with a call of {call}"),
        _ => match step.line() {
            Some(line) => format!("{who} with line {line}, on memory like this"),
            None => who.to_owned(),
        },
    }
}
