//! Logs with indices.

use crate::enumerate::every_history;
use crate::generate::{Random, Shape, random_history, rounds};
use crate::models::IndexedLog;
use crate::oracle::{Agreed, Op, agree};
use seriatim_history::{History, Value};
use seriatim_monitor::fast::{Declined, Object, Part, check};
use seriatim_spec::Claim;

fn int(value: i64) -> Option<Value> {
    Some(Value::Int(value))
}

fn judge(history: &History) -> Result<Claim, Declined> {
    check(Object::Log, Part::whole(history))
}

/// Compares on random histories in which some appends return an index, in percent, and some values
/// are appended again.
fn random(indices: u64, values: u64) -> [u64; 3] {
    let mut random = Random(71 + indices + values);
    let mut tally = [0u64; 3];
    for _ in 0..rounds(2_000) {
        let shape = Shape::random(&mut random, 11);
        let ops = random_history(&mut random, shape, &IndexedLog, |random, index| {
            let value = 100 + (index % values) as i64;
            let mut seen: Vec<Option<Value>> = (100..112).map(int).collect();
            seen.push(Some(Value::Nil));
            let at = int(random.below(6) as i64);
            match random.below(8) {
                0..3 if random.chance(indices) => {
                    ("append", int(value), (0..12).map(int).collect())
                }
                0..3 => ("append", int(value), vec![None]),
                3..6 => ("read", at, seen),
                6 => ("length", None, (0..12).map(int).collect()),
                _ => ("read", None, vec![]),
            }
        });
        tally[agree(&IndexedLog, judge, &ops) as usize] += 1;
    }
    println!("log, {indices} % indices, {values} values: {tally:?}");
    assert!(tally[0] > 0 && tally[1] > 0);
    tally
}

#[test]
fn logs_with_indices_agree_on_random_histories() {
    random(100, 2);
    for indices in [0, 50, 100] {
        let tally = random(indices, 12);
        assert!(tally[Agreed::Declined as usize] * 10 < tally[0]);
    }
}

#[test]
fn logs_with_indices_agree_on_all_small_histories() {
    let op = |method, arg, result, ret| Op { method, arg, result, call: 0, ret };
    let alphabet = [
        op("append", int(7), None, Some(0)),
        op("append", int(8), None, None),
        op("append", int(9), int(0), Some(0)),
        op("append", int(9), int(1), Some(0)),
        op("read", int(0), int(7), Some(0)),
        op("read", int(1), int(8), Some(0)),
        op("read", int(1), Some(Value::Nil), Some(0)),
        op("length", None, int(1), Some(0)),
        op("length", None, int(2), Some(0)),
    ];
    let largest = if seriatim_testing::long() { 5 } else { 3 };
    let mut tally = [0u64; 3];
    for count in 1..=largest {
        every_history(&alphabet, count, &mut |ops| {
            tally[agree(&IndexedLog, judge, ops) as usize] += 1;
        });
    }
    println!("log, all of up to {largest} operations: {tally:?}");
    assert!(tally[0] > 0 && tally[1] > 0 && tally[2] * 5 < tally[1]);
}

#[test]
fn lengths_and_indices_that_no_log_has_are_violations() {
    let op = |method, arg, result| Op { method, arg, result, call: 0, ret: Some(1) };
    for number in [-1, i64::MIN, i64::MAX] {
        let length = op("length", None, int(number));
        let append = op("append", int(7), int(number));
        for ops in [vec![length.clone()], vec![append.clone()], vec![append, length]] {
            assert_eq!(agree(&IndexedLog, judge, &ops), Agreed::Violation);
        }
    }
}
