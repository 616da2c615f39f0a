//! Violations that were found before and confirmed without Seriatim: each is to be found again. And
//! controls: objects that are right, some of which drop values late.

use crate::models::{Map, Outcome, as_map, as_two_places, bounded, entry, key};
use crate::{Study, study};
use seriatim_harness::{Borrows, Caller, Own, Test, Tracked, distinct, ends, test, tracked};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;
use std::time::Duration;

/// The violations.
pub const VIOLATIONS: &[Study] = &[
    study("concurrent-map", "concurrent-map, pops", "insert pop_last first", concurrent_map),
    study("mini-moka", "mini-moka", "insert get invalidate_all", mini_moka),
    study("moka", "moka, invalidate_all", "insert get invalidate_all", moka),
    study("moka", "moka, get_with", "get_with insert get remove", moka_get_with),
    study("thingbuf", "thingbuf", "push pop", thingbuf),
    study("quick_cache", "quick_cache", "get_or_insert_with get remove insert", quick),
    study("crossbeam-queue", "ArrayQueue, force_push", "force_push pop len", array_queue),
    study("concurrent-queue", "bounded(2), force_push", "force_push pop is_full", concurrent_force),
    study("async-channel", "bounded(2), force_send", "force_send try_recv is_full", async_force),
    study("boxcar", "boxcar", "push count", boxcar),
    study("flurry", "flurry", "insert remove len", flurry),
];

/// The controls.
pub const CONTROLS: &[Study] = &[
    study("crossbeam-skiplist", "control: SkipMap, values", "put", skip_map_values),
    study("crossbeam-epoch", "control: epoch cell, values", "write read", epoch_cell),
    study("std", "control: locked map, values", "put take", locked_map_values),
    study("std", "control: locked map", "put take get first", locked_map),
    study("rtrb", "control: rtrb, two ends", "push pop", rtrb_ends),
    study("flurry", "control: flurry, pinned", "insert remove get", flurry_pinned),
    study("std", "control: locked queue", "push pop", locked_queue),
    study("std", "control: locked queue by a model", "push pop len", locked_queue_model),
    study("std", "control: locked stack", "push pop", locked_stack),
    study("std", "control: locked heap", "insert extract_min", locked_heap),
    study("std", "control: locked set", "add remove contains", locked_set),
    study("std", "control: atomic counter", "fetch_add read", atomic_counter),
];

type ConcurrentMap = concurrent_map::ConcurrentMap<u32, u32, 4, 2>;

/// A handle of this map is `Send` but not `Sync`. Two keys: what is there when `pop_last` begins, and
/// what comes meanwhile.
fn concurrent_map(budget: Duration) -> Outcome {
    let test: Test<Mutex<ConcurrentMap>, ConcurrentMap, Own> =
        test(|| Mutex::new(ConcurrentMap::new())).handles(|map, _| map.lock().unwrap().clone());
    as_map(
        test.operation("put", (1..3_u32, distinct()), |map, (key, value)| map.insert(key, value))
            .weight(2)
            .operation("pop_last", (), |map, ()| map.pop_last())
            .operation("first", (), |map, ()| map.first()),
        budget,
    )
}

fn mini_moka(budget: Duration) -> Outcome {
    let test = test(|| mini_moka::sync::Cache::<u32, u32>::new(1000))
        .operation("set", entry(), |cache, (key, value)| cache.insert(key, value))
        .operation("get", key(), |cache, key| cache.get(&key))
        .operation("clear", (), |cache, ()| cache.invalidate_all());
    as_map(test, budget)
}

fn moka_cache() -> Test<moka::sync::Cache<u32, u32>> {
    test(|| moka::sync::Cache::<u32, u32>::new(1000))
        .operation("set", entry(), |cache, (key, value)| cache.insert(key, value))
        .operation("get", key(), |cache, key| cache.get(&key))
}

fn moka(budget: Duration) -> Outcome {
    as_map(moka_cache().operation("clear", (), |cache, ()| cache.invalidate_all()), budget)
}

fn moka_get_with(budget: Duration) -> Outcome {
    let test = moka_cache()
        .operation("or_insert", entry(), |cache, (key, value)| cache.get_with(key, || value))
        .operation("take", key(), |cache, key| cache.remove(&key));
    as_map(test, budget)
}

