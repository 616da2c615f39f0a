//! What a stranger brings: objects that wait, panic, call themselves, drop things late, return
//! nothing at all or very much, or may choose. Of each it is known whether it is right.

#![allow(missing_docs)]
#![cfg(not(any(feature = "shuttle", feature = "loom")))]

mod subjects;

use seriatim_harness::{
    Caller, IntoReply, ModelCall, Reply, Test, distinct, test, test_async, tracked,
};
use seriatim_spec::{Next, Spec};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;
use subjects::{Ran, Subject, each_fails, none_fails};

/// The parts of a bag.
type Parts = [Mutex<Vec<u32>>; 2];

/// As many executions as most of them need.
fn run<T: Send + Sync + 'static, H: 'static, V>(test: Test<T, H, V>) -> Ran {
    run_for(test, 800)
}

/// Counted in executions: how many there are in a second says more of the machine than of the test.
fn run_for<T: Send + Sync + 'static, H: 'static, V>(test: Test<T, H, V>, executions: u64) -> Ran {
    let test = test.hang_after(Duration::from_secs(2)).executions(executions);
    test.budget(Duration::from_secs(6)).shrink_for(Duration::from_millis(200)).run()
}

/// How often a broken object is tried on a machine that is too busy for enough executions at once.
const TRIES: usize = 400;

/// A moment in which others may do something.
fn moment() {
    std::thread::sleep(Duration::from_micros(50));
}

fn counting(count: &mut u32, call: &ModelCall) -> Reply {
    match call.name() {
        "add" => *count += 1,
        "add_two" => *count += 2,
        _ => return (*count).reply(),
    }
    ().reply()
}

/// A counter whose `add_two` calls `add` twice, in one critical section or in two.
fn calls_itself(at_once: bool) -> Ran {
    struct Counter(Mutex<u32>, Mutex<()>);
    let add = |counter: &Counter| *counter.0.lock().unwrap() += 1;
    let guarded = move |counter: &Counter, times: u32| {
        let _all = at_once.then(|| counter.1.lock().unwrap());
        (0..times).for_each(|_| {
            add(counter);
            moment();
        });
    };
    run(test(|| Counter(Mutex::default(), Mutex::default()))
        .operation("add", (), move |counter, ()| guarded(counter, 1))
        .operation("add_two", (), move |counter, ()| guarded(counter, 2))
        .operation("read", (), move |counter, ()| {
            let _all = at_once.then(|| counter.1.lock().unwrap());
            *counter.0.lock().unwrap()
        })
        .model(0, counting))
}

/// A test inside a call of a test.
fn tests_itself(right: bool) -> Ran {
    run(test(|| Mutex::new(0_u32))
        .operation("fetch_add", 1..2_u32, move |count, more| {
            let inner = test(|| AtomicU32::new(0))
                .operation("fetch_add", 1..2_u32, |count, more| count.fetch_add(more, SeqCst))
                .spec("fetch-and-add")
                .executions(3)
                .budget(Duration::from_millis(20))
                .run();
            let mut count = count.lock().unwrap();
            *count += more;
            *count - if right || inner.is_err() { more } else { 0 }
        })
        .spec("fetch-and-add"))
}

/// A queue whose consumers wait for a value; `wake` wakes them up.
fn waiting(wake: fn(&Condvar)) -> Ran {
    run(test(|| (Mutex::new(VecDeque::new()), Condvar::new()))
        .operation("push", distinct::<u32>(), move |(queue, news), value| {
            queue.lock().unwrap().push_back(value);
            wake(news);
        })
        .operation("pop", (), |(queue, news), ()| {
            let held = queue.lock().unwrap();
            news.wait_while(held, |held| held.is_empty()).unwrap().pop_front().unwrap()
        })
        .blocking()
        .model(VecDeque::new(), |held: &mut VecDeque<u32>, call| match call.name() {
            "push" => {
                held.push_back(call.arg());
                ().reply()
            }
            _ => held.pop_front().map_or(Reply::Waits, u32::reply),
        }))
}

