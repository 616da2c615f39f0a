//! Objects that were not empty at the start: which values may have been there.
//!
//! A history is linearizable *from an unknown start* if it is for some initial value of each part
//! (key, object). Parts are independent, so each part is asked by itself. Which values have to be
//! tried?
//!
//! - A value that some operation returned and no operation of the part brings can only have been
//!   there at the start. One such value is the only candidate; with two the part is violated
//!   whatever the start was.
//! - An initial value that nobody observes is as good as any other: the object's own start, or a
//!   value that occurs nowhere.
//! - One that an operation observes is observed before every write, so that operation was called
//!   before the first completed write returned: only the results (and the expected values of
//!   compare-and-sets) of such operations are candidates.
//!
//! Together these are all candidates, so a part that none of them explains is violated from every
//! start. It would be unsound to ask so about objects that compute values (`append`, a counter):
//! what they return need not be brought by anybody. These are refused. The start that was found is
//! written before everything, as an operation of a process `before`, and the check then is an
//! ordinary one.

use crate::check::check;
use crate::options::{Detail, Options};
use crate::partition::{Partitioning, partition};
use seriatim_history::{
    History, Horizon, InitialWrite, InputError, OpId, Outcome, Problem, Value, ValueId,
};
use seriatim_spec::{Reader, Verdict};
use std::collections::BTreeSet;

/// What operations are called that only write.
const WRITES: [&str; 4] = ["write", "put", "set", "w"];
/// Operations that compute, or look at more than one part.
const COMPUTING: [&str; 4] = ["append", "size", "add", "incr"];

/// Puts before a history what must or may have been there at the start, written by operations of
/// this name; gives how many values that are.
///
/// ```
/// use seriatim_monitor::{Options, check, tell_initial_values};
/// use seriatim_spec::{ChosenReader, Failures, SpecChoice, Verdict};
/// let log = r#"{"process":0,"op":"get","key":"a","result":7,"call":1,"return":2}"#;
/// let mut history = seriatim_history::read_str(log).unwrap();
/// let reader = ChosenReader { choice: SpecChoice::parse("map").unwrap(), failures: Failures::Drop };
/// let options = Options::default();
/// assert_eq!(tell_initial_values(&mut history, &reader, "put", &options).unwrap(), 1);
/// let checked = check(&mut history, &reader, &options).unwrap();
/// assert!(matches!(checked.verdict, Verdict::Linearizable(_)));
/// ```
pub fn tell_initial_values(
    history: &mut History,
    reader: &dyn Reader,
    write: &str,
    options: &Options<'_>,
) -> Result<usize, InputError> {
    if let Some(op) = history.operations().find(|op| COMPUTING.contains(&op.method())) {
        let (operation, line) = (op.to_string(), op.line());
        let expected =
            "reads, writes and compare-and-sets only, since the start is unknown".to_owned();
        let problem = Problem::BadOperation { operation, expected };
        return Err(InputError::new(history.source(), line, problem));
    }
    let reading = reader.read(history)?;
    let portions = partition(history, &reading, Partitioning::ByKey);
    drop(reading);
    let mut writes = Vec::new();
    for portion in &portions {
        let candidates = candidates(history, &portion.operations);
        let mut chosen = candidates[0].clone();
        if candidates.len() > 1 {
            for candidate in candidates {
                if explains(history, reader, &portion.operations, (write, &candidate), options)? {
                    chosen = candidate;
                    break;
                }
            }
        }
        if let Some(value) = chosen {
            writes.push(initial_write(history, portion.operations[0], &value));
        }
    }
    history.begin_with(write, &writes);
    Ok(writes.len())
}

/// The values that may have been there; `None` is the object's own start.
fn candidates(history: &History, operations: &[OpId]) -> Vec<Option<Value>> {
    let values = history.values();
    let mut brought: BTreeSet<Value> = BTreeSet::new();
    for &op in operations {
        let arg = values.get(history.arg(op));
        brought.extend(arg.as_list().unwrap_or_default().iter().cloned());
        brought.insert(arg);
    }
    let method = |op: OpId| history.method_name(history.method(op));
    let is_write = |op: &&OpId| WRITES.contains(&method(**op));
    let first_return = operations.iter().filter(is_write).filter_map(|&op| history.ret(op)).min();
    let mut early: Vec<Value> = Vec::new();
    for &op in operations {
        let is_ok = history.outcome(op) == Outcome::Ok;
        let (arg, result) = (history.arg(op), history.result(op));
        let seen = match method(op) {
            "cas" => match values.as_pair(arg) {
                Some((expected, _)) => values.get(expected),
                None => continue,
            },
            name if WRITES.contains(&name) || !is_ok || !result.is_present() => continue,
            _ => values.get(result),
        };
        if matches!(seen, Value::Nil) {
            continue;
        }
        if is_ok && !brought.contains(&seen) {
            return vec![Some(seen)];
        }
        if first_return.is_none_or(|first| history.call(op) <= first) && !early.contains(&seen) {
            early.push(seen);
        }
    }
    let fresh = Value::Name("a value that occurs nowhere".into());
    std::iter::once(None).chain(early.into_iter().chain([fresh]).map(Some)).collect()
}

