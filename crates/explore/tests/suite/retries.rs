//! Leaving out failed attempts changes no verdict: small retry loops with every mixture of what
//! such a loop may do before it fails, each compared with the search that leaves out nothing.

use crate::common::program;
use seriatim_explore::{Limits, Options, Reductions, Verdict, run};

/// How a thread comes by the node that it wants to publish, and by which name it calls it.
const NODES: &[(&str, &str)] = &[
    ("let n = new Node { val: v, dead: true, link: (0, false) }", "n"),
    ("let n = new Node { val: v, dead: false, link: (1, true) }", "n"),
    ("mine = new Node { val: v, dead: false, link: (0, false) }", "mine"),
    ("mine = new Node { val: v, dead: true, link: (0, false) }; let n = mine", "n"),
];

/// What an attempt does to its node, to thread variables and to shared state before it succeeds or
/// fails.
const DOINGS: &[&str] = &[
    "",
    "N.dead = false; if N.dead { continue }",
    "N.dead = true",
    "N.link.0 = 1",
    "N.link = (0, false)",
    "let x = other; if x == 1 { N.link = (2, true); continue }",
    "let x = other; if x == 1 { N.dead = true; continue }",
    "let x = other; if x == 1 { N.link.1 = true; N.link.0 = 3; continue }",
    "let x = other; if x == 1 { old = t; continue }",
    "if t != null && t.dead { continue }",
    "if t != null { let l = t.link; if l.1 { cas(t.link, l, (l.0, true)); continue } }",
];

/// How an attempt ends.
const ENDS: &[&str] = &[
    "if cas(cell, t, N) { return }",
    "if cas(cell, t, N) { other = 0; return }",
    "if cas(cell, old, N) { return }; old = t",
];

/// What readers look at, and what they do to the others.
const READS: &[&str] = &[
    "let c = cell; if c == null { other = 1; other = 0; return null }; if c.link.1 { return null }; return c.val",
    "let c = cell; if c != null { c.dead = true }; return null",
    "let c = cell; if c == null || c.dead { return null }; return c.val",
    "if mine != null { assert !mine.dead }; other = 1; other = 0; let c = cell; if c == null { return null }; return c.val",
    "if old != null { assert !old.link.1 }; other = 1; let c = cell; if c == null { return null }; cas(c.link, (0, false), (1, true)); return c.val",
];

const HEAD: &str = "object attempt : register\n\
    struct Node { val: value, dead: bool, link: (int 0..3, bool) }\n\
    var cell: Node? = null\nvar other: int 0..1 = 0\n\
    thread var mine: Node? = null\nthread var old: Node? = null\n";

/// All loops that are made of these parts.
fn loops() -> Vec<String> {
    let mut all = Vec::new();
    for (node, name) in NODES {
        for (first, second) in DOINGS.iter().flat_map(|a| DOINGS.iter().map(move |b| (a, b))) {
            for (end, read) in ENDS.iter().flat_map(|e| READS.iter().map(move |r| (e, r))) {
                let body = format!("{first}\n {second}\n {end}").replace('N', name);
                all.push(format!(
                    "{HEAD}method write(v: value) {{ {node}\n loop {{ let t = cell\n {body} }} }}\n\
                     method read() -> value? {{ {read} }}\n"
                ));
            }
        }
    }
    all
}

/// Loops whose first access is a `cas`, on what a thread remembers from the operation before.
fn blind_loops() -> Vec<String> {
    let strikes = [
        "if cas(top, old, null) { return }",
        "if cas(top, old, d) { return }",
        "if cas(top, null, old) { return }",
        "if cas(d.link, (0, true), (1, true)) { return }",
    ];
    let doings = [
        "let f = d.dead; if !f { d.dead = true }",
        "d.dead = true",
        "let f = top; if f != null { d.dead = true; old = f }",
        "let f = d.link; if !f.1 { d.link = (f.0, true) }",
    ];
    let reads = [
        "old = new Node { val: null, dead: false, link: (0, false) }; let z = d0.dead; assert !z; return null",
        "old = top; let z = d0.link; assert !z.1; return null",
        "let z = top; top = new Node { val: null, dead: true, link: (0, true) }; if z != null { assert !z.dead }; return null",
    ];
    let clients = [
        "thread a { read(); write(any) } thread b { read(); read() }",
        "thread a { read(); write(any) } thread b { write(any); read() }",
    ];
    let mut all = Vec::new();
    for (strike, doing) in strikes.iter().flat_map(|s| doings.iter().map(move |d| (s, d))) {
        for (read, client) in reads.iter().flat_map(|r| clients.iter().map(move |c| (r, c))) {
            all.push(format!(
                "object blind : register\n\
                 struct Node {{ val: value?, dead: bool, link: (int 0..3, bool) }}\n\
                 var top: Node? = null\n\
                 var d0: Node = new Node {{ val: null, dead: false, link: (0, false) }}\n\
                 thread var old: Node? = null\n\
                 method write(v: value) {{ let d = d0\n loop {{ {strike}\n {doing} }} }}\n\
                 method read() -> value? {{ {read} }}\nclient c {{ {client} }}\n"
            ));
        }
    }
    all
}

