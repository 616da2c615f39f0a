//! Objects of odd kinds, of which it is known whether they are right: results and arguments that
//! look alike, threads inside calls, memory of a thread, slow calls, panics in odd places, handles
//! that do something when they go. An alarm on a right one and a pass of a broken one are defects
//! of the harness alike.

#![allow(missing_docs)]
#![cfg(not(any(feature = "shuttle", feature = "loom")))]

mod subjects;

use seriatim_harness::{
    Borrows, Caller, IntoReply, ModelCall, Reply, Test, distinct, ends, maybe, test, tracked,
};
use seriatim_history::Value;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock, RwLock};
use std::thread::JoinHandle;
use std::time::Duration;
use subjects::{Ran, Subject, each_fails, none_fails};

type Entries = Vec<(u32, u32)>;
/// A write or a read, and where the answer goes.
type Order = (Option<u32>, Sender<u32>);
/// What was received, and where more comes from.
type End = (VecDeque<u32>, Receiver<u32>);

fn run<T: Send + Sync + 'static, H: 'static, V>(test: Test<T, H, V>) -> Ran {
    test.budget(Duration::from_millis(400)).shrink_for(Duration::from_millis(200)).run()
}

/// A register of options of options.
fn nested(read: fn(Option<Option<u8>>) -> Option<Option<u8>>) -> Ran {
    let cell = test(|| Mutex::new(None))
        .operation("write", maybe(maybe(1..3_u8)), |cell, value| *cell.lock().unwrap() = value)
        .operation("read", (), move |cell, ()| read(*cell.lock().unwrap()))
        .model(None::<Option<u8>>, |cell, call| match call.name() {
            "write" => {
                *cell = call.arg();
                ().reply()
            }
            _ => cell.reply(),
        });
    run(cell)
}

/// A register of words.
fn words(keep: fn(String) -> String) -> Ran {
    let word = ["", " ", "a\"b", "nil", "é\n", "[1]"].map(str::to_owned);
    let cell = test(|| Mutex::new(String::new()))
        .operation("write", word, move |cell, value| *cell.lock().unwrap() = keep(value))
        .operation("read", (), |cell, ()| cell.lock().unwrap().clone())
        .model(String::new(), |cell, call| match call.name() {
            "write" => {
                *cell = call.arg();
                ().reply()
            }
            _ => cell.clone().reply(),
        });
    run(cell)
}

/// A register of large numbers.
fn numbers(keep: fn(u128) -> u128) -> Ran {
    let number = [0, 1, u128::MAX, u128::from(u64::MAX), 1 << 63, 1 << 32];
    let cell = test(|| Mutex::new(0_u128))
        .operation("write", number, move |cell, value| *cell.lock().unwrap() = keep(value))
        .operation("read", (), |cell, ()| *cell.lock().unwrap())
        .model(0_u128, |cell, call| match call.name() {
            "write" => {
                *cell = call.arg();
                ().reply()
            }
            _ => cell.reply(),
        });
    run(cell)
}

/// A register of floating-point numbers, whose results are a type of the user's own.
fn floats(read: fn(f64) -> f64) -> Ran {
    struct Float(f64);
    impl IntoReply for Float {
        fn reply(self) -> Reply {
            Reply::Answer(Some(Value::text(&format!("{:?}", self.0))))
        }
    }
    fn number(index: u8) -> f64 {
        [0.0, -0.0, f64::NAN, f64::INFINITY][index as usize]
    }
    let cell = test(|| Mutex::new(0.0))
        .operation("write", 0..4_u8, |cell, index| *cell.lock().unwrap() = number(index))
        .operation("read", (), move |cell, ()| Float(read(*cell.lock().unwrap())))
        .model(0_u8, |index, call| match call.name() {
            "write" => {
                *index = call.arg();
                ().reply()
            }
            _ => Float(number(*index)).reply(),
        });
    run(cell)
}

