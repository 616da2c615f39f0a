//! No reduction changes a verdict: every combination of switches agrees, on random programs and on
//! the library.

use crate::common::{algorithm, is_linearizable, program};
use seriatim_explore::{Limits, Options, Reductions, Verdict, ViolationKind, run};
use seriatim_testing::Random;

const COMBINATIONS: u32 = 2048;
/// How many switches there are.
const SWITCHES: u32 = 11;

const WRITES: &[&str] = &[
    "x = v",
    "y = v; x = v",
    "x = v; y = v",
    "lock(l); x = v; y = v; unlock(l)",
    "lock(l); y = v; unlock(l); x = v",
    "let t = x; if cas(x, t, v) { return }; x = v",
    "loop { let t = x; if cas(x, t, v) { return } }",
    "atomic { x = v; y = v }",
    "let old = swap(x, v); y = old",
    "p = new Box { val: v }; x = v",
    "let b = new Box { val: v }; b.val = v; p = b; x = v; y = v",
    "let b = p; b.val = v; x = v",
    "await y == x; x = v",
    "await y != v; x = v; y = v",
    "let a = y; assume a == never; x = v; y = v",
    "while never != never2 { }; x = v; y = v",
    "while never == never2 { }; x = v",
    "x = v; let a = never; while a == never2 { a = never }; y = v",
    "lock(l); lock(m); x = v; y = v; unlock(m); unlock(l)",
    "lock(m); let a = y; assume a == never; x = v; y = v; unlock(m)",
    "lock(l); x = v; await y == x; unlock(l)",
];

const READS: &[&str] = &[
    "return x",
    "return y",
    "return p.val",
    "let a = x; let b = x; if a == b { return a }; return b",
    "lock(l); let a = x; unlock(l); return a",
    "let a = x; if a == y { return a }; return x",
    "choose { return x or lock(l); let a = x; unlock(l); return a }",
    "let b = p; return b.val",
    "atomic { return x }",
    "await x == y; return x",
    "lock(m); lock(l); let a = x; unlock(l); unlock(m); return a",
    "lock(l); lock(m); let a = x; unlock(m); unlock(l); return a",
    "lock(m); let a = x; await y == a; unlock(m); return a",
    "let a = x; while a != never { a = never }; return x",
    "choose { await x != y; return y or return x }",
];

/// A register with two cells, a box, two locks and two variables that nobody writes, put together
/// at random; some are correct, most are wrong, some wait for ever.
fn random_register(random: &mut Random) -> String {
    let (write, read) = (random.pick(WRITES), random.pick(READS));
    let again = random.pick(&["", "x = x", "let z = y; y = z", "if x == y { x = y }"]);
    format!(
        "object random : register\n\
         struct Box {{ val: value? }}\n\
         var x: value? = null\n\
         var y: value? = null\n\
         var p: Box = new Box {{ val: null }}\n\
         var l: lock\n\
         var m: lock\n\
         var never: value? = null\n\
         var never2: value? = null\n\
         method write(v: value) {{ {write}\n return }}\n\
         method read() -> value? {{ {again}\n {read} }}\n"
    )
}

/// Whether the program holds under each combination of switches; `None` where the search was cut
/// short.
fn verdicts(source: &str, base: &Options, numbers: &[u32]) -> Vec<Option<bool>> {
    let program = program(source);
    let verdict = |number: &u32| {
        let options = Options { reductions: Reductions::numbered(*number), ..base.clone() };
        match run(&program, &options).expect("it can be explored").verdict {
            Verdict::Holds => Some(true),
            Verdict::Unknown(_) => None,
            Verdict::Violation(found) => {
                let real = found.kind != ViolationKind::NotLinearizable
                    || !is_linearizable(&program, &found.history);
                assert!(real, "combination {number} accuses an innocent history:\n{source}");
                Some(false)
            }
        }
    };
    numbers.iter().map(verdict).collect()
}

