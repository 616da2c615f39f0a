//! What maps, queues, lists and cells are for one thread, and the arguments that maps are called
//! with.

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
        "replace" => {
            let (key, value) = call.arg();
            map.get_mut(&key).map(|held| *held = value).is_some().reply()
        }
        "cas" => {
            let (key, old, new): (u32, u32, u32) = call.arg();
            let held = map.get_mut(&key).filter(|held| **held == old);
            held.map(|held| *held = new).is_some().reply()
        }
        "increment" => {
            let count = map.entry(call.arg()).or_insert(0);
            *count += 1;
            (*count).reply()
        }
        "increment_present" => {
            let count = map.get_mut(&call.arg::<u32>());
            count.map(|count| (*count += 1, *count).1).reply()
        }
        "remove_odd" => {
            let key = call.arg();
            let odd = map.get(&key).is_some_and(|value| value % 2 == 1);
            odd.then(|| map.remove(&key)).flatten().reply()
        }
        "invalidate" => {
            map.remove(&call.arg());
            ().reply()
        }
        "contains" => map.contains_key(&call.arg()).reply(),
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

/// The values of a queue.
pub type Queue = VecDeque<u32>;

/// A queue with room for some values. `push` says whether there was room; `force_push` makes room.
pub fn bounded(
    capacity: usize,
) -> impl Fn(&mut Queue, &ModelCall) -> Reply + Send + Sync + 'static {
    move |held, call| match call.name() {
        "push" => {
            let room = held.len() < capacity;
            if room {
                held.push_back(call.arg());
            }
            room.reply()
        }
        "force_push" => {
            let oldest = if held.len() == capacity { held.pop_front() } else { None };
            held.push_back(call.arg());
            oldest.reply()
        }
        "pop" => held.pop_front().reply(),
        "peek" => held.front().copied().reply(),
        "len" => held.len().reply(),
        "free" => (capacity - held.len()).reply(),
        "is_full" => (held.len() == capacity).reply(),
        "is_empty" => held.is_empty().reply(),
        other => panic!("the queue has no {other}"),
    }
}

/// A queue without a limit.
pub fn unbounded() -> impl Fn(&mut Queue, &ModelCall) -> Reply + Send + Sync + 'static {
    bounded(usize::MAX)
}

/// A cell that is written once.
pub fn once(cell: &mut Option<u32>, call: &ModelCall) -> Reply {
    match call.name() {
        "set" => {
            let new = cell.is_none();
            cell.get_or_insert(call.arg());
            new.reply()
        }
        "init" => (*cell.get_or_insert(call.arg())).reply(),
        "get" => cell.reply(),
        other => panic!("the cell has no {other}"),
    }
}

/// A cell that may be empty.
pub fn slot(slot: &mut Option<u32>, call: &ModelCall) -> Reply {
    match call.name() {
        "swap" => slot.replace(call.arg()).reply(),
        "take" => slot.take().reply(),
        "get" => slot.reply(),
        other => panic!("the slot has no {other}"),
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

/// Runs the test of a queue with room for two values.
pub fn as_two_places<T: Send + Sync + 'static, H: 'static, V>(
    test: Test<T, H, V>,
    budget: Duration,
) -> Outcome {
    test.model(Queue::new(), bounded(2)).budget(budget).run()
}

/// Runs the test of a queue without a limit.
pub fn as_queue<T: Send + Sync + 'static, H: 'static, V>(
    test: Test<T, H, V>,
    budget: Duration,
) -> Outcome {
    test.model(Queue::new(), unbounded()).budget(budget).run()
}
