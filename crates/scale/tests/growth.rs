//! What a watch costs grows with the number of events, whatever they are: an object that only
//! grows, one that grows and shrinks, a question that is never answered, questions that are lost.
//! Work is counted in bytes that are allocated, since whoever copies allocates: that is the same on
//! every machine, however busy it is.

use seriatim_history::{Conventions, ReadOptions, listen};
use seriatim_monitor::frontier::frontier_of;
use seriatim_scale::Judgement;
use seriatim_scale::live::{Listening, Watch};
use seriatim_spec::{ChosenReader, Failures, SpecChoice};
use seriatim_verify::SeriReader;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

/// The system's allocator, which counts the bytes that a thread asks for.
struct Counting;

thread_local! {
    static ASKED: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call goes to the system's allocator with the layout that it came with.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        _ = ASKED.try_with(|asked| asked.set(asked.get() + layout.size() as u64));
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// An operation, what it is given, and what it returns: parts of JSON, the last two may be empty.
type Told = (&'static str, String, String);

/// An object in the hands of an enemy.
struct Hostile {
    object: &'static str,
    /// The i-th of the operations that make it larger.
    grows: fn(u64) -> Told,
    /// The operation that undoes it, as the next that is undone.
    shrinks: Option<fn(u64) -> Told>,
    /// A question about it that changes nothing, if there is one.
    looks: Option<Told>,
}

fn given(arg: impl ToString) -> String {
    format!(",\"arg\":{}", arg.to_string())
}

fn of_key(key: u64) -> String {
    format!(",\"key\":{key}")
}

fn put(key: u64) -> String {
    format!(",\"key\":{key},\"arg\":{key}")
}

fn result(result: impl ToString) -> String {
    format!(",\"result\":{}", result.to_string())
}

fn nothing() -> String {
    String::new()
}

fn end(i: u64, front: &'static str, back: &'static str) -> &'static str {
    if i.is_multiple_of(2) { back } else { front }
}

/// Every object whose state is more than a number or a value. One whose keys are apart is asked
/// about the whole as its second operation. No question asks for everything that the object holds:
/// its answer costs as much as that.
fn enemies() -> Vec<Hostile> {
    vec![
        Hostile {
            object: "stack",
            grows: |i| ("push", given(i), nothing()),
            shrinks: Some(|i| ("pop", nothing(), result(i))),
            looks: Some(("top", nothing(), nothing())),
        },
        Hostile {
            object: "deque",
            grows: |i| (end(i, "push_front", "push_back"), given(i), nothing()),
            shrinks: Some(|i| (end(i, "pop_front", "pop_back"), nothing(), result(i))),
            looks: Some(("back", nothing(), nothing())),
        },
        Hostile {
            object: "bounded-deque",
            grows: |i| (end(i, "push_front", "push_back"), given(i), result(true)),
            shrinks: Some(|i| (end(i, "pop_front", "pop_back"), nothing(), result(i))),
            looks: Some(("size", nothing(), nothing())),
        },
        Hostile {
            object: "bounded-deque(capacity=600)",
            grows: |i| ("force_push", given(7), result(if i < 600 { "null" } else { "7" })),
            shrinks: None,
            looks: Some(("front", nothing(), nothing())),
        },
        Hostile {
            object: "priority-queue",
            grows: |i| ("insert", given(100_000 - i), nothing()),
            shrinks: Some(|i| ("extract", nothing(), result(100_000 - i))),
            looks: Some(("peek", nothing(), nothing())),
        },
        Hostile {
            object: "sorted-map",
            grows: |i| ("put", put(i), result("null")),
            shrinks: Some(|i| ("take", of_key(i), result(i))),
            looks: Some(("last", nothing(), nothing())),
        },
        Hostile {
            object: "map",
            grows: |i| match i {
                1 => ("size", nothing(), result(1)),
                _ => ("put", put(i), nothing()),
            },
            shrinks: None,
            looks: Some(("size", nothing(), nothing())),
        },
        Hostile {
            object: "set",
            grows: |i| match i {
                1 => ("read", nothing(), result("[0]")),
                _ => ("add", given(i), result(true)),
            },
            shrinks: None,
            looks: Some(("is_empty", nothing(), nothing())),
        },
        Hostile {
            object: "multiset",
            grows: |i| match i {
                1 => ("size", nothing(), result(1)),
                _ => ("add", given(i), nothing()),
            },
            shrinks: None,
            looks: Some(("size", nothing(), nothing())),
        },
        Hostile {
            object: "cache",
            grows: |i| match i {
                1 => ("clear", nothing(), nothing()),
                _ => ("put", put(i), nothing()),
            },
            shrinks: None,
            // To ask for a key may let it go.
            looks: Some(("get", of_key(0), nothing())),
        },
        Hostile {
            object: "kv",
            grows: |_| ("append", ",\"key\":1,\"arg\":\"a\"".to_owned(), nothing()),
            shrinks: None,
            looks: Some(("get", of_key(1), nothing())),
        },
        Hostile {
            object: "multi-register",
            grows: |i| {
                let written = format!("[[\"w\",{i},{i}]]");
                ("txn", given(&written), result(written))
            },
            shrinks: Some(|i| {
                let written = format!("[[\"w\",{i},null]]");
                ("txn", given(&written), result(written))
            }),
            looks: Some(("txn", given("[[\"r\",0,null]]"), nothing())),
        },
        Hostile {
            object: "snapshot",
            grows: |i| ("update", given(format!("[{i},{i}]")), nothing()),
            shrinks: None,
            looks: Some(("read", given(0), nothing())),
        },
        Hostile {
            object: "watch",
            grows: |i| match i {
                0 => ("send", given(1), result(true)),
                _ => ("subscribe", given(i), nothing()),
            },
            shrinks: None,
            looks: Some(("read", nothing(), nothing())),
        },
        Hostile {
            object: "broadcast",
            grows: |i| ("send", given(i), result(true)),
            shrinks: None,
            looks: Some(("len", given(0), nothing())),
        },
        Hostile {
            object: "broadcast",
            grows: |i| match i {
                0 => ("send", given(1), result(true)),
                _ => ("try_recv", given(i), result(1)),
            },
            shrinks: None,
            looks: Some(("len", given(0), nothing())),
        },
    ]
}

/// A line with two ends and its middle.
const LINE: &str = "spec line {
  var items: seq<value> = []
  method push(v: value) -> int { items = items ++ [v]; return len(items) }
  method pop() -> value? {
    if items == [] { return empty }
    let last = items[len(items) - 1]
    items = items[..len(items) - 1]
    return last
  }
  method turn(v: value) { items = (items ++ [v])[1..] }
  method put(at: int, v: value) { items[at] = v }
  method middle() -> value? { return if items == [] { null } else { items[len(items) / 2] } }
}";