#[track_caller]
fn all_agree(source: &str, base: &Options, numbers: &[u32]) -> Option<bool> {
    let all = verdicts(source, base, numbers);
    let known: Vec<bool> = all.iter().flatten().copied().collect();
    assert!(known.windows(2).all(|w| w[0] == w[1]), "{all:?}\n{source}");
    known.first().copied()
}

/// All reductions, none, and all but one.
fn every_one_off() -> Vec<u32> {
    let all = COMBINATIONS - 1;
    (0..SWITCHES).map(|bit| all ^ (1 << bit)).chain([all, 0]).collect()
}

fn quick(options: Options) -> Options {
    Options { limits: Limits { states: Some(40_000), ..options.limits }, ..options }
}

#[test]
fn random_registers_get_one_verdict_from_all_combinations() {
    let mut random = Random(0x853c_49e6_748f_ea9b);
    let base = quick(Options { values: 2, capacity: Some(2), ..Options::default() });
    let (mut right, mut wrong) = (0, 0);
    for _ in 0..60 {
        let source = random_register(&mut random);
        let mut some = every_one_off();
        some.extend((0..25).map(|_| random.below(COMBINATIONS.into()) as u32));
        match all_agree(&source, &base, &some) {
            Some(true) => right += 1,
            Some(false) => wrong += 1,
            None => {}
        }
    }
    assert!(right > 0 && wrong > 0, "{right} right, {wrong} wrong: the sample says nothing");
}

const ANNOUNCED: &[&str] = &[
    "cell[self] = v; turn = self; x = v",
    "turn = self; let a = turn; if a == self { x = v } else { y = v; x = v }",
    "let him: tid = any; turn = him; if him == self { x = v }; x = v",
    "let him: tid = any; cell[him] = v; x = v",
    "cell[self] = v; let him = turn; turn = self; if him != null { x = cell[him] } else { x = v }",
    "cell[self] = v; turn = self; let t = turn; if t != null { x = cell[t] }",
    "note = new Note { who: self, val: v }; x = v",
    "let n = new Note { who: self, val: v }; note = n; let m = note; if m != null && m.who == self { x = v } else { y = v }",
    "cell[self] = v; atomic { cell = [null; tid]; x = v }",
    "note = new Note { who: self, val: v }; let m = note; if m != null { let w = m.who; x = cell[w] }; x = v",
    "if cas(turn, null, self) { x = v; turn = null } else { x = v }",
];

const RECALLED: &[&str] = &[
    "return x",
    "let t = turn; if t == null { return x }; return cell[t]",
    "if turn == self { return y }; return x",
    "let him: tid = any; let a = cell[him]; return x",
    "let m = note; if m != null { let w = m.who; if w == self { return m.val } }; return x",
    "turn = self; let a = x; if turn == self { turn = null; return a }; return x",
    "let a = x; let him: tid = any; assume him != self; if cell[him] == a { return a }; return x",
    "let old = swap(turn, self); if old == null { return x }; return x",
];

/// A register whose operations leave thread numbers in variables, nodes and arrays.
fn random_with_threads(random: &mut Random) -> String {
    let (write, read) = (random.pick(ANNOUNCED), random.pick(RECALLED));
    format!(
        "object random : register\n\
         struct Note {{ who: tid, val: value? }}\n\
         var x: value? = null\n\
         var y: value? = null\n\
         var turn: tid? = null\n\
         var note: Note? = null\n\
         var cell: [value?; tid] = [null; tid]\n\
         method write(v: value) {{ {write}\n return }}\n\
         method read() -> value? {{ {read} }}\n"
    )
}

