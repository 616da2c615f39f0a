//! Weighted semaphore, watch and broadcast: every history of two operations, and many of three to
//! five, decided as by brute force over objects that were written for this test alone.

use crate::rows::{Row, built, rounds, shown};
use seriatim_history::{Time, Value};
use seriatim_monitor::{Options, check};
use seriatim_spec::{ChosenReader, Failures, SpecChoice, Verdict};
use seriatim_testing::Random;
use std::collections::HashMap;

/// What is called, by name and argument, and what came back: `None` if nothing did.
#[derive(Clone, Debug, PartialEq)]
struct Letter {
    method: &'static str,
    arg: Option<Value>,
    result: Option<Value>,
}

/// An object for one thread. `None`: the call waits.
type Step<S> = fn(&mut S, &Letter) -> Option<Option<Value>>;

fn closed() -> Option<Value> {
    Some(Value::text("closed"))
}

fn truth(truth: bool) -> Option<Value> {
    Some(Value::Bool(truth))
}

fn int(number: i64) -> Option<Value> {
    Some(Value::Int(number))
}

fn number(letter: &Letter) -> i64 {
    letter.arg.as_ref().and_then(Value::as_int).unwrap_or(1)
}

/// Permits, and whether it is closed.
fn semaphore(state: &mut (i64, bool), letter: &Letter) -> Option<Option<Value>> {
    let count = number(letter);
    let (permits, is_closed) = (state.0, state.1);
    let (after, result) = match letter.method {
        "acquire" if is_closed => (permits, closed()),
        "acquire" if permits < count => return None,
        "acquire" => (permits - count, None),
        "try_acquire" if is_closed => (permits, closed()),
        "try_acquire" if permits < count => (permits, truth(false)),
        "try_acquire" => (permits - count, truth(true)),
        "release" => (permits + count, None),
        "forget" if permits < count => (0, int(permits)),
        "forget" => (permits - count, int(count)),
        "is_closed" => (permits, truth(is_closed)),
        "permits" => (permits, int(permits)),
        _ => (permits, None),
    };
    *state = (after, is_closed || letter.method == "close");
    Some(result)
}

/// Everything that was sent, how far each receiver is, and whether it is closed.
type Channel = (Vec<Value>, HashMap<Value, usize>, bool);

fn watch(state: &mut Channel, letter: &Letter) -> Option<Option<Value>> {
    let (sent, seen, is_closed) = state;
    let arg = letter.arg.clone().unwrap_or(Value::Nil);
    let version = sent.len();
    let current = sent.last().cloned().unwrap_or(Value::Nil);
    let is_new = seen.get(&arg).copied().unwrap_or(0) != version;
    let result = match letter.method {
        "send" if *is_closed => truth(false),
        "send" => {
            sent.push(arg);
            truth(true)
        }
        "send_replace" => {
            sent.push(arg);
            Some(current)
        }
        "read" => Some(current),
        "has_changed" => truth(is_new),
        "update" => {
            seen.insert(arg, version);
            Some(Value::list([current, Value::Bool(is_new)]))
        }
        "changed" if is_new => {
            seen.insert(arg, version);
            None
        }
        "changed" if *is_closed => closed(),
        "changed" => return None,
        "subscribe" => {
            seen.insert(arg, version);
            None
        }
        _ => {
            *is_closed = true;
            None
        }
    };
    Some(result)
}

/// A broadcast that keeps one value.
fn broadcast(state: &mut Channel, letter: &Letter) -> Option<Option<Value>> {
    let (sent, next, is_closed) = state;
    let arg = letter.arg.clone().unwrap_or(Value::Nil);
    let at = next.get(&arg).copied().unwrap_or(0);
    let result = match letter.method {
        "send" if *is_closed => truth(false),
        "send" => {
            sent.push(arg);
            truth(true)
        }
        "len" => int((sent.len() - at) as i64),
        "subscribe" => {
            next.insert(arg, sent.len());
            None
        }
        "close" => {
            *is_closed = true;
            None
        }
        _ if at + 1 < sent.len() => {
            next.insert(arg, sent.len() - 1);
            Some(Value::list([Value::text("lagged"), Value::Int((sent.len() - 1 - at) as i64)]))
        }
        _ if at < sent.len() => {
            next.insert(arg, at + 1);
            Some(sent[at].clone())
        }
        _ if *is_closed => closed(),
        "recv" => return None,
        _ => Some(Value::Nil),
    };
    Some(result)
}