fn thingbuf(budget: Duration) -> Outcome {
    let test = test(|| thingbuf::ThingBuf::<u32>::new(2))
        .operation("push", distinct(), |queue, value| queue.push(value).is_ok())
        .operation("pop", (), |queue, ()| queue.pop());
    as_two_places(test, budget)
}

fn quick(budget: Duration) -> Outcome {
    let test = test(|| quick_cache::sync::Cache::<u32, u32>::new(1000))
        .operation("set", entry(), |cache, (key, value)| cache.insert(key, value))
        .operation("get", key(), |cache, key| cache.get(&key))
        .operation("take", key(), |cache, key| cache.remove(&key).map(|(_, value)| value))
        .operation("or_insert", entry(), |cache, (key, value)| {
            cache.get_or_insert_with(&key, || Ok::<_, ()>(value))
        });
    as_map(test, budget)
}

fn array_queue(budget: Duration) -> Outcome {
    let test = test(|| crossbeam::queue::ArrayQueue::<u32>::new(2))
        .operation("force_push", distinct(), |queue, value| queue.force_push(value))
        .operation("pop", (), |queue, ()| queue.pop())
        .operation("len", (), |queue, ()| queue.len());
    as_two_places(test, budget)
}

fn concurrent_force(budget: Duration) -> Outcome {
    let test = test(|| concurrent_queue::ConcurrentQueue::<u32>::bounded(2))
        .operation("force_push", distinct(), |queue, value| queue.force_push(value).unwrap())
        .operation("pop", (), |queue, ()| queue.pop().ok())
        .operation("is_full", (), |queue, ()| queue.is_full());
    as_two_places(test, budget)
}

fn async_force(budget: Duration) -> Outcome {
    let test = test(|| async_channel::bounded::<u32>(2))
        .operation("force_push", distinct(), |(sender, _), value| sender.force_send(value).unwrap())
        .operation("pop", (), |(_, receiver), ()| receiver.try_recv().ok())
        .operation("is_full", (), |(sender, _), ()| sender.is_full());
    as_two_places(test, budget)
}

fn boxcar(budget: Duration) -> Outcome {
    test(boxcar::Vec::<u32>::new)
        .operation("append", distinct(), |list, value| list.push(value))
        .operation("length", (), |list, ()| list.count())
        .spec("log")
        .budget(budget)
        .run()
}

type Flurry = flurry::HashMap<u32, u32>;

fn flurry(budget: Duration) -> Outcome {
    let test = test(Flurry::new)
        .operation("put", entry(), |map, (key, value)| map.pin().insert(key, value).copied())
        .operation("take", key(), |map, key| map.pin().remove(&key).copied())
        .operation("len", (), |map, ()| map.len());
    as_map(test, budget)
}

/// The threads of a control hold pinned references.
struct Pins;

impl Borrows<Flurry> for Pins {
    type Handle<'a> = flurry::HashMapRef<'a, u32, u32>;

    fn handle(map: &Flurry, _: Caller) -> flurry::HashMapRef<'_, u32, u32> {
        map.pin()
    }
}

fn flurry_pinned(budget: Duration) -> Outcome {
    let test = test(Flurry::new)
        .borrowing::<Pins>()
        .operation("put", entry(), |map, (key, value)| map.insert(key, value).copied())
        .operation("take", key(), |map, key| map.remove(&key).copied())
        .operation("get", key(), |map, key| map.get(&key).copied());
    as_map(test, budget)
}

fn skip_map_values(budget: Duration) -> Outcome {
    test(crossbeam_skiplist::SkipMap::<u32, Tracked>::new)
        .operation("put", (1..4_u32, tracked()), |map, (key, value)| {
            map.insert(key, value);
        })
        .spec("map")
        .budget(budget)
        .run()
}

fn epoch_cell(budget: Duration) -> Outcome {
    use crossbeam::epoch::{Atomic, Owned, Shared, pin};
    use std::sync::atomic::Ordering::SeqCst;
    let replace = |cell: &Atomic<Tracked>, value: Option<Tracked>| {
        let guard = pin();
        let new = value.map_or(Shared::null(), |value| Owned::new(value).into_shared(&guard));
        let old = cell.swap(new, SeqCst, &guard);
        if !old.is_null() {
            // Sound: the cell was the only place that had it.
            unsafe { guard.defer_destroy(old) };
        }
    };
    test(Atomic::<Tracked>::null)
        .operation("write", tracked(), move |cell, value| replace(cell, Some(value)))
        .operation("read", (), |cell, ()| {
            let guard = pin();
            // Sound: what was read is not destroyed as long as the guard lives.
            unsafe { cell.load(SeqCst, &guard).as_ref() }.map(Tracked::number)
        })
        .finally(move |cell| {
            replace(cell, None);
            Ok(())
        })
        .spec("register")
        .budget(budget)
        .run()
}

