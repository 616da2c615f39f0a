//! What came of a question: the answer, and what the engines gave with it.

use crate::recorded::Recorded;
use seriatim_explore::{self as explore, Growth};
use seriatim_lang::Program;
use seriatim_lists as lists;
use seriatim_spec::answer::{Answer, Standing, StuckProof};
use seriatim_spec::run::Run;

/// An answer, and what else is known from those who gave it.
#[derive(Clone, Debug)]
pub struct Verified {
    /// The claims, each with its scope and its evidence.
    pub answer: Answer,
    /// The exploration that the answer rests on, if it rests on one: its bounds, its costs, and for
    /// a violation the moves that lead to it.
    pub explored: Option<explore::Outcome>,
    /// The rounds of an exploration whose bounds were raised.
    pub growth: Option<Growth>,
    /// What was decided of each composition of methods, where lists of any length were asked about.
    pub compositions: Vec<lists::Outcome>,
    /// The certificate of a proof, which the checker has accepted.
    pub certificate: Option<String>,
    /// Where the proof got stuck, if one was tried and there is none.
    pub stuck: Option<Box<StuckProof>>,
}

impl Verified {
    /// An answer, with nothing else.
    pub(crate) fn new(answer: Answer) -> Verified {
        Verified {
            answer,
            explored: None,
            growth: None,
            compositions: Vec::new(),
            certificate: None,
            stuck: None,
        }
    }

    /// What an exploration alone says.
    pub fn explored(outcome: explore::Outcome) -> Verified {
        Verified { explored: Some(outcome.clone()), ..Verified::new(outcome.answer()) }
    }

    /// The history of the run that contradicts a claim, judged by the monitors.
    pub fn recorded(&self, program: &Program) -> Option<Recorded> {
        if let Some(explore::Verdict::Violation(found)) =
            self.explored.as_ref().map(|outcome| &outcome.verdict)
        {
            return Recorded::of(program, &found.run());
        }
        let shown = self.run()?;
        let found = self.compositions.iter().flat_map(lists::Outcome::counterexamples);
        let mut found = found.filter(|found| found.run(program) == *shown);
        found.next().and_then(|found| Recorded::of_list(program, found))
    }

    /// The run that contradicts a claim, if one is violated.
    pub fn run(&self) -> Option<&Run> {
        match self.answer.standing(self.answer.violated()?) {
            Standing::Violated { run, .. } => run.as_deref(),
            _ => None,
        }
    }
}
