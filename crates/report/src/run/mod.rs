//! Reports about algorithms: what is claimed of one, and the run that contradicts a claim.
//!
//! This takes an [`Answer`] and gives text: [`terminal::render`], [`json::render`], `junit` and
//! [`html::render`]. It decides nothing.

mod claims;
pub mod compositions;
mod heap;
pub mod html;
pub mod json;
pub mod junit;
pub mod memory;
pub mod orderings;
mod page_data;
mod stuck;
pub mod table;
pub mod terminal;

pub use claims::{claims, headline};

use crate::report::Report;
use seriatim_spec::answer::{Answer, Standing, StuckProof};
use seriatim_spec::run::Run;
use seriatim_spec::{Limit, Unknown, Verdict};

/// What is reported about an algorithm.
#[derive(Clone, Copy)]
pub struct Examined<'r> {
    /// Its name or its file.
    pub name: &'r str,
    /// The specification that it was compared with.
    pub spec: &'r str,
    /// Its text.
    pub source: &'r str,
    /// What is known of it.
    pub answer: &'r Answer,
    /// The history of the run that contradicts a claim, judged by itself: with the orders that were
    /// tried.
    pub judged: Option<&'r Report<'r>>,
    /// The command that shows the run again.
    pub replay: Option<&'r str>,
    /// Where a proof got stuck.
    pub stuck: Option<&'r StuckProof>,
}

impl<'r> Examined<'r> {
    /// An algorithm, by its name, with its text and what is known of it.
    pub fn new(name: &'r str, spec: &'r str, source: &'r str, answer: &'r Answer) -> Self {
        Examined { name, spec, source, answer, judged: None, replay: None, stuck: None }
    }

    /// The run to look at: the one that contradicts a claim, or the trail of a stuck proof.
    pub(crate) fn shown(&self) -> Option<(&'r Run, &'r str)> {
        let stuck = || self.stuck.map(|stuck| (&stuck.run, &*stuck.obstacle));
        self.run().or_else(stuck)
    }

    /// The run that contradicts a claim, with how it does so.
    pub fn run(&self) -> Option<(&'r Run, &'r str)> {
        let property = self.answer.violated()?;
        match self.answer.standing(property) {
            Standing::Violated { run, how, .. } => Some((run.as_deref()?, how)),
            _ => None,
        }
    }
}

/// What stands in the place of a verdict on a history that nobody judged.
fn unjudged() -> Verdict {
    Verdict::Unknown(Unknown {
        limit: Limit::Cancelled,
        linearizable_events: 0,
        decided: Vec::new(),
        open: Vec::new(),
        defect: None,
    })
}
