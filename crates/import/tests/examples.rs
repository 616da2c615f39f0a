//! The objects of `examples/import` are Rust that compiles (but for the one with epochs, whose crate
//! is no dependency), and become algorithms that the language accepts; what is outside of the subset
//! is refused where it stands.

#![allow(missing_docs, dead_code, clippy::new_without_default, clippy::redundant_pattern_matching)]

use seriatim_import::{Options, import};

#[path = "../../../examples/import/bounded_ring.rs"]
mod bounded_ring;
#[path = "../../../examples/import/boxed_stack.rs"]
mod boxed_stack;
#[path = "../../../examples/import/chase_lev.rs"]
mod chase_lev;
#[path = "../../../examples/import/michael_scott.rs"]
mod michael_scott;
#[path = "../../../examples/import/spin_counter.rs"]
mod spin_counter;
#[path = "../../../examples/import/spsc_ring.rs"]
mod spsc_ring;
#[path = "../../../examples/import/treiber.rs"]
mod treiber;
#[path = "../../../examples/import/treiber_freed.rs"]
mod treiber_freed;

fn options(value: Option<&str>, roles: &[&[&str]]) -> Options {
    let names = |role: &&[&str]| role.iter().map(|name| (*name).to_owned()).collect();
    Options { value: value.map(str::to_owned), roles: roles.iter().map(names).collect() }
}

#[test]
fn examples_become_algorithms_that_the_language_accepts() {
    let anyone = options(None, &[]);
    let examples = [
        ("treiber", "stack", anyone.clone()),
        ("treiber_freed", "stack", anyone.clone()),
        ("boxed_stack", "stack", anyone.clone()),
        ("michael_scott", "queue", anyone.clone()),
        ("spin_counter", "counter", anyone),
        ("spsc_ring", "queue", options(None, &[&["enqueue"], &["dequeue"]])),
        ("bounded_ring", "bounded_queue(SIZE)", options(None, &[&["enqueue"], &["dequeue"]])),
        ("chase_lev", "work_stealing_deque", options(Some("u32"), &[&["push", "pop"], &["steal"]])),
    ];
    for (name, spec, options) in examples {
        let file = format!("{}/../../examples/import/{name}.rs", env!("CARGO_MANIFEST_DIR"));
        let rust = std::fs::read_to_string(&file).expect("an example");
        let seri =
            import(&rust, &file, spec, &options).unwrap_or_else(|error| panic!("{name}: {error}"));
        if let Err(error) = seriatim_lang::check(&seri) {
            panic!("{}\n{seri}", error.render(&seri, name));
        }
    }
}

/// Code with epochs becomes code with pointers: the same algorithm as without them, which says what
/// it does not look at.
#[test]
fn epochs_become_pointers() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/import/epoch_stack.rs");
    let rust = std::fs::read_to_string(file).expect("an example");
    let translated = |rust: &str| import(rust, "x.rs", "stack", &Options::default());
    let seri = translated(&rust).unwrap_or_else(|error| panic!("{error}"));
    if let Err(error) = seriatim_lang::check(&seri) {
        panic!("{}\n{seri}", error.render(&seri, "epoch_stack"));
    }
    assert!(seri.contains("cas(top, top_, next, relaxed, relaxed)"), "{seri}");
    assert!(seri.contains("// Left out: nodes are destroyed later"), "{seri}");
    assert!(!seri.contains("guard") && !seri.contains("free("), "{seri}");
    let wrong = [
        // What it gets back is not what it put.
        ("node = error.new", "top = error.new"),
        ("top.as_ref()", "self.top.load(Ordering::Acquire, &guard).as_ref()"),
        ("guard.defer_destroy(top)", "guard.defer(move || drop(top))"),
        ("let next = node.next", "let next = node.next.with_tag(1); let other = node.next"),
    ];
    for (right, mistaken) in wrong {
        assert!(rust.contains(right), "{right}");
        assert!(translated(&rust.replacen(right, mistaken, 1)).is_err(), "{mistaken}");
    }
}

