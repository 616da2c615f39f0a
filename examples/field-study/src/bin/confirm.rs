//! The violations of the field study, each by a small program without Seriatim. `cargo run
//! --release --bin confirm` runs them all; a word runs those whose name contains it, a number says
//! for how many seconds each.

use crossbeam::queue::ArrayQueue;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

const ALL: &[(&str, fn(Duration))] = &[
    ("concurrent-map", concurrent_map),
    ("mini-moka", mini_moka),
    ("moka invalidate_all", moka_invalidate_all),
    ("moka get_with", moka_get_with),
    ("moka and_compute_with", moka_compute),
    ("quick_cache", quick_cache),
    ("thingbuf", thingbuf),
    ("array-queue", array_queue),
    ("concurrent-queue", concurrent_queue),
    ("concurrent-queue of one", concurrent_queue_of_one),
    ("async-channel", async_channel),
    ("sharded-slab", sharded_slab),
    ("boxcar count", boxcar_count),
    ("boxcar get", boxcar_get),
    ("flurry", flurry),
    ("papaya", papaya),
    ("deadqueue", deadqueue),
    ("deadqueue-limited", deadqueue_limited),
    ("lockfree", lockfree),
    ("lockfree-queue", lockfree_queue),
    ("tachyonix", tachyonix),
    ("dashmap", dashmap),
    ("dashmap-len", dashmap_len),
    ("quick_cache-len", quick_cache_len),
    ("leapfrog", leapfrog),
    ("leapfrog-remove", leapfrog_remove),
    ("skip-map", skip_map),
    ("lockfree-box", lockfree_box),
];

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let seconds = words.iter().find_map(|word| word.parse().ok()).unwrap_or(10.0);
    let wanted = words.iter().find(|word| word.parse::<f64>().is_err());
    for (name, confirm) in ALL {
        if wanted.is_none_or(|wanted| name.contains(wanted.as_str())) {
            print!("{name}: ");
            confirm(Duration::from_secs_f64(seconds));
        }
    }
}

/// Lets two threads start together.
fn together<A: Send, B>(one: impl FnOnce() -> A + Send, other: impl FnOnce() -> B) -> (A, B) {
    let gate = Barrier::new(2);
    thread::scope(|scope| {
        let first = scope.spawn(|| {
            gate.wait();
            one()
        });
        gate.wait();
        let second = other();
        (first.join().expect("no panic"), second)
    })
}

/// Tries something again and again; says how often it happened.
fn count(time: Duration, what: &str, mut happens: impl FnMut() -> bool) {
    let (begin, mut tried, mut seen) = (Instant::now(), 0, 0);
    while begin.elapsed() < time {
        seen += u32::from(happens());
        tried += 1;
    }
    println!("{what}: {seen} of {tried}");
}

/// One thread inserts ever smaller keys and looks each time whether the key before is still there.
/// If it is, the smaller one was inserted before the larger one was popped, and must be popped
/// first.
fn concurrent_map(time: Duration) {
    const KEYS: u32 = 1000;
    let (begin, mut looks, mut wrong) = (Instant::now(), 0_u64, 0_u64);
    while begin.elapsed() < time {
        let map = concurrent_map::ConcurrentMap::<u32, u32>::new();
        map.insert(KEYS, 0);
        let (popping, inserting) = (map.clone(), map.clone());
        let (popped, seen) = together(
            move || (0..4 * KEYS).filter_map(|_| popping.pop_first()).collect::<Vec<_>>(),
            || {
                let look = |key: &u32| {
                    inserting.insert(*key, 0);
                    inserting.get(&(key + 1)).is_some()
                };
                (1..KEYS).rev().filter(look).collect::<Vec<u32>>()
            },
        );
        let place = |key| popped.iter().position(|(popped, _)| *popped == key);
        looks += seen.len() as u64;
        wrong += seen
            .iter()
            .filter(|&&key| match (place(key + 1), place(key)) {
                (Some(larger), Some(smaller)) => larger < smaller,
                (larger, _) => larger.is_some(),
            })
            .count() as u64;
    }
    println!(
        "pop_first gave a key although a smaller one was there before it went: {wrong} of {looks}"
    );
}

