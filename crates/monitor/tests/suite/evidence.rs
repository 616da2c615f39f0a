//! What stands behind a verdict: every order that an engine finds passes the replay, also where the
//! log is silent, and every counterexample is refuted once more.

use seriatim_history::{
    Builder, Call, History, Horizon, Interval, OpId, Outcome, Return, Value, ValueId,
};
use seriatim_monitor::{Checked, Confirmation, Monitors, Options, check};
use seriatim_spec::generate::{Generator, Profile, Repetition, Violation};
use seriatim_spec::{
    ChosenReader, Counterexample, Failures, Reader, Refutation, SpecChoice, Verdict, catalogue,
    refute,
};
use std::time::Duration;

fn reader(spec: &str) -> ChosenReader {
    let choice = SpecChoice::parse(spec).unwrap();
    ChosenReader { choice, failures: Failures::default() }
}

fn generated(spec: &str, profile: Profile) -> (History, ChosenReader) {
    let choice = SpecChoice::parse(spec).unwrap();
    let generator = Generator::new(&choice, profile).unwrap();
    let reader = reader(generator.spec());
    (generator.history().unwrap().history, reader)
}

/// The history without the results of every so many operations, where it can be read without them.
fn silenced(history: &History, reader: &ChosenReader, every: usize) -> History {
    let erase = |erased: &dyn Fn(usize) -> bool| {
        let mut builder = Builder::new("silenced");
        for operation in history.operations() {
            let process = builder.process(history.process_name(operation.process()));
            let mut intern = |id: ValueId| match id.is_present() {
                true => builder.values().intern(&history.values().get(id)),
                false => ValueId::ABSENT,
            };
            let (key, arg, result) =
                (intern(operation.key()), intern(operation.arg()), intern(operation.result()));
            let result = if erased(operation.id.index()) { ValueId::ABSENT } else { result };
            let mut call = Call::new(builder.method(operation.method())).arg(arg);
            call.key = key;
            let interval = Interval { call: operation.call(), ret: operation.ret() };
            let outcome = match operation.outcome() {
                Outcome::Pending => Outcome::Ok,
                outcome => outcome,
            };
            let back = Return::new(outcome, result);
            builder.operation(operation.line(), Some(process), call, interval, back).unwrap();
        }
        builder.finish().unwrap()
    };
    // Results stay that the specification insists on, and those whose absence means something (a
    // compare-and-set without result had success).
    let can_be_silent = |index: usize| {
        let reading = reader.read(&mut erase(&|other| other == index));
        reading.is_ok_and(|reading| {
            let class = reading.class(OpId::from(index));
            class.is_some_and(|class| reading.alphabet.is_read_only(class))
        })
    };
    let silent: Vec<bool> =
        (0..history.len()).map(|index| index % every == 0 && can_be_silent(index)).collect();
    erase(&|index| silent[index])
}

fn with(history: &History, reader: &ChosenReader, monitors: Monitors) -> Checked {
    let options = Options { monitors, threads: 1, ..Options::default() };
    check(&mut history.clone(), reader, &options).unwrap()
}

#[test]
fn operations_whose_result_nobody_recorded_have_their_place_in_the_witness() {
    for entry in catalogue() {
        for (every, values) in
            [(1, Repetition::Distinct), (2, Repetition::Distinct), (3, Repetition::Among(4))]
        {
            let profile = Profile { operations: 60, threads: 3, values, ..Profile::default() };
            let (history, reader) = generated(entry.name, profile);
            let silent = silenced(&history, &reader, every);
            for monitors in [Monitors::Use, Monitors::Skip] {
                let checked = with(&silent, &reader, monitors);
                assert_eq!(checked.defect, None, "{}", entry.name);
                let Verdict::Linearizable(replayed) = &checked.verdict else {
                    panic!("{}: {:?}", entry.name, checked.verdict);
                };
                let completed = silent.tally().ok;
                assert!(replayed.order.len() >= completed, "{}", entry.name);
            }
        }
    }
}

