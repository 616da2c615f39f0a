//! All violated parts of a history, each with a small core.
//!
//! A check that goes on after the first violation ([`StopAt::End`](crate::StopAt::End)) knows of
//! each part how it stands, and explains one. Here each of the others is checked by itself, as a
//! history of its own, and its counterexample told in the operations of the whole. Parts are
//! independent, so a core of a part is one of the history. Which parts there are, and in which
//! order, does not depend on threads; so the list is the same in every run, as long as no time runs
//! out.
//!
//! An object that tells its version is one part, and still has keys: each key that cannot be
//! completed, whatever happened to the others, is listed, with the core that the engine of versions
//! has for it.

use crate::check::check;
use crate::options::{Detail, Options};
use crate::partition::{Part, partition};
use crate::versions;
use seriatim_history::{History, Horizon, InputError, OpId, Value};
use seriatim_spec::{
    Cancel, Checked, Counterexample, DecidedBy, Interpretation, PartStanding, Reader, Verdict,
    ViolatedPart,
};
use std::time::Duration;

/// The violated parts of a history that was checked, in the order of their first operations; at
/// most fifty. Parts without a label are the whole history: there is nothing to list then but the
/// keys of an object that tells its version.
///
/// ```
/// use seriatim_monitor::{Options, StopAt, check, violated_parts};
/// use seriatim_spec::{ChosenReader, Failures, SpecChoice};
/// let log = r#"{"process":0,"op":"get","key":"a","result":1,"call":1,"return":2}
/// {"process":1,"op":"get","key":"b","result":2,"call":1,"return":2}"#;
/// let mut history = seriatim_history::read_str(log).unwrap();
/// let reader = ChosenReader { choice: SpecChoice::parse("map").unwrap(), failures: Failures::Drop };
/// let options = Options { stop_at: StopAt::End, ..Options::default() };
/// let checked = check(&mut history, &reader, &options).unwrap();
/// let parts = violated_parts(&mut history, &reader, &checked, &options).unwrap();
/// assert_eq!(parts.len(), 2);
/// ```
pub fn violated_parts(
    history: &mut History,
    reader: &dyn Reader,
    checked: &Checked,
    options: &Options<'_>,
) -> Result<Vec<ViolatedPart>, InputError> {
    if !matches!(checked.verdict, Verdict::Violation(_)) {
        return Ok(Vec::new());
    }
    // A monitor that decided the whole history says nothing of its parts: then all of them are
    // asked.
    let decided = |label: &str| checked.parts.iter().find(|part| part.label == label);
    let reading = reader.read(history)?;
    let parts = partition(history, &reading, options.partitioning);
    let request = options.request();
    let mut violated = Vec::new();
    for part in parts {
        if violated.len() == ViolatedPart::MOST || request.is_raised() {
            break;
        }
        let standing = decided(&part.label);
        if standing.is_some_and(|part| part.standing != PartStanding::Violation) {
            continue;
        }
        if standing.is_some_and(|part| part.decided_by == DecidedBy::Monitor("versions")) {
            let keys = violated_keys(
                history,
                &reading,
                &part,
                ViolatedPart::MOST - violated.len(),
                &request,
            );
            if !keys.is_empty() {
                violated.extend(keys);
                continue;
            }
        }
        if !part.label.is_empty() {
            violated.extend(violated_part(history, reader, &part, options, &request)?);
        }
    }
    Ok(violated)
}

/// A part, if it is violated by itself.
fn violated_part(
    history: &mut History,
    reader: &dyn Reader,
    part: &Part,
    options: &Options<'_>,
    request: &Cancel,
) -> Result<Option<ViolatedPart>, InputError> {
    let mut excerpt = history.restricted(&part.operations, Horizon::Whole);
    let limits = Options {
        time: Some(options.explain.max(Duration::from_secs(1))),
        memory: options.memory,
        threads: options.threads,
        monitors: options.monitors,
        strategies: options.strategies.clone(),
        detail: Detail::Minimal,
        explain: options.explain / 4,
        cancel: Some(request),
        ..Options::default()
    };
    let Verdict::Violation(core) = check(&mut excerpt, reader, &limits)?.verdict else {
        return Ok(None);
    };
    let Counterexample { operations, explanation, .. } = core;
    let operations = operations.into_iter().map(|op| part.operations[op.index()]).collect();
    Ok(Some(ViolatedPart { label: part.label.clone(), operations, why: explanation.sentence }))
}

/// The violated keys of a part that was decided along its versions.
fn violated_keys(
    history: &History,
    reading: &Interpretation,
    part: &Part,
    most: usize,
    request: &Cancel,
) -> Vec<ViolatedPart> {
    let ask = || versions::violated_keys(history, reading, &part.operations, request, most);
    let cores = request.during(ask).unwrap_or_default();
    let listed = cores.into_iter().map(|core| {
        let key = key_of(history, &core.operations);
        let names = [Some(part.label.clone()), key].into_iter().flatten();
        let names: Vec<String> = names.filter(|name| !name.is_empty()).collect();
        let label = if names.is_empty() { "one key".to_owned() } else { names.join(", ") };
        let why = core.explanation.sentence;
        ViolatedPart { label, operations: core.operations, why }
    });
    listed.collect()
}

/// The key that most of these operations name, as their key or their first argument.
fn key_of(history: &History, operations: &[OpId]) -> Option<String> {
    let named = |op: &OpId| {
        let (key, values) = (history.key(*op), history.values());
        let told = if key.is_present() { key } else { history.arg(*op) };
        match values.get(told) {
            Value::List(items) => items.first().cloned(),
            other => Some(other),
        }
    };
    let is_plain = |name: &Value| !matches!(name, Value::List(_) | Value::Map(_) | Value::Nil);
    let names: Vec<Value> = operations.iter().filter_map(named).filter(is_plain).collect();
    let times = |name: &Value| names.iter().filter(|other| *other == name).count();
    let most = names.iter().rev().max_by_key(|name| times(name))?;
    Some(format!("key {most}"))
}
