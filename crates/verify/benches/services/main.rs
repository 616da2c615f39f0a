//! Objects written in the algorithm language and in Rust: what a check of the same history takes.
//! A store with a global revision, decided along its versions; cells and a bank, decided by the
//! general search.
//!
//! `cargo bench -p seriatim-verify --bench services` prints both beside each other.

#[path = "../../../monitor/tests/versions/draw.rs"]
#[allow(dead_code)]
mod draw;
mod plain;
#[path = "../../../monitor/tests/versions/store.rs"]
#[allow(dead_code)]
mod store;

use draw::{Fault, Size, large};
use plain::Plain;
use seriatim_history::read_str;
use seriatim_monitor::{Monitors, Options, check};
use seriatim_spec::Verdict;
use seriatim_testing::{cpu_seconds, peak_memory};
use seriatim_verify::SeriReader;
use std::fmt::Write;
use std::time::Duration;
use store::{Event, Op, Ret, Store, record};

const MODEL: &str = "spec store {
  var rev: int = 1
  var kv: map<value, (value, int)> = {}
  method put(k: value, v: value) -> int {
    rev = rev + 1
    kv[k] = (v, rev)
    return rev
  }
  method get(k: value) -> (value?, int) {
    if k in kv { return (kv[k].0, rev) }
    return (empty, rev)
  }
  method txn(k: value, expected: int, v: value) -> (bool, int) {
    let found = if k in kv { kv[k].1 } else { 0 }
    if found != expected { return (false, rev) }
    rev = rev + 1
    kv[k] = (v, rev)
    return (true, rev)
  }
}";

fn main() {
    println!(
        "{:>7} {:>7} {:>5} {:>7}  {:<9} {:<13} {:>9} {:>9} {:>5}",
        "ops", "clients", "keys", "pending", "fault", "verdict", ".seri s", "Rust s", "core"
    );
    [Plain::Cells, Plain::Bank].into_iter().for_each(compare);
    let sizes = [
        Size::new(12, 2_000, 5, 0.1),
        Size::new(50, 100_000, 50, 0.0167),
        Size::new(50, 100_000, 1_000, 0.0167),
        Size { values: Some(20), ..Size::new(50, 100_000, 50, 0.0167) },
        Size::new(12, 2_000, 5, 0.5),
    ];
    let faults =
        [Fault::Nothing, Fault::Wrong, Fault::Stale, Fault::Lost, Fault::Duplicate, Fault::Old];
    for size in sizes {
        faults.into_iter().for_each(|fault| row(size, fault));
    }
    println!("peak of the memory of all of it: {:.0} MB", peak_memory() / 1e6);
}

/// An object without a version, by the general search.
fn compare(object: Plain) {
    let (recording, lines) = plain::run(object, 100_000, 8, 50);
    let options = Options { threads: 1, monitors: Monitors::Skip, ..Options::default() };
    let start = cpu_seconds();
    let in_rust = recording.check(&options).expect("the history fits the object");
    let rust_seconds = cpu_seconds() - start;
    let reader = SeriReader::parse(object.source(), None).expect("a model");
    let mut history = read_str(&lines).expect("a history");
    let start = cpu_seconds();
    let checked = check(&mut history, &reader, &options).expect("the history fits the model");
    let seconds = cpu_seconds() - start;
    println!(
        "{:>7} {:>7} {:>5} {:>7}  {:<9} {:<13} {seconds:>9.3} {rust_seconds:>9.3}  {}",
        100_000,
        8,
        50,
        0,
        format!("{object:?}").to_lowercase(),
        checked.verdict.word(),
        in_rust.verdict.word(),
    );
}

fn row(size: Size, fault: Fault) {
    let events = large(7, size, fault);
    let pending = events.iter().filter(|event| event.ret.is_none()).count();
    let options = Options { time: Some(Duration::from_secs(60)), ..Options::default() };
    let recording = record(Store::default(), &events);
    let start = cpu_seconds();
    let in_rust = recording.check(&options).expect("the history fits the store");
    let rust_seconds = cpu_seconds() - start;
    let reader = SeriReader::parse(MODEL, None).expect("a model");
    let mut history = read_str(&lines(&events)).expect("a history");
    let start = cpu_seconds();
    let checked = check(&mut history, &reader, &options).expect("the history fits the model");
    let seconds = cpu_seconds() - start;
    assert_eq!(checked.verdict.word(), in_rust.verdict.word());
    let core = match &checked.verdict {
        Verdict::Violation(core) => core.operations.len().to_string(),
        _ => String::new(),
    };
    println!(
        "{:>7} {:>7} {:>5} {pending:>7}  {:<9} {:<13} {seconds:>9.3} {rust_seconds:>9.3} {core:>5}",
        size.operations,
        size.clients,
        size.keys,
        format!("{fault:?}").to_lowercase(),
        checked.verdict.word(),
    );
}

/// The history in Seriatim's own format.
fn lines(events: &[Event]) -> String {
    let mut text = String::new();
    for (process, Event { op, call, ret }) in events.iter().enumerate() {
        let (name, arg) = match op {
            Op::Put(key, value) => ("put", format!("[{key},{value}]")),
            Op::Txn(key, expected, value) => ("txn", format!("[{key},{expected},{value}]")),
            Op::Get(key) => ("get", format!("{key}")),
            other => unreachable!("{other:?} is not drawn"),
        };
        write!(text, "{{\"process\":{process},\"op\":\"{name}\",\"arg\":{arg},\"call\":{call}")
            .expect("a string takes everything");
        if let Some((returned, Ret { flag, seen, revision })) = ret {
            let result = match op {
                Op::Put(..) => format!("{revision}"),
                Op::Txn(..) => format!("[{},{revision}]", *flag == 1),
                _ => {
                    let seen = seen[0].map_or("null".to_owned(), |value| value.to_string());
                    format!("[{seen},{revision}]")
                }
            };
            write!(text, ",\"return\":{returned},\"result\":{result}")
                .expect("a string takes everything");
        }
        text.push_str("}\n");
    }
    text
}