/// Numbers one after another with a wrong one at the end: what a monitor may not be able to make
/// small.
fn long_wrong(spec: &str, last: &str, steps: u64) -> History {
    let mut builder = Builder::new("long");
    let process = builder.process(&Value::Int(0));
    let (add, arg) = match spec {
        "counter" => ("inc", None),
        "fetch-and-add" => ("fetch_add", Some(1)),
        "log" => ("append", Some(7)),
        _ => ("write", Some(7)),
    };
    let wrong = match (spec, last) {
        ("log", "read") => Value::List([Value::Int(7), Value::Int(7)].into()),
        _ => Value::Int(3),
    };
    let (add, last) = (builder.method(add), builder.method(last));
    for step in 0..=steps {
        let interval = Interval { call: step * 2, ret: Some(step * 2 + 1) };
        let mut call = Call::new(if step < steps { add } else { last });
        let mut back = Return::ok();
        if step == steps {
            back.result = builder.values().intern(&wrong);
        }
        if let (Some(arg), true) = (arg, call.method == add) {
            call.arg = builder.values().intern_int(arg);
        }
        builder.operation(step + 1, Some(process), call, interval, back).unwrap();
    }
    builder.finish().unwrap()
}

#[test]
fn counterexamples_are_small_whoever_found_them_and_whatever_the_limit() {
    for (spec, last) in [
        ("counter", "read"),
        ("fetch-and-add", "read"),
        ("log", "append"),
        ("log", "length"),
        ("log", "read"),
        ("register", "read"),
    ] {
        let history = long_wrong(spec, last, 2_000);
        for monitors in [Monitors::Use, Monitors::Skip] {
            // On a machine that is busy with other things 100 ms may be over before the core is small.
            let limits = [100, 1_000, 10_000, 100_000].map(Duration::from_millis).map(Some);
            for limits in [&[None][..], &limits] {
                let is_small = limits.iter().any(|&time| {
                    let options = Options { monitors, time, threads: 1, ..Options::default() };
                    let checked = check(&mut history.clone(), &reader(spec), &options).unwrap();
                    let Verdict::Violation(core) = &checked.verdict else {
                        assert!(time.is_some(), "{spec}: {:?}", checked.verdict);
                        return false;
                    };
                    let confirmation = checked.confirmation;
                    core.operations.len() <= 3
                        && matches!(confirmation, Some(Confirmation::Whole | Confirmation::Core))
                });
                assert!(is_small, "{spec} {last}");
            }
        }
    }
}

#[test]
fn violations_of_every_object_are_confirmed_by_brute_force() {
    for entry in catalogue() {
        for seed in 0..4 {
            let violation = Violation::At(20);
            let profile =
                Profile { operations: 40, threads: 3, seed, violation, ..Profile::default() };
            let (history, reader) = generated(entry.name, profile);
            for monitors in [Monitors::Use, Monitors::Skip] {
                let checked = with(&history, &reader, monitors);
                assert_eq!(checked.defect, None, "{}", entry.name);
                assert!(matches!(checked.verdict, Verdict::Violation(_)), "{}", entry.name);
                assert_ne!(checked.confirmation, Some(Confirmation::None), "{}", entry.name);
            }
        }
    }
}

/// The prefixes of a history that end with a return, the shortest first.
fn prefixes(history: &History) -> impl Iterator<Item = History> {
    let all = || (0..history.len()).map(OpId::from);
    let mut ends: Vec<_> = all().filter_map(|op| history.ret(op)).collect();
    ends.sort_unstable();
    ends.into_iter().map(move |end| {
        let called: Vec<OpId> = all().filter(|&op| history.call(op) <= end).collect();
        history.restricted(&called, Horizon::Until(end))
    })
}

#[test]
fn on_every_prefix_with_open_operations_all_engines_agree_and_every_reduction_is_fair() {
    let seeds = if seriatim_testing::long() { 2_000 } else { 9 };
    for entry in catalogue() {
        for seed in 0..seeds {
            let operations = 6 + seed % 18;
            let profile = Profile {
                operations,
                threads: 2 + (seed % 3) as u32,
                seed,
                overlap: 0.7,
                keys: 2,
                pending: [0.0, 0.15, 0.3][(seed / 3 % 3) as usize],
                values: [Repetition::Distinct, Repetition::Among(3)][(seed / 2 % 2) as usize],
                violation: Violation::At(operations / 2),
                ..Profile::default()
            };
            let (history, reader) = generated(entry.name, profile);
            for mut prefix in prefixes(&history) {
                let truth = refute(&mut prefix, &reader, 200_000).unwrap();
                let word = match truth {
                    Refutation::Confirmed => "violation",
                    Refutation::Contradicted => "linearizable",
                    Refutation::TooLarge => continue,
                };
                for monitors in [Monitors::Use, Monitors::Skip] {
                    let checked = with(&prefix, &reader, monitors);
                    // Also if a counterexample that was made small has an order.
                    assert_eq!(checked.defect, None, "{} {seed}", entry.name);
                    assert_eq!(checked.verdict.word(), word, "{} {seed}", entry.name);
                }
                if truth == Refutation::Confirmed {
                    break;
                }
            }
        }
    }
}

