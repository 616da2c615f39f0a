//! All violated parts of a history, each with a small core.
//!
//! A check that goes on after the first violation ([`StopAt::End`](crate::StopAt::End)) knows of
//! each part how it stands, and explains one. Here each of the others is checked by itself, as a
//! history of its own, and its counterexample told in the operations of the whole. Parts are
//! independent, so a core of a part is one of the history. Which parts there are, and in which
//! order, does not depend on threads; so the list is the same in every run, as long as no time runs
//! out.

use crate::check::check;
use crate::options::{Detail, Options};
use crate::partition::partition;
use seriatim_history::{History, Horizon, InputError};
use seriatim_spec::{Checked, Counterexample, PartStanding, Reader, Verdict, ViolatedPart};
use std::time::Duration;

/// The most parts that are explained.
const MOST: usize = 50;

/// The violated parts of a history that was checked, in the order of their first operations; at
/// most fifty. Parts without a label are the whole history: there is nothing to list then.
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
    let may_be_violated = |label: &str| {
        let same = |part: &&seriatim_spec::PartVerdict| part.label == label;
        checked.parts.iter().find(same).is_none_or(|part| part.standing == PartStanding::Violation)
    };
    let reading = reader.read(history)?;
    let parts = partition(history, &reading, options.partitioning);
    let suspects =
        parts.iter().filter(|part| !part.label.is_empty() && may_be_violated(&part.label));
    let mut violated = Vec::new();
    let request = options.request();
    for part in suspects {
        if violated.len() == MOST || request.is_raised() {
            break;
        }
        let mut excerpt = history.restricted(&part.operations, Horizon::Whole);
        let limits = Options {
            time: Some(options.explain.max(Duration::from_secs(1))),
            memory: options.memory,
            threads: options.threads,
            monitors: options.monitors,
            strategies: options.strategies.clone(),
            detail: Detail::Minimal,
            explain: options.explain / 4,
            cancel: Some(&request),
            ..Options::default()
        };
        if let Verdict::Violation(core) = check(&mut excerpt, reader, &limits)?.verdict {
            let Counterexample { operations, explanation, .. } = core;
            let operations = operations.into_iter().map(|op| part.operations[op.index()]).collect();
            let (label, why) = (part.label.clone(), explanation.sentence);
            violated.push(ViolatedPart { label, operations, why });
        }
    }
    Ok(violated)
}