/// A pointer with a tag becomes a pair, wherever both are looked at.
#[test]
fn pointers_with_tags_become_pairs() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/import/tagged_stack.rs");
    let rust = std::fs::read_to_string(file).expect("an example");
    let translated = |rust: &str| import(rust, "x.rs", "stack", &Options::default());
    let accepted = |change: (&str, &str)| {
        assert!(rust.contains(change.0), "{}", change.0);
        let seri = translated(&rust.replacen(change.0, change.1, 1));
        let seri = seri.unwrap_or_else(|error| panic!("{change:?}: {error}"));
        seriatim_lang::check(&seri).map(|_| seri.clone()).map_err(|error| error.render(&seri, "x"))
    };
    let seri = accepted(("", "")).unwrap_or_else(|error| panic!("{error}"));
    assert!(seri.contains("var top: (Node?, int 0..3) = (null, 0)"), "{seri}");
    assert!(seri.contains("cas(top, (top_, top_mark), (top_, 1), acquire, relaxed)"), "{seri}");
    assert!(seri.contains("store(top, (node, 0), release)"), "{seri}");
    assert!(seri.contains("if top_ == null {"), "{seri}");
    let next = "let next = node.next.load(Ordering::Relaxed, &guard);";
    let more = |line: &str| format!("{next}\n{line}");
    // What looks at both, and what it becomes.
    let looks = [
        ("if next == top { continue; }", "if (next, next_mark) == (top_, top_mark)"),
        ("if next.is_null() { continue; }", "if next == null"),
        (
            "let other = next; if other == top { continue; }",
            "let (other, other_mark) = (next, next_mark)",
        ),
        ("let other = next.with_tag(top.tag());", "let (other, other_mark) = (next, top_mark)"),
        ("let mut other = next; other = top;", "(other, other_mark) = (top_, top_mark)"),
        ("match unsafe { next.as_ref() } { Some(_n) => continue, None => {} }", "let _n = next"),
    ];
    for (line, becomes) in looks {
        let seri = accepted((next, &more(line))).unwrap_or_else(|error| panic!("{line}: {error}"));
        assert!(seri.contains(becomes), "{line}: {seri}");
    }
    let wrong = [
        // No tag that is known to fit.
        "let other = next.with_tag(4);",
        "let other = next.with_tag(next.tag() + 1);",
        "let other = self.top.load(Ordering::Relaxed, &guard).tag();",
        // What stands in a macro, or under a name that hides another one.
        "assert!(next == top);",
        "if let Some(next) = unsafe { next.as_ref() } { if next == top { continue; } }",
        "let look = |next| next == top;",
        "match self.top.compare_exchange(top, top, Ordering::Relaxed, Ordering::Relaxed, &guard) \
         { Ok(next) => return None, Err(_) => {} }",
        "self.top.fetch_or(1, Ordering::Relaxed, &guard);",
        "let other; other = next;",
    ];
    for line in wrong {
        assert!(translated(&rust.replacen(next, &more(line), 1)).is_err(), "{line}");
    }
}

/// An exchange of `crossbeam-epoch` that succeeds gives what was written; one of the standard library
/// what was there before.
#[test]
fn exchanges_with_guards_give_what_they_wrote() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/import/epoch_stack.rs");
    let rust = std::fs::read_to_string(file).expect("an example");
    let translated = |rust: &str| import(rust, "x.rs", "stack", &Options::default());
    let arms = [
        (
            "Ok(_) => return,",
            "Ok(written) => { self.top.store(written, Ordering::Relaxed); return }",
        ),
        ("Ok(_) => return,", "Ok(written) => self.top.store(written, Ordering::Relaxed),"),
    ];
    for (right, other) in arms {
        assert!(rust.contains(right), "{right}");
        let seri = translated(&rust.replacen(right, other, 1)).unwrap_or_else(|e| panic!("{e}"));
        assert!(seri.contains("let written = node"), "{seri}");
    }
    // What is written is no local, so that there is no telling what it is by then.
    let other = rust.replacen("Ok(_) => return,", "Ok(written) => return,", 1);
    let other = other.replacen("                node,\n", "                Shared::null(),\n", 1);
    assert!(other.contains("Shared::null(),"), "{other}");
    let error = translated(&other).expect_err("it is refused");
    assert!(error.message.contains("one arm `Ok(…)`"), "{error}");
}

