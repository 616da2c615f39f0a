//! Lock-free objects are distinguished from those that wait or spin.

use crate::common::{algorithm, program};
use seriatim_explore::{Guarantee, Options, Verdict, ViolationKind, run_progress};

fn verdict(source: &str) -> Option<ViolationKind> {
    let options =
        Options { capacity: Some(1), values: 1, keys: 1, nodes: Some(5), ..Options::default() };
    let program = program(source);
    let outcome = run_progress(&program, &options, Guarantee::LockFree);
    match outcome.expect("it can be explored").verdict {
        Verdict::Holds => None,
        Verdict::Violation(found) => Some(found.kind),
        Verdict::Unknown(reason) => panic!("{reason:?}"),
    }
}

#[test]
fn treiber_and_michael_scott_are_lock_free() {
    assert_eq!(verdict(&algorithm("treiber")), None);
    assert_eq!(verdict(&algorithm("michael_scott")), None);
}

#[test]
fn an_object_with_locks_is_not_lock_free() {
    assert_eq!(verdict(&algorithm("lazy_list")), Some(ViolationKind::Waits(Guarantee::LockFree)));
}

#[test]
fn spinning_is_not_progress() {
    let source = "object o : register\nvar busy: bool = false\nvar x: value? = null\n\
        method write(v: value) { loop { if cas(busy, false, true) { break } }; x = v; busy = false }\n\
        method read() -> value? { return x }";
    assert_eq!(
        verdict(source),
        Some(ViolationKind::NoProgress { guarantee: Guarantee::LockFree, repeats: 1, starved: 3 })
    );
}

#[test]
fn two_threads_that_undo_each_other_make_no_progress() {
    let source = "object o : register\nvar turn: bool = false\nvar x: value? = null\n\
        method write(v: value) { loop { turn = true; if turn { x = v; return } } }\n\
        method read() -> value? { loop { turn = false; if !turn { return x } } }";
    assert!(matches!(verdict(source), Some(ViolationKind::NoProgress { .. })));
}

/// A register whose writes choose something before, between or after their accesses.
fn choosing(body: &str) -> String {
    format!(
        "object o : register\nvar x: value? = null\nvar y: int 0..3 = 0\n\
         method write(v: value) {{ {body} }}\nmethod read() -> value? {{ return x }}"
    )
}

#[test]
fn a_choice_among_several_is_no_waiting() {
    for body in [
        "let o: tid = any; assume o != self; x = v",
        "x = v; let o: tid = any; assume o != self",
        "y = 1; let o: tid = any; assume o != self; x = v",
        "let b = true; choose { b = false or b = true }; assume b; x = v",
        "let i: int 0..3 = any; let j: int 0..3 = any; assume i + j == 3; y = i; x = v",
        "let i: int 0..3 = any; if i > 1 { assume i == 2 }; x = v",
        "let z = y; let i: int 0..3 = any; assume i >= z; x = v",
    ] {
        assert_eq!(verdict(&choosing(body)), None, "{body}");
    }
}

#[test]
fn a_condition_that_no_choice_meets_is_waited_for() {
    for body in [
        "x = v; let i: int 0..3 = any; assume i > 3",
        "let i: int 0..3 = any; assume i > 3; x = v",
        "let b = false; assume b; x = v",
        "let z = y; assume z > 0; x = v",
        "let o: tid = any; assume o != self; await x == v; x = v",
        "await y == 1; x = v",
    ] {
        let found = verdict(&choosing(body));
        let waits = matches!(found, Some(ViolationKind::Waits(_) | ViolationKind::Deadlock));
        assert!(waits, "{body}: {found:?}");
    }
}

#[test]
fn a_stack_that_chooses_whose_hazard_to_look_at_is_lock_free() {
    assert_eq!(verdict(&algorithm("treiber_hazard")), None);
}
