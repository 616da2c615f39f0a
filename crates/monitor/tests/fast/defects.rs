//! Defects of other tools, each as a history that we judge rightly. The letters are those of the
//! tools in `docs/monitors.md`.

use crate::models::{Containers, Keys, Map, Order};
use crate::oracle::{Model, Op, agree, history, linearizable};
use seriatim_history::{Horizon, Value, ValueId};
use seriatim_monitor::fast::{Object, Part, Priority, check};
use seriatim_monitor::{Options, check as check_all};
use seriatim_spec::generate::{Generator, Profile};
use seriatim_spec::{ChosenReader, Claim, Failures, SpecChoice};

/// An operation on a container: `v` is inserted, removed or peeked at; -1 is "empty".
fn op(method: &'static str, value: i64, call: u64, ret: u64) -> Op {
    let seen = match value {
        -1 => Value::Nil,
        value => Value::Int(value),
    };
    let (arg, result) = match method {
        "insert" => (Some(seen), None),
        _ => (None, Some(seen)),
    };
    let ret = Some(ret);
    Op { method, arg, result, call, ret }
}

fn pending(method: &'static str, call: u64) -> Op {
    Op { ret: None, result: None, arg: None, ..op(method, 0, call, 0) }
}

/// An operation of a set.
fn on_key(method: &'static str, key: i64, answer: bool, call: u64, ret: u64) -> Op {
    Op {
        method,
        arg: Some(Value::Int(key)),
        result: Some(Value::Bool(answer)),
        call,
        ret: Some(ret),
    }
}

/// Judges a history and compares with the oracle.
fn word<M: Model>(object: Object, model: &M, mut ops: Vec<Op>) -> &'static str {
    ops.sort_by_key(|op| op.call);
    let judge = |history: &_| check(object, Part::whole(history));
    if ops.len() <= 16 {
        agree(model, judge, &ops);
    }
    match judge(&history(&ops)) {
        Ok(verdict) => verdict.word(),
        Err(_) => "declined",
    }
}

fn stack(ops: Vec<Op>) -> &'static str {
    word(Object::Stack, &Containers(Order::Lifo), ops)
}

fn queue(ops: Vec<Op>) -> &'static str {
    word(Object::Queue, &Containers(Order::Fifo), ops)
}

fn priority_queue(ops: Vec<Op>) -> &'static str {
    let largest = Object::PriorityQueue(Priority::LargestFirst);
    word(largest, &Containers(Order::Largest), ops)
}

fn set(ops: Vec<Op>) -> &'static str {
    word(Object::Set, &Keys, ops)
}

#[test]
fn p1_an_overlapping_pair_does_not_hide_a_violation_of_a_stack() {
    let wrong = || {
        vec![
            op("insert", 1, 1, 2),
            op("insert", 5, 3, 4),
            op("remove", 1, 5, 6),
            op("remove", 5, 7, 8),
        ]
    };
    assert_eq!(stack(wrong()), "violation");
    let mut more = wrong();
    more.extend([op("insert", 6, 9, 12), op("remove", 6, 10, 11)]);
    assert_eq!(stack(more), "violation");
}

#[test]
fn p2_a_value_that_is_never_removed_is_inside_to_the_very_end() {
    let ops = || vec![op("insert", 1, 1, 2), op("remove", -1, 5, 6)];
    assert_eq!(stack(ops()), "violation");
    assert_eq!(queue(ops()), "violation");
    assert_eq!(priority_queue(ops()), "violation");
    let ops = vec![on_key("insert", 1, true, 1, 2), on_key("contains", 1, false, 3, 4)];
    assert_eq!(set(ops), "violation");
}

#[test]
fn p3_a_peek_at_the_front_of_a_queue_orders_values() {
    let ops = vec![
        op("insert", 3, 1, 6),
        op("insert", 34, 3, 12),
        op("peek", 3, 7, 9),
        op("remove", 34, 10, 19),
    ];
    assert_eq!(queue(ops), "violation");
}

#[test]
fn p4_a_return_at_the_instant_of_a_call_is_concurrent_with_it_for_every_object() {
    let tie = |first: Op, second: Op| vec![first, second];
    let (late, early) = (op("insert", 1, 5, 9), op("remove", 1, 1, 5));
    for judge in [stack, queue, priority_queue] {
        assert_eq!(judge(tie(early.clone(), late.clone())), "linearizable");
    }
    let (saw, inserts) = (on_key("contains", 1, true, 1, 5), on_key("insert", 1, true, 5, 9));
    assert_eq!(set(tie(saw, inserts)), "linearizable");
}

