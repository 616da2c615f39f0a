//! The plain objects of the replay against the specifications: two descriptions of each object, by
//! two roads, say the same of every history, odd ones included.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use seriatim_history::{Builder, Call, History, Interval, OpId, Outcome, Return, Value, ValueId};
use seriatim_spec::generate::{Generator, Profile, Repetition};
use seriatim_spec::{
    ChosenReader, Failures, Invalid, Method, Reader, Refutation, SpecChoice, Witness, catalogue,
    refute, replay, validate,
};

const SPECS: &[&str] = &[
    "register",
    "register(init=1)",
    "cas-register(init=0)",
    "rmw",
    "multi-register(init={\"x\": 1})",
    "multi-register(strict)",
    "map",
    "map(init={\"x\": 1}, default=0)",
    "kv",
    "set(init=[1, 2])",
    "multiset(init=[1, 1])",
    "stack(init=[1, 2])",
    "queue(init=[1, 2])",
    "priority-queue(init=[1, 2])",
    "priority-queue(max)",
    "deque(init=[1, 2])",
    "counter(init=1)",
    "fetch-and-add",
    "mutex",
    "mutex(owner)",
    "semaphore(init=1)",
    "log(init=[1])",
    "snapshot(init=[1, nil])",
    "sorted-map",
    "bounded-deque",
    "bounded-deque(capacity=1)",
    "cache",
    "once-cell",
    "weighted-semaphore(init=1)",
    "watch",
    "watch(init=1)",
    "broadcast",
    "broadcast(capacity=1)",
];

fn reader(spec: &str, failures: Failures) -> ChosenReader {
    ChosenReader { choice: SpecChoice::parse(spec).unwrap(), failures }
}

/// What may stand as an argument or a result.
fn pool() -> Vec<Value> {
    let one = || Value::Int(1);
    let mut pool = vec![Value::Nil, Value::Bool(true), Value::Bool(false), Value::text("ok")];
    pool.extend([0, 1, 1, 1, 2, 2, 3, -1, i64::MAX, i64::MIN].map(Value::Int));
    pool.extend([Value::Number("1.5".into()), Value::Number("18446744073709551615".into())]);
    pool.extend([Value::text("x"), Value::text("xx"), Value::text("")]);
    pool.push(Value::list([one(), Value::Int(2)]));
    pool.push(Value::list([Value::Int(2), one()]));
    pool.push(Value::list([one(), one()]));
    pool.push(Value::list([one()]));
    pool.push(Value::list([]));
    pool.push(Value::text("closed"));
    pool.push(Value::list([Value::text("lagged"), one()]));
    pool.push(Value::list([one(), Value::Bool(true)]));
    pool.push(Value::list([one(), Value::Bool(false)]));
    pool.push(Value::list([Value::text("x"), one(), Value::Int(2)]));
    let micro = |f: &str, value| Value::list([Value::text(f), Value::text("x"), value]);
    pool.push(Value::list([micro("r", Value::Nil)]));
    pool.push(Value::list([micro("r", one())]));
    pool.push(Value::list([micro("w", Value::Int(2)), micro("r", Value::Nil)]));
    pool.push(Value::list([micro("w", Value::Int(2)), micro("r", Value::Int(2))]));
    pool
}

struct Dice(Xoshiro256PlusPlus);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        (self.0.next_u64() % limit as u64) as usize
    }

    fn pick<'p, T>(&mut self, from: &'p [T]) -> &'p T {
        &from[self.below(from.len())]
    }
}

