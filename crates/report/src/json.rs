//! The report for programs: one JSON object, whose schema is `docs/report-schema.json`.
//!
//! Values are whole where they are data: what an operation was called with and what it returned.
//! In sentences, states and names, which may repeat a value any number of times, the middle of what
//! is longer than a screen gives way to its length, so that the report is as long as what it is
//! about and no longer.
//!
//! The schema is versioned by the field `schema`. Within a version fields are only added, never
//! removed or given another meaning.

use crate::evidence::Evidence;
use crate::report::{Report, decider, returns_within};
use crate::text::{SCREEN, middle};
use serde::ser::{SerializeMap, Serializer};
use serde::{Serialize, ser};
use serde_json::value::RawValue;
use seriatim_history::{
    History, Horizon, OpId, Outcome, Since, Time, Value, ValueId, harmless_json,
};
use seriatim_spec::{
    Attempt, Context, Counterexample, Limit, PartVerdict, Unknown, Verdict, ViolatedPart,
};
use std::borrow::Cow;
use std::io::{self, Write};

/// The version of the schema.
pub const SCHEMA: u32 = 1;

/// The report as one line of JSON, with a line break at its end.
pub fn render(report: &Report<'_>) -> String {
    let text = serde_json::to_string(&Document::of(report)).expect("every part can be written");
    harmless_json(&text).into_owned() + "\n"
}

/// Writes the report as one line of JSON, with a line break at its end.
pub fn write(report: &Report<'_>, out: &mut impl Write) -> io::Result<()> {
    out.write_all(render(report).as_bytes())
}

#[derive(Serialize)]
struct Document<'r> {
    schema: u32,
    verdict: &'static str,
    source: &'r str,
    spec: &'r str,
    operations: Sizes,
    processes: usize,
    parts: Vec<Part<'r>>,
    statistics: Costs,
    warnings: Vec<Cow<'r, str>>,
    notes: Vec<Cow<'r, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    evidence: Option<&'r Evidence>,
    #[serde(skip_serializing_if = "Option::is_none")]
    witness: Option<Order<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    counterexample: Option<Refutation<'r>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    violated: Vec<Violated<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<Times>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unknown: Option<Ignorance<'r>>,
}

impl<'r> Document<'r> {
    fn of(report: &'r Report<'_>) -> Self {
        let history = report.history;
        let tally = history.tally();
        let (mut witness, mut counterexample, mut unknown) = (None, None, None);
        match report.verdict {
            Verdict::Linearizable(found) => witness = Some(Order { history, order: &found.order }),
            Verdict::Violation(found) => counterexample = Some(Refutation::of(report, found)),
            Verdict::Unknown(why) => unknown = Some(Ignorance::of(why)),
        }
        Document {
            schema: SCHEMA,
            verdict: report.verdict.word(),
            source: history.source(),
            spec: report.spec,
            operations: Sizes {
                total: history.len(),
                ok: tally.ok,
                failed: tally.failed,
                pending: tally.pending,
            },
            processes: history.process_count(),
            parts: report.parts.iter().map(Part::of).collect(),
            statistics: Costs {
                elapsed_seconds: report.statistics.elapsed.map(|elapsed| elapsed.as_secs_f64()),
                configurations: report.statistics.configurations,
                memory_bytes: report.statistics.memory,
            },
            warnings: told(&report.warnings),
            notes: told(&report.notes),
            evidence: report.evidence.as_ref(),
            witness,
            counterexample,
            violated: report.violated.iter().map(Violated::of).collect(),
            time: Times::of(history),
            unknown,
        }
    }
}

#[derive(Serialize)]
struct Sizes {
    total: usize,
    ok: usize,
    failed: usize,
    pending: usize,
}

#[derive(Serialize)]
struct Costs {
    elapsed_seconds: Option<f64>,
    configurations: u64,
    memory_bytes: u64,
}

#[derive(Serialize)]
struct Part<'r> {
    label: Cow<'r, str>,
    operations: usize,
    standing: &'static str,
    decided_by: Option<&'r str>,
}

impl<'r> Part<'r> {
    fn of(part: &'r PartVerdict) -> Self {
        Part {
            label: middle(&part.label, SCREEN),
            operations: part.operations,
            standing: part.standing.word(),
            decided_by: decider(part.decided_by),
        }
    }
}

/// A violated part with its core.
#[derive(Serialize)]
struct Violated<'r> {
    label: Cow<'r, str>,
    operations: Ids<'r>,
    why: Cow<'r, str>,
}

