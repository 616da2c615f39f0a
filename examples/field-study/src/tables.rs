//! Hash tables, tries and trees beyond `maps`, and caches.

use crate::models::{Outcome, as_map, entry, key};
use crate::{Study, study};
use seriatim_harness::{Caller, Own, Test, distinct, test};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

pub const STUDIES: &[Study] = &[
    study("moka", "Cache", "insert get remove", moka_basic),
    study("moka", "Cache, and_compute_with", "and_compute_with get remove", moka_compute),
    study("mini-moka", "Cache", "insert get invalidate contains_key", mini_moka),
    study("quick_cache", "Cache", "insert get remove replace len", quick_cache),
    study("flurry", "HashMap", "insert get remove try_insert", flurry_basic),
    study("flurry", "HashMap, compute", "compute_if_present insert remove get", flurry_compute),
    study("concurrent-map", "ConcurrentMap", "insert get remove cas", concurrent_map),
    study(
        "concurrent-map",
        "ConcurrentMap, fetch",
        "update_and_fetch get remove",
        concurrent_fetch,
    ),
    study("congee", "Congee", "insert get remove", congee_basic),
    study("congee", "Congee, compute", "compute_or_insert get remove", congee_compute),
    study("congee", "Congee, cas", "insert compare_exchange remove get", congee_cas),
    study("lockfree", "Map", "insert get remove", lockfree_map),
    study("whirlwind", "ShardMap", "insert get remove contains_key", whirlwind_basic),
    study("evmap", "evmap", "update and publish | get len", evmap_basic),
    study("dashmap", "DashMap, entry", "or_insert increment remove_if get", dash_entry),
    study("scc", "HashIndex", "insert remove peek contains", scc_index),
    study("scc", "HashIndex, update", "insert update peek remove", scc_index_update),
    study("scc", "HashCache", "put get remove", scc_cache),
    study("papaya", "HashMap, update", "update_or_insert get remove get_or_insert", papaya_update),
    study("chashmap", "CHashMap", "insert get remove contains_key", chashmap_basic),
    study("cht", "HashMap", "insert get remove", cht_basic),
    study("cht", "HashMap, modify", "insert_or_modify get remove", cht_modify),
    study("contrie", "ConMap", "insert get remove get_or_insert", contrie_basic),
    study("leapfrog", "LeapMap", "insert get remove", leapfrog_basic),
    study("lockfree-cuckoohash", "LockFreeCuckooHash", "insert get remove", cuckoo),
];

type Moka = moka::sync::Cache<u32, u32>;

fn moka_basic(budget: Duration) -> Outcome {
    let test = test(|| Moka::new(1000))
        .operation("set", entry(), |cache, (key, value)| cache.insert(key, value))
        .operation("get", key(), |cache, key| cache.get(&key))
        .operation("take", key(), |cache, key| cache.remove(&key));
    as_map(test, budget)
}

fn moka_compute(budget: Duration) -> Outcome {
    use moka::ops::compute::{CompResult, Op};
    let test = test(|| Moka::new(1000))
        .operation("increment", key(), |cache, key| {
            let more = |count: Option<moka::Entry<_, u32>>| count.map_or(0, |c| c.into_value()) + 1;
            match cache.entry(key).and_compute_with(|count| Op::Put(more(count))) {
                CompResult::Inserted(count) | CompResult::ReplacedWith(count) => count.into_value(),
                other => panic!("put gives {other:?}"),
            }
        })
        .operation("get", key(), |cache, key| cache.get(&key))
        .operation("take", key(), |cache, key| cache.remove(&key));
    as_map(test, budget)
}

fn mini_moka(budget: Duration) -> Outcome {
    let test = test(|| mini_moka::sync::Cache::<u32, u32>::new(1000))
        .operation("set", entry(), |cache, (key, value)| cache.insert(key, value))
        .operation("get", key(), |cache, key| cache.get(&key))
        .operation("invalidate", key(), |cache, key| cache.invalidate(&key))
        .operation("contains", key(), |cache, key| cache.contains_key(&key));
    as_map(test, budget)
}

fn quick_cache(budget: Duration) -> Outcome {
    let test = test(|| quick_cache::sync::Cache::<u32, u32>::new(1000))
        .operation("set", entry(), |cache, (key, value)| cache.insert(key, value))
        .operation("get", key(), |cache, key| cache.get(&key))
        .operation("take", key(), |cache, key| cache.remove(&key).map(|(_, value)| value))
        .operation("replace", entry(), |cache, (key, value)| {
            cache.replace(key, value, false).is_ok()
        })
        .operation("len", (), |cache, ()| cache.len());
    as_map(test, budget)
}

type Flurry = flurry::HashMap<u32, u32>;

fn flurry() -> Test<Flurry> {
    test(Flurry::new)
        .operation("put", entry(), |map, (key, value)| map.pin().insert(key, value).copied())
        .operation("take", key(), |map, key| map.pin().remove(&key).copied())
        .operation("get", key(), |map, key| map.pin().get(&key).copied())
}

