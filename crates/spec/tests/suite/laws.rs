//! Every built-in specification keeps the promises of `Spec`, checked on all states that a few
//! operations reach and on all results of a small universe.
//!
//! Operations come in as recorded text does, through `decode`, so what is checked is what a user
//! gets. Whatever a specification refuses to read is left out of the universe.

use seriatim_history::{Builder, Call, History, Outcome, Return, Value};
use seriatim_spec::{
    Automaton, Cancel, ClassId, Failures, Interpretation, SpecChoice, StateId, catalogue,
};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// A recorded operation: method, key, argument.
type Recorded = (&'static str, Option<Value>, Option<Value>);

fn int(number: i64) -> Option<Value> {
    Some(Value::Int(number))
}

fn pair(a: i64, b: i64) -> Option<Value> {
    Some(Value::list([Value::Int(a), Value::Int(b)]))
}

fn text(text: &str) -> Option<Value> {
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
fn calls(spec: &str) -> Vec<Recorded> {
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
fn history(operations: &[(Recorded, Result<Option<Value>, ()>)]) -> History {
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
struct Universe {
    name: String,
    interpretation: Interpretation,
    /// For each operation: what is pending, and what completed with each result.
    groups: Vec<(Option<ClassId>, Vec<ClassId>)>,
}

fn universe(choice: &SpecChoice, calls: &[Recorded]) -> Universe {
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

fn step(automaton: &mut dyn Automaton, state: StateId, class: ClassId) -> BTreeSet<StateId> {
    let mut next = Vec::new();
    automaton.step(state, class, &mut next);
    let count = next.len();
    let next: BTreeSet<StateId> = next.into_iter().collect();
    assert_eq!(count, next.len(), "a successor is named twice");
    next
}

fn all_classes(universe: &Universe) -> BTreeSet<ClassId> {
    let groups = universe.groups.iter();
    groups.flat_map(|(pending, done)| pending.iter().chain(done).copied()).collect()
}

/// The states that at most `depth` operations reach.
fn reachable(universe: &Universe, automaton: &mut dyn Automaton, depth: usize) -> Vec<StateId> {
    let mut states = BTreeSet::from([automaton.initial()]);
    for _ in 0..depth {
        for state in states.clone() {
            for class in all_classes(universe) {
                states.extend(step(automaton, state, class));
            }
        }
    }
    states.into_iter().collect()
}

fn check(universe: &Universe) {
    let alphabet = &universe.interpretation.alphabet;
    let mut automaton = alphabet.automaton(&Cancel::never());
    let automaton = &mut *automaton;
    let states = reachable(universe, automaton, 3);
    let shown: HashSet<String> = states.iter().map(|&state| automaton.show(state)).collect();
    assert_eq!(shown.len(), states.len(), "{}: two states look alike", universe.name);
    let classes = all_classes(universe);
    for &class in &classes {
        let (mut possible, mut changes) = (false, false);
        for &state in &states {
            let next = step(automaton, state, class);
            possible |= !next.is_empty();
            changes |= next.iter().any(|&after| after != state);
            let reason = automaton.explain(state, class);
            assert_eq!(next.is_empty(), !reason.is_empty(), "{}: {reason:?}", universe.name);
        }
        let read_only = alphabet.is_read_only(class);
        let name = &universe.name;
        assert!(!(read_only && changes), "{name}: class {class:?} is not read-only");
        assert!(read_only || changes || !possible, "{name}: class {class:?} is read-only");
    }
    for (pending, completed) in &universe.groups {
        let Some(pending) = *pending else {
            assert!(completed.iter().all(|&class| alphabet.is_read_only(class)));
            continue;
        };
        for &state in &reachable(universe, automaton, 2) {
            // A step that changes nothing is a pending operation that never takes effect.
            let mut any = step(automaton, state, pending);
            any.insert(state);
            let each = completed.iter().flat_map(|&class| step(automaton, state, class));
            assert_eq!(
                any,
                each.chain([state]).collect(),
                "{} in {}",
                universe.name,
                automaton.show(state)
            );
        }
    }
}

fn check_pairs(universe: &Universe) {
    let alphabet = &universe.interpretation.alphabet;
    let mut automaton = alphabet.automaton(&Cancel::never());
    let automaton = &mut *automaton;
    let states = reachable(universe, automaton, 2);
    let mut both = |a: ClassId, b: ClassId, state: StateId| -> BTreeSet<StateId> {
        let between = step(automaton, state, a);
        between.into_iter().flat_map(|state| step(automaton, state, b)).collect()
    };
    for &a in &all_classes(universe) {
        for &b in &all_classes(universe) {
            let keys = (alphabet.key(a), alphabet.key(b));
            let apart = matches!(keys, (Some(x), Some(y)) if x != y);
            assert_eq!(alphabet.commute(a, b), alphabet.commute(b, a));
            assert!(!apart || alphabet.commute(a, b), "{}: parts commute", universe.name);
            if alphabet.commute(a, b) {
                for &state in &states {
                    let orders = (both(a, b, state), both(b, a, state));
                    assert_eq!(orders.0, orders.1, "{}: {a:?} {b:?}", universe.name);
                }
            }
        }
    }
}

/// Whatever a specification allows, nothing of it may be called inexplicable.
fn check_inexplicable(universe: &Universe) {
    let alphabet = &universe.interpretation.alphabet;
    let mut automaton = alphabet.automaton(&Cancel::never());
    let mut stack = vec![(automaton.initial(), Vec::new())];
    while let Some((state, run)) = stack.pop() {
        assert_eq!(alphabet.inexplicable(&run), None, "{}", universe.name);
        if run.len() == 2 {
            continue;
        }
        for class in all_classes(universe) {
            for next in step(&mut *automaton, state, class) {
                stack.push((next, [&run[..], &[class]].concat()));
            }
        }
    }
}

fn choices() -> Vec<SpecChoice> {
    let mut texts: Vec<String> = catalogue().map(|entry| entry.name.to_owned()).collect();
    texts.extend(
        [
            "cas-register(init=1)",
            "map(init={\"k\" \"a\"})",
            "kv(init={\"k\" \"a\"})",
            "set(init=[1])",
            "multiset(init=[1, 1])",
            "stack(init=[1, 2])",
            "queue(init=[1, 2])",
            "priority-queue(max, init=[1, 2])",
            "deque(init=[1, 2])",
            "counter(init=-1)",
            "semaphore(init=1)",
            "log(init=[2])",
            "snapshot(init=[1, nil])",
            "multi-register(strict, init={x: 1, y: 2})",
            "bounded-deque(capacity=0)",
            "bounded-deque(capacity=1)",
            "bounded-deque(capacity=2)",
            "weighted-semaphore(init=3)",
            "watch(init=1)",
            "broadcast(capacity=0)",
            "broadcast(capacity=1)",
            "broadcast(capacity=2)",
        ]
        .map(str::to_owned),
    );
    // More than 64 elements: the set is a tree, not bits.
    let many: Vec<String> = (100..170).map(|element| element.to_string()).collect();
    texts.push(format!("set(init=[{}])", many.join(", ")));
    texts.iter().map(|text| SpecChoice::parse(text).unwrap()).collect()
}

#[test]
fn every_specification_keeps_its_promises() {
    for choice in choices() {
        let calls = calls(choice.name());
        // The same without what looks at the whole object, so that parts are told apart.
        let whole = ["size", "is_empty", "take", "clear"];
        let reads_all = matches!(choice.name(), "set" | "multiset");
        let partial =
            |(method, ..): &Recorded| !(whole.contains(method) || reads_all && *method == "read");
        let parts: Vec<Recorded> = calls.iter().filter(|call| partial(call)).cloned().collect();
        for calls in [calls, parts] {
            let universe = universe(&choice, &calls);
            check(&universe);
            check_pairs(&universe);
            check_inexplicable(&universe);
        }
    }
}

#[test]
fn parts_are_told_apart_exactly_when_nothing_looks_at_the_whole() {
    for (spec, whole, split) in [
        ("set", "size", true),
        ("multiset", "take", true),
        ("map", "size", true),
        ("cache", "clear", true),
        ("queue", "size", false),
    ] {
        let add: Recorded = match spec {
            "map" | "cache" => ("put", text("k"), int(1)),
            "queue" => ("enqueue", None, int(1)),
            _ => ("add", None, int(1)),
        };
        let choice = SpecChoice::parse(spec).unwrap();
        let keyed = |operations: &[(Recorded, Result<Option<Value>, ()>)]| {
            let mut history = history(operations);
            let read = choice.bind(&mut history, Failures::Observe).unwrap();
            read.alphabet.key(read.class(0_usize.into()).unwrap()).is_some()
        };
        assert_eq!(keyed(&[(add.clone(), Ok(None))]), split, "{spec}");
        let all = (whole, None, None);
        assert!(!keyed(&[(add.clone(), Ok(None)), (all, Ok(Some(Value::Nil)))]), "{spec}");
    }
}

#[test]
fn every_alias_means_its_method() {
    for entry in catalogue() {
        let calls = calls(entry.name);
        for method in entry.methods {
            let known = calls.iter().find(|call| method.is(call.0));
            let call = known.unwrap_or_else(|| panic!("{}: {:?}", entry.name, method.names));
            let class = |name: &'static str| {
                // What names the greatest is no operation of a queue whose least value leaves
                // first.
                let spec = if name.ends_with("max") { "priority-queue(max)" } else { entry.name };
                let choice = SpecChoice::parse(spec).unwrap();
                let operation = ((name, call.1.clone(), call.2.clone()), Ok(None));
                let nil = ((name, call.1.clone(), call.2.clone()), Ok(Some(Value::Nil)));
                let read = |operation| {
                    let mut history = history(&[operation]);
                    choice.bind(&mut history, Failures::Observe).map(|read| {
                        let mut automaton = read.alphabet.automaton(&Cancel::never());
                        let state = automaton.initial();
                        let next = step(&mut *automaton, state, ClassId(0));
                        (automaton.explain(state, ClassId(0)), next)
                    })
                };
                read(operation).or_else(|_| read(nil)).unwrap()
            };
            let first = class(method.names[0]);
            for alias in method.names {
                assert_eq!(class(alias), first, "{} {alias}", entry.name);
            }
        }
        for name in entry.aliases {
            assert_eq!(SpecChoice::parse(name).unwrap().name(), entry.name, "{name}");
        }
    }
}

#[test]
fn reasons_are_written_for_people() {
    let said = |spec: &str, before: &[Recorded], call: Recorded, result: Option<Value>| {
        let mut operations: Vec<_> = before.iter().map(|call| (call.clone(), Ok(None))).collect();
        operations.push((call, Ok(result)));
        let mut history = history(&operations);
        let read = SpecChoice::parse(spec).unwrap().bind(&mut history, Failures::Observe);
        let read = read.unwrap();
        let mut automaton = read.alphabet.automaton(&Cancel::never());
        let mut state = automaton.initial();
        for index in 0..before.len() {
            let class = read.class(index.into()).unwrap();
            state = *step(&mut *automaton, state, class).first().unwrap();
        }
        automaton.explain(state, read.class(before.len().into()).unwrap())
    };
    let enqueued: &[Recorded] = &[("enq", None, int(3)), ("enq", None, int(7))];
    let reasons = BTreeMap::from([
        (said("queue", enqueued, ("deq", None, None), int(7)), "cannot dequeue 7: the front is 3"),
        (said("queue", &[], ("deq", None, None), int(7)), "cannot dequeue 7: the queue is empty"),
        (
            said("stack", &[("push", None, int(3))], ("pop", None, None), Some(Value::Nil)),
            "pop cannot find nothing: the top is 3",
        ),
        (
            said("register", &[("write", None, int(4))], ("read", None, None), int(3)),
            "cannot read 3: the register holds 4",
        ),
        (
            said(
                "set",
                &[("add", None, int(3))],
                ("insert", None, int(3)),
                Some(Value::Bool(true)),
            ),
            "add 3 cannot return true: the set contains 3",
        ),
        (
            said("kv", &[("append", text("k"), text("a"))], ("get", text("k"), None), text("b")),
            "cannot get \"k\" as \"b\": the value of \"k\" is \"a\"",
        ),
        (
            said("mutex", &[("lock", None, None)], ("lock", None, None), None),
            "cannot acquire: the mutex is held",
        ),
        (
            said(
                "priority-queue(max)",
                &[("add", None, int(3)), ("add", None, int(9))],
                ("poll", None, None),
                int(3),
            ),
            "cannot extract 3: the greatest value is 9",
        ),
    ]);
    for (said, expected) in reasons {
        assert_eq!(said, expected);
    }
}

#[test]
fn what_makes_no_sense_is_refused_with_what_was_expected() {
    let refused = |spec: &str, call: Recorded, result: Option<Value>| {
        let mut history = history(&[(call, Ok(result))]);
        let read = SpecChoice::parse(spec).unwrap().bind(&mut history, Failures::Observe);
        match read {
            Ok(_) => panic!("{spec} takes it"),
            Err(error) => error.to_string(),
        }
    };
    for (message, expected) in [
        (
            refused("queue", ("fly", None, None), None),
            "queue has no operation `fly`; expected one of: enqueue(value)",
        ),
        (refused("queue", ("enq", None, None), None), "expected an argument"),
        (refused("queue", ("enq", None, int(1)), int(2)), "expected no result"),
        (refused("queue", ("deq", None, None), None), "expected a value as result, or nil"),
        (refused("set", ("add", None, int(1)), int(2)), "expected true or false as result"),
        (
            refused("cas-register", ("cas", None, int(1)), None),
            "expected a list of two values as argument",
        ),
        (refused("counter", ("add", None, text("x")), None), "expected an integer as argument"),
        (refused("map", ("put", None, int(1)), None), "expected a key and 1 more as argument"),
        (refused("kv", ("append", text("k"), int(1)), None), "expected a text to append"),
        (refused("log", ("read", None, int(-1)), None), "expected an index, 0 or more"),
        (
            refused("snapshot(init=[0])", ("update", None, pair(1, 1)), None),
            "expected a segment below 1",
        ),
        (
            refused("multi-register", ("txn", None, int(1)), None),
            "expected a list of [f, register, value]",
        ),
        (refused("semaphore", ("incr", None, int(0)), None), "expected a release that succeeds"),
        (
            refused("weighted-semaphore", ("acquire", None, int(-1)), None),
            "expected a number of permits as argument, 0 or more",
        ),
        (
            refused("broadcast", ("send", None, text("closed")), None),
            "expected a value that is not the result of receiving nothing",
        ),
        (
            refused("broadcast", ("recv", None, int(1)), Some(Value::Nil)),
            "expected a value as result: it waits for one",
        ),
        (refused("watch", ("update", None, int(1)), int(1)), "as in [3, true]"),
    ] {
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn an_owned_mutex_is_released_by_its_owner_only() {
    // Each operation has a process of its own, so nobody releases what it acquired.
    let operations = ["acquire", "release"].map(|name| ((name, None, None), Ok(None)));
    for (spec, possible) in [("mutex", true), ("mutex(owner)", false)] {
        let mut history = history(&operations);
        let choice = SpecChoice::parse(spec).unwrap();
        let read = choice.bind(&mut history, Failures::Observe).unwrap();
        let mut automaton = read.alphabet.automaton(&Cancel::never());
        let free = automaton.initial();
        let held = step(&mut *automaton, free, ClassId(0));
        let after = step(&mut *automaton, *held.first().unwrap(), ClassId(1));
        assert_eq!(after.contains(&free), possible, "{spec}");
    }
}

#[test]
fn a_value_that_nobody_put_there_is_inexplicable() {
    let shown: &[(&str, Recorded, Option<Value>)] = &[
        ("register", ("read", None, None), int(8)),
        ("cas-register", ("cas", None, pair(8, 1)), Some(Value::Bool(true))),
        ("map", ("get", text("k"), None), int(8)),
        ("set", ("contains", None, int(8)), Some(Value::Bool(true))),
        ("multiset", ("take", None, None), int(8)),
        ("stack", ("pop", None, None), int(8)),
        ("queue", ("front", None, None), int(8)),
        ("priority-queue", ("peek", None, None), int(8)),
        ("deque", ("pop_back", None, None), int(8)),
        ("log", ("read", None, int(0)), int(8)),
        ("watch", ("read", None, None), int(8)),
        ("broadcast", ("recv", None, text("a")), int(8)),
        ("snapshot(init=[0])", ("scan", None, None), Some(Value::list([Value::Int(8)]))),
    ];
    for (spec, call, result) in shown {
        let mut history = history(&[(call.clone(), Ok(result.clone()))]);
        let choice = SpecChoice::parse(spec).unwrap();
        let read = choice.bind(&mut history, Failures::Observe).unwrap();
        let found = read.alphabet.inexplicable(&[ClassId(0)]);
        assert!(found.is_some_and(|(class, _)| class == ClassId(0)), "{spec}");
    }
}

#[test]
fn a_failure_tells_what_the_user_says_it_does() {
    let failed = |spec: &str, call: &Recorded, failures| {
        let mut builder = Builder::new("failed");
        let process = builder.process(&Value::Int(0));
        let mut what = Call::new(builder.method(call.0));
        if let Some(arg) = &call.2 {
            what.arg = builder.values().intern(arg);
        }
        builder.call(1, process, what).unwrap();
        let failure = Return::new(Outcome::Failed, seriatim_history::ValueId::ABSENT);
        builder.ret(2, process, failure).unwrap();
        let mut history = builder.finish().unwrap();
        let read = SpecChoice::parse(spec).unwrap().bind(&mut history, failures);
        let kept = |read: Interpretation| {
            let class = read.class(0_usize.into());
            class.map(|class| read.alphabet.is_read_only(class))
        };
        read.map(kept).map_err(|error| error.to_string())
    };
    let cas = ("cas", None, pair(1, 2));
    let dequeue = ("dequeue", None, None);
    let write = ("write", None, int(1));
    let observed = Ok(Some(true));
    let dropped = Ok(None);
    for (spec, call, observe) in [
        ("cas-register", &cas, &observed),
        ("queue", &dequeue, &observed),
        ("register", &write, &dropped),
    ] {
        assert_eq!(&failed(spec, call, Failures::Drop), &dropped, "{spec}");
        assert_eq!(&failed(spec, call, Failures::Observe), observe, "{spec}");
    }
}
