//! Linearization points are checked, and when they are wrong the engine says who is at fault.

mod common;

use common::{algorithm, program};
use seriatim_explore::{Blame, Options, Reason, Verdict, ViolationKind, grow, run_points};
use std::time::Duration;

fn small() -> Options {
    Options { capacity: Some(2), values: 2, ..Options::default() }
}

#[test]
fn right_points_hold() {
    let outcome =
        run_points(&program(&algorithm("treiber")), &small()).expect("it can be explored");
    assert!(matches!(outcome.verdict, Verdict::Holds), "{:?}", outcome.verdict);
}

#[test]
fn a_wrong_point_of_a_right_algorithm_is_the_fault_of_the_annotation() {
    let source = algorithm("treiber").replace("@lin(t == null) let t = top", "let t = top");
    let outcome = run_points(&program(&source), &small()).expect("it can be explored");
    let Verdict::Violation(found) = outcome.verdict else { panic!("an empty pop has no point") };
    assert_eq!((found.kind, found.blame), (ViolationKind::WrongPoint, Some(Blame::Annotation)));
}

#[test]
fn a_wrong_algorithm_is_the_fault_of_the_algorithm() {
    let source =
        algorithm("treiber").replace("if cas(top, t, s) { return t.val }", "top = s; return t.val");
    let outcome = run_points(&program(&source), &small()).expect("it can be explored");
    let Verdict::Violation(found) = outcome.verdict else { panic!("this is wrong") };
    assert_eq!((found.kind, found.blame), (ViolationKind::WrongPoint, Some(Blame::Algorithm)));
}

#[test]
fn limits_are_honoured_and_named() {
    let mut options = Options { capacity: Some(3), threads: 4, ..Options::default() };
    options.limits.states = Some(1_000);
    let outcome =
        run_points(&program(&algorithm("treiber")), &options).expect("it can be explored");
    assert!(matches!(outcome.verdict, Verdict::Unknown(Reason::States)));
    options.limits.states = None;
    options.limits.memory = 200_000;
    let outcome =
        run_points(&program(&algorithm("treiber")), &options).expect("it can be explored");
    assert!(matches!(outcome.verdict, Verdict::Unknown(Reason::Memory)));
    options.threads = 9;
    let outcome =
        run_points(&program(&algorithm("treiber")), &options).expect("it can be explored");
    assert!(matches!(outcome.verdict, Verdict::Unknown(Reason::Unsupported(_))));
}

#[test]
fn growing_bounds_cover_more_and_more_until_something_breaks() {
    let base = Options { values: 2, capacity: Some(1), ..Options::default() };
    let grown = |source: &str, budget: Duration| {
        grow(&program(source), &base, budget, &mut |_| {}).expect("it can be explored")
    };
    let growth = grown(&algorithm("treiber"), Duration::from_millis(400));
    let unfinished = growth.last.map(|last| last.verdict);
    assert!(matches!(unfinished, Some(Verdict::Unknown(Reason::Time))), "{unfinished:?}");
    assert!(growth.covered.len() > 1, "{:?}", growth.covered);
    let source = algorithm("treiber").replace("if cas(top, t, n) { return }", "top = n; return");
    let growth = grown(&source, Duration::from_secs(20));
    let last = growth.last.map(|last| last.verdict);
    assert!(matches!(last, Some(Verdict::Violation(_))), "{last:?}");
}
