//! What an operation costs each fast monitor, and how that grows with the length.
//!
//! Claims measured: the time an operation costs grows by less than 1.5 from 10⁵ to 10⁷ operations;
//! the memory that a monitor needs beside the history. Run with `cargo bench -p seriatim-monitor
//! --bench monitors [-- NAME [LARGEST [SHAPE]]]`; `LARGEST` is a power of ten, 6 if not given. CPU time of
//! the thread (from `/proc/self/schedstat`), peak resident memory since the history was built
//! (`VmHWM`).

use seriatim_history::{
    Builder, Call, History, MethodId, Outcome, ProcessId, Return, Value, ValueId,
};
use seriatim_monitor::fast::{Called, Object, Online, Part, Priority, Returned, check};
use seriatim_monitor::fast::{queue_online, set};
use std::collections::{BTreeSet, VecDeque};

/// A small random number generator (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % limit
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Shape {
    Uniform,
    Empties,
    Deep,
    LowOverlap,
    Violation,
}

/// A sequential object that gives its values back.
enum Model {
    Queue(VecDeque<i64>),
    Stack(Vec<i64>),
    Largest(BTreeSet<i64>),
    Set(BTreeSet<i64>),
    Register(i64),
}

impl Model {
    fn of(object: Object) -> Self {
        match object {
            Object::Queue => Model::Queue(VecDeque::new()),
            Object::Stack => Model::Stack(Vec::new()),
            Object::PriorityQueue(_) => Model::Largest(BTreeSet::new()),
            Object::Set => Model::Set(BTreeSet::new()),
            _ => Model::Register(0),
        }
    }

    fn apply(&mut self, method: Method, arg: i64) -> Answer {
        match (self, method) {
            (Model::Queue(values), Method::Insert) => values.push_back(arg),
            (Model::Stack(values), Method::Insert) => values.push(arg),
            (Model::Largest(values), Method::Insert) => {
                values.insert(arg);
            }
            (Model::Set(values), Method::Insert) => return Answer::Truth(values.insert(arg)),
            (Model::Register(value), Method::Insert) => *value = arg,
            (Model::Queue(values), _) => return Answer::Value(values.pop_front()),
            (Model::Stack(values), _) => return Answer::Value(values.pop()),
            (Model::Largest(values), _) => return Answer::Value(values.pop_last()),
            (Model::Set(values), Method::Remove) => return Answer::Truth(values.remove(&arg)),
            (Model::Set(values), _) => return Answer::Truth(values.contains(&arg)),
            (Model::Register(value), _) => return Answer::Value(Some(*value)),
        }
        Answer::Nothing
    }