/// Whether some order of the operations explains them.
fn brute_force<S: Clone>(state: &S, step: Step<S>, letters: &[Letter], rows: &[Row]) -> bool {
    let left: Vec<usize> = (0..rows.len()).filter(|&op| rows[op].call != Time::MAX).collect();
    if left.iter().all(|&op| rows[op].ret.is_none()) {
        return true;
    }
    let first_return = left.iter().filter_map(|&op| rows[op].ret).min();
    left.iter().any(|&op| {
        if first_return.is_some_and(|ret| rows[op].call > ret) {
            return false;
        }
        let mut after = state.clone();
        let is_met = match step(&mut after, &letters[op]) {
            None => false,
            Some(result) => rows[op].ret.is_none() || result == letters[op].result,
        };
        let mut rest = rows.to_vec();
        rest[op].call = Time::MAX;
        is_met && brute_force(&after, step, letters, &rest)
    })
}

/// Intervals: `(call, return)` of operations in the order of their calls, at different moments.
type Shape = Vec<(Time, Option<Time>)>;

fn shapes(count: usize) -> Vec<Shape> {
    fn extend(count: usize, now: Time, shape: &mut Shape, open: &[usize], all: &mut Vec<Shape>) {
        if shape.len() == count {
            all.push(shape.clone());
        }
        for &op in open {
            shape[op].1 = Some(now);
            let rest: Vec<usize> = open.iter().copied().filter(|&other| other != op).collect();
            extend(count, now + 1, shape, &rest, all);
            shape[op].1 = None;
        }
        if shape.len() < count {
            shape.push((now, None));
            extend(count, now + 1, shape, &[open, &[shape.len() - 1]].concat(), all);
            shape.pop();
        }
    }
    let mut all = Vec::new();
    extend(count, 0, &mut Vec::new(), &[], &mut all);
    all
}

struct Object<S> {
    spec: &'static str,
    start: S,
    step: Step<S>,
    letters: Vec<Letter>,
}

impl<S: Clone> Object<S> {
    fn agree(&self, word: &[Letter], shape: &Shape) -> bool {
        let row = |(letter, &(call, ret)): (&Letter, &(Time, Option<Time>))| {
            let result = letter.result.clone().filter(|_| ret.is_some());
            Row { result, ..Row::new(letter.method, letter.arg.clone(), call, ret) }
        };
        let rows: Vec<Row> = word.iter().zip(shape).map(row).collect();
        let expected = brute_force(&self.start, self.step, word, &rows);
        let choice = SpecChoice::parse(self.spec).expect("a name of the catalogue");
        let reader = ChosenReader { choice, failures: Failures::Drop };
        let options = Options { threads: 1, ..Options::default() };
        let checked = check(&mut built(&rows), &reader, &options).expect("it can be read");
        let found = matches!(checked.verdict, Verdict::Linearizable(_));
        let is_known = !matches!(checked.verdict, Verdict::Unknown(_));
        assert!(
            is_known && found == expected,
            "{}: {expected}\n{}",
            self.spec,
            shown(&built(&rows))
        );
        expected
    }

    fn word(&self, mut number: usize, length: usize) -> Vec<Letter> {
        let mut digit = || {
            let letter = self.letters[number % self.letters.len()].clone();
            number /= self.letters.len();
            letter
        };
        (0..length).map(|_| digit()).collect()
    }

