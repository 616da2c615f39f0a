//! What has no process of its own to be measured: a few calls, recorded and checked in a program.

use crate::run::median;
use seriatim_history::{History, expand, read};
use seriatim_monitor::{Detail, Options, Recording, check};
use seriatim_spec::{ChosenReader, Failures, Next, Spec, SpecChoice, Verdict};
use seriatim_testing::{Random, corpus, cpu_seconds};

/// A register as a user writes it.
struct Register;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Op {
    Read,
    Write(u32),
}

impl Spec for Register {
    type State = u32;
    type Op = Op;
    type Ret = u32;

    fn initial(&self) -> u32 {
        0
    }

    fn step(&self, state: &u32, op: &Op, ret: Option<&u32>) -> Next<u32> {
        match op {
            Op::Write(value) => Next::to(*value),
            Op::Read => Next::when(ret.is_none_or(|seen| seen == state), || *state),
        }
    }

    fn is_read_only(&self, op: &Op, _: Option<&u32>) -> bool {
        matches!(op, Op::Read)
    }
}

/// A call, or the return of what a thread called.
#[derive(Clone, Copy)]
enum Event {
    Call(i64, Op),
    Return(i64, u32),
}

/// Threads that read and write, one in two; each call takes effect before a later event.
fn events(threads: usize, calls: usize, random: &mut Random) -> Vec<Event> {
    let mut events = Vec::new();
    let (mut left, mut open) = (vec![calls; threads], vec![None; threads]);
    let (mut state, mut written) = (0, 0);
    loop {
        let busy = |thread: &usize| left[*thread] > 0 || open[*thread].is_some();
        let threads: Vec<usize> = (0..threads).filter(busy).collect();
        if threads.is_empty() {
            return events;
        }
        let thread = *random.pick(&threads);
        match open[thread] {
            None => {
                written += 1;
                let op = if random.one_in(2) { Op::Read } else { Op::Write(written) };
                events.push(Event::Call(thread as i64, op));
                (open[thread], left[thread]) = (Some((op, None)), left[thread] - 1);
            }
            Some((op, None)) => {
                let seen = match op {
                    Op::Read => state,
                    Op::Write(value) => {
                        state = value;
                        0
                    }
                };
                open[thread] = Some((op, Some(seen)));
            }
            Some((_, Some(seen))) => {
                events.push(Event::Return(thread as i64, seen));
                open[thread] = None;
            }
        }
    }
}

/// Recorded and checked; whether it is linearizable.
fn is_right(events: &[Event], options: &Options<'_>) -> bool {
    let mut recording = Recording::new(Register);
    for &event in events {
        match event {
            Event::Call(thread, op) => recording.call(thread, op).expect("a thread is free"),
            Event::Return(thread, seen) => recording.ret(thread, seen).expect("it has called"),
        }
    }
    let checked = recording.check(options).expect("a recording");
    matches!(checked.verdict, Verdict::Linearizable(_))
}

/// The CPU seconds of something that is done often: the median of some runs.
fn seconds(mut work: impl FnMut()) -> f64 {
    const TIMES: usize = 2_000;
    let run = |_| {
        let start = cpu_seconds();
        (0..TIMES).for_each(|_| work());
        (cpu_seconds() - start) / TIMES as f64
    };
    median((0..9).map(run).collect())
}

/// The CPU seconds of the check of histories without reading: the median of some runs.
pub fn check_alone(spec: &str, runs: &str, files: &str) -> Option<f64> {
    let choice = SpecChoice::parse(spec).ok()?;
    let reader = ChosenReader { choice, failures: Failures::default() };
    let options = Options { threads: 1, detail: Detail::Plain, ..Options::default() };
    let files = expand([files]).ok()?;
    let mut histories: Vec<History> =
        files.into_iter().map(|file| read(file).ok()).collect::<Option<_>>()?;
    let mut run = |_| {
        let start = cpu_seconds();
        for history in &mut histories {
            check(history, &reader, &options).expect("the command has read it");
        }
        cpu_seconds() - start
    };
    let runs: usize = runs.parse().ok()?;
    Some(median((0..runs).map(&mut run).collect()))
}

/// The lines of the table.
pub fn measured(wanted: &str, peers: usize) -> Vec<String> {
    let rest = " | | | | |".repeat(peers);
    let mut lines = Vec::new();
    let rows = [(2, 3, "8.8 µs", "0.5 µs"), (3, 4, "16.9 µs", "1 µs"), (3, 30, "91 µs", "8 µs")];
    for (threads, calls, before, goal) in rows {
        let name = format!("tiny register, {threads} threads of {calls} calls");
        if !name.contains(wanted) {
            continue;
        }
        let mut random = Random(7);
        let all: Vec<Vec<Event>> = (0..50).map(|_| events(threads, calls, &mut random)).collect();
        let options = Options { threads: 1, detail: Detail::Plain, ..Options::default() };
        let mut next = all.iter().cycle();
        let took =
            seconds(|| assert!(next.next().is_some_and(|events| is_right(events, &options))));
        let by = "`Recording`, recorded and checked";
        let now = format!("{:.2} µs", took * 1e6);
        lines.push(format!(
            "| 5 | {name} | 50 histories | {by} | linearizable | {before} | {goal} | {now} | | |{rest}"
        ));
    }
    let name = "kv, 10 clients, in the library";
    if let Some(corpus) = corpus().filter(|_| name.contains(wanted)) {
        let file = "kv/c10-ok.txt";
        let history = read(corpus.join(file)).expect("the corpus can be read");
        let choice = SpecChoice::parse("kv").expect("a known specification");
        let reader = ChosenReader { choice, failures: Failures::default() };
        let options = Options { threads: 1, detail: Detail::Plain, ..Options::default() };
        let took = seconds(|| {
            let checked = check(&mut history.clone(), &reader, &options).expect("it reads");
            assert!(matches!(checked.verdict, Verdict::Linearizable(_)));
        });
        let now = format!("{:.3} ms", took * 1e3);
        lines.push(format!(
            "| 12 | {name} | kv, `{file}` of the corpus | `check` | linearizable | 0.36 ms | 0.1 ms | {now} | | |{rest}"
        ));
    }
    lines
}
