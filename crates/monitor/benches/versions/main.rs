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
use std::time::Duration;
use store::{Store, record};

fn main() {
    println!(
        "{:>9} {:>7} {:>5} {:>7}  {:<10} {:<13} {:>6} {:>5}  confirmed by",
        "ops", "clients", "keys", "pending", "fault", "verdict", "cpu s", "core"
    );
    let size = |clients, operations, keys, unknown| Size {
        clients,
        operations,
        keys,
        unknown,
        values: None,
    };
    let sizes = [
        size(12, 2_000, 5, 0.1),
        size(50, 100_000, 50, 0.0167),
        size(50, 100_000, 1_000, 0.0167),
        Size { values: Some(20), ..size(50, 100_000, 50, 0.0167) },
        size(12, 2_000, 5, 0.5),
        size(12, 2_000, 50, 0.8),
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
    if let Some(peak) = peak() {
        println!("peak of the memory of all of it: {peak}");
    }
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

/// The seconds that all threads of the process have worked.
fn cpu_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes a timespec, and nothing else.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// The peak of the process's memory, where the system tells it.
fn peak() -> Option<String> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().to_owned())
}
