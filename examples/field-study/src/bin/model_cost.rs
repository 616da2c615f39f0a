//! What a model costs: for each built-in object, the executions that a test makes in the same time
//! with the specification by name and with a model of the same object, in turn.
//!
//! ```text
//! cargo run --release --bin model_cost -- [seconds for each test] [rounds]
//! ```
//!
//! Every object is a lock round the model itself, so that nothing ever fails and all that differs is
//! who judges. Left out: `mutex` and `multi-register` (calls that only some states allow, calls made of
//! calls), `kv` (a map), `rmw` (a register).

use seriatim_harness::{IntoReply, ModelCall, Passed, Reply, Test, distinct, test};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Mutex;
use std::time::Duration;

/// What an operation takes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    Nothing,
    /// One of few numbers.
    Key,
    /// A number of its own.
    Value,
    /// One of few numbers, and a number of its own.
    Entry,
    /// Two of few numbers.
    Keys,
    /// Three of few numbers.
    Three,
}

use Takes::{Entry, Key, Keys, Nothing, Three, Value};

/// The arguments of a call, as far as it has any.
type Args = [u32; 3];

type Operations = &'static [(&'static str, Takes)];

/// An object, its operations, and what they do.
struct Object<S> {
    spec: &'static str,
    start: S,
    operations: Operations,
    step: fn(&mut S, &str, Args) -> Reply,
}

impl<S: Clone + Eq + Hash + Debug + Send + Sync + 'static> Object<S> {
    fn declared(&self) -> Test<Mutex<S>> {
        let (start, step) = (self.start.clone(), self.step);
        let declare = |test: Test<Mutex<S>>, &(name, takes): &(&'static str, Takes)| {
            let call = move |object: &Mutex<S>, args| step(&mut object.lock().unwrap(), name, args);
            match takes {
                Nothing => test.operation(name, (), move |o, ()| call(o, [0; 3])),
                Key => test.operation(name, 1..4_u32, move |o, a| call(o, [a, 0, 0])),
                Value => test.operation(name, distinct(), move |o, a: u32| call(o, [a, 0, 0])),
                Entry => test.operation(name, (1..4_u32, distinct::<u32>()), move |o, (a, b)| {
                    call(o, [a, b, 0])
                }),
                Keys => {
                    test.operation(name, (1..4_u32, 1..4_u32), move |o, (a, b)| call(o, [a, b, 0]))
                }
                Three => {
                    test.operation(name, (1..4_u32, 1..4_u32, 1..4_u32), move |o, (a, b, c)| {
                        call(o, [a, b, c])
                    })
                }
            }
        };
        self.operations.iter().fold(test(move || Mutex::new(start.clone())), declare)
    }

    fn by_model(&self) -> Test<Mutex<S>> {
        let (step, operations) = (self.step, self.operations);
        self.declared().model(self.start.clone(), move |state, call: &ModelCall| {
            let known = operations.iter().find(|known| known.0 == call.name());
            let args = match known.expect("it was declared").1 {
                Nothing => [0; 3],
                Key | Value => [call.arg(), 0, 0],
                Entry | Keys => {
                    let (a, b) = call.arg();
                    [a, b, 0]
                }
                Three => {
                    let (a, b, c) = call.arg();
                    [a, b, c]
                }
            };
            step(state, call.name(), args)
        })
    }

    /// The executions of the test by name and by the model, the medians.
    fn measure(self, seconds: f64, rounds: usize) -> f64 {
        let count = |test: Test<Mutex<S>>| -> u64 {
            let ran = test.budget(Duration::from_secs_f64(seconds)).run();
            let passed: Passed = ran.unwrap_or_else(|failed| panic!("{failed}"));
            passed.executions
        };
        let pairs: Vec<(u64, u64)> = (0..rounds)
            .map(|_| (count(self.declared().spec(self.spec)), count(self.by_model())))
            .collect();
        let named = median(pairs.iter().map(|pair| pair.0).collect());
        let model = median(pairs.iter().map(|pair| pair.1).collect());
        let ratio = named as f64 / model as f64;
        println!("| {} | {named} | {model} | {ratio:.2} |", self.spec);
        ratio
    }
}

fn median(mut counts: Vec<u64>) -> u64 {
    counts.sort_unstable();
    counts[counts.len() / 2]
}

fn register(held: &mut Option<u32>, name: &str, [a, b, _]: Args) -> Reply {
    match name {
        "write" => {
            *held = Some(a);
            ().reply()
        }
        "cas" => {
            let is_met = *held == Some(a);
            *held = if is_met { Some(b) } else { *held };
            is_met.reply()
        }
        "swap" => held.replace(a).reply(),
        _ => held.reply(),
    }
}

fn map(map: &mut BTreeMap<u32, u32>, name: &str, [a, b, c]: Args) -> Reply {
    match name {
        "put" => {
            map.insert(a, b);
            ().reply()
        }
        "insert" => {
            let is_new = !map.contains_key(&a);
            map.entry(a).or_insert(b);
            is_new.reply()
        }
        "delete" => map.remove(&a).is_some().reply(),
        "cas" => {
            let is_met = map.get(&a) == Some(&b);
            if is_met {
                map.insert(a, c);
            }
            is_met.reply()
        }
        "contains" => map.contains_key(&a).reply(),
        _ => map.get(&a).copied().reply(),
    }
}

