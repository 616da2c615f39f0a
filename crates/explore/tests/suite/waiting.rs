//! A thread that waits for a condition over its own registers has taken the steps before it, and
//! others see them.

use crate::common::{algorithm, program};
use seriatim_explore::{
    Guarantee, Options, Reductions, Verdict, ViolationKind, can_wait, run, run_progress,
};
use seriatim_lang::machine::Fault;

/// How the exploration of a register with this write and this read ends, under all reductions and
/// under none.
fn endings(write: &str, read: &str) -> Vec<Option<ViolationKind>> {
    let source = format!(
        "object o : register\nstruct Cell {{ c: value? }}\n\
         var x: value? = null\nvar y: value? = null\nvar l: lock\n\
         method write(v: value) {{ {write} }}\nmethod read() -> value? {{ {read} }}\n\
         client c {{ thread a {{ write(any) }} thread b {{ loop {{ read() }} }} }}"
    );
    let program = program(&source);
    let ending = |reductions| {
        let client = Some("c".to_string());
        let options = Options { values: 1, client, reductions, ..Options::default() };
        match run(&program, &options).expect("it can be explored").verdict {
            Verdict::Holds => None,
            Verdict::Violation(found) => Some(found.kind),
            Verdict::Unknown(reason) => panic!("{reason:?}"),
        }
    };
    [Reductions::ALL, Reductions::NONE].map(ending).to_vec()
}

const SEES_X: &str = "let f = x; assert f == null; return null";

#[test]
fn an_access_before_a_condition_that_never_holds_has_happened() {
    for write in [
        "x = v; let b = false; assume b",
        "x = v; let b = false; await b; y = v",
        "lock(l); x = v; unlock(l); let b = false; assume b",
        "let old = swap(x, v); assume old == v",
        "if cas(x, null, v) { let b = false; assume b }",
        "atomic { x = v }; let b = false; assume b",
        "x = v; let n = new Cell { c: v }; let w = n.c; assume w == null",
        "x = v; let o: tid = any; assume o != o",
        "x = v; choose { let b = false; assume b or let b = false; assume b }",
    ] {
        let failed = Some(ViolationKind::Fault(Fault::Assertion));
        assert_eq!(endings(write, SEES_X), [failed; 2], "{write}");
    }
}

#[test]
fn an_access_after_a_condition_that_never_holds_does_not_happen() {
    for write in [
        "let b = false; assume b; x = v",
        "let z = y; assume z == v; x = v",
        "let o: tid = any; assume o != o; x = v",
        "atomic { x = v; assume v == null }",
        "lock(l); let b = false; assume b; x = v; unlock(l)",
    ] {
        assert_eq!(endings(write, SEES_X), [None; 2], "{write}");
    }
}

#[test]
fn what_is_chosen_for_a_condition_is_chosen_so_that_it_holds() {
    let write = "y = v; let b = true; choose { b = false or b = true }; assume b; x = v";
    let failed = Some(ViolationKind::Fault(Fault::Assertion));
    assert_eq!(endings(write, SEES_X), [failed; 2]);
    assert_eq!(endings(write, "return x"), [None; 2]);
}

#[test]
fn each_element_of_an_array_that_is_filled_with_new_nodes_has_its_own() {
    let aliased = |(init, local): (&str, &str)| {
        let source = format!(
            "object o : register\nstruct Cell {{ c: bool }}\n\
             fn make() -> Cell {{ return fresh() }}\n\
             fn fresh() -> Cell {{ return new Cell {{ c: false }} }}\n\
             var one: Cell = new Cell {{ c: false }}\n{init}\n\
             method write(v: value) {{ {local}\n a[0].c = true; let other = a[1].c; assert !other }}\n\
             method read() -> value? {{ return null }}\n\
             client c {{ thread w {{ write(any) }} }}"
        );
        let program = program(&source);
        let client = Some("c".to_string());
        let options = Options { threads: 1, client, ..Options::default() };
        matches!(run(&program, &options).expect("it runs").verdict, Verdict::Violation(_))
    };
    assert!(!aliased(("var a: [Cell; 2] = [new Cell { c: false }; 2]", "")));
    assert!(!aliased(("", "let a: [Cell; 2] = [new Cell { c: false }; 2]")));
    assert!(!aliased(("", "let a: [Cell; 3] = [make(); 3]")));
    let grid = "var b: [[Cell; 2]; 2] = [[new Cell { c: false }; 2]; 2]";
    assert!(!aliased((grid, "let a: [Cell; 2] = [b[0][1], b[1][1]]")));
    assert!(!aliased((grid, "let a: [Cell; 2] = [b[0][0], b[0][1]]")));
    assert!(aliased(("var a: [Cell; 2] = [one; 2]", "")), "the same node twice");
}

