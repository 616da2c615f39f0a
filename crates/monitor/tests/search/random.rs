//! Random histories, larger than those that can be exhausted, of objects with richer operations:
//! both directions, with and without partitioning, agree with brute force.

use crate::oracle::Answer::{Bool, Int, Never, Nil, Nothing, Text};
use crate::oracle::{Arg, Letter, brute_force, build, letter, reader};
use crate::short::is_linearizable;
use seriatim_monitor::partition::Partitioning;
use seriatim_monitor::{Detail, Monitors, Options, Strategy, check};
use seriatim_spec::{Reader, Verdict, validate};
use seriatim_testing::Random;

/// A random overlap of the letters of a word.
fn overlap(random: &mut Random, word: &[Letter]) -> Vec<Option<usize>> {
    let (mut events, mut open, mut called) = (Vec::new(), Vec::new(), 0);
    while called < word.len() || !open.is_empty() {
        let calls = called < word.len() && (open.is_empty() || random.index(5) < 3);
        if calls {
            if word[called].result != Never {
                open.push(called);
            }
            called += 1;
            events.push(None);
        } else {
            let place = random.index(open.len());
            events.push(Some(open.remove(place)));
        }
    }
    events
}

fn agree_on(spec: &str, letters: &[Letter], histories: usize) {
    let (reader, mut random) = (reader(spec), Random(0x5EED));
    let mut violations = 0;
    for _ in 0..histories {
        let length = 5 + random.index(3);
        let word: Vec<Letter> = (0..length).map(|_| letters[random.index(letters.len())]).collect();
        let mut history = build(&overlap(&mut random, &word), &word);
        let reading = reader.read(&mut history).expect("fits the specification");
        let truth = brute_force(&history, &reading);
        violations += usize::from(!truth);
        assert_eq!(is_linearizable(&history, &reading), truth, "{spec} recorded: {word:?}");
        for strategy in [Strategy::DepthFirst, Strategy::BreadthFirst] {
            for partitioning in [Partitioning::ByKey, Partitioning::ByObject] {
                let options = Options {
                    strategies: vec![strategy],
                    partitioning,
                    detail: Detail::Minimal,
                    threads: 1,
                    monitors: Monitors::Skip,
                    ..Options::default()
                };
                let checked = check(&mut history, &reader, &options).expect("reads as before");
                let context = format!("{spec} {strategy:?} {partitioning:?} {word:?}");
                match checked.verdict {
                    Verdict::Linearizable(witness) => {
                        assert!(truth, "{context}");
                        validate(&history, &reading, &witness).expect(&context);
                    }
                    Verdict::Violation(counterexample) => {
                        assert!(!truth, "{context}");
                        assert!(!counterexample.explanation.sentence.is_empty());
                        let (operations, horizon) =
                            (&counterexample.operations, counterexample.horizon);
                        let mut part = history.restricted(operations, horizon);
                        let reading = reader.read(&mut part).expect("a part reads as the whole");
                        assert!(!brute_force(&part, &reading), "unfair: {context}");
                    }
                    Verdict::Unknown(unknown) => panic!("{unknown:?} {context}"),
                }
            }
        }
    }
    println!("{spec}: {histories} histories, {violations} violations");
    assert!(violations > 0 && violations < histories, "{spec}: {violations} violations");
}

#[test]
fn random_cas_registers_with_pending_operations_are_decided_right() {
    let mut letters = Vec::new();
    for value in 0..3 {
        letters.push(letter("read", None, Int(value)));
        letters.push(letter("write", Some(value), Nothing));
        letters.push(letter("write", Some(value), Never));
        letters.push(letter("swap", Some(value), Int(1)));
        letters.push(letter("swap", Some(value), Never));
    }
    agree_on("cas-register(init=0)", &letters, 3_000);
}

#[test]
fn random_queues_and_stacks_are_decided_right() {
    let mut queue = vec![letter("dequeue", None, Nil), letter("dequeue", None, Never)];
    let mut stack = vec![letter("pop", None, Nil), letter("pop", None, Never)];
    for value in 1..3 {
        queue.push(letter("enqueue", Some(value), Nothing));
        queue.push(letter("enqueue", Some(value), Never));
        queue.push(letter("dequeue", None, Int(value)));
        queue.push(letter("peek", None, Int(value)));
        stack.push(letter("push", Some(value), Nothing));
        stack.push(letter("push", Some(value), Never));
        stack.push(letter("pop", None, Int(value)));
        stack.push(letter("peek", None, Int(value)));
    }
    agree_on("queue", &queue, 3_000);
    agree_on("stack", &stack, 3_000);
}

#[test]
fn random_sets_are_decided_right_split_or_whole() {
    let mut letters = Vec::new();
    for value in 1..4 {
        for truth in [Bool(true), Bool(false)] {
            for method in ["add", "remove", "contains"] {
                letters.push(letter(method, Some(value), truth));
            }
        }
        letters.push(letter("add", Some(value), Never));
        letters.push(letter("remove", Some(value), Never));
    }
    agree_on("set", &letters, 3_000);
}

#[test]
fn random_texts_that_grow_are_decided_right_split_or_whole() {
    let mut letters = Vec::new();
    for key in ["k", "l"] {
        for text in ["a", "b"] {
            letters.push(letter("append", Arg::Entry(key, text), Nothing));
            letters.push(letter("append", Arg::Entry(key, text), Never));
            letters.push(letter("put", Arg::Entry(key, text), Nothing));
            letters.push(letter("put", Arg::Entry(key, text), Never));
        }
        for text in ["", "a", "ab", "ba", "aba"] {
            letters.push(letter("get", Arg::Key(key), Text(text)));
        }
    }
    agree_on("kv", &letters, 10_000);
}

#[test]
fn random_counters_are_decided_right() {
    let mut letters = vec![
        letter("inc", None, Nothing),
        letter("dec", None, Nothing),
        letter("inc", None, Never),
        letter("dec", None, Never),
    ];
    letters.extend((-1..3).map(|count| letter("read", None, Int(count))));
    agree_on("counter", &letters, 3_000);
}