fn mini_moka(_: Duration) {
    let lost = (0..1000).filter(|_| {
        let cache = mini_moka::sync::Cache::<u32, u32>::new(1000);
        cache.insert(1, 1);
        cache.get(&1);
        cache.invalidate_all();
        cache.insert(1, 2);
        cache.get(&1).is_none()
    });
    println!(
        "one thread, insert get invalidate_all insert: get gave None: {} of 1000",
        lost.count()
    );
}

fn moka_invalidate_all(time: Duration) {
    count(time, "insert after invalidate_all on the same thread was lost", || {
        let cache = moka::sync::Cache::<u32, u32>::new(100);
        together(
            || cache.insert(1, 1),
            || {
                cache.invalidate_all();
                cache.insert(1, 3);
            },
        );
        cache.get(&1).is_none()
    });
}

/// Runs something on another thread and waits for it.
fn elsewhere<R: Send>(run: impl FnOnce() -> R + Send) -> R {
    thread::scope(|scope| scope.spawn(run).join().expect("no panic"))
}

fn moka_get_with(_: Duration) {
    let cache = moka::sync::Cache::<u32, u32>::new(100);
    let given = cache.get_with(2, || {
        elsewhere(|| cache.insert(2, 65));
        184
    });
    let held = cache.get(&2);
    println!("insert(2, 65) returned during the closure; get_with gave {given}; get gave {held:?}");
}

fn moka_compute(_: Duration) {
    let cache = moka::sync::Cache::<u32, u32>::new(100);
    cache.insert(3, 1);
    let mut removed = None;
    cache.entry(3).and_compute_with(|held| {
        removed = elsewhere(|| cache.remove(&3));
        moka::ops::compute::Op::Put(held.map_or(0, |held| held.into_value()) + 1)
    });
    println!("remove gave {removed:?} during the closure; get gave {:?}", cache.get(&3));
}

fn quick_cache(_: Duration) {
    let cache = quick_cache::sync::Cache::<u32, u32>::new(100);
    let mut removed = None;
    let given = cache.get_or_insert_with(&2, || {
        removed = elsewhere(|| cache.remove(&2));
        Ok::<_, ()>(3)
    });
    let held = cache.get(&2);
    println!("remove gave {removed:?}; get_or_insert_with gave {given:?}; get gave {held:?}");
}

fn thingbuf(time: Duration) {
    let queue = thingbuf::ThingBuf::<u32>::new(2);
    queue.push(1).expect("there is room");
    queue.push(2).expect("there is room");
    let guard = queue.pop_ref();
    let refused = queue.push(3).is_err();
    drop(guard);
    let refused_again = queue.push(4).is_err();
    let (first, second) = (queue.pop(), queue.pop());
    println!(
        "two places, one value taken: push with the guard refused: {refused}; without it: {refused_again}; \
         then pop gives {first:?}, {second:?}"
    );
    count(time, "  a quiet queue of two places with one value is full", || {
        let queue = thingbuf::ThingBuf::<u32>::new(2);
        queue.push(1).expect("there is room");
        queue.push(2).expect("there is room");
        let (popped, pushed) = together(|| queue.pop(), || (0..20).any(|_| queue.push(3).is_ok()));
        popped == Some(1) && !pushed && queue.push(4).is_err()
    });
}

/// One thread only forces values into a full queue, another one looks.
fn always_full(
    time: Duration,
    force: impl Fn(u32) + Sync,
    is_full: impl Fn() -> bool,
    len: impl Fn() -> usize,
) {
    let stop = AtomicBool::new(false);
    let (mut looks, mut not_full, mut other_len) = (0_u64, 0_u64, 0_u64);
    thread::scope(|scope| {
        scope.spawn(|| (10..).take_while(|_| !stop.load(SeqCst)).for_each(&force));
        let begin = Instant::now();
        while begin.elapsed() < time {
            looks += 1;
            not_full += u64::from(!is_full());
            other_len += u64::from(len() != 2);
        }
        stop.store(true, SeqCst);
    });
    println!(
        "a queue that is always full: is_full() is false {not_full}, len() is not 2 {other_len} times of {looks}"
    );
}

fn array_queue(time: Duration) {
    let queue = ArrayQueue::new(2);
    queue.push(1).expect("there is room");
    queue.push(2).expect("there is room");
    always_full(time, |value| _ = queue.force_push(value), || queue.is_full(), || queue.len());
}