impl<'r> Violated<'r> {
    fn of(part: &'r ViolatedPart) -> Self {
        let (label, why) = (middle(&part.label, SCREEN), middle(&part.why, SCREEN));
        Violated { label, operations: Ids(&part.operations), why }
    }
}

/// What times count, and since when.
#[derive(Serialize)]
struct Times {
    unit: &'static str,
    since: &'static str,
}

impl Times {
    fn of(history: &History) -> Option<Self> {
        let since = match history.timescale().since {
            Since::Start => "start",
            Since::Unix => "unix",
        };
        history.moment(0)?;
        Some(Times { unit: history.timescale().unit.name()?, since })
    }
}

/// An order of operations: their ids, and the lines of the source that they stand in.
struct Order<'r> {
    history: &'r History,
    order: &'r [OpId],
}

impl Serialize for Order<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("order", &Ids(self.order))?;
        map.serialize_entry("lines", &Lines(self))?;
        map.end()
    }
}

struct Ids<'r>(&'r [OpId]);

impl Serialize for Ids<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|op| op.0))
    }
}

struct Lines<'o>(&'o Order<'o>);

impl Serialize for Lines<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Order { history, order } = self.0;
        serializer.collect_seq(order.iter().map(|&op| line(history, op)))
    }
}

fn line(history: &History, op: OpId) -> Option<u64> {
    Some(history.line(op)).filter(|&line| line != 0)
}

#[derive(Serialize)]
struct Refutation<'r> {
    part: Option<Cow<'r, str>>,
    operations: Vec<Shown<'r>>,
    horizon: Option<Time>,
    context: Option<Before<'r>>,
    explanation: Reasons<'r>,
}

impl<'r> Refutation<'r> {
    fn of(report: &'r Report<'_>, found: &'r Counterexample) -> Self {
        let history = report.history;
        let shown = |&op: &OpId| Shown::of(history, op, found.horizon);
        Refutation {
            part: report.violated_part(),
            operations: found.operations.iter().map(shown).collect(),
            horizon: match found.horizon {
                Horizon::Whole => None,
                Horizon::Until(end) => Some(end),
            },
            context: found.context.as_ref().map(|Context { order, state }| Before {
                order: Order { history, order },
                state: middle(state, SCREEN),
            }),
            explanation: Reasons {
                sentence: middle(&found.explanation.sentence, SCREEN),
                attempts: found.explanation.attempts.iter().map(Trial::of).collect(),
            },
        }
    }
}

#[derive(Serialize)]
struct Before<'r> {
    #[serde(flatten)]
    order: Order<'r>,
    state: Cow<'r, str>,
}

#[derive(Serialize)]
struct Reasons<'r> {
    sentence: Cow<'r, str>,
    attempts: Vec<Trial<'r>>,
}

#[derive(Serialize)]
struct Trial<'r> {
    order: Ids<'r>,
    state: Cow<'r, str>,
    stuck: Vec<Stuck<'r>>,
}

impl<'r> Trial<'r> {
    fn of(attempt: &'r Attempt) -> Self {
        let stuck = attempt.stuck.iter();
        let stuck = stuck.map(|(op, why)| Stuck { id: op.0, reason: middle(why, SCREEN) });
        let state = middle(&attempt.state, SCREEN);
        Trial { order: Ids(&attempt.order), state, stuck: stuck.collect() }
    }
}

#[derive(Serialize)]
struct Stuck<'r> {
    id: u32,
    reason: Cow<'r, str>,
}

/// One operation, as far as the counterexample knows it.
#[derive(Serialize)]
struct Shown<'r> {
    id: u32,
    process: Written,
    method: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<Written>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<Written>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arg: Option<Written>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Written>,
    outcome: &'static str,
    call: Time,
    #[serde(rename = "return")]
    ret: Option<Time>,
    returns_later: bool,
    call_time: Time,
    return_time: Option<Time>,
    line: Option<u64>,
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<Written>,
}

impl<'r> Shown<'r> {
    fn of(history: &'r History, op: OpId, horizon: Horizon) -> Self {
        let operation = history.operation(op);
        let known = returns_within(history, op, horizon);
        let value = |id: ValueId| id.is_present().then(|| Written(history.values().get(id)));
        let ret = operation.ret().filter(|_| known);
        let mut text = operation.call_text();
        if let Some(result) = crate::labels::result(history, op, horizon) {
            text = format!("{text} -> {result}");
        }
        Shown {
            id: op.0,
            process: Written(history.process_name(operation.process()).clone()),
            method: operation.method(),
            object: value(operation.object()),
            key: value(operation.key()),
            arg: value(operation.arg()),
            result: value(operation.result()).filter(|_| known),
            outcome: match operation.outcome() {
                Outcome::Ok if known => "ok",
                Outcome::Failed if known => "failed",
                _ => "pending",
            },
            call: operation.call(),
            ret,
            returns_later: operation.ret().is_some() && !known,
            call_time: history.display_time(operation.call()),
            return_time: ret.map(|ret| history.display_time(ret)),
            line: line(history, op),
            text: middle(&text, SCREEN).into_owned(),
            note: history.note(op).cloned().map(Written),
        }
    }
}

