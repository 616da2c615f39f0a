//! Errors of an algorithm that are not about linearizability are reported as what they are.

use crate::common::{program, shown};
use seriatim_explore::{Event, MemoryModel, Options, Reductions, Verdict, ViolationKind, run};
use seriatim_lang::machine::Fault;

#[track_caller]
fn finds(body: &str, fault: Fault) {
    let source = format!(
        "object o : loose\nspec loose {{ method write(v: value) {{ }} }}\nstruct Node {{ val: value?, next: Node? }}\nvar x: value? = null\n\
         var p: Node? = null\nvar n: int 0..2 = 0\nvar a: [bool; 2] = [false; 2]\nvar l: lock\n\
         var flags: [bool; tid] = [false; tid]\nvar turn: tid? = null\n\
         method write(v: value) {{ {body} }}\n"
    );
    let outcome = run(&program(&source), &Options::default()).expect("it can be explored");
    match outcome.verdict {
        Verdict::Violation(found) => {
            assert_eq!(found.kind, ViolationKind::Fault(fault));
            assert!(matches!(found.history.first(), Some(Event::Call { .. })));
            assert!(found.steps.last().is_some_and(|s| s.line().is_some()));
        }
        other => panic!("{fault:?} is not found: {other:?}"),
    }
}

#[test]
fn each_error_is_found_and_named() {
    finds("p.val = v", Fault::NullDereference);
    finds("let i = fetch_add(n, 3)", Fault::OutOfRange);
    finds("n = n + 1", Fault::OutOfRange);
    finds("let i = n; a[i + 2] = true", Fault::BadIndex);
    finds("flags[null] = true", Fault::BadIndex);
    finds("let t = turn; if flags[t] { x = v }", Fault::BadIndex);
    finds("let i = n; n = 1 / i", Fault::DivisionByZero);
    finds("let i = n; assert i == 1", Fault::Assertion);
    finds("unlock(l)", Fault::UnlockFree);
    finds("let q = new Node { val: v, next: null }; free(q); free(q)", Fault::DoubleFree);
    finds("let q = new Node { val: v, next: null }; free(q); q.val = v", Fault::UseAfterFree);
    finds("let i = n; loop { i = i }", Fault::Endless);
    finds("let w: value = x", Fault::UnexpectedNull);
}

#[test]
fn a_lock_that_is_never_released_is_a_deadlock() {
    let source = "object o : register\nvar x: value? = null\nvar l: lock\n\
        method write(v: value) { lock(l); x = v }\nmethod read() -> value? { lock(l); let r = x; unlock(l); return r }";
    let outcome = run(&program(source), &Options::default()).expect("it can be explored");
    let Verdict::Violation(found) = outcome.verdict else { panic!("a deadlock") };
    assert_eq!(found.kind, ViolationKind::Deadlock);
}

#[test]
fn store_conditional_fails_after_another_write() {
    let counter = |body: &str| {
        format!(
            "object o : c\nspec c {{ var n: int = 0\n method increment() -> int 0..3 {{ n = (n + 1) % 4; return n }} }}\n\
             var n: int 0..3 = 0\nmethod increment() -> int 0..3 {{ {body} }}\n"
        )
    };
    let right = counter("loop { let c = ll(n); if sc(n, (c + 1) % 4) { return (c + 1) % 4 } }");
    let outcome =
        run(&program(&right), &Options { threads: 3, ..Options::default() }).expect("it runs");
    assert!(matches!(outcome.verdict, Verdict::Holds), "{:?}", outcome.verdict);
    let wrong =
        counter("let c = n; let d = ll(n); if sc(n, (c + 1) % 4) { return (c + 1) % 4 }; return d");
    let outcome = run(&program(&wrong), &Options::default()).expect("it runs");
    assert!(matches!(outcome.verdict, Verdict::Violation(_)));
}

#[test]
fn a_run_is_drawn_whatever_the_length_of_its_lines() {
    for length in [1, 100, 70_000] {
        let name = "n".repeat(length);
        let source = format!(
            "object o : register\nvar {name}: bool = false\n\
             method write(v: value) {{ {name} = true; assert v == null }}\n\
             method read() -> value? {{ return null }}"
        );
        let outcome = run(&program(&source), &Options::default()).expect("it can be explored");
        let Verdict::Violation(found) = outcome.verdict else { panic!("the assertion fails") };
        assert!(shown(&found).contains(&name));
    }
}

const GIVEN_BACK: &str = "object o : loose\nspec loose { method write(v: value) { } }
struct Node { val: value?, next: Node? }
var top: Node = new Node { val: null, next: null }
method write(v: value) {
  let n = new Node { val: v, next: null }
  let old = swap(top, n)
  let seen = old.val
  free(old)
}
method peek() { let t = top; let seen = t.val }
";