fn sorted_map(map: &mut BTreeMap<u32, u32>, name: &str, [a, b, _]: Args) -> Reply {
    let pair = |(key, value): (&u32, &u32)| (*key, *value);
    match name {
        "put" => map.insert(a, b).reply(),
        "get_or_insert" => (*map.entry(a).or_insert(b)).reply(),
        "take" => map.remove(&a).reply(),
        "first" => map.first_key_value().map(pair).reply(),
        "pop_first" => map.pop_first().reply(),
        "pop_last" => map.pop_last().reply(),
        "size" => map.len().reply(),
        _ => map.get(&a).copied().reply(),
    }
}

fn cache(map: &mut BTreeMap<u32, u32>, name: &str, [a, b, _]: Args) -> Reply {
    match name {
        "put" => {
            map.insert(a, b);
            ().reply()
        }
        "get_or_insert" => (*map.entry(a).or_insert(b)).reply(),
        "take" => map.remove(&a).reply(),
        _ => map.get(&a).copied().reply(),
    }
}

fn set(set: &mut BTreeSet<u32>, name: &str, [a, ..]: Args) -> Reply {
    match name {
        "add" => set.insert(a).reply(),
        "remove" => set.remove(&a).reply(),
        _ => set.contains(&a).reply(),
    }
}

fn multiset(counts: &mut BTreeMap<u32, u32>, name: &str, [a, ..]: Args) -> Reply {
    let count = counts.get(&a).copied().unwrap_or(0);
    let after = match name {
        "add" => count + 1,
        "remove" => count.saturating_sub(1),
        _ => count,
    };
    match after {
        0 => _ = counts.remove(&a),
        after => _ = counts.insert(a, after),
    }
    match name {
        "add" => ().reply(),
        _ => (count > 0).reply(),
    }
}

fn line(line: &mut VecDeque<u32>, name: &str, [a, ..]: Args) -> Reply {
    match name {
        "push" | "enqueue" | "push_back" => {
            line.push_back(a);
            ().reply()
        }
        "push_front" => {
            line.push_front(a);
            ().reply()
        }
        "pop" | "pop_back" => line.pop_back().reply(),
        "size" => line.len().reply(),
        _ => line.pop_front().reply(),
    }
}

fn bounded(line: &mut VecDeque<u32>, name: &str, [a, ..]: Args) -> Reply {
    let is_full = line.len() == 2;
    match name {
        "push_back" => {
            if !is_full {
                line.push_back(a);
            }
            (!is_full).reply()
        }
        "force_push" => {
            let gone = is_full.then(|| line.pop_front()).flatten();
            line.push_back(a);
            gone.reply()
        }
        "pop_front" => line.pop_front().reply(),
        "size" => line.len().reply(),
        _ => is_full.reply(),
    }
}

fn heap(heap: &mut BTreeSet<u32>, name: &str, [a, ..]: Args) -> Reply {
    match name {
        "insert" => {
            heap.insert(a);
            ().reply()
        }
        "extract" => heap.pop_first().reply(),
        _ => heap.first().copied().reply(),
    }
}

fn number(number: &mut u32, name: &str, [a, ..]: Args) -> Reply {
    match name {
        "add" => {
            *number += a;
            ().reply()
        }
        "fetch_add" => {
            *number += a;
            (*number - a).reply()
        }
        "release" => {
            *number += 1;
            ().reply()
        }
        "try_acquire" => {
            let has_any = *number > 0;
            *number -= u32::from(has_any);
            has_any.reply()
        }
        _ => (*number).reply(),
    }
}

fn permits((free, closed): &mut (u32, bool), name: &str, [a, ..]: Args) -> Reply {
    match name {
        "try_acquire" if *closed => "closed".reply(),
        "try_acquire" => {
            let is_enough = *free >= a;
            *free -= if is_enough { a } else { 0 };
            is_enough.reply()
        }
        "release" => {
            *free += a;
            ().reply()
        }
        "forget" => {
            let gone = a.min(*free);
            *free -= gone;
            gone.reply()
        }
        "close" => {
            *closed = true;
            ().reply()
        }
        _ => (*free).reply(),
    }
}

fn log(log: &mut Vec<u32>, name: &str, [a, ..]: Args) -> Reply {
    match name {
        "append" => {
            log.push(a);
            (log.len() - 1).reply()
        }
        "read" => log.get(a as usize).copied().reply(),
        _ => log.len().reply(),
    }
}

fn snapshot(segments: &mut [u32; 4], name: &str, [a, b, _]: Args) -> Reply {
    match name {
        "update" => {
            segments[a as usize] = b;
            ().reply()
        }
        _ => (*segments).reply(),
    }
}

