//! Histories on demand: linearizable by construction, or with one planted violation.
//!
//! Threads take random steps: call, take effect, return. An operation's result is what the object
//! gives at the moment at which it takes effect, so the order of these moments is a witness. The
//! objects are small mutable models, written apart from the specifications; tests replay the
//! witness against the specification, so the two check each other.
//!
//! **A planted violation is provable.** Somewhere in the history one process does a few operations
//! one after another that no order explains, whatever all others do: they name values that no other
//! operation names, and their results contradict each other. A register shows a value after it was
//! overwritten, two values of a queue leave in the wrong order, an element that nobody removes is
//! gone. Each model says what it plants and why it is impossible. The other operations are
//! linearizable without them.
//!
//! The same seed gives the same history on every machine. The generator is an iterator of events
//! and needs memory for the object and the open operations only; [`Generator::history`] collects
//! the events, [`Generator::write_events`] writes them down as they come.

mod bounded;
mod cells;
mod containers;
mod draw;
mod entries;
mod model;
mod numbers;
mod signals;
mod stream;

use crate::{Interpretation, SpecChoice, Witness, checkpoint};
use draw::Draw;
pub use draw::{Repetition, Spread};
use model::{Crash, Model, Thread};
pub use model::{Datum, Invocation};
use seriatim_history::{Builder, Call, History, InputError, MethodId, OpId, Outcome, Return};
use seriatim_history::{Value, ValueId};
use std::collections::VecDeque;
use std::fmt;

/// What kind of history to make.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// How many operations, the planted ones apart. (A mutex takes a few more if somebody still
    /// waits for it at the end.)
    pub operations: u64,
    /// How many threads call operations.
    pub threads: u32,
    /// How likely a thread lets others go on between two of its steps: 0 makes a sequential
    /// history, 1 the most concurrent one.
    pub overlap: f64,
    /// The share of operations that never return. Their processes die; new ones take their place.
    pub pending: f64,
    /// How many keys, elements or registers there are, where the object has them.
    pub keys: u64,
    /// How keys and repeated values are spread.
    pub spread: Spread,
    /// Whether values that are put somewhere repeat.
    pub values: Repetition,
    /// Shares of methods that differ from the usual ones.
    pub shares: Vec<(String, f64)>,
    /// How likely an operation that would find the container empty goes on nevertheless.
    pub empties: f64,
    /// Whether to plant a violation.
    pub violation: Violation,
    /// Where the random choices start.
    pub seed: u64,
}

impl Default for Profile {
    fn default() -> Self {
        Profile {
            operations: 1000,
            threads: 4,
            overlap: 0.5,
            pending: 0.0,
            keys: 10,
            spread: Spread::Uniform,
            values: Repetition::Distinct,
            shares: Vec::new(),
            empties: 1.0,
            violation: Violation::None,
            seed: 0,
        }
    }
}

/// Whether to plant a violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Violation {
    /// The history is linearizable.
    None,
    /// A violation begins about when this operation is called.
    At(u64),
}

/// Something that happens in a generated history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happening {
    /// A process calls an operation; calls are numbered from 0.
    Call(u32, Invocation),
    /// The operation of this number takes effect. (Nothing that a recorder could see.)
    Effect(u64),
    /// A process returns a result.
    Return(u32, Datum),
    /// A process is never heard of again: its operation is pending.
    Crash(u32),
}

/// Why a history cannot be generated.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GenerateError {
    /// The generator does not know this parameter of the specification.
    Parameter {
        /// The specification.
        spec: &'static str,
        /// The parameter.
        parameter: &'static str,
    },
    /// The generator has no such method for the specification.
    Method {
        /// The specification.
        spec: &'static str,
        /// The method.
        method: String,
        /// The methods that it has.
        known: Vec<&'static str>,
    },
    /// A number of the profile is out of range.
    Range {
        /// Which.
        what: &'static str,
        /// What it has to be.
        expected: &'static str,
    },
}