#[test]
fn programs_that_use_thread_numbers_get_one_verdict_with_and_without_thread_symmetry() {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let all = COMBINATIONS - 1;
    let (mut right, mut wrong, mut fewer) = (0, 0, 0);
    for round in 0..30 {
        let source = random_with_threads(&mut random);
        let base = quick(Options { threads: 2 + round % 2, values: 2, ..Options::default() });
        let mut some = vec![all, all ^ 16, 0, 16, all ^ 128, all ^ 128 ^ 16, all ^ 32, all ^ 64];
        some.extend((0..6).map(|_| random.below(COMBINATIONS.into()) as u32));
        match all_agree(&source, &base, &some) {
            Some(true) => right += 1,
            Some(false) => wrong += 1,
            None => {}
        }
        let states = |number| {
            let options = Options { reductions: Reductions::numbered(number), ..base.clone() };
            run(&program(&source), &options).expect("it can be explored").statistics.stored
        };
        fewer += usize::from(states(all) < states(all ^ 16));
    }
    assert!(right > 2 && wrong > 2, "{right} right, {wrong} wrong: the sample says nothing");
    assert!(fewer > 12, "{fewer}: threads are not interchanged");
}

const REMEMBERED: &[&str] = &[
    "last = v; x = v",
    "x = v; last = v",
    "mine = turn; turn = self; x = v",
    "mine = swap(turn, self); x = v; if mine == null { turn = null }",
    "heir[self] = turn; turn = self; x = v",
    "heir[self] = self; last = v; x = v; heir[self] = null",
    "let h = heir[self]; heir[self] = turn; turn = self; if h != null { cell[h] = v }; x = v",
    "atomic { last = v; mine = self }; cell[self] = last; x = cell[self]",
];

const RETOLD: &[&str] = &[
    "if last == null { return y }; return x",
    "if mine == self { return y }; return x",
    "if mine != null { turn = mine }; last = x; return last",
    "let h = heir[self]; if h != null && h != self { return cell[h] }; return x",
    "let h = heir[self]; if h == self { return last }; return x",
    "let a = x; atomic { last = a }; return last",
    "let t = turn; if t != null && heir[t] == self { return y }; return x",
];

const CLIENTS: &[&str] = &[
    "thread all * rest { loop { write(any); read() } }",
    "thread all * rest { write(any); read(); write(any); read() }",
    "thread one { loop { write(any); read() } } thread others * rest { loop { read() } }",
    "thread one { loop { read() } } thread others * rest { write(any); let a = read(); let b = read(); if a == b { write(any) }; read() }",
];

/// A register whose threads remember values and threads from one operation to the next, with
/// threads of several roles.
fn random_with_memory(random: &mut Random) -> String {
    let (write, read) = (random.pick(REMEMBERED), random.pick(RETOLD));
    let (start, client) = (random.pick(&["self", "null"]), random.pick(CLIENTS));
    let init = random.pick(&["", "init { turn = self }", "init { heir[self] = self }"]);
    format!(
        "object random : register\n\
         var x: value? = null\n\
         var y: value? = null\n\
         var turn: tid? = null\n\
         var cell: [value?; tid] = [null; tid]\n\
         var heir: [tid?; tid] = [null; tid]\n\
         thread var mine: tid? = {start}\n\
         thread var last: value? = null\n\
         {init}\n\
         method write(v: value) {{ {write}\n return }}\n\
         method read() -> value? {{ {read} }}\n\
         client roles {{ {client} }}\n"
    )
}

#[test]
fn programs_whose_threads_remember_get_one_verdict_from_all_combinations() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let (mut right, mut wrong) = (0, 0);
    for round in 0..40 {
        let source = random_with_memory(&mut random);
        let client = Some("roles".to_string());
        let base =
            quick(Options { threads: 2 + round % 2, values: 2, client, ..Options::default() });
        let all = COMBINATIONS - 1;
        let some = [all, all ^ 1, all ^ 2, all ^ 16, all ^ 17, all ^ 32, all ^ 128];
        match all_agree(&source, &base, &some) {
            Some(true) => right += 1,
            Some(false) => wrong += 1,
            None => {}
        }
    }
    assert!(right > 5 && wrong > 5, "{right} right, {wrong} wrong: the sample says nothing");
}

/// How an operation comes by a node of its own.
const OWN: &[&str] = &[
    "let m = new Node { val: v, dead: true, link: (0, false) }",
    "let m = new Node { val: v, dead: false, link: (1, true) }",
    "mine = new Node { val: v, dead: false, link: (0, true) }; let m = mine",
    "let m = d0",
    "let m = new Node { val: v, dead: false, link: (0, false) }; m.dead = true; m.link.1 = true",
];

