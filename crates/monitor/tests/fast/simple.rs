//! Set, mutex, register and other simple objects, offline and online.

use crate::enumerate::every_history;
use crate::generate::{Random, Shape, random_history, rounds};
use crate::models::{
    Bag, Containers, Counter, FetchAndAdd, Keys, Log, Map, Mutex, Order, Register, Semaphore,
};
use crate::oracle::{
    Agreed, Beginnings, Model, Op, agree, agree_online, history, is_linearization, listen, show,
};
use seriatim_history::{Value, ValueId};
use seriatim_monitor::fast::{
    Called, Object, Online, Part, Returned, Stop, check, counter, log, multiset, mutex, queue,
    register, set,
};
use seriatim_spec::Claim;

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
            tally[1][agree_online(model, watch(), &ops, &mut Beginnings::default()) as usize] += 1;
        }
    }
    println!("{object:?}: {tally:?}");
    assert!(tally[0][0] > 0 && tally[0][1] > 0);
    assert_eq!(tally[0][Agreed::Declined as usize], 0);
    if object == Object::Queue {
        assert_eq!(tally[1][Agreed::Declined as usize], 0);
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
    let mut beginnings = Beginnings::default();
    every_history(alphabet, count, &mut |ops| {
        if !is_first_of_its_kind(ops) {
            return;
        }
        let judge = |history: &_| check(object, Part::whole(history));
        let agreed = agree(model, judge, ops);
        tally[agreed as usize] += 1;
        if let Some(watch) = watch
            && agreed != Agreed::Declined
        {
            agree_online(model, watch(), ops, &mut beginnings);
        }
    });
    println!("{object:?}, {count} operations: {tally:?}");
    assert!(tally[0] > 0 && tally[1] > 0);
}

/// Whether 1 occurs in a history before 2 does. Values that an object does not compare, or keys,
/// may be renamed: of two histories that differ by their names one is enough.
fn is_first_of_its_kind(ops: &[Op]) -> bool {
    let mentions = |op: &Op, number| {
        let value = Some(Value::Int(number));
        op.arg == value || op.result == value
    };
    let first = ops.iter().find(|op| mentions(op, 1) || mentions(op, 2));
    first.is_none_or(|op| mentions(op, 1))
}

/// An operation of an alphabet, completed or pending.
fn op(method: &'static str, arg: Option<i64>, result: Option<Value>) -> Op {
    Op { method, arg: arg.map(Value::Int), result, call: 0, ret: Some(0) }
}

fn pending(method: &'static str, arg: Option<i64>) -> Op {
    Op { ret: None, ..op(method, arg, None) }
}

/// Tells a monitor of values by ids that change all the time, as a reader does that forgets values.
struct Renaming<W> {
    monitor: W,
    events: u32,
    /// How often the ids have changed.
    age: u32,
}

impl<W: Online> Renaming<W> {
    fn new(monitor: W) -> Self {
        Renaming { monitor, events: 0, age: 0 }
    }

    /// The present id of a value: that of an interned one.
    fn id(&self, id: ValueId) -> ValueId {
        match id.0 & 1 {
            0 => id,
            _ => ValueId(((id.0 >> 1) + 16 * (self.age + 1)) << 2),
        }
    }

    fn event(&mut self) {
        self.events += 1;
        if self.events.is_multiple_of(3) {
            self.age += 1;
            self.monitor.rename(&mut |id| match id.0 {
                0..16 => id,
                _ => ValueId(id.0 + (16 << 2)),
            });
        }
    }
}

impl<W: Online> Online for Renaming<W> {
    fn call(&mut self, called: Called<'_>) -> Result<(), Stop> {
        self.event();
        let arg = self.id(called.arg);
        self.monitor.call(Called { arg, ..called })
    }

    fn ret(&mut self, returned: Returned<'_>) -> Result<(), Stop> {
        self.event();
        let result = self.id(returned.result);
        self.monitor.ret(Returned { result, ..returned })
    }

    fn rename(&mut self, _: &mut dyn FnMut(ValueId) -> ValueId) {}

    fn remembered(&self) -> usize {
        self.monitor.remembered()
    }
}