/// A queue with room for one value holds one, and two threads pop it. The one that finds nothing
/// pushes, and is told that there is no room, although nobody else pushes. The value is large, so
/// that taking it out takes a while.
fn concurrent_queue_of_one(time: Duration) {
    const QUEUES: usize = 500;
    let (begin, mut wrong, mut tried) = (Instant::now(), 0, 0);
    while begin.elapsed() < time {
        let queues: Vec<_> =
            (0..QUEUES).map(|_| concurrent_queue::ConcurrentQueue::bounded(1)).collect();
        for queue in &queues {
            let _ = queue.push([0_u64; 1024]);
        }
        let arrived = AtomicUsize::new(0);
        let meet = |place: usize| {
            arrived.fetch_add(1, SeqCst);
            while arrived.load(SeqCst) < 2 * (place + 1) {
                std::hint::spin_loop();
            }
        };
        let (_, seen) = together(
            || {
                for (place, queue) in queues.iter().enumerate() {
                    meet(place);
                    let _ = queue.pop();
                }
            },
            || {
                let is_wrong = |(place, queue): &(usize, &concurrent_queue::ConcurrentQueue<_>)| {
                    meet(*place);
                    queue.pop().is_err() && queue.push([1; 1024]).is_err()
                };
                queues.iter().enumerate().filter(is_wrong).count()
            },
        );
        tried += QUEUES;
        wrong += seen;
    }
    println!(
        "pop found nothing, and then push found no room, although nobody else pushes: {wrong} of {tried}"
    );
}

fn concurrent_queue(time: Duration) {
    let queue = concurrent_queue::ConcurrentQueue::bounded(2);
    queue.push(1).expect("there is room");
    queue.push(2).expect("there is room");
    let force = |value| _ = queue.force_push(value).expect("it is open");
    always_full(time, force, || queue.is_full(), || queue.len());
}

fn async_channel(time: Duration) {
    let (sender, receiver) = async_channel::bounded(2);
    sender.try_send(1).expect("there is room");
    sender.try_send(2).expect("there is room");
    let force = |value| _ = sender.force_send(value).expect("it is open");
    always_full(time, force, || receiver.is_full(), || receiver.len());
}

fn sharded_slab(_: Duration) {
    let slab = sharded_slab::Slab::new();
    let key = slab.insert(7_u32).expect("there is room");
    let guard = slab.get(key);
    let (first, second) = (slab.remove(key), slab.remove(key));
    drop(guard);
    println!("one entry, a guard that looks at it: remove gave {first}, and remove gave {second}");
}

fn boxcar_count(time: Duration) {
    count(time, "count() right after push gave i, on the same thread, is i or less", || {
        let list = boxcar::Vec::<u32>::new();
        let behind = || (0..1000).any(|_| list.push(1) >= list.count());
        let (one, other) = together(behind, behind);
        one || other
    });
}

fn boxcar_get(time: Duration) {
    count(time, "push gave i, and yet get(i - 1) on the same thread finds nothing", || {
        let list = boxcar::Vec::<u32>::new();
        let hole = |_| list.push(1).checked_sub(1).is_some_and(|place| list.get(place).is_none());
        let holes = || (0..1000).any(hole);
        let (one, other) = together(holes, holes);
        one || other
    });
}

/// One thread removes the only key, another inserts it and sees more than one entry then.
fn flurry(time: Duration) {
    let (map, over) = (flurry::HashMap::<u32, u32>::new(), AtomicBool::new(false));
    let (mut looks, mut wrong) = (0_u64, 0_u64);
    let remove = || {
        while !over.load(SeqCst) {
            map.pin().remove(&2);
        }
    };
    together(remove, || {
        let begin = Instant::now();
        while begin.elapsed() < time {
            map.pin().insert(2, 3);
            looks += 1;
            wrong += u64::from(map.len() > 1);
        }
        over.store(true, SeqCst);
    });
    println!("a map that never has more than one key has len 2 or more: {wrong} of {looks}");
}