/// Up to five operations one after another, each a wild guess at what the object might do. Half of
/// the guesses are of what was given before.
fn wild(methods: &[Method], pool: &[Value], dice: &mut Dice) -> History {
    let mut builder = Builder::new("wild");
    let mut given: Vec<Value> = vec![Value::Nil];
    for step in 0..1 + dice.below(5) as u64 {
        let process = builder.process(&Value::Int(dice.below(2) as i64));
        let names = dice.pick(methods).names;
        let method = builder.method(dice.pick::<&str>(names));
        let mut call = Call::new(method);
        if dice.below(3) > 0 {
            let mut arg = dice.pick(pool).clone();
            if dice.below(6) == 0 {
                arg = Value::list([dice.pick(&pool[..8]).clone(), arg]);
            }
            call.arg = builder.values().intern(&arg);
            given.extend(arg.as_list().unwrap_or_default().iter().cloned());
            given.push(arg);
        }
        if dice.below(6) == 0 {
            call.key = builder.values().intern(dice.pick(pool));
        }
        let result = match dice.below(4) {
            0 => ValueId::ABSENT,
            1 => builder.values().intern(dice.pick(pool)),
            _ => builder.values().intern(dice.pick(&given)),
        };
        let outcome = if dice.below(5) == 0 { Outcome::Failed } else { Outcome::Ok };
        let ret = (dice.below(6) > 0).then_some(step * 2 + 1);
        let interval = Interval { call: step * 2, ret };
        let back = Return::new(outcome, result);
        builder.operation(step + 1, Some(process), call, interval, back).unwrap();
    }
    builder.finish().unwrap()
}

/// What the specification and the plain object say of the operations in call order.
fn both(
    history: &History,
    reader: &ChosenReader,
) -> Option<(Result<(), Invalid>, Result<(), Invalid>)> {
    let mut history = history.clone();
    let reading = reader.read(&mut history).ok()?;
    let order = (0..history.len()).map(OpId::from).filter(|&op| reading.class(op).is_some());
    let witness = Witness { order: order.collect() };
    let by_steps = validate(&history, &reading, &witness);
    let plainly = replay(&mut history, reader, witness).unwrap();
    Some((by_steps, plainly.map(|_| ())))
}

#[test]
fn plain_objects_do_what_the_specifications_say_on_wild_histories() {
    let pool = pool();
    let mut dice = Dice(Xoshiro256PlusPlus::seed_from_u64(14));
    for spec in SPECS {
        let (mut read, mut right) = (0, 0);
        for round in 0..9_000 {
            let failures = if round % 2 == 0 { Failures::Drop } else { Failures::Observe };
            let reader = reader(spec, failures);
            let history = wild(reader.choice.entry().methods, &pool, &mut dice);
            let Some((by_steps, plainly)) = both(&history, &reader) else { continue };
            let told: Vec<String> = history.operations().map(|op| op.to_string()).collect();
            let told = told.join("; ");
            assert_eq!(
                by_steps.is_ok(),
                plainly.is_ok(),
                "{spec}: {told}: {by_steps:?} {plainly:?}"
            );
            read += 1;
            right += u32::from(plainly.is_ok());
            let mut judged = history.clone();
            let refutation = refute(&mut judged, &reader, 10_000).unwrap();
            assert_eq!(
                refutation == Refutation::Contradicted,
                is_explained(&history, &reader),
                "{spec}: {told}"
            );
        }
        assert!(
            read > 50 && right > 20,
            "{spec}: {read} histories could be read, {right} are right"
        );
    }
}