#[test]
fn online_monitors_agree_when_values_change_their_ids() {
    let keyed = |random: &mut Random, _| {
        let method = ["insert", "remove", "contains"][random.below(3) as usize];
        (method, Some(Value::Int(random.below(3) as i64)), answers())
    };
    let watch = || Renaming::new(set::Watch::default());
    compare(Object::Set, &Keys, Some(&watch), 41, &keyed);
    let copies = |random: &mut Random, _| {
        let key = Some(Value::Int(random.below(2) as i64));
        match random.below(2) {
            0 => ("add", key, vec![None]),
            _ => (["remove", "contains"][random.below(2) as usize], key, answers()),
        }
    };
    let watch = || Renaming::new(multiset::Watch::default());
    compare(Object::Multiset, &Bag, Some(&watch), 42, &copies);
    let queued = |random: &mut Random, index| {
        let mut seen = numbers(0..12);
        seen.push(Some(Value::Nil));
        match random.below(5) {
            0 => ("peek", None, seen),
            1 | 2 => ("insert", Some(Value::Int(index as i64)), vec![None]),
            _ => ("remove", None, seen),
        }
    };
    let watch = || Renaming::new(queue::online::Watch::default());
    compare(Object::Queue, &Containers(Order::Fifo), Some(&watch), 43, &queued);
    let written = |random: &mut Random, index| match random.below(5) {
        0 | 1 => ("write", Some(Value::Int(index as i64)), vec![None]),
        _ => ("read", None, numbers(0..12).into_iter().chain([Some(Value::Nil)]).collect()),
    };
    let watch = || Renaming::new(register::Watch::new(ValueId::NIL));
    compare(Object::Register(ValueId::NIL), &Register, Some(&watch), 44, &written);
}