/// Permits that are waited for, several at a time.
fn permits(wake: fn(&Condvar)) -> Ran {
    run(test(|| (Mutex::new(0_u32), Condvar::new()))
        .operation("acquire", 1..3_u32, |(permits, news), count| {
            let held = permits.lock().unwrap();
            *news.wait_while(held, |held| *held < count).unwrap() -= count;
        })
        .blocking()
        .operation("release", 1..3_u32, move |(permits, news), count| {
            *permits.lock().unwrap() += count;
            wake(news);
        })
        .operation("permits", (), |(permits, _), ()| *permits.lock().unwrap())
        .spec("weighted-semaphore"))
}

/// A watch cell whose versions are counted beside the value, under its lock or not.
fn watched(apart: bool) -> Ran {
    struct Cell {
        held: Mutex<(u32, u32)>,
        late: AtomicU32,
    }
    run(test(|| Arc::new(Cell { held: Mutex::default(), late: AtomicU32::new(0) }))
        .handles(|cell, _| (cell.clone(), 0_u32))
        .operation("send", distinct::<u32>(), move |(cell, _), value| {
            let mut held = cell.held.lock().unwrap();
            held.0 = value;
            if apart {
                drop(held);
                moment();
                cell.late.fetch_add(1, SeqCst);
            } else {
                held.1 += 1;
                cell.late.store(held.1, SeqCst);
            }
            true
        })
        .operation("update", (), |(cell, seen), ()| {
            let held = cell.held.lock().unwrap();
            let version = cell.late.load(SeqCst);
            (held.0, std::mem::replace(seen, version) != version)
        })
        .spec("watch(init=0)"))
}

/// A ring that keeps two values for two receivers; `missed` says how many went by.
fn ring(missed: fn(usize) -> usize) -> Ran {
    run(test(|| Mutex::new((Vec::<u32>::new(), [0_usize; 2])))
        .operation("send", distinct(), |ring, value| ring.lock().unwrap().0.push(value))
        .operation("try_recv", 0..2_usize, move |ring, receiver| {
            let (sent, had) = &mut *ring.lock().unwrap();
            let gone = sent.len().saturating_sub(2);
            let had = &mut had[receiver];
            if *had < gone {
                let count = missed(gone - std::mem::replace(had, gone));
                return ("lagged", count).reply();
            }
            let value = sent.get(*had).copied();
            *had += usize::from(value.is_some());
            value.reply()
        })
        .spec("broadcast(capacity=2)"))
}

/// A counter that panics on its way and goes on, with its lock poisoned.
fn poisoned(forgive: bool) -> Ran {
    run(test(|| Mutex::new(0_u32))
        .operation("add", (), move |count, ()| {
            let added = catch_unwind(AssertUnwindSafe(|| {
                let mut count = match (count.lock(), forgive) {
                    (Ok(count), _) => count,
                    (Err(poisoned), true) => poisoned.into_inner(),
                    (Err(_), false) => return,
                };
                *count += 1;
                std::panic::panic_any(());
            }));
            drop(added);
        })
        .operation("read", (), |count, ()| {
            *count.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
        })
        .model(0, counting))
}

/// Handles that must go before their object does.
fn drops_in_order() -> Ran {
    struct Shared(Arc<AtomicBool>);
    struct Handle(Arc<AtomicBool>);
    impl Drop for Shared {
        fn drop(&mut self) {
            self.0.store(true, SeqCst);
        }
    }
    impl Drop for Handle {
        fn drop(&mut self) {
            assert!(!self.0.load(SeqCst), "the object went before its handle");
        }
    }
    run(test(|| Shared(Arc::new(AtomicBool::new(false))))
        .handles(|shared, _| Handle(shared.0.clone()))
        .operation("read", (), |handle, ()| handle.0.load(SeqCst))
        .model((), |(), _| false.reply()))
}