#[test]
fn p4_a_violation_of_a_set_is_reported_at_the_event_that_makes_it() {
    let mut ops = vec![on_key("insert", 1, true, 1, 2), on_key("remove", 1, true, 3, 4)];
    ops.extend(
        (0..20).map(|i| on_key("insert", 2 + i, true, 10 * i as u64 + 10, 10 * i as u64 + 15)),
    );
    ops.push(on_key("contains", 1, true, 300, 310));
    ops.push(on_key("insert", 1, true, 320, 330));
    match check(Object::Set, Part::whole(&history(&ops))) {
        Ok(Claim::Violation(counterexample)) => {
            assert_eq!(counterexample.horizon, Horizon::Until(310));
            assert_eq!(counterexample.operations.len(), 1);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn p5_a_history_of_a_deque_that_is_linearizable_by_construction_is_never_refused() {
    let choice = SpecChoice::parse("deque").unwrap();
    for seed in 0..300 {
        let profile = Profile {
            operations: 16,
            threads: 2 + (seed % 3) as u32,
            overlap: 1.0,
            seed,
            ..Profile::default()
        };
        let mut made = Generator::new(&choice, profile).unwrap().history().unwrap();
        let reader = ChosenReader { choice: choice.clone(), failures: Failures::Drop };
        let checked = check_all(&mut made.history, &reader, &Options::default()).unwrap();
        assert_eq!(checked.verdict.word(), "linearizable", "seed {seed}");
    }
}

#[test]
fn an_ordinary_history_of_a_set_may_insert_a_key_again() {
    let ops = vec![
        on_key("insert", 1, true, 1, 2),
        on_key("remove", 1, true, 3, 4),
        on_key("insert", 1, true, 5, 6),
    ];
    assert_eq!(set(ops), "linearizable");
}

#[test]
fn l1_a_dequeue_may_see_the_queue_empty() {
    assert_eq!(queue(vec![op("remove", -1, 1, 2)]), "linearizable");
}

#[test]
fn l2_a_value_that_is_never_dequeued_holds_back_younger_ones() {
    let ops = vec![op("insert", 1, 1, 2), op("insert", 2, 3, 4), op("remove", 2, 5, 6)];
    assert_eq!(queue(ops), "violation");
}

#[test]
fn l3_a_critical_pair_is_found_wherever_it_is() {
    for swapped in 0..19 {
        let mut order: Vec<i64> = (0..20).collect();
        order.swap(swapped, swapped + 1);
        let mut ops: Vec<Op> =
            (0..20).map(|v| op("insert", v, 10 * v as u64, 10 * v as u64 + 5)).collect();
        ops.extend(
            order.iter().zip(0..).map(|(&v, i)| op("remove", v, 500 + 10 * i, 505 + 10 * i)),
        );
        assert_eq!(queue(ops), "violation");
    }
}

#[test]
fn l4_a_value_comes_out_once() {
    let apart = || vec![op("insert", 1, 1, 2), op("remove", 1, 3, 4), op("remove", 1, 5, 6)];
    let overlapping = || vec![op("insert", 1, 1, 6), op("remove", 1, 2, 4), op("remove", 1, 3, 5)];
    for judge in [stack, queue, priority_queue] {
        assert_eq!(judge(apart()), "violation");
        assert_eq!(judge(overlapping()), "violation");
    }
}

#[test]
fn l5_a_pending_removal_may_have_taken_effect() {
    // 2 lies on 1 until the pending pop takes it.
    let ops = || {
        vec![
            op("insert", 1, 1, 2),
            op("insert", 2, 3, 4),
            pending("remove", 5),
            op("remove", 1, 6, 7),
        ]
    };
    assert_eq!(stack(ops()), "linearizable");
    let mut without = ops();
    without.remove(2);
    assert_eq!(stack(without), "violation");
    let emptied = vec![op("insert", 1, 1, 2), pending("remove", 3), op("remove", -1, 4, 5)];
    for judge in [stack, queue, priority_queue] {
        assert_eq!(judge(emptied.clone()), "linearizable");
    }
}

#[test]
fn l5_equal_values_are_told_apart_rightly() {
    // Two copies of 1 are inside; which of them is popped first is not for the latest push to say.
    let ops = vec![
        op("insert", 1, 1, 2),
        op("insert", 2, 3, 4),
        op("insert", 1, 5, 6),
        op("remove", 1, 7, 8),
        op("remove", 2, 9, 10),
        op("remove", 1, 11, 12),
    ];
    assert_eq!(stack(ops), "linearizable");
}

#[test]
fn f1_a_set_is_empty_at_first() {
    assert_eq!(set(vec![on_key("contains", 0, false, 1, 2)]), "linearizable");
    assert_eq!(set(vec![on_key("contains", 0, true, 1, 2)]), "violation");
}

#[test]
fn f2_a_queue_may_only_be_enqueued_to() {
    let ops = vec![op("insert", 1, 1, 2), op("insert", 1, 3, 4), op("insert", 2, 5, 6)];
    assert_eq!(queue(ops), "linearizable");
}

#[test]
fn a1_the_verdict_about_one_key_is_not_forgotten_over_another() {
    let put = |key: i64, value: i64, call: u64| Op {
        method: "put",
        arg: Some(Value::list([Value::Int(key), Value::Int(value)])),
        result: None,
        call,
        ret: Some(call + 1),
    };
    let get = |key: i64, value: i64, call: u64| Op {
        method: "get",
        arg: Some(Value::Int(key)),
        result: Some(Value::Int(value)),
        call,
        ret: Some(call + 1),
    };
    let ops = vec![put(1, 7, 1), get(1, 8, 3), put(2, 5, 5), get(2, 5, 7)];
    assert!(!linearizable(&Map, &ops));
    assert_eq!(word(Object::Map(ValueId::NIL), &Map, ops), "violation");
}

#[test]
fn three_values_may_be_wrong_while_every_two_are_right() {
    let value = |v: i64, enqueued: (u64, u64), dequeued: (u64, u64)| {
        vec![op("insert", v, enqueued.0, enqueued.1), op("remove", v, dequeued.0, dequeued.1)]
    };
    let mut values =
        [value(1, (0, 9), (40, 60)), value(2, (1, 2), (20, 50)), value(3, (4, 6), (5, 30))];
    values[0].push(op("peek", 1, 7, 10));
    assert_eq!(queue(values.concat()), "violation");
    for left_out in 0..3 {
        let mut two = values.to_vec();
        two.remove(left_out);
        assert_eq!(queue(two.concat()), "linearizable");
    }
}
