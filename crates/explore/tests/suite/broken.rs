//! Broken variants are refuted, and an independent judge rejects the history of every
//! counterexample.

use crate::common::{algorithm, is_linearizable, program, shown};
use seriatim_explore::{Options, Verdict, ViolationKind, run};

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
    assert_eq!(found.kind, ViolationKind::NotLinearizable, "{}", shown(&found));
    assert!(!is_linearizable(&program, &found.history), "{}", shown(&found));
    let prefix = &found.history[..found.history.len() - 1];
    assert!(is_linearizable(&program, prefix), "the last return is what goes wrong");
}

#[test]
fn a_pop_that_stores_instead_of_comparing_is_refuted() {
    refuted("treiber", "if cas(top, t, s) { return t.val }", "top = s; return t.val", &base());
}

#[test]
fn a_push_that_stores_instead_of_comparing_is_refuted() {
    refuted("treiber", "if cas(top, t, n) { return }", "top = n; return", &base());
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
fn a_missing_lock_in_the_coupled_list_is_refuted() {
    let two = Options { keys: 2, ..Options::default() };
    let source = algorithm("lock_coupling");
    let broken = source.replacen("  lock(c)\n  while", "  while", 1);
    assert_ne!(source, broken);
    let outcome = run(&program(&broken), &two).expect("it can be explored");
    assert!(matches!(outcome.verdict, Verdict::Violation(_)));
}

#[test]
fn a_stack_that_frees_its_nodes_falls_to_aba() {
    let source = algorithm("treiber").replace(
        "if cas(top, t, s) { return t.val }",
        "if cas(top, t, s) { let v = t.val; recycle(t); return v }",
    );
    let program = program(&source);
    let options = Options { capacity: Some(2), nodes: Some(4), values: 2, ..Options::default() };
    let outcome = run(&program, &options).expect("it can be explored");
    let Verdict::Violation(found) = outcome.verdict else { panic!("{:?}", outcome.statistics) };
    assert_eq!(found.kind, ViolationKind::NotLinearizable, "{}", shown(&found));
    assert!(!is_linearizable(&program, &found.history), "{}", shown(&found));
}

#[test]
fn version_counts_save_a_stack_that_frees_its_nodes_until_they_wrap() {
    let source = "object counted : stack\n\
        struct Node { val: value, next: Node? }\n\
        var top: (Node?, int 0..7) = (null, 0)\n\
        method push(v: value) {\n  let n = new Node { val: v, next: null }\n  loop {\n    let (t, c) = top\n\
            n.next = t\n    if cas(top, (t, c), (n, c)) { return }\n  }\n}\n\
        method pop() -> value? {\n  loop {\n    let (t, c) = top\n    if t == null { return empty }\n\
            let s = t.next\n    let v = t.val\n    if cas(top, (t, c), (s, (c + 1) % 8)) { recycle(t); return v }\n  }\n}\n";
    let few = "client few { thread user * 2 { repeat 3 { choose { push(any) or pop() } } } }";
    let program = program(&format!("{source}{few}"));
    let base = Options { capacity: Some(1), nodes: Some(3), values: 2, ..Options::default() };
    let bounded = Options { client: Some("few".to_string()), ..base.clone() };
    let outcome = run(&program, &bounded).expect("it can be explored");
    assert!(matches!(outcome.verdict, Verdict::Holds), "{:?}", outcome.verdict);
    let outcome = run(&program, &base).expect("it can be explored");
    let Verdict::Violation(found) = outcome.verdict else { panic!("eight pops wrap the count") };
    assert!(!is_linearizable(&program, &found.history), "{}", shown(&found));
}