/// An object with one method of the given body.
fn object(body: &str) -> String {
    format!(
        "use std::sync::atomic::*;\n\
         struct Node<T> {{ value: T, next: *mut Node<T>, link: AtomicPtr<Node<T>> }}\n\
         pub struct Stack<T> {{ top: AtomicPtr<Node<T>>, count: AtomicUsize, items: [AtomicBool; 2] }}\n\
         impl<T> Stack<T> {{\n\
         pub fn new() -> Self {{\n\
         Stack {{ top: AtomicPtr::new(ptr::null_mut()), count: AtomicUsize::new(0), \
         items: [const {{ AtomicBool::new(false) }}; 2] }} }}\n\
         pub fn pop(&self) -> Option<T> {{\n{body}\n}} }}"
    )
}

#[test]
fn what_is_outside_of_the_subset_is_refused_where_it_stands() {
    let refused = [
        ("for i in 0..2 {}\nNone", 8, "a statement of the subset"),
        ("let (a, b) = (1, 2);\nNone", 8, "`let name = value`"),
        ("\nself.count.fetch_xor(1, Ordering::Relaxed);\nNone", 9, "one of load, store"),
        ("let x = self.top.load(Ordering::Acquire);\nlet y = (*x).link;\nNone", 9, "`.load(…)`"),
        ("self.top = null_mut();\nNone", 8, "`.store(…)`"),
        ("let n = self.count.load(Relaxed) / 2;\nNone", 8, "one of + - *"),
        ("let n = self.items[self.count.load(Relaxed)].load(Relaxed);\nNone", 8, "nothing shared"),
        ("println!(\"x\");\nNone", 8, "`assert!`"),
        (
            "let x = match self.next() { Some(y) => y, None => return None };\nNone",
            8,
            "an expression",
        ),
        ("self.count.store(1, order);\nNone", 8, "an ordering"),
        ("let b = Box::from_raw(self.top.load(Relaxed));\nloop { return None; }", 9, "owns a box"),
        ("let x = self.other.load(Relaxed);\nNone", 8, "a field of the object"),
        ("let x = vec.len();\nNone", 8, "a method of an atomic"),
        ("self.pop()?;\nNone", 8, "a statement of the subset"),
        ("let n = self.count.load(Relaxed) + 200;\nNone", 8, "at most 127"),
        ("let n = 1;\nlet m = n - 1;\nNone", 9, "whose type is written"),
        ("let n: isize = 1;\nlet m = n % 2;\nNone", 9, "without a sign before `%`"),
        ("(*self.top.load(Acquire)).next = null_mut();\nNone", 8, "`node` is a local"),
        ("Some(Box::from_raw(self.top.load(Acquire)).value)", 8, "a local as the pointer"),
        ("let x = null_mut();\nNone", 8, "its type"),
        ("debug_assert!(self.items[0].load(Acquire));\nNone", 8, "nothing shared"),
        ("self.count.store(1, Self::Release);\nNone", 8, "an ordering"),
        (
            "let won = self.count.compare_exchange_weak(0, 1, Relaxed, Relaxed).is_ok();\nNone",
            8,
            "a weak exchange as the whole",
        ),
        (
            "match self.count.compare_exchange(0, 1, Relaxed, Relaxed) { Ok(_) => return None, \
             Ok(_) => {} }\nNone",
            8,
            "one arm",
        ),
        ("unsafe { asm!(\"\") };\nNone", 8, "`assert!`"),
    ];
    for (body, line, expected) in refused {
        let error = import(&object(body), "x.rs", "stack", &Options::default())
            .expect_err(&format!("{body} is outside of the subset"));
        assert!(error.line == line && error.message.contains(expected), "{body}: {error}");
    }
    let error = import("pub struct", "x.rs", "stack", &Options::default()).unwrap_err();
    assert!(error.message.starts_with("this is not Rust"), "{error}");
}