/// The size up to which everything is tried.
fn largest(short: usize) -> usize {
    if seriatim_testing::long() { short + 2 } else { short }
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

/// Long histories go through shortcuts that short ones never reach: they are judged as event by
/// event.
#[test]
fn long_histories_of_a_set_are_judged_as_the_online_monitor_judges_them() {
    let mut random = Random(22);
    let mut tally = [0u64; 3];
    for _ in 0..rounds(1_000) {
        let shape = Shape {
            operations: 200 + random.below(800),
            width: [50, 200, 700, 3000][random.below(4) as usize],
            pending: [0, 0, 1][random.below(3) as usize],
            damage: [0, 30][random.below(2) as usize],
        };
        let keys = [2, 20, 200][random.below(3) as usize];
        let ops = random_history(&mut random, shape, &Keys, |random, _| {
            let method = ["insert", "remove", "contains"][random.below(3) as usize];
            (method, Some(Value::Int(random.below(keys) as i64)), answers())
        });
        let history = history(&ops);
        let agreed = match check(Object::Set, Part::whole(&history)).unwrap() {
            Claim::Linearizable(witness) => {
                is_linearization(&Keys, &ops, &witness.order).unwrap();
                Agreed::Linearizable
            }
            _ => Agreed::Violation,
        };
        assert_eq!(agreed, listen(set::Watch::default(), &history), "{}", show(&ops));
        tally[agreed as usize] += 1;
    }
    println!("long histories of a set: {tally:?}");
    assert!(tally[0] > 0 && tally[1] > 0);
}

/// Short histories never make the online monitor forget a value.
#[test]
fn long_histories_of_a_register_are_judged_alike_offline_and_online() {
    let mut random = Random(25);
    let mut tally = [0u64; 3];
    for _ in 0..rounds(300) {
        let shape = Shape {
            operations: 100 + random.below(400),
            width: [50, 200, 700, 3000][random.below(4) as usize],
            pending: [0, 0, 1][random.below(3) as usize],
            damage: [0, 0, 1][random.below(3) as usize],
        };
        let ops = random_history(&mut random, shape, &Register, |random, index| {
            match random.chance(40) {
                true => ("write", Some(Value::Int(index as i64)), vec![None]),
                false => ("read", None, numbers(index as i64 - 4..index as i64 + 1)),
            }
        });
        let history = history(&ops);
        let register = Object::Register(ValueId::NIL);
        let agreed = match check(register, Part::whole(&history)).unwrap() {
            Claim::Linearizable(_) => Agreed::Linearizable,
            _ => Agreed::Violation,
        };
        let online = listen(register::Watch::new(ValueId::NIL), &history);
        assert_eq!(agreed, online, "{}", show(&ops));
        tally[agreed as usize] += 1;
    }
    println!("long histories of a register: {tally:?}");
    assert!(tally[0] > 0 && tally[1] > 0);
}

/// Every operation of a set on some keys.
fn set_alphabet(keys: &[i64]) -> Vec<Op> {
    let mut alphabet = Vec::new();
    for &key in keys {
        alphabet.extend(["insert", "remove"].map(|method| pending(method, Some(key))));
        for method in ["insert", "remove", "contains"] {
            alphabet.extend(answers().into_iter().map(|answer| op(method, Some(key), answer)));
        }
    }
    alphabet
}

#[test]
fn the_set_monitor_agrees_on_all_small_histories() {
    for count in 1..=largest(3) {
        exhaust(Object::Set, &Keys, Some(&set::Watch::default), &set_alphabet(&[1]), count);
    }
}

/// Keys are independent of each other: what is right for each is right for all. Here that is not
/// assumed.
#[test]
fn the_set_monitor_agrees_on_all_small_histories_of_two_keys() {
    let largest = if seriatim_testing::long() { 4 } else { 3 };
    for count in 2..=largest {
        exhaust(Object::Set, &Keys, Some(&set::Watch::default), &set_alphabet(&[1, 2]), count);
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
    for count in 1..=largest(3) {
        exhaust(Object::Register(ValueId::NIL), &Register, Some(&watch), &alphabet, count);
    }
}

fn numbers(range: std::ops::Range<i64>) -> Vec<Option<Value>> {
    range.map(|number| Some(Value::Int(number))).collect()
}

#[test]
fn the_online_queue_monitor_agrees_after_every_event() {
    for (fronts, seed) in [(0, 14), (20, 23), (50, 24)] {
        let draw = |random: &mut Random, index| {
            let mut seen = numbers(0..12);
            seen.push(Some(Value::Nil));
            if random.chance(fronts) {
                ("peek", None, seen)
            } else if random.chance(45) {
                ("insert", Some(Value::Int(index as i64)), vec![None])
            } else {
                ("remove", None, seen)
            }
        };
        let watch = queue::online::Watch::default;
        compare(Object::Queue, &Containers(Order::Fifo), Some(&watch), seed, &draw);
    }
}

#[test]
fn the_online_queue_monitor_agrees_on_all_small_histories() {
    let mut alphabet = vec![pending("remove", None)];
    alphabet.extend(["remove", "peek"].map(|method| op(method, None, Some(Value::Nil))));
    for value in [1, 2] {
        alphabet.push(op("insert", Some(value), None));
        let seen = Some(Value::Int(value));
        alphabet.extend(["remove", "peek"].map(|method| op(method, None, seen.clone())));
    }
    let (model, watch) = (Containers(Order::Fifo), queue::online::Watch::default);
    for count in 1..=largest(3) {
        exhaust(Object::Queue, &model, Some(&watch), &alphabet, count);
    }
}

#[test]
fn the_online_queue_monitor_agrees_or_declines_when_somebody_asks_whether_it_is_empty() {
    let model = Containers(Order::Fifo);
    let mut random = Random(25);
    let mut tally = [0u64; 3];
    for _ in 0..rounds(10_000) {
        let shape = Shape::random(&mut random, 12);
        let values = [3, 12][random.below(2) as usize];
        let ops = random_history(&mut random, shape, &model, |random, index| {
            let mut seen = numbers(0..12);
            seen.push(Some(Value::Nil));
            match random.below(8) {
                0 => ("is_empty", None, answers()),
                1 => ("peek", None, seen),
                2..5 => ("insert", Some(Value::Int(index as i64 % values)), vec![None]),
                _ => ("remove", None, seen),
            }
        });
        let watch = queue::online::Watch::default();
        let agreed = agree_online(&model, watch, &ops, &mut Beginnings::default());
        tally[agreed as usize] += 1;
    }
    println!("online queue, is_empty, values that come again: {tally:?}");
    assert!(tally[0] > tally[2] && tally[1] > 0);
}

#[test]
fn the_counter_monitor_agrees_on_random_histories() {
    let draw = |random: &mut Random, _| match random.below(2) {
        0 => ("inc", None, vec![None]),
        _ => ("read", None, numbers(0..12)),
    };
    compare(Object::Counter, &Counter, Some(&counter::Watch::default), 15, &draw);
}

#[test]
fn the_counter_monitor_agrees_with_decrements() {
    let draw = |random: &mut Random, _| match random.below(4) {
        0 => ("inc", None, vec![None]),
        1 => ("dec", None, vec![None]),
        _ => ("read", None, numbers(-12..12)),
    };
    compare::<_, counter::Watch>(Object::Counter, &Counter, None, 16, &draw);
}

#[test]
fn the_fetch_and_add_monitor_agrees_on_random_histories() {
    let draw = |random: &mut Random, _| match random.below(4) {
        0 => ("read", None, numbers(0..12)),
        _ => ("fetch_and_add", None, numbers(0..12)),
    };
    compare::<_, counter::Watch>(Object::FetchAndAdd, &FetchAndAdd, None, 17, &draw);
}

#[test]
fn the_multiset_monitor_agrees_on_random_histories() {
    let draw = |random: &mut Random, _| {
        let key = Some(Value::Int(random.below(2) as i64));
        match random.below(10) {
            0..4 => ("add", key, vec![None]),
            4..7 => ("remove", key, answers()),
            7 => ("multiplicity", key, numbers(0..12)),
            _ => ("contains", key, answers()),
        }
    };
    compare(Object::Multiset, &Bag, Some(&multiset::Watch::default), 18, &draw);
}

#[test]
fn the_semaphore_monitor_agrees_on_random_histories() {
    for permits in 0..3 {
        let draw = |random: &mut Random, _| match random.below(7) {
            0..3 => ("release", None, vec![None]),
            3 => ("acquire", None, vec![None]),
            4 => ("available", None, numbers(0..12)),
            _ => ("try_acquire", None, answers()),
        };
        let (object, model) = (Object::Semaphore(permits), Semaphore(i64::from(permits)));
        compare::<_, counter::Watch>(object, &model, None, 19, &draw);
    }
}

#[test]
fn a_try_acquire_may_say_in_its_argument_whether_there_was_a_permit() {
    for (permits, said) in [(0, true), (0, false), (1, true), (1, false)] {
        let arg = Some(Value::Bool(said));
        let op = Op { method: "try_acquire", arg, result: None, call: 0, ret: Some(1) };
        let verdict = check(Object::Semaphore(permits), Part::whole(&history(&[op]))).unwrap();
        assert_eq!(matches!(verdict, Claim::Linearizable(_)), (permits > 0) == said);
    }
}

#[test]
fn hundreds_of_operations_may_be_open_on_a_semaphore() {
    let (model, releases) = (Semaphore(3), 500);
    for (acquired, agreed) in [(503, Agreed::Linearizable), (504, Agreed::Violation)] {
        let all = releases + acquired;
        let ops: Vec<Op> = (0..all)
            .map(|index| {
                let method = if index < releases { "release" } else { "acquire" };
                // The last one called returns first.
                Op { method, arg: None, result: None, call: index, ret: Some(2 * all - index) }
            })
            .collect();
        let found = match check(Object::Semaphore(3), Part::whole(&history(&ops))).unwrap() {
            Claim::Linearizable(witness) => {
                is_linearization(&model, &ops, &witness.order).unwrap();
                Agreed::Linearizable
            }
            _ => Agreed::Violation,
        };
        assert_eq!(found, agreed);
    }
}

#[test]
fn the_log_monitor_agrees_on_random_histories() {
    let draw = |random: &mut Random, index| match random.below(2) {
        0 => ("append", Some(Value::Int(index as i64)), vec![None]),
        _ => ("read", None, vec![]),
    };
    compare(Object::Log, &Log, Some(&log::Watch::default), 20, &draw);
}

#[test]
fn the_map_monitor_agrees_on_random_histories() {
    let draw = |random: &mut Random, index| {
        let key = Value::Int(random.below(2) as i64);
        match random.below(2) {
            0 => {
                let pair = Value::list([key, Value::Int(index as i64)]);
                ("put", Some(pair), vec![None])
            }
            _ => {
                let mut seen = numbers(0..12);
                seen.push(Some(Value::Nil));
                ("get", Some(key), seen)
            }
        }
    };
    compare::<_, counter::Watch>(Object::Map(ValueId::NIL), &Map, None, 21, &draw);
}

#[test]
fn a_read_of_a_map_may_repeat_its_unknown_value() {
    let pair = |value| Some(Value::list([Value::Int(1), value]));
    let put = Op { method: "put", arg: pair(Value::Int(5)), result: None, call: 0, ret: Some(1) };
    for (seen, is_right) in [(Value::Int(5), true), (Value::Nil, false)] {
        let (arg, result) = (pair(Value::Nil), Some(seen));
        let get = Op { method: "get", arg, result, call: 2, ret: Some(3) };
        let history = history(&[put.clone(), get]);
        let verdict = check(Object::Map(ValueId::NIL), Part::whole(&history)).unwrap();
        assert_eq!(matches!(verdict, Claim::Linearizable(_)), is_right);
    }
}
