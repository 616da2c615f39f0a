//! What follows the release of a lock is not protected by it, however steps are merged.

use crate::common::program;
use seriatim_explore::{Options, Reductions, Verdict, ViolationKind, run};

/// Every combination of the reductions says that the counter gives one number twice.
#[track_caller]
fn is_always_refuted(methods: &str, client: &str) {
    let source = format!(
        "object late : counter\nvar count: int = 0\nvar a: lock\nvar b: lock\nthread var seen: int = 0\n\
         {methods}\nclient all {{ thread t * rest {{ {client} }} }}"
    );
    let program = program(&source);
    for number in 0..512 {
        let reductions = Reductions::numbered(number);
        let options = Options { reductions, client: Some("all".to_string()), ..Options::default() };
        match run(&program, &options).expect("it can be explored").verdict {
            Verdict::Violation(found) => assert_eq!(found.kind, ViolationKind::NotLinearizable),
            other => panic!("combination {number}: {other:?}\n{source}"),
        }
    }
}

#[test]
fn a_write_after_an_inner_lock_and_both_releases_is_unprotected() {
    is_always_refuted(
        "method increment() -> int {\n\
           lock(a); let c = count; lock(b); unlock(b); unlock(a)\n\
           count = c + 1\n\
           return c\n\
         }",
        "increment()",
    );
}

#[test]
fn a_write_after_a_release_that_begins_the_method_is_unprotected() {
    is_always_refuted(
        "method read() -> int { lock(a); seen = count; return seen }\n\
         method increment() -> int { unlock(a); count = seen + 1; return seen }",
        "read(); increment()",
    );
}