fn once(cell: &mut Option<u32>, name: &str, [a, ..]: Args) -> Reply {
    let is_new = cell.is_none();
    match name {
        "set" => {
            cell.get_or_insert(a);
            is_new.reply()
        }
        "get_or_init" => (*cell.get_or_insert(a)).reply(),
        _ => cell.reply(),
    }
}

/// What was sent, and how far each receiver is.
type Sent = (Vec<u32>, BTreeMap<u32, usize>);

fn watch((sent, seen): &mut Sent, name: &str, [a, ..]: Args) -> Reply {
    let held = sent.last().copied().unwrap_or(0);
    match name {
        "send" => {
            sent.push(a);
            true.reply()
        }
        "update" => {
            let is_new = seen.insert(a, sent.len()).unwrap_or(0) < sent.len();
            (held, is_new).reply()
        }
        _ => held.reply(),
    }
}

fn broadcast((sent, had): &mut Sent, name: &str, [a, ..]: Args) -> Reply {
    let gone = sent.len().saturating_sub(2);
    let at = had.get(&a).copied().unwrap_or(0);
    match name {
        "send" => {
            sent.push(a);
            true.reply()
        }
        _ if at < gone => {
            had.insert(a, gone);
            ("lagged", gone - at).reply()
        }
        _ => {
            had.insert(a, sent.len().min(at + 1));
            sent.get(at).copied().reply()
        }
    }
}

fn main() {
    let mut words = std::env::args().skip(1);
    let seconds = words.next().and_then(|word| word.parse().ok()).unwrap_or(1.0);
    let rounds = words.next().and_then(|word| word.parse().ok()).unwrap_or(3);
    println!("| object | executions by name | by a model | ratio |\n| --- | --- | --- | --- |");
    let mut ratios = Vec::new();
    macro_rules! measure {
        ($($spec:literal, $start:expr, $step:expr, [$($operation:expr),+];)+) => {$({
            let operations: Operations = &[$($operation),+];
            let object = Object { spec: $spec, start: $start, operations, step: $step };
            ratios.push(object.measure(seconds, rounds));
        })+};
    }
    let entries = BTreeMap::new;
    measure! {
        "register", None, register, [("read", Nothing), ("write", Value)];
        "cas-register", None, register,
            [("read", Nothing), ("write", Key), ("cas", Keys), ("swap", Key)];
        "map", entries(), map, [("get", Key), ("put", Entry), ("insert", Entry), ("delete", Key),
            ("cas", Three), ("contains", Key)];
        "set", BTreeSet::new(), set, [("add", Key), ("remove", Key), ("contains", Key)];
        "multiset", entries(), multiset, [("add", Key), ("remove", Key), ("contains", Key)];
        "stack", VecDeque::new(), line, [("push", Value), ("pop", Nothing)];
        "queue", VecDeque::new(), line, [("enqueue", Value), ("dequeue", Nothing)];
        "deque", VecDeque::new(), line, [("push_front", Value), ("push_back", Value),
            ("pop_front", Nothing), ("pop_back", Nothing), ("size", Nothing)];
        "priority-queue", BTreeSet::new(), heap,
            [("insert", Value), ("extract", Nothing), ("peek", Nothing)];
        "counter", 0, number, [("add", Key), ("read", Nothing)];
        "fetch-and-add", 0, number, [("fetch_add", Key), ("read", Nothing)];
        "semaphore", 0, number,
            [("release", Nothing), ("try_acquire", Nothing), ("permits", Nothing)];
        "log", Vec::new(), log, [("append", Value), ("read", Key), ("length", Nothing)];
        "snapshot(init=[0, 0, 0, 0])", [0; 4], snapshot, [("update", Entry), ("scan", Nothing)];
        "sorted-map", entries(), sorted_map, [("get", Key), ("put", Entry), ("get_or_insert", Entry),
            ("take", Key), ("first", Nothing), ("pop_first", Nothing), ("pop_last", Nothing),
            ("size", Nothing)];
        "bounded-deque(capacity=2)", VecDeque::new(), bounded, [("push_back", Value),
            ("force_push", Value), ("pop_front", Nothing), ("size", Nothing), ("is_full", Nothing)];
        "cache", entries(), cache,
            [("get", Key), ("put", Entry), ("get_or_insert", Entry), ("take", Key)];
        "once-cell", None, once, [("get", Nothing), ("set", Value), ("get_or_init", Value)];
        "weighted-semaphore(init=0)", (0, false), permits, [("try_acquire", Key), ("release", Key),
            ("forget", Key), ("permits", Nothing), ("close", Nothing)];
        "watch(init=0)", Sent::default(), watch,
            [("send", Value), ("update", Key), ("read", Nothing)];
        "broadcast(capacity=2)", Sent::default(), broadcast, [("send", Value), ("try_recv", Key)];
    }
    let worst = ratios.iter().copied().fold(0.0, f64::max);
    let slow = ratios.iter().filter(|ratio| **ratio > 3.0).count();
    println!("\nworst ratio {worst:.2}; {slow} objects above 3");
}
