//! Small changes to right algorithms, made by a program: no reduction may change what is said about any of them.
//!
//! Right algorithms exercise the reductions in the way they were meant; what is unsound shows in wrong ones. (A step that
//! merged a lock, its release and a later write was found by exchanging two lines of the coupled list.)
//!
//! Two kinds of error are left out of the comparison, because merged steps do not show them in the same way: deadlocks of
//! threads that have called and done nothing yet, and loops over fields that never change. `SERIATIM_LONG=1` mutates every
//! algorithm that the short run leaves out.

mod common;

use common::{algorithm, is_linearizable, library};
use seriatim_explore::{Limits, Options, Reductions, Verdict, ViolationKind, render, run};
use seriatim_lang::machine::Fault;
use seriatim_lang::{Program, check};

/// Single tokens and what they become.
const EXCHANGES: [(&str, &str); 10] = [
    ("==", "!="),
    ("!=", "=="),
    ("&&", "||"),
    ("||", "&&"),
    (" < ", " <= "),
    (" <= ", " < "),
    ("true", "false"),
    ("false", "true"),
    ("!", ""),
    ("unlock", "lock"),
];

/// What the short run mutates.
const SHORT: [&str; 7] = [
    "coarse_stack",
    "coupled_priority_queue",
    "lock_coupling",
    "orvyy_set",
    "treiber",
    "two_lock_queue",
    "vechev_dcas",
];

/// All reductions, and combinations that lack the bold ones.
const COMBINATIONS: [u32; 4] = [255, 127, 0b0000_1011, 0b0000_1001];

/// The text with one line of a method dropped, exchanged with the next one, or changed in one token.
fn mutants(source: &str) -> Vec<String> {
    let lines: Vec<&str> = source.lines().collect();
    let mut found = Vec::new();
    let mut inside = false;
    for (at, line) in lines.iter().enumerate() {
        if line.starts_with("method ") || line.starts_with("fn ") {
            inside = true;
            continue;
        }
        inside &= !line.starts_with('}');
        if !inside {
            continue;
        }
        let mut with = |replacement: &[&str], count: usize| {
            let changed = [&lines[..at], replacement, &lines[at + count..]].concat();
            found.push(changed.join("\n") + "\n");
        };
        with(&[], 1);
        with(&[lines[at + 1], line], 2);
        for (old, new) in EXCHANGES.iter().filter(|(old, _)| line.contains(old)) {
            with(&[&line.replacen(old, new, 1)], 1);
        }
        if let (Some(start), Some(end)) = (line.find("if "), line.find('{')) {
            with(&[&format!("{}if true {}", &line[..start], &line[end..])], 1);
        }
    }
    found
}

/// Whether the program holds; `None` if that is not known or a matter of the steps' size.
fn verdict(program: &Program, options: &Options) -> Option<bool> {
    match run(program, options).ok()?.verdict {
        Verdict::Holds => Some(true),
        Verdict::Unknown(_) => None,
        Verdict::Violation(found) => match found.kind {
            ViolationKind::Deadlock | ViolationKind::Fault(Fault::Endless) => None,
            ViolationKind::NotLinearizable => {
                assert!(!is_linearizable(program, &found.history), "{}", render(&found));
                Some(false)
            }
            _ => Some(false),
        },
    }
}

/// Compares the combinations on every mutant; gives the number of those that hold and of those that fail.
fn compare(source: &str) -> (u32, u32) {
    let limits = Limits { states: Some(8_000), ..Options::default().limits };
    let options =
        Options { values: 2, capacity: Some(2), nodes: Some(6), limits, ..Options::default() };
    let (mut right, mut wrong) = (0, 0);
    for mutant in mutants(source) {
        let Ok(program) = check(&mutant) else { continue };
        let answer = |number: &u32| {
            let reductions = Reductions::numbered(*number);
            verdict(&program, &Options { reductions, ..options.clone() })
        };
        let answers: Vec<Option<bool>> = COMBINATIONS.iter().map(answer).collect();
        let (yes, no) = (answers.contains(&Some(true)), answers.contains(&Some(false)));
        assert!(!(yes && no), "{COMBINATIONS:?} say {answers:?} of\n{mutant}");
        right += u32::from(yes);
        wrong += u32::from(no);
    }
    (right, wrong)
}

#[test]
fn no_reduction_changes_the_verdict_on_a_mutant() {
    let mut sources: Vec<String> = SHORT.iter().map(|name| algorithm(name)).collect();
    if std::env::var_os("SERIATIM_LONG").is_some() {
        let read = |path: &std::path::PathBuf| std::fs::read_to_string(path).expect("readable");
        sources = library("algorithms").iter().map(read).collect();
    }
    let counts: Vec<(u32, u32)> = sources.iter().map(|source| compare(source)).collect();
    let (right, wrong) = counts.iter().fold((0, 0), |(a, b), (r, w)| (a + r, b + w));
    eprintln!("{right} mutants hold, {wrong} fail");
    assert!(
        right >= 20 && wrong >= 100,
        "{right} mutants hold, {wrong} fail: too few to mean anything"
    );
}
