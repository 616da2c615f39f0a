//! Objects whose calls do each other's work, or are done in several steps: combining, descriptors,
//! shards, batches, versions, latches, tries that may fail. Of each it is known whether it is right;
//! an alarm on a right one and a pass of a broken one are defects of the harness alike.

#![allow(missing_docs)]
#![cfg(not(any(feature = "shuttle", feature = "loom")))]

mod subjects;

use seriatim_harness::{IntoReply, Reply, Test, array_of, distinct, test, tracked};
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex, RwLock};
use std::time::Duration;
use subjects::{Ran, Subject, each_fails, none_fails};

/// How often a broken object is tried on a machine that is too busy for enough executions at once.
const TRIES: usize = 100;

/// Counted in executions: how many there are in a second says more of the machine than of the test.
fn run<T: Send + Sync + 'static, H: 'static, V>(test: Test<T, H, V>) -> Ran {
    let most = Duration::from_secs(20);
    test.executions(600).budget(most).shrink_for(Duration::from_millis(200)).run()
}

/// A moment in which others may do something.
fn moment() {
    std::thread::sleep(Duration::from_micros(50));
}

/// A request of flat combining: an amount, and the sum before it once it is done.
#[derive(Default)]
struct Request {
    amount: u32,
    answer: Option<u32>,
}

/// A counter whose calls are done by whoever holds its lock (flat combining). `once` says whether a
/// request that was answered is left alone.
fn combining(once: bool) -> Ran {
    struct Combining {
        sum: Mutex<u32>,
        requests: Mutex<Vec<Arc<Mutex<Request>>>>,
    }
    let add = move |object: &Combining, amount: u32| {
        let mine = Arc::new(Mutex::new(Request { amount, answer: None }));
        object.requests.lock().unwrap().push(mine.clone());
        loop {
            if let Ok(mut sum) = object.sum.try_lock() {
                let all = std::mem::take(&mut *object.requests.lock().unwrap());
                for request in all {
                    let mut request = request.lock().unwrap();
                    request.answer = Some(*sum);
                    *sum += request.amount;
                    if !once {
                        *sum += request.amount;
                    }
                }
            }
            if let Some(answer) = mine.lock().unwrap().answer {
                return answer;
            }
            std::thread::yield_now();
        }
    };
    run(test(|| Combining { sum: Mutex::default(), requests: Mutex::default() })
        .operation("fetch_add", 1..3_u32, add)
        .model(0_u32, |sum, call| {
            let before = *sum;
            *sum += call.arg::<u32>();
            before.reply()
        }))
}

/// A counter in two shards, which a read adds up one after the other. Steps of one: the sum was the
/// one that was read at some moment, so this is right. Steps of two may be seen half.
fn shards(step: u32) -> Ran {
    let add = move |shards: &[AtomicU32; 2], which: usize| {
        shards[which].fetch_add(1, SeqCst);
        if step == 2 {
            moment();
            shards[1 - which].fetch_add(1, SeqCst);
        }
    };
    run(test(|| [AtomicU32::new(0), AtomicU32::new(0)])
        .operation("add", 0..2_usize, add)
        .operation("read", (), |shards, ()| {
            let first = shards[0].load(SeqCst);
            moment();
            first + shards[1].load(SeqCst)
        })
        .model(0_u32, move |sum, call| match call.name() {
            "add" => {
                *sum += step;
                ().reply()
            }
            _ => sum.reply(),
        }))
}

/// A pair under a sequence lock; `checks` says whether a reader looks at the number again.
fn sequence_lock(checks: bool) -> Ran {
    struct Pair {
        number: AtomicU32,
        halves: [AtomicU32; 2],
        writer: Mutex<()>,
    }
    let new =
        || Pair { number: AtomicU32::new(0), halves: Default::default(), writer: Mutex::new(()) };
    run(test(new)
        .operation("write", distinct::<u32>(), |pair, value| {
            let _alone = pair.writer.lock().unwrap();
            pair.number.fetch_add(1, SeqCst);
            pair.halves[0].store(value, SeqCst);
            moment();
            pair.halves[1].store(value, SeqCst);
            pair.number.fetch_add(1, SeqCst);
        })
        .operation("read", (), move |pair, ()| {
            loop {
                let before = pair.number.load(SeqCst);
                let read = pair.halves.each_ref().map(|half| half.load(SeqCst));
                if !checks || before.is_multiple_of(2) && pair.number.load(SeqCst) == before {
                    return (read[0], read[1]);
                }
                std::thread::yield_now();
            }
        })
        .model(0_u32, |value, call| match call.name() {
            "write" => {
                *value = call.arg();
                ().reply()
            }
            _ => (*value, *value).reply(),
        }))
}

