//! Generator, specifications and replayer against each other: what the generator's own objects did
//! is what the specifications allow; what it plants no order explains; and a witness that was
//! tampered with is refused for the right reason.

use seriatim_history::{Builder, Call, Format, History, OpId, Outcome, Return, Value, write};
use seriatim_spec::generate::{Generated, Generator, Profile, Repetition, Spread, Violation};
use seriatim_spec::{
    Cancel, Failures, Interpretation, Invalid, SpecChoice, StateId, Witness, catalogue, validate,
};
use std::collections::HashSet;

fn make(choice: &SpecChoice, profile: Profile) -> (Generated, Interpretation) {
    let generator = Generator::new(choice, profile).unwrap();
    let choice = SpecChoice::parse(generator.spec()).unwrap();
    let mut made = generator.history().unwrap();
    assert_eq!(SpecChoice::guess(&made.history).unwrap(), choice);
    let read = choice.bind(&mut made.history, Failures::Observe);
    let read = read.unwrap_or_else(|error| panic!("{choice}: {error}"));
    (made, read)
}

fn choices() -> Vec<SpecChoice> {
    let mut texts: Vec<&str> = catalogue().map(|entry| entry.name).collect();
    texts.extend([
        "mutex(owner)",
        "priority-queue(max)",
        "cas-register(init=0)",
        "counter(init=5)",
        "semaphore(init=2)",
        "multi-register(strict)",
        "snapshot(init=[7, 7])",
        "bounded-deque(capacity=2)",
        "weighted-semaphore(init=2)",
        "broadcast(capacity=2)",
    ]);
    texts.into_iter().map(|text| SpecChoice::parse(text).unwrap()).collect()
}

fn profiles() -> Vec<Profile> {
    let usual = Profile { operations: 300, ..Profile::default() };
    vec![
        Profile { threads: 1, overlap: 0.0, ..usual.clone() },
        Profile { pending: 0.1, overlap: 0.9, seed: 1, ..usual.clone() },
        Profile {
            threads: 8,
            pending: 0.3,
            overlap: 1.0,
            values: Repetition::Among(3),
            spread: Spread::Skewed,
            empties: 0.1,
            seed: 2,
            ..usual
        },
    ]
}

#[test]
fn the_generator_calls_operations_by_their_first_names_in_the_catalogue() {
    for choice in choices() {
        for profile in profiles() {
            let (made, _) = make(&choice, profile);
            for method in 0..made.history.method_count() {
                let name = made.history.method_name(method.into());
                let mut first_names = choice.entry().methods.iter().map(|method| method.names[0]);
                assert!(first_names.any(|first| first == name), "{choice}: {name}");
            }
        }
    }
}

#[test]
fn what_the_generator_did_is_what_the_specification_allows() {
    for choice in choices() {
        for profile in profiles() {
            let operations = profile.operations as usize;
            let (made, read) = make(&choice, profile);
            let more = made.history.len() - operations;
            assert!(more == 0 || (choice.name() == "mutex" && more <= 8), "{choice}: {more} more");
            validate(&made.history, &read, &made.witness(&read))
                .unwrap_or_else(|invalid| panic!("{choice}: {invalid}"));
        }
    }
}

#[test]
fn a_history_that_is_written_while_it_is_made_is_the_same_history() {
    for choice in choices() {
        for profile in profiles() {
            let made = Generator::new(&choice, profile.clone()).unwrap().history().unwrap();
            let mut collected = Vec::new();
            write(&made.history, Format::JsonEvents, &mut collected).unwrap();
            let mut streamed = Vec::new();
            let generator = Generator::new(&choice, profile).unwrap();
            let mut operations = 0;
            generator.write_events(&mut streamed, &mut operations).unwrap();
            assert_eq!(operations, made.history.len() as u64);
            let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
            assert_eq!(text(streamed), text(collected), "{choice}");
        }
    }
}

#[test]
fn every_method_of_the_generator_can_be_asked_for() {
    for (spec, method) in [
        ("set", "read"),
        ("set", "size"),
        ("multiset", "take"),
        ("map", "size"),
        ("map", "contains"),
        ("snapshot", "read"),
        ("cas-register", "swap"),
        ("cache", "clear"),
        ("weighted-semaphore", "close"),
        ("watch", "close"),
        ("broadcast", "close"),
    ] {
        let choice = SpecChoice::parse(spec).unwrap();
        let shares = vec![(method.to_owned(), 1.0)];
        let (made, read) = make(&choice, Profile { shares, pending: 0.1, ..Profile::default() });
        assert!(made.history.operations().any(|operation| operation.method() == method));
        validate(&made.history, &read, &made.witness(&read)).unwrap();
    }
    let choice = SpecChoice::parse("queue").unwrap();
    let shares = vec![("fly".to_owned(), 1.0)];
    let error = Generator::new(&choice, Profile { shares, ..Profile::default() }).err().unwrap();
    assert!(error.to_string().contains("expected one of: enqueue"), "{error}");
}

#[test]
fn the_same_seed_gives_the_same_history() {
    let events = |seed| {
        let choice = SpecChoice::parse("cas-register").unwrap();
        let profile = Profile { seed, pending: 0.1, ..Profile::default() };
        let generator = Generator::new(&choice, profile).unwrap();
        generator.map(|happening| format!("{happening:?}")).collect::<Vec<_>>()
    };
    assert_eq!(events(7), events(7));
    assert_ne!(events(7), events(8));
}

