//! Laws that hold whatever the object is: changes of a linearizable history that leave it one. With
//! `SERIATIM_LONG=1` fifty times as many; each object is a test of its own, so that a long run can
//! be cut into parts and seen to go on.

use crate::rows::{Row, built, generated, rounds, shown};
use seriatim_history::{Time, Value};
use seriatim_monitor::{Options, check};
use seriatim_spec::{ChosenReader, Failures, SpecChoice, Verdict, catalogue};
use seriatim_testing::Random;

macro_rules! objects {
    ($($test:ident: $name:literal,)*) => {
        $(#[test]
        fn $test() {
            laws_of($name);
        })*

        #[test]
        fn no_object_is_left_out() {
            let known: Vec<&str> = catalogue().map(|entry| entry.name).collect();
            assert_eq!(known, [$($name),*]);
        }
    };
}

objects! {
    of_register: "register",
    of_cas_register: "cas-register",
    of_rmw: "rmw",
    of_multi_register: "multi-register",
    of_map: "map",
    of_kv: "kv",
    of_set: "set",
    of_multiset: "multiset",
    of_stack: "stack",
    of_queue: "queue",
    of_priority_queue: "priority-queue",
    of_deque: "deque",
    of_counter: "counter",
    of_fetch_and_add: "fetch-and-add",
    of_mutex: "mutex",
    of_semaphore: "semaphore",
    of_log: "log",
    of_snapshot: "snapshot",
    of_sorted_map: "sorted-map",
    of_bounded_deque: "bounded-deque",
    of_cache: "cache",
    of_once_cell: "once-cell",
    of_weighted_semaphore: "weighted-semaphore",
    of_watch: "watch",
    of_broadcast: "broadcast",
}

/// The objects whose integers are names: any other values would do.
const OPAQUE: &[&str] = &[
    "register",
    "cas-register",
    "queue",
    "stack",
    "deque",
    "set",
    "multiset",
    "map",
    "bounded-deque",
    "cache",
    "once-cell",
    "watch",
];

/// An insertion that changes nothing for anybody who does not see it.
fn fresh_insertion(object: &str) -> Option<Row> {
    let fresh = || Some(Value::Int(1_000_000));
    let (method, arg) = match object {
        "register" | "cas-register" => ("write", fresh()),
        "queue" => ("enqueue", fresh()),
        "stack" => ("push", fresh()),
        "deque" | "bounded-deque" => ("push_back", fresh()),
        "set" | "multiset" => ("add", fresh()),
        "priority-queue" => ("insert", fresh()),
        "log" => ("append", fresh()),
        "counter" => ("inc", None),
        "once-cell" => ("set", fresh()),
        "watch" | "broadcast" => ("send", fresh()),
        "map" | "sorted-map" | "cache" => ("put", fresh()),
        _ => return None,
    };
    let has_keys = method == "put";
    Some(Row { key: fresh().filter(|_| has_keys), ..Row::new(method, arg, 0, None) })
}

/// Whether an integer that the method returns counts something.
fn counts(method: &str) -> bool {
    ["size", "multiplicity", "length", "read_count"].contains(&method)
}

fn renamed(rows: &[Row]) -> Vec<Row> {
    fn new(value: &Value) -> Value {
        match value {
            Value::Int(number) => Value::text(&format!("v{number}")),
            Value::List(items) => Value::list(items.iter().map(new)),
            other => other.clone(),
        }
    }
    let rename = |row: &Row| Row {
        key: row.key.as_ref().map(new),
        arg: row.arg.as_ref().map(new),
        result: match counts(&row.method) {
            true => row.result.clone(),
            false => row.result.as_ref().map(new),
        },
        ..row.clone()
    };
    rows.iter().map(rename).collect()
}

/// The objects without a monitor: the search decides them, and only if they are short.
pub const SEARCHED: &[&str] = &[
    "deque",
    "snapshot",
    "multi-register",
    "rmw",
    "sorted-map",
    "bounded-deque",
    "cache",
    "once-cell",
    "weighted-semaphore",
    "watch",
    "broadcast",
];

/// The memory for each check, in bytes. Where values repeat a check may be exponential, and one
/// that goes beyond says nothing.
const MEMORY: usize = 64 << 20;

/// What was asked about an object.
#[derive(Default)]
struct Asked {
    answered: usize,
    /// Checks that went beyond their memory.
    open: usize,
}

impl Asked {
    /// Demands a verdict of whoever is fastest: long histories are beyond the search alone.
    fn demand(&mut self, verdict: &str, rows: &[Row], spec: &str, law: &str) {
        let choice = SpecChoice::parse(spec).expect("a name of the catalogue");
        let reader = ChosenReader { choice, failures: Failures::Drop };
        let options = Options { threads: 1, memory: MEMORY, ..Options::default() };
        match check(&mut built(rows), &reader, &options).expect("it can be read").verdict {
            Verdict::Unknown(_) => self.open += 1,
            other => {
                assert_eq!(other.word(), verdict, "{spec}: {law}\n{}", shown(&built(rows)));
                self.answered += 1;
            }
        }
    }
}

fn laws_of(object: &str) {
    let (mut random, mut asked) = (Random(0x1A35), Asked::default());
    for round in 0..rounds(6) {
        if round > 0 && round % 30 == 0 {
            eprintln!("{object}: {round} rounds of {}", rounds(6));
        }
        let operations = [20, 40, 60, 120, 200, 400][round % 6];
        let operations = if SEARCHED.contains(&object) { operations.min(40) } else { operations };
        let Some((rows, spec)) = generated(object, operations, false, &mut random) else {
            continue;
        };
        let mut holds = |rows: &[Row], law: &str| asked.demand("linearizable", rows, &spec, law);
        holds(&rows, "as it was made");
        holds(&stretched(&rows, &mut random), "stretching an interval");
        let mut shuffled = rows.clone();
        (0..rows.len()).for_each(|place| shuffled.swap(place, random.index(rows.len())));
        holds(&shuffled, "the order of lines");
        holds(&cut(&rows), "dropping the last return");
        if let Some(insertion) = fresh_insertion(object) {
            let with: Vec<Row> = rows.iter().cloned().chain([insertion]).collect();
            holds(&with, "a fresh pending insertion");
        }
        if OPAQUE.contains(&object) {
            holds(&renamed(&rows), "renaming values");
            if let Some((wrong, spec)) = generated(object, operations, true, &mut random) {
                asked.demand("violation", &wrong, &spec, "as it was made");
                asked.demand("violation", &renamed(&wrong), &spec, "renaming values");
            }
        }
    }
    println!("{object}: {} answers, {} open", asked.answered, asked.open);
    assert!(asked.open * 20 <= asked.answered, "{object}: {} of {}", asked.open, asked.answered);
}

/// With one interval longer at both ends.
fn stretched(rows: &[Row], random: &mut Random) -> Vec<Row> {
    let mut rows = rows.to_vec();
    let place = random.index(rows.len());
    let row = &mut rows[place];
    row.ret = row.ret.map(|ret| ret + random.index(9) as Time);
    row.call = row.call.saturating_sub(random.index(9) as Time);
    rows
}

/// With the last return gone.
fn cut(rows: &[Row]) -> Vec<Row> {
    let mut rows = rows.to_vec();
    if let Some(last) = rows.iter_mut().max_by_key(|row| row.ret) {
        (last.ret, last.result) = (None, None);
    }
    rows
}
