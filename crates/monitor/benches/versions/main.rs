//! Histories of a store with a global revision: verdict, core, and what it takes.
//!
//! `cargo bench -p seriatim-monitor --bench versions` prints the table of `docs/versions.md`.

#[path = "../../tests/versions/draw.rs"]
#[allow(dead_code)]
mod draw;
#[path = "../../tests/versions/store.rs"]
#[allow(dead_code)]
mod store;

use draw::{Fault, Size, large};
use seriatim_monitor::{Confirmation, Options};
use seriatim_spec::Verdict;
use seriatim_testing::{cpu_seconds, peak_memory};
use std::time::Duration;
use store::{Store, record};

fn main() {
    println!(
        "{:>9} {:>7} {:>5} {:>7}  {:<10} {:<13} {:>6} {:>5}  confirmed by",
        "ops", "clients", "keys", "pending", "fault", "verdict", "cpu s", "core"
    );
    let sizes = [
        Size::new(12, 2_000, 5, 0.1),
        Size::new(50, 100_000, 50, 0.0167),
        Size::new(50, 100_000, 1_000, 0.0167),
        Size { values: Some(20), ..Size::new(50, 100_000, 50, 0.0167) },
        Size::new(12, 2_000, 5, 0.5),
        Size::new(12, 2_000, 50, 0.8),
    ];
    let faults = [
        Fault::Nothing,
        Fault::Wrong,
        Fault::Stale,
        Fault::Lost,
        Fault::Duplicate,
        Fault::Skipped,
        Fault::Old,
    ];
    for size in sizes {
        faults.into_iter().for_each(|fault| row(size, fault));
    }
    println!("peak of the memory of all of it: {:.0} MB", peak_memory() / 1e6);
}

fn row(size: Size, fault: Fault) {
    let events = large(7, size, fault);
    let pending = events.iter().filter(|event| event.ret.is_none()).count();
    let options = Options { time: Some(Duration::from_secs(20)), ..Options::default() };
    let recording = record(Store::default(), &events);
    let start = cpu_seconds();
    let checked = recording.check(&options).expect("the history fits the store");
    let seconds = cpu_seconds() - start;
    let core = match &checked.verdict {
        Verdict::Violation(core) => core.operations.len().to_string(),
        _ => String::new(),
    };
    let confirmed = match checked.confirmation {
        Some(Confirmation::Whole) => "brute force on everything",
        Some(Confirmation::Core) => "brute force on the core",
        Some(Confirmation::Engine(name)) => name,
        Some(Confirmation::None) => "nobody",
        None => "",
    };
    let fell_back = checked.parts[0].fell_back.as_deref().unwrap_or_default();
    println!(
        "{:>9} {:>7} {:>5} {pending:>7}  {:<10} {:<13} {seconds:>6.3} {core:>5}  {confirmed} {fell_back}",
        size.operations,
        size.clients,
        size.keys,
        format!("{fault:?}").to_lowercase(),
        checked.verdict.word(),
    );
}
