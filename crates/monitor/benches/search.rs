//! What the general search costs: CPU time of one thread, parsing excluded, median of several runs.
//!
//! Each row is a claim of `docs/performance.md`, next to the figure of the tool that people use
//! today. Rows that need the corpus say so when it is missing. Growth rows show the cost of an
//! operation as histories become longer. Run with `cargo bench -p seriatim-monitor --bench search`.

use seriatim_history::{Builder, Call, History, Outcome, Return, Value, ValueId, read};
use seriatim_monitor::partition::Partitioning;
use seriatim_monitor::{Detail, Monitors, Options, check};
use seriatim_spec::{ChosenReader, Failures, SpecChoice, Verdict};
use seriatim_testing::{Random, cpu_seconds};
use std::time::Duration;

fn main() {
    println!("{:<58} {:>12} {:>14} {:>9}  peer", "row", "verdict", "CPU", "memory");
    corpus_rows();
    overlapping_writes();
    pending_writes();
    sets();
}

struct Row<'r> {
    name: &'r str,
    peer: &'r str,
    runs: usize,
}

fn reader(spec: &str) -> ChosenReader {
    let choice = SpecChoice::parse(spec).expect("a known specification");
    ChosenReader { choice, failures: Failures::default() }
}

/// Checks histories one after another, several times; prints the median.
fn measure(row: Row<'_>, histories: &mut [History], reader: &ChosenReader, options: &Options<'_>) {
    let mut times = Vec::new();
    let (mut verdicts, mut memory) = (Vec::new(), 0);
    for _ in 0..row.runs {
        let start = cpu_seconds();
        verdicts = histories
            .iter_mut()
            .map(|history| {
                let checked = check(history, reader, options).expect("the specification fits");
                memory = memory.max(checked.memory);
                checked.verdict
            })
            .collect();
        times.push(Duration::from_secs_f64(cpu_seconds() - start));
    }
    times.sort();
    let median = times[times.len() / 2];
    let words = summary(&verdicts);
    let memory = format!("{} KiB", memory / 1024);
    println!("{:<58} {words:>12} {median:>14.3?} {memory:>9}  {}", row.name, row.peer);
}

fn summary(verdicts: &[Verdict]) -> String {
    match verdicts {
        [only] => only.word().to_owned(),
        _ => {
            let ok = verdicts.iter().filter(|v| matches!(v, Verdict::Linearizable(_))).count();
            format!("{ok} of {} ok", verdicts.len())
        }
    }
}

fn plain() -> Options<'static> {
    Options { threads: 1, detail: Detail::Plain, monitors: Monitors::Skip, ..Options::default() }
}

/// How long a row may take that nobody should wait for: an object that is not split, on purpose.
const PATIENCE: Duration = Duration::from_secs(10);

fn corpus_rows() {
    let Some(folder) = seriatim_testing::corpus() else { return };
    let files = std::fs::read_dir(folder.join("etcd")).expect("the logs of etcd");
    let mut etcd: Vec<History> =
        files.map(|file| read(file.expect("a file").path()).expect("a history")).collect();
    let name = format!("etcd logs ({} files)", etcd.len());
    let row = Row { name: &name, peer: "Porcupine 466 ms, Rust port 231 ms (102 files)", runs: 7 };
    measure(row, &mut etcd, &reader("cas-register"), &plain());
    for (file, peer) in [
        ("c10-ok", "Porcupine 0.44 ms"),
        ("c10-bad", "Porcupine 0.34 ms"),
        ("c50-ok", "Porcupine 130 ms, Rust port 2.78 s"),
        ("c50-bad", "Porcupine 14 ms"),
    ] {
        let Ok(history) = read(folder.join("kv").join(format!("{file}.txt"))) else {
            println!("SKIPPED: the corpus has no kv/{file}.txt");
            continue;
        };
        let name = format!("kv {file}, by key");
        let mut one = [history];
        measure(Row { name: &name, peer, runs: 7 }, &mut one, &reader("kv"), &plain());
        let time = Some(PATIENCE);
        let whole = Options { partitioning: Partitioning::ByObject, time, ..plain() };
        let name = format!("kv {file}, not split");
        let peer = if file.starts_with("c10") { "Porcupine 1.94 / 2.73 s" } else { "" };
        measure(Row { name: &name, peer, runs: 3 }, &mut one, &reader("kv"), &whole);
        let full = Options { detail: Detail::Minimal, ..plain() };
        let name = format!("kv {file}, by key, with the minimal counterexample");
        measure(Row { name: &name, peer: "", runs: 3 }, &mut one, &reader("kv"), &full);
    }
}

