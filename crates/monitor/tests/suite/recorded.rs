//! Recordings, of which short ones are decided without a history being made of them: for every
//! built-in object, with values that repeat, operations that never return and results that are
//! wrong, they get the answer of the general check, and evidence that others accept.

use crate::frontier::{events, garble};
use crate::laws::SEARCHED;
use crate::rows::{Row, built, generated, rounds, rows};
use seriatim_history::{Event, History, Horizon, OpId, read_str};
use seriatim_monitor::{Confirmation, Monitors, Options, Recorded, Recording, check};
use seriatim_spec::{
    Alphabet, Automaton, Cancel, ChosenReader, ClassId, Counterexample, Failures, Interpretation,
    Next, Reader, Refutation, Spec, SpecChoice, StateId, Verdict, Witness, catalogue, refute,
    replay,
};
use seriatim_testing::Random;
use std::sync::{Mutex, PoisonError};

/// Enough for the brute force on everything that is drawn here.
const EFFORT: usize = 2_000_000;

/// The object of a history as somebody's own specification: an operation is its class where nobody
/// knows its result (none if it then says nothing), a result is the class of the operation with it,
/// and states are numbered.
struct Own {
    alphabet: &'static dyn Alphabet,
    automaton: Mutex<Box<dyn Automaton>>,
}

impl Own {
    fn new(reading: &Interpretation) -> Own {
        // A recording keeps its specification as long as it likes.
        let alphabet: &'static dyn Alphabet = &**Box::leak(Box::new(reading.alphabet.clone()));
        Own { alphabet, automaton: Mutex::new(alphabet.automaton(&Cancel::never())) }
    }

