//! What a map and a queue of two places are for one thread, and the arguments that maps are called with.

use seriatim_harness::{Failed, Generator, IntoReply, ModelCall, Passed, Reply, Test, distinct};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// What became of a test.
pub type Outcome = Result<Passed, Box<Failed>>;

/// A map for one thread.
pub type Map = BTreeMap<u32, u32>;

/// A map for one thread. `put` gives back the value before, `set` gives back nothing.
pub fn map(map: &mut Map, call: &ModelCall) -> Reply {
    match call.name() {
        "put" => {
            let (key, value) = call.arg();
            map.insert(key, value).reply()
        }
        "set" => {
            let (key, value) = call.arg();
            map.insert(key, value);
            ().reply()
        }
        "insert_new" => {
            let (key, value) = call.arg();
            let new = !map.contains_key(&key);
            map.entry(key).or_insert(value);
            new.reply()
        }
        "or_insert" => {
            let (key, value) = call.arg();
            (*map.entry(key).or_insert(value)).reply()
        }
        "clear" => {
            map.clear();
            ().reply()
        }
        "take" => map.remove(&call.arg()).reply(),
        "remove" => map.remove(&call.arg()).is_some().reply(),
        "get" => map.get(&call.arg()).copied().reply(),
        "first" => map.first_key_value().map(|(key, value)| (*key, *value)).reply(),
        "pop_first" => map.pop_first().reply(),
        "pop_last" => map.pop_last().reply(),
        "pop_front" => map.pop_first().map(|(_, value)| value).reply(),
        "keys" => map.keys().copied().collect::<Vec<_>>().reply(),
        "len" => map.len().reply(),
        other => panic!("the map has no {other}"),
    }
}

/// A queue with room for two values. `push` says whether there was room.
pub fn two_places(held: &mut VecDeque<u32>, call: &ModelCall) -> Reply {
    match call.name() {
        "push" => {
            let room = held.len() < 2;
            if room {
                held.push_back(call.arg());
            }
            room.reply()
        }
        "force_push" => {
            let oldest = if held.len() == 2 { held.pop_front() } else { None };
            held.push_back(call.arg());
            oldest.reply()
        }
        "pop" => held.pop_front().reply(),
        "len" => held.len().reply(),
        "is_full" => (held.len() == 2).reply(),
        other => panic!("the queue has no {other}"),
    }
}

/// Few keys, so that operations meet; distinct values.
pub fn entry() -> impl Generator<Item = (u32, u32)> {
    (1..4_u32, distinct::<u32>())
}

/// The keys of [`entry`].
pub fn key() -> std::ops::Range<u32> {
    1..4
}

/// Runs the test of a map.
pub fn as_map<T: Send + Sync + 'static, H: 'static, V>(
    test: Test<T, H, V>,
    budget: Duration,
) -> Outcome {
    test.model(Map::new(), map).budget(budget).run()
}