fn flurry_basic(budget: Duration) -> Outcome {
    let insert = |map: &Flurry, (key, value)| map.pin().try_insert(key, value).is_ok();
    as_map(flurry().operation("insert_new", entry(), insert), budget)
}

fn flurry_compute(budget: Duration) -> Outcome {
    let test = flurry().operation("increment_present", key(), |map, key| {
        map.pin().compute_if_present(&key, |_, count| Some(count + 1)).copied()
    });
    as_map(test, budget)
}

type ConcurrentMap = concurrent_map::ConcurrentMap<u32, u32, 4, 2>;

/// A handle of this map is `Send` but not `Sync`.
fn concurrent() -> Test<Mutex<ConcurrentMap>, ConcurrentMap, Own> {
    test(|| Mutex::new(ConcurrentMap::new()))
        .handles(|map, _: Caller| map.lock().unwrap().clone())
        .operation("put", entry(), |map, (key, value)| map.insert(key, value))
        .operation("take", key(), |map, key| map.remove(&key))
        .operation("get", key(), |map, key| map.get(&key))
}

fn concurrent_map(budget: Duration) -> Outcome {
    let arguments = (1..4_u32, 1..4_u32, distinct::<u32>());
    let cas =
        |map: &mut ConcurrentMap, (key, old, new)| map.cas(key, Some(&old), Some(new)).is_ok();
    as_map(concurrent().operation("cas", arguments, cas), budget)
}

fn concurrent_fetch(budget: Duration) -> Outcome {
    let test = concurrent().operation("increment", key(), |map, key| {
        map.update_and_fetch(key, |count| Some(count.map_or(1, |count| count + 1))).unwrap()
    });
    as_map(test, budget)
}

type Art = congee::Congee<usize, usize>;

fn congee() -> Test<Art> {
    test(Art::default)
        .operation("put", entry(), |tree, (key, value)| {
            tree.insert(key as usize, value as usize, &tree.pin()).unwrap()
        })
        .operation("take", key(), |tree, key| tree.remove(&(key as usize), &tree.pin()))
        .operation("get", key(), |tree, key| tree.get(&(key as usize), &tree.pin()))
}

fn congee_basic(budget: Duration) -> Outcome {
    as_map(congee(), budget)
}

fn congee_compute(budget: Duration) -> Outcome {
    let test = congee().operation("increment", key(), |tree, key| {
        let more = |count: Option<usize>| count.map_or(1, |count| count + 1);
        more(tree.compute_or_insert(key as usize, more, &tree.pin()).unwrap())
    });
    as_map(test, budget)
}

fn congee_cas(budget: Duration) -> Outcome {
    let arguments = (1..4_u32, 1..4_u32, distinct::<u32>());
    let test = congee().operation("cas", arguments, |tree, (key, old, new)| {
        let (key, old, new) = (key as usize, old as usize, new as usize);
        tree.compare_exchange(&key, &old, Some(new), &tree.pin()).is_ok()
    });
    as_map(test, budget)
}

fn lockfree_map(budget: Duration) -> Outcome {
    let test = test(lockfree::map::Map::<u32, u32>::new)
        .operation("put", entry(), |map, (key, value)| map.insert(key, value).map(|old| *old.val()))
        .operation("take", key(), |map, key| map.remove(&key).map(|old| *old.val()))
        .operation("get", key(), |map, key| map.get(&key).map(|held| *held.val()));
    as_map(test, budget)
}

/// Waits for a future on this thread.
fn wait<F: Future>(future: F) -> F::Output {
    struct Sleeper(std::thread::Thread);

    impl Wake for Sleeper {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }

    let waker: Waker = Arc::new(Sleeper(std::thread::current())).into();
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => return value,
            Poll::Pending => std::thread::park(),
        }
    }
}

fn whirlwind_basic(budget: Duration) -> Outcome {
    let test = test(whirlwind::ShardMap::<u32, u32>::new)
        .operation("put", entry(), |map, (key, value)| wait(map.insert(key, value)))
        .operation("take", key(), |map, key| wait(map.remove(&key)))
        .operation("get", key(), |map, key| {
            wait(async { map.get(&key).await.map(|held| *held.value()) })
        })
        .operation("contains", key(), |map, key| wait(map.contains_key(&key)));
    as_map(test, budget)
}

type Writer = evmap::handles::WriteHandle<u32, u32>;
type Reader = evmap::handles::ReadHandle<u32, u32>;

fn evmap_basic(budget: Duration) -> Outcome {
    let test = test(|| {
        let (writer, reader) = evmap::new();
        (Arc::new(Mutex::<Writer>::new(writer)), Mutex::<Reader>::new(reader))
    })
    .handles(|(writer, reader), _: Caller| (writer.clone(), reader.lock().unwrap().clone()))
    .operation("set", entry(), |(writer, _), (key, value)| {
        let mut writer = writer.lock().unwrap();
        writer.update(key, value);
        writer.publish();
    })
    .operation("invalidate", key(), |(writer, _), key| {
        let mut writer = writer.lock().unwrap();
        writer.remove_entry(key);
        writer.publish();
    })
    .operation("get", key(), |(_, reader), key| reader.get_one(&key).map(|value| *value))
    .operation("len", (), |(_, reader), ()| reader.len());
    as_map(test, budget)
}