/// A queue that takes two values at once, under one lock or one after the other.
fn batches(at_once: bool) -> Ran {
    run(test(|| Mutex::new(VecDeque::new()))
        .operation(
            "push_both",
            array_of::<2, _>(distinct::<u32>()),
            move |queue, both: [u32; 2]| {
                if at_once {
                    return queue.lock().unwrap().extend(both);
                }
                for value in both {
                    queue.lock().unwrap().push_back(value);
                    moment();
                }
            },
        )
        .operation("pop", (), |queue, ()| queue.lock().unwrap().pop_front())
        .model(VecDeque::new(), |queue: &mut VecDeque<u32>, call| match call.name() {
            "push_both" => {
                queue.extend(call.arg::<[u32; 2]>());
                ().reply()
            }
            _ => queue.pop_front().reply(),
        }))
}

/// A counter that is only tried: whoever finds it busy did nothing and says so. A broken one has
/// counted by then.
fn tried(counts_first: bool) -> Ran {
    let add = move |count: &Mutex<u32>, (): ()| -> Result<(), ()> {
        let held = count.try_lock();
        let is_busy = held.is_err();
        match held {
            Ok(mut count) => {
                moment();
                *count += 1;
            }
            Err(_) if counts_first => *count.lock().unwrap() += 1,
            Err(_) => {}
        }
        if is_busy { Err(()) } else { Ok(()) }
    };
    run(test(|| Mutex::new(0_u32))
        .operation("increment", (), add)
        .operation("read", (), |count, ()| *count.lock().unwrap())
        .spec("counter"))
}

/// A latch: whoever waits goes on when it has been counted down to nothing. A broken one wakes one
/// of those who wait.
fn latch(wake: fn(&Condvar)) -> Ran {
    run(test(|| (Mutex::new(2_u32), Condvar::new()))
        .operation("count_down", (), move |(left, news), ()| {
            let mut left = left.lock().unwrap();
            *left = left.saturating_sub(1);
            if *left == 0 {
                wake(news);
            }
        })
        .operation("wait", (), |(left, news), ()| {
            drop(news.wait_while(left.lock().unwrap(), |left| *left > 0).unwrap());
        })
        .blocking()
        .model(2_u32, |left, call| match call.name() {
            "count_down" => {
                *left = left.saturating_sub(1);
                ().reply()
            }
            _ if *left > 0 => Reply::Waits,
            _ => ().reply(),
        }))
}

/// Whoever reads copies what a writer publishes as a whole; a broken writer copies before it waits
/// for its turn.
fn copy_on_write(in_turn: bool) -> Ran {
    type Table = BTreeMap<u32, u32>;
    let put = move |(current, writer): &(RwLock<Arc<Table>>, Mutex<()>),
                    (key, value): (u32, u32)| {
        let early = (!in_turn).then(|| current.read().unwrap().clone());
        let _alone = writer.lock().unwrap();
        let table = early.unwrap_or_else(|| current.read().unwrap().clone());
        let mut table = Table::clone(&table);
        let before = table.insert(key, value);
        moment();
        *current.write().unwrap() = Arc::new(table);
        before
    };
    run(test(|| (RwLock::new(Arc::new(Table::new())), Mutex::new(())))
        .operation("put", (1..3_u32, distinct::<u32>()), put)
        .operation("entries", (), |(current, _), ()| {
            let table = current.read().unwrap().clone();
            table.iter().map(|(key, value)| (*key, *value)).collect::<Vec<_>>()
        })
        .model(Table::new(), |table, call| match call.name() {
            "put" => {
                let (key, value) = call.arg();
                table.insert(key, value).reply()
            }
            _ => {
                table.iter().map(|(key, value)| (*key, *value)).collect::<Vec<(u32, u32)>>().reply()
            }
        }))
}

