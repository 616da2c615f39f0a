//! A counterexample can be saved, read and replayed, and goes wrong in the same way; its pictures show what changed.

mod common;

use common::{library, program};
use seriatim_explore::{
    Event, Options, Replay, Saved, Verdict, ViolationKind, expectations, page, render, replay, run,
};
use seriatim_lang::{check, check_with};
use std::collections::BTreeMap;

#[test]
fn every_broken_algorithm_fails_again_when_its_run_is_replayed() {
    let mut count = 0;
    for path in library("algorithms/broken") {
        let source = std::fs::read_to_string(&path).expect("a readable file");
        let Ok(checked) = check(&source) else { panic!("{}", path.display()) };
        let Some(first) = expectations(&checked).into_iter().next() else { continue };
        if first.points {
            continue;
        }
        let program = check_with(&source, &first.consts).expect("the constants are right");
        let outcome = run(&program, &first.options).expect("it can be explored");
        let Verdict::Violation(found) = outcome.verdict else { continue };
        let saved = Saved::of(&program, &first.options, &first.consts, &found);
        let read = Saved::parse(&saved.text()).expect("what was written can be read");
        assert_eq!((&read.object, &read.moves), (&saved.object, &saved.moves));
        assert_eq!(read.consts, saved.consts);
        match replay(&program, &read.options, &read.moves).expect("it can be replayed") {
            Replay::Fails(again) => {
                assert_eq!(again.kind, found.kind, "{}", path.display());
                assert_eq!(again.history, found.history, "{}", path.display());
            }
            other => panic!("{}: {other:?}\n{}", path.display(), saved.text()),
        }
        count += 1;
    }
    assert!(count >= 25, "{count} broken algorithms");
}

#[test]
fn a_run_of_another_program_is_stuck_or_passes() {
    let wrong = program(
        "object o : register\nvar x: value? = null\nvar y: value? = null\n\
         method write(v: value) { y = v }\nmethod read() -> value? { return x }",
    );
    let options = Options { values: 2, ..Options::default() };
    let Verdict::Violation(found) = run(&wrong, &options).expect("it runs").verdict else {
        panic!("a write that nobody can read");
    };
    let right = program(
        "object o : register\nvar x: value? = null\n\
         method write(v: value) { x = v }\nmethod read() -> value? { return x }",
    );
    let saved = Saved::of(&wrong, &options, &BTreeMap::new(), &found);
    let again = replay(&right, &saved.options, &saved.moves).expect("it can be replayed");
    assert!(!matches!(again, Replay::Fails(_)));
}

#[test]
fn pictures_show_the_chain_that_a_step_changed() {
    let source = common::algorithm("treiber").replacen(
        "if cas(top, t, s) { return t.val }",
        "top = s; return t.val",
        1,
    );
    let program = program(&source);
    let options = Options { capacity: Some(2), ..Options::default() };
    let Verdict::Violation(found) = run(&program, &options).expect("it runs").verdict else {
        panic!("a pop without cas is wrong")
    };
    assert_eq!(found.kind, ViolationKind::NotLinearizable);
    assert!(matches!(found.history[0], Event::Call { .. }));
    let text = render(&found);
    assert!(text.contains("│ top → #"), "{text}");
    let html = page("treiber & co", &found);
    assert!(html.contains("top → #") && html.contains("treiber &amp; co"), "{html}");
}

#[test]
fn a_bad_file_is_refused_with_its_line() {
    let bad = |text: &str| Saved::parse(text).expect_err("it is bad").line;
    assert_eq!(bad(""), 1);
    assert_eq!(bad("seriatim run 2\n"), 1);
    assert_eq!(bad("seriatim run 1\nthreads two\n"), 2);
    assert_eq!(bad("seriatim run 1\nthreads 2\nmove x\n"), 3);
}
