//! What every report is made from.

use crate::States;
use crate::evidence::{self, Evidence};
use crate::hints::hints;
use crate::text;
use seriatim_history::{History, Horizon, OpId};
use seriatim_spec::{
    Checked, Counterexample, DecidedBy, PartStanding, PartVerdict, Reader, Strategy, Verdict,
    ViolatedPart,
};
use std::borrow::Cow;
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
    pub parts: Vec<PartVerdict>,
    /// What the check cost.
    pub statistics: Statistics,
    /// What the reader should know before believing the verdict.
    pub warnings: Vec<String>,
    /// What stands behind the verdict besides the engine that found it.
    pub evidence: Option<Evidence>,
    /// What else was checked, and held.
    pub notes: Vec<String>,
    /// Every part that is violated with a core of its own, where all were looked at.
    pub violated: Vec<ViolatedPart>,
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
            violated: Vec::new(),
            states: States::default(),
        }
    }

    /// A report on what a check found, with what stands behind the verdict, why no fast monitor
    /// decided it, and hints at mistakes of recording. It has no states:
    /// [`with_states`](Report::with_states) adds them.
    ///
    /// ```
    /// use seriatim_history::Builder;
    /// use seriatim_report::Report;
    /// use seriatim_spec::{Checked, ChosenReader, Failures, Replayed, SpecChoice, Verdict};
    /// let history = Builder::new("empty.jsonl").finish().unwrap();
    /// let reader =
    ///     ChosenReader { choice: SpecChoice::parse("queue").unwrap(), failures: Failures::Drop };
    /// let checked = Checked::new(Verdict::Linearizable(Replayed::on_record()));
    /// let report = Report::of(&history, "queue", &checked, &reader);
    /// assert!(report.evidence.is_none());
    /// ```
    pub fn of(
        history: &'a History,
        spec: &'a str,
        checked: &'a Checked,
        reader: &dyn Reader,
    ) -> Self {
        let mut report = Report::new(history, spec, &checked.verdict);
        report.parts.clone_from(&checked.parts);
        report.statistics.configurations = checked.configurations as u64;
        report.statistics.memory = checked.memory as u64;
        report.evidence = evidence::of(checked, reader, history.len());
        report.notes.extend(why_no_monitor(&checked.parts));
        report.notes.extend(hints(history, &checked.verdict, reader));
        report
    }

    /// The report with the states along the verdict's orders: of a witness its first `steps` steps.
    /// Reading a long history again takes time and memory: only a violation has states if no steps
    /// are asked for.
    #[must_use]
    pub fn with_states(mut self, reader: &dyn Reader, steps: usize) -> Self {
        if steps > 0 || matches!(self.verdict, Verdict::Violation(_)) {
            self.states = States::replay(self.history, reader, self.verdict, steps);
        }
        self
    }

    /// The name of the object, without parameters: `cas-register`.
    pub(crate) fn object_name(&self) -> &str {
        self.spec.split('(').next().unwrap_or(self.spec).trim()
    }

    /// The label of the part that is violated, if the history was split.
    pub(crate) fn violated_part(&self) -> Option<Cow<'_, str>> {
        let violated = self.parts.iter().find(|part| part.standing == PartStanding::Violation)?;
        (!violated.label.is_empty()).then(|| text::middle(&violated.label, text::SCREEN))
    }

    /// How many parts stand how: linearizable, violated, open.
    pub(crate) fn standings(&self) -> (usize, usize, usize) {
        let count = |standing| self.parts.iter().filter(|part| part.standing == standing).count();
        (
            count(PartStanding::Linearizable),
            count(PartStanding::Violation),
            count(PartStanding::Open),
        )
    }

    /// Who decided, with the number of parts: `queue monitor`, `3`; the busiest first.
    pub(crate) fn deciders(&self) -> Vec<(&'static str, usize)> {
        let mut deciders: Vec<(&str, usize)> = Vec::new();
        for decider in self.parts.iter().filter_map(|part| decider(part.decided_by)) {
            match deciders.iter_mut().find(|(name, _)| *name == decider) {
                Some((_, count)) => *count += 1,
                None => deciders.push((decider, 1)),
            }
        }
        deciders.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
        deciders
    }
}

/// Who decided a part, in words; none if nobody did.
pub(crate) fn decider(decided_by: DecidedBy) -> Option<&'static str> {
    match decided_by {
        DecidedBy::Monitor(name) => Some(name),
        DecidedBy::Inspection => Some("a look at the operations"),
        DecidedBy::Search(Strategy::DepthFirst) => Some("depth-first search"),
        DecidedBy::Search(Strategy::BreadthFirst) => Some("breadth-first search"),
        DecidedBy::Nobody => None,
    }
}

/// Why the fast monitor did not decide, where there might have been one.
fn why_no_monitor(parts: &[PartVerdict]) -> Option<String> {
    let mut reasons = parts.iter().filter_map(|part| part.fell_back.as_deref());
    let first = reasons.next()?;
    Some(match reasons.count() {
        0 => format!("no fast monitor: {first}"),
        others => format!("no fast monitor: {first} (and so for {others} more parts)"),
    })
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
