//! A proof and its check: any number of threads, any heap, any data.
//!
//! A proof is believed only if the checker of certificates, which shares nothing with the prover
//! but the language, accepts it. It speaks of linearizability, faults and ranges; of waiting only if
//! threads wait for nothing but locks and take these in an order. Otherwise the exploration beside it
//! is all that is known there.

use crate::verified::Verified;
use seriatim_certify::{Accepted, trimmed_and_certified};
use seriatim_explore::{self as explore, Verdict, can_wait, constants};
use seriatim_lang::Program;
use seriatim_prove::{Options, Outcome, Proof, prove};
use seriatim_spec::answer::{Answer, Cost, Evidence, Property, Scope, Standing, StuckProof};
use seriatim_spec::{Cancel, Stopped, checkpoint_now};

/// What came of an attempt to prove a program.
pub enum Attempt {
    /// It is proved, and the checker accepts the certificate.
    Proved {
        /// What the checker says of it.
        accepted: Accepted,
        /// Its text.
        certificate: String,
    },
    /// It is not.
    Open {
        /// Why, in a few words.
        why: String,
        /// The place at which the proof got stuck, if it got that far.
        stuck: Option<Box<StuckProof>>,
    },
}

/// Proves a program and has the certificate checked.
pub fn attempt(program: &Program, cancel: &Cancel) -> Attempt {
    let open = |why| Attempt::Open { why: format!("not proved: {why}"), stuck: None };
    let options = Options { cancel: cancel.clone(), ..Options::default() };
    let attempted = cancel.during(|| {
        let outcome = prove(program, &options);
        checkpoint_now();
        match outcome {
            Outcome::Proved(proof) => checked(program, proof).unwrap_or_else(open),
            Outcome::Refused(why) => open(format!("the prover does not understand it: {why}")),
            Outcome::Unknown(stuck) => {
                let why = format!("not proved: the proof got stuck: {}", stuck.obstacle.text());
                Attempt::Open { why, stuck: Some(Box::new(stuck.told)) }
            }
        }
    });
    attempted.unwrap_or_else(|Stopped(reason)| open(reason.to_string()))
}

/// A proof whose certificate is accepted, or why there is none. What is no longer needed is given
/// back before the next part begins: a proof may have hundreds of thousands of views.
fn checked(program: &Program, proof: Proof) -> Result<Attempt, String> {
    let whole = proof
        .certificate(program)
        .map_err(|why| format!("there is a proof, but no certificate: {why}"))?;
    drop(proof);
    let rejected = |refusal| format!("the checker rejects the proof: {refusal}");
    let (accepted, certificate) = trimmed_and_certified(program, whole).map_err(rejected)?;
    Ok(Attempt::Proved { accepted, certificate })
}

impl Attempt {
    /// The attempt, with the number of pairs of methods that are correct on lists of any length.
    #[must_use]
    pub fn noting(self, pairs: Option<usize>) -> Attempt {
        match (self, pairs) {
            (Attempt::Open { why, stuck }, Some(pairs)) => {
                let why = format!("{pairs} pairs of methods are right on every list; {why}");
                Attempt::Open { why, stuck }
            }
            (attempt, _) => attempt,
        }
    }

    /// What follows, together with an exploration at some bounds.
    pub fn beside(self, program: &Program, explored: explore::Outcome) -> Verified {
        let verified = Verified::new(self.answer(program, &explored));
        let explored = Some(explored);
        match self {
            Attempt::Proved { certificate, .. } => {
                Verified { explored, certificate: Some(certificate), ..verified }
            }
            Attempt::Open { stuck, .. } => Verified { explored, stuck, ..verified },
        }
    }

    /// The claims that follow, together with those of an exploration at some bounds. A proof covers
    /// any number of threads, so an exploration adds nothing where there is one, and is no answer
    /// where there is none. Waiting is asked about within bounds only; an exploration that did not
    /// see all of them leaves that unanswered.
    fn answer(&self, program: &Program, explored: &explore::Outcome) -> Answer {
        let within = explored.answer();
        Answer::new(within.cost, |property| match (property, self) {
            (progress, _) if progress.is_progress() => Standing::NotAsked,
            (Property::DeadlockFree, _) if !can_wait(program) => {
                Standing::Holds { scope: everything(program), evidence: Evidence::NeverWaits }
            }
            (Property::DeadlockFree, Attempt::Proved { accepted, .. })
                if accepted.locks_in_order =>
            {
                Standing::Holds { scope: everything(program), evidence: Evidence::LockOrder }
                    .and(contradiction(within.standing(property)))
            }
            (Property::DeadlockFree, _) => match within.standing(property) {
                Standing::Unknown(why) => {
                    let bounds = &explored.bounds;
                    Standing::NotAnswered(format!("not all runs for {bounds} were seen: {why}"))
                }
                standing => standing.clone(),
            },
            (_, Attempt::Proved { accepted, .. }) => {
                Standing::Holds { scope: everything(program), evidence: evidence(accepted) }
                    .and(contradiction(within.standing(property)))
            }
            (_, Attempt::Open { why, .. }) => {
                Standing::Unknown(format!("{}; {why}", covered(explored)))
            }
        })
    }
}

/// What an accepted certificate says by itself: nothing of waiting, unless no instruction can wait or
/// locks are taken in an order.
pub fn certified(program: &Program, accepted: &Accepted) -> Answer {
    let holds = |evidence| Standing::Holds { scope: everything(program), evidence };
    Answer::new(Cost::default(), |property| match property {
        Property::DeadlockFree if !can_wait(program) => holds(Evidence::NeverWaits),
        Property::DeadlockFree if accepted.locks_in_order => holds(Evidence::LockOrder),
        Property::DeadlockFree => {
            Standing::NotAnswered("a certificate says nothing of waiting".to_owned())
        }
        Property::Linearizable | Property::FaultFree | Property::InRange => {
            holds(evidence(accepted))
        }
        _ => Standing::NotAsked,
    })
}

fn evidence(accepted: &Accepted) -> Evidence {
    let Accepted { views, effects, root, .. } = accepted.clone();
    Evidence::Certificate { views, effects, root }
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