/// How an operation begins: with a read, with nothing shared, or with a `cas`.
const FIRST: &[&str] = &[
    "let t = top",
    "let t = old",
    "if cas(top, old, null) { x = v }; let t = old",
    "if cas(d0.dead, false, true) { x = v }; let t = top",
];

/// What an operation does next; `E` is what it does when it gives up, `#` a number of its own.
const DOINGS: &[&str] = &[
    "m.link.0 = 1",
    "m.link.1 = true",
    "m.link = (0, false)",
    "m.dead = false",
    "m.dead = true",
    "if m.dead { E }",
    "let l# = m.link; if l#.1 { E }",
    "mine = m",
    "old = t",
    "t = top",
    "x = v",
    "if t != null { t.dead = true }",
    "if t != null && t.dead { E }",
    "if t != null { let l# = t.link; if l#.1 { E } else { cas(t.link, l#, (l#.0, true)) } }",
    "if cas(d0.link, (0, false), (1, true)) { x = v }",
    "if x == null { m.link = (2, true); E }",
    "if mine != null { mine.dead = true }",
    "if mine != null { mine.link.1 = false }",
    "let a# = x; assume a# != null",
    "x = v; let a# = false; assume a#",
    "let o#: tid = any; assume o# != self",
    "d0.dead = true; let o#: tid = any; assume o# != self",
    "await x != null",
    "choose { x = v or m.dead = true }",
    "if mine != null { assert !mine.dead }",
    "assert !d0.link.1",
    "if old != null { assert !old.link.1 }",
    "lock(l); let a# = x; x = a#; unlock(l)",
];

/// How an attempt ends.
const STRIKES: &[&str] = &[
    "if cas(top, t, m) { R }",
    "if cas(top, old, m) { R }",
    "if cas(top, t, m) { x = v; R }",
    "if t == null { if cas(top, null, m) { R } } else { if cas(t.link, (0, false), (0, true)) { R } }",
];

const SPECS: &[&str] = &[
    "spec own { var c: value? = null\n method write(v: value) { c = v }\n method read() -> value? { return c } }",
    "spec own { var c: value? = null\n method write(v: value) { c = v }\n method read() -> value? { assume c != null; return c } }",
    "spec own { method write(v: value) { }\n method read() -> value? { let r: value? = any; return r } }",
];

const ATTEMPTERS: &[&str] = &[
    "thread a { write(any); read() } thread b { read(); write(any) }",
    "thread a { read(); write(any) } thread b { read(); read() }",
    "thread a { loop { read() } } thread b { write(any); write(any) }",
    "thread a { write(any) } thread b { loop { read() } }",
];

/// The body of an operation: mostly a retry loop, with parts of tuples and flags of fresh nodes
/// written on the way.
fn random_attempt(random: &mut Random, finish: &str) -> String {
    let (own, first) = (random.pick(OWN), random.pick(FIRST));
    let count = 1 + random.below(3);
    let doings: Vec<String> =
        (0..count).map(|n| random.pick(DOINGS).replace('#', &n.to_string())).collect();
    let (doings, strike) = (doings.join("\n "), random.pick(STRIKES));
    let (own, first) = if random.below(4) == 0 { (&"let m = d0", first) } else { (own, first) };
    match random.below(4) {
        0 => format!("{own}\n {first}\n {doings}\n R").replace('E', "x = null"),
        1 => format!("{own}\n {first}\n loop {{ {doings}\n {strike}\n t = top }}")
            .replace('E', "continue"),
        _ => format!("{own}\n loop {{ {first}\n {doings}\n {strike} }}").replace('E', "continue"),
    }
    .replace('R', finish)
}