impl fmt::Display for GenerateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GenerateError::Parameter { spec, parameter } => {
                write!(f, "cannot generate histories of {spec} with parameter {parameter}")
            }
            GenerateError::Method { spec, method, known } => write!(
                f,
                "the generator of {spec} has no method `{method}`; expected one of: {}",
                known.join(", ")
            ),
            GenerateError::Range { what, expected } => write!(f, "{what} must be {expected}"),
        }
    }
}

impl std::error::Error for GenerateError {}

/// A generated history with what the generator knows of it.
pub struct Generated {
    /// The history.
    pub history: History,
    /// The operations in the order in which they took effect.
    pub effects: Vec<OpId>,
}

impl Generated {
    /// The order in which those operations took effect that the specification keeps: a witness,
    /// unless a violation was planted. (A pending read says nothing and is dropped.)
    pub fn witness(&self, interpretation: &Interpretation) -> Witness {
        let kept = |op: &&OpId| interpretation.class(**op).is_some();
        let order = self.effects.iter().filter(kept).copied().collect();
        Witness { order }
    }
}

/// Makes a history, event by event.
///
/// ```
/// use seriatim_spec::generate::{Generator, Profile};
/// use seriatim_spec::{Failures, SpecChoice, validate};
/// let choice = SpecChoice::parse("queue").unwrap();
/// let generator = Generator::new(&choice, Profile { pending: 0.1, ..Profile::default() }).unwrap();
/// let mut made = generator.history().unwrap();
/// let interpretation = choice.bind(&mut made.history, Failures::Drop).unwrap();
/// validate(&made.history, &interpretation, &made.witness(&interpretation)).unwrap();
/// ```
pub struct Generator {
    spec: String,
    profile: Profile,
    weights: Vec<f64>,
    model: Box<dyn Model>,
    draw: Draw,
    threads: Vec<Running>,
    busy: usize,
    next_process: u32,
    next_op: u64,
    /// Crashed operations that may still take effect.
    late: Vec<(u64, Invocation, Thread)>,
    /// Crashed operations that may take effect in the eyes of a reader of the history.
    pending: u64,
    ready: VecDeque<Happening>,
}

/// A thread and the process as which it calls.
struct Running {
    process: u32,
    stage: Stage,
}

enum Stage {
    Idle,
    Called { op: u64, call: Invocation, fate: Fate, waited: u32 },
    Done(Datum),
}

/// What becomes of an operation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Returns,
    CrashesAfterEffect,
    CrashesBefore,
    CrashesAndMayTakeEffectLater,
}

/// How often an operation that would find nothing is put off.
const PATIENCE: u32 = 64;

impl Generator {
    /// A generator of histories of a specification.
    pub fn new(choice: &SpecChoice, profile: Profile) -> Result<Self, GenerateError> {
        check_ranges(&profile)?;
        let model = model_of(choice)?;
        let weights = weights(choice, &profile, model.methods())?;
        let draw = Draw::new(profile.seed, profile.spread, profile.keys, profile.values);
        let idle = |process| Running { process, stage: Stage::Idle };
        Ok(Generator {
            spec: named(choice),
            weights,
            model,
            draw,
            threads: (0..profile.threads).map(idle).collect(),
            busy: 0,
            next_process: profile.threads,
            next_op: 0,
            late: Vec::new(),
            pending: 0,
            ready: VecDeque::new(),
            profile,
        })
    }

    /// The specification, as a history's header names it.
    pub fn spec(&self) -> &str {
        &self.spec
    }