    fn len(&self) -> usize {
        match self {
            Model::Queue(values) => values.len(),
            Model::Stack(values) => values.len(),
            Model::Largest(values) | Model::Set(values) => values.len(),
            Model::Register(_) => 1,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Method {
    Insert,
    Remove,
    Contains,
}

#[derive(Clone, Copy)]
enum Answer {
    Nothing,
    Truth(bool),
    Value(Option<i64>),
}

/// What a thread is doing.
#[derive(Clone, Copy)]
enum Phase {
    Idle,
    Called(Method, i64),
    Done(Answer),
}

struct Generator {
    builder: Builder,
    random: Random,
    model: Model,
    object: Object,
    shape: Shape,
    methods: [MethodId; 3],
    operations: u64,
    called: u64,
    fresh: i64,
    /// Whether a value was skipped.
    skipped: bool,
}

impl Generator {
    fn new(object: Object, shape: Shape, operations: u64) -> Self {
        let mut builder = Builder::new("bench");
        let names = match object {
            Object::Queue => ["enq", "deq", "peek"],
            Object::Stack => ["push", "pop", "peek"],
            Object::PriorityQueue(_) => ["insert", "poll", "peek"],
            Object::Set => ["insert", "remove", "contains"],
            _ => ["write", "read", "read"],
        };
        let methods = names.map(|name| builder.method(name));
        Generator {
            builder,
            random: Random(operations ^ 42),
            model: Model::of(object),
            object,
            shape,
            methods,
            operations,
            called: 0,
            fresh: 1,
            skipped: false,
        }
    }

    fn draw(&mut self) -> (Method, i64) {
        if self.object == Object::Set {
            let key = self.random.below(1 + self.operations / 4) as i64;
            return match self.random.below(3) {
                0 => (Method::Insert, key),
                1 => (Method::Remove, key),
                _ => (Method::Contains, key),
            };
        }
        let insert = match self.shape {
            Shape::Deep => self.called < self.operations / 2,
            Shape::Empties => self.random.below(100) < 45,
            _ => self.model.len() < 20 || self.random.below(100) < 50,
        };
        self.fresh += 1;
        let value = match self.object {
            Object::PriorityQueue(_) => {
                (self.fresh * 7919) % 1_000_003 + 1_000_003 * (self.fresh / 1_000_003)
            }
            _ => self.fresh,
        };
        match insert {
            true => (Method::Insert, value),
            false => (Method::Remove, 0),
        }
    }

    fn history(mut self, threads: usize) -> History {
        let processes: Vec<ProcessId> =
            (0..threads).map(|thread| self.builder.process(&Value::Int(thread as i64))).collect();
        let mut phases = vec![Phase::Idle; threads];
        let mut thread = 0;
        let mut returned = 0;
        while returned < self.operations {
            // Around the violation one operation is open at a time, so that it is one for certain.
            let middle = self.called.abs_diff(self.operations / 2) < 50;
            let stay = match self.shape {
                Shape::LowOverlap => self.random.below(100) < 90,
                Shape::Violation => middle,
                _ => false,
            };
            if !stay || matches!(phases[thread], Phase::Idle) {
                thread = self.random.below(threads as u64) as usize;
            }
            phases[thread] = match phases[thread] {
                Phase::Idle if self.called == self.operations => Phase::Idle,
                Phase::Idle => self.call(processes[thread]),
                Phase::Called(method, arg) => Phase::Done(self.effect(method, arg)),
                Phase::Done(answer) => {
                    returned += 1;
                    let result = match answer {
                        Answer::Nothing => ValueId::ABSENT,
                        Answer::Truth(truth) => ValueId::from(truth),
                        Answer::Value(None) => ValueId::NIL,
                        Answer::Value(Some(value)) => self.builder.values().intern_int(value),
                    };
                    let ret = Return::new(Outcome::Ok, result);
                    self.builder.ret(0, processes[thread], ret).unwrap();
                    Phase::Idle
                }
            };
        }
        self.builder.finish().unwrap()
    }

    fn call(&mut self, process: ProcessId) -> Phase {
        let (method, arg) = self.draw();
        self.called += 1;
        let mut call = Call::new(self.methods[method as usize]);
        if method == Method::Insert || self.object == Object::Set {
            call.arg = self.builder.values().intern_int(arg);
        }
        self.builder.call(0, process, call).unwrap();
        Phase::Called(method, arg)
    }

    /// The effect of an operation. In the middle of a history that is to be wrong one value is
    /// skipped.
    fn effect(&mut self, method: Method, arg: i64) -> Answer {
        let middle = self.called.abs_diff(self.operations / 2) < 10;
        let skip = self.shape == Shape::Violation && middle && method == Method::Remove;
        if skip && !self.skipped && self.model.len() > 2 {
            self.skipped = true;
            let first = self.model.apply(method, arg);
            let second = self.model.apply(method, arg);
            if let Answer::Value(Some(first)) = first {
                self.model.apply(Method::Insert, first);
            }
            return second;
        }
        self.model.apply(method, arg)
    }
}

/// The nanoseconds that this thread has run.
fn cpu_nanoseconds() -> u64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0)
}

/// A field of `/proc/self/status`, in KiB.
fn status(field: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with(field)).unwrap_or("");
    line.split_whitespace().nth(1).and_then(|n| n.parse().ok()).unwrap_or(0)
}

