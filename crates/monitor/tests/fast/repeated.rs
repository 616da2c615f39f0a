//! Containers whose values repeat.

use crate::containers::judge;
use crate::enumerate::every_history;
use crate::generate::{Random, Shape, concurrent_run, random_history, rounds};
use crate::models::{Containers, Order};
use crate::oracle::{Agreed, Op, agree, history, is_linearization};
use seriatim_history::Value;
use seriatim_monitor::fast::{self, Allowance, Object, Part, Priority};
use seriatim_spec::Claim;

fn random(order: Order, seed: u64) {
    let model = Containers(order);
    let mut random = Random(seed);
    let mut tally = [0u64; 3];
    for _ in 0..rounds(10_000) {
        let shape = Shape::random(&mut random, 12);
        let values = 1 + random.below(4);
        let peeks = [0, 0, 15][random.below(3) as usize];
        let ops = random_history(&mut random, shape, &model, |random, _| {
            let mut seen: Vec<Option<Value>> = (0..4).map(|v| Some(Value::Int(v))).collect();
            seen.push(Some(Value::Nil));
            if random.chance(peeks) {
                ("peek", None, seen)
            } else if random.chance(50) {
                ("insert", Some(Value::Int(random.below(values) as i64)), vec![None])
            } else {
                ("remove", None, seen)
            }
        });
        tally[agree(&model, judge(order), &ops) as usize] += 1;
    }
    println!("{order:?}, repeated values: {tally:?}");
    assert!(tally[0] > 0 && tally[1] > 0);
    assert!(tally[Agreed::Declined as usize] < tally[0] / 2);
}

/// However little a monitor may do, it says what it would have said, or nothing.
#[test]
fn a_monitor_that_is_stopped_says_nothing() {
    let mut random = Random(35);
    let mut stopped = 0;
    for round in 0..rounds(400) {
        let order = [Order::Fifo, Order::Lifo, Order::Largest][round as usize % 3];
        let object = match order {
            Order::Fifo => Object::Queue,
            Order::Lifo => Object::Stack,
            Order::Largest | Order::Smallest => Object::PriorityQueue(Priority::LargestFirst),
        };
        let shape = Shape::random(&mut random, 14);
        let ops = random_history(&mut random, shape, &Containers(order), |random, _| {
            let seen = (0..3).map(|value| Some(Value::Int(value))).collect();
            match random.chance(50) {
                true => ("insert", Some(Value::Int(random.below(3) as i64)), vec![None]),
                false => ("remove", None, seen),
            }
        });
        let history = history(&ops);
        let part = Part::whole(&history);
        let Ok(truth) = fast::check(object, part) else { continue };
        for work in [1, 10, 30, 100, 300, 1000] {
            let allowance = Allowance::new(work);
            match fast::check(object, part.within(&allowance)) {
                Ok(claim) => assert_eq!(claim.word(), truth.word(), "{order:?} {ops:?}"),
                Err(_) => stopped += u32::from(allowance.is_spent()),
            }
        }
    }
    assert!(stopped > 0);
}

#[test]
fn the_queue_monitor_agrees_when_values_repeat() {
    random(Order::Fifo, 31);
}

#[test]
fn the_stack_monitor_agrees_when_values_repeat() {
    random(Order::Lifo, 32);
}

#[test]
fn the_priority_queue_monitors_agree_when_values_repeat() {
    random(Order::Largest, 33);
    random(Order::Smallest, 34);
}

#[test]
fn the_monitors_agree_on_all_small_histories_of_one_value() {
    let op = |method, arg, result, ret| Op { method, arg, result, call: 0, ret };
    let one = || Some(Value::Int(1));
    let alphabet = [
        op("insert", one(), None, Some(0)),
        op("remove", None, one(), Some(0)),
        op("remove", None, Some(Value::Nil), Some(0)),
    ];
    let largest = if seriatim_testing::long() { 5 } else { 4 };
    for order in [Order::Fifo, Order::Lifo, Order::Largest] {
        for count in 1..=largest {
            every_history(&alphabet, count, &mut |ops| {
                let agreed = agree(&Containers(order), judge(order), ops);
                assert_ne!(agreed, Agreed::Declined);
            });
        }
    }
}

#[test]
fn ten_thousand_operations_of_eight_processes_are_decided_when_values_repeat() {
    for order in [Order::Fifo, Order::Lifo, Order::Largest] {
        // One value in ten is a repeated one; and all are equal.
        for share in [10, 100] {
            let model = Containers(order);
            let ops = concurrent_run(&mut Random(share), 10_000, 8, &model, |random, index| {
                let value = match random.chance(share) {
                    true => random.below(1 + 50 * (100 - share)) as i64,
                    false => 1_000_000 + (index as i64 * 7919) % 10_007,
                };
                match random.chance(50) {
                    true => ("insert", Some(Value::Int(value))),
                    false => ("remove", None),
                }
            });
            match judge(order)(&history(&ops)) {
                Ok(Claim::Linearizable(witness)) => {
                    is_linearization(&model, &ops, &witness.order).unwrap();
                }
                other => panic!("{order:?}, {share} %: {other:?}"),
            }
            // What the last completed removal of a value returned comes out once more.
            let mut wrong = ops.clone();
            let came_out = |op: &&Op| op.method == "remove" && op.result != Some(Value::Nil);
            let last = ops.iter().rev().find(came_out).unwrap().clone();
            let end = 1 + ops.iter().filter_map(|op| op.ret).max().unwrap_or(0);
            let copies = ops.iter().filter(|op| op.arg == last.result).count();
            for again in 0..copies as u64 {
                let (call, ret) = (end + 2 * again, Some(end + 2 * again + 1));
                wrong.push(Op { call, ret, ..last.clone() });
            }
            match judge(order)(&history(&wrong)) {
                Ok(Claim::Violation(_)) => {}
                other => panic!("{order:?}, {share} %: {other:?}"),
            }
        }
    }
}

#[test]
fn a_late_peek_does_not_stand_in_the_way_of_an_empty_queue() {
    let op = |method, value: Option<i64>, call, ret| {
        let value = value.map_or(Value::Nil, Value::Int);
        let (arg, result) = match method {
            "insert" => (Some(value), None),
            _ => (None, Some(value)),
        };
        Op { method, arg, result, call, ret: Some(ret) }
    };
    let ops = [
        op("insert", Some(1), 522, 1043),
        op("insert", Some(1), 789, 1422),
        op("insert", Some(1), 800, 1807),
        op("peek", None, 1027, 2063),
        op("remove", None, 1369, 2214),
        op("remove", Some(1), 1387, 1802),
        op("peek", Some(1), 1631, 2515),
        op("remove", Some(1), 1984, 2016),
    ];
    let agreed = agree(&Containers(Order::Fifo), judge(Order::Fifo), &ops);
    assert_eq!(agreed, Agreed::Linearizable);
}