    fn attack(&self) {
        let (mut right, mut wrong, mut random) = (0_usize, 0_usize, Random(0x5E3A));
        let mut count = |is_right: bool| if is_right { right += 1 } else { wrong += 1 };
        for length in 1..=2 {
            let shapes = shapes(length);
            for number in 0..self.letters.len().pow(length as u32) {
                let word = self.word(number, length);
                shapes.iter().for_each(|shape| count(self.agree(&word, shape)));
            }
        }
        for length in 3..=5 {
            let shapes = shapes(length);
            for _ in 0..rounds(8_000) {
                let number = random.index(self.letters.len().pow(length as u32));
                count(self.agree(&self.word(number, length), random.pick(&shapes)));
            }
        }
        println!("{}: {right} right, {wrong} wrong", self.spec);
        assert!(right > 3_000 && wrong > 3_000, "{}: {right}, {wrong}", self.spec);
    }
}

/// A method with each of its arguments and results.
fn letters(
    method: &'static str,
    args: &[Option<Value>],
    results: &[Option<Value>],
) -> impl Iterator<Item = Letter> {
    let of = move |arg: &Option<Value>| {
        let letter =
            |result: &Option<Value>| Letter { method, arg: arg.clone(), result: result.clone() };
        results.iter().map(letter).collect::<Vec<Letter>>()
    };
    args.iter().flat_map(of).collect::<Vec<Letter>>().into_iter()
}

fn who() -> [Option<Value>; 2] {
    [Some(Value::text("a")), Some(Value::text("b"))]
}

#[test]
fn a_weighted_semaphore_is_judged_as_by_brute_force() {
    let outcomes = [truth(true), truth(false), closed()];
    let letters = letters("acquire", &[int(2), None], &[None, closed()])
        .chain(letters("try_acquire", &[int(2), None], &outcomes))
        .chain(letters("release", &[int(2), None], &[None]))
        .chain(letters("forget", &[int(2)], &[int(0), int(1), int(2)]))
        .chain(letters("permits", &[None], &[int(0), int(1), int(2)]))
        .chain(letters("is_closed", &[None], &[truth(true), truth(false)]))
        .chain(letters("close", &[None], &[None]))
        .collect();
    let spec = "weighted-semaphore(init=1)";
    Object { spec, start: (1, false), step: semaphore, letters }.attack();
}

#[test]
fn a_watch_cell_is_judged_as_by_brute_force() {
    let shown: Vec<Option<Value>> = [(Value::Nil, false), (Value::Int(1), true)]
        .into_iter()
        .chain([(Value::Int(1), false), (Value::Int(2), true)])
        .map(|(value, new)| Some(Value::list([value, Value::Bool(new)])))
        .collect();
    let letters = letters("send", &[int(1), int(2)], &[truth(true), truth(false)])
        .chain(letters("send_replace", &[int(2)], &[Some(Value::Nil), int(1)]))
        .chain(letters("read", &[None], &[Some(Value::Nil), int(1)]))
        .chain(letters("update", &who(), &shown))
        .chain(letters("has_changed", &who()[..1], &[truth(true), truth(false)]))
        .chain(letters("changed", &who()[..1], &[None, closed()]))
        .chain(letters("subscribe", &who()[1..], &[None]))
        .chain(letters("close", &[None], &[None]))
        .collect();
    let start = Channel::default();
    Object { spec: "watch", start, step: watch, letters }.attack();
}

#[test]
fn a_broadcast_is_judged_as_by_brute_force() {
    let lagged = |count| Some(Value::list([Value::text("lagged"), Value::Int(count)]));
    let got = [int(1), int(2), lagged(1), lagged(2), closed()];
    let letters = letters("send", &[int(1), int(2)], &[truth(true)])
        .chain(letters("send", &[int(1)], &[truth(false)]))
        .chain(letters("recv", &who()[..1], &got))
        .chain(letters("try_recv", &who(), &[&got[..], &[Some(Value::Nil)]].concat()))
        .chain(letters("len", &who()[..1], &[int(0), int(1), int(2)]))
        .chain(letters("subscribe", &who()[1..], &[None]))
        .chain(letters("close", &[None], &[None]))
        .collect();
    let start = Channel::default();
    Object { spec: "broadcast(capacity=1)", start, step: broadcast, letters }.attack();
}
