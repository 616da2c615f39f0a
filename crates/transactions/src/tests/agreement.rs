//! Every level against its definition, on small histories of every kind.

use crate::brute;
use crate::check::{Checker, Options, Standing};
use crate::generate::{Keys, Random, tiny, tiny_of};
use crate::level::Level;
use crate::transaction::{Op, Transactions};

/// How many histories of each kind: more with `SERIATIM_LONG=1`.
fn count(quick: u64, long: u64) -> u64 {
    if std::env::var_os("SERIATIM_LONG").is_some_and(|value| value == "1") { long } else { quick }
}

fn described(history: &Transactions) -> String {
    let line = |txn: &crate::Transaction| {
        let ops: Vec<String> = txn.ops.iter().map(|op| history.op_text(op)).collect();
        format!(
            "{:?} [{}, {:?}] {:?} {}\n",
            txn.session,
            txn.call,
            txn.ret,
            txn.outcome,
            ops.join(" ")
        )
    };
    history.list().iter().map(line).collect()
}

/// Asks all levels both ways. Gives how many were answered yes, no, and not at all.
fn agree(history: &Transactions) -> [u64; 3] {
    let mut counts = [0; 3];
    let mut checker = Checker::new(history, &Options::default());
    for level in Level::ALL {
        let answer = checker.check(level);
        let answer =
            answer.unwrap_or_else(|defect| panic!("{level}: {defect}\n{}", described(history)));
        let found = match answer.standing {
            Standing::Satisfied(_) => Some(true),
            Standing::Violated(_) => Some(false),
            Standing::Unknown(_) => None,
        };
        let is_decided = found.is_some() || !history.reads_counters() || level.orders_commits();
        assert!(is_decided, "{level} is decided with counters:\n{}", described(history));
        if let Some(found) = found {
            let expected = expected(history, level, found);
            assert_eq!(found, expected, "{level} of\n{}", described(history));
        }
        counts[found.map_or(2, |found| usize::from(!found))] += 1;
    }
    counts
}

/// What the definition says. Below prefix consistency counters have none: there a *no* must hold
/// without the reads of counters, and a *yes* of a level above.
fn expected(history: &Transactions, level: Level, found: bool) -> bool {
    let by_definition = brute::satisfies(history, level);
    let by_rest = || match found {
        true => {
            let stronger = [Level::Prefix, Level::SnapshotIsolation];
            let is_adya = level == Level::ReadCommittedAdya;
            let stronger = &stronger[..1 + usize::from(is_adya)];
            Some(stronger.iter().any(|&level| brute::satisfies(history, level) == Some(true)))
        }
        false => brute::satisfies(&without_counters(history), level),
    };
    by_definition.or_else(by_rest).expect("it is small")
}

fn without_counters(history: &Transactions) -> Transactions {
    let mut list = history.list().to_vec();
    list.iter_mut().for_each(|txn| txn.ops.retain(|op| !matches!(op, Op::ReadCounter(..))));
    history.with(list)
}

fn agree_on(kind: Keys, seeds: u64) {
    let mut counts = [0u64; 3];
    for seed in 0..seeds {
        let found = agree(&tiny(seed, kind));
        counts.iter_mut().zip(found).for_each(|(count, more)| *count += more);
    }
    println!(
        "{kind:?}: {seeds} histories, yes {} no {} unknown {}",
        counts[0], counts[1], counts[2]
    );
    assert!(counts[0] > seeds && counts[1] > seeds, "both answers occur often: {counts:?}");
    let may_be_unknown = !matches!(kind, Keys::Registers | Keys::Lists);
    assert!(may_be_unknown || counts[2] == 0, "nothing is ambiguous: {counts:?}");
}

#[test]
fn every_level_of_registers_is_decided_as_by_its_definition() {
    agree_on(Keys::Registers, count(1500, 200_000));
}

#[test]
fn every_level_of_lists_is_decided_as_by_its_definition() {
    agree_on(Keys::Lists, count(800, 100_000));
}

#[test]
fn no_answer_about_counters_is_wrong() {
    agree_on(Keys::Counters, count(800, 50_000));
}

#[test]
fn no_answer_about_repeated_values_is_wrong() {
    agree_on(Keys::RepeatedValues, count(500, 50_000));
}

#[test]
fn no_answer_about_repeated_elements_is_wrong() {
    agree_on(Keys::RepeatedElements, count(1000, 50_000));
}

#[test]
fn without_times_every_level_is_decided_as_by_its_definition() {
    let mut random = Random::new(5);
    for index in 0..count(800, 100_000) {
        let kind = if index % 4 == 0 { Keys::Lists } else { Keys::Registers };
        let size = 3 + (index % 4) as usize;
        agree(&tiny_of(&mut random, size, kind).without_times());
    }
}

#[test]
fn histories_of_six_and_seven_transactions_are_decided_as_by_definition() {
    let mut random = Random::new(77);
    for index in 0..count(60, 20_000) {
        let kind = if index % 3 == 0 { Keys::Lists } else { Keys::Registers };
        let size = 6 + (index % 2) as usize;
        agree(&tiny_of(&mut random, size, kind));
    }
}