fn dash_entry(budget: Duration) -> Outcome {
    let test = test(dashmap::DashMap::<u32, u32>::new)
        .operation("or_insert", entry(), |map, (key, value)| *map.entry(key).or_insert(value))
        .operation("increment", key(), |map, key| {
            let mut count = map.entry(key).or_insert(0);
            *count += 1;
            *count
        })
        .operation("remove_odd", key(), |map, key| {
            map.remove_if(&key, |_, value| value % 2 == 1).map(|(_, value)| value)
        })
        .operation("get", key(), |map, key| map.get(&key).map(|value| *value));
    as_map(test, budget)
}

type HashIndex = scc::HashIndex<u32, u32>;

fn hash_index() -> Test<HashIndex> {
    test(HashIndex::new)
        .operation("insert_new", entry(), |map, (key, value)| map.insert_sync(key, value).is_ok())
        .operation("remove", key(), |map, key| map.remove_sync(&key))
        .operation("get", key(), |map, key| map.peek_with(&key, |_, value| *value))
}

fn scc_index(budget: Duration) -> Outcome {
    as_map(hash_index().operation("contains", key(), |map, key| map.contains(&key)), budget)
}

fn scc_index_update(budget: Duration) -> Outcome {
    let test = hash_index().operation("replace", entry(), |map, (key, value)| {
        map.get_sync(&key).map(|mut held| held.update(value)).is_some()
    });
    as_map(test, budget)
}

fn scc_cache(budget: Duration) -> Outcome {
    let test = test(|| scc::HashCache::<u32, u32>::with_capacity(64, 1024))
        .operation("insert_new", entry(), |map, (key, value)| map.put_sync(key, value).is_ok())
        .operation("take", key(), |map, key| map.remove_sync(&key).map(|(_, value)| value))
        .operation("get", key(), |map, key| map.get_sync(&key).map(|held| *held.get()));
    as_map(test, budget)
}

fn papaya_update(budget: Duration) -> Outcome {
    let test = test(papaya::HashMap::<u32, u32>::new)
        .operation("increment", key(), |map, key| {
            *map.pin().update_or_insert(key, |count| count + 1, 1)
        })
        .operation("or_insert", entry(), |map, (key, value)| *map.pin().get_or_insert(key, value))
        .operation("take", key(), |map, key| map.pin().remove(&key).copied())
        .operation("get", key(), |map, key| map.pin().get(&key).copied());
    as_map(test, budget)
}

fn chashmap_basic(budget: Duration) -> Outcome {
    let test = test(chashmap::CHashMap::<u32, u32>::new)
        .operation("put", entry(), |map, (key, value)| map.insert(key, value))
        .operation("take", key(), |map, key| map.remove(&key))
        .operation("get", key(), |map, key| map.get(&key).map(|value| *value))
        .operation("contains", key(), |map, key| map.contains_key(&key));
    as_map(test, budget)
}

fn cht() -> Test<cht::HashMap<u32, u32>> {
    test(cht::HashMap::<u32, u32>::new)
        .operation("take", key(), |map, key| map.remove(&key))
        .operation("get", key(), |map, key| map.get(&key))
}

fn cht_basic(budget: Duration) -> Outcome {
    as_map(cht().operation("put", entry(), |map, (key, value)| map.insert(key, value)), budget)
}

fn cht_modify(budget: Duration) -> Outcome {
    let test = cht().operation("increment", key(), |map, key| {
        map.insert_or_modify(key, 1, |_, count| count + 1).map_or(1, |count| count + 1)
    });
    as_map(test, budget)
}

fn contrie_basic(budget: Duration) -> Outcome {
    let test = test(contrie::ConMap::<u32, u32>::new)
        .operation("put", entry(), |map, (key, value)| {
            map.insert(key, value).map(|old| *old.value())
        })
        .operation("take", key(), |map, key| map.remove(&key).map(|old| *old.value()))
        .operation("get", key(), |map, key| map.get(&key).map(|held| *held.value()))
        .operation("or_insert", entry(), |map, (key, value)| {
            *map.get_or_insert(key, value).value()
        });
    as_map(test, budget)
}

fn leapfrog_basic(budget: Duration) -> Outcome {
    let test = test(leapfrog::LeapMap::<u32, u32>::new)
        .operation("put", entry(), |map, (key, value)| map.insert(key, value))
        .operation("take", key(), |map, key| map.remove(&key))
        .operation("get", key(), |map, key| map.get(&key).and_then(|mut held| held.value()));
    as_map(test, budget)
}

fn cuckoo(budget: Duration) -> Outcome {
    use lockfree_cuckoohash::{LockFreeCuckooHash, pin};
    let test = test(LockFreeCuckooHash::<u32, u32>::new)
        .operation("put", entry(), |map, (key, value)| {
            map.insert_with_guard(key, value, &pin()).copied()
        })
        .operation("take", key(), |map, key| map.remove_with_guard(&key, &pin()).copied())
        .operation("get", key(), |map, key| map.get(&key, &pin()).copied());
    as_map(test, budget)
}
