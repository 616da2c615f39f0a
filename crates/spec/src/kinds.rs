//! Values that a parameter says in one kind and the log has in another.
//!
//! A log in JSON has the text `"x"` where one in EDN has the keyword `:x`: two values. With
//! `map(init={:x 0})` on the first of them no operation would ever see what was there at the start,
//! and the verdict would rest on that. So it is with a key `"1"` of a map, which JSON cannot write as
//! a number, and 1. A parameter is refused if the log has one of its values in the other kind alone.
//! What it has in both kinds, or in none, is taken as it is said.
//!
//! Keys are compared with keys and other values with other values, so that a value of the one does
//! not look like a stranger to the other. What the micro-operations of a transaction are called is
//! no value.
//!
//! Only a whole log can be asked: an excerpt of one that has both kinds may have the other alone.

use crate::choice::SpecChoice;
use crate::notation::Written;
use crate::parameters::Parameters;
use seriatim_history::{History, InputError, OpId, Operation, Problem, Value, json_value};

/// Where a log has a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Key,
    Elsewhere,
    /// The object does not tell keys from other values by where they stand.
    Anywhere,
}

/// A value that a parameter says, and the same in another kind.
struct Said {
    value: Value,
    twin: Value,
    place: Place,
    /// The operation that has the twin first, with its line.
    meets: Option<(OpId, u64)>,
}

/// What the parameters of a specification say and the log has not had so far.
pub(crate) struct Unseen {
    all: Vec<Said>,
    /// Whether arguments and results are transactions.
    of_transactions: bool,
}

/// Refuses parameters of which a log has a value in another kind alone.
pub(crate) fn compare(choice: &SpecChoice, history: &History) -> Result<(), InputError> {
    let mut unseen = Unseen::of(choice);
    if history.is_excerpt() {
        return Ok(());
    }
    for operation in history.operations() {
        if unseen.all.is_empty() {
            return Ok(());
        }
        unseen.look(operation);
    }
    match unseen.stranger(choice) {
        Some((line, problem)) => Err(InputError::new(history.source(), line, problem)),
        None => Ok(()),
    }
}

impl Unseen {
    /// What has a twin, before the first operation.
    pub fn of(choice: &SpecChoice) -> Self {
        let tells_keys = ["map", "kv"].contains(&choice.name());
        let (key, other) = match tells_keys {
            true => (Place::Key, Place::Elsewhere),
            false => (Place::Anywhere, Place::Anywhere),
        };
        let mut all = Vec::new();
        let Parameters { given } = choice.parameters();
        for (_, value) in given {
            let Value::Map(entries) = value else {
                add(value, other, &mut all);
                continue;
            };
            for (name, value) in entries {
                add(name, key, &mut all);
                add(value, other, &mut all);
            }
        }
        Unseen { all, of_transactions: choice.name() == "multi-register" }
    }

    /// The next operation.
    pub fn look(&mut self, operation: Operation<'_>) {
        if self.all.is_empty() {
            return;
        }
        let values = match self.of_transactions {
            true => Located::of_transaction(operation),
            false => Located::of(operation),
        };
        self.all.retain_mut(|said| {
            if said.meets.is_none() && values.has(&said.twin, said.place) {
                said.meets = Some((operation.id, operation.line()));
            }
            !values.has(&said.value, said.place)
        });
    }

    /// What the log has had in another kind alone, with the line of the first.
    pub fn stranger(&self, choice: &SpecChoice) -> Option<(u64, Problem)> {
        let met = self.all.iter().filter_map(|said| Some((said.meets?, said)));
        let ((_, line), Said { value, twin, .. }) = met.min_by_key(|(meets, _)| *meets)?;
        let problem = Problem::OtherKind {
            spec: choice.to_string(),
            said: named(value),
            found: named(twin),
            instead: choice.with(value, twin).to_string(),
        };
        Some((line, problem))
    }
}