/// A stack whose top is in front.
const PILE: &str = "spec pile {
  var items: seq<value> = []
  method push(v: value) { items = [v] ++ items }
  method pop() -> value? {
    if items == [] { return empty }
    let top = items[0]
    items = items[1..]
    return top
  }
  method size() -> int { return len(items) }
}";

/// A set that is asked for its least element.
const RANKS: &str = "spec ranks {
  var all: set<int> = {}
  method insert(n: int) -> bool {
    if n in all { return false }
    all = all + {n}
    return true
  }
  method take() -> int? {
    if all == {} { return empty }
    let least = min(all)
    all = all - {least}
    return least
  }
  method drop(n: int) { all = remove(all, n) }
  method size() -> int { return len(all) }
}";

/// A table.
const TABLE: &str = "spec table {
  var all: map<int, value> = {}
  method put(n: int, v: value) { all[n] = v }
  method drop(n: int) { all = remove(all, n) }
  method size() -> int { return len(all) }
}";

/// Objects of specifications that are written for the occasion.
fn written_enemies() -> Vec<Hostile> {
    vec![
        Hostile {
            object: LINE,
            grows: |i| ("push", given(i), result(i + 1)),
            shrinks: Some(|i| ("pop", nothing(), result(i))),
            looks: Some(("middle", nothing(), nothing())),
        },
        Hostile {
            object: LINE,
            grows: |i| match i {
                0..600 => ("push", given(i), result(i + 1)),
                _ if i.is_multiple_of(2) => ("put", given(format!("[300,{i}]")), nothing()),
                _ => ("turn", given(i), nothing()),
            },
            shrinks: None,
            looks: Some(("middle", nothing(), nothing())),
        },
        Hostile {
            object: PILE,
            grows: |i| ("push", given(i), nothing()),
            shrinks: Some(|i| ("pop", nothing(), result(i))),
            looks: Some(("size", nothing(), nothing())),
        },
        Hostile {
            object: RANKS,
            grows: |i| ("insert", given(100_000 - i), result(true)),
            shrinks: Some(|i| ("take", nothing(), result(100_000 - i))),
            looks: Some(("size", nothing(), nothing())),
        },
        Hostile {
            object: TABLE,
            grows: |i| ("put", given(format!("[{i},{i}]")), nothing()),
            shrinks: Some(|i| ("drop", given(i), nothing())),
            looks: Some(("size", nothing(), nothing())),
        },
    ]
}