/// One thread removes the keys in order; who has seen that a key is gone knows how many are left at
/// most.
fn papaya(time: Duration) {
    const KEYS: usize = 1000;
    let (begin, mut looks, mut wrong) = (Instant::now(), 0_u64, 0_u64);
    while begin.elapsed() < time {
        let map = papaya::HashMap::<usize, ()>::new();
        (0..KEYS).for_each(|key| _ = map.pin().insert(key, ()).copied());
        let remove = || (0..KEYS).for_each(|key| _ = map.pin().remove(&key).copied());
        together(remove, || {
            for key in 0..KEYS {
                while map.pin().get(&key).is_some() {
                    std::hint::spin_loop();
                }
                looks += 1;
                wrong += u64::from(map.len() > KEYS - key - 1);
            }
        });
    }
    println!("len counts entries that were seen to be gone: {wrong} of {looks}");
}

/// Two threads send; one of them receives until it has got its own message, which is there since it
/// was sent.
fn own_messages<S: Sync, R>(
    time: Duration,
    make: impl Fn() -> (S, R),
    send: impl Fn(&S, u32) -> bool + Sync,
    receive: impl Fn(&mut R) -> Option<u32>,
) {
    let (mut looks, mut wrong, over) = (0_u32, 0_u32, AtomicBool::new(false));
    let (sender, mut receiver) = make();
    let flood = || {
        while !over.load(SeqCst) {
            send(&sender, 0);
            (0..50).for_each(|_| std::hint::spin_loop());
        }
    };
    together(flood, || {
        let begin = Instant::now();
        while begin.elapsed() < time {
            looks += 1;
            while !send(&sender, looks) {
                receive(&mut receiver);
            }
            let mut messages = std::iter::from_fn(|| receive(&mut receiver));
            wrong += u32::from(messages.all(|message| message != looks));
        }
        over.store(true, SeqCst);
    });
    println!("nothing to receive although one's own message had been sent: {wrong} of {looks}");
}

fn deadqueue(time: Duration) {
    let make = || {
        let queue = std::sync::Arc::new(deadqueue::unlimited::Queue::new());
        (queue.clone(), queue)
    };
    let send = |queue: &std::sync::Arc<deadqueue::unlimited::Queue<u32>>, message| {
        queue.push(message);
        true
    };
    own_messages(time, make, send, |queue| queue.try_pop());
}

fn deadqueue_limited(time: Duration) {
    let make = || {
        let queue = std::sync::Arc::new(deadqueue::limited::Queue::new(4096));
        (queue.clone(), queue)
    };
    let send = |queue: &std::sync::Arc<deadqueue::limited::Queue<u32>>, message| {
        queue.try_push(message).is_ok()
    };
    own_messages(time, make, send, |queue| queue.try_pop());
}

fn lockfree(time: Duration) {
    let send =
        |sender: &lockfree::channel::mpmc::Sender<u32>, message| sender.send(message).is_ok();
    own_messages(time, lockfree::channel::mpmc::create, send, |receiver| receiver.recv().ok());
}

fn lockfree_queue(time: Duration) {
    let make = || {
        let queue = std::sync::Arc::new(lockfree::queue::Queue::<u32>::new());
        (queue.clone(), queue)
    };
    let send = |queue: &std::sync::Arc<lockfree::queue::Queue<u32>>, message| {
        queue.push(message);
        true
    };
    own_messages(time, make, send, |queue| queue.pop());
}

fn tachyonix(time: Duration) {
    let send = |sender: &tachyonix::Sender<u32>, message| sender.try_send(message).is_ok();
    let make = || tachyonix::channel(4096);
    own_messages(time, make, send, |receiver| receiver.try_recv().ok());
}

/// Keys are inserted in order; who walks over the map finds one, but not all that came before it.
fn dashmap(time: Duration) {
    count(time, "an iterator shows a key, but not one that was inserted before it", || {
        let map = dashmap::DashMap::<u32, ()>::new();
        let over = AtomicBool::new(false);
        let insert =
            || (0..).take_while(|_| !over.load(SeqCst)).for_each(|key| _ = map.insert(key, ()));
        let (_, keys) = together(insert, || {
            while !map.contains_key(&1000) {
                std::hint::spin_loop();
            }
            let keys = map.iter().map(|entry| *entry.key()).collect::<Vec<u32>>();
            over.store(true, SeqCst);
            keys
        });
        keys.iter().max().is_some_and(|last| keys.len() <= *last as usize)
    });
}

