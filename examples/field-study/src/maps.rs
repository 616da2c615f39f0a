//! Maps, each with the operations on single keys, with its size, and with a walk over its entries.

use crate::models::{Outcome, as_map, entry, key};
use crate::{Study, study};
use crossbeam_skiplist::SkipMap;
use dashmap::DashMap;
use seriatim_harness::{Test, test};
use std::time::Duration;

pub const STUDIES: &[Study] = &[
    study("crossbeam-skiplist", "crossbeam SkipMap", "insert remove get", skip_map),
    study("crossbeam-skiplist", "crossbeam SkipMap, len", "insert remove len", skip_map_len),
    study(
        "crossbeam-skiplist",
        "crossbeam SkipMap, get_or_insert",
        "get_or_insert remove get",
        skip_map_get_or_insert,
    ),
    study("crossbeam-skiplist", "crossbeam SkipMap, pop_front", "insert pop_front", skip_map_pop),
    study(
        "crossbeam-skiplist",
        "crossbeam SkipMap, iteration",
        "insert remove keys",
        skip_map_keys,
    ),
    study("dashmap", "dashmap", "insert remove get", dash),
    study("dashmap", "dashmap, len", "insert remove len", dash_len),
    study("dashmap", "dashmap, iteration", "insert remove keys", dash_keys),
    study("scc", "scc HashMap", "upsert remove read", scc_map),
    study("scc", "scc HashMap, len", "upsert remove len", scc_len),
    study("scc", "scc HashMap, iteration", "upsert remove keys", scc_keys),
    study("scc", "scc TreeIndex", "insert remove peek", scc_tree),
    study("scc", "scc TreeIndex, iteration", "insert remove keys", scc_tree_keys),
    study("papaya", "papaya", "insert remove get", papaya_map),
    study("papaya", "papaya, len", "insert remove len", papaya_len),
    study("papaya", "papaya, iteration", "insert remove keys", papaya_keys),
];

fn sorted(mut keys: Vec<u32>) -> Vec<u32> {
    keys.sort_unstable();
    keys
}

fn skip() -> Test<SkipMap<u32, u32>> {
    test(SkipMap::new)
        .operation("set", entry(), |map, (key, value)| {
            map.insert(key, value);
        })
        .operation("take", key(), |map, key| map.remove(&key).map(|entry| *entry.value()))
}

fn skip_map(budget: Duration) -> Outcome {
    let get = |map: &SkipMap<u32, u32>, key| map.get(&key).map(|entry| *entry.value());
    as_map(skip().operation("get", key(), get), budget)
}

fn skip_map_len(budget: Duration) -> Outcome {
    as_map(skip().operation("len", (), |map, ()| map.len()), budget)
}

fn skip_map_get_or_insert(budget: Duration) -> Outcome {
    let test = test(SkipMap::new)
        .operation("or_insert", entry(), |map, (key, value)| *map.get_or_insert(key, value).value())
        .operation("take", key(), |map, key| map.remove(&key).map(|entry| *entry.value()))
        .operation("get", key(), |map, key| map.get(&key).map(|entry| *entry.value()));
    as_map(test, budget)
}

fn skip_map_pop(budget: Duration) -> Outcome {
    let pop = |map: &SkipMap<u32, u32>, ()| map.pop_front().map(|entry| *entry.value());
    let test = test(SkipMap::new)
        .operation("set", entry(), |map: &SkipMap<u32, u32>, (key, value)| {
            map.insert(key, value);
        })
        .operation("pop_front", (), pop);
    as_map(test, budget)
}

fn skip_map_keys(budget: Duration) -> Outcome {
    let keys =
        |map: &SkipMap<u32, u32>, ()| map.iter().map(|entry| *entry.key()).collect::<Vec<_>>();
    as_map(skip().operation("keys", (), keys), budget)
}

fn dash_map() -> Test<DashMap<u32, u32>> {
    test(DashMap::new)
        .operation("put", entry(), |map, (key, value)| map.insert(key, value))
        .operation("take", key(), |map, key| map.remove(&key).map(|(_, value)| value))
}

fn dash(budget: Duration) -> Outcome {
    let get = |map: &DashMap<u32, u32>, key| map.get(&key).map(|value| *value);
    as_map(dash_map().operation("get", key(), get), budget)
}

fn dash_len(budget: Duration) -> Outcome {
    as_map(dash_map().operation("len", (), |map, ()| map.len()), budget)
}

fn dash_keys(budget: Duration) -> Outcome {
    let keys = |map: &DashMap<u32, u32>, ()| sorted(map.iter().map(|entry| *entry.key()).collect());
    as_map(dash_map().operation("keys", (), keys), budget)
}

fn scc() -> Test<scc::HashMap<u32, u32>> {
    test(scc::HashMap::new)
        .operation("put", entry(), |map, (key, value)| map.upsert_sync(key, value))
        .operation("take", key(), |map, key| map.remove_sync(&key).map(|(_, value)| value))
}

fn scc_map(budget: Duration) -> Outcome {
    let get = |map: &scc::HashMap<u32, u32>, key| map.read_sync(&key, |_, value| *value);
    as_map(scc().operation("get", key(), get), budget)
}

fn scc_len(budget: Duration) -> Outcome {
    as_map(scc().operation("len", (), |map, ()| map.len()), budget)
}

fn scc_keys(budget: Duration) -> Outcome {
    let keys = |map: &scc::HashMap<u32, u32>, ()| {
        let mut keys = Vec::new();
        map.iter_sync(|key, _| {
            keys.push(*key);
            true
        });
        sorted(keys)
    };
    as_map(scc().operation("keys", (), keys), budget)
}

fn tree() -> Test<scc::TreeIndex<u32, u32>> {
    test(scc::TreeIndex::new)
        .operation("insert_new", entry(), |map, (key, value)| map.insert_sync(key, value).is_ok())
        .operation("remove", key(), |map, key| map.remove_sync(&key))
}

fn scc_tree(budget: Duration) -> Outcome {
    let get = |map: &scc::TreeIndex<u32, u32>, key| map.peek_with(&key, |_, value| *value);
    as_map(tree().operation("get", key(), get), budget)
}

fn scc_tree_keys(budget: Duration) -> Outcome {
    let keys = |map: &scc::TreeIndex<u32, u32>, ()| {
        let guard = scc::Guard::new();
        map.iter(&guard).map(|(key, _)| *key).collect::<Vec<_>>()
    };
    as_map(tree().operation("keys", (), keys), budget)
}

fn papaya() -> Test<papaya::HashMap<u32, u32>> {
    test(papaya::HashMap::new)
        .operation("put", entry(), |map, (key, value)| map.pin().insert(key, value).copied())
        .operation("take", key(), |map, key| map.pin().remove(&key).copied())
}

fn papaya_map(budget: Duration) -> Outcome {
    as_map(papaya().operation("get", key(), |map, key| map.pin().get(&key).copied()), budget)
}

fn papaya_len(budget: Duration) -> Outcome {
    as_map(papaya().operation("len", (), |map, ()| map.len()), budget)
}

fn papaya_keys(budget: Duration) -> Outcome {
    let keys = |map: &papaya::HashMap<u32, u32>, ()| sorted(map.pin().keys().copied().collect());
    as_map(papaya().operation("keys", (), keys), budget)
}
