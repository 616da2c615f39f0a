//! Queue, stack and priority queue.

use crate::enumerate::every_history;
use crate::generate::{Random, Shape, random_history, rounds};
use crate::models::{Containers, Order};
use crate::oracle::{Agreed, Op, agree};
use seriatim_history::{History, Value};
use seriatim_monitor::fast::{Declined, Object, Part, Priority, check};
use seriatim_spec::Claim;

/// A history with the methods' names that all containers share in the tests.
fn object(order: Order) -> Object {
    match order {
        Order::Fifo => Object::Queue,
        Order::Lifo => Object::Stack,
        Order::Largest => Object::PriorityQueue(Priority::LargestFirst),
        Order::Smallest => Object::PriorityQueue(Priority::SmallestFirst),
    }
}

pub fn judge(order: Order) -> impl Fn(&History) -> Result<Claim, Declined> {
    move |history| check(object(order), Part::whole(history))
}

fn op(method: &'static str, arg: Option<i64>, result: Option<Value>, completed: bool) -> Op {
    Op { method, arg: arg.map(Value::Int), result, call: 0, ret: completed.then_some(0) }
}

/// Every operation on the given values.
fn alphabet(values: &[i64]) -> Vec<Op> {
    let mut alphabet = vec![op("remove", None, None, false)];
    for method in ["remove", "peek"] {
        alphabet.push(op(method, None, Some(Value::Nil), true));
        let seen = values.iter().map(|&v| Some(Value::Int(v)));
        alphabet.extend(seen.map(|value| op(method, None, value, true)));
    }
    for &value in values {
        alphabet.push(op("insert", Some(value), None, true));
        alphabet.push(op("insert", Some(value), None, false));
    }
    alphabet
}

/// Compares on every history of a size; leaves out those with a value inserted twice.
fn exhaust(order: Order, count: usize, values: &[i64]) {
    let model = Containers(order);
    let mut tally = [0u64; 3];
    every_history(&alphabet(values), count, &mut |ops| {
        let inserts = |v: i64| {
            let arg = Some(Value::Int(v));
            ops.iter().filter(|op| op.arg == arg).count()
        };
        if values.iter().all(|&v| inserts(v) <= 1) {
            tally[agree(&model, judge(order), ops) as usize] += 1;
        }
    });
    println!("{order:?}, {count} operations: {tally:?}");
    assert!(tally[0] > 0 && tally[1] > 0);
    assert_eq!(tally[Agreed::Declined as usize], 0);
}

/// Compares on random histories.
fn random(order: Order, seed: u64, most: u64) {
    let model = Containers(order);
    let mut random = Random(seed);
    let mut tally = [0u64; 3];
    for _ in 0..rounds(15_000) {
        let shape = Shape::random(&mut random, most);
        let peeks = [0, 20][random.below(2) as usize];
        let inserts = 35 + random.below(30);
        let ops = random_history(&mut random, shape, &model, |random, index| {
            let value = match order {
                Order::Fifo | Order::Lifo => index as i64,
                _ => ((index * 7) % 13) as i64,
            };
            let mut seen: Vec<Option<Value>> = (0..13).map(|v| Some(Value::Int(v))).collect();
            seen.push(Some(Value::Nil));
            if random.chance(peeks) {
                ("peek", None, seen)
            } else if random.chance(inserts) {
                ("insert", Some(Value::Int(value)), vec![None])
            } else {
                ("remove", None, seen)
            }
        });
        tally[agree(&model, judge(order), &ops) as usize] += 1;
    }
    println!("{order:?}, random: {tally:?}");
    assert!(tally[0] > 0 && tally[1] > 0);
    assert_eq!(tally[Agreed::Declined as usize], 0);
}

/// The size up to which everything is tried.
fn largest() -> usize {
    if seriatim_testing::long() { 5 } else { 3 }
}

fn exhaust_all(order: Order) {
    for count in 1..=largest() {
        exhaust(order, count, &[1, 2]);
    }
    exhaust(order, largest() - 1, &[1, 2, 3]);
}

#[test]
fn the_queue_monitor_agrees_on_all_small_histories() {
    exhaust_all(Order::Fifo);
}

#[test]
fn the_stack_monitor_agrees_on_all_small_histories() {
    exhaust_all(Order::Lifo);
}

#[test]
fn the_priority_queue_monitor_agrees_on_all_small_histories() {
    exhaust_all(Order::Largest);
}

#[test]
fn the_queue_monitor_agrees_on_random_histories() {
    random(Order::Fifo, 1, 12);
}

#[test]
fn the_stack_monitor_agrees_on_random_histories() {
    random(Order::Lifo, 2, 12);
}

#[test]
fn the_priority_queue_monitors_agree_on_random_histories() {
    random(Order::Largest, 3, 12);
    random(Order::Smallest, 4, 12);
}

#[test]
fn queries_whether_the_container_is_empty_agree_or_are_declined() {
    for order in [Order::Fifo, Order::Lifo, Order::Largest] {
        let model = Containers(order);
        let mut random = Random(5);
        let mut tally = [0u64; 3];
        for _ in 0..rounds(5_000) {
            let shape = Shape::random(&mut random, 10);
            let ops = random_history(&mut random, shape, &model, |random, index| {
                let mut seen: Vec<Option<Value>> = (0..13).map(|v| Some(Value::Int(v))).collect();
                seen.push(Some(Value::Nil));
                let answers = [true, false].map(|answer| Some(Value::Bool(answer)));
                match random.below(5) {
                    0 => ("is_empty", None, answers.to_vec()),
                    1 | 2 => ("insert", Some(Value::Int(index as i64)), vec![None]),
                    _ => ("remove", None, seen),
                }
            });
            tally[agree(&model, judge(order), &ops) as usize] += 1;
        }
        println!("{order:?}, is_empty: {tally:?}");
        assert!(tally[0] > 0 && tally[1] > 0 && tally[2] < tally[0]);
    }
}