/// Writes of distinct values that all overlap, then a read of a value that nobody wrote.
fn overlapping_writes() {
    for writes in [10, 14, 18, 60] {
        let mut builder = Builder::new("overlapping writes");
        let (read, write) = (builder.method("read"), builder.method("write"));
        for index in 0..writes {
            let process = builder.process(&Value::Int(index));
            let value = builder.values().intern_int(index + 1);
            builder.call(0, process, Call::new(write).arg(value)).expect("a call");
        }
        for index in 0..writes {
            let process = builder.process(&Value::Int(index));
            builder.ret(0, process, Return::ok()).expect("a return");
        }
        let process = builder.process(&Value::Int(0));
        builder.call(0, process, Call::new(read)).expect("a call");
        let nobody = builder.values().intern_int(-1);
        builder.ret(0, process, Return::new(Outcome::Ok, nobody)).expect("a return");
        let mut history = [builder.finish().expect("a history")];
        let name = format!("{writes} overlapping writes, read of a value nobody wrote");
        let peer = if writes == 18 { "Porcupine 7.6 s, 580 MB" } else { "" };
        measure(Row { name: &name, peer, runs: 7 }, &mut history, &reader("register"), &plain());
    }
}

fn pending_writes() {
    for (values, label) in [(usize::MAX, "distinct values"), (5, "5 values"), (100, "100 values")] {
        for stale in [Stale::Nothing, Stale::Read] {
            let simulation =
                CasRegister { operations: 2_000, clients: 8, pending: 60, values, stale };
            let mut history = [simulation.run()];
            let kind = if stale == Stale::Read { ", a stale read" } else { "" };
            let name = format!("CAS register, 2000 operations, 60 pending, {label}{kind}");
            let row = Row { name: &name, peer: "Knossos, Porcupine: do not finish", runs: 3 };
            measure(row, &mut history, &reader("cas-register(init=0)"), &plain());
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Stale {
    Nothing,
    /// One read returns the value from long before.
    Read,
}

/// Clients that read, write and compare-and-set one register; some writes are never answered, and
/// take effect late or never.
struct CasRegister {
    operations: usize,
    clients: usize,
    pending: usize,
    values: usize,
    stale: Stale,
}

#[derive(Clone, Copy)]
enum Client {
    Idle,
    Called(Method, i64, i64),
    Done(Method, i64, Outcome),
}

#[derive(Clone, Copy, PartialEq)]
enum Method {
    Read,
    Write,
    Cas,
}

impl CasRegister {
    fn run(&self) -> History {
        let mut random = Random(0xC0FFEE);
        let mut builder = Builder::new("cas register");
        let methods = [builder.method("read"), builder.method("write"), builder.method("cas")];
        let (mut state, mut made, mut unanswered, mut fresh) = (0, 0, 0, 100);
        let mut clients: Vec<(i64, Client)> =
            (0..self.clients as i64).map(|name| (name, Client::Idle)).collect();
        let (mut names, mut late, mut past) = (self.clients as i64, Vec::new(), Vec::new());
        let mut is_clean = self.stale == Stale::Nothing;
        while made < self.operations || clients.iter().any(|c| !matches!(c.1, Client::Idle)) {
            let place = random.index(self.clients);
            let (name, client) = clients[place];
            let process = builder.process(&Value::Int(name));
            match client {
                Client::Idle if made == self.operations => {}
                Client::Idle => {
                    made += 1;
                    let loses = unanswered * self.operations < made * self.pending;
                    let kind = if loses { 1 } else { random.index(3) };
                    let (old, new) = match self.values {
                        usize::MAX => {
                            fresh += 1;
                            (state, fresh)
                        }
                        limit => (random.index(limit) as i64, random.index(limit) as i64),
                    };
                    let (a, b) =
                        (builder.values().intern_int(old), builder.values().intern_int(new));
                    let pair = builder.values().intern_pair(a, b);
                    let arg = [ValueId::ABSENT, b, pair][kind];
                    builder.call(0, process, Call::new(methods[kind]).arg(arg)).expect("a call");
                    if loses {
                        unanswered += 1;
                        late.push(new);
                        clients[place] = (names, Client::Idle);
                        names += 1;
                    } else {
                        let method = [Method::Read, Method::Write, Method::Cas][kind];
                        clients[place].1 = Client::Called(method, old, new);
                    }
                }
                Client::Called(method, old, new) => {
                    if !late.is_empty() && random.index(40) == 0 {
                        state = late.swap_remove(random.index(late.len()));
                    }
                    let fails = method == Method::Cas && state != old;
                    let seen = state;
                    if method != Method::Read && !fails {
                        past.push(state);
                        state = new;
                    }
                    let outcome = if fails { Outcome::Failed } else { Outcome::Ok };
                    clients[place].1 = Client::Done(method, seen, outcome);
                }
                Client::Done(method, seen, outcome) => {
                    let mut result = ValueId::ABSENT;
                    if method == Method::Read {
                        let is_late = made > self.operations * 3 / 4 && past.len() > 50;
                        let stale = past.get(past.len().saturating_sub(50)).copied();
                        let seen = match stale {
                            Some(stale) if !is_clean && is_late => {
                                is_clean = true;
                                stale
                            }
                            _ => seen,
                        };
                        result = builder.values().intern_int(seen);
                    }
                    builder.ret(0, process, Return::new(outcome, result)).expect("a return");
                    clients[place].1 = Client::Idle;
                }
            }
        }
        builder.finish().expect("a history")
    }
}

/// Sets of 24 keys under 4 threads: the shape of the benchmark of P-compositionality's authors.
fn sets() {
    for operations in [28_000, 280_000] {
        let mut history = [set_history(operations, 24, 4)];
        let options = [
            (Partitioning::ByKey, "by key", "C++ WGL+P 0.8 s, 70 MB (280000)"),
            (Partitioning::ByObject, "not split", "C++ WGL 8-12 s, 10 GB (280000)"),
        ];
        for (partitioning, label, peer) in options {
            let name = format!("set, {operations} operations, 24 keys, {label}");
            let options = Options { partitioning, ..plain() };
            measure(Row { name: &name, peer, runs: 3 }, &mut history, &reader("set"), &options);
        }
    }
}

fn set_history(operations: usize, keys: usize, threads: usize) -> History {
    let mut random = Random(0x5E7);
    let mut builder = Builder::new("set");
    let methods = [builder.method("add"), builder.method("remove"), builder.method("contains")];
    let mut members = vec![false; keys];
    let mut open: Vec<Option<(usize, usize, Option<bool>)>> = vec![None; threads];
    let mut made = 0;
    while made < operations || open.iter().any(Option::is_some) {
        let thread = random.index(threads);
        let process = builder.process(&Value::Int(thread as i64));
        match open[thread] {
            None if made == operations => {}
            None => {
                made += 1;
                let (kind, key) = (random.index(3), random.index(keys));
                let value = builder.values().intern_int(key as i64);
                builder.call(0, process, Call::new(methods[kind]).arg(value)).expect("a call");
                open[thread] = Some((kind, key, None));
            }
            Some((kind, key, None)) => {
                let was = members[key];
                members[key] = [true, false, was][kind];
                open[thread] = Some((kind, key, Some(if kind == 0 { !was } else { was })));
            }
            Some((_, _, Some(truth))) => {
                let ret = Return::new(Outcome::Ok, ValueId::from(truth));
                builder.ret(0, process, ret).expect("a return");
                open[thread] = None;
            }
        }
    }
    builder.finish().expect("a history")
}
