//! Objects written in Rust, with the verdicts that they deserve: as they are, and with one ordering
//! too weak.

use super::run::{file, folder, seriatim, text};
use std::path::{Path, PathBuf};

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/import").join(name)
}

/// The exit code of `verify`, and what it says first, for an object in which some text was replaced.
fn verified(name: &str, options: &[&str], change: Option<(&str, &str)>) -> (i32, String) {
    let folder = folder("import");
    let mut rust = std::fs::read_to_string(source(name)).expect("an example");
    if let Some((from, to)) = change {
        assert!(rust.contains(from), "{name} has no {from}");
        rust = rust.replacen(from, to, 1);
    }
    let path = file(&folder, name, &rust);
    let seri = text(&folder.join("imported.seri"));
    let words = [&["import", &path, "-o", &seri], options].concat();
    seriatim(&words).exits(0).complains("the algorithm is in");
    let ran = seriatim(&["verify", &seri]);
    (ran.code.unwrap_or(-1), ran.out)
}

const STACK: &[&str] = &["--spec", "stack"];
const QUEUE: &[&str] = &["--spec", "queue"];
const RING: &[&str] = &["--spec", "queue", "--roles", "enqueue|dequeue"];
const DEQUE: &[&str] =
    &["--spec", "work_stealing_deque", "--value", "u32", "--roles", "push,pop|steal"];

#[test]
fn right_objects_hold() {
    let counter: &[&str] = &["--spec", "counter"];
    let objects = [
        ("treiber.rs", STACK),
        ("michael_scott.rs", QUEUE),
        ("spsc_ring.rs", RING),
        ("chase_lev.rs", DEQUE),
        ("spin_counter.rs", counter),
        ("epoch_stack.rs", STACK),
        ("tagged_stack.rs", STACK),
        ("boxed_stack.rs", STACK),
    ];
    for (name, options) in objects {
        let (code, said) = verified(name, options, None);
        assert!(code == 0 && said.contains("linearizable   holds"), "{name}: {said}");
    }
}

#[test]
fn one_ordering_too_weak_is_found() {
    let counter: &[&str] = &["--spec", "counter"];
    let mistakes = [
        ("treiber.rs", STACK, ("Ordering::Release", "Ordering::Relaxed")),
        (
            "treiber.rs",
            STACK,
            ("self.top.load(Ordering::Acquire)", "self.top.load(Ordering::Relaxed)"),
        ),
        (
            "treiber.rs",
            STACK,
            ("Ordering::Relaxed, Ordering::Acquire", "Ordering::Relaxed, Ordering::Relaxed"),
        ),
        (
            "michael_scott.rs",
            QUEUE,
            ("next, node, Ordering::Release", "next, node, Ordering::Relaxed"),
        ),
        (
            "spsc_ring.rs",
            RING,
            ("wrapping_add(1), Ordering::Release", "wrapping_add(1), Ordering::Relaxed"),
        ),
        (
            "michael_scott.rs",
            QUEUE,
            ("(*head).next.load(Ordering::Acquire)", "(*head).next.load(Ordering::Relaxed)"),
        ),
        ("spsc_ring.rs", RING, (">= SIZE", "> SIZE")),
        ("spin_counter.rs", counter, ("false, Ordering::Release", "false, Ordering::Relaxed")),
        ("spin_counter.rs", counter, ("true, Ordering::Acquire", "true, Ordering::Relaxed")),
        ("epoch_stack.rs", STACK, ("Ordering::Release", "Ordering::Relaxed")),
        ("epoch_stack.rs", STACK, ("load(Ordering::Acquire", "load(Ordering::Relaxed")),
        ("tagged_stack.rs", STACK, ("top.with_tag(1)", "top.with_tag(0)")),
        (
            "tagged_stack.rs",
            STACK,
            ("store(node, Ordering::Release)", "store(node, Ordering::Relaxed)"),
        ),
        ("tagged_stack.rs", STACK, ("top.tag() == 1", "false")),
        ("boxed_stack.rs", STACK, ("true, Ordering::Acquire", "true, Ordering::Relaxed")),
        ("boxed_stack.rs", STACK, ("false, Ordering::Release", "false, Ordering::Relaxed")),
        // What the link led to is dropped with the node.
        ("boxed_stack.rs", STACK, ("*self.top.get() = node.next", "*self.top.get() = None")),
        ("boxed_stack.rs", STACK, ("node.next = unsafe", "let _rest = unsafe")),
    ];
    for (name, options, change) in mistakes {
        let (code, said) = verified(name, options, Some(change));
        assert!(code == 1, "{name} with {change:?}: {said}");
    }
}

/// What is freed while another thread reads it.
#[test]
fn a_node_that_is_freed_too_early_is_found() {
    let (code, said) = verified("treiber_freed.rs", STACK, None);
    assert!(code == 1 && said.contains("fault-free     VIOLATED"), "{said}");
}

#[test]
fn what_cannot_be_imported_is_told_with_its_line() {
    let folder = folder("import-refused");
    let path = file(
        &folder,
        "x.rs",
        "pub struct X {\n    lock: Mutex<u8>,\n}\nimpl X { pub fn f(&self) {} }\n",
    );
    seriatim(&["import", &path, "--spec", "stack"]).exits(2).complains("x.rs:2:11: `Mutex < u8 >`");
    seriatim(&["import", &text(&source("treiber.rs")), "--spec", "queue"])
        .exits(2)
        .complains("push");
    seriatim(&["import", &text(&source("treiber.rs")), "--spec", "stack", "--roles", "push|peek"])
        .exits(2)
        .complains("expected a `pub fn peek(&self, …)`, for a role");
    seriatim(&["import", "nowhere.rs", "--spec", "stack"])
        .exits(2)
        .complains("nowhere.rs: cannot read");
}