/// Tries all orders: the slow, obvious definition of linearizability.
fn linearizable(history: &History, read: &Interpretation) -> bool {
    let operations: Vec<OpId> = read.operations().collect();
    let precedes = |a: OpId, b: OpId| history.operation(a).precedes(&history.operation(b));
    let completed: u64 = (0..operations.len())
        .filter(|&i| history.outcome(operations[i]) != Outcome::Pending)
        .map(|i| 1 << i)
        .sum();
    let before: Vec<u64> = operations
        .iter()
        .map(|&b| {
            (0..operations.len()).filter(|&i| precedes(operations[i], b)).map(|i| 1 << i).sum()
        })
        .collect();
    let mut automaton = read.alphabet.automaton(&Cancel::never());
    let mut stack: Vec<(u64, StateId)> = vec![(0, automaton.initial())];
    let mut seen: HashSet<(u64, StateId)> = stack.iter().copied().collect();
    while let Some((placed, state)) = stack.pop() {
        if placed & completed == completed {
            return true;
        }
        for (i, &op) in operations.iter().enumerate() {
            if placed >> i & 1 == 1 || before[i] & !placed & completed != 0 {
                continue;
            }
            let mut next = Vec::new();
            automaton.step(state, read.class(op).unwrap(), &mut next);
            let next = next.into_iter().map(|state| (placed | 1 << i, state));
            stack.extend(next.filter(|&configuration| seen.insert(configuration)));
        }
    }
    false
}

#[test]
fn no_order_explains_what_is_planted() {
    for choice in choices() {
        for seed in 0..12 {
            let profile = Profile {
                operations: 12,
                threads: 3,
                overlap: 0.7,
                pending: 0.15,
                keys: 2,
                values: if seed % 2 == 0 { Repetition::Distinct } else { Repetition::Among(2) },
                seed,
                ..Profile::default()
            };
            let (made, read) = make(&choice, profile.clone());
            assert!(linearizable(&made.history, &read), "{choice}, seed {seed}");
            let violation = Violation::At(seed);
            let (made, read) = make(&choice, Profile { violation, ..profile });
            assert!(made.history.len() > 12, "nothing was planted");
            assert!(!linearizable(&made.history, &read), "{choice}, seed {seed}");
            let refused = validate(&made.history, &read, &made.witness(&read));
            assert!(matches!(refused, Err(Invalid::Illegal { .. })), "{refused:?}");
        }
    }
}

#[test]
fn a_witness_that_was_tampered_with_is_refused() {
    let choice = SpecChoice::parse("queue").unwrap();
    let (made, read) = make(&choice, Profile { pending: 0.1, ..Profile::default() });
    let history = &made.history;
    let right = made.witness(&read);
    let tampered = |change: &dyn Fn(&mut Vec<OpId>)| {
        let mut order = right.order.clone();
        change(&mut order);
        validate(history, &read, &Witness { order }).unwrap_err()
    };
    let completed = |op: &OpId| history.outcome(*op) == Outcome::Ok;
    let place = right.order.iter().position(completed).unwrap();
    let op = right.order[place];
    assert_eq!(tampered(&|order| _ = order.remove(place)), Invalid::Missing(op));
    assert_eq!(tampered(&|order| order.push(op)), Invalid::Repeated(op));
    let foreign = OpId::from(history.len());
    assert_eq!(tampered(&|order| order.push(foreign)), Invalid::Foreign(foreign));
    let effects: HashSet<OpId> = right.order.iter().copied().collect();
    let dropped = history.operations().map(|operation| operation.id);
    let mut dropped = dropped.filter(|op| !effects.contains(op) && read.class(*op).is_none());
    if let Some(dropped) = dropped.next() {
        assert_eq!(tampered(&|order| order.push(dropped)), Invalid::Foreign(dropped));
    }
    // Every pair of neighbours in the order that real time separates.
    let mut swapped = 0;
    for i in 1..right.order.len() {
        let (a, b) = (right.order[i - 1], right.order[i]);
        if history.operation(a).precedes(&history.operation(b)) {
            assert_eq!(tampered(&|order| order.swap(i - 1, i)), Invalid::AgainstTime(b, a));
            swapped += 1;
        }
    }
    assert!(swapped > 10, "{swapped}");
}

/// `[1] call a; [2] call b; return; return` of a register, and the orders that are right.
#[test]
fn intervals_are_closed_and_objects_are_apart() {
    let mut builder = Builder::new("small");
    let (read, write) = (builder.method("read"), builder.method("write"));
    let objects = ["x", "y"].map(|name| builder.values().intern(&Value::text(name)));
    let one = builder.values().intern_int(1);
    let interval = |call, ret| seriatim_history::Interval { call, ret: Some(ret) };
    let mut add = |object, call: Call, times: (u64, u64), ret| {
        let call = Call { object, ..call };
        builder.operation(0, None, call, interval(times.0, times.1), ret).unwrap();
    };
    add(objects[0], Call::new(write).arg(one), (0, 5), Return::ok());
    let seen = |value| Return::new(Outcome::Ok, value);
    add(objects[0], Call::new(read), (5, 6), seen(seriatim_history::ValueId::NIL));
    add(objects[1], Call::new(read), (7, 8), seen(seriatim_history::ValueId::NIL));
    let mut history = builder.finish().unwrap();
    let choice = SpecChoice::parse("register").unwrap();
    let read = choice.bind(&mut history, Failures::Observe).unwrap();
    let check = |order: [u32; 3]| {
        let order = order.map(OpId).to_vec();
        validate(&history, &read, &Witness { order })
    };
    // The read is called when the write returns: it may come first. The other object is untouched.
    assert_eq!(check([1, 0, 2]), Ok(()));
    let reason = "cannot read nil: the register holds 1".to_owned();
    let illegal = Invalid::Illegal { position: 1, op: OpId(1), reason };
    assert_eq!(check([0, 1, 2]), Err(illegal));
    assert_eq!(check([1, 2, 0]), Err(Invalid::AgainstTime(OpId(2), OpId(0))));
}
