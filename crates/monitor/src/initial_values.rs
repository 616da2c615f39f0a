//! Objects that were not empty at the start: which values may have been there.
//!
//! A history is linearizable *from an unknown start* if it is for some initial value of each part
//! (key, object). Parts are independent, so each part is asked by itself (but where processes go
//! from part to part within an instant: then the starts of all parts are tried together). Which
//! values have to be tried?
//!
//! - A value that a read returned and no operation of the part brings can only have been there at
//!   the start. One such value is the only candidate; with two the part is violated whatever the
//!   start was. (What an absent key reads as is no such value: it was there, or nothing was.)
//! - An initial value that nobody observes is as good as any other: the object's own start, or a
//!   value that occurs nowhere. Whether there is a value is all that `insert`, `delete` and
//!   `contains` tell.
//! - One that an operation observes is observed before every write, so that operation was called
//!   before the first completed write returned: only what such operations read (and what
//!   compare-and-sets expect) are candidates.
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
use seriatim_spec::{Reader, Verdict, names};
use std::collections::BTreeSet;

/// What an operation tells about the value that was there, by the catalogue's names.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tells {
    /// The value.
    Reads,
    /// The value, which it replaces.
    Swaps,
    /// Whether it is the value expected.
    Compares,
    /// Nothing: it writes.
    Writes,
    /// Whether there is one: its argument is a key and a value.
    Inserts,
    /// Whether there is one: its argument is a key.
    Finds,
    /// More than what one part held: it computes, or looks at all parts.
    Computes,
}

impl Tells {
    /// What the method of a map (whose writes are called `put`) or of a register tells.
    fn named(method: &str, write: &str) -> Tells {
        const MAP: [(&[&str], Tells); 6] = [
            (names("map", "get"), Tells::Reads),
            (names("map", "put"), Tells::Writes),
            (names("map", "insert"), Tells::Inserts),
            (names("map", "delete"), Tells::Finds),
            (names("map", "contains"), Tells::Finds),
            (names("map", "cas"), Tells::Compares),
        ];
        const REGISTER: [(&[&str], Tells); 4] = [
            (names("cas-register", "read"), Tells::Reads),
            (names("cas-register", "write"), Tells::Writes),
            (names("cas-register", "cas"), Tells::Compares),
            (names("cas-register", "swap"), Tells::Swaps),
        ];
        let known = if write == "put" { &MAP[..] } else { &REGISTER };
        let is = |names: &[&str]| names.iter().any(|name| name.eq_ignore_ascii_case(method));
        known.iter().find(|(names, _)| is(names)).map_or(Tells::Computes, |(_, tells)| *tells)
    }
}

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
    let computes = |method: &str| Tells::named(method, write) == Tells::Computes;
    if let Some(op) = history.operations().find(|op| computes(op.method())) {
        let (operation, line) = (op.to_string(), op.line());
        let expected =
            "reads, writes and compare-and-sets only, since the start is unknown".to_owned();
        let problem = Problem::BadOperation { operation, expected };
        return Err(InputError::new(history.source(), line, problem));
    }
    let reading = reader.read(history)?;
    let parts = partition(history, &reading, Partitioning::ByKey);
    drop(reading);
    let mut starts: Vec<(OpId, Vec<Option<Value>>)> = Vec::new();
    for part in &parts {
        let mut fitting = candidates(history, &part.operations, write);
        let likely = fitting[0].clone();
        if fitting.len() > 1 {
            let mut found = Vec::new();
            for start in fitting {
                if explains(history, reader, &part.operations, write, &start, options)? {
                    found.push(start);
                    if !history.has_open_ties() {
                        break;
                    }
                }
            }
            fitting = found;
        }
        if fitting.is_empty() {
            // Violated from every start: from this one as well as any.
            fitting.push(likely);
        }
        starts.push((part.operations[0], fitting));
    }
    let writes = match history.has_open_ties() {
        true => together(history, reader, &starts, write, options)?,
        false => writes_of(history, &starts, write, 0),
    };
    history.begin_with(write, &writes);
    Ok(writes.len())
}