    /// Collects the events.
    pub fn history(mut self) -> Result<Generated, InputError> {
        let mut builder = Builder::new("generated");
        builder.name_spec(&self.spec);
        let mut methods: Vec<(&'static str, MethodId)> = Vec::new();
        let mut effects = Vec::new();
        let mut line = 0;
        for happening in &mut self {
            line += 1;
            match happening {
                Happening::Call(process, call) => {
                    let known = methods.iter().find(|(name, _)| *name == call.method);
                    let method = known.map(|known| known.1).unwrap_or_else(|| {
                        let method = builder.method(call.method);
                        methods.push((call.method, method));
                        method
                    });
                    let key = interned(&mut builder, &call.key);
                    let arg = interned(&mut builder, &call.arg);
                    let process = builder.process_of(value_of(process));
                    builder.call(line, process, Call::new(method).key(key).arg(arg))?;
                }
                Happening::Return(process, result) => {
                    let result = interned(&mut builder, &result);
                    let process = builder.process_of(value_of(process));
                    builder.ret(line, process, Return::new(Outcome::Ok, result))?;
                }
                Happening::Effect(op) => {
                    line -= 1;
                    effects.push(OpId::from(op as usize));
                }
                Happening::Crash(_) => line -= 1,
            }
        }
        let history = builder.finish()?;
        Ok(Generated { history, effects })
    }

    /// One thread goes on, until it lets others go on.
    fn tick(&mut self) {
        let thread = Thread(self.draw.below(self.threads.len() as u64) as u32);
        loop {
            self.advance(thread);
            let idle = matches!(self.threads[thread.0 as usize].stage, Stage::Idle);
            if idle || self.draw.chance(self.profile.overlap) || self.is_stuck(thread) {
                break;
            }
        }
        if !self.late.is_empty() && self.draw.chance(0.02) {
            let chosen = self.draw.below(self.late.len() as u64) as usize;
            let (op, call, thread) = self.late.swap_remove(chosen);
            if self.model.apply(&call, thread).is_some() {
                self.ready.push_back(Happening::Effect(op));
            }
        }
    }

    fn is_stuck(&self, thread: Thread) -> bool {
        matches!(self.threads[thread.0 as usize].stage, Stage::Called { waited, .. } if waited > 0)
    }

    fn advance(&mut self, thread: Thread) {
        let slot = thread.0 as usize;
        match std::mem::replace(&mut self.threads[slot].stage, Stage::Idle) {
            Stage::Idle => self.begin(thread),
            Stage::Called { op, call, fate, waited } => match fate {
                Fate::Returns | Fate::CrashesAfterEffect => {
                    self.take_effect(thread, (op, call), fate, waited);
                }
                Fate::CrashesBefore => self.crash(thread),
                Fate::CrashesAndMayTakeEffectLater => {
                    self.late.push((op, call, thread));
                    self.crash(thread);
                }
            },
            Stage::Done(result) => {
                let process = self.threads[slot].process;
                self.ready.push_back(Happening::Return(process, result));
                self.busy -= 1;
            }
        }
    }

    fn begin(&mut self, thread: Thread) {
        if self.profile.violation == Violation::At(self.next_op) {
            self.profile.violation = Violation::None;
            self.plant(thread);
        }
        let awaited = self.busy > 0 && self.model.is_awaited(thread);
        if self.next_op >= self.profile.operations && !awaited {
            return;
        }
        let method = self.draw.weighted(&self.weights);
        let method = self.model.methods()[method].0;
        let call = self.model.call(method, thread, &mut self.draw);
        let fate = self.fate(&call, thread);
        let process = self.threads[thread.0 as usize].process;
        let (op, waited) = (self.next_op, 0);
        self.next_op += 1;
        self.busy += 1;
        self.ready.push_back(Happening::Call(process, call.clone()));
        self.threads[thread.0 as usize].stage = Stage::Called { op, call, fate, waited };
    }

    fn fate(&mut self, call: &Invocation, thread: Thread) -> Fate {
        if !self.draw.chance(self.profile.pending) {
            return Fate::Returns;
        }
        match (self.model.crash(call, thread), self.draw.below(3)) {
            (Crash::Never, _) => Fate::Returns,
            (Crash::WithoutEffect, _) | (Crash::Either, 0) => Fate::CrashesBefore,
            (Crash::Either, 1) => Fate::CrashesAfterEffect,
            (Crash::Either, _) => Fate::CrashesAndMayTakeEffectLater,
        }
    }

    fn take_effect(&mut self, thread: Thread, called: (u64, Invocation), fate: Fate, waited: u32) {
        let (op, call) = called;
        let patient = waited < PATIENCE && self.model.starves(&call);
        let put_off = patient && !self.draw.chance(self.profile.empties);
        let result = if put_off { None } else { self.model.apply(&call, thread) };
        match (result, fate) {
            (None, _) => {
                let waited = waited + 1;
                let stage = Stage::Called { op, call, fate, waited };
                self.threads[thread.0 as usize].stage = stage;
            }
            (Some(result), Fate::Returns) => {
                self.ready.push_back(Happening::Effect(op));
                self.threads[thread.0 as usize].stage = Stage::Done(result);
            }
            (Some(_), _) => {
                self.ready.push_back(Happening::Effect(op));
                self.crash(thread);
            }
        }
    }

    /// The process is never heard of again; the thread goes on as a new one.
    fn crash(&mut self, thread: Thread) {
        let process = &mut self.threads[thread.0 as usize].process;
        self.ready.push_back(Happening::Crash(*process));
        *process = self.next_process;
        self.next_process += 1;
        self.pending += 1;
        self.busy -= 1;
    }

    /// One idle thread does what no order explains, while all others stand still.
    fn plant(&mut self, thread: Thread) {
        let open = self.busy as u64 + self.pending;
        let process = self.threads[thread.0 as usize].process;
        for (call, result) in self.model.contradiction(&mut self.draw, open) {
            self.ready.push_back(Happening::Call(process, call));
            self.ready.push_back(Happening::Effect(self.next_op));
            self.ready.push_back(Happening::Return(process, result));
            self.next_op += 1;
            self.profile.operations += 1;
        }
    }

    fn is_over(&self) -> bool {
        let planted = !matches!(self.profile.violation, Violation::At(op) if op <= self.next_op);
        self.busy == 0 && self.next_op >= self.profile.operations && planted
    }
}

impl Iterator for Generator {
    type Item = Happening;

