//! Cells, locks, semaphores, slabs and lists that only grow.

use crate::models::{Outcome, once, slot};
use crate::{Study, study};
use seriatim_harness::{IntoReply, Reply, Test, distinct, ends, test};
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

pub const STUDIES: &[Study] = &[
    study("arc-swap", "ArcSwap", "load store swap compare_and_swap", arc_swap_cas),
    study("arc-swap", "ArcSwap, rcu", "rcu load", arc_swap_rcu),
    study("crossbeam-utils", "AtomicCell of three words", "load store swap compare_exchange", wide),
    study("crossbeam-utils", "AtomicCell of a word", "fetch_add load", word),
    study("sharded-slab", "Slab", "take get contains of one entry", slab),
    study("boxcar", "Vec", "push get", boxcar_get),
    study("append-only-vec", "AppendOnlyVec", "push len iter", append_only),
    study("orx-concurrent-vec", "ConcurrentVec", "push len get_copied", orx_vec),
    study("orx-concurrent-bag", "ConcurrentBag", "push len", orx_bag),
    study("tokio", "watch", "send_replace send_modify send_if_modified borrow", watch),
    study(
        "tokio",
        "watch, versions",
        "send_replace borrow borrow_and_update has_changed",
        versions,
    ),
    study("tokio", "Semaphore", "try_acquire_many add_permits forget_permits close", semaphore),
    study("once_cell", "sync::OnceCell", "set get get_or_init", once_cell),
    study("std", "OnceLock", "set get get_or_init", once_lock),
    study("spin", "Once", "call_once get", spin_once),
    study("async-lock", "OnceCell", "set_blocking get", async_once),
    study("async-lock", "Semaphore", "try_acquire add_permits", async_semaphore),
    study("parking_lot", "RwLock", "write read", parking_lot_lock),
    study("spin", "RwLock", "write read", spin_lock),
    study("std", "RwLock", "write read", std_lock),
    study("async-lock", "RwLock", "write_blocking read_blocking", async_lock_lock),
    study("atomic", "Atomic", "load store swap compare_exchange", atomic_word),
    study("portable-atomic", "AtomicU128", "load store swap compare_exchange", portable),
    study("atomicbox", "AtomicOptionBox", "swap take", atomic_box),
    study("rcu_cell", "RcuCell", "write read take", rcu_cell),
    study("seqlock", "SeqLock of three words", "read lock_write", seqlock),
    study("concread", "CowCell", "read, write and commit", cow_cell),
    study("triple_buffer", "triple_buffer", "write | read", triple),
];

fn as_cas_register<T: Send + Sync + 'static>(test: Test<T>, budget: Duration) -> Outcome {
    test.spec("cas-register(init=0)").budget(budget).run()
}

fn as_counter<T: Send + Sync + 'static>(test: Test<T>, budget: Duration) -> Outcome {
    test.spec("fetch-and-add(init=0)").budget(budget).run()
}

fn arc_swap_cas(budget: Duration) -> Outcome {
    let test = test(|| arc_swap::ArcSwap::<u32>::from_pointee(0))
        .operation("read", (), |cell, ()| *cell.load_full())
        .operation("write", distinct(), |cell, value: u32| cell.store(Arc::new(value)))
        .operation("swap", distinct(), |cell, value: u32| *cell.swap(Arc::new(value)))
        .operation("cas", (0..4_u32, distinct::<u32>()), |cell, (old, new)| {
            let held = cell.load();
            if **held != old {
                return Reply::Failed(None);
            }
            let before = cell.compare_and_swap(&held, Arc::new(new));
            if Arc::ptr_eq(&before, &held) { true.reply() } else { Reply::Failed(None) }
        });
    as_cas_register(test, budget)
}

fn arc_swap_rcu(budget: Duration) -> Outcome {
    let test = test(|| arc_swap::ArcSwap::<u32>::from_pointee(0))
        .operation("read", (), |cell, ()| **cell.load())
        .operation("fetch_add", 1..3_u32, |cell, more| *cell.rcu(|count| **count + more));
    as_counter(test, budget)
}

/// A number in three words, and back; a mixture is a panic.
fn three(number: u64) -> [u64; 3] {
    [number; 3]
}