/// Whether the program holds with these reductions; `None` if the search was cut short.
fn holds(source: &str, client: Option<&str>, reductions: Reductions) -> Option<bool> {
    let base = Options::default();
    let options = Options {
        values: 1,
        nodes: Some(5),
        client: client.map(str::to_string),
        reductions,
        limits: Limits { states: Some(20_000), ..base.limits },
        ..base
    };
    match run(&program(source), &options).expect("it can be explored").verdict {
        Verdict::Holds => Some(true),
        Verdict::Violation(_) => Some(false),
        Verdict::Unknown(_) => None,
    }
}

/// Compares every so many of the programs; returns how many hold and how many do not.
fn compare(all: &[String], client: Option<&str>, every: usize) -> (usize, usize) {
    let (mut right, mut wrong) = (0, 0);
    for source in all.iter().step_by(every) {
        let plain = holds(source, client, Reductions::NONE).or_else(|| {
            holds(source, client, Reductions { pure_iterations: false, ..Reductions::ALL })
        });
        let Some(plain) = plain else { continue };
        for reductions in [Reductions::ALL, Reductions { final_fields: false, ..Reductions::ALL }] {
            if let Some(reduced) = holds(source, client, reductions) {
                assert_eq!(plain, reduced, "{reductions:?}\n{source}");
            }
        }
        *if plain { &mut right } else { &mut wrong } += 1;
    }
    (right, wrong)
}

fn is_long() -> bool {
    seriatim_testing::long()
}

#[test]
fn retry_loops_get_the_verdict_of_the_search_that_leaves_out_nothing() {
    let all = loops();
    let every = if is_long() { 1 } else { 67 };
    let (right, wrong) = compare(&all, None, every);
    println!("{right} right, {wrong} wrong of {} loops", all.len());
    assert!(right > 5 && wrong > 20, "{right} right, {wrong} wrong: the sample says nothing");
}

#[test]
fn loops_that_begin_with_a_cas_get_the_verdict_of_the_search_that_leaves_out_nothing() {
    let every = if is_long() { 1 } else { 2 };
    let (right, wrong) = compare(&blind_loops(), Some("c"), every);
    println!("{right} right, {wrong} wrong");
    assert!(right > 5 && wrong > 5, "{right} right, {wrong} wrong: the sample says nothing");
}

/// What may be the first access of a loop and lead straight back to it, on a node that the thread
/// made before the loop.
const FIRST_STRIKES: &[&str] = &[
    "if cas(N.dead, false, true) { continue }",
    "if cas(N.link, (0, false), (1, true)) { continue }",
    "if cas(N.link.0, 0, 1) { continue }",
    "let o = swap(N.dead, true); if !o { continue }",
    "let o = fetch_add(N.link.0, 1); if o == 0 { continue }",
    "N.dead = !N.dead; if N.dead { continue }",
    "atomic { if !N.dead { N.dead = true; continue } }",
];

#[test]
fn an_attempt_that_changes_a_node_made_before_the_loop_is_not_left_out() {
    let names =
        [("", "n"), ("let m = n", "m"), ("mine = n", "mine"), ("mine = n; old = mine", "old")];
    for (alias, name) in names {
        for within in [false, true] {
            for strike in FIRST_STRIKES {
                let (before, inside) = if within { ("", alias) } else { (alias, "") };
                let strike = strike.replace('N', name);
                let source = format!(
                    "{HEAD}method write(v: value) {{\n\
                     let n = new Node {{ val: v, dead: false, link: (0, false) }}\n {before}\n\
                     loop {{ {inside}\n {strike}\n let x = other; assert x == 1; return }} }}\n\
                     method read() -> value? {{ return null }}\n"
                );
                let options = Options { values: 1, ..Options::default() };
                let outcome = run(&program(&source), &options).expect("it can be explored");
                assert!(matches!(outcome.verdict, Verdict::Violation(_)), "{source}");
            }
        }
    }
}