/// An object whose operations retry, remember nodes, wait and assert; some specifications block,
/// some allow everything.
fn random_with_attempts(random: &mut Random) -> String {
    let write = random_attempt(random, "return");
    let finish =
        random.pick(&["return x", "return null", "if t != null { return t.val }; return x"]);
    let read =
        random_attempt(random, finish).replace("val: v", "val: null").replace("= v", "= null");
    let (spec, client) = (random.pick(SPECS), random.pick(ATTEMPTERS));
    format!(
        "object random : own\n{spec}\n\
         struct Node {{ val: value?, dead: bool, link: (int 0..2, bool) }}\n\
         var top: Node? = null\n\
         var x: value? = null\n\
         var d0: Node = new Node {{ val: null, dead: false, link: (0, false) }}\n\
         var l: lock\n\
         thread var mine: Node? = null\n\
         thread var old: Node? = null\n\
         method write(v: value) {{ {write} }}\n\
         method read() -> value? {{ {read} }}\n\
         client c {{ {client} }}\n"
    )
}

#[test]
fn programs_that_retry_and_wait_get_one_verdict_from_all_combinations() {
    let mut random = Random(0xd134_2543_de82_ef95);
    let is_long = seriatim_testing::long();
    let (mut right, mut wrong) = (0, 0);
    for _ in 0..if is_long { 4_000 } else { 120 } {
        let source = random_with_attempts(&mut random);
        let client = Some("c".to_string());
        let base = quick(Options { values: 1, client, ..Options::default() });
        let all = COMBINATIONS - 1;
        let mut some = vec![all, 0, all ^ 128, all ^ 1024, all ^ 2, all ^ 1];
        some.extend((0..2).map(|_| random.below(COMBINATIONS.into()) as u32));
        match all_agree(&source, &base, &some) {
            Some(true) => right += 1,
            Some(false) => wrong += 1,
            None => {}
        }
    }
    println!("{right} right, {wrong} wrong");
    assert!(right > 20 && wrong > 20, "{right} right, {wrong} wrong: the sample says nothing");
}

#[test]
fn algorithms_with_thread_numbers_get_one_verdict_with_and_without_thread_symmetry() {
    let all = COMBINATIONS - 1;
    let some = [all, all ^ 16, all ^ 128, all ^ 128 ^ 16];
    let [polite, twice, once] = ["polite", "twice", "once"].map(|name| Some(name.to_string()));
    for (name, options, holds) in [
        (
            "hsy_stack",
            Options { threads: 2, values: 2, capacity: Some(1), ..Options::default() },
            true,
        ),
        (
            "hsy_stack",
            Options { threads: 3, values: 1, capacity: Some(1), ..Options::default() },
            true,
        ),
        (
            "treiber_hazard",
            Options { threads: 2, values: 2, nodes: Some(3), ..Options::default() },
            true,
        ),
        (
            "treiber_hazard",
            Options { threads: 3, values: 1, nodes: Some(2), ..Options::default() },
            true,
        ),
        // Threads that differ by their order are not exchanged for one another.
        ("bakery_lock", Options { threads: 2, client: twice, ..Options::default() }, true),
        ("lamport_fast_lock", Options { client: polite.clone(), ..Options::default() }, true),
        ("broken/bakery_lock_no_order", Options { client: once, ..Options::default() }, false),
        (
            "peterson_lock",
            Options { threads: 2, client: polite.clone(), ..Options::default() },
            true,
        ),
        ("peterson_lock", Options { threads: 3, client: polite, ..Options::default() }, false),
    ] {
        let options =
            Options { limits: Limits { states: Some(150_000), ..options.limits }, ..options };
        assert_eq!(all_agree(&algorithm(name), &options, &some), Some(holds), "{name}");
    }
}

#[test]
fn the_library_gets_one_verdict_from_many_combinations() {
    let some: Vec<u32> = (0..SWITCHES)
        .map(|bit| 2047 ^ (1 << bit))
        .chain([2047, 127, 0b101_1011, 0b000_1011])
        .collect();
    let base = quick(Options { values: 2, capacity: Some(1), keys: 1, ..Options::default() });
    for name in ["treiber", "lazy_list", "lock_coupling"] {
        assert_eq!(all_agree(&algorithm(name), &base, &some), Some(true), "{name}");
    }
    let capped = Options { nodes: Some(4), ..base };
    assert_eq!(all_agree(&algorithm("michael_scott"), &capped, &some), Some(true));
}