/// What nothing is: `()` in a `Result`.
fn nothing_or_nothing(lie: bool) -> Ran {
    run(test(|| AtomicBool::new(false))
        .operation("enter", (), move |taken, ()| match taken.swap(true, SeqCst) && !lie {
            true => Err(()),
            false => Ok(()),
        })
        .model(false, |taken, _| match std::mem::replace(taken, true) {
            true => Err::<(), ()>(()).reply(),
            false => Ok::<(), ()>(()).reply(),
        }))
}

/// Results of a hundred thousand numbers, of which the last one counts.
fn huge(last: fn(u32) -> u32) -> Ran {
    let all = |count: u32| (0..100_000).chain([count]).collect::<Vec<u32>>();
    let counter = test(|| Mutex::new(0_u32))
        .operation("add", (), |count, ()| *count.lock().unwrap() += 1)
        .operation("read", (), move |count, ()| all(last(*count.lock().unwrap())))
        .model(0_u32, move |count, call| match call.name() {
            "add" => {
                *count += 1;
                ().reply()
            }
            _ => all(*count).reply(),
        });
    run_for(counter, 40)
}

/// A bag that gives anything it has.
#[derive(Clone)]
struct Bag;

impl Spec for Bag {
    type State = BTreeSet<u32>;
    type Op = Option<u32>;
    type Ret = Option<u32>;

    fn initial(&self) -> BTreeSet<u32> {
        BTreeSet::new()
    }

    fn step(
        &self,
        bag: &BTreeSet<u32>,
        op: &Option<u32>,
        ret: Option<&Option<u32>>,
    ) -> Next<BTreeSet<u32>> {
        let mut after = bag.clone();
        match (op, ret) {
            (Some(value), _) => {
                after.insert(*value);
                Next::One(after)
            }
            (None, Some(Some(taken))) => Next::when(after.remove(taken), || after),
            (None, Some(None)) => Next::when(bag.is_empty(), || after),
            (None, None) if bag.is_empty() => Next::One(after),
            (None, None) => Next::Many(
                bag.iter()
                    .map(|one| bag.iter().copied().filter(|other| other != one).collect())
                    .collect(),
            ),
        }
    }
}

/// A bag of two parts, which gives what is in the part that it looks at first.
fn chooses(look: fn(&Parts, usize) -> Option<u32>) -> Ran {
    let test = test(|| ([Mutex::new(Vec::new()), Mutex::new(Vec::new())], AtomicU64::new(1)))
        .operation("put", distinct::<u32>(), |(parts, dice): &(Parts, AtomicU64), value| {
            parts[dice.fetch_add(7, SeqCst) as usize % 2].lock().unwrap().push(value)
        })
        .operation("take", (), move |(parts, dice), ()| {
            look(parts, dice.fetch_add(3, SeqCst) as usize / 2 % 2)
        })
        .own_spec(Bag, |call| (call.name() == "put").then(|| call.arg()), |_, reply| reply.value());
    run_for(test, 5_000)
}

/// Both parts at once.
fn both(parts: &Parts, first: usize) -> Option<u32> {
    let mut held = parts.each_ref().map(|part| part.lock().unwrap());
    held[first].pop().or_else(|| held[1 - first].pop())
}

/// The part that is looked at first, then the other: a value that comes and one that goes meanwhile
/// make the bag look empty. That takes three calls at once, of which one waits between the parts: it
/// was found after 121 to 12,000 executions.
fn one_after_the_other(parts: &Parts, first: usize) -> Option<u32> {
    let found = parts[first].lock().unwrap().pop();
    found.or_else(|| {
        moment();
        parts[1 - first].lock().unwrap().pop()
    })
}

/// Looks first and takes then: two may have seen the same value.
fn in_turn(parts: &Parts, first: usize) -> Option<u32> {
    let found = parts[first].lock().unwrap().last().copied();
    moment();
    parts[first].lock().unwrap().pop();
    found.or_else(|| parts[1 - first].lock().unwrap().pop())
}

