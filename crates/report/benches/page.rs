//! Claim: the page of 100,000 operations is written in at most 50 ms of CPU time, and takes at most
//! 20 bytes per operation.
//!
//! `cargo bench -p seriatim-report` prints the figures: the mean CPU time of twenty runs, one
//! thread.

#[path = "../tests/common/large.rs"]
mod large;

use seriatim_report::{Report, html, json, terminal};

/// The CPU time of this thread, in nanoseconds (Linux).
fn cpu_time() -> u64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    stat.split(' ').next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// The mean CPU time in milliseconds (the clock is too coarse for a single run), and what was made.
fn mean(mut work: impl FnMut() -> usize) -> (f64, usize) {
    let start = cpu_time();
    let mut bytes = 0;
    for _ in 0..RUNS {
        bytes = work();
    }
    ((cpu_time() - start) as f64 / 1e6 / f64::from(RUNS), bytes)
}

const RUNS: u32 = 20;

fn main() {
    for operations in [10_000, 100_000] {
        let (history, verdict) = large::store(operations);
        let report = Report::new(&history, "map", &verdict);
        let (page, bytes) = mean(|| html::render(&report).len());
        let each = bytes as f64 / operations as f64;
        let (json, _) = mean(|| json::render(&report).len());
        let (text, _) = mean(|| terminal::render(&report, &terminal::Style::plain(100)).len());
        println!(
            "{operations:>9} operations: page {page:8.1} ms CPU, {each:5.1} bytes per operation; \
             JSON {json:7.1} ms; terminal {text:6.2} ms"
        );
    }
}
