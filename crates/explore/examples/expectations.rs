//! Runs the `expect explore(…)` lines of files and prints what was found, with states and time:
//! `cargo run --release -p seriatim-explore --example expectations FILE…`.

use seriatim_explore::{Limits, Options, Verdict, expectations, run, run_points};
use std::time::Duration;

fn main() {
    for path in std::env::args().skip(1) {
        let source = std::fs::read_to_string(&path).expect("a readable file");
        let program = match seriatim_lang::check(&source) {
            Ok(program) => program,
            Err(error) => {
                println!("{}", error.render(&source, &path));
                continue;
            }
        };
        for wanted in expectations(&program) {
            let Ok(program) = seriatim_lang::check_with(&source, &wanted.consts) else { continue };
            let limits = Limits { time: Some(Duration::from_secs(60)), ..wanted.options.limits };
            let options = Options { limits, ..wanted.options.clone() };
            let outcome = if wanted.points {
                run_points(&program, &options)
            } else {
                run(&program, &options)
            };
            let Ok(outcome) = outcome else {
                println!("{path}: cannot be explored");
                continue;
            };
            let found = match &outcome.verdict {
                Verdict::Holds => "holds".to_string(),
                Verdict::Violation(_) => "fails".to_string(),
                Verdict::Unknown(reason) => format!("unknown ({reason:?})"),
            };
            let mark = if found.starts_with(&wanted.verdict) { "ok   " } else { "WRONG" };
            let statistics = outcome.statistics;
            println!(
                "{mark} {path}: {found} for {}: {} states, {:.2?}",
                outcome.bounds, statistics.kept, statistics.time
            );
        }
    }
}
