//! The richer built-in objects by name: sorted maps, lines with a capacity, caches, cells that are
//! filled once. Of each it is known whether it is right.

#![allow(missing_docs)]
#![cfg(not(any(feature = "shuttle", feature = "loom")))]

use seriatim_harness::{Failed, Passed, Test, distinct, test};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

type Ran = Result<Passed, Box<Failed>>;
type Subject = (&'static str, fn() -> Ran);
type Entry = (u32, u32);
type Sorted = Mutex<BTreeMap<u32, u32>>;
type Line = Mutex<VecDeque<u32>>;

/// How many values fit.
const ROOM: usize = 2;

/// How often a broken object is tried on a machine that is too busy for enough executions at once.
const TRIES: usize = 400;

/// Counted in executions: how many there are in a second says more of the machine than of the test.
fn run<T: Send + Sync + 'static, H: 'static, V>(test: Test<T, H, V>) -> Ran {
    let test = test.hang_after(Duration::from_secs(5)).executions(800);
    test.budget(Duration::from_secs(6)).shrink_for(Duration::from_millis(200)).run()
}

/// A moment in which others may do something.
fn moment() {
    std::thread::sleep(Duration::from_micros(50));
}

fn entry((key, value): (&u32, &u32)) -> Entry {
    (*key, *value)
}

/// What differs between the right map and broken ones.
struct Ways {
    pop_last: fn(&Sorted) -> Option<Entry>,
    or_insert: fn(&Sorted, u32, u32) -> u32,
}

const RIGHT_WAYS: Ways = Ways {
    pop_last: |map| map.lock().unwrap().pop_last(),
    or_insert: |map, key, value| *map.lock().unwrap().entry(key).or_insert(value),
};

/// A sorted map with every operation that the specification has.
fn sorted_map(ways: Ways) -> Ran {
    let Ways { pop_last, or_insert } = ways;
    run(test(Sorted::default)
        .operation("put", (1..4u32, distinct()), |map, (key, value)| {
            map.lock().unwrap().insert(key, value)
        })
        .operation("update", (1..4u32, distinct()), |map, (key, value)| {
            map.lock().unwrap().get_mut(&key).map(|old| std::mem::replace(old, value))
        })
        .operation("get_or_insert", (1..4u32, distinct()), move |map, (key, value)| {
            or_insert(map, key, value)
        })
        .operation("take", 1..4u32, |map, key| map.lock().unwrap().remove(&key))
        .operation("get", 1..4u32, |map, key| map.lock().unwrap().get(&key).copied())
        .operation("first", (), |map, ()| map.lock().unwrap().iter().next().map(entry))
        .operation("last", (), |map, ()| map.lock().unwrap().iter().next_back().map(entry))
        .operation("pop_first", (), |map, ()| map.lock().unwrap().pop_first())
        .operation("pop_last", (), move |map, ()| pop_last(map))
        .operation("range", (1..3u32, 2..4u32), |map, (from, to)| {
            map.lock().unwrap().range(from..=to.max(from)).map(entry).collect::<Vec<_>>()
        })
        .operation("len", (), |map, ()| map.lock().unwrap().len())
        .spec("sorted-map"))
}

/// Looks for the last entry, and then takes the key away, whatever came after it.
fn look_then_pop(map: &Sorted) -> Option<Entry> {
    let last = map.lock().unwrap().iter().next_back().map(entry)?;
    moment();
    map.lock().unwrap().remove(&last.0).map(|value| (last.0, value))
}

/// Looks for the key, and then inserts: two may think that theirs is the value.
fn look_then_insert(map: &Sorted, key: u32, value: u32) -> u32 {
    let found = map.lock().unwrap().get(&key).copied();
    found.unwrap_or_else(|| {
        moment();
        map.lock().unwrap().insert(key, value);
        value
    })
}

/// Walks from key to key.
fn walk(map: &Sorted, from: u32, to: u32) -> Vec<Entry> {
    let mut entries = Vec::new();
    for key in from..=to.max(from) {
        entries.extend(map.lock().unwrap().get(&key).map(|value| (key, *value)));
        moment();
    }
    entries
}

/// A map whose range walks: among fewer operations two of another thread come into its way more often.
fn range_that_walks() -> Ran {
    run(test(Sorted::default)
        .operation("put", (1..3u32, distinct()), |map, (key, value)| {
            map.lock().unwrap().insert(key, value)
        })
        .operation("range", (1..2u32, 2..3u32), |map, (from, to)| walk(map, from, to))
        .spec("sorted-map"))
}

/// What differs between lines.
struct Ends {
    pop: (&'static str, fn(&Line) -> Option<u32>),
    force: fn(&Line, u32) -> Option<u32>,
    drain: fn(&Line) -> Vec<u32>,
}

const QUEUE: Ends = Ends {
    pop: ("pop", |line| line.lock().unwrap().pop_front()),
    force: |line, value| {
        let mut line = line.lock().unwrap();
        let gone = (line.len() == ROOM).then(|| line.pop_front()).flatten();
        line.push_back(value);
        gone
    },
    drain: |line| line.lock().unwrap().drain(..).collect(),
};

const STACK: Ends = Ends { pop: ("pop_back", |line| line.lock().unwrap().pop_back()), ..QUEUE };

/// A queue, or a stack, with room for two.
fn line(ways: Ends) -> Ran {
    let Ends { pop: (name, pop), force, drain } = ways;
    run(test(Line::default)
        .operation("push_back", distinct(), |line, value| {
            let mut line = line.lock().unwrap();
            let has_room = line.len() < ROOM;
            if has_room {
                line.push_back(value);
            }
            has_room
        })
        .operation("force_push", distinct(), force)
        .operation(name, (), move |line, ()| pop(line))
        .operation("drain", (), move |line, ()| drain(line))
        .operation("len", (), |line, ()| line.lock().unwrap().len())
        .operation("is_full", (), |line, ()| line.lock().unwrap().len() == ROOM)
        .spec(&format!("bounded-deque(capacity={ROOM})")))
}

/// Makes room in one step, and pushes in another one.
fn force_in_two_steps(line: &Line, value: u32) -> Option<u32> {
    let gone = {
        let mut line = line.lock().unwrap();
        (line.len() == ROOM).then(|| line.pop_front()).flatten()
    };
    moment();
    let mut line = line.lock().unwrap();
    if line.len() < ROOM {
        line.push_back(value);
    }
    gone
}

/// Takes one after the other.
fn drain_one_by_one(line: &Line) -> Vec<u32> {
    std::iter::from_fn(|| {
        moment();
        line.lock().unwrap().pop_front()
    })
    .collect()
}

/// A cache that forgets an entry at every third call. One that is broken keeps what was there before
/// the last `put` in a second place, and finds it there when the first has forgotten.
fn cache(finds_old_values: bool) -> Ran {
    struct Cache {
        entries: Mutex<HashMap<u32, u32>>,
        old: Mutex<HashMap<u32, u32>>,
        calls: AtomicU32,
    }
    let make =
        || Cache { entries: Mutex::default(), old: Mutex::default(), calls: AtomicU32::new(0) };
    let forget = |cache: &Cache, key: u32| {
        if cache.calls.fetch_add(1, SeqCst) % 3 == 2 {
            cache.entries.lock().unwrap().remove(&key);
        }
    };
    run(test(make)
        .operation("put", (1..3u32, distinct()), move |cache, (key, value)| {
            forget(cache, 3 - key);
            let before = cache.entries.lock().unwrap().insert(key, value);
            if let Some(before) = before {
                cache.old.lock().unwrap().insert(key, before);
            }
        })
        .operation("get", 1..3u32, move |cache, key| {
            forget(cache, 3 - key);
            let found = cache.entries.lock().unwrap().get(&key).copied();
            let old = || cache.old.lock().unwrap().get(&key).copied();
            found.or_else(|| finds_old_values.then(old).flatten())
        })
        .operation("take", 1..3u32, |cache, key| cache.entries.lock().unwrap().remove(&key))
        .operation("clear", (), |cache, ()| cache.entries.lock().unwrap().clear())
        .spec("cache"))
}

/// A cell that is filled once. A broken one gives everybody their own value.
fn once(own: bool) -> Ran {
    run(test(OnceLock::<u32>::new)
        .operation("set", distinct(), |cell, value| cell.set(value).is_ok())
        .operation("get", (), |cell, ()| cell.get().copied())
        .operation("get_or_init", distinct(), move |cell, value| {
            let found = cell.get().copied();
            moment();
            let kept = *cell.get_or_init(|| value);
            if own && found.is_none() { value } else { kept }
        })
        .spec("once-cell"))
}

/// A map whose values stand in a table that all maps of the process share: right. A broken one shares
/// the entries themselves, so that a new map is not empty.
fn shared(entries_too: bool) -> Ran {
    static NAMES: Mutex<Vec<u32>> = Mutex::new(Vec::new());
    static ENTRIES: Mutex<BTreeMap<u32, usize>> = Mutex::new(BTreeMap::new());
    struct Map(Mutex<BTreeMap<u32, usize>>);
    let entries = move |map: &Map, key: u32, value: Option<u32>| {
        let mut names = NAMES.lock().unwrap();
        let place = value.map(|value| {
            names.iter().position(|name| *name == value).unwrap_or_else(|| {
                names.push(value);
                names.len() - 1
            })
        });
        let mut entries = if entries_too { ENTRIES.lock().unwrap() } else { map.0.lock().unwrap() };
        let found = match place {
            Some(place) => entries.insert(key, place),
            None => entries.get(&key).copied(),
        };
        found.map(|place| names[place])
    };
    run(test(|| Map(Mutex::default()))
        .operation("put", (1..4u32, 1..9u32), move |map, (key, value)| {
            entries(map, key, Some(value))
        })
        .operation("get", 1..4u32, move |map, key| entries(map, key, None))
        .spec("sorted-map"))
}

const RIGHT: &[Subject] = &[
    ("sorted map", || sorted_map(RIGHT_WAYS)),
    ("bounded queue", || line(QUEUE)),
    ("bounded stack", || line(STACK)),
    ("cache that forgets", || cache(false)),
    ("cell", || once(false)),
    ("maps with a common table", || shared(false)),
];

const BROKEN: &[Subject] = &[
    ("pop_last that looks first", || sorted_map(Ways { pop_last: look_then_pop, ..RIGHT_WAYS })),
    ("or_insert that looks first", || {
        sorted_map(Ways { or_insert: look_then_insert, ..RIGHT_WAYS })
    }),
    ("range that walks", range_that_walks),
    ("forced push in two steps", || line(Ends { force: force_in_two_steps, ..QUEUE })),
    ("drain one by one", || line(Ends { drain: drain_one_by_one, ..QUEUE })),
    ("stack that pops at the front", || line(Ends { pop: ("pop_back", QUEUE.pop.1), ..QUEUE })),
    ("cache that finds old values", || cache(true)),
    ("cell of one's own", || once(true)),
    ("maps with common entries", || shared(true)),
];

#[test]
fn no_right_object_of_the_richer_ones_fails() {
    for (name, run) in RIGHT {
        let ran = run();
        assert!(ran.is_ok(), "{name}: {}", ran.err().map_or(String::new(), |failed| failed.report));
    }
}

#[test]
fn every_broken_object_of_the_richer_ones_fails() {
    for (name, run) in BROKEN {
        let fails = (0..TRIES).any(|_| run().is_err());
        assert!(fails, "{name} passed {TRIES} times");
    }
}