/// A name, an argument, and a result if there is one.
type Deed = (&'static str, i64, Option<i64>);

/// A log tells numbers of 64 bits; what they add up to may have more for a while.
#[test]
fn sums_beyond_64_bits_convict_nobody() {
    let [most, least] = [i64::MAX, i64::MIN];
    let histories: [(&str, &[Deed], bool); 8] = [
        ("counter", &[("add", most, None), ("add", most, None), ("add", -most, Some(most))], true),
        ("counter", &[("add", least, None), ("add", -1, None), ("add", 1, Some(least))], true),
        ("counter", &[("add", most, None), ("add", 1, Some(least))], false),
        ("fetch-and-add", &[("faa", most, Some(0)), ("faa", most, Some(most))], true),
        ("fetch-and-add", &[("faa", most, None), ("faa", 1, None), ("faa", 1, Some(least))], false),
        ("semaphore(init=9223372036854775807)", &[("v", 1, None), ("v", 1, None)], true),
        ("weighted-semaphore", &[("release", most, None), ("release", most, None)], true),
        (
            "weighted-semaphore(init=9223372036854775807)",
            &[("release", 1, None), ("forget", most, Some(most)), ("acquire", 2, None)],
            false,
        ),
    ];
    for (spec, operations, is_right) in histories {
        let mut builder = Builder::new("sums");
        let process = builder.process(&Value::Int(0));
        for ((name, arg, result), step) in operations.iter().zip(0..) {
            let mut call = Call::new(builder.method(name));
            call.arg = builder.values().intern(&Value::Int(*arg));
            let told = result.map(|number| builder.values().intern(&Value::Int(number)));
            let back = Return::new(Outcome::Ok, told.unwrap_or(ValueId::ABSENT));
            let interval = Interval { call: step * 2, ret: Some(step * 2 + 1) };
            builder.operation(step + 1, Some(process), call, interval, back).unwrap();
        }
        let mut history = builder.finish().unwrap();
        let reader = reader(spec, Failures::Drop);
        let (by_steps, plainly) = both(&history, &reader).unwrap();
        assert_eq!((by_steps.is_ok(), plainly.is_ok()), (is_right, is_right), "{spec}");
        let refuted = refute(&mut history, &reader, 10_000).unwrap() == Refutation::Contradicted;
        assert_eq!(refuted, is_right, "{spec}");
    }
}

/// Whether leaving out some of the pending operations explains a history of operations that follow
/// one another, by the specification's steps.
fn is_explained(history: &History, reader: &ChosenReader) -> bool {
    let mut history = history.clone();
    let Ok(reading) = reader.read(&mut history) else { return false };
    let all: Vec<OpId> = reading.operations().collect();
    orders(&all, &mut Vec::new(), &mut |order| {
        validate(&history, &reading, &Witness { order: order.to_vec() }).is_ok()
    })
}

/// Whether some order of some of the operations passes.
fn orders(all: &[OpId], order: &mut Vec<OpId>, passes: &mut dyn FnMut(&[OpId]) -> bool) -> bool {
    if passes(order) {
        return true;
    }
    for &op in all {
        if !order.contains(&op) {
            order.push(op);
            if orders(all, order, passes) {
                return true;
            }
            order.pop();
        }
    }
    false
}

#[test]
fn the_replay_accepts_what_the_generator_did() {
    for entry in catalogue() {
        for (threads, values) in [(1, Repetition::Distinct), (6, Repetition::Among(3))] {
            let overlap = 0.9;
            let profile = Profile {
                operations: 400,
                threads,
                overlap,
                pending: 0.1,
                values,
                ..Profile::default()
            };
            let choice = SpecChoice::parse(entry.name).unwrap();
            let generator = Generator::new(&choice, profile).unwrap();
            let choice = SpecChoice::parse(generator.spec()).unwrap();
            let mut made = generator.history().unwrap();
            let reader = ChosenReader { choice, failures: Failures::Observe };
            let reading = reader.read(&mut made.history).unwrap();
            let witness = made.witness(&reading);
            let replayed = replay(&mut made.history, &reader, witness).unwrap();
            replayed.unwrap_or_else(|invalid| panic!("{}: {invalid}", entry.name));
        }
    }
}

#[test]
fn the_replay_knows_every_name_of_every_method() {
    for entry in catalogue() {
        for name in entry.methods.iter().flat_map(|method| method.names) {
            let mut builder = Builder::new("names");
            let process = builder.process(&Value::Int(0));
            let method = builder.method(&name.to_ascii_uppercase());
            builder.call(1, process, Call::new(method)).unwrap();
            let mut history = builder.finish().unwrap();
            let reader = reader(entry.name, Failures::Drop);
            let witness = Witness { order: vec![OpId(0)] };
            let said = replay(&mut history, &reader, witness).unwrap();
            let said = said.map_or_else(|invalid| invalid.to_string(), |_| String::new());
            assert!(!said.contains("has no operation"), "{}: {name}: {said}", entry.name);
        }
    }
}