#[test]
fn broken_algorithms_are_refuted_by_many_combinations() {
    let some = every_one_off();
    let base = quick(Options { values: 2, capacity: Some(2), keys: 2, ..Options::default() });
    let broken = [
        ("treiber", "if cas(top, t, s) { return t.val }", "top = s; return t.val"),
        ("lazy_list", "if !p.marked && !c.marked && p.next == c {", "if true {"),
    ];
    for (name, right, wrong) in broken {
        let source = algorithm(name).replacen(right, wrong, 1);
        assert_eq!(all_agree(&source, &base, &some), Some(false), "{name}");
    }
}

#[test]
fn threads_that_all_wait_after_their_calls_are_a_deadlock_under_every_switch() {
    let source = "object o : register\nvar x: value? = null\nvar y: value? = null\n\
        method write(v: value) { await x == v; x = v }\nmethod read() -> value? { return x }";
    for (client, expected) in
        [("", false), ("client safe { thread all * rest { loop { read() } } }", true)]
    {
        let client_name = (!client.is_empty()).then(|| "safe".to_string());
        let base = Options { client: client_name, values: 2, ..Options::default() };
        let numbers: Vec<u32> = (0..COMBINATIONS).step_by(29).collect();
        assert_eq!(all_agree(&format!("{source}\n{client}"), &base, &numbers), Some(expected));
    }
}

#[test]
fn a_loop_on_a_variable_that_nobody_writes_is_no_error_under_any_switch() {
    let source = "object o : register\nvar x: value? = null\nvar never: bool = false\n\
        method write(v: value) { x = v; while !never { } }\nmethod read() -> value? { return x }";
    let base = Options { values: 2, ..Options::default() };
    let numbers: Vec<u32> = (0..COMBINATIONS).step_by(29).collect();
    assert_eq!(all_agree(source, &base, &numbers), Some(true));
    let choosing = source.replace(
        "while !never { }",
        "let o: tid = any; assume o != self; while !never { o = any; assume o != self }",
    );
    assert_eq!(all_agree(&choosing, &base, &numbers), Some(true));
}

#[test]
fn a_deadlock_is_found_with_and_without_reductions() {
    let source = "object o : register\nvar a: lock\nvar b: lock\nvar x: value? = null\n\
        method write(v: value) { lock(a); lock(b); x = v; unlock(b); unlock(a) }\n\
        method read() -> value? { lock(b); lock(a); let r = x; unlock(a); unlock(b); return r }";
    let program = program(source);
    for number in (0..COMBINATIONS).step_by(11) {
        let options =
            Options { reductions: Reductions::numbered(number), values: 1, ..Options::default() };
        match run(&program, &options).expect("it can be explored").verdict {
            Verdict::Violation(found) => assert_eq!(found.kind, ViolationKind::Deadlock),
            other => panic!("combination {number}: {other:?}"),
        }
    }
}

#[test]
fn any_number_of_workers_finds_the_same_states_and_the_same_run() {
    let broken = algorithm("michael_scott").replacen(
        "if cas(head, h, x) { return v }",
        "head = x; return v",
        1,
    );
    for (source, threads) in
        [(algorithm("michael_scott"), 3), (algorithm("lazy_list"), 3), (broken, 2)]
    {
        let program = program(&source);
        let explored = |jobs: usize| {
            let options = Options { threads, capacity: Some(2), jobs, ..Options::default() };
            let outcome = run(&program, &options).expect("it can be explored");
            let run = match outcome.verdict {
                Verdict::Violation(found) => Some((found.moves, found.history)),
                _ => None,
            };
            let found = outcome.statistics;
            (found.stored, found.kept, found.sets, found.depth, run)
        };
        let alone = explored(1);
        assert_eq!(alone, explored(2));
        assert_eq!(alone, explored(5));
    }
}
