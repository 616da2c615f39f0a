//! Set, mutex, register and other simple objects, offline and online.

use crate::enumerate::every_history;
use crate::generate::{Random, Shape, random_history, rounds};
use crate::models::{Keys, Mutex, Register};
use crate::oracle::{Agreed, Model, Op, agree, agree_online};
use seriatim_history::{Value, ValueId};
use seriatim_monitor::fast::{Object, Online, Part, check, mutex, register, set};

type Drawn = (&'static str, Option<Value>, Vec<Option<Value>>);

/// Compares a monitor, offline and online, with the oracle on random histories.
fn compare<M: Model, W: Online>(
    object: Object,
    model: &M,
    watch: Option<&dyn Fn() -> W>,
    seed: u64,
    draw: &dyn Fn(&mut Random, u64) -> Drawn,
) {
    let mut random = Random(seed);
    let mut tally = [[0u64; 3]; 2];
    for _ in 0..rounds(10_000) {
        let shape = Shape::random(&mut random, 12);
        let ops = random_history(&mut random, shape, model, draw);
        let judge = |history: &_| check(object, Part::whole(history));
        tally[0][agree(model, judge, &ops) as usize] += 1;
        if let Some(watch) = watch {
            tally[1][agree_online(model, watch(), &ops) as usize] += 1;
        }
    }
    println!("{object:?}: {tally:?}");
    assert!(tally[0][0] > 0 && tally[0][1] > 0);
    for tally in tally {
        assert_eq!(tally[Agreed::Declined as usize], 0);
    }
}

/// Compares a monitor, offline and online, with the oracle on all histories of a size.
fn exhaust<M: Model, W: Online>(
    object: Object,
    model: &M,
    watch: Option<&dyn Fn() -> W>,
    alphabet: &[Op],
    count: usize,
) {
    let mut tally = [0u64; 3];
    every_history(alphabet, count, &mut |ops| {
        let judge = |history: &_| check(object, Part::whole(history));
        let agreed = agree(model, judge, ops);
        tally[agreed as usize] += 1;
        if let Some(watch) = watch
            && agreed != Agreed::Declined
        {
            agree_online(model, watch(), ops);
        }
    });
    println!("{object:?}, {count} operations: {tally:?}");
    assert!(tally[0] > 0 && tally[1] > 0);
}

/// An operation of an alphabet, completed or pending.
fn op(method: &'static str, arg: Option<i64>, result: Option<Value>) -> Op {
    Op { method, arg: arg.map(Value::Int), result, call: 0, ret: Some(0) }
}

fn pending(method: &'static str, arg: Option<i64>) -> Op {
    Op { ret: None, ..op(method, arg, None) }
}

/// The size up to which everything is tried.
fn largest(short: usize) -> usize {
    match std::env::var_os("SERIATIM_LONG") {
        Some(_) => short + 1,
        None => short,
    }
}

fn answers() -> Vec<Option<Value>> {
    vec![Some(Value::Bool(true)), Some(Value::Bool(false))]
}

#[test]
fn the_set_monitor_agrees_on_random_histories() {
    let draw = |random: &mut Random, _| {
        let method = ["insert", "remove", "contains", "insert", "remove"][random.below(5) as usize];
        (method, Some(Value::Int(random.below(2) as i64)), answers())
    };
    compare(Object::Set, &Keys, Some(&set::Watch::default), 11, &draw);
}

#[test]
fn the_set_monitor_agrees_on_all_small_histories() {
    let mut alphabet = vec![pending("insert", Some(1)), pending("remove", Some(1))];
    for method in ["insert", "remove", "contains"] {
        alphabet.extend(answers().into_iter().map(|answer| op(method, Some(1), answer)));
    }
    for count in 1..=largest(4) {
        exhaust(Object::Set, &Keys, Some(&set::Watch::default), &alphabet, count);
    }
}

#[test]
fn the_mutex_monitor_agrees_on_random_histories() {
    let draw = |random: &mut Random, _| match random.below(5) {
        0 | 1 => ("unlock", None, vec![None]),
        2 => ("lock", None, vec![None]),
        3 => ("is_locked", None, answers()),
        _ => ("try_lock", None, answers()),
    };
    compare(Object::Mutex, &Mutex, Some(&mutex::Watch::default), 12, &draw);
}

#[test]
fn the_register_monitor_agrees_on_random_histories() {
    let draw = |random: &mut Random, index| match random.below(5) {
        0 | 1 => ("write", Some(Value::Int(index as i64)), vec![None]),
        _ => {
            let seen = (0..12).map(|value| Some(Value::Int(value)));
            ("read", None, seen.chain([Some(Value::Nil)]).collect())
        }
    };
    let watch = || register::Watch::new(ValueId::NIL);
    compare(Object::Register(ValueId::NIL), &Register, Some(&watch), 13, &draw);
}

#[test]
fn the_register_monitor_agrees_on_all_small_histories() {
    let mut alphabet = vec![op("read", None, Some(Value::Nil))];
    for value in [1, 2] {
        alphabet.push(op("write", Some(value), None));
        alphabet.push(pending("write", Some(value)));
        alphabet.push(op("read", None, Some(Value::Int(value))));
    }
    let watch = || register::Watch::new(ValueId::NIL);
    for count in 1..=largest(4) {
        exhaust(Object::Register(ValueId::NIL), &Register, Some(&watch), &alphabet, count);
    }
}