/// Values that are handed from call to call by a slot for exchanges. A broken one copies the value
/// of the other and keeps its own there.
fn handed_over(leaves: bool) -> Ran {
    run(test(|| (Mutex::new(None), Mutex::new(Vec::new())))
        .operation("push", tracked(), |(slot, stack), value| {
            let mut slot = slot.lock().unwrap();
            match slot.is_none() {
                true => *slot = Some(value),
                false => stack.lock().unwrap().extend(slot.replace(value)),
            }
        })
        .operation("pop", (), move |(slot, stack), ()| {
            let mut slot = slot.lock().unwrap();
            let top = slot.take();
            if leaves {
                moment();
                std::mem::forget(stack.lock().unwrap().pop());
            }
            top.or_else(|| stack.lock().unwrap().pop())
        })
        .spec("stack"))
}

/// A register that tells the version of what was read. A broken one counts after it has written.
fn versions(together: bool) -> Ran {
    struct Versioned(Mutex<u32>, AtomicU32);
    run(test(|| Versioned(Mutex::new(0), AtomicU32::new(0)))
        .operation("write", distinct::<u32>(), move |object, value| {
            let mut held = object.0.lock().unwrap();
            *held = value;
            if !together {
                drop(held);
                moment();
                object.1.fetch_add(1, SeqCst);
            } else {
                object.1.fetch_add(1, SeqCst);
            }
        })
        .operation("read", (), |object, ()| {
            let held = object.0.lock().unwrap();
            (*held, object.1.load(SeqCst))
        })
        .model((0_u32, 0_u32), |state, call| match call.name() {
            "write" => {
                *state = (call.arg(), state.1 + 1);
                ().reply()
            }
            _ => state.reply(),
        }))
}

/// Whoever closes it ends it for all: values that were sent before are still received, and nothing is
/// accepted after. A broken one looks whether it is closed before it waits for its turn.
fn closing(looks_inside: bool) -> Ran {
    type Channel = (Mutex<VecDeque<u32>>, AtomicBool);
    let send = move |(queue, closed): &Channel, value: u32| {
        let early = closed.load(SeqCst);
        moment();
        let mut queue = queue.lock().unwrap();
        let is_closed = if looks_inside { closed.load(SeqCst) } else { early };
        if !is_closed {
            queue.push_back(value);
        }
        !is_closed
    };
    run(test(|| (Mutex::new(VecDeque::new()), AtomicBool::new(false)))
        .operation("send", distinct::<u32>(), send)
        .operation("close", (), |(queue, closed): &Channel, ()| {
            let _all = queue.lock().unwrap();
            closed.store(true, SeqCst);
        })
        .operation("receive", (), |(queue, _), ()| queue.lock().unwrap().pop_front())
        .model((VecDeque::new(), false), |(queue, closed): &mut (VecDeque<u32>, bool), call| {
            match call.name() {
                "send" if *closed => false.reply(),
                "send" => {
                    queue.push_back(call.arg());
                    true.reply()
                }
                "close" => {
                    *closed = true;
                    ().reply()
                }
                _ => queue.pop_front().reply(),
            }
        }))
}

const RIGHT: &[Subject] = &[
    ("combining", || combining(true)),
    ("shards, one by one", || shards(1)),
    ("a sequence lock", || sequence_lock(true)),
    ("batches", || batches(true)),
    ("only tried", || tried(false)),
    ("a latch", || latch(Condvar::notify_all)),
    ("copies on write", || copy_on_write(true)),
    ("handed over", || handed_over(false)),
    ("versions", || versions(true)),
    ("closing", || closing(true)),
];

const BROKEN: &[Subject] = &[
    ("combining twice", || combining(false)),
    ("shards, two at a time", || shards(2)),
    ("a sequence lock that looks once", || sequence_lock(false)),
    ("batches one by one", || batches(false)),
    ("only tried, and counted", || tried(true)),
    ("a latch that wakes one", || latch(Condvar::notify_one)),
    ("copies before its turn", || copy_on_write(false)),
    ("handed over and lost", || handed_over(true)),
    ("versions later", || versions(false)),
    ("closing unseen", || closing(false)),
];

#[test]
fn no_right_object_that_helps_fails() {
    none_fails(RIGHT);
}

#[test]
fn every_broken_object_that_helps_fails() {
    each_fails(BROKEN, TRIES);
}
