//! Every built-in specification keeps the promises of `Spec`, checked on all states that a few
//! operations reach and on all results of a small universe.
//!
//! Operations come in as recorded text does, through `decode`, so what is checked is what a user
//! gets. Whatever a specification refuses to read is left out of the universe.

use crate::universe::{Recorded, Universe, calls, history, int, pair, text, universe};
use seriatim_history::{Builder, Call, Outcome, Return, Value};
use seriatim_spec::{
    Automaton, Cancel, ClassId, Failures, Interpretation, SpecChoice, StateId, catalogue,
};
use std::collections::{BTreeMap, BTreeSet, HashSet};

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

/// Whether every sequence of so many operations that is possible from some states is possible from
/// others.
fn is_more_possible(
    automaton: &mut dyn Automaton,
    classes: &BTreeSet<ClassId>,
    from: BTreeSet<StateId>,
    than_from: BTreeSet<StateId>,
    depth: u32,
) -> bool {
    if than_from.is_empty() || than_from.is_subset(&from) {
        return true;
    }
    !from.is_empty()
        && (depth == 0
            || classes.iter().all(|&class| {
                let mut after = |states: &BTreeSet<StateId>| -> BTreeSet<StateId> {
                    states.iter().flat_map(|&state| step(automaton, state, class)).collect()
                };
                let (from, than_from) = (after(&from), after(&than_from));
                is_more_possible(automaton, classes, from, than_from, depth - 1)
            }))
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
            // It is left out, since what may follow it may happen without it as well.
            for state in reachable(universe, automaton, 2) {
                let after: BTreeSet<StateId> =
                    completed.iter().flat_map(|&class| step(automaton, state, class)).collect();
                let name = &universe.name;
                assert!(
                    after.into_iter().all(|after| {
                        is_more_possible(automaton, &classes, [state].into(), [after].into(), 2)
                    }),
                    "{name}: what is left out may matter in {}",
                    automaton.show(state)
                );
            }
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
            "multi-register(strict, init={:x 1, :y 2})",
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
    for (spec, whole, answer, split) in [
        ("set", "size", int(1), true),
        ("multiset", "take", None, true),
        ("map", "size", int(1), true),
        ("cache", "clear", None, true),
        ("queue", "size", int(1), false),
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
        assert!(
            !keyed(&[(add.clone(), Ok(None)), (all, Ok(answer.or(Some(Value::Nil))))]),
            "{spec}"
        );
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
