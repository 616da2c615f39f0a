//! The harness under Shuttle and Loom, attacked: little objects of which it is known whether they
//! are right, each under several seeds. An alarm on a right one and a pass of a broken one are
//! defects of the harness alike.

#![allow(missing_docs)]
#![cfg(any(feature = "shuttle", feature = "loom"))]

use seriatim_harness::{Failed, Failure, IntoReply, Passed, Reply, Test, distinct, test};
use seriatim_spec::{Next, Spec};
use seriatim_sync::atomic::{AtomicBool, AtomicU32, Ordering};
use seriatim_sync::{Condvar, Mutex, RwLock};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};

type Ran = Result<Passed, Box<Failed>>;
type Subject = (&'static str, fn(u64) -> Ran);

const SEEDS: u64 = 6;

/// What every right object is given, and what a broken one must fail in.
fn run<T: Send + Sync + 'static, H: 'static, V>(test: Test<T, H, V>, seed: u64) -> Ran {
    test.seed(seed).budget(Duration::from_secs(6)).executions(6_000).run()
}

fn counter(seed: u64, increment: fn(&AtomicU32) -> u32) -> Ran {
    let counter = test(|| AtomicU32::new(0))
        .operation("fetch_add", 1..2_u32, move |count, _| increment(count))
        .operation("read", (), |count, ()| count.load(SeqCst));
    run(counter.spec("fetch-and-add"), seed)
}

fn queue(seed: u64, size: fn(&Mutex<VecDeque<u32>>, &AtomicU32) -> usize) -> Ran {
    let queue = test(|| (Mutex::new(VecDeque::new()), AtomicU32::new(0)))
        .operation("enqueue", distinct::<u32>(), |(queue, count), value| {
            queue.lock().unwrap().push_back(value);
            count.fetch_add(1, SeqCst);
        })
        .operation("dequeue", (), |(queue, count), ()| {
            let taken = queue.lock().unwrap().pop_front();
            count.fetch_sub(u32::from(taken.is_some()), SeqCst);
            taken
        })
        .operation("size", (), move |(queue, count), ()| size(queue, count));
    run(queue.spec("queue").drain("dequeue"), seed)
}

/// A channel whose receiver waits; `wake` says whom a sender wakes.
fn channel(seed: u64, wake: fn(&Condvar, usize)) -> Ran {
    let channel = test(|| (Mutex::new(VecDeque::new()), Condvar::new()))
        .operation("enqueue", distinct::<u32>(), move |(queue, arrived), value| {
            let mut queue = queue.lock().unwrap();
            queue.push_back(value);
            let count = queue.len();
            drop(queue);
            wake(arrived, count);
        })
        .operation("dequeue", (), |(queue, _), ()| queue.lock().unwrap().pop_front())
        .operation("receive", (), |(queue, arrived), ()| {
            let mut queue = queue.lock().unwrap();
            while queue.is_empty() {
                queue = arrived.wait(queue).unwrap();
            }
            queue.pop_front()
        })
        .blocking_while("dequeue", None::<u32>);
    run(channel.spec("queue"), seed)
}

/// A semaphore whose `acquire` waits, as the specification says; `wake` says whom a release wakes.
fn semaphore(seed: u64, wake: fn(&Condvar, u32)) -> Ran {
    let semaphore = test(|| (Mutex::new(0_u32), Condvar::new()))
        .operation("release", (), move |(permits, given), ()| {
            let mut permits = permits.lock().unwrap();
            *permits += 1;
            let count = *permits;
            drop(permits);
            wake(given, count);
        })
        .operation("acquire", (), |(permits, given), ()| {
            let mut permits = permits.lock().unwrap();
            while *permits == 0 {
                permits = given.wait(permits).unwrap();
            }
            *permits -= 1;
        })
        .blocking()
        .operation("permits", (), |(permits, _), ()| *permits.lock().unwrap());
    run(semaphore.spec("semaphore"), seed)
}

/// A lock for readers and writers in which readers wait behind a writer that waits: fair, and no
/// lost wake-up although the specification would let them in.
fn fair_lock(seed: u64) -> Ran {
    #[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
    struct Held {
        readers: u32,
        writer: bool,
        writers_waiting: u32,
    }
    let lock = test(|| (Mutex::new(Held::default()), Condvar::new()))
        .operation("read", (), |(held, freed), ()| {
            let mut held = held.lock().unwrap();
            while held.writer || held.writers_waiting > 0 {
                held = freed.wait(held).unwrap();
            }
            held.readers += 1;
        })
        .blocking()
        .operation("write", (), |(held, freed), ()| {
            let mut held = held.lock().unwrap();
            held.writers_waiting += 1;
            while held.writer || held.readers > 0 {
                held = freed.wait(held).unwrap();
            }
            held.writers_waiting -= 1;
            held.writer = true;
        })
        .blocking()
        .operation("release", (), |(held, freed), ()| {
            let mut held = held.lock().unwrap();
            match held.writer {
                true => held.writer = false,
                false => held.readers = held.readers.saturating_sub(1),
            }
            freed.notify_all();
        })
        .model(Held::default(), |held, call| match call.name() {
            "read" if held.writer => Reply::Waits,
            "write" if held.writer || held.readers > 0 => Reply::Waits,
            "read" => {
                held.readers += 1;
                ().reply()
            }
            "write" => {
                held.writer = true;
                ().reply()
            }
            _ => {
                match held.writer {
                    true => held.writer = false,
                    false => held.readers = held.readers.saturating_sub(1),
                }
                ().reply()
            }
        });
    run(lock, seed)
}

/// Two words that are written one after the other: `order` is that of the second store.
fn published(seed: u64, order: Ordering, seen: Ordering) -> Ran {
    let published = test(|| (AtomicU32::new(0), AtomicBool::new(false)))
        .operation("write", 1..3_u32, |(data, _), value| data.store(value, Relaxed))
        .only_on_thread(0)
        .operation("publish", (), move |(_, flag), ()| flag.store(true, order))
        .only_on_thread(0)
        .operation("read", (), move |(data, flag), ()| flag.load(seen).then(|| data.load(Relaxed)))
        .only_on_thread(1)
        .model((0_u32, false), |(data, flag), call| match call.name() {
            "write" => {
                *data = call.arg();
                ().reply()
            }
            "publish" => {
                *flag = true;
                ().reply()
            }
            _ => flag.then_some(*data).reply(),
        });
    run(published, seed)
}

/// A lock of one word around a plain pair of relaxed words.
fn locked_pair(seed: u64, acquire: Ordering, release: Ordering) -> Ran {
    struct Pair {
        held: AtomicBool,
        words: [AtomicU32; 2],
    }
    let pair = test(|| Pair {
        held: AtomicBool::new(false),
        words: [AtomicU32::new(0), AtomicU32::new(0)],
    })
    .operation("write", 1..3_u32, move |pair, value| {
        let is_mine = pair.held.compare_exchange(false, true, acquire, Relaxed).is_ok();
        if is_mine {
            pair.words.iter().for_each(|word| word.store(value, Relaxed));
            pair.held.store(false, release);
        }
        is_mine
    })
    .operation("read", (), move |pair, ()| {
        let is_mine = pair.held.compare_exchange(false, true, acquire, Relaxed).is_ok();
        let seen = pair.words.each_ref().map(|word| word.load(Relaxed));
        if is_mine {
            pair.held.store(false, release);
        }
        is_mine.then_some(seen[0] == seen[1])
    })
    // Whether the lock is free is not what is asked here: a refusal may always come.
    .own_spec(Torn, |call| call.name() == "read", |_, reply| reply.value::<bool>());
    run(pair, seed)
}

/// A pair is never seen torn.
struct Torn;

impl Spec for Torn {
    type State = ();
    type Op = bool;
    type Ret = Option<bool>;

    fn initial(&self) {}

    fn step(&self, (): &(), reads: &bool, ret: Option<&Option<bool>>) -> Next<()> {
        let is_torn = *reads && ret == Some(&Some(false));
        Next::when(!is_torn, || ())
    }
}

/// A register whose reader asks the word, or remembers what it saw first.
fn reader(seed: u64, ask: fn(&AtomicU32, &mut Option<u32>) -> u32) -> Ran {
    let register = test(|| Arc::new(AtomicU32::new(0)))
        .handles(|word, _| (word.clone(), None))
        .operation("write", 1..3_u32, |(word, _), value| word.store(value, SeqCst))
        .only_on_thread(0)
        .operation("read", (), move |(word, remembered), ()| ask(word, remembered))
        .only_on_thread(1);
    run(register.spec("register(init=0)"), seed)
}

fn set(seed: u64, add: fn(&RwLock<Vec<u32>>, u32) -> bool) -> Ran {
    let set = test(|| RwLock::new(Vec::new())).operation("add", 1..3_u32, add).operation(
        "contains",
        1..3_u32,
        |set, value| set.read().unwrap().contains(&value),
    );
    run(set.spec("set"), seed)
}

const RIGHT: &[Subject] = &[
    ("fetch_add", |seed| counter(seed, |count| count.fetch_add(1, SeqCst))),
    ("relaxed fetch_add", |seed| counter(seed, |count| count.fetch_add(1, Relaxed))),
    ("a loop of compare and set", |seed| {
        counter(seed, |count| {
            let mut seen = count.load(Relaxed);
            while let Err(now) = count.compare_exchange(seen, seen + 1, AcqRel, Relaxed) {
                seen = now;
            }
            seen
        })
    }),
    ("a queue and its length under the lock", |seed| {
        queue(seed, |queue, _| queue.lock().unwrap().len())
    }),
    ("a channel that wakes one receiver", |seed| channel(seed, |arrived, _| arrived.notify_one())),
    ("a channel that wakes all", |seed| channel(seed, |arrived, _| arrived.notify_all())),
    ("a semaphore that wakes one", |seed| semaphore(seed, |given, _| given.notify_one())),
    ("a lock whose readers wait behind a writer", fair_lock),
    ("release and acquire", |seed| published(seed, Release, Acquire)),
    ("a lock of acquire and release", |seed| locked_pair(seed, Acquire, Release)),
    ("a reader that asks", |seed| reader(seed, |word, _| word.load(Acquire))),
    ("a set that asks and adds under one lock", |seed| {
        set(seed, |set, value| {
            let mut set = set.write().unwrap();
            let is_new = !set.contains(&value);
            if is_new {
                set.push(value);
            }
            is_new
        })
    }),
];

const BROKEN: &[Subject] = &[
    ("load and store", |seed| {
        counter(seed, |count| {
            let seen = count.load(SeqCst);
            count.store(seen + 1, SeqCst);
            seen
        })
    }),
    ("one compare and set, whatever it says", |seed| {
        counter(seed, |count| {
            let seen = count.load(SeqCst);
            let _ = count.compare_exchange(seen, seen + 1, SeqCst, SeqCst);
            seen
        })
    }),
    ("a queue and its length beside the lock", |seed| {
        queue(seed, |_, count| count.load(SeqCst) as usize)
    }),
    ("a channel that wakes nobody", |seed| channel(seed, |_, _| {})),
    ("a channel that wakes one receiver of two", |seed| {
        channel(seed, |arrived, count| {
            if count == 1 {
                arrived.notify_one();
            }
        })
    }),
    ("a semaphore that wakes nobody", |seed| semaphore(seed, |_, _| {})),
    ("a semaphore that wakes one of two", |seed| {
        semaphore(seed, |given, count| {
            if count == 1 {
                given.notify_one();
            }
        })
    }),
    ("a reader that remembers", |seed| {
        reader(seed, |word, seen| *seen.get_or_insert_with(|| word.load(SeqCst)))
    }),
    ("a set that asks under one lock and adds under another", |seed| {
        set(seed, |set, value| {
            let is_new = !set.read().unwrap().contains(&value);
            if is_new {
                set.write().unwrap().push(value);
            }
            is_new
        })
    }),
];

/// Broken by the ordering of memory alone: Loom must see it, and must not be kept from it by what
/// the harness does around the calls. Shuttle cannot.
const BROKEN_BY_ORDER: &[Subject] = &[
    ("relaxed publishing", |seed| published(seed, Relaxed, Acquire)),
    ("relaxed looking", |seed| published(seed, Release, Relaxed)),
    ("a lock that releases relaxedly", |seed| locked_pair(seed, Acquire, Relaxed)),
    ("a lock that acquires relaxedly", |seed| locked_pair(seed, Relaxed, Release)),
];

#[test]
fn no_right_object_fails() {
    for (name, run) in RIGHT {
        for seed in 0..SEEDS {
            if let Err(failed) = run(seed) {
                panic!("{name}, seed {seed}: {}", failed.report);
            }
        }
    }
}

fn must_fail((name, run): &Subject) {
    for seed in 0..SEEDS {
        match run(seed) {
            Ok(passed) => panic!("{name}, seed {seed}: {passed}"),
            Err(failed) => assert!(
                matches!(
                    failed.failure,
                    Failure::Violation(_) | Failure::Deadlock { .. } | Failure::LostWakeUp { .. }
                ),
                "{name}, seed {seed}: {}",
                failed.report
            ),
        }
    }
}

#[test]
fn every_broken_object_fails() {
    BROKEN.iter().for_each(must_fail);
}

#[test]
fn what_only_the_order_of_memory_breaks_is_seen_by_loom() {
    let loom = cfg!(feature = "loom");
    for subject in BROKEN_BY_ORDER {
        match loom {
            true => must_fail(subject),
            false => drop(subject.1(0).expect("Shuttle's memory is sequentially consistent")),
        }
    }
}
