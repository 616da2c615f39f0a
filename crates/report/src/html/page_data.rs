//! What a page knows besides the columns of the history: names, the verdict, its reasons.

use super::columns::Ranks;
use crate::labels::Labels;
use crate::report::{Report, decider, returns_within};
use crate::text;
use serde::Serialize;
use seriatim_history::{Annotation, History, Horizon, MethodId, OpId, ProcessId, Since};
use seriatim_spec::{Attempt, Counterexample, PartStanding, PartVerdict, Unknown, Verdict};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The most notes, parts and annotations that a page carries.
const MOST_NOTES: usize = 20_000;
const MOST_PARTS: usize = 2_000;
const MOST_ANNOTATIONS: usize = 5_000;

/// The data of a page. `web/main.js` reads it under the same names.
#[derive(Serialize)]
pub struct PageData<'r> {
    verdict: &'static str,
    source: &'r str,
    spec: &'r str,
    object: &'r str,
    facts: Vec<String>,
    warnings: &'r [String],
    sentence: String,
    processes: Vec<String>,
    methods: Vec<&'r str>,
    silent_args: Vec<bool>,
    silent_results: Vec<bool>,
    ranks: usize,
    first_time: String,
    /// How many nanoseconds a unit of the recorded times is.
    #[serde(skip_serializing_if = "Option::is_none")]
    unit: Option<u64>,
    /// Whether they count from 1970 on.
    is_unix: bool,
    annotations: Vec<Around<'r>>,
    notes: BTreeMap<u32, String>,
    parts: Vec<PartRow<'r>>,
    parts_left_out: usize,
    states: &'r [String],
    counterexample: Option<Refutation<'r>>,
    unknown: Option<Ignorance<'r>>,
}

impl<'r> PageData<'r> {
    pub fn of(report: &'r Report<'_>, ranks: &Ranks) -> Self {
        let history = report.history;
        let first = (!history.is_empty()).then(|| history.display_time(history.call(OpId(0))));
        let (sentence, counterexample, unknown) = match report.verdict {
            Verdict::Linearizable(_) => (String::new(), None, None),
            Verdict::Violation(found) => (
                text::middle(&found.explanation.sentence, text::SCREEN).into_owned(),
                Some(Refutation::of(report, found, ranks)),
                None,
            ),
            Verdict::Unknown(unknown) => {
                let defect = unknown.defect.as_ref().map(|defect| format!(": {defect}"));
                let sentence = format!("{}{}", unknown.limit, defect.unwrap_or_default());
                (sentence, None, Some(Ignorance::of(unknown)))
            }
        };
        let Labels { silent_args, silent_results, .. } = Labels::of(history);
        PageData {
            silent_args,
            silent_results,
            verdict: report.verdict.word(),
            source: history.source(),
            spec: report.spec,
            object: report.object_name(),
            facts: facts(report),
            warnings: &report.warnings,
            sentence,
            processes: processes(history),
            methods: (0..history.method_count())
                .map(|method| history.method_name(MethodId::from(method)))
                .collect(),
            ranks: ranks.len(),
            first_time: first.unwrap_or(0).to_string(),
            unit: history.timescale().unit.nanoseconds(),
            is_unix: history.timescale().since == Since::Unix,
            annotations: history
                .annotations()
                .iter()
                .take(MOST_ANNOTATIONS)
                .map(|annotation| Around::of(annotation, ranks))
                .collect(),
            notes: notes(history),
            parts: report
                .parts
                .iter()
                .take(MOST_PARTS)
                .map(|part| PartRow::of(part, report))
                .chain(keys_within(report))
                .collect(),
            parts_left_out: report.parts.len().saturating_sub(MOST_PARTS),
            states: &report.states.witness,
            counterexample,
            unknown,
        }
    }
}

impl PageData<'_> {
    /// The same without a verdict.
    pub fn unjudged(self) -> Self {
        PageData { sentence: String::new(), unknown: None, ..self }
    }
}

/// From when on the history is, and how long, where its times have a unit.
fn extent(history: &History) -> Option<String> {
    history.timescale().unit.name()?;
    let calls = history.operations().map(|op| op.call());
    let ends = history.operations().map(|op| op.ret().unwrap_or(op.call()));
    let (from, to) = (calls.min()?, ends.max()?);
    let span = history.display_time(to).saturating_sub(history.display_time(from));
    Some(format!("{} from {}", history.timescale().duration(span), history.moment(from)?))
}

fn facts(report: &Report<'_>) -> Vec<String> {
    let history = report.history;
    let tally = history.tally();
    let mut facts = vec![
        text::count(history.len(), "operation"),
        text::count(history.process_count(), "process"),
    ];
    facts.extend(extent(history));
    for (number, word) in [(tally.pending, "pending"), (tally.failed, "failed")] {
        if number > 0 {
            facts.push(format!("{} {word}", text::grouped(number)));
        }
    }
    if report.parts.len() > 1 {
        facts.push(text::count(report.parts.len(), "part"));
    }
    if let Some((name, _)) = report.deciders().first() {
        facts.push(format!("decided by {name}"));
    }
    facts.extend(report.statistics.elapsed.map(text::duration));
    facts.extend(report.evidence.iter().map(|evidence| evidence.text.clone()));
    facts.extend(report.notes.iter().cloned());
    facts
}

fn processes(history: &History) -> Vec<String> {
    let processes = (0..history.process_count()).map(ProcessId::from);
    processes.map(|process| text::process(history, process)).collect()
}

