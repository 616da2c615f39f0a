//! What stands behind a verdict: every order that an engine finds passes the replay, also where the log
//! is silent, and every counterexample is refuted once more.

use seriatim_history::{Builder, Call, History, Interval, OpId, Outcome, Return, Value, ValueId};
use seriatim_monitor::{Checked, Confirmation, Monitors, Options, check};
use seriatim_spec::generate::{Generator, Profile, Repetition, Violation};
use seriatim_spec::{ChosenReader, Failures, Reader, SpecChoice, Verdict, catalogue};
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
fn long_wrong(spec: &str, steps: u64) -> History {
    let mut builder = Builder::new("long");
    let process = builder.process(&Value::Int(0));
    let (add, arg, read, wrong) = match spec {
        "counter" => ("inc", None, "read", 3),
        "fetch-and-add" => ("fetch_add", Some(1), "read", 3),
        "log" => ("append", Some(7), "append", 3),
        _ => ("write", Some(7), "read", 3),
    };
    let (add, read) = (builder.method(add), builder.method(read));
    for step in 0..=steps {
        let interval = Interval { call: step * 2, ret: Some(step * 2 + 1) };
        let mut call = Call::new(if step < steps { add } else { read });
        let mut back = Return::ok();
        if step == steps {
            back.result = builder.values().intern_int(wrong);
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
    for spec in ["counter", "fetch-and-add", "log", "register"] {
        let history = long_wrong(spec, 2_000);
        for monitors in [Monitors::Use, Monitors::Skip] {
            let time = Some(Duration::from_millis(100));
            for time in [None, time] {
                let options = Options { monitors, time, threads: 1, ..Options::default() };
                let checked = check(&mut history.clone(), &reader(spec), &options).unwrap();
                let Verdict::Violation(core) = &checked.verdict else {
                    assert!(time.is_some(), "{spec}: {:?}", checked.verdict);
                    continue;
                };
                assert!(core.operations.len() <= 3, "{spec}: {}", core.operations.len());
                assert!(matches!(
                    checked.confirmation,
                    Some(Confirmation::Whole | Confirmation::Core)
                ));
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
