//! `seriatim verify --engine prove`: any number of threads, any heap, any data.
//!
//! A proof is believed only if the checker of certificates, which shares nothing with the prover but the language,
//! accepts it, and if a short exploration at the bounds of the file finds no run that goes wrong. A proof speaks of
//! linearizability, faults and ranges; of waiting it says nothing, there the exploration is all that is known.

use super::output::{Detail, remark, say};
use super::verify::{Arguments, Question, explore_once, tell, tell_all};
use super::{Exit, Failure};
use seriatim::certify::{Accepted, certify, trimmed};
use seriatim::explore::{self, Limits, Verdict, can_wait, constants};
use seriatim::lang::Program;
use seriatim::prove::{Options, Outcome, prove};
use seriatim::spec::answer::{Answer, Evidence, Property, Scope, Standing};
use std::path::Path;
use std::time::Duration;

/// The time for the exploration beside a proof.
const HUNT: Duration = Duration::from_secs(10);

/// What came of an attempt to prove a program.
pub enum Attempt {
    /// It is proved, and the checker accepts the certificate.
    Proved(Accepted),
    /// It is not: why, in a few words, and the picture of the place if there is one.
    Unknown(String, Option<String>),
}

/// Tries to prove a program.
pub fn run(
    arguments: &Arguments,
    question: &Question<'_>,
    bounds: explore::Options,
) -> Result<Exit, Failure> {
    let limits = Limits { time: Some(HUNT), ..bounds.limits };
    let options = explore::Options { limits, ..bounds };
    let explored = explore_once(arguments, question.source, question.program, &options)?;
    if ends_the_question(&explored) {
        return tell(arguments, question, &explored);
    }
    let attempt = attempt(question.program, arguments.certificate.as_deref())?;
    let answer = attempt.answer(question.program, &explored);
    let exit = tell_all(arguments, question, &answer, Some(&explored))?;
    if let Attempt::Unknown(_, picture) = attempt {
        draw(picture.as_deref(), arguments.detail())?;
    }
    Ok(exit)
}

/// Draws the place at which a proof got stuck.
pub fn draw(picture: Option<&str>, detail: Detail) -> Result<(), Failure> {
    match picture {
        Some(picture) if detail == Detail::Claims => say(&format!("\n{picture}\n")),
        _ => Ok(()),
    }
}

/// Whether an exploration found a run that no proof can stand beside. A deadlock is no such run: what deadlocks may be
/// linearizable.
pub fn ends_the_question(explored: &explore::Outcome) -> bool {
    match &explored.verdict {
        Verdict::Violation(run) => run.kind.property() != Property::DeadlockFree,
        Verdict::Holds | Verdict::Unknown(_) => false,
    }
}

impl Attempt {
    /// The claims that follow, together with those of an exploration at some bounds. A proof covers any number of threads, so
    /// an exploration adds nothing where there is one, and is no answer where there is none. Waiting is asked about
    /// within bounds only; an exploration that did not see all of them leaves that unanswered.
    pub fn answer(&self, program: &Program, explored: &explore::Outcome) -> Answer {
        let within = explored.answer();
        Answer::new(within.cost, |property| match (property, self) {
            (Property::LockFree, _) => Standing::NotAsked,
            (Property::DeadlockFree, _) if !can_wait(program) => {
                Standing::Holds { scope: everything(program), evidence: Evidence::NeverWaits }
            }
            (Property::DeadlockFree, _) => match within.standing(property) {
                Standing::Unknown(why) => {
                    let bounds = &explored.bounds;
                    Standing::NotAnswered(format!("not all runs for {bounds} were seen: {why}"))
                }
                standing => standing.clone(),
            },
            (_, Attempt::Proved(accepted)) => {
                let Accepted { views, effects, root } = accepted.clone();
                let evidence = Evidence::Certificate { views, effects, root };
                Standing::Holds { scope: everything(program), evidence }
                    .and(contradiction(within.standing(property)))
            }
            (_, Attempt::Unknown(why, _)) => {
                Standing::Unknown(format!("{}; {why}", covered(explored)))
            }
        })
    }

    /// The attempt, with the number of pairs of methods that are right on lists of any length.
    #[must_use]
    pub fn noting(self, pairs: Option<usize>) -> Attempt {
        match (self, pairs) {
            (Attempt::Unknown(why, picture), Some(pairs)) => {
                let why = format!("{pairs} pairs of methods are right on every list; {why}");
                Attempt::Unknown(why, picture)
            }
            (attempt, _) => attempt,
        }
    }
}

/// What an exploration may say against a proof.
fn contradiction(explored: &Standing) -> Standing {
    match explored {
        Standing::Violated { .. } => explored.clone(),
        _ => Standing::NotAsked,
    }
}

/// What an exploration covered, as words.
fn covered(explored: &explore::Outcome) -> String {
    match &explored.verdict {
        Verdict::Holds => format!("every run is right for {}", explored.bounds),
        Verdict::Violation(_) => "only a deadlock was found".to_owned(),
        Verdict::Unknown(_) => "no run that goes wrong was found, but not all were seen".to_owned(),
    }
}

/// What a proof covers: everything, for these constants.
fn everything(program: &Program) -> Scope {
    let mut words = "any number of threads, any heap and any data".to_owned();
    let constants = constants(program);
    if !constants.is_empty() {
        words += &format!(", with {constants}");
    }
    Scope { threads: None, words, cut: Vec::new() }
}

/// Proves a program, has the certificate checked, and writes it where it is wanted.
pub fn attempt(program: &Program, certificate: Option<&Path>) -> Result<Attempt, Failure> {
    let proof = match prove(program, &Options::default()) {
        Outcome::Proved(proof) => proof,
        Outcome::Unknown(stuck) => {
            let why = format!("not proved: the proof got stuck: {}", stuck.obstacle.text());
            return Ok(Attempt::Unknown(why, Some(stuck.text)));
        }
        Outcome::Refused(why) => {
            let why = format!("not proved: the prover does not understand it: {why}");
            return Ok(Attempt::Unknown(why, None));
        }
    };
    let whole = match proof.certificate(program) {
        Ok(whole) => whole,
        Err(why) => {
            let why = format!("not proved: there is a proof, but no certificate: {why}");
            return Ok(Attempt::Unknown(why, None));
        }
    };
    let checked = trimmed(program, &whole)
        .and_then(|text| certify(program, &text).map(|accepted| (text, accepted)));
    let (text, accepted) = match checked {
        Ok(checked) => checked,
        Err(refusal) => {
            let why = format!("not proved: the checker rejects the proof: {refusal}");
            return Ok(Attempt::Unknown(why, None));
        }
    };
    if let Some(path) = certificate {
        let unwritable = |error| Failure(format!("{}: cannot write: {error}", path.display()));
        std::fs::write(path, text).map_err(unwritable)?;
        remark(&format!("the certificate is in {}", path.display()));
    }
    Ok(Attempt::Proved(accepted))
}
