//! Queries that look at more than one value of a container: `size`, `is_empty`, peeks at values
//! that repeat; and pending removals of values that repeat.

use crate::containers::judge;
use crate::enumerate::every_history;
use crate::generate::{Random, Shape, concurrent_run, random_history, rounds};
use crate::models::{Containers, Order};
use crate::oracle::{Agreed, Op, agree, history, is_linearization};
use seriatim_history::Value;
use seriatim_spec::Claim;

const ORDERS: [Order; 4] = [Order::Fifo, Order::Lifo, Order::Largest, Order::Smallest];

fn int(value: i64) -> Option<Value> {
    Some(Value::Int(value))
}

/// Compares on random histories; gives how many were linearizable, wrong and declined.
fn random(order: Order, values: Option<u64>, most: u64) -> [u64; 3] {
    let model = Containers(order);
    let mut random = Random(41 + values.unwrap_or(0));
    let mut tally = [0u64; 3];
    for _ in 0..rounds(1_000) {
        let shape = Shape::random(&mut random, most);
        let queries = 2 + random.below(6);
        let ops = random_history(&mut random, shape, &model, |random, index| {
            let mut seen: Vec<Option<Value>> = (0..13).map(int).collect();
            seen.push(Some(Value::Nil));
            let value = match values {
                Some(values) => random.below(values) as i64,
                None => ((index * 7) % 13) as i64,
            };
            match random.below(10 + queries) {
                0..5 => ("insert", int(value), vec![None]),
                5..10 => ("remove", None, seen),
                query => match query % 3 {
                    0 => ("peek", None, seen),
                    1 => ("size", None, (0..13).map(int).collect()),
                    _ => ("is_empty", None, [true, false].map(|b| Some(Value::Bool(b))).to_vec()),
                },
            }
        });
        tally[agree(&model, judge(order), &ops) as usize] += 1;
    }
    println!("{order:?}, values {values:?}: {tally:?}");
    assert!(tally[0] > 0 && tally[1] > 0);
    tally
}

#[test]
fn sizes_agree_on_random_histories_of_distinct_values() {
    for order in ORDERS {
        let tally = random(order, None, 12);
        assert!(tally[Agreed::Declined as usize] * 10 < tally[0]);
    }
}

#[test]
fn sizes_and_peeks_agree_on_random_histories_of_repeated_values() {
    for order in ORDERS {
        for values in 1..4 {
            let tally = random(order, Some(values), 11);
            assert!(tally[Agreed::Declined as usize] * 2 < tally[0] + tally[1]);
        }
    }
}

#[test]
fn sizes_agree_on_all_small_histories() {
    let op = |method, arg, result, ret| Op { method, arg, result, call: 0, ret };
    let alphabet = [
        op("insert", int(1), None, Some(0)),
        op("insert", int(1), None, None),
        op("insert", int(2), None, Some(0)),
        op("remove", None, int(1), Some(0)),
        op("remove", None, int(2), Some(0)),
        op("remove", None, None, None),
        op("peek", None, int(1), Some(0)),
        op("size", None, int(1), Some(0)),
        op("size", None, int(2), Some(0)),
        op("is_empty", None, Some(Value::Bool(false)), Some(0)),
        op("is_empty", None, Some(Value::Bool(true)), Some(0)),
    ];
    let largest = if seriatim_testing::long() { 4 } else { 3 };
    for order in [Order::Fifo, Order::Lifo, Order::Smallest] {
        let mut tally = [0u64; 3];
        for count in 1..=largest {
            every_history(&alphabet, count, &mut |ops| {
                tally[agree(&Containers(order), judge(order), ops) as usize] += 1;
            });
        }
        println!("{order:?}, all of up to {largest} operations: {tally:?}");
        assert!(tally[0] > 0 && tally[1] > tally[2]);
    }
}

#[test]
fn long_runs_with_queries_and_pending_removals_are_decided() {
    let operations = rounds(2_000).min(10_000) as usize;
    for order in [Order::Fifo, Order::Lifo, Order::Smallest] {
        // One value in ten is a repeated one; and all are equal.
        for share in [10, 100] {
            let model = Containers(order);
            let mut random = Random(share);
            let ops = concurrent_run(&mut random, operations, 8, &model, |random, index| {
                let value = match random.chance(share) {
                    true => random.below(1 + 5 * (100 - share)) as i64,
                    false => 1_000_000 + (index as i64 * 7919) % 10_007,
                };
                match random.below(40) {
                    0..18 => ("insert", int(value)),
                    18..36 => ("remove", None),
                    36 | 37 => ("peek", None),
                    _ => ("is_empty", None),
                }
            });
            let mut ops = ops;
            for _ in 0..8 {
                let chosen = random.below(ops.len() as u64) as usize;
                if ops[chosen].method == "remove" {
                    (ops[chosen].ret, ops[chosen].result) = (None, None);
                }
            }
            match judge(order)(&history(&ops)) {
                Ok(Claim::Linearizable(witness)) => {
                    is_linearization(&model, &ops, &witness.order).unwrap();
                }
                other => panic!("{order:?}, {share} %: {other:?}"),
            }
        }
    }
}