fn locked_map_values(budget: Duration) -> Outcome {
    test(|| Mutex::new(BTreeMap::<u32, Tracked>::new()))
        .operation("put", (1..4_u32, tracked()), |map, (key, value)| {
            map.lock().unwrap().insert(key, value);
        })
        .spec("map")
        .budget(budget)
        .run()
}

fn locked_map(budget: Duration) -> Outcome {
    let test = test(|| Mutex::new(Map::new()))
        .operation("put", entry(), |map, (key, value)| map.lock().unwrap().insert(key, value))
        .operation("take", key(), |map, key| map.lock().unwrap().remove(&key))
        .operation("get", key(), |map, key| map.lock().unwrap().get(&key).copied())
        .operation("first", (), |map, ()| {
            map.lock().unwrap().first_key_value().map(|(key, value)| (*key, *value))
        });
    as_map(test, budget)
}

fn rtrb_ends(budget: Duration) -> Outcome {
    ends(|| rtrb::RingBuffer::<u32>::new(2))
        .producer("push", distinct(), |producer, value| producer.push(value).is_ok())
        .consumer("pop", (), |consumer, ()| consumer.pop().ok())
        .model(VecDeque::new(), bounded(2))
        .drain("pop")
        .budget(budget)
        .run()
}

fn locked_queue(budget: Duration) -> Outcome {
    test(|| Mutex::new(VecDeque::new()))
        .operation("enqueue", distinct::<u32>(), |queue, value| {
            queue.lock().unwrap().push_back(value)
        })
        .operation("dequeue", (), |queue, ()| queue.lock().unwrap().pop_front())
        .spec("queue")
        .drain("dequeue")
        .budget(budget)
        .run()
}

fn locked_queue_model(budget: Duration) -> Outcome {
    let test = test(|| Mutex::new(VecDeque::new()))
        .operation("push", distinct::<u32>(), |queue, value| {
            let mut queue = queue.lock().unwrap();
            let room = queue.len() < 2;
            if room {
                queue.push_back(value);
            }
            room
        })
        .operation("pop", (), |queue, ()| queue.lock().unwrap().pop_front())
        .operation("len", (), |queue, ()| queue.lock().unwrap().len());
    as_two_places(test, budget)
}

fn locked_stack(budget: Duration) -> Outcome {
    test(|| Mutex::new(Vec::new()))
        .operation("push", distinct::<u32>(), |stack, value| stack.lock().unwrap().push(value))
        .operation("pop", (), |stack, ()| stack.lock().unwrap().pop())
        .spec("stack")
        .drain("pop")
        .budget(budget)
        .run()
}

fn locked_heap(budget: Duration) -> Outcome {
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;
    test(|| Mutex::new(BinaryHeap::new()))
        .operation("insert", distinct::<u32>(), |heap, value| {
            heap.lock().unwrap().push(Reverse(value))
        })
        .operation("extract_min", (), |heap, ()| heap.lock().unwrap().pop().map(|least| least.0))
        .spec("priority-queue")
        .budget(budget)
        .run()
}

fn locked_set(budget: Duration) -> Outcome {
    use std::collections::BTreeSet;
    test(|| Mutex::new(BTreeSet::new()))
        .operation("add", key(), |set, key| set.lock().unwrap().insert(key))
        .operation("remove", key(), |set, key| set.lock().unwrap().remove(&key))
        .operation("contains", key(), |set, key| set.lock().unwrap().contains(&key))
        .spec("set")
        .budget(budget)
        .run()
}

fn atomic_counter(budget: Duration) -> Outcome {
    use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
    test(|| AtomicU32::new(0))
        .operation("fetch_add", 1..3_u32, |count, more| count.fetch_add(more, SeqCst))
        .operation("read", (), |count, ()| count.load(SeqCst))
        .spec("fetch-and-add(init=0)")
        .budget(budget)
        .run()
}