fn notes(history: &History) -> BTreeMap<u32, String> {
    let all = (0..history.len()).map(OpId::from);
    let noted = all.filter_map(|op| {
        Some((op.0, text::middle(&history.note(op)?.to_string(), text::SCREEN).into_owned()))
    });
    noted.take(MOST_NOTES).collect()
}

#[derive(Serialize)]
struct PartRow<'r> {
    label: Cow<'r, str>,
    /// How many there are, where it is a part of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    operations: Option<usize>,
    standing: &'static str,
    decided_by: &'r str,
    /// Operations that no order explains, where the part is violated and was looked at.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    core: Vec<u32>,
}

impl<'r> PartRow<'r> {
    fn of(part: &'r PartVerdict, report: &Report<'_>) -> Self {
        let violated = report.violated.iter().find(|violated| violated.label == part.label);
        let core = violated.map_or(&[][..], |violated| &violated.operations);
        PartRow {
            label: text::middle(&part.label, text::SCREEN),
            operations: Some(part.operations),
            standing: part.standing.word(),
            decided_by: decider(part.decided_by).unwrap_or_default(),
            core: core.iter().map(|op| op.0).collect(),
        }
    }
}

/// The violated keys of objects that were not split.
fn keys_within<'r>(report: &'r Report<'_>) -> impl Iterator<Item = PartRow<'r>> {
    let is_part = |label: &str| report.parts.iter().any(|part| part.label == label);
    let keys = report.violated.iter().filter(move |violated| !is_part(&violated.label));
    keys.map(|violated| PartRow {
        label: text::middle(&violated.label, text::SCREEN),
        operations: None,
        standing: PartStanding::Violation.word(),
        decided_by: "",
        core: violated.operations.iter().map(|op| op.0).collect(),
    })
}

#[derive(Serialize)]
struct Around<'r> {
    start: f64,
    end: f64,
    group: &'r str,
    text: Cow<'r, str>,
    colour: Option<&'r str>,
}

impl<'r> Around<'r> {
    fn of(annotation: &'r Annotation, ranks: &Ranks) -> Self {
        let colour = annotation.colour.as_deref().filter(|colour| is_colour(colour));
        Around {
            start: ranks.nearest(annotation.start),
            end: ranks.nearest(annotation.end),
            group: &annotation.group,
            text: text::middle(&annotation.text, text::SCREEN),
            colour,
        }
    }
}

/// Whether a text is a name of a colour or `#rrggbb`, and nothing that a style sheet would act on.
fn is_colour(text: &str) -> bool {
    let hex = text.strip_prefix('#');
    let is_hex = hex.is_some_and(|digits| {
        matches!(digits.len(), 3 | 6) && digits.chars().all(|digit| digit.is_ascii_hexdigit())
    });
    is_hex || text.chars().all(|letter| letter.is_ascii_alphabetic())
}

#[derive(Serialize)]
struct Refutation<'r> {
    part: Option<Cow<'r, str>>,
    operations: Vec<u32>,
    /// Operations that return, but only after the horizon.
    open: Vec<u32>,
    context: Option<Before<'r>>,
    attempts: Vec<Trial<'r>>,
    stuck: Vec<u32>,
    end: Option<f64>,
}

impl<'r> Refutation<'r> {
    fn of(report: &'r Report<'_>, found: &'r Counterexample, ranks: &Ranks) -> Self {
        let history = report.history;
        let is_cut =
            |&&op: &&OpId| history.ret(op).is_some() && !returns_within(history, op, found.horizon);
        let states = &report.states.attempts;
        let says_something = |(_, attempt): &(usize, &Attempt)| {
            !attempt.order.is_empty() || !attempt.stuck.is_empty()
        };
        let attempts = found.explanation.attempts.iter().enumerate().filter(says_something);
        Refutation {
            part: report.violated_part(),
            operations: numbers(&found.operations),
            open: found.operations.iter().filter(is_cut).map(|op| op.0).collect(),
            context: found.context.as_ref().map(|context| Before {
                count: context.order.len(),
                state: text::middle(&context.state, text::SCREEN),
            }),
            attempts: attempts
                .map(|(index, attempt)| Trial::of(attempt, states.get(index)))
                .collect(),
            stuck: numbers(&crate::report::stuck_operations(found)),
            end: match found.horizon {
                Horizon::Whole => None,
                Horizon::Until(end) => Some(ranks.nearest(end)),
            },
        }
    }
}

fn numbers(operations: &[OpId]) -> Vec<u32> {
    operations.iter().map(|op| op.0).collect()
}

#[derive(Serialize)]
struct Before<'r> {
    count: usize,
    state: Cow<'r, str>,
}

#[derive(Serialize)]
struct Trial<'r> {
    order: Vec<u32>,
    state: Cow<'r, str>,
    states: &'r [String],
    stuck: Vec<(u32, Cow<'r, str>)>,
}

impl<'r> Trial<'r> {
    fn of(attempt: &'r Attempt, states: Option<&'r Vec<String>>) -> Self {
        Trial {
            order: numbers(&attempt.order),
            state: text::middle(&attempt.state, text::SCREEN),
            states: states.map_or(&[], Vec::as_slice),
            stuck: attempt
                .stuck
                .iter()
                .map(|(op, reason)| (op.0, text::middle(reason, text::SCREEN)))
                .collect(),
        }
    }
}

#[derive(Serialize)]
struct Ignorance<'r> {
    linearizable_events: usize,
    decided: &'r [String],
    open: &'r [String],
}

impl<'r> Ignorance<'r> {
    fn of(unknown: &'r Unknown) -> Self {
        let Unknown { linearizable_events, decided, open, .. } = unknown;
        Ignorance { linearizable_events: *linearizable_events, decided, open }
    }
}
