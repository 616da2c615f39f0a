//! The law of all rewritings, on concrete runs: what a program can do, its reduction can do.
//!
//! Random runs of two or three threads of a program give histories of calls, returns and failures;
//! each must be one of the reduction, which is searched for it in all ways. Mutants are programs of
//! which nobody thought when the conditions of the rewritings were written down: slices and words
//! that are locks must be right for them, too. (Ticket locks that the wrong thread passes on are
//! kept out by the proof, not by the rewriting.)

use super::Reduction;
use seriatim_lang::choices::Choices;
use seriatim_lang::machine::{Bounds, Granularity, Machine, Seen, State, Stop};
use seriatim_lang::range::Range;
use seriatim_lang::steps::{NULL, Op, Steps};
use seriatim_lang::types::{Kind, Scalar};
use seriatim_lang::{Program, check, lower};
use std::collections::HashSet;

#[path = "../../tests/suite/common/mod.rs"]
#[allow(unused_imports)]
mod mutants;

const SLICED: [&str; 5] = [
    "treiber_statistics",
    "michael_scott_stamped",
    "lazy_list_statistics",
    "lock_coupling_signed",
    "cas_counter_retries",
];
const SPUN: [&str; 8] = [
    "owner_stack",
    "int_coupling",
    "owner_coupling",
    "spin_lazy_list",
    "trylock_list",
    "spin_stack",
    "spin_counter",
    "spin_coupling",
];
/// Broken, so that they do what others do not.
const BROKEN: [&str; 10] = [
    "broken/lock_coupling_signed_beyond_the_end",
    "broken/treiber_statistics_average",
    "broken/treiber_statistics_empty_by_count",
    "broken/owner_stack_looks_only",
    "broken/trylock_list_ignores_failure",
    "broken/int_coupling_early_release",
    "broken/swap_register_two_steps",
    "broken/once_cell_check_then_set",
    "broken/boxed_register_blind_exchange",
    "broken/boxed_counter_wrong_record",
];
const VALUED: [&str; 6] =
    ["swap_register", "once_cell", "consensus", "boxed_register", "boxed_counter", "lazy_value"];
const TICKETS: [&str; 4] = ["ticket_counter", "ticket_stack", "ticket_queue", "ticket_set"];
const QUEUED: [&str; 8] = [
    "clh_counter",
    "clh_stack",
    "clh_queue",
    "clh_set",
    "mcs_counter",
    "mcs_stack",
    "mcs_queue",
    "mcs_set",
];

const COUNTED: [&str; 4] =
    ["treiber_versioned", "treiber_versioned_peek", "treiber_versioned_anew", "pool_versioned"];

const SECTIONS: [&str; 6] = [
    "coarse_pair",
    "spin_accounts",
    "ticket_snapshot",
    "seqlock_cas",
    "seqlock_locked",
    "seqlock_statistics",
];
/// Broken, and still with sections.
const BROKEN_SECTIONS: [&str; 3] = [
    "broken/coarse_pair_two_sections",
    "broken/coarse_pair_crossed",
    "broken/ticket_snapshot_plain_update",
];

/// What is seen of a run from outside.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Event {
    Call(usize, u32, Vec<i32>),
    Return(usize, Vec<i32>),
    Fails,
}

fn events(thread: usize, seen: &Seen) -> Vec<Event> {
    let call = seen.call.iter().map(|(m, args)| Event::Call(thread, *m, args.clone()));
    call.chain(seen.ret.iter().map(|values| Event::Return(thread, values.clone()))).collect()
}

fn machine(steps: Steps) -> (Machine, State) {
    let bounds = Bounds { values: 2, keys: 2, nodes: None, capacity: None };
    let mut machine = Machine::new(steps, bounds, Granularity::Fine);
    let initial = machine.initial().expect("it begins");
    (machine, initial)
}

/// All steps of a thread; `None` is one that fails.
fn moves(machine: &Machine, state: &State, thread: usize) -> Vec<Option<(State, Vec<Event>)>> {
    let mut choices = Choices::default();
    let mut found = Vec::new();
    loop {
        let mut to = State::default();
        match machine.run(state, thread, &mut choices, &mut to) {
            Ok(seen) => found.push(Some((to, events(thread, &seen)))),
            Err(Stop::Fault(..)) => found.push(None),
            Err(_) => {}
        }
        if !choices.advance() {
            return found;
        }
    }
}