    fn ask<T>(&self, question: impl FnOnce(&mut dyn Automaton) -> T) -> T {
        question(&mut **self.automaton.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Spec for Own {
    type State = StateId;
    type Op = Option<ClassId>;
    type Ret = ClassId;

    fn initial(&self) -> StateId {
        self.ask(|automaton| automaton.initial())
    }

    fn step(&self, state: &StateId, op: &Self::Op, ret: Option<&ClassId>) -> Next<StateId> {
        let Some(class) = ret.copied().or(*op) else { return Next::One(*state) };
        let mut next = Vec::new();
        self.ask(|automaton| automaton.step(*state, class, &mut next));
        Next::Many(next)
    }

    fn is_read_only(&self, op: &Self::Op, ret: Option<&ClassId>) -> bool {
        ret.copied().or(*op).is_none_or(|class| self.alphabet.is_read_only(class))
    }
}

/// The calls and returns of those operations that happened or may have happened.
fn events_of(history: &History, reading: &Interpretation) -> Vec<Event> {
    let happened = |event: &Event| match *event {
        Event::Call(op) | Event::Return(op) => reading.class(op).is_some(),
    };
    history.events().filter(happened).collect()
}

/// The classes of each operation of a history, as it was recorded and as if it had not returned.
fn both_ways(
    history: &History,
    reader: &ChosenReader,
) -> (Interpretation, Vec<[Option<ClassId>; 2]>) {
    let told = rows(history);
    let count = told.len();
    let pending =
        told.iter().map(|row| Row { failed: false, result: None, ret: None, ..row.clone() });
    let mut twice: Vec<Row> = told.iter().cloned().chain(pending).collect();
    twice.iter_mut().for_each(|row| row.process = None);
    let mut twice = built(&twice);
    let reading = reader.read(&mut twice).expect("it was read before");
    let mut classes = vec![[None; 2]; count];
    for operation in twice.operations() {
        let row = operation.line() as usize - 1;
        classes[row % count][row / count] = reading.class(operation.id);
    }
    (reading, classes)
}

fn recorded(history: &History, reader: &ChosenReader, events: &[Event]) -> Recorded<Own> {
    let (reading, classes) = both_ways(history, reader);
    let mut recording = Recording::new(Own::new(&reading));
    for event in events {
        match *event {
            Event::Call(op) => recording.call(i64::from(op.0), classes[op.index()][1]),
            Event::Return(op) => {
                let class = classes[op.index()][0].expect("it happened");
                recording.ret(i64::from(op.0), class)
            }
        }
        .expect("each operation has a process of its own");
    }
    recording.finish().expect("a recording reads as a history")
}

/// A history, who reads it, and what the general check says of it.
struct Case {
    history: History,
    reader: ChosenReader,
    context: String,
}

impl Case {
    fn options(monitors: Monitors) -> Options<'static> {
        Options { monitors, threads: 1, ..Options::default() }
    }

    fn word(&self, monitors: Monitors) -> &'static str {
        let mut history = self.history.clone();
        let checked = check(&mut history, &self.reader, &Case::options(monitors));
        checked.expect("it was read before").verdict.word()
    }

    /// Whether the recording of the history gets the same answer, with evidence that holds; whether
    /// that answer is *yes*.
    fn is_linearizable(&mut self) -> bool {
        let reading = self.reader.read(&mut self.history).expect("it was read before");
        let events = events_of(&self.history, &reading);
        let recorded = recorded(&self.history, &self.reader, &events);
        let checked = recorded.check(&Case::options(Monitors::Use)).expect("a recording is read");
        assert_eq!(checked.defect, None, "{}", self.context);
        let truth = self.word(Monitors::Use);
        assert_eq!(checked.verdict.word(), truth, "{}", self.context);
        // Operations are numbered by their calls, in the recording as in the history.
        let called: Vec<OpId> = reading.operations().collect();
        match checked.verdict {
            Verdict::Linearizable(order) => {
                assert_eq!(checked.configurations, 0, "the short way fails: {}", self.context);
                let order = order.order.iter().map(|op| called[op.index()]).collect();
                let replayed = replay(&mut self.history, &self.reader, Witness { order });
                assert!(replayed.is_ok_and(|replayed| replayed.is_ok()), "{}", self.context);
                true
            }
            Verdict::Violation(found) => {
                let confirmed = checked.confirmation;
                assert!(!matches!(confirmed, None | Some(Confirmation::None)), "{}", self.context);
                self.refute_again(&found, &events, &called);
                false
            }
            Verdict::Unknown(unknown) => panic!("{unknown:?} {}", self.context),
        }
    }

    /// The counterexample of a recording, with its context, is none of the recording alone: the
    /// plain objects refute the same operations of the history.
    fn refute_again(&self, found: &Counterexample, events: &[Event], called: &[OpId]) {
        let before = found.context.iter().flat_map(|context| &context.order);
        let all = before.chain(&found.operations);
        let mut keep: Vec<OpId> = all.map(|op| called[op.index()]).collect();
        keep.sort_unstable();
        let horizon = match found.horizon {
            Horizon::Until(stamp) => Horizon::Until(match events[stamp as usize] {
                Event::Call(op) => self.history.call(op),
                Event::Return(op) => self.history.ret(op).expect("it returned"),
            }),
            Horizon::Whole => Horizon::Whole,
        };
        let mut part = self.history.restricted(&keep, horizon);
        let refuted = refute(&mut part, &self.reader, EFFORT).expect("a part is read as the whole");
        assert_ne!(refuted, Refutation::Contradicted, "{}\n{found:?}", self.context);
    }
}

fn reader(spec: &str) -> Option<ChosenReader> {
    let choice = SpecChoice::parse(spec).ok()?;
    Some(ChosenReader { choice, failures: Failures::Drop })
}

/// A history of a few operations, with lies in every second one.
fn few(object: &str, seed: u64) -> Option<Case> {
    let mut lines = events(object, seed);
    if seed % 2 == 1 {
        garble(&mut lines, &mut Random(seed + 1));
    }
    let text = lines.join("\n") + "\n";
    let mut history = read_str(&text).ok()?;
    let reader = reader(history.spec().unwrap_or(object))?;
    reader.read(&mut history).ok()?;
    Some(Case { history, reader, context: format!("{object}, seed {seed}\n{text}") })
}

#[test]
fn short_recordings_of_every_object_are_decided_as_their_histories() {
    for entry in catalogue() {
        let mut seen = [0, 0];
        for seed in 0..rounds(150) as u64 {
            let Some(mut case) = few(entry.name, seed) else { continue };
            let is_linearizable = case.is_linearizable();
            let truth = refute(&mut case.history, &case.reader, EFFORT).expect("it was read");
            let expected =
                if is_linearizable { Refutation::Contradicted } else { Refutation::Confirmed };
            assert_eq!(truth, expected, "{}", case.context);
            assert_eq!(
                case.word(Monitors::Skip) == "linearizable",
                is_linearizable,
                "{}",
                case.context
            );
            seen[usize::from(is_linearizable)] += 1;
        }
        println!("{}: {seen:?}", entry.name);
        assert!(seen[0] > 15 && seen[1] > 30, "{}: {seen:?}", entry.name);
    }
}

#[test]
fn recordings_of_up_to_128_operations_are_decided_as_their_histories() {
    let mut random = Random(0x5042);
    for entry in catalogue() {
        let (object, mut seen) = (entry.name, [0, 0]);
        for round in 0..rounds(12) {
            let operations = [20, 40, 80, 120][round % 4];
            let operations = if SEARCHED.contains(&object) { 30 } else { operations };
            let is_wrong = round % 3 == 2;
            let Some((rows, spec)) = generated(object, operations, is_wrong, &mut random) else {
                continue;
            };
            let mut history = built(&rows);
            let Some(reader) = reader(&spec) else { continue };
            reader.read(&mut history).expect("the generator writes what can be read");
            let mut case = Case { history, reader, context: format!("{object}, round {round}") };
            seen[usize::from(case.is_linearizable())] += 1;
        }
        assert!(seen[1] > 4, "{object}: {seen:?}");
    }
}