/// A register behind calls that time out, after which nobody knows.
fn times_out(lose: bool) -> Ran {
    run(test(|| (Mutex::new(0_u32), AtomicU32::new(0)))
        .operation("write", distinct::<u32>(), move |(cell, calls), value| {
            let turn = calls.fetch_add(1, SeqCst);
            if turn % 3 != 1 {
                *cell.lock().unwrap() = value;
            }
            match turn % 3 {
                0 => Reply::Unknown,
                1 if lose => ().reply(),
                1 => Reply::Unknown,
                _ => ().reply(),
            }
        })
        .operation("read", (), |(cell, _), ()| *cell.lock().unwrap())
        .spec("register(init=0)"))
}

/// Calls that need much of the stack.
fn deep(wrong: bool) -> Ran {
    fn sink(depth: u32) -> u64 {
        let room = std::hint::black_box([u64::from(depth); 64]);
        if depth == 0 { room[0] } else { sink(depth - 1) + room[63] }
    }
    run(test(|| AtomicU64::new(0))
        .operation("fetch_add", 1..2_u64, move |count, more| {
            let rest = sink(1_000) - 500_500;
            if wrong {
                let before = count.load(SeqCst);
                moment();
                count.store(before + more, SeqCst);
                return before;
            }
            count.fetch_add(more + rest, SeqCst)
        })
        .spec("fetch-and-add"))
}

/// A lock that spins and never yields, or lets two in.
fn spins(broken: bool) -> Ran {
    run(test(|| (AtomicBool::new(false), AtomicU32::new(0)))
        .operation("fetch_add", 1..3_u32, move |(lock, count), more| {
            while lock.swap(true, SeqCst) && !broken {
                std::hint::spin_loop();
            }
            let before = count.load(SeqCst);
            if broken {
                moment();
            }
            count.store(before + more, SeqCst);
            lock.store(false, SeqCst);
            before
        })
        .spec("fetch-and-add"))
}

/// Two locks, in one order or in two.
fn two_locks(one_order: bool) -> Ran {
    run(test(|| [Mutex::new(0_u32), Mutex::new(0_u32)])
        .operation("left", (), |locks, ()| {
            let mut first = locks[0].lock().unwrap();
            moment();
            *first += 1;
            *locks[1].lock().unwrap() += 1;
        })
        .operation("right", (), move |locks, ()| {
            let (a, b) = if one_order { (0, 1) } else { (1, 0) };
            let mut first = locks[a].lock().unwrap();
            moment();
            *first += 1;
            *locks[b].lock().unwrap() += 1;
        })
        .operation("read", (), |locks, ()| *locks[0].lock().unwrap())
        .model(0, |count, call| match call.name() {
            "read" => (*count).reply(),
            _ => {
                *count += 1;
                ().reply()
            }
        }))
}

/// Values that are kept by the handle of a thread until it goes.
fn hoards(forget: bool) -> Ran {
    run(test(|| ())
        .handles(|(), _| Vec::new())
        .operation("keep", tracked(), move |hoard, value| {
            if forget {
                std::mem::forget(value);
            } else {
                hoard.push(value);
            }
        })
        .model((), |(), _| ().reply()))
}

/// Who calls decides what comes back.
fn by_caller(wrong: bool) -> Ran {
    let number = |caller: Caller| match caller {
        Caller::Main => 9,
        Caller::Thread(thread) => thread as u32,
    };
    run(test(|| ())
        .handles(move |(), caller| number(caller))
        .operation("who", (), move |me, ()| if wrong { 0 } else { *me })
        .model((), move |(), call| number(call.caller()).reply()))
}

