//! Reports about algorithms: what is claimed of one, and the run that contradicts a claim.
//!
//! This takes an [`Answer`] and gives text: [`terminal::render`], [`json::render`], `junit` and [`html::render`]. It
//! decides nothing.

mod claims;
pub mod compositions;
pub mod html;
pub mod json;
pub mod junit;
pub mod terminal;

pub use claims::{claims, headline};

use seriatim_spec::answer::{Answer, Standing};
use seriatim_spec::run::Run;

/// What is reported about an algorithm.
#[derive(Clone, Copy, Debug)]
pub struct Examined<'r> {
    /// Its name or its file.
    pub name: &'r str,
    /// The specification that it was compared with.
    pub spec: &'r str,
    /// Its text.
    pub source: &'r str,
    /// What is known of it.
    pub answer: &'r Answer,
}

impl<'r> Examined<'r> {
    /// The run that contradicts a claim, with how it does so.
    pub fn run(&self) -> Option<(&'r Run, &'r str)> {
        let property = self.answer.violated()?;
        match self.answer.standing(property) {
            Standing::Violated { run, how, .. } => Some((run.as_deref()?, how)),
            _ => None,
        }
    }
}