/// A map that shows all its entries, which come out of a hash map in any order.
fn entries(all: fn(&HashMap<u32, u32>) -> Entries) -> Ran {
    let map = test(|| RwLock::new(HashMap::new()))
        .operation("put", (1..4_u32, distinct::<u32>()), |map, (key, value)| {
            map.write().unwrap().insert(key, value)
        })
        .operation("entries", (), move |map, ()| all(&map.read().unwrap()))
        .model(BTreeMap::<u32, u32>::new(), |map, call| match call.name() {
            "put" => {
                let (key, value) = call.arg();
                map.insert(key, value).reply()
            }
            _ => map.iter().map(|(key, value)| (*key, *value)).collect::<Vec<_>>().reply(),
        });
    run(map)
}

/// A counter whose calls run on threads of their own; `wait` says whether the call waits for its
/// thread.
fn spawning(wait: bool) -> Ran {
    let counter = test(|| Arc::new(AtomicU32::new(0)))
        .operation("fetch_add", 1..2_u32, move |count, more| {
            let inner = count.clone();
            let before = count.load(SeqCst);
            let add = std::thread::spawn(move || inner.fetch_add(more, SeqCst));
            if wait { add.join().unwrap() } else { before }
        })
        .operation("read", (), |count, ()| count.load(SeqCst))
        .spec("fetch-and-add");
    run(counter)
}

/// A cell that is served by a thread, which ends when the object goes; `answered` says whether
/// it writes before it answers.
fn served(answered: bool) -> Ran {
    struct Served {
        orders: Mutex<Option<Sender<Order>>>,
        server: Option<JoinHandle<()>>,
    }
    impl Drop for Served {
        fn drop(&mut self) {
            *self.orders.lock().unwrap() = None;
            self.server.take().unwrap().join().unwrap();
        }
    }
    fn ask(served: &Served, order: Option<u32>) -> u32 {
        let (answer, answers) = channel();
        served.orders.lock().unwrap().as_ref().unwrap().send((order, answer)).unwrap();
        answers.recv().unwrap()
    }
    let cell = test(move || {
        let (orders, inbox) = channel::<Order>();
        let server = std::thread::spawn(move || {
            let mut value = 0;
            let mut late = Vec::new();
            for (order, answer) in inbox {
                // Who need not answer at once takes its time.
                match order {
                    Some(new) if answered => value = new,
                    Some(new) => late.push(new),
                    None => {}
                }
                let _ = answer.send(value);
                value = late.pop().unwrap_or(value);
            }
        });
        Served { orders: Mutex::new(Some(orders)), server: Some(server) }
    })
    .operation("write", 1..4_u32, move |served, value| {
        ask(served, Some(value));
    })
    .operation("read", (), move |served, ()| ask(served, None))
    .operation("swap", 1..4_u32, move |served, value| ask(served, Some(value)))
    .model(0_u32, move |cell, call| match call.name() {
        "write" => {
            *cell = call.arg();
            ().reply()
        }
        "swap" => {
            *cell = call.arg();
            cell.reply()
        }
        _ => cell.reply(),
    });
    run(cell)
}

thread_local! {
    static REMEMBERED: RefCell<Option<(u64, u32)>> = const { RefCell::new(None) };
    static CALLS: Cell<u32> = const { Cell::new(0) };
}

/// A register whose readers remember in memory of their thread what they saw; `whose` says whether
/// they remember of which object.
fn remembering(whose: bool) -> Ran {
    static OBJECTS: AtomicU64 = AtomicU64::new(0);
    let cell = test(|| (OBJECTS.fetch_add(1, SeqCst), OnceLock::new()))
        .operation("set", distinct::<u32>(), |(_, cell), value| cell.set(value).is_ok())
        .operation("get", (), move |(id, cell), ()| {
            let remembered = REMEMBERED.with_borrow(|it| *it);
            match remembered {
                Some((object, value)) if object == *id || !whose => Some(value),
                _ => {
                    let seen = cell.get().copied();
                    REMEMBERED.set(seen.map(|value| (*id, value)));
                    seen
                }
            }
        })
        .spec("once-cell");
    run(cell)
}

