//! `seriatim verify --engine prove`: any number of threads, any heap, any data.
//!
//! A proof is believed only if the checker of certificates, which shares nothing with the prover but the language,
//! accepts it, and if a short exploration at the bounds of the file finds no run that goes wrong.

use super::output::{remark, say};
use super::source::Source;
use super::{Exit, Failure};
use seriatim::certify::{certify, trimmed};
use seriatim::explore::{self, render};
use seriatim::lang::Program;
use seriatim::prove::{Options, Outcome, prove};
use std::path::Path;
use std::time::Duration;

/// The time for the exploration beside a proof.
const HUNT: Duration = Duration::from_secs(10);

/// What came of an attempt to prove a program.
pub enum Attempt {
    /// It is proved, and the checker accepts the certificate: the sentence that says so.
    Proved(String),
    /// It is not: why, in a few words, and the picture of the place if there is one.
    Unknown(String, Option<String>),
}

/// Tries to prove a program.
pub fn run(
    source: &Source,
    program: &Program,
    bounds: explore::Options,
    certificate: Option<&Path>,
) -> Result<Exit, Failure> {
    if let Some(exit) = hunt(source, program, bounds)? {
        return Ok(exit);
    }
    let name = &source.name;
    match attempt(program, certificate)? {
        Attempt::Proved(sentence) => {
            say(&format!("{name}: {sentence}\n"))?;
            Ok(Exit::Holds)
        }
        Attempt::Unknown(why, picture) => {
            let picture = picture.map(|p| format!("\n{p}\n")).unwrap_or_default();
            say(&format!("{name}: unknown, {why}\n{picture}"))?;
            Ok(Exit::Unknown)
        }
    }
}

/// Proves a program, has the certificate checked, and writes it where it is wanted.
pub fn attempt(program: &Program, certificate: Option<&Path>) -> Result<Attempt, Failure> {
    let proof = match prove(program, &Options::default()) {
        Outcome::Proved(proof) => proof,
        Outcome::Unknown(stuck) => {
            let why = format!("the proof got stuck: {}", stuck.obstacle.text());
            return Ok(Attempt::Unknown(why, Some(stuck.text)));
        }
        Outcome::Refused(why) => {
            let why = format!("the prover does not understand it: {why}");
            return Ok(Attempt::Unknown(why, None));
        }
    };
    let whole = match proof.certificate(program) {
        Ok(whole) => whole,
        Err(why) => {
            let why = format!("there is a proof, but no certificate: {why}");
            return Ok(Attempt::Unknown(why, None));
        }
    };
    let checked = trimmed(program, &whole)
        .and_then(|text| certify(program, &text).map(|accepted| (text, accepted)));
    let (text, accepted) = match checked {
        Ok(checked) => checked,
        Err(refusal) => {
            let why = format!("the checker rejects the proof: {refusal}");
            return Ok(Attempt::Unknown(why, None));
        }
    };
    if let Some(path) = certificate {
        let unwritable = |error| Failure(format!("{}: cannot write: {error}", path.display()));
        std::fs::write(path, text).map_err(unwritable)?;
        remark(&format!("the certificate is in {}", path.display()));
    }
    Ok(Attempt::Proved(format!(
        "PROVED linearizable for any number of threads, any heap and any data ({} views, {} effects; the \
         content hangs from `{}`; the certificate was checked)",
        accepted.views, accepted.effects, accepted.root
    )))
}

/// Looks for a run that goes wrong within bounds; gives the exit if there is one.
fn hunt(
    source: &Source,
    program: &Program,
    bounds: explore::Options,
) -> Result<Option<Exit>, Failure> {
    let limits = explore::Limits { time: Some(HUNT), ..bounds.limits };
    let options = explore::Options { limits, ..bounds };
    let outcome =
        explore::run(program, &options).map_err(|diagnostic| source.complain(&diagnostic))?;
    let explore::Verdict::Violation(counterexample) = &outcome.verdict else { return Ok(None) };
    let (name, bounds) = (&source.name, &outcome.bounds);
    say(&format!("{name}: VIOLATION for {bounds}\n\n{}", render(counterexample)))?;
    Ok(Some(Exit::Violated))
}