/// An async cell that awaits between reading and writing, with its lock or without.
fn awaits(locked: bool) -> Ran {
    struct Cell {
        busy: AtomicBool,
        count: AtomicU32,
    }
    async fn pause() {
        let mut polled = false;
        std::future::poll_fn(|context| {
            context.waker().wake_by_ref();
            match std::mem::replace(&mut polled, true) {
                true => std::task::Poll::Ready(()),
                false => std::task::Poll::Pending,
            }
        })
        .await;
    }
    test_async(|| Cell { busy: AtomicBool::new(false), count: AtomicU32::new(0) })
        .operation("fetch_add", 1..2_u32, move |cell, more| async move {
            while locked && cell.busy.swap(true, SeqCst) {
                pause().await;
            }
            let before = cell.count.load(SeqCst);
            pause().await;
            moment();
            cell.count.store(before + more, SeqCst);
            cell.busy.store(false, SeqCst);
            before
        })
        .spec("fetch-and-add")
        .executions(800)
        .budget(Duration::from_secs(6))
        .shrink_for(Duration::from_millis(200))
        .run()
}

/// A map with fifty operations, each on a key of its own.
fn many(wrong: u32) -> Ran {
    let names: Vec<String> = (0..50).map(|number| format!("bump_{number}")).collect();
    let declare = |test: Test<Mutex<BTreeMap<u32, u32>>>, number: usize| {
        let key = number as u32;
        test.operation(&names[number], (), move |map, ()| {
            let mut map = map.lock().unwrap();
            let count = map.entry(key).or_insert(0);
            *count += if key == wrong { 2 } else { 1 };
            *count
        })
    };
    run((0..50).fold(test(|| Mutex::new(BTreeMap::new())), declare).model(
        BTreeMap::<String, u32>::new(),
        |map, call| {
            let count = map.entry(call.name().to_owned()).or_insert(0);
            *count += 1;
            (*count).reply()
        },
    ))
}

const RIGHT: &[Subject] = &[
    ("calls itself under one lock", || calls_itself(true)),
    ("tests itself", || tests_itself(true)),
    ("wakes who waits", || waiting(Condvar::notify_one)),
    ("wakes all who wait for permits", || permits(Condvar::notify_all)),
    ("versions under the lock", || watched(false)),
    ("a ring that counts what is missed", || ring(|missed| missed)),
    ("goes on after a panic", || poisoned(true)),
    ("handles that go first", drops_in_order),
    ("nothing or nothing", || nothing_or_nothing(false)),
    ("huge results", || huge(|count| count)),
    ("chooses", || chooses(both)),
    ("times out", || times_out(false)),
    ("needs much of the stack", || deep(false)),
    ("spins", || spins(false)),
    ("two locks in one order", || two_locks(true)),
    ("hoards", || hoards(false)),
    ("knows who calls", || by_caller(false)),
    ("awaits under a lock", || awaits(true)),
    ("fifty operations", || many(50)),
];

const BROKEN: &[Subject] = &[
    ("calls itself under two locks", || calls_itself(false)),
    ("tests itself and miscounts", || tests_itself(false)),
    ("wakes nobody", || waiting(|_| ())),
    ("wakes nobody who waits for permits", || permits(|_| ())),
    ("versions beside the lock", || watched(true)),
    ("a ring that counts one more", || ring(|missed| missed + 1)),
    ("gives up after a panic", || poisoned(false)),
    ("enters twice", || nothing_or_nothing(true)),
    ("huge results that end otherwise", || huge(|count| count.min(1))),
    ("looks and takes", || chooses(in_turn)),
    ("looks into one part after the other", || chooses(one_after_the_other)),
    ("times out and loses", || times_out(true)),
    ("needs much of the stack and races", || deep(true)),
    ("spins and lets two in", || spins(true)),
    ("two locks in two orders", || two_locks(false)),
    ("forgets what it hoards", || hoards(true)),
    ("does not know who calls", || by_caller(true)),
    ("awaits without a lock", || awaits(false)),
    ("one of fifty operations is wrong", || many(17)),
];

#[test]
fn no_right_object_of_a_stranger_fails() {
    none_fails(RIGHT);
}

#[test]
fn every_broken_object_of_a_stranger_fails() {
    each_fails(BROKEN, TRIES);
}
