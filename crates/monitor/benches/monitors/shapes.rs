//! Histories of the shapes that the tables speak of, linearizable or with one violation.
//!
//! Threads take random steps: call, take effect, return. Values are distinct and small integers.

use seriatim_history::{
    Builder, Call, History, MethodId, Outcome, ProcessId, Return, Value, ValueId,
};
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

/// What a history is like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// All threads are in flight, about as much comes in as goes out.
    Uniform,
    /// More is taken out than put in: many operations find nothing.
    Empties,
    /// Everything is put in, then everything is taken out.
    FillAndDrain,
    /// Threads mostly finish what they began before others go on.
    LowOverlap,
    /// As `Uniform`, with one violation in the middle.
    Violation,
}

impl Shape {
    pub const ALL: [(Shape, &'static str); 5] = [
        (Shape::Uniform, "uniform"),
        (Shape::Empties, "with empties"),
        (Shape::FillAndDrain, "fill and drain"),
        (Shape::LowOverlap, "low overlap"),
        (Shape::Violation, "a violation"),
    ];
}

/// A container.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Queue,
    Stack,
    PriorityQueue,
    Set,
}

impl Kind {
    pub const ALL: [(Kind, &'static str); 4] = [
        (Kind::Queue, "queue"),
        (Kind::Stack, "stack"),
        (Kind::PriorityQueue, "priority-queue(max)"),
        (Kind::Set, "set"),
    ];

    fn spec(self) -> &'static str {
        Kind::ALL.iter().find(|(kind, _)| *kind == self).map_or("", |(_, spec)| spec)
    }

    fn methods(self) -> [&'static str; 3] {
        match self {
            Kind::Queue => ["enq", "deq", "peek"],
            Kind::Stack => ["push", "pop", "peek"],
            Kind::PriorityQueue => ["insert", "poll", "peek"],
            Kind::Set => ["insert", "remove", "contains"],
        }
    }
}

/// A sequential object that gives its values back.
enum Model {
    Queue(VecDeque<i64>),
    Stack(Vec<i64>),
    Largest(BTreeSet<i64>),
    /// The keys that are in, and where each is in that list.
    Set(Vec<i64>, Vec<u32>),
}

impl Model {
    fn of(kind: Kind) -> Self {
        match kind {
            Kind::Queue => Model::Queue(VecDeque::new()),
            Kind::Stack => Model::Stack(Vec::new()),
            Kind::PriorityQueue => Model::Largest(BTreeSet::new()),
            Kind::Set => Model::Set(Vec::new(), Vec::new()),
        }
    }

    fn apply(&mut self, method: Method, arg: i64) -> Answer {
        match (self, method) {
            (Model::Queue(values), Method::Insert) => values.push_back(arg),
            (Model::Stack(values), Method::Insert) => values.push(arg),
            (Model::Largest(values), Method::Insert) => {
                values.insert(arg);
            }
            (Model::Queue(values), _) => return Answer::Value(values.pop_front()),
            (Model::Stack(values), _) => return Answer::Value(values.pop()),
            (Model::Largest(values), _) => return Answer::Value(values.pop_last()),
            (Model::Set(keys, places), _) => {
                return Answer::Truth(apply_to_set(keys, places, method, arg));
            }
        }
        Answer::Nothing
    }

    fn len(&self) -> usize {
        match self {
            Model::Queue(values) => values.len(),
            Model::Stack(values) => values.len(),
            Model::Largest(values) => values.len(),
            Model::Set(keys, _) => keys.len(),
        }
    }
}

/// A key that is not in.
const OUT: u32 = u32::MAX;

