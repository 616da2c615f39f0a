//! `seriatim verify --engine prove`: any number of threads, any heap, any data.
//!
//! A proof is believed twice over: the independent checker must accept it, and a short exploration at the
//! bounds of the file must find no run that goes wrong.

use super::output::say;
use super::source::Source;
use super::{Exit, Failure};
use seriatim::explore::{self, render};
use seriatim::lang::Program;
use seriatim::prove::{Options, Outcome, Proof, certify, prove};
use std::time::Duration;

/// The time for the exploration beside a proof.
const HUNT: Duration = Duration::from_secs(10);

/// Tries to prove a program.
pub fn run(source: &Source, program: &Program, bounds: explore::Options) -> Result<Exit, Failure> {
    if let Some(exit) = hunt(source, program, bounds)? {
        return Ok(exit);
    }
    let name = &source.name;
    match prove(program, &Options::default()) {
        Outcome::Proved(proof) => tell_proof(name, program, &proof),
        Outcome::Unknown(stuck) => {
            let why = stuck.obstacle.text();
            say(&format!("{name}: unknown, the proof got stuck: {why}\n\n{}\n", stuck.text))?;
            Ok(Exit::Unknown)
        }
        Outcome::Refused(why) => {
            say(&format!("{name}: unknown, the prover does not understand it: {why}\n"))?;
            Ok(Exit::Unknown)
        }
    }
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

fn tell_proof(name: &str, program: &Program, proof: &Proof) -> Result<Exit, Failure> {
    if let Err(rejection) = certify(program, proof) {
        say(&format!("{name}: unknown, the checker rejects the proof: {rejection:?}\n"))?;
        return Ok(Exit::Unknown);
    }
    say(&format!(
        "{name}: PROVED linearizable for any number of threads, any heap and any data ({} views, {} \
         effects; the content hangs from `{}`)\n",
        proof.views.len(),
        proof.effects,
        proof.root
    ))?;
    Ok(Exit::Holds)
}