/// A value with its kind, as messages name it.
fn named(value: &Value) -> String {
    let kind = match value {
        Value::Text(_) => "text",
        Value::Name(_) => "keyword",
        _ => "number",
    };
    format!("the {kind} {}", Written(value))
}

fn add(value: &Value, place: Place, all: &mut Vec<Said>) {
    let twin = match value {
        Value::Name(name) => Some(Value::Text(name.clone())),
        Value::Text(text) => Some(Value::Name(text.clone())),
        _ => None,
    };
    let number = match value {
        Value::Int(number) => Some(Value::text(&number.to_string())),
        Value::Text(text) => json_value(text).ok().filter(|value| matches!(value, Value::Int(_))),
        _ => None,
    };
    for twin in twin.into_iter().chain(number.filter(|_| place == Place::Key)) {
        all.push(Said { value: value.clone(), twin, place, meets: None });
    }
    each_part(value, &mut |part| add(part, place, all));
}

/// The parts of a list or a map.
fn each_part<'v>(value: &'v Value, visit: &mut dyn FnMut(&'v Value)) {
    match value {
        Value::List(items) => items.iter().for_each(visit),
        Value::Map(entries) => entries.iter().for_each(|(key, value)| {
            visit(key);
            visit(value);
        }),
        _ => {}
    }
}

/// The values of an operation of a map, by where they stand.
struct Located {
    key: Value,
    others: Vec<Value>,
}

impl Located {
    fn of(operation: Operation<'_>) -> Self {
        let values = operation.history.values();
        let [key, arg, result] =
            [operation.key(), operation.arg(), operation.result()].map(|id| values.get(id));
        // Jepsen's histories repeat the argument as the result.
        let result = if result == arg { Value::Nil } else { result };
        if operation.key().is_present() {
            return Located { key, others: vec![arg, result] };
        }
        match &arg {
            Value::List(items) => match &items[..] {
                // Jepsen's tuples have a tag before them.
                [Value::Name(tag), Value::List(tuple)] if tag.starts_with('#') => {
                    Located::listed(tuple, result)
                }
                items => Located::listed(items, result),
            },
            _ => Located { key: arg, others: vec![result] },
        }
    }

    /// The registers and what they hold, without what each micro-operation is called.
    fn of_transaction(operation: Operation<'_>) -> Self {
        let values = operation.history.values();
        let told = [operation.arg(), operation.result()].map(|id| values.get(id));
        let micros = told.iter().filter_map(Value::as_list).flatten();
        let parts = micros.filter_map(Value::as_list).flat_map(|micro| micro.iter().skip(1));
        Located { key: Value::Nil, others: parts.cloned().collect() }
    }

    fn listed(items: &[Value], result: Value) -> Self {
        let key = items.first().cloned().unwrap_or(Value::Nil);
        let others = items.iter().skip(1).cloned().chain([result]).collect();
        Located { key, others }
    }

    fn has(&self, value: &Value, place: Place) -> bool {
        let is_key = place != Place::Elsewhere && contains(&self.key, value);
        is_key || place != Place::Key && self.others.iter().any(|other| contains(other, value))
    }
}