#[test]
fn types_and_items_that_mean_something_else_are_refused() {
    let with = |change: (&str, &str)| object("None").replace(change.0, change.1);
    let refused = [
        (("count: AtomicUsize,", "count: Mutex<usize>,"), "none of the types"),
        (("use std::sync::atomic::*;", "type Word = AtomicUsize;"), "another name for a type"),
        (("use std::sync::atomic::*;", "struct AtomicUsize { x: u8 }"), "another name than"),
        (
            ("use std::sync::atomic::*;", "use Ordering::{Relaxed as Release};"),
            "under another name",
        ),
        (
            ("use std::sync::atomic::*;", "fn fence(order: Ordering) {}"),
            "another name than `fence`",
        ),
        (("pub fn pop", "#[cfg(test)] pub fn pop"), "depends on `cfg`"),
        (("pub fn new()", "pub fn make()"), "a constructor"),
        (("pub fn new()", "pub fn new(n: usize)"), "without parameters"),
        (("pub fn pop", "pub async fn pop"), "`async`"),
        (("pub fn pop", "const Release: u8 = 0; pub fn pop"), "expected a function"),
        (("pub fn pop", "fn unsigned(&self) {} pub fn pop"), "another name than `unsigned`"),
        (("pub fn pop(&self)", "pub fn pop(self: &Self)"), "expected `&self`"),
        (
            ("impl<T> Stack", "impl<T> Drop for Node<T> { fn drop(&mut self) {} } impl<T> Stack"),
            "a destructor",
        ),
        (("next: *mut Node<T>", "next: *mut T"), "a pointer to a struct"),
        (("value: T, next", "value: T, value_: u8, next"), "differ by more than"),
        (("; 2]", "; 1 + 1]"), "the length of an array"),
    ];
    for (change, expected) in refused {
        let error = import(&with(change), "x.rs", "stack", &Options::default())
            .expect_err(&format!("{change:?} is outside of the subset"));
        assert!(error.message.contains(expected), "{change:?}: {error}");
    }
}

/// What the translation calls its own locals is not what the source calls its own.
#[test]
fn names_of_arms_and_of_the_translation_reach_no_further() {
    let body = "let won: usize = 1;\nlet x: usize = 2;\nlet c = self.count.load(Ordering::Relaxed);\n\
                match self.count.compare_exchange(c, c + 1, Ordering::AcqRel, Ordering::Relaxed) {\n\
                Ok(_) => { self.count.store(x, Ordering::Relaxed); }\n\
                Err(x) => { self.count.store(won + x, Ordering::Relaxed); }\n}\nNone";
    let seri = import(&object(body), "x.rs", "stack", &Options::default()).unwrap();
    for line in
        ["store(count, x, relaxed)", "store(count, unsigned(won + x_), relaxed)", "if won_ {"]
    {
        assert!(seri.contains(line), "{line}:\n{seri}");
    }
}

/// Names that hide others, and words of the language, stay apart.
#[test]
fn names_stay_apart() {
    let body = "let top = self.top.load(Ordering::Acquire);\nlet value = top;\n\
                let value = value;\nif value.is_null() { let top = value; }\nNone";
    let seri = import(&object(body), "x.rs", "stack", &Options::default()).unwrap();
    for line in [
        "let top_ = load(top, acquire)",
        "let value_ = top_",
        "let value__ = value_",
        "let top__ = value__",
    ] {
        assert!(seri.contains(line), "{line}:\n{seri}");
    }
}

