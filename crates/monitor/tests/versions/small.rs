//! Random small histories: the engine, the general search and brute force agree.

use crate::draw::small;
use crate::store::{Event, FIRST, Op, State, Store, check};
use seriatim_monitor::{DecidedBy, Options};
use seriatim_persistent::Map;
use seriatim_spec::Verdict;
use std::collections::{BTreeMap, HashSet};

/// Whether some order explains the history: all of them are tried, on the whole object.
fn brute_force(store: Store, events: &[Event]) -> bool {
    let completed = |place: &usize| events[*place].ret.is_some();
    let all: u32 = (0..events.len()).filter(completed).map(|place| 1 << place).sum();
    let mut seen: HashSet<(u32, State)> = HashSet::new();
    let mut waiting: Vec<(u32, State)> = vec![(0, (FIRST, Map::new()))];
    while let Some((done, state)) = waiting.pop() {
        if done & all == all {
            return true;
        }
        if !seen.insert((done, state.clone())) {
            continue;
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
    ];
    words.iter().find(|(part, _)| sentence.contains(part)).map_or("other", |&(_, level)| level)
}

fn agree(seeds: std::ops::Range<u64>) -> BTreeMap<&'static str, usize> {
    let store = Store::default();
    let options = Options { threads: 1, ..Options::default() };
    let mut levels: BTreeMap<&'static str, usize> = BTreeMap::new();
    for seed in seeds {
        let events = small(store, seed);
        let checked = check(store, &events, &options);
        let expected = brute_force(store, &events);
        let found = match &checked.verdict {
            Verdict::Linearizable(_) => true,
            Verdict::Violation(_) => false,
            Verdict::Unknown(unknown) => panic!("seed {seed}: {unknown:?}"),
        };
        assert_eq!(found, expected, "seed {seed}: {events:#?}");
        assert_eq!(checked.defect, None, "seed {seed}");
        let part = &checked.parts[0];
        assert_eq!(part.decided_by, DecidedBy::Monitor("versions"), "{seed} {:?}", part.fell_back);
        let level = match &checked.verdict {
            Verdict::Violation(core) => level(&core.explanation.sentence),
            _ => "linearizable",
        };
        *levels.entry(level).or_default() += 1;
    }
    levels
}

#[test]
fn small_histories_get_the_verdict_of_brute_force() {
    let count = if std::env::var_os("SERIATIM_LONG").is_some() { 1_100_000 } else { 40_000 };
    let levels = agree(0..count);
    println!("{levels:?}");
    for level in ["linearizable", "one version twice", "real time", "nobody", "one key"] {
        assert!(levels.get(level).is_some_and(|&count| count > 20), "{level}: {levels:?}");
    }
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