/// A counter in memory of the threads, which are not the only ones that count.
fn of_the_thread() -> Ran {
    let counter = test(|| ())
        .operation("fetch_add", 1..2_u32, |(), more| CALLS.replace(CALLS.get() + more))
        .spec("fetch-and-add");
    run(counter)
}

/// A set whose calls are slow.
fn slow(add: fn(&Mutex<Vec<u32>>, u32) -> bool) -> Ran {
    let set = test(|| Mutex::new(Vec::new()))
        .operation("add", 1..3_u32, add)
        .operation("contains", 1..3_u32, |set, value| {
            std::thread::sleep(Duration::from_millis(3));
            set.lock().unwrap().contains(&value)
        })
        .spec("set");
    run(set)
}

/// A stack whose `pop` panics inside when it is empty, which it notices.
fn catching(pop: fn(&mut Vec<u32>) -> Option<u32>) -> Ran {
    let stack = test(|| Mutex::new(Vec::new()))
        .operation("push", distinct::<u32>(), |stack, value| stack.lock().unwrap().push(value))
        .operation("pop", (), move |stack, ()| pop(&mut stack.lock().unwrap()))
        .spec("stack");
    run(stack)
}

/// A pool whose handles take a number when they are made and bring it back when they go.
struct Ticket<'p>(&'p Mutex<Vec<u32>>, Rc<Option<u32>>);

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        self.0.lock().unwrap().extend(*self.1);
    }
}

struct Tickets;

impl Borrows<Mutex<Vec<u32>>> for Tickets {
    type Handle<'a> = Ticket<'a>;

    fn handle(pool: &Mutex<Vec<u32>>, _: Caller) -> Ticket<'_> {
        let mine = pool.lock().unwrap().pop();
        Ticket(pool, Rc::new(mine))
    }
}

fn tickets() -> Ran {
    let pool = test(|| Mutex::new((0..8).collect::<Vec<u32>>()))
        .borrowing::<Tickets>()
        .operation("has", (), |ticket, ()| ticket.1.is_some())
        .model((), |(), _: &ModelCall| Reply::Answer(Some(Value::Bool(true))))
        // Handles that are not Send stay on their threads, and live until the checks are done.
        .threads(2..=2);
    run(pool)
}

/// A queue between two ends that keep what they need for themselves.
fn halves(receive: fn(&mut End) -> Option<u32>) -> Ran {
    let queue = ends(|| {
        let (sender, receiver) = channel();
        (sender, (VecDeque::new(), receiver))
    })
    .producer("enqueue", distinct::<u32>(), |sender, value| sender.send(value).is_ok())
    .consumer("dequeue", (), move |end, ()| receive(end))
    .model(VecDeque::<u32>::new(), |queue, call| match call.name() {
        "enqueue" => {
            queue.push_back(call.arg());
            true.reply()
        }
        _ => queue.pop_front().reply(),
    });
    run(queue)
}

/// An exchanger of tracked values; `lose` says what becomes of the value that was there.
fn exchanger(lose: bool) -> Ran {
    let cell = test(|| Mutex::new(None))
        .operation("write", tracked(), move |cell, value| {
            let before = cell.lock().unwrap().replace(value);
            if lose {
                std::mem::forget(before);
            }
        })
        .operation("read", (), |cell, ()| {
            cell.lock().unwrap().as_ref().map(seriatim_harness::Tracked::number)
        })
        .spec("register");
    run(cell)
}

/// A counter whose results, of a type of the user's own, may not be able to say what they are.
fn speechless(limit: u32) -> Ran {
    struct Count(u32, u32);
    impl IntoReply for Count {
        fn reply(self) -> Reply {
            assert!(self.0 < self.1, "too large to be told");
            self.0.reply()
        }
    }
    let counter = test(|| AtomicU32::new(0))
        .operation("fetch_add", 1..2_u32, move |count, more| {
            Count(count.fetch_add(more, SeqCst), limit)
        })
        .spec("fetch-and-add");
    run(counter)
}