#[test]
fn the_counterexample_is_the_same_for_any_number_of_threads() {
    let core = |history: &History, reader: &ChosenReader, threads: usize| -> Counterexample {
        let options = Options { monitors: Monitors::Skip, threads, ..Options::default() };
        match check(&mut history.clone(), reader, &options).unwrap().verdict {
            Verdict::Violation(core) => core,
            other => panic!("{other:?}"),
        }
    };
    for seed in 0..6 {
        let keys = 12;
        let profile = Profile { operations: 300, threads: 6, seed, keys, ..Profile::default() };
        let (history, reader) = generated("kv", profile);
        // A wrong result at several keys.
        let broken = spoiled(&history);
        let alone = core(&broken, &reader, 1);
        for threads in [2, 4, 4, 4] {
            assert_eq!(core(&broken, &reader, threads), alone, "seed {seed}");
        }
    }
}

/// The history in which every ninth read shows what the read before it shows.
fn spoiled(history: &History) -> History {
    let mut builder = Builder::new("spoiled");
    let (mut reads, mut last) = (0, ValueId::ABSENT);
    for operation in history.operations() {
        let process = builder.process(history.process_name(operation.process()));
        let mut intern = |id: ValueId| match id.is_present() {
            true => builder.values().intern(&history.values().get(id)),
            false => ValueId::ABSENT,
        };
        let (key, arg) = (intern(operation.key()), intern(operation.arg()));
        let mut result = intern(operation.result());
        if operation.method() == "get" && operation.outcome() == Outcome::Ok {
            reads += 1;
            if reads % 9 == 0 && last.is_present() {
                result = last;
            }
            last = result;
        }
        let mut call = Call::new(builder.method(operation.method())).arg(arg);
        call.key = key;
        let interval = Interval { call: operation.call(), ret: operation.ret() };
        let back = Return::new(operation.outcome(), result);
        builder.operation(operation.line(), Some(process), call, interval, back).unwrap();
    }
    builder.finish().unwrap()
}

/// A removal that finds nothing is open all the time, and only its return shows that it took
/// nothing.
#[test]
fn what_found_nothing_may_have_taken_something_until_it_returns() {
    let nothing = "null";
    for (spec, put, take, found, look, seen) in [
        ("queue", "enqueue", "dequeue", nothing, "dequeue", nothing),
        ("stack", "push", "pop", nothing, "is_empty", "true"),
        ("priority-queue", "insert", "extract", nothing, "extract", nothing),
        ("deque", "push_front", "pop_back", nothing, "pop_front", nothing),
        ("multiset", "add", "remove", "false", "contains", "false"),
        ("set", "add", "remove", "false", "contains", "false"),
        ("semaphore", "release", "try_acquire", "false", "permits", "0"),
    ] {
        let names_it = matches!(spec, "set" | "multiset");
        let of = |is_named: bool| if is_named { r#","arg":1"# } else { "" };
        let (item, named) = (of(spec != "semaphore"), of(names_it));
        for again in [false, true] {
            let mut text = format!(
                r#"{{"process":1,"op":"{put}"{item},"call":0,"return":2}}
{{"process":0,"op":"{take}"{named},"result":{found},"call":1,"return":5}}
{{"process":1,"op":"{look}"{named},"result":{seen},"call":3,"return":4}}
"#
            );
            if again && spec != "set" {
                text +=
                    &format!(r#"{{"process":1,"op":"{put}"{item},"call":7,"return":8}}{}"#, '\n');
            }
            let history = seriatim_history::read_str(&text).unwrap();
            for monitors in [Monitors::Use, Monitors::Skip] {
                let checked = with(&history, &reader(spec), monitors);
                assert!(matches!(checked.verdict, Verdict::Violation(_)), "{spec}: {text}");
                assert_eq!(checked.confirmation, Some(Confirmation::Whole), "{spec}: {text}");
            }
        }
    }
}
