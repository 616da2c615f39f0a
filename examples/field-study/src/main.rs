//! Linearizability tests of concurrent collections that people use, and a table of what they found.
//!
//! `cargo run --release -- 30` gives each study 30 seconds; a second argument runs only the studies
//! whose name contains it. `docs/field-study.md` has the results and what the crates promise.

mod maps;
mod queues;

use seriatim_harness::{Failed, Passed};
use std::time::{Duration, Instant};

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
    let mut reports = String::new();
    println!("| object | operations | executions | different | verdict |");
    println!("| --- | --- | --- | --- | --- |");
    for study in queues::STUDIES.iter().chain(maps::STUDIES) {
        if !study.name.contains(&wanted) {
            continue;
        }
        let begin = Instant::now();
        let row = match (study.run)(Duration::from_secs_f64(seconds)) {
            Ok(passed) => {
                format!("{} | {} | no failure", passed.executions, passed.different)
            }
            Err(failed) => {
                reports.push_str(&format!("\n## {}\n{}", study.name, failed.report));
                let found = format!("{} after {:.1?}", failed.failure.word(), begin.elapsed());
                format!("{} | | **{found}**: `{}`", failed.executions, failed.scenario)
            }
        };
        println!("| {} | {} | {row} |", study.name, study.operations);
    }
    println!("{reports}");
}