fn call(process: &str, (op, given, _): &Told) -> String {
    format!("{{\"type\":\"call\",\"process\":{process},\"op\":\"{op}\"{given}}}\n")
}

/// An operation that is over before the next one begins.
fn alone(told: &Told) -> String {
    format!("{}{{\"type\":\"return\",\"process\":0{}}}\n", call("0", told), told.2)
}

/// So many operations in each of the hostile ways, with a name for it.
fn streams(enemy: &Hostile, count: u64) -> Vec<(&'static str, String)> {
    let grows: Vec<String> = (0..count).map(|i| alone(&(enemy.grows)(i))).collect();
    let mut streams = vec![("grows", grows.concat())];
    if let Some(looks) = &enemy.looks {
        let open: String = (1..=9).map(|process| call(&process.to_string(), looks)).collect();
        let lost = call("1", looks) + "{\"type\":\"info\",\"process\":1}\n";
        let lost = grows.iter().map(|one| one.clone() + &lost).collect();
        streams.push(("nine questions are never answered", open + &grows.concat()));
        streams.push(("questions are lost", lost));
    }
    if let Some(shrinks) = enemy.shrinks {
        let half = (count / 2) as usize;
        let shrinks: String = (0..half as u64).rev().map(|i| alone(&shrinks(i))).collect();
        streams.push(("grows and shrinks", grows[..half].concat() + &shrinks));
    }
    streams
}

/// The watch of an object in the catalogue, or of a specification.
fn watch_of(object: &str) -> Watch {
    if object.starts_with("spec ") {
        let reader = Arc::new(SeriReader::parse(object, None).unwrap());
        let live = Arc::clone(&reader);
        return Watch::of(reader, None, Box::new(move |sample| Ok(frontier_of(live.live(sample)))))
            .unwrap();
    }
    let choice = SpecChoice::parse(object).unwrap();
    Watch::new(Arc::new(ChosenReader { choice, failures: Failures::default() })).unwrap()
}

/// What a watch says of events, and how many bytes it asked for.
fn watched(object: &str, events: &str) -> (Judgement, u64) {
    let before = ASKED.get();
    let watch = Rc::new(RefCell::new(watch_of(object)));
    let listening = Box::new(Listening(Rc::clone(&watch)));
    listen(events.as_bytes(), "events", ReadOptions::default(), listening).unwrap();
    let judgement = watch.borrow_mut().conclude(Conventions::default());
    (judgement, ASKED.get() - before)
}

#[test]
fn four_times_as_many_events_cost_about_four_times_as_much() {
    let (few, many) = (1000, 4000);
    for enemy in enemies().into_iter().chain(written_enemies()) {
        for ((way, short), (_, long)) in streams(&enemy, few).into_iter().zip(streams(&enemy, many))
        {
            let (_, less) = watched(enemy.object, &short);
            let (judgement, more) = watched(enemy.object, &long);
            let object = enemy.object.lines().next().unwrap_or_default();
            println!("{object}, {way}: {less} and {more}, {:.1}", more as f64 / less as f64);
            assert!(matches!(judgement, Judgement::Linearizable), "{object}, {way}");
            // Logarithms, and tables that double, make it a little more than 4; squares make it 16.
            assert!(more < 6 * less, "{object}, {way}: {less} bytes, then {more}");
        }
    }
}
