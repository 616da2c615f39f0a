//! What a failing test says: what is wrong without concurrency is told as that, every call that the
//! explanation speaks of is drawn, the line and the times are there, and what is weak is called
//! weak.

#![allow(missing_docs)]
#![cfg(not(any(feature = "shuttle", feature = "loom")))]

use seriatim_harness::{
    Failed, Failure, IntoReply, ModelCall, Reply, Test, distinct, drawn_by, test,
};
use seriatim_history::{History, InputError};
use seriatim_spec::{ChosenReader, Failures, Interpretation, Next, Reader, Spec, SpecChoice};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

const SHORT: Duration = Duration::from_millis(300);

type Map = BTreeMap<u32, u32>;

fn model(map: &mut Map, call: &ModelCall) -> Reply {
    match call.name() {
        "put" => {
            let (key, value) = call.arg();
            map.insert(key, value).reply()
        }
        "clear" => {
            map.clear();
            ().reply()
        }
        "first" => map.first_key_value().map(|(key, value)| (*key, *value)).reply(),
        other => panic!("no model for {other}"),
    }
}

/// A map that loses what is put after it was cleared, from some number of calls on.
struct Forgetful {
    map: Mutex<(Map, usize)>,
    after: usize,
}

impl Forgetful {
    fn put(&self, key: u32, value: u32) -> Option<u32> {
        let mut map = self.map.lock().unwrap();
        map.1 += 1;
        if map.1 > self.after { map.0.get(&key).copied() } else { map.0.insert(key, value) }
    }
}

fn forgetful(after: usize) -> Test<Forgetful> {
    test(move || Forgetful { map: Mutex::default(), after })
        .operation("put", (1..4_u32, distinct::<u32>()), |map, (key, value)| map.put(key, value))
        .operation("first", (), |map, ()| {
            map.map.lock().unwrap().0.first_key_value().map(|(key, value)| (*key, *value))
        })
        .model(Map::new(), model)
}

/// The calls of a sentence such as `after put(1, 2), first() -> nil`.
fn calls_of(sentence: &str) -> Vec<String> {
    let mut calls = Vec::new();
    let (mut depth, mut start) = (0, 0);
    for (at, character) in sentence.char_indices() {
        match character {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            ',' if depth == 0 => {
                calls.push(sentence[start..at].trim().to_owned());
                start = at + 1;
            }
            _ => {}
        }
    }
    calls.push(sentence[start..].trim().to_owned());
    calls.retain(|call| call.contains('('));
    calls
}

/// Every call that the explanation mentions stands in the drawing.
fn draws_what_it_mentions(failed: &Failed) {
    let report = &failed.report;
    assert!(!report.contains("after nothing"), "{report}");
    let drawn: Vec<&str> = report.lines().filter(|line| line.starts_with("  | ")).collect();
    for line in report.lines() {
        let Some(sentence) = line.strip_prefix("  after ") else { continue };
        if let Some(rest) = sentence.strip_prefix("the ") {
            let count: usize = rest.split(' ').next().unwrap().parse().unwrap();
            assert!(drawn.len() > count, "{report}");
            continue;
        }
        for call in calls_of(sentence) {
            assert!(drawn.iter().any(|line| line.contains(&call)), "{call} in\n{report}");
        }
    }
}

#[test]
fn what_fails_on_one_thread_is_told_as_that_and_is_small() {
    let failed = forgetful(1).budget(SHORT).run().unwrap_err();
    assert!(matches!(failed.failure, Failure::Disagreement(_)), "{}", failed.report);
    assert!(failed.report.contains("wrong already on one thread"), "{}", failed.report);
    assert!(failed.calls <= 3, "{}", failed.report);
    assert!(failed.shrunk_in < Duration::from_secs(10) && failed.found_after > Duration::ZERO);
    assert!(failed.report.contains(" of 10.0s: "), "{}", failed.report);
    draws_what_it_mentions(&failed);
}

/// Without time for shrinking, with a long past of the calls that matter.
#[test]
fn the_drawing_has_every_call_that_the_explanation_mentions() {
    for after in [1, 6, 9, 12] {
        for seed in 0..4 {
            let test = forgetful(after).seed(seed).shrink_for(Duration::ZERO);
            let failed = test.budget(Duration::from_secs(60)).run().unwrap_err();
            draws_what_it_mentions(&failed);
            let small = failed.calls <= 5;
            assert!(small || failed.report.contains("the time was over"), "{}", failed.report);
        }
    }
}

/// A counter whose two halves are read one after the other; it needs two threads to fail.
#[derive(Default)]
struct Torn(AtomicU32, AtomicU32);

#[test]
fn what_needs_two_threads_has_no_empty_ones_and_its_line_can_be_read_back() {
    let declare = || {
        test(Torn::default)
            .operation("add", (), |torn, ()| {
                torn.0.fetch_add(1, SeqCst);
                std::thread::yield_now();
                torn.1.fetch_add(1, SeqCst);
            })
            .operation("read", (), |torn, ()| (torn.0.load(SeqCst), torn.1.load(SeqCst)))
            .model(0_u32, |sum, call| match call.name() {
                "add" => {
                    *sum += 1;
                    ().reply()
                }
                _ => (*sum, *sum).reply(),
            })
    };
    let failed = declare().budget(Duration::from_secs(60)).run().unwrap_err();
    assert!(matches!(failed.failure, Failure::Violation(_)), "{}", failed.report);
    assert!(failed.threads == 2 && failed.calls <= 3, "{}", failed.report);
    let busy = failed.scenario.split(">>").nth(1).unwrap().split('|');
    assert!(busy.clone().all(|thread| !thread.trim().is_empty()), "{}", failed.scenario);
    let page = std::fs::read_to_string(failed.page.as_ref().expect("a page")).unwrap();
    let command = format!("SERIATIM_REPLAY='{}'", failed.replay);
    let columns = "\"threads\":[\"thread 0\",\"thread 1\"]";
    for part in ["default-src 'none'", "Not linearizable", columns, "call add()", &command] {
        assert!(page.contains(part), "{part} in {}", failed.report);
    }
    let again = declare().replay(&failed.replay).run().unwrap_err();
    assert_eq!(again.scenario, failed.scenario);
}