/// Whether a value is, or has in it, another one.
fn contains(whole: &Value, part: &Value) -> bool {
    let mut found = whole == part;
    each_part(whole, &mut |inner| found = found || contains(inner, part));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use seriatim_history::read_str;

    const JSON: &str = r#"{"process":0,"op":"get","key":"x","result":0,"call":1,"return":2}
{"process":0,"op":"put","arg":["y","x"],"call":3,"return":4}"#;
    const EDN: &str = "{:process 0, :type :invoke, :f :put, :value [:x \"y\"]}
{:process 0, :type :ok, :f :put, :value [:x \"y\"]}
{:process 0, :type :invoke, :f :get, :value :z}
{:process 0, :type :ok, :f :get, :value :w}";
    const NUMBERS: &str = r#"{"process":0,"op":"get","arg":1,"result":"1","call":1,"return":2}"#;
    const ONE: &str = r#"{"process":0,"op":"read","result":["a",7],"call":1,"return":2}"#;

    /// What is to be written instead, if a specification is refused.
    fn instead(spec: &str, log: &str) -> Option<(u64, String)> {
        let history = read_str(log).expect("a history");
        let choice = SpecChoice::parse(spec).expect("a specification");
        let error = compare(&choice, &history).err()?;
        match error.problem {
            Problem::OtherKind { instead, .. } => Some((error.line, instead)),
            other => panic!("{other}"),
        }
    }

    #[test]
    fn what_a_log_has_in_another_kind_alone_is_refused() {
        let refused = [
            ("map(init={:x 0})", JSON, 1, r#"map(init={"x": 0})"#),
            ("map(init={:y 0})", JSON, 2, r#"map(init={"y": 0})"#),
            ("map(init={\"k\" :x})", JSON, 2, r#"map(init={"k": "x"})"#),
            ("map(init={\"x\": 0})", EDN, 1, "map(init={:x 0})"),
            ("map(init={:x \"v\", :z :y})", EDN, 1, "map(init={:x \"v\", :z \"y\"})"),
            ("map(default=\"w\")", EDN, 3, "map(default=:w)"),
            ("map(init={\"1\": 0})", NUMBERS, 1, "map(init={1: 0})"),
            ("register(init=:a)", ONE, 1, "register(init=\"a\")"),
            ("set(init=[:a, 7])", ONE, 1, "set(init=[\"a\", 7])"),
        ];
        for (spec, log, line, meant) in refused {
            assert_eq!(instead(spec, log), Some((line, meant.to_owned())), "{spec}");
            assert_eq!(instead(meant, log), None, "{meant}");
        }
        // Names of operations are none of its values; keys are no values, nor values keys.
        for (spec, log) in [
            ("map(init={\"x\": \"z\"})", JSON),
            ("map(init={\"put\": 0, \"q\": \"x\"})", EDN),
            ("map(init={1: 0})", NUMBERS),
            ("map(init={1: 1, 2: \"2\"})", NUMBERS),
            ("register(init=\"7\")", ONE),
        ] {
            assert_eq!(instead(spec, log), None, "{spec}");
        }
    }

    #[test]
    fn what_micro_operations_are_called_is_no_value() {
        let edn = "{:process 0, :type :invoke, :f :txn, :value [[:r \"x\" nil]]}
{:process 0, :type :ok, :f :txn, :value [[:r \"x\" :y]]}";
        let json = r#"{"process":0,"op":"txn","arg":[["w","x",1]],"call":1,"return":2}"#;
        assert_eq!(instead("multi-register(init={\"r\" 0, \"x\" 0})", edn), None);
        assert_eq!(instead("multi-register(init={:w 0})", json), None);
        for (spec, log, meant) in [
            ("multi-register(init={:x 0})", edn, "multi-register(init={\"x\": 0})"),
            ("multi-register(init={0 \"y\"})", edn, "multi-register(init={0 :y})"),
            ("multi-register(init={:x 0})", json, "multi-register(init={\"x\": 0})"),
        ] {
            assert_eq!(instead(spec, log), Some((1, meant.to_owned())), "{spec}");
        }
    }

    #[test]
    fn an_excerpt_may_have_the_other_kind_alone() {
        let both = r#"{"process":0,"op":"get","arg":"1","result":0,"call":1,"return":2}
{"process":0,"op":"get","arg":1,"call":3,"return":4}"#;
        let history = read_str(both).expect("a history");
        let choice = SpecChoice::parse("map(init={\"1\": 0})").expect("a specification");
        assert!(choice.is_in_kind(&history));
        let [one, other] = [0, 1].map(|op| history.excerpt(&[OpId(op)]));
        assert!(choice.is_in_kind(&one) && choice.is_in_kind(&other));
    }
}