/// A node that is freed under a reader: the run shows where, beside what reads it.
#[test]
fn a_freed_node_is_read_and_both_places_are_shown() {
    let source = GIVEN_BACK.replace(
        "{ method write(v: value) { } }",
        "{ method write(v: value) { } method peek() { } }",
    );
    let outcome = run(&program(&source), &Options::default()).expect("it can be explored");
    let Verdict::Violation(found) = outcome.verdict else { panic!("{:?}", outcome.verdict) };
    assert_eq!(found.kind, ViolationKind::Fault(Fault::UseAfterFree));
    let last = found.steps.last().expect("it has steps").accesses.iter();
    let words: Vec<String> = last.map(seriatim_spec::run::Access::text).collect();
    assert!(words.iter().any(|w| w.contains("fails")), "{words:?}");
    assert!(words.iter().any(|w| w.contains("free(old): thread")), "{words:?}");
    // What is recycled may be read; nothing else is wrong here.
    let recycled = source.replace("free(", "recycle(");
    let outcome = run(&program(&recycled), &Options { nodes: Some(4), ..Options::default() });
    assert!(matches!(outcome.expect("it can be explored").verdict, Verdict::Holds));
}

/// A node may take the place of one that was given back after the access before it, and one that is
/// given back may be made again before the access after it. Both show in who is told the same
/// reference twice; nobody looks into a freed node.
#[test]
fn a_node_is_made_anew_between_any_two_accesses() {
    let object = |a: &str, b: &str, before: &str| {
        program(&format!(
            "object o : s\nstruct Node {{ v: int 0..3 }}\n\
             var p: Node? = new Node {{ v: 0 }}\nvar q: Node? = null\nvar flag: int 0..3 = 0\n\
             thread var mine: Node? = null\n\
             spec s {{ method a() {{ }} method b() {{ }} method c() {{ }} }}\n\
             method a() {{ {a} }}\nmethod b() {{ {b} }}\nmethod c() {{ mine = p; flag = 1 }}\n\
             client c {{ thread one {{ a() }} thread two {{ {before} b() }} }}"
        ))
    };
    // The new node is made after the other thread gave its node back, though the access before it
    // came earlier; or the first access of `b` comes after the other thread made the node anew.
    let late = "flag = 1; let x = new Node { v: 1 }; await flag == 2; p = x; flag = 3";
    let gives = "await flag == 1; let y = p; GIVE(y); flag = 2; await flag == 3; let c = p; \
                 assert c != y";
    let makes = "await flag == 1; let x = new Node { v: 1 }; q = x";
    let first = "GIVE(mine); let seen = q; assert seen == null || seen != mine";
    for (a, b, before) in [(late, gives, ""), (makes, first, "c();")] {
        for give in ["free", "recycle"] {
            let program = object(a, &b.replace("GIVE", give), before);
            let client = Some("c".to_owned());
            for memory in [MemoryModel::Sc, MemoryModel::Tso, MemoryModel::Rc20] {
                if give == "recycle" && memory != MemoryModel::Sc {
                    continue;
                }
                for reductions in [Reductions::ALL, Reductions::NONE] {
                    let options = Options {
                        client: client.clone(),
                        memory: Some(memory),
                        operations: (memory != MemoryModel::Sc).then_some(2),
                        reductions,
                        ..Options::default()
                    };
                    let verdict = run(&program, &options).expect("it runs").verdict;
                    let Verdict::Violation(found) = verdict else {
                        panic!("{give} on {memory:?}, {b}: {verdict:?}")
                    };
                    assert_eq!(found.kind, ViolationKind::Fault(Fault::Assertion), "{b}");
                }
            }
        }
    }
}

#[test]
fn a_result_that_is_not_given_yet_takes_no_room_wherever_its_bits_lie() {
    for width in 0..40 {
        let others: String = (0..width).map(|i| format!("var y{i}: bool = false\n")).collect();
        let source = format!(
            "object o : free\n\
             spec free {{ method one() {{ }} method two() -> int 0..9 {{ return any }} }}\n\
             var x: int 0..9 = 0\n{others}\
             fn last(n: int 0..3) -> int 0..9 depth 3 {{\n\
               let v = x\n\
               if v == 1 {{ return last(n - 1) }}\n\
               return v\n\
             }}\n\
             method one() {{ }}\n\
             method two() -> int 0..9 {{ x = 1; return last(1) }}\n\
             client once {{ thread a {{ one() }} thread b {{ two() }} }}"
        );
        let options = Options { client: Some("once".to_owned()), ..Options::default() };
        let outcome = run(&program(&source), &options).expect("it can be explored");
        let Verdict::Violation(found) = outcome.verdict else { panic!("{:?}", outcome.verdict) };
        assert_eq!(found.kind, ViolationKind::Fault(Fault::OutOfRange), "with {width} bits");
    }
}