/// How many starts of all parts together are tried.
const MOST: usize = 256;

/// The writes of the starts of all parts that have this number: one start of each part.
fn writes_of(
    history: &mut History,
    starts: &[(OpId, Vec<Option<Value>>)],
    write: &str,
    mut number: usize,
) -> Vec<InitialWrite> {
    let mut writes = Vec::new();
    for (op, fitting) in starts {
        if let Some(value) = &fitting[number % fitting.len()] {
            writes.push(initial_write(history, *op, write, value));
        }
        number /= fitting.len();
    }
    writes
}

/// The starts that explain all parts together. Where processes go from part to part within an
/// instant, parts are not independent: each may be right from several starts, and all of them only
/// from some.
fn together(
    history: &mut History,
    reader: &dyn Reader,
    starts: &[(OpId, Vec<Option<Value>>)],
    write: &str,
    options: &Options<'_>,
) -> Result<Vec<InitialWrite>, InputError> {
    let count = starts.iter().fold(1, |count: usize, (_, some)| count.saturating_mul(some.len()));
    for number in 0..count.min(MOST) {
        let writes = writes_of(history, starts, write, number);
        let mut begun = history.clone();
        begun.begin_with(write, &writes);
        if !matches!(check(&mut begun, reader, &plain(options))?.verdict, Verdict::Violation(_)) {
            return Ok(writes);
        }
    }
    if count > MOST {
        let first = history.operation(starts[0].0);
        let (operation, line) = (first.to_string(), first.line());
        let expected = "a finer clock or a known start: too many starts are possible where processes call again \
                        at one instant"
            .to_owned();
        return Err(InputError::new(
            history.source(),
            line,
            Problem::BadOperation { operation, expected },
        ));
    }
    Ok(writes_of(history, starts, write, 0))
}

/// The values that may have been there; `None` is the object's own start.
fn candidates(history: &History, operations: &[OpId], write: &str) -> Vec<Option<Value>> {
    let values = history.values();
    let tells = |op: OpId| Tells::named(history.method_name(history.method(op)), write);
    let is_ok = |op: OpId| history.outcome(op) == Outcome::Ok;
    let mut brought: BTreeSet<Value> = BTreeSet::new();
    for &op in operations {
        let arg = values.get(history.arg(op));
        brought.extend(arg.as_list().unwrap_or_default().iter().cloned());
        brought.insert(arg);
    }
    let writes = operations.iter().filter(|&&op| tells(op) == Tells::Writes && is_ok(op));
    // Where nobody knows who went on first at an instant, nothing is too late.
    let first_return = match history.has_open_ties() {
        true => None,
        false => writes.filter_map(|&op| history.ret(op)).min(),
    };
    let mut early: Vec<Value> = Vec::new();
    for &op in operations {
        let tells = tells(op);
        let seen = match tells {
            // The last two of its argument, which may begin with a key.
            Tells::Compares => match values.get(history.arg(op)).as_list() {
                Some([.., expected, _]) => expected.clone(),
                _ => continue,
            },
            Tells::Reads | Tells::Swaps if is_ok(op) && history.result(op).is_present() => {
                values.get(history.result(op))
            }
            _ => continue,
        };
        let reads_as_absent = matches!(&seen, Value::Nil) || seen == Value::text("");
        if tells != Tells::Compares && !reads_as_absent && !brought.contains(&seen) {
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
    write: &str,
    start: &Option<Value>,
    options: &Options<'_>,
) -> Result<bool, InputError> {
    let mut part = history.restricted(operations, Horizon::Whole);
    if let Some(value) = start {
        let first = initial_write(&mut part, OpId::from(0), write, value);
        part.begin_with(write, &[first]);
    }
    Ok(!matches!(check(&mut part, reader, &plain(options))?.verdict, Verdict::Violation(_)))
}

/// The same options for one of many tries.
fn plain<'o>(options: &Options<'o>) -> Options<'o> {
    Options {
        time: options.time,
        memory: options.memory,
        threads: options.threads,
        monitors: options.monitors,
        strategies: options.strategies.clone(),
        detail: Detail::Plain,
        cancel: options.cancel,
        ..Options::default()
    }
}