/// Whether a part is not violated from a start.
fn explains(
    history: &History,
    reader: &dyn Reader,
    operations: &[OpId],
    (write, start): (&str, &Option<Value>),
    options: &Options<'_>,
) -> Result<bool, InputError> {
    let mut part = history.restricted(operations, Horizon::Whole);
    if let Some(value) = start {
        let first = initial_write(&mut part, OpId::from(0), value);
        part.begin_with(write, &[first]);
    }
    let limits = Options {
        time: options.time,
        memory: options.memory,
        threads: options.threads,
        monitors: options.monitors,
        strategies: options.strategies.clone(),
        detail: Detail::Plain,
        ..Options::default()
    };
    Ok(!matches!(check(&mut part, reader, &limits)?.verdict, Verdict::Violation(_)))
}

/// A write to the part of an operation.
fn initial_write(history: &mut History, op: OpId, value: &Value) -> InitialWrite {
    let (object, key, arg) = (history.object(op), history.key(op), history.arg(op));
    let value = history.intern(value);
    let name = history.method_name(history.method(op)).to_owned();
    let is_keyed = !key.is_present()
        && matches!(&*name, "get" | "put" | "insert" | "delete" | "contains" | "lookup");
    if !is_keyed {
        return InitialWrite { object, key, arg: value };
    }
    // The key is the first item of the argument, or the argument.
    let key = history.values().as_pair(arg).map_or(arg, |(key, _)| key);
    let pair = Value::list([history.values().get(key), history.values().get(value)]);
    InitialWrite { object, key: ValueId::ABSENT, arg: history.intern(&pair) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seriatim_history::read_str;
    use seriatim_spec::{ChosenReader, Failures, SpecChoice};
    use seriatim_testing::Random;
    use std::fmt::Write;

    fn word(text: &str, spec: &str) -> &'static str {
        let choice = SpecChoice::parse(spec).unwrap();
        let reader = ChosenReader { choice, failures: Failures::Drop };
        let mut history = read_str(text).unwrap();
        check(&mut history, &reader, &Options::default()).unwrap().verdict.word()
    }

    fn from_unknown(text: &str) -> &'static str {
        let choice = SpecChoice::parse("cas-register").unwrap();
        let reader = ChosenReader { choice, failures: Failures::Drop };
        let mut history = read_str(text).unwrap();
        tell_initial_values(&mut history, &reader, "write", &Options::default()).unwrap();
        check(&mut history, &reader, &Options::default()).unwrap().verdict.word()
    }

    /// Every start that can matter is tried: a history is linearizable from an unknown start if and
    /// only if it is from one of the values 0 to 4, of which the operations name 0 to 3, or from
    /// nil.
    #[test]
    fn an_unknown_start_is_some_start() {
        let mut random = Random(5);
        let mut words = std::collections::BTreeMap::<&str, usize>::new();
        for _ in 0..3_000 {
            let mut text = String::new();
            for process in 0..3 {
                let mut now = random.below(4);
                for _ in 0..random.below(3) {
                    let end = now + random.below(5);
                    let is_pending = random.one_in(6);
                    let [a, b] = [random.below(4), random.below(4)];
                    let what = match random.below(5) {
                        0 | 1 => format!("\"op\":\"write\",\"arg\":{a}"),
                        2 => format!("\"op\":\"cas\",\"arg\":[{a},{b}],\"result\":true"),
                        _ => format!("\"op\":\"read\",\"result\":{a}"),
                    };
                    let what = match is_pending {
                        true => what.split(",\"result\"").next().unwrap_or_default(),
                        false => &what,
                    };
                    let ret = if is_pending { String::new() } else { format!(",\"return\":{end}") };
                    writeln!(text, "{{\"process\":{process},{what},\"call\":{now}{ret}}}").unwrap();
                    now = end + 1 + random.below(3);
                }
            }
            let starts = ["nil", "0", "1", "2", "3", "4"];
            let holds = starts
                .iter()
                .any(|start| word(&text, &format!("cas-register(init={start})")) == "linearizable");
            let expected = if holds { "linearizable" } else { "violation" };
            let found = from_unknown(&text);
            assert_eq!(found, expected, "{text}");
            *words.entry(found).or_default() += 1;
        }
        assert!(words.len() == 2 && words.values().all(|&count| count > 300), "{words:?}");
    }
}