/// An entry moves from key to key: there are always one or two.
fn moving_entry(
    time: Duration,
    insert: impl Fn(u32) + Sync,
    remove: impl Fn(u32) + Sync,
    len: impl Fn() -> usize,
) {
    let over = AtomicBool::new(false);
    insert(0);
    let moves = || {
        let keys = (0..).take_while(|_| !over.load(SeqCst));
        keys.for_each(|key: u32| {
            insert((key + 1) % 64);
            remove(key % 64);
        });
    };
    together(moves, || {
        count(time, "what always has one or two entries has another len", || {
            !(1..=2).contains(&len())
        });
        over.store(true, SeqCst);
    });
}

fn dashmap_len(time: Duration) {
    let map = dashmap::DashMap::<u32, ()>::new();
    let insert = |key| _ = map.insert(key, ());
    moving_entry(time, insert, |key| _ = map.remove(&key), || map.len());
}

fn quick_cache_len(time: Duration) {
    let cache = quick_cache::sync::Cache::<u32, ()>::new(1000);
    let insert = |key| cache.insert(key, ());
    moving_entry(time, insert, |key| _ = cache.remove(&key), || cache.len());
}

/// Two threads remove the same keys; each is there for one of them only.
fn leapfrog_remove(time: Duration) {
    const KEYS: u32 = 1000;
    let (begin, mut wrong, mut tried) = (Instant::now(), 0, 0);
    while begin.elapsed() < time {
        let map = leapfrog::LeapMap::<u32, u32>::with_capacity(4096);
        (1..=KEYS).for_each(|key| _ = map.insert(key, key));
        let take = || (1..=KEYS).map(|key| map.remove(&key).is_some()).collect::<Vec<bool>>();
        let (one, other) = together(take, take);
        wrong += one.iter().zip(&other).filter(|(one, other)| **one && **other).count();
        tried += KEYS;
    }
    println!("one entry was given to two callers of remove: {wrong} of {tried}");
}

/// Two threads insert the same keys; each key is new to one of them only.
fn leapfrog(time: Duration) {
    const KEYS: usize = 1000;
    let (begin, mut wrong, mut tried) = (Instant::now(), 0, 0);
    while begin.elapsed() < time {
        let map = leapfrog::LeapMap::<u32, u32>::with_capacity(4 * KEYS);
        let arrived = AtomicUsize::new(0);
        let is_new = |key: &usize| {
            arrived.fetch_add(1, SeqCst);
            while arrived.load(SeqCst) < 2 * key {
                std::hint::spin_loop();
            }
            map.insert(*key as u32, 1).is_none()
        };
        let insert = || (1..KEYS).filter(is_new).count();
        let (one, other) = together(insert, insert);
        tried += KEYS - 1;
        wrong += one + other - (KEYS - 1);
    }
    println!("insert of one key was told twice that it is new: {wrong} of {tried}");
}

/// Two threads remove the same keys; each entry goes to one of them only.
fn skip_map(time: Duration) {
    const KEYS: usize = 1000;
    let (begin, mut wrong, mut tried) = (Instant::now(), 0, 0);
    while begin.elapsed() < time {
        let map = crossbeam_skiplist::SkipMap::new();
        (0..KEYS).for_each(|key| _ = map.insert(key, key));
        let remove = || (0..KEYS).filter(|key| map.remove(key).is_some()).count();
        let (one, other) = together(remove, remove);
        tried += KEYS;
        wrong += one + other - KEYS;
    }
    println!("one entry was given to two callers of remove: {wrong} of {tried}");
}

/// Makes a queue of boxes, in a process of its own: it does not survive that.
fn lockfree_box(_: Duration) {
    const CHILD: &str = "CONFIRM_LOCKFREE_BOX";
    if std::env::var_os(CHILD).is_some() {
        let _queue = lockfree::queue::Queue::<Box<u32>>::new();
        std::process::exit(0);
    }
    let program = std::env::current_exe().expect("this program has a file");
    let ended = std::process::Command::new(program)
        .arg("lockfree-box")
        .env(CHILD, "1")
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .status()
        .expect("this program runs");
    println!("Queue::<Box<u32>>::new() ended the program: {}", !ended.success());
}