fn sorted(map: &HashMap<u32, u32>) -> Entries {
    let mut all: Vec<_> = map.iter().map(|(key, value)| (*key, *value)).collect();
    all.sort_unstable();
    all
}

fn add_slowly(set: &Mutex<Vec<u32>>, value: u32) -> bool {
    let mut set = set.lock().unwrap();
    std::thread::sleep(Duration::from_millis(3));
    let is_new = !set.contains(&value);
    if is_new {
        set.push(value);
    }
    is_new
}

const RIGHT: &[Subject] = &[
    ("options of options", || nested(|value| value)),
    ("words that look like something else", || words(|word| word)),
    ("numbers beyond 64 bits", || numbers(|number| number)),
    ("numbers that are not equal to themselves", || floats(|number| number)),
    ("a hash map that sorts what it shows", || entries(sorted)),
    ("calls on threads of their own", || spawning(true)),
    ("an object with a thread", || served(true)),
    ("memory of a thread for each object", || remembering(true)),
    ("slow calls", || slow(add_slowly)),
    ("a panic that is caught inside", || {
        catching(|stack| {
            let last = stack.len().wrapping_sub(1);
            let found = catch_unwind(AssertUnwindSafe(|| stack[last]));
            stack.pop();
            found.ok()
        })
    }),
    ("handles that do something when they go", tickets),
    ("two ends with memory of their own", || {
        halves(|(seen, inbox)| {
            seen.extend(inbox.try_iter());
            seen.pop_front()
        })
    }),
    ("values that are exchanged", || exchanger(false)),
    ("results of a type of one's own", || speechless(u32::MAX)),
    ("nothing at all", || {
        run(test(|| ())
            .operation("nothing", (), |(), ()| ())
            .operation("same", 0..3_u8, |(), n| n)
            .model((), |(), call| match call.name() {
                "same" => call.arg::<u8>().reply(),
                _ => ().reply(),
            }))
    }),
];

const BROKEN: &[Subject] = &[
    ("something that is nothing", || nested(|value| value.filter(Option::is_some))),
    ("words without their ends", || words(|word| word.trim().to_owned())),
    ("words cut at a quote", || words(|word| word.split('"').next().unwrap().to_owned())),
    ("numbers of 64 bits", || numbers(|number| u128::from(number as u64))),
    ("no negative zero", || floats(|number| number + 0.0)),
    ("not a number is no number", || floats(|number| number.max(0.0))),
    ("a hash map that shows one entry less", || {
        entries(|map| sorted(map).into_iter().skip(1).collect())
    }),
    ("calls that do not wait for their threads", || spawning(false)),
    ("a thread that is late", || served(false)),
    ("memory of a thread for all objects", || remembering(false)),
    ("a counter for each thread", of_the_thread),
    ("slow calls that forget", || {
        slow(|set, value| {
            std::thread::sleep(Duration::from_millis(3));
            set.lock().unwrap().push(value);
            true
        })
    }),
    ("a panic that says no word", || catching(|stack| stack.pop().or_else(|| panic_any(7_u32)))),
    ("an end that gives the last first", || {
        halves(|(seen, inbox)| {
            seen.extend(inbox.try_iter());
            seen.pop_back()
        })
    }),
    ("values that are lost", || exchanger(true)),
    ("results that panic", || speechless(3)),
];

/// How often a broken object is tried on a machine that is too busy for enough executions at once.
const TRIES: usize = 200;

#[test]
fn no_right_object_of_an_odd_kind_fails() {
    none_fails(RIGHT);
}

#[test]
fn every_broken_object_of_an_odd_kind_fails() {
    each_fails(BROKEN, TRIES);
}
