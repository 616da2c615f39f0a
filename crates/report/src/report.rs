//! What every report is made from.

use crate::States;
use seriatim_history::{History, Horizon, OpId};
use seriatim_spec::{Counterexample, Verdict};
use std::time::Duration;

/// A verdict with everything that a person may want to know about it.
///
/// ```
/// use seriatim_history::Builder;
/// use seriatim_report::{Report, terminal};
/// use seriatim_spec::{Replayed, Verdict};
/// let history = Builder::new("empty.jsonl").finish().unwrap();
/// let verdict = Verdict::Linearizable(Replayed::on_record());
/// let report = Report::new(&history, "queue", &verdict);
/// let text = terminal::render(&report, &terminal::Style::plain(80));
/// assert!(text.contains("the history is empty: nothing was checked"));
/// ```
pub struct Report<'a> {
    /// The history, whole.
    pub history: &'a History,
    /// The specification, as the user may write it: `queue`, `cas-register(init=0)`.
    pub spec: &'a str,
    /// The verdict.
    pub verdict: &'a Verdict,
    /// What is known of each part of the history.
    pub parts: Vec<PartLine>,
    /// What the check cost.
    pub statistics: Statistics,
    /// What the reader should know before believing the verdict.
    pub warnings: Vec<String>,
    /// What stands behind the verdict besides the engine that found it.
    pub evidence: Option<Evidence>,
    /// What else was checked, and held.
    pub notes: Vec<String>,
    /// The states of the object along the verdict's orders; for the page.
    pub states: States,
}

impl<'a> Report<'a> {
    /// A report that says nothing about how the verdict came about. It warns if the history is
    /// vacuous.
    pub fn new(history: &'a History, spec: &'a str, verdict: &'a Verdict) -> Self {
        Report {
            history,
            spec,
            verdict,
            parts: Vec::new(),
            statistics: Statistics::default(),
            warnings: history.tally().vacuous().map(str::to_owned).into_iter().collect(),
            evidence: None,
            notes: Vec::new(),
            states: States::default(),
        }
    }

    /// The name of the object, without parameters: `cas-register`.
    pub(crate) fn object_name(&self) -> &str {
        self.spec.split('(').next().unwrap_or(self.spec).trim()
    }

    /// The label of the part that is violated, if the history was split.
    pub(crate) fn violated_part(&self) -> Option<&str> {
        let violated = self.parts.iter().find(|part| part.standing == Standing::Violation)?;
        (!violated.label.is_empty()).then_some(&violated.label)
    }

    /// How many parts stand how: linearizable, violated, open.
    pub(crate) fn standings(&self) -> (usize, usize, usize) {
        let count = |standing| self.parts.iter().filter(|part| part.standing == standing).count();
        (count(Standing::Linearizable), count(Standing::Violation), count(Standing::Open))
    }

    /// Who decided, with the number of parts: `queue monitor`, `3`; the busiest first.
    pub(crate) fn deciders(&self) -> Vec<(&str, usize)> {
        let mut deciders: Vec<(&str, usize)> = Vec::new();
        for part in self.parts.iter().filter(|part| !part.decided_by.is_empty()) {
            match deciders.iter_mut().find(|(name, _)| *name == part.decided_by) {
                Some((_, count)) => *count += 1,
                None => deciders.push((&part.decided_by, 1)),
            }
        }
        deciders.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
        deciders
    }
}

/// What stands behind a verdict besides the engine that found it.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Evidence {
    /// Of what kind it is.
    pub kind: EvidenceKind,
    /// Who checked what, in words.
    pub text: String,
    /// How many operations of the part a counterexample does without, by the reason why that is fair.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
}

/// Of what kind evidence is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum EvidenceKind {
    /// The order of a linearizable history was replayed.
    Replayed,
    /// A second checker found no order either.
    Confirmed,
    /// The second checker gave up: the counterexample is too large for it.
    Unconfirmed,
}

/// Operations that a counterexample does without.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub struct LeftOut {
    /// How many.
    pub operations: usize,
    /// Why that is fair: if the rest is wrong, so is the whole.
    pub because: &'static str,
}

/// What is known of one part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartLine {
    /// The key or object; empty where nothing was split.
    pub label: String,
    /// The number of operations.
    pub operations: usize,
    /// What is known.
    pub standing: Standing,
    /// Who found out, in words (`depth-first search`); empty if nobody did.
    pub decided_by: String,
}

/// What is known of one part, in a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// It is linearizable.
    Linearizable,
    /// It is not.
    Violation,
    /// Nobody knows, or nobody looked.
    Open,
}

/// What a check cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Statistics {
    /// The time from the question to the answer.
    pub elapsed: Option<Duration>,
    /// The configurations that the general search met.
    pub configurations: u64,
    /// The peak of the searches' memory, in bytes.
    pub memory: u64,
}

/// The operations that some attempt could not place, without repetition, in call order.
pub(crate) fn stuck_operations(counterexample: &Counterexample) -> Vec<OpId> {
    let attempts = &counterexample.explanation.attempts;
    let mut stuck: Vec<OpId> =
        attempts.iter().flat_map(|attempt| attempt.stuck.iter().map(|&(op, _)| op)).collect();
    if stuck.is_empty() && counterexample.operations.len() == 1 {
        stuck = counterexample.operations.clone();
    }
    stuck.sort_unstable();
    stuck.dedup();
    stuck
}

/// Whether an operation returns within the horizon of a counterexample.
pub(crate) fn returns_within(history: &History, op: OpId, horizon: Horizon) -> bool {
    match (history.ret(op), horizon) {
        (None, _) => false,
        (Some(_), Horizon::Whole) => true,
        (Some(ret), Horizon::Until(end)) => ret <= end,
    }
}
