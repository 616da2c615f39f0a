//! Wrong engines, which the tests must tell from right ones.
//!
//! Each mutant is a mistake that somebody could make in the solver, the preparation, the weak
//! levels, the vector clocks, the session guarantees or the search of counters. A mutant is killed
//! if some history makes it differ from the definition of the level, from the search of `window`,
//! or from the right engine, or makes a second opinion object. `docs/transactions.md` lists them.

use crate::brute;
use crate::check::{Options, Standing, check};
use crate::generate::{Keys, Plant, Store, tiny};
use crate::level::Level;
use crate::mutation::{Mutant, with_mutant};
use crate::transaction::Transactions;
use crate::window::strictly_serializable;

/// Whether a check of a history differs from what is right, under the mutant that is on.
fn is_wrong(history: &Transactions, level: Level, expected: bool) -> bool {
    // A mutant may loop for ever: a limit tells, too.
    let time = Some(std::time::Duration::from_secs(5));
    let options = Options { conflicts: Some(20_000), time, ..Options::default() };
    match check(history, level, &options) {
        Err(_) => true,
        Ok(answer) => match answer.standing {
            Standing::Satisfied(_) => !expected,
            Standing::Violated(_) => expected,
            Standing::Unknown(_) => true,
        },
    }
}

/// Whether small histories tell the mutant that is on.
fn small_histories_tell(kind: Keys) -> bool {
    (0..4000).any(|seed| {
        let history = tiny(seed, kind);
        Level::ALL.into_iter().any(|level| {
            // Below prefix consistency there is no definition to compare counters with.
            let expected = brute::satisfies(&history, level);
            expected.is_some_and(|expected| is_wrong(&history, level, expected))
        })
    })
}

/// Histories of many keys and few sessions, where causal pasts are vector clocks and sessions know
/// many writers, with the levels that these decide and what the right engine says of them.
fn many_keys() -> Vec<(Transactions, Level, bool)> {
    let plants = [Plant::StaleReaders, Plant::Snapshots, Plant::ReadSkew, Plant::Nothing];
    let levels = [Level::Causal, Level::ReadYourWrites, Level::MonotonicReads];
    let mut cases = Vec::new();
    for seed in 0..24 {
        let plant = plants[seed as usize % plants.len()];
        let store =
            Store { seed, clients: 4, keys: 24, transactions: 160, plant, ..Store::default() };
        for level in levels {
            let history = store.run();
            let answer = check(&history, level, &Options::default()).expect("no defect");
            let holds = matches!(answer.standing, Standing::Satisfied(_));
            cases.push((history, level, holds));
        }
    }
    cases
}

/// Whether histories of a store that works tell the mutant that is on.
fn long_histories_tell() -> bool {
    (0..60).any(|seed| {
        let (clients, keys) = if seed % 2 == 0 { (10, 10) } else { (20, 6) };
        let store = Store { seed, clients, keys, transactions: 3000, ..Store::default() };
        let store = if seed % 4 == 3 { Store { plant: Plant::Snapshots, ..store } } else { store };
        let history = store.run();
        let levels = match store.plant {
            Plant::Snapshots => [Level::SnapshotIsolation, Level::Prefix],
            _ => [Level::StrictSerializable, Level::Serializable],
        };
        levels.into_iter().any(|level| is_wrong(&history, level, true))
    })
}

#[test]
fn every_mutant_is_killed() {
    let many_keys = many_keys();
    assert!(many_keys.iter().any(|case| case.2) && many_keys.iter().any(|case| !case.2));
    let many_keys_tell =
        || many_keys.iter().any(|(history, level, holds)| is_wrong(history, *level, *holds));
    let survivors: Vec<Mutant> = Mutant::ALL
        .into_iter()
        .filter(|&mutant| {
            let is_killed = with_mutant(mutant, || {
                small_histories_tell(Keys::Registers)
                    || small_histories_tell(Keys::Lists)
                    || many_keys_tell()
                    || small_histories_tell(Keys::Counters)
                    || long_histories_tell()
            });
            !is_killed
        })
        .collect();
    assert_eq!(survivors, []);
}

#[test]
fn no_mutant_gives_a_wrong_verdict() {
    let mut noticed = Vec::new();
    for mutant in Mutant::ALL {
        for seed in 0..300 {
            for kind in [Keys::Registers, Keys::Lists] {
                let history = tiny(seed, kind);
                for level in Level::ALL {
                    let expected = brute::satisfies(&history, level).expect("it is small");
                    let options = Options { conflicts: Some(20_000), ..Options::default() };
                    let wrong = match with_mutant(mutant, || check(&history, level, &options)) {
                        Err(_) => {
                            noticed.push(mutant);
                            false
                        }
                        Ok(answer) => match answer.standing {
                            Standing::Satisfied(_) => !expected,
                            Standing::Violated(_) => expected,
                            Standing::Unknown(_) => false,
                        },
                    };
                    assert!(!wrong, "{mutant:?}, {level}, {kind:?} {seed}");
                }
            }
        }
    }
    noticed.dedup();
    println!("noticed: {noticed:?}");
    assert!(noticed.len() > 8, "only {noticed:?}: the others are not broken here");
}

#[test]
fn long_histories_tell_a_short_learnt_clause() {
    // Small histories have few conflicts to learn from: they alone would not do.
    assert!(with_mutant(Mutant::ShortLearntClause, long_histories_tell));
}

#[test]
fn long_histories_are_decided_as_by_a_search_through_real_time() {
    let is_long = std::env::var_os("SERIATIM_LONG").is_some_and(|value| value == "1");
    let (seeds, mut told) = (if is_long { 600 } else { 12 }, [0, 0, 0]);
    for seed in 0..seeds {
        let plants = [Plant::Nothing, Plant::LostUpdate, Plant::StaleRead, Plant::WriteSkew];
        let store = Store {
            seed,
            clients: 3 + seed as usize % 6,
            keys: 4 + seed as usize % 7,
            transactions: if seed % 4 == 0 { 3000 } else { 300 },
            unknown: if seed % 3 == 0 { 0.05 } else { 0.0 },
            plant: plants[seed as usize / 2 % 4],
            ..Store::default()
        };
        let history = store.run();
        let Some(expected) = strictly_serializable(&history, 2_000_000) else {
            told[2] += 1;
            continue;
        };
        told[usize::from(!expected)] += 1;
        assert!(!is_wrong(&history, Level::StrictSerializable, expected), "{store:?}");
    }
    println!("yes {} no {} undecided by the search {}", told[0], told[1], told[2]);
    assert!(told[0] > 0 && told[1] > 0 && told[2] * 4 < seeds, "{told:?}");
}