fn apply_to_set(keys: &mut Vec<i64>, places: &mut Vec<u32>, method: Method, arg: i64) -> bool {
    if places.len() <= arg as usize {
        places.resize(arg as usize + 1, OUT);
    }
    let place = places[arg as usize];
    match method {
        Method::Insert if place == OUT => {
            places[arg as usize] = keys.len() as u32;
            keys.push(arg);
            true
        }
        Method::Remove if place != OUT => {
            keys.swap_remove(place as usize);
            if let Some(&moved) = keys.get(place as usize) {
                places[moved as usize] = place;
            }
            places[arg as usize] = OUT;
            true
        }
        Method::Contains => place != OUT,
        _ => false,
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

/// Makes one history.
pub struct Generator {
    builder: Builder,
    random: Random,
    model: Model,
    kind: Kind,
    shape: Shape,
    methods: [MethodId; 3],
    operations: u64,
    called: u64,
    fresh: i64,
    /// Whether the violation was planted.
    planted: bool,
}

impl Generator {
    pub fn new(kind: Kind, shape: Shape, operations: u64) -> Self {
        let mut builder = Builder::new("bench");
        builder.name_spec(kind.spec());
        let methods = kind.methods().map(|name| builder.method(name));
        Generator {
            builder,
            random: Random(operations ^ 42),
            model: Model::of(kind),
            kind,
            shape,
            methods,
            operations,
            called: 0,
            fresh: 0,
            planted: false,
        }
    }

    fn draw(&mut self) -> (Method, i64) {
        if self.kind == Kind::Set {
            return self.draw_of_set();
        }
        let insert = match self.shape {
            Shape::FillAndDrain => self.called < self.operations / 2,
            Shape::Empties => self.random.below(100) < 45,
            _ => self.model.len() < 20 || self.random.below(100) < 50,
        };
        self.fresh += 1;
        let value = match self.kind {
            Kind::PriorityQueue => {
                (self.fresh * 7919) % 1_000_003 + 1_000_003 * (self.fresh / 1_000_003)
            }
            _ => self.fresh,
        };
        match insert {
            true => (Method::Insert, value),
            false => (Method::Remove, 0),
        }
    }

    /// Every key comes and goes once.
    fn draw_of_set(&mut self) -> (Method, i64) {
        let fills = self.called < self.operations / 2;
        let misses = if self.shape == Shape::Empties { 50 } else { 10 };
        let choice = match self.shape {
            Shape::FillAndDrain if fills => 0,
            Shape::FillAndDrain => 40,
            _ => self.random.below(100),
        };
        let Model::Set(keys, _) = &self.model else { return (Method::Contains, 0) };
        let (count, fresh) = (keys.len() as u64, self.fresh);
        if choice < 40 || count == 0 {
            self.fresh += 1;
            return (Method::Insert, fresh);
        }
        let key = keys[self.random.below(count) as usize];
        let misses = self.random.below(100) < misses;
        match choice {
            40..80 => (Method::Remove, key),
            _ if misses => (Method::Contains, self.random.below(fresh as u64) as i64),
            _ => (Method::Contains, key),
        }
    }

    pub fn history(mut self, threads: usize) -> History {
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
        assert!(self.planted || self.shape != Shape::Violation);
        self.builder.finish().unwrap()
    }

    fn call(&mut self, process: ProcessId) -> Phase {
        let (method, arg) = self.draw();
        self.called += 1;
        let mut call = Call::new(self.methods[method as usize]);
        if method == Method::Insert || self.kind == Kind::Set {
            call.arg = self.builder.values().intern_int(arg);
        }
        self.builder.call(0, process, call).unwrap();
        Phase::Called(method, arg)
    }

    /// The effect of an operation. In the middle of a history that is to be wrong one value is
    /// skipped, or one answer is wrong.
    fn effect(&mut self, method: Method, arg: i64) -> Answer {
        let middle = self.called.abs_diff(self.operations / 2) < 10;
        let plants = self.shape == Shape::Violation && middle && !self.planted;
        match self.kind {
            Kind::Set if plants && method == Method::Contains => {
                self.planted = true;
                match self.model.apply(method, arg) {
                    Answer::Truth(truth) => Answer::Truth(!truth),
                    other => other,
                }
            }
            Kind::Queue | Kind::Stack | Kind::PriorityQueue
                if plants && method == Method::Remove && self.model.len() > 2 =>
            {
                self.planted = true;
                let first = self.model.apply(method, arg);
                let second = self.model.apply(method, arg);
                if let Answer::Value(Some(first)) = first {
                    self.model.apply(Method::Insert, first);
                }
                second
            }
            _ => self.model.apply(method, arg),
        }
    }
}