#[derive(Serialize)]
struct Ignorance<'r> {
    limit: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    defect: Option<&'r str>,
    linearizable_events: usize,
    decided: Vec<Cow<'r, str>>,
    open: Vec<Cow<'r, str>>,
}

impl<'r> Ignorance<'r> {
    fn of(unknown: &'r Unknown) -> Self {
        Ignorance {
            limit: match unknown.limit {
                Limit::Time => "time",
                Limit::Memory => "memory",
                Limit::Cancelled => "cancelled",
                Limit::Defect => "defect",
                Limit::Ties => "ties",
                Limit::Incomplete => "incomplete",
            },
            defect: unknown.defect.as_deref(),
            linearizable_events: unknown.linearizable_events,
            decided: told(&unknown.decided),
            open: told(&unknown.open),
        }
    }
}

/// Sentences or names, each at most a screen long.
fn told(texts: &[String]) -> Vec<Cow<'_, str>> {
    texts.iter().map(|text| middle(text, SCREEN)).collect()
}

/// A value in JSON. What JSON cannot say is wrapped: `{"#name": "x"}`, `{"#number": "1/3"}`,
/// `{"#map": [[key, value]]}`; so the values of our own JSON Lines read the same here.
struct Written(Value);

impl Serialize for Written {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        value(&self.0, serializer)
    }
}

pub(crate) struct Nested<'v>(pub &'v Value);

impl Serialize for Nested<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        value(self.0, serializer)
    }
}

fn value<S: Serializer>(value: &Value, serializer: S) -> Result<S::Ok, S::Error> {
    match value {
        Value::Nil => serializer.serialize_unit(),
        Value::Bool(truth) => serializer.serialize_bool(*truth),
        Value::Int(number) => serializer.serialize_i64(*number),
        Value::Number(digits) => number(digits, serializer),
        Value::Text(text) => serializer.serialize_str(text),
        Value::Name(name) => wrapped("#name", name, serializer),
        Value::List(items) => serializer.collect_seq(items.iter().map(Nested)),
        Value::Map(entries) => map(entries, serializer),
    }
}

fn number<S: Serializer>(digits: &str, serializer: S) -> Result<S::Ok, S::Error> {
    let looks_right = digits.starts_with(|c: char| c == '-' || c.is_ascii_digit());
    match RawValue::from_string(digits.to_owned()) {
        Ok(raw) if looks_right => raw.serialize(serializer).map_err(ser::Error::custom),
        _ => wrapped("#number", digits, serializer),
    }
}

fn wrapped<S: Serializer>(tag: &str, text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map([(tag, text)])
}

fn map<S: Serializer>(entries: &[(Value, Value)], serializer: S) -> Result<S::Ok, S::Error> {
    let plain = |key: &Value| matches!(key, Value::Text(text) if !text.starts_with('#'));
    if entries.iter().all(|(key, _)| plain(key)) {
        let entries = entries.iter().map(|(key, value)| (key.as_str(), Nested(value)));
        return serializer.collect_map(entries);
    }
    let pairs: Vec<[Nested<'_>; 2]> =
        entries.iter().map(|(key, value)| [Nested(key), Nested(value)]).collect();
    serializer.collect_map([("#map", pairs)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_json_cannot_say_are_wrapped() {
        let samples = [
            (Value::Nil, "null"),
            (Value::Int(i64::MIN), "-9223372036854775808"),
            (Value::Number("1.50".into()), "1.50"),
            (Value::Number("1/3".into()), r##"{"#number":"1/3"}"##),
            (Value::Name("a".into()), r##"{"#name":"a"}"##),
            (Value::list([Value::Bool(true), Value::text("\"")]), r#"[true,"\""]"#),
            (Value::map([(Value::text("a"), Value::Nil)]), r#"{"a":null}"#),
            (Value::map([(Value::Int(1), Value::Nil)]), r##"{"#map":[[1,null]]}"##),
            (Value::map([(Value::text("#a"), Value::Nil)]), r##"{"#map":[["#a",null]]}"##),
        ];
        for (value, expected) in samples {
            assert_eq!(serde_json::to_string(&Written(value)).unwrap(), expected);
        }
    }
}