/// What a thread may do before it waits without taking a step that has a state of its own.
const BEGINNINGS: &[&str] = &[
    "",
    "let a# = never",
    "let n# = home; let a# = n#.c",
    "let n# = new Cell { c: v }; n#.c = null",
    "let z# = true; assume z#",
    "let o#: tid = any; assume o# != self",
    "atomic { let a# = never }",
];

const ENDLESS_WAITS: &[&str] = &[
    "let b = false; assume b",
    "await x != null",
    "atomic { assume x != null; x = null }",
    "lock(l)",
];

/// Objects whose `write` waits for ever behind two beginnings, for all choices of them, perhaps
/// with a step in between.
fn objects_that_wait() -> Vec<String> {
    let mut objects = Vec::new();
    for (one, two) in BEGINNINGS.iter().flat_map(|one| BEGINNINGS.iter().map(move |two| (one, two)))
    {
        for wait in ENDLESS_WAITS {
            for step in ["", "let s = never; count = 1"] {
                let (one, two) = (one.replace('#', "1"), two.replace('#', "2"));
                objects.push(format!(
                    "object o : register\nstruct Cell {{ c: value? }}\n\
                     var x: value? = null\nvar never: bool = false\nvar count: int 0..1 = 0\nvar l: lock\n\
                     var home: Cell = new Cell {{ c: null }}\ninit {{ lock(l) }}\n\
                     method write(v: value) {{ {one}\n {step}\n {two}\n {wait} }}\n\
                     method read() -> value? {{ return x }}\n\
                     client writers {{ thread a {{ write(any) }} thread b {{ read(); write(any) }} }}\n\
                     client one {{ thread a {{ write(any) }} thread b {{ loop {{ read() }} }} }}"
                ));
            }
        }
    }
    objects
}

#[test]
fn threads_that_wait_behind_accesses_that_ride_along_deadlock() {
    for source in objects_that_wait() {
        let program = program(&source);
        for (client, expected) in [
            (None, Some(ViolationKind::Deadlock)),
            (Some("writers"), Some(ViolationKind::Deadlock)),
            (Some("one"), None),
        ] {
            let client = client.map(str::to_string);
            let options = Options { values: 1, client, ..Options::default() };
            let found = match run(&program, &options).expect("it can be explored").verdict {
                Verdict::Violation(found) => Some(found.kind),
                Verdict::Holds => None,
                Verdict::Unknown(reason) => panic!("{reason:?}: {source}"),
            };
            assert_eq!(found, expected, "{source}");
        }
    }
}

#[test]
fn a_thread_that_waits_behind_accesses_that_ride_along_is_not_lock_free() {
    for source in objects_that_wait() {
        let client = Some("one".to_string());
        let options = Options { values: 1, client, ..Options::default() };
        let verdict = run_progress(&program(&source), &options, Guarantee::LockFree);
        let verdict = verdict.expect("it can be explored").verdict;
        let waits = matches!(&verdict, Verdict::Violation(found) if found.kind == ViolationKind::Waits(Guarantee::LockFree));
        assert!(waits, "{verdict:?}: {source}");
    }
}

/// Nobody says that no thread ever stands still where a step need not end, whether inside of
/// `atomic` or over registers; a loop with a step in it goes on.
#[test]
fn a_step_that_need_not_end_counts_as_waiting() {
    let register = |body: &str| {
        program(&format!(
            "object o : register\nvar x: value? = null\n\
             method write(v: value) {{ x = v }}\nmethod read() -> value? {{ {body} }}"
        ))
    };
    for (stands, body) in [
        (false, "return x"),
        (false, "loop { let a = x\n let b = x\n if a == b { return a } }"),
        (false, "loop { atomic { let a = x\n if a == x { return a } } }"),
        (true, "atomic { loop { if x != null { return x } } }"),
        (true, "atomic { let a = x\n while a != null { a = x } }\n return null"),
        (true, "let a = x\n while a != null { a = a }\n return a"),
        (true, "loop { atomic { assume x != null\n return x } }"),
    ] {
        assert_eq!(can_wait(&register(body)), stands, "{body}");
    }
    let free =
        ["treiber", "michael_scott", "harris_michael", "hsy_stack", "rdcss", "snapshot_afek"];
    for name in free {
        assert!(!can_wait(&program(&algorithm(name))), "{name}");
    }
}