fn one([first, second, third]: [u64; 3]) -> u64 {
    assert!(first == second && second == third, "torn: {first} {second} {third}");
    first
}

fn wide(budget: Duration) -> Outcome {
    let test = test(|| crossbeam::atomic::AtomicCell::new(three(0)))
        .operation("read", (), |cell, ()| one(cell.load()))
        .operation("write", distinct(), |cell, value| cell.store(three(value)))
        .operation("swap", distinct(), |cell, value| one(cell.swap(three(value))))
        .operation("cas", (0..4_u64, distinct::<u64>()), |cell, (old, new)| {
            cell.compare_exchange(three(old), three(new)).is_ok()
        });
    as_cas_register(test, budget)
}

fn word(budget: Duration) -> Outcome {
    let test = test(|| crossbeam::atomic::AtomicCell::new(0_u64))
        .operation("read", (), |cell, ()| cell.load())
        .operation("fetch_add", 1..3_u64, |cell, more| cell.fetch_add(more));
    as_counter(test, budget)
}

/// One entry. (`remove` defers to the guards that look at it, and tells two callers that it removed
/// it; see the confirmations.)
fn slab(budget: Duration) -> Outcome {
    test(|| {
        let slab = sharded_slab::Slab::new();
        let key = slab.insert(7_u32).expect("there is room");
        (slab, key)
    })
    .operation("take", (), |(slab, key), ()| slab.take(*key))
    .operation("get", (), |(slab, key), ()| slab.get(*key).map(|entry| *entry))
    .operation("contains", (), |(slab, key), ()| slab.contains(*key))
    .model(true, |there, call| match call.name() {
        "take" => std::mem::replace(there, false).then_some(7_u32).reply(),
        "get" => there.then_some(7_u32).reply(),
        _ => (*there).reply(),
    })
    .budget(budget)
    .run()
}

fn boxcar_get(budget: Duration) -> Outcome {
    test(boxcar::Vec::<u32>::new)
        .operation("append", distinct(), |list, value| list.push(value))
        .operation("read", 0..3_usize, |list, place| list.get(place).copied())
        .spec("log")
        .budget(budget)
        .run()
}

fn append_only(budget: Duration) -> Outcome {
    test(append_only_vec::AppendOnlyVec::<u32>::new)
        .operation("append", distinct(), |list, value| list.push(value))
        .operation("length", (), |list, ()| list.len())
        .operation("read", (), |list, ()| list.iter().copied().collect::<Vec<_>>())
        .spec("log")
        .budget(budget)
        .run()
}

fn orx_vec(budget: Duration) -> Outcome {
    test(orx_concurrent_vec::ConcurrentVec::<u32>::new)
        .operation("append", distinct(), |list, value| list.push(value))
        .operation("length", (), |list, ()| list.len())
        .operation("read", 0..3_usize, |list, place| list.get_copied(place))
        .spec("log")
        .budget(budget)
        .run()
}

fn orx_bag(budget: Duration) -> Outcome {
    test(orx_concurrent_bag::ConcurrentBag::<u32>::new)
        .operation("append", distinct(), |list, value| list.push(value))
        .operation("length", (), |list, ()| list.len())
        .spec("log")
        .budget(budget)
        .run()
}

fn watch(budget: Duration) -> Outcome {
    test(|| tokio::sync::watch::channel(0_u32))
        .operation("swap", distinct(), |(sender, _), value| sender.send_replace(value))
        .operation("read", (), |(_, receiver), ()| *receiver.borrow())
        .operation("increment", (), |(sender, _), ()| {
            let mut after = 0;
            sender.send_modify(|value| (*value += 1, after = *value).1);
            after
        })
        .operation("set_if_odd", distinct(), |(sender, _), new: u32| {
            sender.send_if_modified(|value| {
                let odd = *value % 2 == 1;
                *value = if odd { new } else { *value };
                odd
            })
        })
        .model(0_u32, |value, call| match call.name() {
            "swap" => std::mem::replace(value, call.arg()).reply(),
            "increment" => {
                *value += 1;
                (*value).reply()
            }
            "set_if_odd" => {
                let odd = *value % 2 == 1;
                *value = if odd { call.arg() } else { *value };
                odd.reply()
            }
            _ => (*value).reply(),
        })
        .budget(budget)
        .run()
}

