//! Locks that are taken in an order keep nobody waiting for ever: which algorithms are known to do
//! so, which are not, and that `explore` never finds a deadlock where it is claimed that there is
//! none. `SERIATIM_LONG=1` takes more mutants.

use crate::common::{long, program};
use crate::mutants::prover;
use seriatim_certify::certify;
use seriatim_explore::{Limits, Verdict, ViolationKind};
use seriatim_lang::{Program, check};
use seriatim_prove::{Options, Outcome, prove};

/// Whether locks are taken in an order; none if there is no proof.
fn in_order(program: &Program, views: usize) -> Option<bool> {
    let options = Options { views, ..Options::default() };
    let Outcome::Proved(proof) = prove(program, &options) else { return None };
    let certificate = proof.certificate(program).expect("it has one");
    Some(certify(program, &certificate).expect("it is accepted").locks_in_order)
}

fn deadlocks(program: &Program, threads: u32, states: u64) -> bool {
    let base = seriatim_explore::Options::default();
    let limits = Limits { states: Some(states), ..base.limits };
    let options = seriatim_explore::Options {
        threads,
        values: 2,
        keys: 3,
        capacity: Some(3),
        limits,
        ..base
    };
    match seriatim_explore::run(program, &options).map(|outcome| outcome.verdict) {
        Ok(Verdict::Violation(found)) => matches!(found.kind, ViolationKind::Deadlock),
        _ => false,
    }
}

#[test]
fn locks_in_variables_are_ranked_and_locks_in_nodes_follow_the_keys() {
    let ordered = [
        "coarse_stack",
        "coarse_set",
        "two_lock_queue",
        "lock_counter",
        "lazy_value",
        "lock_coupling",
        "lock_coupling_signed",
        "lazy_list",
        "hash_set",
        "hash_lazy_list",
        "coarse_map",
        "lock_coupling_map",
        "lazy_map",
        "hash_map",
    ];
    for name in ordered {
        assert_eq!(in_order(&program(name), 400_000), Some(true), "{name}");
    }
    // One waits for an item, the other for its turn.
    for name in ["blocking_buffer", "ticket_stack"] {
        assert_ne!(in_order(&program(name), 400_000), Some(true), "{name}");
    }
}

/// Two locks in two orders, one lock twice, a lock that is kept, a lock that is taken at the start,
/// the locks of nodes up and down the list: all are linearizable, and stand still. In one order, be
/// it down the list, they do not.
#[test]
fn locks_in_two_orders_are_not_taken_for_one() {
    let counter = prover::algorithm("lock_counter");
    let both = |source: &str| {
        let with = source.replace("var guard: lock", "var guard: lock\nvar second: lock");
        assert_ne!(with, source, "the lock has this name");
        with
    };
    let nested = |text: &str, at: usize, first: &str, then: &str| {
        let (begin, rest) =
            text.split_at(text.match_indices("  lock(guard)").nth(at).expect("a lock").0);
        let rest = rest.replacen("  lock(guard)", &format!("  lock({first})\n  lock({then})"), 1);
        let rest = rest.replacen("  unlock(guard)", "  unlock(guard)\n  unlock(second)", 1);
        format!("{begin}{rest}")
    };
    let same = nested(&nested(&both(&counter), 1, "guard", "second"), 0, "guard", "second");
    let crossed = nested(&nested(&both(&counter), 1, "second", "guard"), 0, "guard", "second");
    let twice = counter.replacen("  lock(guard)", "  lock(guard)\n  lock(guard)", 1);
    let kept = counter.replacen("  unlock(guard)\n", "", 1);
    let begun = counter.replacen("var guard: lock", "var guard: lock\ninit { lock(guard) }", 1);
    let lazy = prover::algorithm("lazy_list");
    let down = lazy.replace("lock(p); lock(c)", "lock(c); lock(p)");
    let up_and_down = lazy.replacen("lock(p); lock(c)", "lock(c); lock(p)", 1);
    let cases = [
        (same, true),
        (crossed, false),
        (twice, false),
        (kept, false),
        (begun, false),
        (down, true),
        (up_and_down, false),
    ];
    for (text, expected) in cases {
        let program = check(&text).unwrap_or_else(|e| panic!("{}", e.render(&text, "test")));
        if let Some(found) = in_order(&program, 400_000) {
            assert_eq!(found, expected, "{text}");
        } else {
            assert!(!expected, "{text}");
        }
        assert_ne!(deadlocks(&program, 2, 200_000), expected, "{text}");
    }
}

#[test]
fn explore_finds_no_deadlock_where_locks_are_taken_in_an_order() {
    let (mut ordered, mut not) = (0, 0);
    let names = ["two_lock_queue", "lock_counter", "coarse_set", "lock_coupling", "hash_set"];
    let more: &[&str] = if long() { &["lazy_list", "hash_lazy_list", "lazy_value"] } else { &[] };
    for name in names.iter().chain(more) {
        for mutant in prover::mutants(&prover::algorithm(name)) {
            let Ok(program) = check(&mutant) else { continue };
            let views = if long() { 60_000 } else { 1_500 };
            match in_order(&program, views) {
                Some(true) => {
                    ordered += 1;
                    for threads in 2..=3 {
                        let found =
                            deadlocks(&program, threads, if long() { 60_000 } else { 4_000 });
                        assert!(!found, "{threads} threads stand still:\n{mutant}");
                    }
                }
                Some(false) => not += 1,
                None => {}
            }
        }
    }
    eprintln!("{ordered} mutants take their locks in an order, {not} that are proved do not");
    assert!(ordered > 20 && not > 20, "{ordered}, {not}");
}
