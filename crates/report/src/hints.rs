//! Hints for a report: of a violation, mistakes of recording that look like mistakes of the object,
//! and another object than the log names; of a history that was not decided, a number that may be
//! a version.
//!
//! A hint never changes the verdict.

use crate::rising;
use seriatim_history::{History, OpId, Value, ValueId, json_value};
use seriatim_spec::{ChosenReader, Reader, SpecChoice, Verdict};
use std::collections::HashSet;

/// What a recorded value may have been meant for.
pub(crate) fn hints(history: &History, verdict: &Verdict, reader: &dyn Reader) -> Vec<String> {
    let core = match verdict {
        Verdict::Violation(core) => core,
        Verdict::Unknown(_) => return rising::hint(history).into_iter().collect(),
        Verdict::Linearizable(_) => return Vec::new(),
    };
    let known = Known::of(history);
    let mut hints = Vec::new();
    hints.extend(reader.chosen().and_then(|chosen| another_object(history, chosen)));
    for &op in &core.operations {
        hints.extend(known.twin_of_key(history, op));
        hints.extend(known.twin_of_result(history, op));
    }
    let may_say_init = !history.has_initial_writes() && reader.chosen().is_some_and(may_say_init);
    if hints.is_empty() && may_say_init {
        hints.extend(core.operations.iter().find_map(|&op| known.never_written(history, op)));
    }
    hints.dedup();
    hints.truncate(MOST);
    hints
}

/// What the log says it is of, where it was held against something else.
fn another_object(history: &History, chosen: &ChosenReader) -> Option<String> {
    let told = SpecChoice::parse(history.spec()?).ok()?.to_string();
    let asked = chosen.choice.to_string();
    (told != asked).then(|| {
        format!("hint: the log says that it is of {}, not of {}", shorten(&told), shorten(&asked))
    })
}

/// Whether the state at the start could be told and was not.
fn may_say_init(chosen: &ChosenReader) -> bool {
    let takes = chosen.choice.entry().parameters.iter().any(|parameter| parameter.name == "init");
    takes && chosen.choice.parameters().value("init").is_none()
}

/// How many hints are given.
const MOST: usize = 3;

/// The longest value that a hint shows whole, in characters.
const LONGEST: usize = 60;

/// What the operations of a history name.
struct Known {
    keys: HashSet<Value>,
    written: HashSet<Value>,
}

impl Known {
    fn of(history: &History) -> Self {
        let mut known = Known { keys: HashSet::new(), written: HashSet::new() };
        let values = history.values();
        let mut ids: Vec<ValueId> = history.operations().map(|op| op.key()).collect();
        ids.sort_unstable();
        ids.dedup();
        known.keys.extend(ids.iter().filter(|id| id.is_present()).map(|&id| values.get(id)));
        let mut ids: Vec<ValueId> = history.operations().map(|op| op.arg()).collect();
        ids.sort_unstable();
        ids.dedup();
        for id in ids.into_iter().filter(|id| id.is_present()) {
            let value = values.get(id);
            known.written.extend(value.as_list().unwrap_or_default().iter().cloned());
            known.written.insert(value);
        }
        known
    }

    fn twin_of_result(&self, history: &History, op: OpId) -> Option<String> {
        let result = history.result(op);
        let value = history.values().get(result);
        let twin = twin(&value).filter(|twin| self.written.contains(twin))?;
        let is_strange = result.is_present() && !self.written.contains(&value);
        is_strange.then(|| {
            format!(
                "hint: {} is {} and {} is {}: a recorder that writes the same value in both ways makes \
                 violations of its own",
                shown(&value),
                sort(&value),
                shown(&twin),
                sort(&twin)
            )
        })
    }

    fn twin_of_key(&self, history: &History, op: OpId) -> Option<String> {
        let key = history.values().get(history.key(op));
        let twin = twin(&key).filter(|twin| self.keys.contains(twin))?;
        Some(format!(
            "hint: the keys {} ({}) and {} ({}) are different keys",
            shown(&key),
            sort(&key),
            shown(&twin),
            sort(&twin)
        ))
    }

    /// A value that came from nowhere may have been there from the start.
    fn never_written(&self, history: &History, op: OpId) -> Option<String> {
        let value = history.values().get(history.result(op));
        let counts = ["size", "len", "length", "count", "multiplicity", "permits", "occurrences"];
        let is_count = counts.contains(&history.method_name(history.method(op)));
        let is_value =
            matches!(value, Value::Int(_) | Value::Number(_) | Value::Text(_) | Value::Name(_));
        (is_value && !is_count && !self.written.contains(&value)).then(|| {
            format!(
                "hint: no operation wrote {}; if it was there before the first operation, say so with \
                 init=…",
                shown(&value)
            )
        })
    }
}

/// The text of a number, the number of a text.
fn twin(value: &Value) -> Option<Value> {
    match value {
        Value::Int(_) | Value::Number(_) => Some(Value::text(&value.to_string())),
        Value::Text(text) | Value::Name(text) => {
            let number = json_value(text).ok()?;
            matches!(number, Value::Int(_) | Value::Number(_)).then_some(number)
        }
        _ => None,
    }
}

fn sort(value: &Value) -> &'static str {
    match value {
        Value::Int(_) | Value::Number(_) => "a number",
        _ => "a text",
    }
}

fn shown(value: &Value) -> String {
    shorten(&value.to_string())
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