#[test]
fn a_source_as_deep_as_it_is_long_does_no_harm() {
    for (open, close) in
        [("!", ""), ("-", ""), ("1 - ", ""), ("(", ")"), ("{", "}"), ("[", "]"), ("a.b(", ")")]
    {
        let (deep, back) = (open.repeat(3_000), close.repeat(3_000));
        let body = format!("let x = {deep}true{back};\nNone");
        let imported = import(&object(&body), "x.rs", "stack", &Options::default());
        assert!(imported.is_err() || close == ")" || close == "}", "{open}");
    }
    let long = " ".repeat(1 << 20);
    assert!(import(&long, "x.rs", "stack", &Options::default()).is_err());
}

/// `Err` gives back the argument itself, or a name that is always the same.
#[test]
fn a_result_that_says_more_than_it_may_is_refused() {
    let of = |result: &str, body: &str| {
        let rust = object(body).replace("pub fn pop(&self) -> Option<T>", result);
        import(&rust, "x.rs", "stack", &Options::default())
    };
    let takes = "pub fn push(&self, value: T) -> Result<(), T>";
    let gives = "pub fn pop(&self) -> Result<T, Full>";
    let full = "if self.items[0].load(Acquire) {\nreturn Err(value);\n}\nOk(())";
    assert!(of(takes, full).expect("it can be imported").contains("return false"));
    let node = "let node = self.top.load(Acquire);\n";
    let empty =
        "if node.is_null() { return Err(Empty); }\nunsafe { Ok(ptr::read(&(*node).value)) }";
    let seri = of(gives, &format!("{node}{empty}")).expect("it can be imported");
    assert!(seri.contains("-> value?") && seri.contains("return null"), "{seri}");
    for (result, body, expected) in [
        (takes, "let value = 1;\nErr(value)", "the parameter that was not taken"),
        (takes, "Err(unsafe { ptr::read(&(*self.top.load(Acquire)).value) })", "`node` is a local"),
        (takes, "self.other()", "`Ok(())` or `Err(…)`"),
        (takes, "Ok(value)", "`Ok(())` or `Err(…)`"),
        ("pub fn push(&self, mut value: T) -> Result<(), T>", full, "without `mut`"),
        ("pub fn push(&self) -> Result<(), T>", "Ok(())", "a parameter of the type"),
        ("pub fn peek(&self) {}\nfn push(&self, value: T) -> Result<(), T>", full, "not `pub`"),
        ("pub fn pop(&self) -> Result<usize, Full>", "Err(Full)", "`Result<(), T>`"),
        (
            gives,
            "if self.items[0].load(Acquire) { return Err(Busy); }\nErr(Empty)",
            "the same name",
        ),
        (gives, "let e = 1;\nErr(e)", "the same name"),
        (gives, "None", "`Ok(…)` or `Err(…)`"),
    ] {
        let error = of(result, body).expect_err(body);
        assert!(error.message.contains(expected), "{body}: {error}");
    }
}

/// A cell under a lock whose content is boxed: the box is moved as what is in it.
const BOXED: &str = "use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};
struct Node<T> { value: T, next: *mut Node<T> }
pub struct Cell<T> { held: AtomicBool, content: UnsafeCell<Option<Box<T>>> }
impl<T> Cell<T> {
    pub fn new() -> Self {
        Cell { held: AtomicBool::new(false), content: UnsafeCell::new(None) }
    }
    pub fn write(&self, value: T) {
        let boxed = Box::new(value);
        while self.held.swap(true, Ordering::Acquire) {}
        unsafe { *self.content.get() = Some(boxed) };
        self.held.store(false, Ordering::Release);
    }
    pub fn take(&self) -> Option<Box<T>> {
        while self.held.swap(true, Ordering::Acquire) {}
        let found = unsafe { (*self.content.get()).take() };
        self.held.store(false, Ordering::Release);
        found
    }
}";