fn bench(name: &str, object: Object, shape: Shape, largest: u32) {
    let mut first = 0.0;
    for power in 4..=largest {
        let operations = 10u64.pow(power);
        let history = Generator::new(object, shape, operations).history(8);
        let repeats = (2_000_000 / operations).clamp(1, 200);
        let before = status("VmRSS");
        // Forgets the peak so far.
        let _ = std::fs::write("/proc/self/clear_refs", "5");
        let mut word = "";
        let start = cpu_nanoseconds();
        for _ in 0..repeats {
            word = match check(object, Part::whole(&history)) {
                Ok(verdict) => verdict.word(),
                Err(_) => "declined",
            };
        }
        let cost = (cpu_nanoseconds() - start) as f64 / (operations * repeats) as f64;
        if power == 5 {
            first = cost;
        }
        let growth = if power > 5 { format!("{:.2}", cost / first) } else { "-".into() };
        let peak = (status("VmHWM").saturating_sub(before)) as f64 / 1024.0;
        println!(
            "{name:<16} {shape:<11} 10^{power}  {cost:>7.1} ns/op  growth {growth:<5} {peak:>7.1} MiB beside {:>6.1} MiB  {word}",
            history.bytes() as f64 / 1048576.0,
            shape = format!("{shape:?}"),
        );
    }
}

/// Events a second of an online monitor, and how much it remembers.
fn bench_online(name: &str, object: Object, mut monitor: impl Online) {
    let operations = 1_000_000;
    let history = Generator::new(object, Shape::Uniform, operations).history(8);
    let start = cpu_nanoseconds();
    let mut most = 0;
    let values = history.values();
    for event in history.events() {
        let step = match event {
            seriatim_history::Event::Call(op) => monitor.call(Called {
                op,
                method: history.method_name(history.method(op)),
                key: ValueId::ABSENT,
                arg: history.arg(op),
                values,
            }),
            seriatim_history::Event::Return(op) => monitor.ret(Returned {
                op,
                outcome: Outcome::Ok,
                result: history.result(op),
                values,
            }),
        };
        step.unwrap_or_else(|stop| panic!("{stop:?}"));
        most = most.max(monitor.remembered());
    }
    let seconds = (cpu_nanoseconds() - start) as f64 / 1e9;
    let rate = 2.0 * operations as f64 / seconds / 1e6;
    println!(
        "{name:<16} online      {rate:.1} million events a second, {most} things remembered at most"
    );
}

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|a| !a.starts_with("--"));
    let wanted = arguments.next();
    let largest = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(6);
    let only = arguments.next();
    let wants =
        |name: &str| wanted.as_deref().is_none_or(|wanted| wanted == name || wanted == "all");
    let objects = [
        ("queue", Object::Queue),
        ("stack", Object::Stack),
        ("priority-queue", Object::PriorityQueue(Priority::LargestFirst)),
        ("set", Object::Set),
        ("register", Object::Register(ValueId::inline_int(0).unwrap_or(ValueId::NIL))),
    ];
    for (name, object) in objects.into_iter().filter(|(name, _)| wants(name)) {
        let shapes: &[Shape] = match object {
            Object::Set | Object::Register(_) => &[Shape::Uniform, Shape::LowOverlap],
            _ => {
                &[Shape::Uniform, Shape::Empties, Shape::Deep, Shape::LowOverlap, Shape::Violation]
            }
        };
        let named = |shape: &&Shape| {
            let only = only.as_deref();
            only.is_none_or(|only| format!("{shape:?}").eq_ignore_ascii_case(only))
        };
        for &shape in shapes.iter().filter(named) {
            bench(name, object, shape, largest);
        }
    }
    if wants("online") {
        bench_online("queue", Object::Queue, queue_online::Watch::default());
        bench_online("set", Object::Set, set::Watch::default());
    }
}