    fn next(&mut self) -> Option<Happening> {
        checkpoint();
        while self.ready.is_empty() && !self.is_over() {
            self.tick();
        }
        self.ready.pop_front()
    }
}

fn value_of(process: u32) -> ValueId {
    ValueId::inline_int(i64::from(process)).unwrap_or(ValueId::NIL)
}

fn interned(builder: &mut Builder, datum: &Datum) -> ValueId {
    let values = builder.values();
    match datum {
        Datum::Absent => ValueId::ABSENT,
        Datum::Nil => ValueId::NIL,
        Datum::Truth(truth) => ValueId::from(*truth),
        Datum::Int(number) => values.intern_int(*number),
        Datum::Pair(a, b) => {
            let (a, b) = (values.intern_int(*a), values.intern_int(*b));
            values.intern_pair(a, b)
        }
        Datum::Other(value) => values.intern(value),
    }
}

fn check_ranges(profile: &Profile) -> Result<(), GenerateError> {
    let share = |number: f64| (0.0..=1.0).contains(&number);
    let checks = [
        (profile.threads > 0, "threads", "at least 1"),
        (profile.threads <= 1 << 16, "threads", "at most 65536"),
        (share(profile.overlap), "overlap", "between 0 and 1"),
        (share(profile.pending), "pending", "between 0 and 1"),
        (share(profile.empties), "empties", "between 0 and 1"),
        (profile.operations < 1 << 29, "operations", "below 2^29"),
        (
            !matches!(profile.violation, Violation::At(op) if op > profile.operations),
            "the violation's place",
            "at most the number of operations",
        ),
        (
            profile.shares.iter().all(|(_, share)| share.is_finite() && *share >= 0.0),
            "every share",
            "0 or more",
        ),
    ];
    match checks.into_iter().find(|(right, ..)| !right) {
        Some((_, what, expected)) => Err(GenerateError::Range { what, expected }),
        None => Ok(()),
    }
}

fn weights(
    choice: &SpecChoice,
    profile: &Profile,
    methods: &'static [(&'static str, f64)],
) -> Result<Vec<f64>, GenerateError> {
    let mut weights: Vec<f64> = methods.iter().map(|method| method.1).collect();
    for (name, share) in &profile.shares {
        match methods.iter().position(|method| method.0.eq_ignore_ascii_case(name)) {
            Some(index) => weights[index] = *share,
            None => {
                return Err(GenerateError::Method {
                    spec: choice.name(),
                    method: name.clone(),
                    known: methods.iter().map(|method| method.0).collect(),
                });
            }
        }
    }
    match weights.iter().any(|&weight| weight > 0.0) {
        true => Ok(weights),
        false => Err(GenerateError::Range { what: "some share", expected: "above 0" }),
    }
}

