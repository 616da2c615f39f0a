//! Lock-free objects are distinguished from those that wait or spin.

use crate::common::{algorithm, program};
use seriatim_explore::{
    Guarantee, Options, Reductions, Verdict, ViolationKind, run_progress, starting_bounds,
};

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

/// What a search forgets comes again sooner than what a run goes through: the run that is told must
/// come round by itself, whatever is forgotten.
#[test]
fn no_reduction_and_no_bound_on_nodes_changes_an_answer_about_progress() {
    let all = 0b111_1111_1111;
    let switches = (0..11).map(|bit| all & !(1 << bit)).chain([all, 0]);
    let mut decided = 0;
    let switches: Vec<Reductions> = switches.map(Reductions::numbered).collect();
    let undone = "object undone : register\nstruct Turn { is_write: bool }\n\
        var turn: Turn? = null\nvar x: value? = null\n\
        method write(v: value) {\n\
          loop { let n = new Turn { is_write: true }; turn = n; if turn == n { x = v; return } }\n}\n\
        method read() -> value? {\n\
          loop { let n = new Turn { is_write: false }; turn = n; if turn == n { return x } }\n}";
    let library = ["broken/peterson_lock_backs_off", "peterson_lock", "treiber"];
    for source in library.map(algorithm).iter().map(String::as_str).chain([undone]) {
        let program = program(source);
        let name = &program.name;
        let (bounds, _) = starting_bounds(&program);
        for guarantee in Guarantee::ALL {
            let answer = |reductions: &Reductions, nodes: Option<u32>| {
                let (values, keys, reductions) = (1, 1, *reductions);
                let mut options = Options { nodes, values, keys, reductions, ..bounds.clone() };
                options.capacity = Some(1);
                options.limits.states = Some(3_000);
                let outcome = run_progress(&program, &options, guarantee).expect("right");
                match outcome.verdict {
                    // What is not forgotten takes room, and other runs are cut.
                    Verdict::Holds if outcome.statistics.cuts.nodes => None,
                    Verdict::Holds => Some(true),
                    Verdict::Violation(_) => Some(false),
                    Verdict::Unknown(seriatim_explore::Reason::States) => None,
                    Verdict::Unknown(why) => panic!("{name}, {guarantee:?}: {why:?}"),
                }
            };
            let found = switches.iter().map(|reductions| answer(reductions, Some(4)));
            let found: Vec<Option<bool>> = found.collect();
            let known: Vec<bool> = found.iter().copied().flatten().collect();
            assert!(known.windows(2).all(|pair| pair[0] == pair[1]), "{name}: {found:?}");
            decided += known.len();
        }
    }
    assert!(decided > 100, "only {decided} were decided");
}
