//! Every `expect explore` line of the library is run, and its verdict demanded; every history that
//! refutes an algorithm is rejected by an independent judge, too; linearization points that the
//! library names are correct.
//!
//! Larger bounds are left to a long run: a line other than the first of its file may end at a limit
//! of states, which is said on the error output. `SERIATIM_LONG=1` takes the limit away.

use crate::common::{is_linearizable, library, shown};
use seriatim_explore::{
    Expectation, Limits, Mode, Options, Outcome, Reason, Verdict, ViolationKind, expectations, run,
};
use seriatim_lang::{Program, check, check_with};
use std::path::Path;

/// How many states a short run may keep.
const SHORT: u64 = 60_000;

/// A file of the library.
struct Entry {
    name: String,
    source: String,
    expects: Vec<Expectation>,
}

fn entries(folder: &str) -> Vec<Entry> {
    let read = |path: &Path| {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().to_string();
        let source = std::fs::read_to_string(path).expect("a readable file");
        let program = check(&source).unwrap_or_else(|e| panic!("{}", e.render(&source, &name)));
        let expects = expectations(&program);
        Entry { name, source, expects }
    };
    library(folder).iter().map(|path| read(path)).collect()
}

/// The program with the constants that a line asks for.
fn asked(entry: &Entry, expect: &Expectation) -> Program {
    check_with(&entry.source, &expect.consts)
        .unwrap_or_else(|error| panic!("{}", error.render(&entry.source, &entry.name)))
}

fn explored(entry: &Entry, program: &Program, options: &Options) -> Outcome {
    run(program, options)
        .unwrap_or_else(|error| panic!("{}", error.render(&entry.source, &entry.name)))
}

fn is_long_run() -> bool {
    seriatim_testing::long()
}

/// What contradicts an expectation, if anything does; a line that was left to a long run is
/// reported.
fn contradiction(entry: &Entry, number: usize, expect: &Expectation) -> Option<String> {
    let program = asked(entry, expect);
    let mut options = expect.options.clone();
    if number > 0 && !is_long_run() {
        options.limits = Limits { states: Some(SHORT), ..options.limits };
    }
    if expect.points {
        options.mode = Mode::Points;
    }
    let outcome = explored(entry, &program, &options);
    let line = format!("{}: expected: {} for {}", entry.name, expect.verdict, outcome.bounds);
    match (&outcome.verdict, expect.is_met(Some(&outcome))) {
        (Verdict::Unknown(Reason::States), _) => {
            eprintln!("left to SERIATIM_LONG=1: {line}");
            None
        }
        (Verdict::Violation(found), true) => {
            let innocent = found.kind == ViolationKind::NotLinearizable
                && is_linearizable(&program, &found.history);
            innocent.then(|| format!("{line}; an innocent history:\n{}", shown(found)))
        }
        (_, true) => None,
        (Verdict::Violation(found), _) => Some(format!("{line}, but\n{}", shown(found))),
        (other, _) => Some(format!("{line}, but {other:?}")),
    }
}

fn contradictions(folder: &str) -> Vec<String> {
    let entries = entries(folder);
    assert!(entries.len() > 20, "the library is not in {folder}");
    let numbered = |entry: &Entry| {
        let lines = entry.expects.iter().enumerate();
        lines.filter_map(|(number, line)| contradiction(entry, number, line)).collect::<Vec<_>>()
    };
    entries.iter().flat_map(numbered).collect()
}

#[test]
fn every_algorithm_of_the_library_gets_the_verdict_that_it_expects() {
    let found = contradictions("algorithms");
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn every_broken_algorithm_is_refuted_and_an_independent_judge_agrees() {
    let found = contradictions("algorithms/broken");
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn the_linearization_points_that_the_library_names_are_right() {
    let annotated = entries("algorithms").into_iter().filter(|e| e.source.contains("@lin"));
    let mut count = 0;
    for entry in annotated {
        let program = asked(&entry, &entry.expects[0]);
        let options = Options { mode: Mode::Points, ..entry.expects[0].options.clone() };
        let outcome = explored(&entry, &program, &options);
        if let Verdict::Violation(found) = &outcome.verdict {
            panic!("{}: {}", entry.name, shown(found));
        }
        assert!(matches!(outcome.verdict, Verdict::Holds), "{}: {:?}", entry.name, outcome.verdict);
        count += 1;
    }
    assert!(count >= 10, "{count} annotated algorithms");
}

#[test]
fn the_models_of_published_experiments_get_the_verdicts_that_they_expect() {
    for entry in entries("algorithms/pat") {
        let lines = entry.expects.iter().enumerate();
        let found: Vec<_> =
            lines.filter_map(|(number, line)| contradiction(&entry, number, line)).collect();
        assert!(found.is_empty(), "{}", found.join("\n"));
    }
}
