//! Random small histories: the engine, the general search and brute force agree.

use crate::draw::{Kind, small_of};
use crate::store::{
    Event, FIRST, Op, Opaque, State, Store, check, check_opaque, check_sparse, told,
};
use seriatim_monitor::{DecidedBy, Options};
use seriatim_persistent::Map;
use seriatim_spec::{Verdict, Version};
use std::collections::{BTreeMap, HashSet};

/// Whether some order explains the history: all of them are tried, on the whole object, with the
/// revision rising by itself in between if it is sparse.
fn brute_force(kind: Kind, store: Store, events: &[Event]) -> bool {
    let highest = match kind {
        // A little farther than it claims to be necessary.
        Kind::Open => Opaque::new(store, events).highest() + 3,
        _ => told(store, events).flatten().map(Version::number).max().unwrap_or(FIRST),
    };
    let completed = |place: &usize| events[*place].ret.is_some();
    let all: u32 = (0..events.len()).filter(completed).map(|place| 1 << place).sum();
    let mut seen: HashSet<(u32, State)> = HashSet::new();
    let mut waiting: Vec<(u32, State)> = vec![(0, (FIRST, Map::new(), 0))];
    while let Some((done, state)) = waiting.pop() {
        if done & all == all {
            return true;
        }
        if !seen.insert((done, state.clone())) {
            continue;
        }
        if kind.is_sparse() && state.0 < highest {
            waiting.push((done, (state.0 + 1, state.1.clone(), state.2)));
        }
        for (place, event) in events.iter().enumerate() {
            let is_free = |other: usize| {
                let over = events[other].ret.as_ref().is_some_and(|&(ret, _)| ret < event.call);
                done >> other & 1 == 1 || !over
            };
            if done >> place & 1 == 1 || !(0..events.len()).all(is_free) {
                continue;
            }
            let (after, ret) = store.run(&state, &event.op);
            if event.ret.as_ref().is_none_or(|(_, told)| *told == ret) {
                waiting.push((done | 1 << place, after));
            }
        }
    }
    false
}

/// Who decided, in the words of the explanation of a violation.
fn level(sentence: &str) -> &'static str {
    let words = [
        ("both made version", "one version twice"),
        ("had been told before", "real time"),
        ("starts at", "too low"),
        ("updates", "too high"),
        ("nothing can have made", "nobody"),
        ("too few operations", "too few"),
        ("last of these operations", "one key"),
        ("one key cannot", "one key, used once"),
        ("cannot have made them all", "all keys"),
        ("cannot have made those", "all keys"),
        ("tells no version and fits", "one silent"),
        ("fit nowhere", "silent ones"),
        ("does not fit what changes", "one aside"),
        ("operations that change something", "asides"),
    ];
    words.iter().find(|(part, _)| sentence.contains(part)).map_or("other", |&(_, level)| level)
}

/// How many histories came to which end.
type Levels = BTreeMap<&'static str, usize>;

fn agree(kind: Kind, seeds: std::ops::Range<u64>) -> Levels {
    let store = Store::default();
    let options = Options { threads: 1, ..Options::default() };
    let mut levels = Levels::new();
    for seed in seeds {
        let events = small_of(kind, store, seed);
        let checked = match kind {
            Kind::Sparse => check_sparse(store, &events, &options),
            Kind::Open => check_opaque(store, &events, &options),
            Kind::Told | Kind::Silent | Kind::Aside => check(store, &events, &options),
        };
        let expected = brute_force(kind, store, &events);
        let found = match &checked.verdict {
            Verdict::Linearizable(_) => true,
            Verdict::Violation(_) => false,
            Verdict::Unknown(unknown) => panic!("{kind:?} {seed}: {unknown:?}"),
        };
        assert_eq!(found, expected, "{kind:?} {seed}: {events:#?}");
        assert_eq!(checked.defect, None, "{kind:?} {seed}");
        let part = &checked.parts[0];
        let is_decided = part.decided_by == DecidedBy::Monitor("versions");
        assert!(
            is_decided || matches!(kind, Kind::Silent | Kind::Open | Kind::Aside),
            "{kind:?} {seed} {:?}",
            part.fell_back
        );
        let level = match &checked.verdict {
            _ if !is_decided => "by the general search",
            Verdict::Violation(core) => level(&core.explanation.sentence),
            _ => "linearizable",
        };
        *levels.entry(level).or_default() += 1;
    }
    levels
}

fn count(usual: u64, long: u64) -> u64 {
    if std::env::var_os("SERIATIM_LONG").is_some() { long } else { usual }
}

fn assert_reached(levels: &Levels, wanted: &[&str]) {
    println!("{levels:?}");
    for level in wanted {
        let found = levels.get(level).copied().unwrap_or(0) as u64;
        assert!(found >= count(20, 100), "{level}: {levels:?}");
    }
}

#[test]
fn small_histories_get_the_verdict_of_brute_force() {
    let levels = agree(Kind::Told, 0..count(40_000, 1_100_000));
    assert_reached(
        &levels,
        &[
            "linearizable",
            "one version twice",
            "real time",
            "too high",
            "too low",
            "nobody",
            "too few",
            "one key",
            "all keys",
        ],
    );
}

#[test]
fn operations_that_tell_no_version_get_the_verdict_of_brute_force() {
    let levels = agree(Kind::Silent, 0..count(20_000, 500_000));
    assert_reached(
        &levels,
        &[
            "linearizable",
            "real time",
            "nobody",
            "one key",
            "one silent",
            "silent ones",
            "all keys",
        ],
    );
    let all: usize = levels.values().sum();
    assert!(levels["by the general search"] < all / 100, "{levels:?}");
}

#[test]
fn sparse_versions_get_the_verdict_of_brute_force() {
    let levels = agree(Kind::Sparse, 0..count(20_000, 500_000));
    assert_reached(
        &levels,
        &["linearizable", "one version twice", "real time", "too low", "one key", "all keys"],
    );
}

#[test]
fn sparse_versions_that_some_do_not_tell_get_the_verdict_of_brute_force() {
    let levels = agree(Kind::Open, 0..count(8_000, 200_000));
    assert_reached(
        &levels,
        &["linearizable", "one version twice", "real time", "one key", "one silent", "all keys"],
    );
    let all: usize = levels.values().sum();
    assert!(levels["by the general search"] < all / 50, "{levels:?}");
}

#[test]
fn what_changes_at_no_version_gets_the_verdict_of_brute_force() {
    let levels = agree(Kind::Aside, 0..count(20_000, 500_000));
    assert_reached(&levels, &["linearizable", "real time", "one key", "one aside", "asides"]);
    let all: usize = levels.values().sum();
    assert!(levels["by the general search"] < all / 100, "{levels:?}");
}

#[test]
fn a_read_of_two_keys_is_refuted_by_one_of_them() {
    let event = |op: Op, call: u64, seen: &[i64], revision: u64| Event {
        op,
        call,
        ret: Some((
            call + 1,
            crate::store::Ret {
                flag: 0,
                seen: seen.iter().map(|&value| Some(value)).collect(),
                revision,
            },
        )),
    };
    let events = [
        event(Op::Put(0, 7), 1, &[], 2),
        event(Op::Put(1, 8), 3, &[], 3),
        event(Op::Pair(0, 1), 5, &[7, 9], 3),
    ];
    let checked = check(Store::default(), &events, &Options::default());
    let Verdict::Violation(core) = checked.verdict else { panic!("{}", checked.verdict.word()) };
    assert_eq!(core.operations.len(), 2, "the put of key 1 and the read");
}