/// A random history of a program.
fn history(machine: &Machine, initial: &State, seed: u64, length: usize) -> Vec<Event> {
    let mut random = seed | 1;
    let mut below = |count: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random % count as u64) as usize
    };
    let (mut state, mut history) = (initial.clone(), Vec::new());
    for _ in 0..length {
        let thread = below(machine.thread_count());
        let mut all = moves(machine, &state, thread);
        if all.is_empty() {
            continue;
        }
        match all.swap_remove(below(all.len())) {
            Some((to, seen)) => {
                state = to;
                history.extend(seen);
            }
            None => {
                history.push(Event::Fails);
                break;
            }
        }
    }
    history
}

/// Whether a program can have a history, or fails before; none if the search takes too long.
fn can_have(machine: &Machine, initial: &State, history: &[Event]) -> Option<bool> {
    let mut seen: HashSet<(Vec<i32>, Vec<i32>, usize)> = HashSet::new();
    let mut todo = vec![(initial.clone(), 0)];
    while let Some((state, done)) = todo.pop() {
        if done == history.len() {
            return Some(true);
        }
        if !seen.insert((state.words.clone(), state.heap.clone(), done)) {
            continue;
        }
        if seen.len() > 6_000 {
            return None;
        }
        for thread in 0..machine.thread_count() {
            for step in moves(machine, &state, thread) {
                let Some((to, events)) = step else { return Some(true) };
                if history[done..].starts_with(&events) {
                    todo.push((to, done + events.len()));
                }
            }
        }
    }
    Some(false)
}

/// Clients call with as many numbers as there are values, and 0.
fn few_values(steps: &mut Steps) {
    for instr in &mut steps.code {
        if let Op::Any { kind, .. } = &mut instr.op
            && matches!(kind.scalar, Scalar::Int(range) if range.is_default())
        {
            kind.scalar = Scalar::Int(Range::stated(0, 2));
        }
    }
}

/// A history with numbers for values: 0 for null, and others from 1 on.
fn with_numbers(steps: &Steps, history: &[Event]) -> Vec<Event> {
    let number = |kind: &Kind, word: i32| match kind.scalar {
        Scalar::Value if word == NULL => 0,
        Scalar::Value => word + 1,
        _ => word,
    };
    let all = |kinds: &[Kind], words: &[i32]| {
        kinds.iter().zip(words).map(|(kind, word)| number(kind, *word)).collect::<Vec<i32>>()
    };
    let mut called = [0; 4];
    let translated = history.iter().map(|event| match event {
        Event::Call(thread, method, args) => {
            called[*thread] = *method as usize;
            let kinds = &steps.methods[*method as usize].params;
            Event::Call(*thread, *method, all(kinds, args))
        }
        Event::Return(thread, values) => {
            Event::Return(*thread, all(&steps.methods[called[*thread]].result, values))
        }
        Event::Fails => Event::Fails,
    });
    translated.collect()
}