#[test]
fn boxes_of_data_are_data() {
    let spec = "\nspec slot {\n  var x: value? = null\n  method write(v: value) { x = v }\n  \
                method take() -> value? { let v = x; x = null; return v }\n}\n";
    let translated = |rust: &str| import(rust, "x.rs", "slot", &Options::default());
    let seri = translated(BOXED).unwrap_or_else(|error| panic!("{error}")) + spec;
    if let Err(error) = seriatim_lang::check(&seri) {
        panic!("{}\n{seri}", error.render(&seri, "boxed"));
    }
    assert!(seri.contains("plain var content: value? = null"), "{seri}");
    for (right, mistaken, expected) in [
        ("let boxed = Box::new(value)", "let boxed = Box::into_raw(Box::new(value))", "a struct"),
        ("Some(boxed)", "Some(*boxed)", "a place in memory"),
        ("Some(boxed)", "Some(Box::from_raw(boxed))", "a function of the subset"),
        ("Some(boxed)", "Some(Box::leak(boxed))", "a function of the subset"),
    ] {
        assert!(BOXED.contains(right), "{right}");
        let error = translated(&BOXED.replacen(right, mistaken, 1)).expect_err(mistaken);
        assert!(error.message.contains(expected), "{mistaken}: {error}");
    }
}

/// A method of a stack whose links own their nodes.
fn owning(body: &str) -> Result<String, seriatim_import::Error> {
    let rust = format!(
        "struct Node<T> {{ value: T, next: Option<Box<Node<T>>> }}\n\
         pub struct Stack<T> {{ top: UnsafeCell<Option<Box<Node<T>>>> }}\n\
         impl<T> Stack<T> {{\n\
         pub fn new() -> Self {{ Stack {{ top: UnsafeCell::new(None) }} }}\n\
         pub fn push(&self, value: T) {{}}\n\
         pub fn pop(&self) -> Option<T> {{\n{body}\n}} }}"
    );
    let seri = import(&rust, "x.rs", "stack", &Options::default())?;
    if let Err(error) = seriatim_lang::check(&seri) {
        panic!("{}\n{seri}", error.render(&seri, body));
    }
    Ok(seri)
}

/// What a method does, without its comments.
fn lines(seri: &str) -> Vec<String> {
    let method = seri.split("method pop").nth(1).expect("there is such a method");
    let method = method.split("\n}").next().unwrap_or_default();
    let bare = |line: &str| line.split("  //").next().unwrap_or_default().trim().to_owned();
    method.lines().skip(1).map(bare).collect()
}

