//! Linearization points are checked, and when they are wrong the engine says who is at fault.

use crate::common::{algorithm, program};
use seriatim_explore::{
    Blame, Options, Reason, Reductions, Verdict, ViolationKind, grow, run_points,
};
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

/// The elimination stack with its points: a thread whose request meets that of a partner completes
/// both. `partner` names the partner's operation: by its thread, or by its request.
fn elimination(partner: &str) -> String {
    let changes = [
        ("if cas(top, t, n) { return }", "@lin if cas(top, t, n) { return }".to_string()),
        (
            "if cas(top, t, s) { return t.val }",
            "@lin if cas(top, t, s) { return t.val }".to_string(),
        ),
        (
            "let t = top\n    if t == null",
            "@lin(t == null) let t = top\n    if t == null".to_string(),
        ),
        (
            "return (cas(location[him], other, mine), null)",
            format!(
                "@lin @lin(help {partner}) if cas(location[him], other, mine) {{ return (true, null) }}\n\
                 return (false, null)"
            ),
        ),
        (
            "if cas(location[him], other, null) { return (true, other.val) }",
            format!(
                "@lin(help {partner}) @lin if cas(location[him], other, null) {{ return (true, other.val) }}"
            ),
        ),
    ];
    let mut source = algorithm("hsy_stack");
    for (from, to) in changes {
        assert!(source.contains(from), "{from}");
        source = source.replace(from, &to);
    }
    source
}

/// Two threads meet in the collision array after a third one made them lose their races; their
/// requests count as nodes.
fn crowded() -> Options {
    Options { threads: 3, capacity: Some(2), values: 1, ..Options::default() }
}

#[track_caller]
fn verdict_and_blame(source: &str, options: &Options) -> Option<(ViolationKind, Option<Blame>)> {
    match run_points(&program(source), options).expect("it can be explored").verdict {
        Verdict::Holds => None,
        Verdict::Violation(found) => Some((found.kind, found.blame)),
        Verdict::Unknown(reason) => panic!("{reason:?}"),
    }
}

#[test]
fn a_helper_takes_the_point_of_the_operation_that_it_completes() {
    for partner in ["him", "other", "other, other != null"] {
        assert_eq!(verdict_and_blame(&elimination(partner), &crowded()), None, "{partner}");
    }
    let options = Options {
        reductions: Reductions { thread_symmetry: false, ..Reductions::ALL },
        ..crowded()
    };
    assert_eq!(verdict_and_blame(&elimination("other"), &options), None);
}

#[test]
fn wrong_help_is_the_fault_of_the_annotation() {
    let wrong = Some((ViolationKind::WrongPoint, Some(Blame::Annotation)));
    let right = elimination("other");
    let none = right.replace("@lin(help other) ", "");
    assert_eq!(verdict_and_blame(&none, &crowded()), wrong, "nobody takes the partner's point");
    let own = elimination("mine");
    assert_eq!(verdict_and_blame(&own, &crowded()), wrong, "the helper helps itself");
    let order = right.replace("@lin(help other) @lin if", "@lin @lin(help other) if");
    assert_eq!(verdict_and_blame(&order, &crowded()), wrong, "a pop takes effect before its push");
    let early =
        right.replace("let other = location[him]", "@lin(help other) let other = location[him]");
    assert_eq!(
        verdict_and_blame(&early, &crowded()),
        wrong,
        "a point that comes before the meeting"
    );
}

#[test]
fn wrong_help_in_a_wrong_algorithm_is_the_fault_of_the_algorithm() {
    let source = elimination("other").replace("&& other.want != want", "");
    let wrong = Some((ViolationKind::WrongPoint, Some(Blame::Algorithm)));
    assert_eq!(verdict_and_blame(&source, &crowded()), wrong);
}

#[test]
fn nobody_helps_an_operation_that_has_returned() {
    let source = |point: &str| {
        format!(
            "object o : register\nstruct Note {{ val: value }}\nvar note: Note? = null\n\
         var x: value? = null\n\
         method write(v: value) {{ let n = new Note {{ val: v }}; note = n; @lin x = v }}\n\
         method read() -> value? {{ {point} let n = note; @lin let a = x; return a }}"
        )
    };
    let wrong = Some((ViolationKind::WrongPoint, Some(Blame::Annotation)));
    for reductions in [Reductions::ALL, Reductions::NONE] {
        let options = Options { values: 1, reductions, ..Options::default() };
        assert_eq!(verdict_and_blame(&source(""), &options), None);
        assert_eq!(verdict_and_blame(&source("@lin(help n)"), &options), wrong);
    }
}

#[test]
fn a_file_without_points_is_not_accused() {
    let outcome = run_points(&program(&algorithm("hsy_stack")), &small());
    let verdict = outcome.expect("it can be explored").verdict;
    assert!(matches!(verdict, Verdict::Unknown(Reason::Unsupported(_))), "{verdict:?}");
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
