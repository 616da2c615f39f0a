//! Broken variants are refuted, and an independent judge rejects the history of every counterexample.

mod common;

use common::{algorithm, is_linearizable, program};
use seriatim_explore::{Options, Verdict, ViolationKind, render, run};

fn base() -> Options {
    Options { capacity: Some(2), nodes: Some(6), values: 2, ..Options::default() }
}

#[track_caller]
fn refuted(name: &str, right: &str, wrong: &str, options: &Options) {
    let source = algorithm(name);
    assert!(source.contains(right), "`{right}` is not in {name}");
    let program = program(&source.replacen(right, wrong, 1));
    let outcome = run(&program, options).expect("it can be explored");
    let Verdict::Violation(found) = outcome.verdict else {
        panic!("{name} with `{wrong}` should be refuted: {:?}", outcome.statistics);
    };
    if let ViolationKind::Fault(_) = found.kind {
        return;
    }
    assert_eq!(found.kind, ViolationKind::NotLinearizable, "{}", render(&found));
    assert!(!is_linearizable(&program, &found.history), "{}", render(&found));
    let prefix = &found.history[..found.history.len() - 1];
    assert!(is_linearizable(&program, prefix), "the last return is what goes wrong");
}

#[test]
fn a_pop_that_stores_instead_of_comparing_is_refuted() {
    refuted("treiber", "@lin if cas(top, t, s) { return t.val }", "top = s; return t.val", &base());
}

#[test]
fn a_push_that_stores_instead_of_comparing_is_refuted() {
    refuted("treiber", "@lin if cas(top, t, n) { return }", "top = n; return", &base());
}

#[test]
fn a_stack_that_calls_itself_a_queue_is_refuted() {
    let source = algorithm("treiber")
        .replace(": stack", ": queue")
        .replace("method push", "method enqueue")
        .replace("method pop", "method dequeue");
    let program = program(&source);
    let outcome = run(&program, &base()).expect("it can be explored");
    let Verdict::Violation(found) = outcome.verdict else { panic!("a stack is not a queue") };
    assert!(!is_linearizable(&program, &found.history));
}

#[test]
fn an_enqueue_that_links_by_a_plain_store_is_refuted() {
    refuted("michael_scott", "if cas(t.next, null, n) {", "t.next = n; if true {", &base());
}

#[test]
fn a_dequeue_that_moves_head_by_a_plain_store_is_refuted() {
    refuted("michael_scott", "if cas(head, h, x) { return v }", "head = x; return v", &base());
}

#[test]
fn a_lazy_list_without_validation_is_refuted() {
    let two = Options { keys: 2, ..Options::default() };
    let check = "if !p.marked && !c.marked && p.next == c {";
    refuted("lazy_list", check, "if true {", &two);
    refuted("lazy_list", check, "if !p.marked && !c.marked {", &two);
}

#[test]
fn a_contains_that_ignores_marks_needs_three_threads() {
    let two = Options { keys: 1, ..Options::default() };
    let source = algorithm("lazy_list").replace("c.key == k && !c.marked ", "c.key == k");
    let program = program(&source.replace("c.key == k && !c.marked", "c.key == k"));
    let outcome = run(&program, &two).expect("it can be explored");
    if let Verdict::Violation(found) = outcome.verdict {
        assert!(!is_linearizable(&program, &found.history), "{}", render(&found));
    }
}

#[test]
fn a_missing_lock_in_the_coupled_list_is_refuted() {
    let two = Options { keys: 2, ..Options::default() };
    let source = algorithm("lock_coupling");
    let broken = source.replacen("  lock(c)\n  while", "  while", 1);
    assert_ne!(source, broken);
    let outcome = run(&program(&broken), &two).expect("it can be explored");
    assert!(matches!(outcome.verdict, Verdict::Violation(_)));
}
