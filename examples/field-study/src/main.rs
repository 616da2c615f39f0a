//! Linearizability tests of concurrent collections that people use, and a table of what they found.
//!
//! `cargo run --release -- 30` gives each study 30 seconds; a second argument runs only the studies
//! whose name contains it, a third one repeats each so many times. `docs/field-study.md` has the results and
//! what the crates promise.

mod known;
mod maps;
mod models;
mod queues;

use seriatim_harness::{Failed, Passed};
use std::time::Duration;

/// A study: what is tested, and the test.
pub struct Study {
    name: &'static str,
    operations: &'static str,
    run: fn(Duration) -> Result<Passed, Box<Failed>>,
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let seconds = arguments.next().map_or(10.0, |text| text.parse().expect("a number of seconds"));
    let wanted = arguments.next().unwrap_or_default();
    let rounds = arguments.next().map_or(1, |text| text.parse().expect("a number of rounds"));
    let mut reports = String::new();
    println!("| object | operations | executions | different | verdict |");
    println!("| --- | --- | --- | --- | --- |");
    let all = queues::STUDIES.iter().chain(maps::STUDIES);
    let all = all.chain(known::VIOLATIONS).chain(known::CONTROLS);
    for study in all.filter(|study| study.name.contains(&wanted)) {
        for _ in 0..rounds {
            let (row, report) = study.told(Duration::from_secs_f64(seconds));
            println!("| {} | {} | {row} |", study.name, study.operations);
            reports.push_str(&report);
        }
    }
    println!("{reports}");
}

impl Study {
    /// The row of the table, and the report if there is a failure.
    fn told(&self, budget: Duration) -> (String, String) {
        match (self.run)(budget) {
            Ok(passed) => {
                let warnings = passed.warnings().join("; ");
                let counts = format!("{} | {}", passed.executions, passed.different);
                (format!("{counts} | no failure {warnings}"), String::new())
            }
            Err(failed) => {
                let (found, shrunk) = (failed.found_after, failed.shrunk_in);
                let (word, calls) = (failed.failure.word(), failed.calls);
                let found = format!("{word} after {found:.1?}, {calls} calls after {shrunk:.1?} more");
                let row = format!("{} | | **{found}**: `{}`", failed.executions, failed.scenario);
                (row, format!("\n## {}\n{}", self.name, failed.report))
            }
        }
    }
}
