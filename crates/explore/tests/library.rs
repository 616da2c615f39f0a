//! Every `expect explore(…)` line of the library is true.

mod common;

use common::library;
use seriatim_explore::{Limits, Options, Verdict, expectations, render, run, run_points};
use std::time::Duration;

/// How long one line may take.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn the_algorithms_get_the_verdicts_that_they_expect() {
    let folders = ["algorithms", "algorithms/broken", "algorithms/pat"];
    let files: Vec<_> = folders.iter().flat_map(|f| library(f)).collect();
    assert!(files.len() >= 4, "the library is missing");
    for path in files {
        let source = std::fs::read_to_string(&path).expect("a readable file");
        let shown = path.display().to_string();
        let program = seriatim_lang::check(&source)
            .unwrap_or_else(|e| panic!("{}", e.render(&source, &shown)));
        for wanted in expectations(&program) {
            let program = seriatim_lang::check_with(&source, &wanted.consts)
                .unwrap_or_else(|e| panic!("{}", e.render(&source, &shown)));
            let limits = Limits { time: Some(PATIENCE), ..wanted.options.limits };
            let options = Options { limits, ..wanted.options.clone() };
            let outcome = if wanted.points {
                run_points(&program, &options)
            } else {
                run(&program, &options)
            };
            let outcome = outcome.unwrap_or_else(|e| panic!("{}", e.render(&source, &shown)));
            let (verdict, detail) = match &outcome.verdict {
                Verdict::Holds => ("holds", String::new()),
                Verdict::Violation(found) => ("fails", render(found)),
                Verdict::Unknown(reason) => ("unknown", format!("{reason:?}")),
            };
            let bounds = &outcome.bounds;
            assert_eq!(
                verdict, wanted.verdict,
                "{shown} for {bounds}\n{detail}{:?}",
                outcome.statistics
            );
        }
    }
}