#[test]
fn a_node_is_given_back_where_its_owner_is_dropped() {
    for (body, expected) in [
        // At the end of its scope, and with what it owns.
        (
            "let all = (*self.top.get()).take();\nNone",
            &[
                "let taken = top",
                "top = null",
                "let all: Node? = taken",
                "drop_node(all)",
                "return null",
            ][..],
        ),
        // Not if it was moved, and where that depends on the run, only if it was not.
        (
            "let all = (*self.top.get()).take();\nif all.is_some() { *self.top.get() = all; }\nNone",
            &[
                "let taken = top",
                "top = null",
                "let all: Node? = taken",
                "if all != null {",
                "drop_node(top)",
                "top = all",
                "all = null",
                "}",
                "drop_node(all)",
                "return null",
            ],
        ),
        // Also where one way through it moves the owner in no block of its own.
        (
            "let all = (*self.top.get()).take();\n\
             if (*self.top.get()).is_some() { *self.top.get() = None; } else if let Some(node) = all {}\nNone",
            &[
                "let taken = top",
                "top = null",
                "let all: Node? = taken",
                "if top != null {",
                "drop_node(top)",
                "top = null",
                "} else {",
                "let node: Node? = all",
                "all = null",
                "if node != null {",
                "drop_node(node)",
                "}",
                "}",
                "drop_node(all)",
                "return null",
            ],
        ),
        (
            "let all = (*self.top.get()).take();\n\
             match (*self.top.get()).take() { Some(node) => {} None => drop(all) }\nNone",
            &[
                "let taken = top",
                "top = null",
                "let all: Node? = taken",
                "let taken_ = top",
                "top = null",
                "let node: Node? = taken_",
                "if node != null {",
                "drop_node(node)",
                "} else {",
                "drop_node(all)",
                "all = null",
                "}",
                "drop_node(all)",
                "return null",
            ],
        ),
        // Without its link, if that was moved.
        (
            "let Some(node) = (*self.top.get()).take() else { return None };\n\
             *self.top.get() = node.next;\nSome(node.value)",
            &[
                "let taken = top",
                "top = null",
                "let node: Node? = taken",
                "if node == null {",
                "return null",
                "}",
                "let moved = node.next",
                "drop_node(top)",
                "top = moved",
                "let result = present(node.value_)",
                "free(node)",
                "return result",
            ],
        ),
        // Before its owner is assigned anew.
        ("*self.top.get() = None;\nNone", &["drop_node(top)", "top = null", "return null"]),
        // When a loop is left or goes on.
        (
            "loop {\nlet all = (*self.top.get()).take();\nif all.is_none() { break; }\n}\nNone",
            &[
                "loop {",
                "let taken = top",
                "top = null",
                "let all: Node? = taken",
                "if all == null {",
                "drop_node(all)",
                "break",
                "}",
                "drop_node(all)",
                "}",
                "return null",
            ],
        ),
    ] {
        let seri = owning(body).unwrap_or_else(|error| panic!("{body}: {error}"));
        assert_eq!(lines(&seri), expected, "{body}");
    }
}

#[test]
fn owners_that_are_looked_at_or_moved_in_other_ways_are_refused() {
    for (body, expected) in [
        ("let node = &*self.top.get();\nNone", "a method of an"),
        ("let node = ptr::read(&*self.top.get());\nNone", "`take`"),
        ("if let Some(node) = &*self.top.get() { return None; }\nNone", "`as_deref()`"),
        ("if let Some(node) = (*self.top.get()).as_ref() { return None; }\nNone", "`as_deref()`"),
        ("let all = (*self.top.get()).take();\nlet node = *all;\nNone", "a place in memory"),
        ("let all = (*self.top.get()).take();\nlet raw = Box::into_raw(all);\nNone", "a box of a"),
        ("let all = (*self.top.get()).take();\nself.top.store(all);\nNone", "a method of an"),
        (
            "if let Some(node) = (*self.top.get()).take() {\nif true { *self.top.get() = node.next; }\n}\nNone",
            "only in the block that declares it",
        ),
        (
            "match (*self.top.get()).take() { Some(node) if node.value => None, _ => None }",
            "one arm `Some(name)`",
        ),
    ] {
        let error = owning(body).expect_err(body);
        assert!(error.message.contains(expected), "{body}: {error}");
    }
    let rust = |node: &str, result: &str| {
        format!(
            "{node}\npub struct Stack<T> {{ top: UnsafeCell<Option<Box<Node<T>>>> }}\n\
             impl<T> Stack<T> {{\npub fn new() -> Self {{ Stack {{ top: UnsafeCell::new(None) }} }}\n\
             pub fn pop(&self) -> {result} {{ None }} }}"
        )
    };
    for (node, result, expected) in [
        (
            "struct Node<T> { left: Option<Box<Node<T>>>, right: Option<Box<Node<T>>> }",
            "Option<T>",
            "one link",
        ),
        ("struct Node<T> { value: T }\nstruct Other { n: u8 }", "Option<T>", "one struct of nodes"),
        ("struct Node<T> { value: T }", "Option<Box<Node<T>>>", "in a signature"),
    ] {
        let source = rust(node, result);
        let error = import(&source, "x.rs", "stack", &Options::default()).expect_err(node);
        assert!(error.message.contains(expected), "{node}: {error}");
    }
}