/// A write to the part of an operation.
fn initial_write(history: &mut History, op: OpId, write: &str, value: &Value) -> InitialWrite {
    let (object, key, arg) = (history.object(op), history.key(op), history.arg(op));
    if write != "put" || key.is_present() {
        return InitialWrite { object, key, arg: history.intern(value) };
    }
    // The key is the argument, perhaps beside the unknown value of a read; or the first item of it.
    let tells = Tells::named(history.method_name(history.method(op)), write);
    let arg = history.values().get(arg);
    let key = match (tells, arg.as_list()) {
        (Tells::Reads | Tells::Finds, Some([key, Value::Nil])) => key.clone(),
        (Tells::Reads | Tells::Finds, _) | (_, None) => arg,
        (_, Some(items)) => items.first().cloned().unwrap_or(Value::Nil),
    };
    let pair = Value::list([key, value.clone()]);
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

    fn from_unknown(text: &str, spec: &str) -> &'static str {
        let choice = SpecChoice::parse(spec).unwrap();
        let reader = ChosenReader { choice, failures: Failures::Drop };
        let mut history = read_str(text).unwrap();
        let write = if spec == "cas-register" { "write" } else { "put" };
        tell_initial_values(&mut history, &reader, write, &Options::default()).unwrap();
        check(&mut history, &reader, &Options::default()).unwrap().verdict.word()
    }

    /// A few operations of three processes; `make` tells what one does, with the result last.
    fn log(random: &mut Random, mut make: impl FnMut(&mut Random) -> String) -> String {
        let mut text = String::new();
        for process in 0..3 {
            let mut now = random.below(4);
            for _ in 0..random.below(3) {
                let end = now + random.below(5);
                let what = make(random);
                let (what, rest) = match random.below(8) {
                    0 => (what.split(",\"result\"").next().unwrap_or_default(), String::new()),
                    1 => (&*what, format!(",\"return\":{end},\"failed\":true")),
                    _ => (&*what, format!(",\"return\":{end}")),
                };
                writeln!(text, "{{\"process\":{process},{what},\"call\":{now}{rest}}}").unwrap();
                now = end + 1 + random.below(3);
            }
        }
        text
    }

    /// Every start that can matter is tried: a history is linearizable from an unknown start if and
    /// only if it is from one of these.
    fn compare(
        random: &mut Random,
        spec: &str,
        starts: &[String],
        make: fn(&mut Random) -> String,
    ) {
        let mut words = std::collections::BTreeMap::<&str, usize>::new();
        for _ in 0..400 {
            let text = log(random, make);
            let holds = starts
                .iter()
                .any(|start| word(&text, &format!("{spec}(init={start})")) == "linearizable");
            let expected = if holds { "linearizable" } else { "violation" };
            let found = from_unknown(&text, spec);
            assert_eq!(found, expected, "{spec}\n{text}");
            *words.entry(found).or_default() += 1;
        }
        assert!(words.len() == 2 && words.values().all(|&count| count > 40), "{words:?}");
    }

    #[test]
    fn an_unknown_start_is_some_start_of_a_register() {
        let starts = ["nil", "0", "1", "2", "3", "4"].map(str::to_owned);
        compare(&mut Random(5), "cas-register", &starts, |random| {
            let [a, b] = [random.below(4), random.below(4)];
            let [cas, write] = [["cas", "Compare-And-Set"], ["write", "STORE"]];
            let name =
                |names: [&'static str; 2], random: &mut Random| names[random.below(2) as usize];
            match random.below(6) {
                0 | 1 => format!("\"op\":\"{}\",\"arg\":{a}", name(write, random)),
                2 => format!("\"op\":\"{}\",\"arg\":[{a},{b}],\"result\":true", name(cas, random)),
                3 => format!("\"op\":\"swap\",\"arg\":{a},\"result\":{b}"),
                _ => format!("\"op\":\"read\",\"result\":{a}"),
            }
        });
    }

    /// The key apart, or as the first item of the argument; methods by several names.
    fn of_a_map(random: &mut Random, values: [&str; 4], absent: &str) -> String {
        let value = |random: &mut Random| values[random.below(4) as usize];
        let truth = random.below(3) > 0;
        let name = |names: [&'static str; 2], random: &mut Random| names[random.below(2) as usize];
        let (method, args, result) = match random.below(8) {
            0 => (name(["put", "set"], random), vec![value(random)], None),
            1 | 2 => {
                let seen = if random.below(3) == 0 { absent } else { value(random) };
                (name(["get", "lookup"], random), vec![], Some(seen.to_owned()))
            }
            3 => (
                name(["insert", "putIfAbsent"], random),
                vec![value(random)],
                Some(truth.to_string()),
            ),
            4 => (name(["delete", "Remove"], random), vec![], Some(truth.to_string())),
            5 | 6 => {
                let args = vec![value(random), value(random)];
                (name(["cas", "replace"], random), args, Some(truth.to_string()))
            }
            _ => (name(["contains", "has"], random), vec![], Some(truth.to_string())),
        };
        let arg = match (random.below(2), &args[..]) {
            (0, []) => "\"key\":\"k\"".to_owned(),
            (0, [only]) => format!("\"key\":\"k\",\"arg\":{only}"),
            (0, args) => format!("\"key\":\"k\",\"arg\":[{}]", args.join(",")),
            (_, []) => "\"arg\":\"k\"".to_owned(),
            (_, args) => format!("\"arg\":[\"k\",{}]", args.join(",")),
        };
        let result = result.map_or(String::new(), |result| format!(",\"result\":{result}"));
        format!("\"op\":\"{method}\",{arg}{result}")
    }

    /// Two keys and one instant: each key is right from several starts, both only from some.
    #[test]
    fn an_unknown_start_explains_all_keys_together() {
        let mut random = Random(3);
        let mut words = std::collections::BTreeMap::<&str, usize>::new();
        let starts = |key: &str| ["0", "1", "2"].map(|value| format!("\"{key}\": {value}"));
        for _ in 0..250 {
            let mut text = String::new();
            for process in 0..2 {
                for _ in 0..2 + random.below(2) {
                    let (key, value) = (["a", "b"][random.below(2) as usize], random.below(2));
                    let what = match random.below(2) {
                        0 => format!("\"op\":\"put\",\"key\":\"{key}\",\"arg\":{value}"),
                        _ => format!("\"op\":\"get\",\"key\":\"{key}\",\"result\":{value}"),
                    };
                    writeln!(text, "{{\"process\":{process},{what},\"call\":0,\"return\":0}}")
                        .unwrap();
                }
            }
            let holds = starts("a").iter().any(|a| {
                starts("b")
                    .iter()
                    .any(|b| word(&text, &format!("map(init={{{a}, {b}}})")) == "linearizable")
            });
            let expected = if holds { "linearizable" } else { "violation" };
            assert_eq!(from_unknown(&text, "map"), expected, "{text}");
            *words.entry(expected).or_default() += 1;
        }
        assert!(words.len() == 2 && words.values().all(|&count| count > 20), "{words:?}");
    }

    #[test]
    fn an_unknown_start_is_some_start_of_a_map() {
        let of = |values: &[&str]| -> Vec<String> {
            values.iter().map(|value| format!("{{\"k\": {value}}}")).chain(["{}".into()]).collect()
        };
        let make = |random: &mut Random| of_a_map(random, ["0", "1", "true", "null"], "null");
        compare(&mut Random(7), "map", &of(&["null", "0", "1", "2", "true"]), make);
        let make =
            |random: &mut Random| of_a_map(random, ["\"\"", "\"a\"", "\"b\"", "\"c\""], "\"\"");
        let texts = ["\"\"", "\"a\"", "\"b\"", "\"c\"", "\"d\""];
        compare(&mut Random(9), "kv", &of(&texts), make);
    }
}
