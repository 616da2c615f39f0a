//! The operations and results of a small universe, as they are recorded, and what each specification
//! reads of them.

use seriatim_history::{Builder, Call, History, Outcome, Return, Value};
use seriatim_spec::{ClassId, Failures, Interpretation, SpecChoice};

/// A recorded operation: method, key, argument.
pub type Recorded = (&'static str, Option<Value>, Option<Value>);

pub fn int(number: i64) -> Option<Value> {
    Some(Value::Int(number))
}

pub fn pair(a: i64, b: i64) -> Option<Value> {
    Some(Value::list([Value::Int(a), Value::Int(b)]))
}

pub fn text(text: &str) -> Option<Value> {
    Some(Value::text(text))
}

fn micro(f: &str, register: &str, value: Value) -> Value {
    Value::list([Value::Name(f.into()), Value::Name(register.into()), value])
}

fn txn(micros: &[Value]) -> Option<Value> {
    Some(Value::list(micros.to_vec()))
}

/// The operations of a container, by the names of its adding, taking and showing methods.
fn container(adds: &'static [&str], takes: &'static [&str]) -> Vec<Recorded> {
    let mut calls: Vec<Recorded> = Vec::new();
    for add in adds {
        calls.extend([(*add, None, int(1)), (*add, None, int(2))]);
    }
    calls.extend(takes.iter().map(|take| (*take, None, None)));
    calls.extend([("size", None, None), ("is_empty", None, None)]);
    calls
}

/// Operations that between them do everything that a specification can.
pub fn calls(spec: &str) -> Vec<Recorded> {
    let registers = vec![("read", None, None), ("write", None, int(1)), ("write", None, int(2))];
    let more = |calls: &[Recorded]| [&registers[..], calls].concat();
    match spec {
        "register" => registers,
        "cas-register" => more(&[
            ("cas", None, pair(1, 2)),
            ("cas", None, pair(2, 1)),
            ("cas", None, pair(1, 1)),
            ("swap", None, int(1)),
        ]),
        "rmw" => more(&[("rmw", None, pair(0, 1)), ("rmw", None, int(2)), ("swap", None, int(1))]),
        "multi-register" => {
            let read = |r| micro("read", r, Value::Nil);
            let write = |r, v| micro("w", r, Value::Int(v));
            vec![
                ("txn", None, txn(&[read("x")])),
                ("txn", None, txn(&[read("y")])),
                ("txn", None, txn(&[write("x", 1)])),
                ("txn", None, txn(&[write("y", 1)])),
                ("txn", None, txn(&[read("x"), write("x", 2)])),
                ("txn", None, txn(&[write("y", 2), read("y")])),
                ("txn", None, txn(&[])),
            ]
        }
        "map" | "kv" => vec![
            ("get", text("k"), None),
            ("get", text("l"), None),
            ("put", text("k"), text("a")),
            ("put", text("l"), text("a")),
            ("put", None, Some(Value::list([Value::text("k"), Value::Int(1)]))),
            ("insert", text("k"), text("b")),
            ("append", text("k"), text("a")),
            ("append", text("k"), text("b")),
            ("delete", text("k"), None),
            ("delete", text("l"), None),
            ("cas", text("k"), Some(Value::list([Value::text("a"), Value::text("b")]))),
            ("cas", text("k"), Some(Value::list([Value::text(""), Value::text("")]))),
            ("cas", text("k"), Some(Value::list([Value::Nil, Value::Nil]))),
            ("cas", text("k"), Some(Value::list([Value::text("a"), Value::text("a")]))),
            ("contains", text("k"), None),
            ("size", None, None),
        ],
        "set" | "multiset" => {
            let mut calls = container(&["add", "remove", "contains"], &["read"]);
            if spec == "multiset" {
                calls.extend([("take", None, None), ("multiplicity", None, int(1))]);
            }
            calls
        }
        "stack" => container(&["push"], &["pop", "top"]),
        "queue" => container(&["enqueue"], &["dequeue", "front"]),
        "priority-queue" => container(&["insert"], &["extract", "peek"]),
        "deque" => {
            container(&["push_front", "push_back"], &["pop_front", "pop_back", "front", "back"])
        }
        "counter" => vec![
            ("read", None, None),
            ("inc", None, None),
            ("dec", None, None),
            ("add", None, int(2)),
            ("add", None, int(0)),
        ],
        "fetch-and-add" => vec![
            ("read", None, None),
            ("fetch_add", None, int(1)),
            ("fetch_add", None, int(2)),
            ("fetch_add", None, int(0)),
            ("fetch_sub", None, int(1)),
        ],
        "mutex" => {
            ["acquire", "release", "try_acquire", "is_locked"].map(|name| (name, None, None)).into()
        }
        "semaphore" => {
            ["acquire", "release", "try_acquire", "permits"].map(|name| (name, None, None)).into()
        }
        "sorted-map" => vec![
            ("get", None, int(1)),
            ("get", None, int(2)),
            ("put", None, pair(1, 1)),
            ("put", int(2), int(1)),
            ("put", None, pair(1, 2)),
            ("update", None, pair(1, 2)),
            ("get_or_insert", None, pair(1, 1)),
            ("get_or_insert", None, pair(2, 2)),
            ("take", None, int(1)),
            ("contains", None, int(1)),
            ("first", None, None),
            ("last", None, None),
            ("pop_first", None, None),
            ("pop_last", None, None),
            ("range", None, pair(1, 1)),
            ("range", None, pair(0, 5)),
            ("size", None, None),
            ("is_empty", None, None),
        ],
        "bounded-deque" => {
            let mut calls = container(
                &["push_back", "push_front", "force_push", "force_push_front"],
                &["pop_front", "pop_back", "front", "back"],
            );
            calls.extend([("drain", None, None), ("is_full", None, None)]);
            calls
        }
        "cache" => vec![
            ("get", text("k"), None),
            ("get", text("l"), None),
            ("put", text("k"), text("a")),
            ("put", text("k"), text("b")),
            ("put", None, Some(Value::list([Value::text("l"), Value::text("a")]))),
            ("get_or_insert", text("k"), text("b")),
            ("take", text("k"), None),
            ("contains", text("k"), None),
            ("clear", None, None),
        ],
        "once-cell" => vec![
            ("get", None, None),
            ("set", None, int(1)),
            ("set", None, int(2)),
            ("get_or_init", None, int(1)),
            ("get_or_init", None, int(2)),
        ],
        "weighted-semaphore" => vec![
            ("acquire", None, int(2)),
            ("acquire", None, None),
            ("try_acquire", None, int(2)),
            ("try_acquire", None, int(0)),
            ("try_acquire", None, None),
            ("release", None, int(2)),
            ("release", None, None),
            ("forget", None, int(2)),
            ("close", None, None),
            ("is_closed", None, None),
            ("permits", None, None),
        ],
        "watch" => vec![
            ("send", None, int(1)),
            ("send", None, int(2)),
            ("send_replace", None, int(1)),
            ("read", None, None),
            ("update", None, text("a")),
            ("update", None, text("b")),
            ("has_changed", None, text("a")),
            ("changed", None, text("a")),
            ("subscribe", None, text("b")),
            ("close", None, None),
        ],
        "broadcast" => vec![
            ("send", None, int(1)),
            ("send", None, int(2)),
            ("recv", None, text("a")),
            ("try_recv", None, text("a")),
            ("try_recv", None, text("b")),
            ("len", None, text("a")),
            ("subscribe", None, text("b")),
            ("close", None, None),
        ],
        "log" => vec![
            ("append", None, int(1)),
            ("append", None, int(7)),
            ("read", None, int(0)),
            ("read", None, int(1)),
            ("read", None, None),
            ("length", None, None),
        ],
        "snapshot" => vec![
            ("update", None, pair(0, 1)),
            ("update", None, pair(1, 2)),
            ("update", int(0), int(2)),
            ("read", None, int(0)),
            ("scan", None, None),
        ],
        other => panic!("{other} has no operations to check here"),
    }
}

/// Results that operations may have; `None` is nothing.
fn results() -> Vec<Option<Value>> {
    let mut results =
        vec![None, Some(Value::Nil), Some(Value::Bool(true)), Some(Value::Bool(false))];
    results.extend((-8..=8).map(int));
    results.extend(["", "a", "b", "aa", "ab", "ba", "closed"].map(text));
    let items = [Value::Nil, Value::Int(1), Value::Int(2)];
    results.push(Some(Value::list([])));
    for a in &items {
        results.push(Some(Value::list([a.clone()])));
        results.push(Some(Value::list([Value::text("lagged"), a.clone()])));
        results.extend([true, false].map(|new| Some(Value::list([a.clone(), Value::Bool(new)]))));
        for b in &items {
            results.push(Some(Value::list([a.clone(), b.clone()])));
        }
        results.push(Some(Value::list([Value::list([Value::Int(1), a.clone()])])));
        results.push(txn(&[micro("read", "x", a.clone())]));
        results.push(txn(&[micro("read", "y", a.clone())]));
        results.push(txn(&[micro("read", "x", a.clone()), micro("w", "x", Value::Int(2))]));
        results.push(txn(&[micro("w", "y", Value::Int(2)), micro("read", "y", a.clone())]));
    }
    results
}

/// One after another: each recorded operation with its result, `Err` for a pending one.
pub fn history(operations: &[(Recorded, Result<Option<Value>, ()>)]) -> History {
    let mut builder = Builder::new("laws");
    for (index, ((method, key, arg), result)) in operations.iter().enumerate() {
        let process = builder.process(&Value::Int(index as i64));
        let mut call = Call::new(builder.method(method));
        for (field, value) in [(&mut call.key, key), (&mut call.arg, arg)] {
            if let Some(value) = value {
                *field = builder.values().intern(value);
            }
        }
        builder.call(0, process, call).unwrap();
        if let Ok(result) = result {
            let result = match result {
                Some(result) => builder.values().intern(result),
                None => seriatim_history::ValueId::ABSENT,
            };
            builder.ret(0, process, Return::new(Outcome::Ok, result)).unwrap();
        }
    }
    builder.finish().unwrap()
}

/// A specification with all that it can read of the universe.
pub struct Universe {
    pub name: String,
    pub interpretation: Interpretation,
    /// For each operation: what is pending, and what completed with each result.
    pub groups: Vec<(Option<ClassId>, Vec<ClassId>)>,
}

pub fn universe(choice: &SpecChoice, calls: &[Recorded]) -> Universe {
    let mut operations = Vec::new();
    let mut sizes = Vec::new();
    for call in calls {
        let readable = |result: &Option<Value>| {
            // The snapshot's size follows from what is named, so both segments must be.
            let size = (("scan", None, None), Ok(Some(Value::list([Value::Nil, Value::Nil]))));
            let one = (call.clone(), Ok(result.clone()));
            let both = if choice.name() == "snapshot" { vec![size, one] } else { vec![one] };
            choice.bind(&mut history(&both), Failures::Observe).is_ok()
        };
        let results: Vec<_> = results().into_iter().filter(readable).collect();
        assert!(!results.is_empty(), "{choice} reads no result of {call:?}");
        sizes.push(results.len());
        operations.push((call.clone(), Err(())));
        operations.extend(results.into_iter().map(|result| (call.clone(), Ok(result))));
    }
    let mut history = history(&operations);
    let interpretation = choice
        .bind(&mut history, Failures::Observe)
        .unwrap_or_else(|error| panic!("{choice}: {error}"));
    let mut next = 0;
    let class = |index: usize| interpretation.class(index.into());
    let groups = sizes.into_iter().map(|size| {
        let completed = (next + 1..=next + size).map(|index| class(index).unwrap());
        let group = (class(next), completed.collect());
        next += size + 1;
        group
    });
    let groups = groups.collect();
    Universe { name: choice.to_string(), interpretation, groups }
}
