//! A number in the results that may be a version, where a history was not decided.
//!
//! It may be one if it stands at the same place of every result of some methods, and an operation
//! never shows a smaller number than one that had returned before it was called. That is a hint for
//! a person, who knows what the number is; no verdict rests on it. What the person then declares is
//! proved from the text of the specification or compared with its steps.

use seriatim_history::{Event, History, MethodId, OpId, Outcome, Value};
use std::collections::{BTreeSet, HashMap};

/// So many operations must tell the number, at least half of all, and so many different ones.
const LEAST: usize = 20;
const LEAST_NUMBERS: usize = 10;

/// How far from the end of a result the number is looked for.
const PLACES: usize = 4;

/// The hint, if there is such a number.
pub(crate) fn hint(history: &History) -> Option<String> {
    let place = (0..PLACES).find(|&place| rises(history, place))?;
    let part = match place {
        0 => "the last number of the results".to_owned(),
        place => format!("the number {place} before the last part of the results"),
    };
    Some(format!(
        "hint: {part} never falls from one operation to the next: if it is a version of the whole \
         object, a model with `version var` is decided along it"
    ))
}

/// The number at a place of the result of an operation.
fn number(history: &History, op: OpId, place: usize) -> Option<i64> {
    match (history.values().get(history.result(op)), place) {
        (Value::Int(number), 0) => Some(number),
        (Value::List(parts), place) => match parts.iter().rev().nth(place) {
            Some(Value::Int(number)) => Some(*number),
            _ => None,
        },
        _ => None,
    }
}

fn rises(history: &History, place: usize) -> bool {
    let completed = (0..history.len()).map(OpId::from);
    let completed: Vec<OpId> = completed.filter(|&op| history.outcome(op) == Outcome::Ok).collect();
    let mut numbers: Vec<Option<i64>> = vec![None; history.len()];
    let mut tells: HashMap<MethodId, bool> = HashMap::new();
    let mut told = 0;
    for &op in &completed {
        let number = number(history, op, place);
        // A method tells the number always, or it tells none.
        if *tells.entry(history.method(op)).or_insert(number.is_some()) != number.is_some() {
            return false;
        }
        told += usize::from(number.is_some());
        numbers[op.index()] = number;
    }
    let different: BTreeSet<i64> = numbers.iter().flatten().copied().collect();
    told >= LEAST.max(completed.len() / 2)
        && different.len() >= LEAST_NUMBERS
        && keep_time(history, &numbers)
}

/// Whether no operation shows less than one that returned before it was called.
fn keep_time(history: &History, numbers: &[Option<i64>]) -> bool {
    let mut highest = i64::MIN;
    let mut floors = vec![i64::MIN; numbers.len()];
    let all = (0..history.len()).map(OpId::from);
    history.events_of(all).all(|event| match event {
        Event::Call(op) => {
            floors[op.index()] = highest;
            true
        }
        Event::Return(op) => numbers[op.index()].is_none_or(|number| {
            highest = highest.max(number);
            number >= floors[op.index()]
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write;

    fn log(tell: impl Fn(i64) -> String) -> History {
        mixed(tell, |_| None)
    }

    /// A log of `put`s, between which stand `get`s with results of their own.
    fn mixed(tell: impl Fn(i64) -> String, get: impl Fn(i64) -> Option<String>) -> History {
        let mut lines = String::new();
        for n in 0..30 {
            let (call, ret, result) = (10 * n, 10 * n + 15, tell(n));
            let process = n % 2;
            writeln!(
                lines,
                "{{\"process\":{process},\"op\":\"put\",\"result\":{result},\"call\":{call},\"return\":{ret}}}"
            )
            .expect("a string takes everything");
            if let Some(result) = get(n) {
                writeln!(
                    lines,
                    "{{\"process\":\"r{n}\",\"op\":\"get\",\"result\":{result},\"call\":{call},\"return\":{ret}}}"
                )
                .expect("a string takes everything");
            }
        }
        seriatim_history::read_str(&lines).expect("a history")
    }

    #[test]
    fn a_number_that_never_falls_may_be_a_version() {
        let found = |tell: &dyn Fn(i64) -> String| hint(&log(tell));
        assert!(found(&|n| n.to_string()).is_some());
        // Operations that overlap may tell their numbers in any order.
        assert!(found(&|n| (n ^ 1).to_string()).is_some());
        assert!(found(&|n| format!("[{n},true]")).is_some_and(|hint| hint.contains("1 before")));
        assert!(found(&|n| (n % 7).to_string()).is_none(), "it falls");
        assert!(found(&|_| "5".to_owned()).is_none(), "it says nothing");
        assert!(found(&|n| format!("\"{n}\"")).is_none(), "no number");
        let beside = |get: &dyn Fn(i64) -> Option<String>| hint(&mixed(|n| n.to_string(), get));
        assert!(beside(&|_| Some("\"v\"".to_owned())).is_some(), "gets tell none");
        assert!(beside(&|n| Some((n % 5).to_string())).is_none(), "gets tell something else");
        let sometimes = |n: i64| Some(if n < 15 { n.to_string() } else { "null".to_owned() });
        assert!(beside(&sometimes).is_none(), "gets tell numbers now and then");
    }
}