/// The choice as a header names it: what the generator starts from is written out.
fn named(choice: &SpecChoice) -> String {
    match (choice.name(), choice.parameters().flag("init")) {
        ("snapshot", false) => "snapshot(init=[0, 0, 0])".to_owned(),
        _ => choice.to_string(),
    }
}

fn model_of(choice: &SpecChoice) -> Result<Box<dyn Model>, GenerateError> {
    let (spec, given) = (choice.name(), choice.parameters());
    let unknown = |parameter| Err(GenerateError::Parameter { spec, parameter });
    let cell = |methods, default: Datum| -> Box<dyn Model> {
        let value = match given.value("init") {
            Some(Value::Int(number)) => Datum::Int(*number),
            Some(Value::Nil) => Datum::Nil,
            Some(other) => Datum::Other(other.clone()),
            None => default,
        };
        Box::new(cells::Cell { value, methods })
    };
    let number = |methods| -> Box<dyn Model> {
        let value = given.integer("init", 0);
        Box::new(numbers::Number { value, methods })
    };
    let line = |methods| -> Box<dyn Model> {
        let items = VecDeque::new();
        Box::new(containers::Line { items, methods })
    };
    let keyed = |methods| -> Box<dyn Model> {
        let values = hashbrown::HashMap::new();
        Box::new(cells::Keyed { values, methods })
    };
    Ok(match spec {
        "register" => cell(cells::Cell::PLAIN, Datum::Nil),
        "cas-register" => cell(cells::Cell::CAS, Datum::Nil),
        "rmw" => cell(cells::Cell::RMW, Datum::Int(0)),
        "counter" => number(numbers::Number::COUNTER),
        "fetch-and-add" => number(numbers::Number::FETCH_AND_ADD),
        "semaphore" => number(numbers::Number::SEMAPHORE),
        "mutex" => Box::new(numbers::Lock::default()),
        "weighted-semaphore" => {
            Box::new(signals::Permits { free: given.integer("init", 0), is_closed: false })
        }
        "broadcast" => {
            let capacity = given.integer("capacity", i64::MAX);
            Box::new(signals::Sent::new(signals::Sent::BROADCAST, capacity))
        }
        "snapshot" => {
            let zeros = vec![Value::Int(0); 3];
            let init = given.value("init").and_then(Value::as_list);
            let values = init.map_or(zeros, <[Value]>::to_vec);
            if values.is_empty() {
                return unknown("init");
            }
            Box::new(cells::Segments { values })
        }
        "bounded-deque" => {
            let capacity = given.integer("capacity", i64::MAX);
            Box::new(bounded::Bounded { items: VecDeque::new(), capacity })
        }
        _ if given.flag("init") => return unknown("init"),
        _ if given.flag("default") => return unknown("default"),
        "map" => keyed(cells::Keyed::MAP),
        "kv" => keyed(cells::Keyed::KV),
        "multi-register" => Box::new(cells::Registers::default()),
        "stack" => line(containers::Line::STACK),
        "queue" => line(containers::Line::QUEUE),
        "deque" => line(containers::Line::DEQUE),
        "priority-queue" => Box::new(containers::Heap {
            items: Default::default(),
            sign: if given.flag("max") { 1 } else { -1 },
        }),
        "set" => Box::new(containers::Members::default()),
        "multiset" => Box::new(containers::Bag::default()),
        "log" => Box::new(containers::Journal::default()),
        "sorted-map" => Box::new(entries::Sorted::default()),
        "cache" => Box::new(entries::Forgetful::default()),
        "once-cell" => Box::new(entries::Once::default()),
        "watch" => Box::new(signals::Sent::new(signals::Sent::WATCH, i64::MAX)),
        _ => return unknown("(none: this specification has no generator)"),
    })
}