/// Every thread has a receiver of its own.
fn versions(budget: Duration) -> Outcome {
    test(|| {
        let (sender, receiver) = tokio::sync::watch::channel(0_u32);
        (Arc::new(sender), receiver)
    })
    .handles(|(sender, receiver), _| (sender.clone(), receiver.clone()))
    .operation("send_replace", distinct(), |(sender, _), value| sender.send_replace(value))
    .operation("borrow", (), |(_, receiver), ()| *receiver.borrow())
    .operation("borrow_and_update", (), |(_, receiver), ()| {
        let seen = receiver.borrow_and_update();
        (*seen, seen.has_changed())
    })
    .operation("has_changed", (), |(_, receiver), ()| receiver.has_changed().unwrap())
    .spec("watch(init=0)")
    .budget(budget)
    .run()
}

fn semaphore(budget: Duration) -> Outcome {
    use tokio::sync::TryAcquireError;
    test(|| tokio::sync::Semaphore::new(2))
        .operation("try_acquire", 1..3_u32, |semaphore, count| {
            match semaphore.try_acquire_many(count) {
                Ok(permit) => {
                    permit.forget();
                    true.reply()
                }
                Err(TryAcquireError::NoPermits) => false.reply(),
                Err(TryAcquireError::Closed) => "closed".reply(),
            }
        })
        .operation("add_permits", 1..3_usize, |semaphore, count| semaphore.add_permits(count))
        .operation("permits", (), |semaphore, ()| semaphore.available_permits())
        .operation("forget", 1..3_usize, |semaphore, count| semaphore.forget_permits(count))
        .operation("is_closed", (), |semaphore, ()| semaphore.is_closed())
        .operation("close", (), |semaphore, ()| semaphore.close())
        .once()
        .spec("weighted-semaphore(init=2)")
        .budget(budget)
        .run()
}

fn as_once<T: Send + Sync + 'static>(test: Test<T>, budget: Duration) -> Outcome {
    test.model(None, once).budget(budget).run()
}

fn once_cell(budget: Duration) -> Outcome {
    let test = test(once_cell::sync::OnceCell::<u32>::new)
        .operation("set", distinct(), |cell, value| cell.set(value).is_ok())
        .operation("get", (), |cell, ()| cell.get().copied())
        .operation("init", distinct(), |cell, value| *cell.get_or_init(|| value));
    as_once(test, budget)
}

fn once_lock(budget: Duration) -> Outcome {
    let test = test(std::sync::OnceLock::<u32>::new)
        .operation("set", distinct(), |cell, value| cell.set(value).is_ok())
        .operation("get", (), |cell, ()| cell.get().copied())
        .operation("init", distinct(), |cell, value| *cell.get_or_init(|| value));
    as_once(test, budget)
}

fn spin_once(budget: Duration) -> Outcome {
    let test = test(spin::Once::<u32>::new)
        .operation("get", (), |cell, ()| cell.get().copied())
        .operation("init", distinct(), |cell, value| *cell.call_once(|| value));
    as_once(test, budget)
}

fn async_once(budget: Duration) -> Outcome {
    let test = test(async_lock::OnceCell::<u32>::new)
        .operation("set", distinct(), |cell, value| cell.set_blocking(value).is_ok())
        .operation("get", (), |cell, ()| cell.get().copied())
        .operation("init", distinct(), |cell, value| *cell.get_or_init_blocking(|| value));
    as_once(test, budget)
}

fn async_semaphore(budget: Duration) -> Outcome {
    test(|| async_lock::Semaphore::new(2))
        .operation("try_acquire", (), |semaphore, ()| {
            semaphore.try_acquire().map(|permit| permit.forget()).is_some()
        })
        .operation("add_permits", 1..3_usize, |semaphore, count| semaphore.add_permits(count))
        .spec("weighted-semaphore(init=2)")
        .budget(budget)
        .run()
}

fn parking_lot_lock(budget: Duration) -> Outcome {
    let test = test(|| parking_lot::RwLock::new(0_u32))
        .operation("fetch_add", 1..3_u32, |lock, more| add(&mut lock.write(), more))
        .operation("read", (), |lock, ()| *lock.read());
    as_counter(test, budget)
}

