//! What recording and checking cost, in processor time: the recorder's clocks, and the checker on
//! the short histories of a stress test beside todc-utils on the same ones. Linux only.

use seriatim_harness::{Clock, Recorder};
use seriatim_history::{Event, History};
use seriatim_monitor::{Detail, Options, check};
use seriatim_spec::{ChosenReader, Failures, SpecChoice, Verdict};
use std::collections::VecDeque;
use std::sync::{Barrier, Mutex};
use todc_utils::linearizability::WGLChecker;
use todc_utils::linearizability::history::{Action, History as TodcHistory};
use todc_utils::specifications::Specification;

fn main() {
    println!("recorder, one thread, an operation with an integer each way:");
    for (name, clock) in [
        ("fenced", Clock::fenced as fn() -> Clock),
        ("system", Clock::system),
        ("counter", Clock::counter),
    ] {
        println!("  {name}: {:.1} ns an event", recording(clock));
    }
    for (threads, calls, count) in [(2, 3, 20_000), (3, 4, 20_000), (3, 30, 2_000)] {
        let histories: Vec<History> = (0..count).map(|_| queue(threads, calls)).collect();
        compare(histories, &format!("{threads} threads x {calls} calls of a queue"));
    }
}

/// Nanoseconds that this thread was on a processor.
fn processor_time() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("this is Linux");
    text.split(' ').next().and_then(|word| word.parse().ok()).expect("the first word is a number")
}

/// Nanoseconds an event.
fn recording(clock: fn() -> Clock) -> f64 {
    const CALLS: i64 = 1_000_000;
    let cost = || {
        let recorder = Recorder::with_clock(clock());
        let add = recorder.method("add");
        let mut log = recorder.log(0);
        let begin = processor_time();
        for number in 0..CALLS {
            log.call(add, number);
            log.ret(std::hint::black_box(number));
        }
        (processor_time() - begin) / (2 * CALLS) as f64
    };
    (0..5).map(|_| cost()).fold(f64::INFINITY, f64::min)
}

/// A history of a queue behind a lock.
fn queue(threads: i64, calls: i64) -> History {
    let recorder = Recorder::new();
    let (enqueue, dequeue) = (recorder.method("enqueue"), recorder.method("dequeue"));
    let (queue, gate) = (Mutex::new(VecDeque::new()), Barrier::new(threads as usize));
    std::thread::scope(|scope| {
        for process in 0..threads {
            let (mut log, queue, gate) = (recorder.log(process), &queue, &gate);
            scope.spawn(move || {
                gate.wait();
                for number in 0..calls {
                    let value = process * calls + number;
                    if (value + number) % 2 == 0 {
                        log.record(enqueue, value, || queue.lock().unwrap().push_back(value));
                    } else {
                        log.record(dequeue, (), || queue.lock().unwrap().pop_front());
                    }
                }
            });
        }
    });
    recorder.history("queue").expect("it is a history")
}

fn compare(mut histories: Vec<History>, what: &str) {
    let others: Vec<_> = histories.iter().map(translated).collect();
    let count = histories.len() as f64;
    let begin = processor_time();
    let choice = SpecChoice::parse("queue").expect("there is a queue");
    let reader = ChosenReader { choice, failures: Failures::default() };
    let options = Options { threads: 1, detail: Detail::Plain, ..Options::default() };
    let right = |history: &mut History| {
        let checked = check(history, &reader, &options).expect("the queue reads it");
        matches!(checked.verdict, Verdict::Linearizable(_))
    };
    let ours = histories.iter_mut().filter_map(|history| right(history).then_some(())).count();
    let middle = processor_time();
    let theirs = others.into_iter().map(WGLChecker::<Queue>::is_linearizable);
    let theirs = theirs.filter(|right| *right).count();
    let end = processor_time();
    assert_eq!(
        (ours, theirs),
        (histories.len(), histories.len()),
        "a queue behind a lock is right"
    );
    println!(
        "{what}: seriatim {:.1} us a history, todc-utils {:.1} us",
        (middle - begin) / count / 1000.0,
        (end - middle) / count / 1000.0
    );
}

struct Queue;

#[derive(Clone, Debug)]
enum Op {
    Enqueue(i64),
    Dequeue(Option<i64>),
}

impl Specification for Queue {
    type State = VecDeque<i64>;
    type Operation = Op;

    fn init() -> Self::State {
        VecDeque::new()
    }

    fn apply(op: &Op, state: &Self::State) -> (bool, Self::State) {
        let mut after = state.clone();
        let right = match op {
            Op::Enqueue(value) => {
                after.push_back(*value);
                true
            }
            Op::Dequeue(result) => after.pop_front() == *result,
        };
        if right { (true, after) } else { (false, state.clone()) }
    }
}

/// The same history for the other checker.
fn translated(history: &History) -> TodcHistory<Op> {
    let actions = history.events().map(|event| {
        let (Event::Call(op) | Event::Return(op)) = event;
        let values = history.values();
        let what = match history.operation(op).method() {
            "enqueue" => Op::Enqueue(values.as_int(history.arg(op)).expect("a number")),
            _ => Op::Dequeue(values.as_int(history.result(op))),
        };
        let process = history.process(op).0 as usize;
        match event {
            Event::Call(_) => (process, Action::Call(what)),
            Event::Return(_) => (process, Action::Response(what)),
        }
    });
    TodcHistory::from_actions(actions.collect())
}