/// Compares a program with its reductions; gives the number of histories that were found again.
fn compare(name: &str, program: &Program, runs: u64) -> usize {
    let mut found = 0;
    for threads in 2..=3 {
        let steps = lower(program, threads, None).expect("it lowers");
        let (original, start) = machine(steps.clone());
        for reduction in Reduction::ALL {
            let mut reduced = steps.clone();
            if !reduction.apply(&mut reduced, false) {
                continue;
            }
            few_values(&mut reduced);
            let (reduced, begin) = machine(reduced);
            for seed in 0..runs {
                let seed = (seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                let history = history(&original, &start, seed, 40);
                let history = match reduction {
                    Reduction::Valued => with_numbers(&steps, &history),
                    Reduction::Sliced | Reduction::Locked => history,
                };
                match can_have(&reduced, &begin, &history) {
                    Some(true) => found += 1,
                    Some(false) => panic!("{name}, {reduction:?}: {history:?}"),
                    None => {}
                }
            }
        }
    }
    found
}

fn source(name: &str) -> String {
    let path = format!("{}/../../algorithms/{name}.seri", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).expect("readable")
}

#[test]
fn what_a_program_can_do_its_reduction_can_do() {
    let long = std::env::var_os("SERIATIM_LONG").is_some();
    let (runs, most) = if long { (200, usize::MAX) } else { (8, 10) };
    let mut found = 0;
    let all = SLICED.iter().chain(&SPUN).chain(&VALUED).chain(&BROKEN).chain(&TICKETS);
    for name in all.chain(&QUEUED).chain(&COUNTED).chain(&SECTIONS).chain(&BROKEN_SECTIONS) {
        found += compare(name, &check(&source(name)).expect("right"), runs * 2);
        // The mutants of cells are many and alike.
        if TICKETS.contains(name) || VALUED.contains(name) && !long {
            continue;
        }
        for mutant in mutants::mutants(&source(name)).iter().take(most) {
            if let Ok(program) = check(mutant) {
                found += compare(mutant, &program, runs / 4);
            }
        }
    }
    eprintln!("{found} histories found again");
    assert!(found > 500, "only {found} histories");
}

/// What happens to the keys of one bucket, in a history of the whole table.
fn of_bucket(history: &[Event], bucket: i32, buckets: i32) -> Vec<Event> {
    let mut inside = [false; 4];
    let kept = history.iter().filter(|event| match event {
        Event::Call(thread, _, args) => {
            inside[*thread] = args[0] % buckets == bucket;
            inside[*thread]
        }
        Event::Return(thread, _) => inside[*thread],
        Event::Fails => false,
    });
    kept.cloned().collect()
}

/// A table is as many independent objects as it has buckets: what happens to the keys of one of them
/// can happen to its reduction, also in mutants; and if the table fails, the reduction can.
#[test]
fn a_table_is_a_product_of_its_buckets() {
    let long = std::env::var_os("SERIATIM_LONG").is_some();
    let (runs, most) = if long { (60, usize::MAX) } else { (6, 12) };
    let (mut found, mut divided) = (0, 0);
    let sets = ["hash_set", "hash_set_counted", "hash_spin_set", "hash_lazy_list", "hash_michael"];
    let names = sets.into_iter().chain(["hash_map"]);
    let broken = ["broken/hash_spin_set_test_then_set", "broken/hash_lazy_list_no_validation"];
    for name in names.chain(broken) {
        let mutants = mutants::mutants(&source(name));
        for text in std::iter::once(source(name)).chain(mutants.into_iter().take(most)) {
            let Ok(program) = check(&text) else { continue };
            let steps = lower(&program, 2, None).expect("it lowers");
            let mut reduced = steps.clone();
            super::slice::slice(&mut reduced);
            if !super::bucket::single(&mut reduced) {
                continue;
            }
            divided += 1;
            let bounds = Bounds { values: 2, keys: 3, nodes: None, capacity: None };
            let machine = |steps: Steps| {
                let mut machine = Machine::new(steps, bounds, Granularity::Fine);
                let initial = machine.initial().expect("it begins");
                (machine, initial)
            };
            let ((whole, start), (part, begin)) = (machine(steps), machine(reduced));
            for seed in 1..=runs {
                let seed = u64::wrapping_mul(seed, 0x9e37_79b9_7f4a_7c15);
                let history = history(&whole, &start, seed, 60);
                let fails: &[Event] = match history.last() {
                    Some(Event::Fails) => &[Event::Fails],
                    _ => &[],
                };
                let parts = [0, 1].map(|bucket| of_bucket(&history, bucket, 2));
                let had = parts.map(|events| can_have(&part, &begin, &[&events, fails].concat()));
                // If the table fails, one of its buckets does.
                let enough = if fails.is_empty() { 2 } else { 1 };
                let possible = had.iter().filter(|had| **had != Some(false)).count();
                assert!(possible >= enough, "{text}: {history:?}");
                found += had.iter().filter(|had| **had == Some(true)).count();
            }
        }
    }
    eprintln!("{found} histories of buckets found again, of {divided} tables");
    assert!(found > 300 && divided > 20, "only {found} histories, {divided} tables");
}

/// Programs that are near to a table of independent buckets, and are none: nothing is rewritten.
#[test]
fn what_only_looks_like_a_table_stays() {
    let table = source("hash_set");
    let changes = [
        ("hash(k, BUCKETS)]\n  let c", "hash(k, 1)]\n  let c"),
        ("lock(guards[h])", "lock(guards[0])"),
        ("var guards: [lock; BUCKETS]", "var guards: [lock; BUCKETS]\nvar size: bool = false\n"),
        ("  let h = hash(k, BUCKETS)\n", "  let h = hash(k, BUCKETS); h = 1 - h\n"),
        ("  let h = hash(k, BUCKETS)\n", "  let h = hash(k, BUCKETS); k = +inf\n"),
        (
            "  let h = hash(k, BUCKETS)\n",
            "  let h = hash(k, BUCKETS); if h == 1 { return false }\n",
        ),
        (
            "var guards: [lock; BUCKETS]",
            "var guards: [lock; BUCKETS]\ninit { table[1] = table[0] }",
        ),
        ("var guards: [lock; BUCKETS]", "var guards: [lock; BUCKETS]\ninit { lock(guards[1]) }"),
        ("p.next = c.next", "p.next = c.next; free(c)"),
        (
            "var guards: [lock; BUCKETS]",
            "var guards: [lock; BUCKETS]\nthread var old: Node? = null",
        ),
    ];
    for (old, new) in changes {
        let changed = table.replacen(old, new, 1);
        assert_ne!(changed, table, "{old}");
        let Ok(program) = check(&changed) else { panic!("{new}") };
        let mut steps = lower(&program, 2, None).expect("it lowers");
        assert!(!super::bucket::single(&mut steps), "{new}");
    }
}

/// Programs that are near to one with a counted pointer, and are none: nodes are still given back.
#[test]
fn what_only_looks_like_a_counted_pointer_stays() {
    let source = source("treiber_versioned_peek");
    let frees = |source: &str| {
        let program = check(source).unwrap_or_else(|e| panic!("{}", e.render(source, "")));
        let mut steps = lower(&program, 2, None).expect("it lowers");
        Reduction::Sliced.apply(&mut steps, false);
        steps.frees
    };
    assert!(!frees(&source));
    let changes = [
        ("(Node?, int)", "(Node?, int 0..100)"),
        ("var top:", "var spare: Node? = null\nvar top:"),
        ("(n, t.1 + 1)", "(n, t.1)"),
        ("(n, t.1 + 1)", "(n, t.1 + 2)"),
        ("(n, t.1 + 1)", "(t.0, t.1 + 1)"),
        ("(s, t.1 + 1)", "(null, t.1 + 1)"),
        ("if cas(top, t, (n, t.1 + 1)) { return }", "top = (n, t.1 + 1); return"),
        ("    n.next = t.0\n", ""),
        ("n.next = t.0", "n.next = n"),
        ("n.next = t.0", "n.next = t.0; let u = top; t = u"),
        ("{ return }\n", "{ n.next = null; return }\n"),
        ("{ return }\n", "{ recycle(n); return }\n"),
        ("recycle(t.0)", "recycle(t.0); recycle(t.0)"),
        ("recycle(t.0)", "recycle(s)"),
        ("recycle(t.0)", "free(t.0)"),
        ("let v = t.0.val\n      recycle(t.0)", "recycle(t.0); let v = t.0.val"),
        ("let s = t.0.next", "let s = t.0.next; recycle(t.0)"),
        ("let s = t.0.next", "let s = t.0.next; t = top"),
        ("let s = t.0.next", "let s = t.0.next; if s == null { continue }"),
        ("let s = t.0.next", "let s = t.0.next; s = s.next"),
        ("let s = t.0.next", "let s = t.0.next; t.0.next = null"),
        ("if top == t { return v }", "return v"),
        ("if top == t { return v }", "let u = top; if u.0 == t.0 { return v }"),
        ("if top == t { return v }", "let u = top; if u.1 == t.1 { return v }"),
        ("if top == t { return v }", "let u = top; v = t.0.val; if u == t { return v }"),
        ("if top == t { return v }", "if top != t { return v }"),
    ];
    for (old, new) in changes {
        let changed = source.replacen(old, new, 1);
        assert_ne!(changed, source, "{old}");
        assert!(frees(&changed), "{new}");
    }
}

/// Programs that are near to one with sections and readings, and are none: the number stays.
#[test]
fn what_only_looks_like_a_section_or_a_reading_stays() {
    let (cas, locked) = (source("seqlock_cas"), source("seqlock_locked"));
    let numbers = |source: &str| {
        let program = check(source).unwrap_or_else(|e| panic!("{}", e.render(source, "")));
        let mut steps = lower(&program, 2, None).expect("it lowers");
        Reduction::Valued.apply(&mut steps, false);
        steps.shared.iter().any(|slot| slot.name == "seq")
    };
    assert!(!numbers(&cas) && !numbers(&locked));
    let changes = [
        (&cas, "var seq: int = 0", "var seq: int = 1"),
        (&cas, "var seq: int = 0", "var seq: int 0..100 = 0"),
        (&cas, "if s % 2 == 0", "if s % 2 != 0"),
        (&cas, "if s % 2 == 0", "if s % 3 == 0"),
        (&cas, "if s % 2 == 0", "if s != 0"),
        (&cas, "cas(seq, s, s + 1)", "cas(seq, s, s + 2)"),
        (&cas, "cas(seq, s, s + 1) { return s }", "cas(seq, s, s + 1) { return s + 0 }"),
        (&cas, "if cas(seq, s, s + 1) { return s }", "seq = s + 1; return s"),
        (
            &cas,
            "if cas(seq, s, s + 1) { return s }",
            "let t = seq; if cas(seq, s, s + 1) { return t }",
        ),
        (&cas, "  right = b\n  seq = s + 2", "  seq = s + 2\n  right = b"),
        (&cas, "  seq = s + 2", "  seq = s"),
        (&cas, "  seq = s + 2", "  seq = s + 1"),
        (&cas, "  seq = s + 2", "  seq = s + 2; seq = s"),
        (&cas, "  left = a\n", "  left = a; if a == b { return }\n"),
        (&cas, "  left = a\n", "  left = a; await left == a\n"),
        (&cas, "  left = a\n", "  left = a; while left != a {}; cas(left, a, b)\n"),
        (&cas, "if s % 2 == 1", "if s % 2 == 0"),
        (&cas, "    if s % 2 == 1 { continue }\n", ""),
        (&cas, "if seq == s { return", "if seq != s { return"),
        (&cas, "if seq == s { return", "if seq == seq { return"),
        (&cas, "    if seq == s { return (a, b) }", "    return (a, b)"),
        (
            &cas,
            "    if seq == s { return (a, b) }",
            "    if a == b { return (a, b) }; if seq == s { return (a, b) }",
        ),
        (&cas, "    if seq == s { return (a, b) }", "    if seq == s { return (left, b) }"),
        (
            &cas,
            "    if seq == s { return (a, b) }",
            "    let t = seq; a = left; if t == s { return (a, b) }",
        ),
        (&cas, "    if seq == s { return (a, b) }", "    s = seq; if seq == s { return (a, b) }"),
        (&cas, "    if seq == s { return (a, b) }", "    let c = a; if seq == s { return (c, b) }"),
        (&cas, "    if seq == s { return (a, b) }", "    a = null; if seq == s { return (a, b) }"),
        (&cas, "    let b = right\n", "    let b = right; right = b\n"),
        (
            &locked,
            "  lock(writers)\n  seq = seq + 1\n  left",
            "  seq = seq + 1\n  lock(writers)\n  left",
        ),
        (
            &locked,
            "  seq = seq + 1\n  left",
            "  let s = seq; unlock(writers); lock(writers); seq = s + 1\n  left",
        ),
        (
            &locked,
            "  right = b\n  seq = seq + 1\n  unlock",
            "  unlock(writers); lock(writers)\n  right = b\n  seq = seq + 1\n  unlock",
        ),
        (&locked, "  right = b\n  seq = seq + 1", "  right = b\n  seq = seq + 2"),
        (&locked, "let again = seq", "let again = seq; lock(writers); unlock(writers)"),
        (&locked, "var writers: lock", "var writers: lock\nvar others: lock"),
    ];
    for (source, old, new) in changes {
        let mut changed = source.replacen(old, new, 1);
        if new.contains("others") {
            let at = changed.rfind("lock(writers)\n  seq").expect("a second section");
            changed.replace_range(at..at + 13, "lock(others)");
            let at = changed.rfind("unlock(writers)").expect("its end");
            changed.replace_range(at..at + 15, "unlock(others)");
        }
        assert_ne!(&changed, source, "{old}");
        assert!(numbers(&changed), "{new}");
    }
}

/// Programs that are near to one with a lock or with idle data, and are none: nothing is rewritten.
#[test]
fn what_only_looks_like_a_lock_or_like_idle_data_stays() {
    let owner = source("owner_stack");
    let ticket = source("ticket_stack");
    let boxed = source("boxed_register");
    let counted = source("boxed_counter");
    let queued = source("clh_stack");
    let linked = source("mcs_stack");
    let changes = [
        (
            &linked,
            "tail: Waiter? = null",
            "tail: Waiter? = new Waiter { next: null, waiting: false }",
        ),
        (&linked, "next: null, waiting: false", "next: tail, waiting: false"),
        (&linked, "var tail: Waiter?", "var spare: Waiter? = null\nvar tail: Waiter?"),
        (&linked, "  mine.waiting = true\n", ""),
        (&linked, "mine.waiting = true", "mine.waiting = false"),
        (&linked, "mine.waiting = true", "before.waiting = true"),
        (&linked, "before.next = mine", "mine.next = before"),
        (&linked, "before.next = mine", "before.next = before"),
        (&linked, "  before.next = mine\n", ""),
        (
            &linked,
            "mine.waiting = true\n  before.next = mine",
            "before.next = mine\n  mine.waiting = true",
        ),
        (&linked, "  await !mine.waiting\n", ""),
        (&linked, "await !mine.waiting", "await mine.waiting"),
        (&linked, "await !mine.waiting", "await !before.waiting"),
        (&linked, "await !mine.waiting", "await !mine.waiting; await !mine.waiting"),
        (&linked, "if before == null", "if before != null"),
        (&linked, "let before = swap(tail, mine)", "let before = tail; tail = mine"),
        (&linked, "swap(tail, mine)", "swap(tail, mine); before = swap(tail, mine)"),
        (&linked, "if after == null", "if after != null"),
        (&linked, "cas(tail, mine, null)", "cas(tail, after, null)"),
        (&linked, "if cas(tail, mine, null) { return }", "tail = null; return"),
        (&linked, "    await mine.next != null\n", ""),
        (&linked, "after.waiting = false", "mine.waiting = false"),
        (&linked, "after.waiting = false", "after.waiting = true"),
        (&linked, "after.waiting = false", "after.waiting = false; after.waiting = false"),
        (&linked, "after.waiting = false", "after.next = null"),
        (&linked, "  top = t.next\n  release(mine)", "  top = t.next"),
        (&linked, "acquire(mine)\n  let t", "acquire(mine); acquire(mine)\n  let t"),
        (&queued, "{ held: true }", "{ held: false }"),
        (&queued, "Waiter { held: false }\n", "Waiter { held: true }\n"),
        (&queued, "mine.held = false", "before.held = false"),
        (&queued, "mine.held = false", "mine.held = false; mine.held = false"),
        (&queued, "  await !before.held\n", ""),
        (&queued, "await !before.held", "await !mine.held"),
        (&queued, "await !before.held", "await !before.held; await !before.held"),
        (&queued, "swap(tail, mine)", "swap(tail, mine); before = swap(tail, mine)"),
        (&queued, "let before = swap(tail, mine)", "let before = tail; tail = mine"),
        (&queued, "await !before.held", "await !before.held; assert before != mine"),
        (&queued, "var tail: Waiter =", "var spare: Waiter? = null\nvar tail: Waiter ="),
        (&queued, "  mine.held = false\n  return t.val", "  return t.val"),
        (&owner, "cas(owner, null, self) { return }", "swap(owner, self) == null { return }"),
        (&owner, "while owner != null {}", "while owner != self {}"),
        (&owner, "cas(owner, self, null)", "owner = self"),
        (&ticket, "serving = mine + 1", "serving = mine + 2"),
        (&ticket, "serving = mine + 1", "serving = mine"),
        (&ticket, "fetch_add(next, 1)", "fetch_add(next, 2)"),
        (&ticket, "await serving == mine", "await serving == mine; await serving == mine"),
        (&ticket, "await serving == mine", "await serving != mine"),
        (&ticket, "var serving: int = 0", "var serving: int 0..100 = 0"),
        (&ticket, "let mine = fetch_add(next, 1)", "let mine = 0; mine = fetch_add(next, 1)"),
        (&boxed, "cell = null", "let b = cell; if b != null { b.val = v }"),
        (
            &boxed,
            "if b == null { return null }",
            "let c = cell; if b == c || b == null { return null }",
        ),
        (&boxed, "val: value }", "val: value? }"),
        (&counted, "var current: Count =", "var spare: Count? = null\nvar current: Count ="),
    ];
    for (source, old, new) in changes {
        let changed = source.replacen(old, new, 1);
        assert_ne!(&changed, source, "{old}");
        let program = check(&changed).unwrap_or_else(|e| panic!("{}", e.render(&changed, new)));
        let mut steps = lower(&program, 2, None).expect("it lowers");
        let mut locked = steps.clone();
        Reduction::Locked.apply(&mut locked, false);
        assert!(!locked.code.iter().any(|i| matches!(i.op, Op::Lock(_))), "{new}");
        let unboxed = Reduction::Valued.apply(&mut steps, false) && steps.structs.is_empty();
        assert!(!unboxed, "{new}");
    }
}
