//! `int` without bounds is any whole number: leaving what the explorer represents of it cuts a run
//! and is said, leaving declared bounds is a violation.

use crate::common::program;
use seriatim_explore::{Limits, MemoryModel, Options, Outcome, Reason, Verdict, run};
use seriatim_spec::answer::{Property, Standing};
use std::time::Duration;

fn explored(source: &str) -> Outcome {
    let options = Options { values: 1, ..Options::default() };
    run(&program(source), &options).expect("it can be explored")
}

fn counter(var: &str, step: &str) -> String {
    format!(
        "object o : c\nspec c {{ var n: int = 0\n method bump() {{ n = n + 1 }}\n method get() -> int {{ return n }} }}\n\
         var n: {var} = 0\nmethod bump() {{ {step} }}\nmethod get() -> int {{ return n }}\n"
    )
}

#[test]
fn a_number_leaves_its_range_only_if_the_program_declares_one() {
    let steps = [
        "let t = fetch_add(n, 1)",
        "atomic { n = n + 1 }",
        "loop { let t = n; if cas(n, t, t + 1) { return } }",
        "loop { let t = n; let s: int = t + 1; if cas(n, t, s) { return } }",
    ];
    for step in steps {
        let plain = explored(&counter("int", step));
        let answer = plain.answer();
        assert_eq!(answer.exit_code(), 0, "{step}: {:?}", plain.verdict);
        let Standing::Holds { scope, .. } = answer.standing(Property::Linearizable) else {
            panic!("{step}: {answer:?}")
        };
        assert_eq!(scope.cut, ["numbers beyond -128..127 were not explored"]);
        for declared in ["int 0..5", "int -128..127", "int 0..127"] {
            // A plain local number is cut before it is stored where the bounds are as wide as what
            // is represented.
            if step.contains("s: int") && declared != "int 0..5" {
                continue;
            }
            let answer = explored(&counter(declared, step)).answer();
            assert_eq!(answer.violated(), Some(Property::InRange), "{declared}: {step}");
        }
    }
}

#[test]
fn a_plain_number_in_a_declared_place_is_checked_however_wide_the_place_is() {
    let source = "object o : c\nspec c { method f() { } }\nvar n: int = 0\nvar wide: int -1000..130 = 0\n\
        method f() { atomic { let t = n + 5; wide = t; n = t } }\n";
    // 130 is within the declared bounds and beyond what is represented of `n`.
    let outcome = explored(source);
    assert_eq!(outcome.answer().exit_code(), 0, "{:?}", outcome.verdict);
    let narrow = source.replace("-1000..130", "-1000..99");
    assert_eq!(explored(&narrow).answer().violated(), Some(Property::InRange));
}

#[test]
fn arguments_without_bounds_are_said_to_be_cut() {
    let source = "object o : r\nspec r { var x: int = 0\n method set(v: int) { x = v }\n method get() -> int { return x } }\n\
        var x: int = 0\nmethod set(v: int) { x = v }\nmethod get() -> int { return x }\n";
    let outcome = run(&program(source), &Options { threads: 1, ..Options::default() });
    let outcome = outcome.expect("it can be explored");
    assert_eq!(outcome.answer().exit_code(), 0, "{:?}", outcome.verdict);
    assert!(outcome.statistics.cuts.numbers);
    let bounded = explored(&source.replace("v: int)", "v: int 0..1)"));
    assert!(!bounded.statistics.cuts.numbers);
}

#[test]
fn bounds_say_what_was_cut_and_how_many_operations_a_client_makes() {
    let stack = crate::common::algorithm("treiber");
    let options = Options { capacity: Some(1), values: 1, ..Options::default() };
    let outcome = run(&program(&stack), &options).expect("it can be explored");
    assert_eq!(outcome.scope().cut, ["runs that add more than 1 nodes were cut"]);
    assert!(outcome.bounds.contains("any number of operations"), "{}", outcome.bounds);
    let base = "object o : r\nspec r { method f() -> bool { return false } }\nvar x: bool = false\n\
        method f() -> bool { return x }\n";
    let rows = [
        ("thread a { f(); f() } thread b { f() }", "at most 2 operations a thread"),
        ("thread a { repeat 3 { f() } f() }", "at most 4 operations a thread"),
        ("thread a { choose { f() or f(); f(); f() } }", "at most 3 operations a thread"),
        ("thread a { f() } thread b { loop { f() } }", "any number of operations"),
        ("thread a { let r = f(); while r { r = f() } }", "any number of operations"),
        ("thread a { let r = f(); while r { } f() }", "at most 2 operations a thread"),
    ];
    for (roles, words) in rows {
        let source = format!("{base}client c {{ {roles} }}\n");
        let threads = roles.matches("thread").count() as u32;
        let client = Some("c".to_owned());
        let options = Options { threads, client, ..Options::default() };
        let outcome = run(&program(&source), &options).expect("it can be explored");
        assert!(outcome.bounds.contains(words), "{roles}: {}", outcome.bounds);
        assert!(outcome.scope().cut.is_empty());
    }
}

#[test]
fn an_object_without_methods_is_refused_where_it_stands() {
    let source = "object nothing : register\nvar a: int 0..1 = 0\n";
    let error = run(&program(source), &Options::default()).expect_err("nothing can be called");
    assert!(error.render(source, "o.seri").contains("has no methods"));
}

/// A time that is over before the search begins: of a step with a thousand successors few are taken.
#[test]
fn a_step_that_branches_widely_is_left_when_the_time_is_over() {
    let program = program(
        "object o : s\nspec s { method draw() -> int 0..999 { return any } }\nvar x: int 0..999 = 0\n\
         method draw() -> int 0..999 { x = any; let y = x; return y }\n",
    );
    let limits = Limits { time: Some(Duration::ZERO), ..Options::default().limits };
    for memory in [MemoryModel::Sc, MemoryModel::Tso, MemoryModel::Rc20] {
        let options = Options { limits, memory: Some(memory), ..Options::default() };
        let outcome = run(&program, &options).expect("it can be explored");
        assert!(matches!(outcome.verdict, Verdict::Unknown(Reason::Time)), "{memory:?}");
        let taken = outcome.statistics.transitions;
        assert!(taken <= 64, "{memory:?}: {taken} transitions");
    }
}
