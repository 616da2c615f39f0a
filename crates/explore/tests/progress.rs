//! Lock-free objects are told from those that wait or spin.

mod common;

use common::{algorithm, program};
use seriatim_explore::{Options, Verdict, ViolationKind, run_progress};

fn verdict(source: &str) -> Option<ViolationKind> {
    let options =
        Options { capacity: Some(1), values: 1, keys: 1, nodes: Some(5), ..Options::default() };
    match run_progress(&program(source), &options).expect("it can be explored").verdict {
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
    assert_eq!(verdict(&algorithm("lazy_list")), Some(ViolationKind::Waits));
}

#[test]
fn spinning_is_not_progress() {
    let source = "object o : register\nvar busy: bool = false\nvar x: value? = null\n\
        method write(v: value) { loop { if cas(busy, false, true) { break } }; x = v; busy = false }\n\
        method read() -> value? { return x }";
    assert_eq!(verdict(source), Some(ViolationKind::NoProgress { repeats: 1 }));
}

#[test]
fn two_threads_that_undo_each_other_make_no_progress() {
    let source = "object o : register\nvar turn: bool = false\nvar x: value? = null\n\
        method write(v: value) { loop { turn = true; if turn { x = v; return } } }\n\
        method read() -> value? { loop { turn = false; if !turn { return x } } }";
    assert!(matches!(verdict(source), Some(ViolationKind::NoProgress { .. })));
}