fn spin_lock(budget: Duration) -> Outcome {
    let test = test(|| spin::RwLock::new(0_u32))
        .operation("fetch_add", 1..3_u32, |lock, more| add(&mut lock.write(), more))
        .operation("read", (), |lock, ()| *lock.read());
    as_counter(test, budget)
}

fn std_lock(budget: Duration) -> Outcome {
    let test = test(|| std::sync::RwLock::new(0_u32))
        .operation("fetch_add", 1..3_u32, |lock, more| add(&mut lock.write().unwrap(), more))
        .operation("read", (), |lock, ()| *lock.read().unwrap());
    as_counter(test, budget)
}

fn async_lock_lock(budget: Duration) -> Outcome {
    let test = test(|| async_lock::RwLock::new(0_u32))
        .operation("fetch_add", 1..3_u32, |lock, more| add(&mut lock.write_blocking(), more))
        .operation("read", (), |lock, ()| *lock.read_blocking());
    as_counter(test, budget)
}

/// Adds to a number under its lock; gives what it was.
fn add(number: &mut u32, more: u32) -> u32 {
    std::mem::replace(number, *number + more)
}

fn atomic_word(budget: Duration) -> Outcome {
    let test = test(|| atomic::Atomic::new(0_u64))
        .operation("read", (), |cell, ()| cell.load(SeqCst))
        .operation("write", distinct(), |cell, value| cell.store(value, SeqCst))
        .operation("swap", distinct(), |cell, value| cell.swap(value, SeqCst))
        .operation("cas", (0..4_u64, distinct::<u64>()), |cell, (old, new)| {
            cell.compare_exchange(old, new, SeqCst, SeqCst).is_ok()
        });
    as_cas_register(test, budget)
}

fn portable(budget: Duration) -> Outcome {
    let test = test(|| portable_atomic::AtomicU128::new(0))
        .operation("read", (), |cell, ()| cell.load(SeqCst))
        .operation("write", distinct(), |cell, value| cell.store(value, SeqCst))
        .operation("swap", distinct(), |cell, value| cell.swap(value, SeqCst))
        .operation("cas", (0..4_u64, distinct::<u64>()), |cell, (old, new)| {
            cell.compare_exchange(old.into(), new.into(), SeqCst, SeqCst).is_ok()
        });
    as_cas_register(test, budget)
}

fn atomic_box(budget: Duration) -> Outcome {
    test(atomicbox::AtomicOptionBox::<u32>::none)
        .operation("swap", distinct(), |cell, value| {
            cell.swap(Some(Box::new(value)), SeqCst).map(|old| *old)
        })
        .operation("take", (), |cell, ()| cell.take(SeqCst).map(|old| *old))
        .model(None, slot)
        .budget(budget)
        .run()
}

fn rcu_cell(budget: Duration) -> Outcome {
    test(rcu_cell::RcuCell::<u32>::none)
        .operation("swap", distinct(), |cell, value: u32| {
            cell.write(Arc::new(value)).map(|old| *old)
        })
        .operation("take", (), |cell, ()| cell.take().map(|old| *old))
        .operation("get", (), |cell, ()| cell.read().map(|held| *held))
        .model(None, slot)
        .budget(budget)
        .run()
}

fn seqlock(budget: Duration) -> Outcome {
    let test = test(|| seqlock::SeqLock::new(three(0)))
        .operation("read", (), |cell, ()| one(cell.read()))
        .operation("swap", distinct(), |cell, value| {
            one(std::mem::replace(&mut *cell.lock_write(), three(value)))
        });
    as_cas_register(test, budget)
}

fn cow_cell(budget: Duration) -> Outcome {
    let test = test(|| concread::cowcell::CowCell::new(0_u32))
        .operation("read", (), |cell, ()| *cell.read())
        .operation("fetch_add", 1..3_u32, |cell, more| {
            let mut transaction = cell.write();
            let before = add(&mut transaction, more);
            transaction.commit();
            before
        });
    as_counter(test, budget)
}

fn triple(budget: Duration) -> Outcome {
    ends(|| triple_buffer::triple_buffer(&0_u32))
        .producer("write", distinct(), |input, value| input.write(value))
        .consumer("read", (), |output, ()| *output.read())
        .spec("register(init=0)")
        .budget(budget)
        .run()
}
