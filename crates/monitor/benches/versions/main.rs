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
use std::collections::BTreeMap;
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
    for unknown in [0.25, 0.5, 0.85] {
        sweep(Size { values: Some(6), ..Size::new(12, 2_000, 4, unknown) }, &faults);
    }
    println!("peak of the memory of all of it: {:.0} MB", peak_memory() / 1e6);
}

/// Many histories in which values repeat, so that keys contend for gaps: how many are decided.
fn sweep(size: Size, faults: &[Fault]) {
    let options = Options { time: Some(Duration::from_secs(10)), ..Options::default() };
    let (mut words, mut most) = (BTreeMap::<String, usize>::new(), 0.0_f64);
    for seed in 0..12 {
        for &fault in faults {
            let recording = record(Store::default(), &large(seed, size, fault));
            let start = cpu_seconds();
            let checked = recording.check(&options).expect("the history fits the store");
            most = most.max(cpu_seconds() - start);
            let word = format!("{} by {:?}", checked.verdict.word(), checked.parts[0].decided_by);
            *words.entry(word).or_default() += 1;
        }
    }
    println!("{} of updates unknown, values repeat: {words:?}, at most {most:.2} s", size.unknown);
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