/// Arguments are printed in the scenario, the drawing, the explanation and the replay line alike.
#[test]
fn arguments_are_printed_one_way() {
    let failed = forgetful(0).name("one way").budget(SHORT).run().unwrap_err();
    assert!(failed.report.contains("put("), "{}", failed.report);
    assert!(!failed.report.contains("put(["), "{}", failed.report);
    assert!(failed.report.contains("SERIATIM_REPLAY_OF='one way'"), "{}", failed.report);
    let again = forgetful(0).replay(&failed.replay).run().unwrap_err();
    assert_eq!(again.replay, failed.replay);
}

/// A specification that gets lost: its first step leads to more states than can be listed in
/// time, none of which allows a second.
struct Lost;

impl Spec for Lost {
    type State = u32;
    type Op = ();
    type Ret = ();

    fn initial(&self) -> u32 {
        0
    }

    fn step(&self, state: &u32, (): &(), _: Option<&()>) -> Next<u32> {
        if *state == 0 { Next::Many((1..10_000_000).collect()) } else { Next::None }
    }
}

/// A test of which no execution could be decided does not pass. (The seed draws scenarios of two
/// calls or more.)
#[test]
fn a_test_that_decides_nothing_fails() {
    let failed = test(|| ())
        .operation("nap", (), |_, ()| ())
        .own_spec(Lost, |_| (), |_, _| ())
        .seed(3)
        .budget(SHORT)
        .run()
        .unwrap_err();
    assert!(matches!(failed.failure, Failure::Undecided { .. }), "{}", failed.report);
}

/// The weakness of a test is told: too few executions, calls that never overlapped.
#[test]
fn a_weak_test_says_that_it_is_weak() {
    let passed = test(|| Mutex::new(0_u32))
        .operation("read", (), |word, ()| *word.lock().unwrap())
        .operation("write", 0..3_u32, |word, value| *word.lock().unwrap() = value)
        .once()
        .spec("register(init=0)")
        .executions(20)
        .budget(Duration::from_secs(20))
        .run()
        .unwrap();
    assert!(passed.executions < 200 && passed.time < Duration::from_secs(10), "{passed}");
    // A write occurs once in a scenario: it cannot overlap another one.
    let pairs: Vec<_> = passed.overlaps.iter().map(|pair| pair.operations.clone()).collect();
    let name = |name: &str| name.to_owned();
    assert_eq!(pairs, [(name("read"), name("read")), (name("read"), name("write"))]);
    let alone = test(|| ())
        .operation("wait", (), |_, ()| std::thread::sleep(Duration::from_millis(1)))
        .threads(1..=1)
        .sequential()
        .executions(20)
        .budget(Duration::from_secs(20))
        .run()
        .unwrap();
    let warnings = alone.warnings();
    assert!(alone.overlaps.is_empty() && warnings[0].starts_with("only "), "{warnings:?}");
}

/// A model with a container inside, many producers and one consumer: no execution eats up the
/// budget, and long ones are given up when they cost too much.
#[test]
fn a_model_of_a_container_keeps_to_its_budget() {
    use std::collections::VecDeque;
    let passed = test(|| Mutex::new(VecDeque::new()))
        .operation("push", drawn_by(|draw| draw.below(2) as u32), |queue, value| {
            queue.lock().unwrap().push_back(value);
        })
        .weight(3)
        .operation("pop", (), |queue, ()| queue.lock().unwrap().pop_front())
        .only_on_thread(0)
        .threads(2..=4)
        .model(VecDeque::new(), |held: &mut VecDeque<u32>, call| match call.name() {
            "push" => {
                held.push_back(call.arg());
                ().reply()
            }
            _ => held.pop_front().reply(),
        })
        .budget(Duration::from_secs(1))
        .run()
        .unwrap();
    assert_eq!(passed.undecided, 0, "{passed}");
    assert!(passed.executions > 100, "{passed}");
}

/// Reads every other time as another object: the evidence for a verdict never holds.
struct Fickle {
    turn: AtomicUsize,
    readers: [ChosenReader; 2],
}

impl Reader for Fickle {
    fn name(&self) -> String {
        "fickle".to_owned()
    }

    fn read(&self, history: &mut History) -> Result<Interpretation, InputError> {
        self.readers[self.turn.fetch_add(1, SeqCst) % 2].read(history)
    }
}

/// Evidence that does not hold is an internal error: no pass, and no failure of the object.
#[test]
#[should_panic(expected = "internal error of Seriatim, which says nothing about the object")]
fn evidence_that_does_not_hold_is_an_internal_error() {
    let reader = |initial: &str| ChosenReader {
        choice: SpecChoice::parse(&format!("register(init={initial})")).unwrap(),
        failures: Failures::default(),
    };
    test(|| AtomicU32::new(0))
        .operation("read", (), |word, ()| word.load(SeqCst))
        .reader(Fickle { turn: AtomicUsize::new(1), readers: [reader("1"), reader("0")] })
        .budget(SHORT)
        .check();
}
