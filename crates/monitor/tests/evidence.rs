//! What stands behind a verdict: every order that an engine finds passes the replay, also where the log
//! is silent, and every counterexample is refuted once more.

use seriatim_history::{Builder, Call, History, Interval, OpId, Outcome, Return, ValueId};
use seriatim_monitor::{Checked, Monitors, Options, check};
use seriatim_spec::generate::{Generator, Profile, Repetition};
use seriatim_spec::{ChosenReader, Failures, Reader, SpecChoice, Verdict, catalogue};

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
