//! Every small history of the common objects: brute force, depth first, breadth first and the short
//! way of a recording agree, every witness is replayed, every counterexample is rejected by brute
//! force.

use crate::oracle::Answer::{Bool, Int, Never, Nil, Nothing};
use crate::oracle::{Letter, brute_force, build, letter, reader};
use crate::short::is_linearizable;
use seriatim_history::History;
use seriatim_monitor::{Detail, Monitors, Options, Strategy, check};
use seriatim_spec::{ChosenReader, Reader, Verdict, validate};

/// Checks all histories of up to `count` operations over an alphabet; gives how many there were,
/// and how many of them are violations.
fn exhaust(spec: &str, letters: &[Letter], count: usize) -> (usize, usize) {
    let reader = reader(spec);
    let (mut histories, mut violations) = (0, 0);
    for length in 0..=count {
        let shapes = overlaps(length);
        for number in 0..letters.len().pow(length as u32) {
            let word = word(letters, number, length);
            for shape in shapes.iter().filter(|shape| fits(shape, &word)) {
                histories += 1;
                violations += usize::from(!agree(&reader, build(shape, &word)));
            }
        }
    }
    (histories, violations)
}

/// All ways in which `count` operations can overlap: sequences of calls (`None`) and of returns of
/// the operation of a number; operations that do not return are pending.
fn overlaps(count: usize) -> Vec<Vec<Option<usize>>> {
    let mut all = Vec::new();
    extend(count, 0, &mut Vec::new(), &mut Vec::new(), &mut all);
    all
}

fn extend(
    count: usize,
    called: usize,
    open: &mut Vec<usize>,
    events: &mut Vec<Option<usize>>,
    all: &mut Vec<Vec<Option<usize>>>,
) {
    if called == count {
        all.push(events.clone());
    }
    for place in 0..open.len() {
        let op = open.remove(place);
        events.push(Some(op));
        extend(count, called, open, events, all);
        events.pop();
        open.insert(place, op);
    }
    if called < count {
        open.push(called);
        events.push(None);
        extend(count, called + 1, open, events, all);
        events.pop();
        open.pop();
    }
}

/// Whether an overlap lets exactly those operations return that have a result.
fn fits(overlap: &[Option<usize>], word: &[Letter]) -> bool {
    let returns = overlap.iter().flatten().count();
    let expected = word.iter().filter(|letter| letter.result != Never).count();
    returns == expected && overlap.iter().flatten().all(|&op| word[op].result != Never)
}

fn word(letters: &[Letter], mut number: usize, length: usize) -> Vec<Letter> {
    let mut word = Vec::with_capacity(length);
    for _ in 0..length {
        word.push(letters[number % letters.len()]);
        number /= letters.len();
    }
    word
}

/// Whether the history is linearizable, once brute force and both directions have agreed on it.
fn agree(reader: &ChosenReader, mut history: History) -> bool {
    let reading = reader.read(&mut history).expect("the history fits the specification");
    let truth = brute_force(&history, &reading);
    assert_eq!(is_linearizable(&history, &reading), truth, "recorded: {}", shown(&history));
    for strategy in [Strategy::DepthFirst, Strategy::BreadthFirst] {
        // Making every counterexample small would take most of the time: small histories will do.
        let detail = if history.len() < 4 { Detail::Minimal } else { Detail::Plain };
        let strategies = vec![strategy];
        let options = Options {
            strategies,
            detail,
            threads: 1,
            monitors: Monitors::Skip,
            ..Options::default()
        };
        let checked = check(&mut history, reader, &options).expect("reads as before");
        match checked.verdict {
            Verdict::Linearizable(witness) => {
                assert!(truth, "{strategy:?} accepts {}", shown(&history));
                let valid = validate(&history, &reading, &witness);
                assert!(valid.is_ok(), "{strategy:?} {valid:?} {}", shown(&history));
            }
            Verdict::Violation(counterexample) => {
                assert!(!truth, "{strategy:?} rejects {}", shown(&history));
                let mut part =
                    history.restricted(&counterexample.operations, counterexample.horizon);
                let reading = reader.read(&mut part).expect("a part reads as the whole");
                assert!(counterexample.context.is_none(), "a small history is shown whole");
                assert!(!brute_force(&part, &reading), "unfair: {}", shown(&history));
            }
            Verdict::Unknown(unknown) => panic!("{unknown:?}"),
        }
    }
    truth
}

fn shown(history: &History) -> String {
    let rows = history.operations().map(|op| format!("{op} [{}, {:?}]", op.call(), op.ret()));
    rows.collect::<Vec<_>>().join("; ")
}

#[test]
fn every_register_history_of_four_operations_is_decided_right() {
    let letters = [
        letter("read", None, Nil),
        letter("read", None, Int(1)),
        letter("read", None, Int(2)),
        letter("write", Some(1), Nothing),
        letter("write", Some(2), Nothing),
        letter("write", Some(1), Never),
        letter("write", Some(2), Never),
    ];
    let (histories, violations) = exhaust("register", &letters, 4);
    println!("register: {histories} histories, {violations} violations");
    assert!(violations > 0);
}

#[test]
fn every_queue_history_of_four_operations_is_decided_right() {
    let letters = [
        letter("enqueue", Some(1), Nothing),
        letter("enqueue", Some(2), Nothing),
        letter("dequeue", None, Int(1)),
        letter("dequeue", None, Int(2)),
        letter("dequeue", None, Nil),
        letter("enqueue", Some(1), Never),
        letter("enqueue", Some(2), Never),
        letter("dequeue", None, Never),
    ];
    let (histories, violations) = exhaust("queue", &letters, 4);
    println!("queue: {histories} histories, {violations} violations");
    assert!(violations > 0);
}

#[test]
fn every_stack_history_of_four_operations_is_decided_right() {
    let letters = [
        letter("push", Some(1), Nothing),
        letter("push", Some(2), Nothing),
        letter("pop", None, Int(1)),
        letter("pop", None, Int(2)),
        letter("pop", None, Nil),
        letter("push", Some(1), Never),
        letter("push", Some(2), Never),
        letter("pop", None, Never),
    ];
    let (histories, violations) = exhaust("stack", &letters, 4);
    println!("stack: {histories} histories, {violations} violations");
    assert!(violations > 0);
}

#[test]
fn every_set_history_of_four_operations_is_decided_right() {
    let mut letters = Vec::new();
    for value in [1, 2] {
        for truth in [Bool(true), Bool(false)] {
            for method in ["add", "remove", "contains"] {
                letters.push(letter(method, Some(value), truth));
            }
        }
        letters.push(letter("add", Some(value), Never));
        letters.push(letter("remove", Some(value), Never));
    }
    // Four operations on two values are millions of histories: that takes the long mode. Otherwise
    // three on two values, and four on one.
    let is_long = seriatim_testing::long();
    let (histories, violations) = exhaust("set", &letters, if is_long { 4 } else { 3 });
    let (more, others) = exhaust("set", &letters[..8], 4);
    println!("set: {} histories, {} violations", histories + more, violations + others);
    assert!(violations > 0 && others > 0);
}
