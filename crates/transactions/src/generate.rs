//! Histories made up for tests and measurements: small ones of every kind, and long ones of a store
//! that works, with an anomaly planted if that is wanted. The same seed gives the same history.

use crate::builder::Builder;
use crate::transaction::{Op, Outcome, SessionId, Transaction, Transactions};
use seriatim_history::{Time, Value, ValueId};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Numbers that look random (SplitMix64).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The numbers of a seed.
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below a bound.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.number() % bound as u64) as usize
    }

    /// A number between 0 and 1.
    pub fn unit(&mut self) -> f64 {
        (self.number() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// One time out of so many.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }
}

/// What the keys of a made-up history are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keys {
    /// Registers, every value written once.
    Registers,
    /// Registers with few values, so that some are written twice.
    RepeatedValues,
    /// Lists.
    Lists,
    /// Lists with few elements, so that some are appended twice.
    RepeatedElements,
    /// Counters; in small histories one of them, and registers.
    Counters,
}

impl Keys {
    fn are_lists(self) -> bool {
        matches!(self, Keys::Lists | Keys::RepeatedElements)
    }

    fn repeat(self) -> bool {
        matches!(self, Keys::RepeatedValues | Keys::RepeatedElements)
    }
}

/// What is planted in a long history.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Plant {
    /// Nothing.
    Nothing,
    /// One read goes back while another of the transaction does not.
    ReadSkew,
    /// An update of a value that is no longer there.
    LostUpdate,
    /// A transaction reads a state that is over.
    StaleRead,
    /// A read of what an aborted transaction wrote.
    AbortedRead,
    /// A read of what its writer overwrote.
    IntermediateRead,
    /// A read of what nobody wrote.
    Unwritten,
    /// Two transactions read what the other one writes, each too early.
    WriteSkew,
    /// Two readers see two writes in different orders.
    LongFork,
    /// Two transactions overwrite each other's writes in different orders.
    DirtyWrite,
    /// Two transactions read each other's writes.
    CircularRead,
    /// One in ten transactions reads a state that is over.
    StaleReaders,
    /// Every transaction runs on a snapshot that may be a few commits old.
    Snapshots,
}

impl Plant {
    /// Everything that plants one anomaly.
    pub const ONE: [Plant; 10] = [
        Plant::ReadSkew,
        Plant::LostUpdate,
        Plant::StaleRead,
        Plant::AbortedRead,
        Plant::IntermediateRead,
        Plant::Unwritten,
        Plant::WriteSkew,
        Plant::LongFork,
        Plant::DirtyWrite,
        Plant::CircularRead,
    ];
}

/// A store and its clients.
#[derive(Clone, Copy, Debug)]
pub struct Store {
    /// The seed.
    pub seed: u64,
    /// How many clients run at once.
    pub clients: usize,
    /// How many transactions they run together.
    pub transactions: usize,
    /// How many keys there are.
    pub keys: usize,
    /// How many operations a transaction has at most.
    pub operations: usize,
    /// Which part of the operations writes.
    pub writes: f64,
    /// Which part of the transactions has an unknown outcome.
    pub unknown: f64,
    /// What the keys are.
    pub kind: Keys,
    /// What is planted.
    pub plant: Plant,
}

impl Default for Store {
    fn default() -> Self {
        Store {
            seed: 1,
            clients: 10,
            transactions: 1000,
            keys: 10,
            operations: 4,
            writes: 0.5,
            unknown: 0.0,
            kind: Keys::Registers,
            plant: Plant::Nothing,
        }
    }
}

/// What the keys hold: a register nothing or one value, a list its elements.
type Contents = Vec<Vec<u32>>;

/// How many states the store remembers, for reads that are stale.
const REMEMBERED: usize = 64;

struct Run {
    store: Store,
    random: Random,
    builder: Builder,
    contents: Contents,
    remembered: VecDeque<Contents>,
    values: u32,
    sessions: u32,
    list: Vec<Transaction>,
    is_planted: bool,
}

impl Store {
    /// The history of a run in which every transaction happens at a moment within its interval.
    pub fn run(self) -> Transactions {
        let mut random = Random::new(self.seed);
        let mut moments = intervals(&self, &mut random);
        moments.sort_unstable();
        let mut run = Run {
            store: self,
            random,
            builder: Builder::new("generated"),
            contents: vec![Vec::new(); self.keys],
            remembered: VecDeque::new(),
            values: 0,
            sessions: self.clients as u32,
            list: Vec::new(),
            is_planted: !Plant::ONE.contains(&self.plant),
        };
        let mut sessions: Vec<u32> = (0..self.clients as u32).collect();
        for (index, Planned { interval, client, .. }) in moments.into_iter().enumerate() {
            run.step(index, interval, &mut sessions[client]);
        }
        run.finish()
    }
}

/// When a transaction was called, and when it returned.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Interval {
    call: Time,
    ret: Time,
}

/// A transaction before it is made: the moment at which it happens, its interval and its client.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Planned {
    moment: Time,
    interval: Interval,
    client: usize,
}

/// The transactions of a run.
fn intervals(store: &Store, random: &mut Random) -> Vec<Planned> {
    let starts =
        (0..store.clients).map(|client| Reverse((random.below(1_000_000) as Time, client)));
    let mut idle: BinaryHeap<Reverse<(Time, usize)>> = starts.collect();
    let mut intervals = Vec::with_capacity(store.transactions);
    for _ in 0..store.transactions {
        let Reverse((call, client)) = idle.pop().expect("there are clients");
        let length = ((-(1.0 - random.unit()).ln() + 0.05) * 1e6) as Time;
        let moment = call + 1 + (random.unit() * (length - 2) as f64) as Time;
        let interval = Interval { call, ret: call + length };
        intervals.push(Planned { moment, interval, client });
        idle.push(Reverse((call + length + 1 + random.below(100_000) as Time, client)));
    }
    intervals
}

impl Run {
    fn step(&mut self, index: usize, interval: Interval, session: &mut u32) {
        if !self.store.kind.are_lists() {
            self.remembered.push_back(self.contents.clone());
            if self.remembered.len() > REMEMBERED {
                self.remembered.pop_front();
            }
        }
        let is_unknown = self.random.unit() < self.store.unknown;
        let is_lost = is_unknown && self.random.once_in(2);
        let is_due = index >= self.store.transactions * 3 / 4 && !self.is_planted && !is_unknown;
        let mut after = self.contents.clone();
        let planted = if is_due { self.plant(interval, &mut after) } else { None };
        let mut ops = planted.or_else(|| self.old_reads(&mut after)).unwrap_or_default();
        if ops.is_empty() {
            for _ in 0..1 + self.random.below(self.store.operations) {
                let key = self.random.below(self.store.keys);
                if self.random.unit() >= self.store.writes {
                    ops.push(self.read(&after, key));
                } else {
                    ops.push(self.write(&mut after, key));
                }
            }
        }
        if !is_lost {
            self.contents = after;
        }
        if is_unknown {
            ops.retain(|op| op.changes().is_some());
        }
        let outcome = if is_unknown { Outcome::Unknown } else { Outcome::Committed };
        self.push(*session, interval, outcome, ops);
        if is_unknown {
            *session = self.new_session();
        }
    }

    fn new_session(&mut self) -> u32 {
        self.sessions += 1;
        self.sessions - 1
    }

    fn push(&mut self, session: u32, interval: Interval, outcome: Outcome, ops: Vec<Op>) {
        let Interval { call, ret } = interval;
        let ret = (outcome == Outcome::Committed).then_some(ret);
        let session = SessionId(session);
        self.list.push(Transaction { session, call, ret, outcome, ops, line: 0 });
    }

    fn read(&mut self, contents: &Contents, key: usize) -> Op {
        let id = self.builder.key(&Value::Int(key as i64));
        let number = |n: u32| ValueId::inline_int(i64::from(n)).expect("values are small");
        match self.store.kind {
            kind if kind.are_lists() => {
                Op::ReadList(id, contents[key].iter().map(|&n| number(n)).collect())
            }
            Keys::Counters => Op::ReadCounter(id, contents[key].last().map_or(0, |&n| n.into())),
            _ => Op::Read(id, contents[key].last().map_or(ValueId::NIL, |&n| number(n))),
        }
    }

    fn write(&mut self, contents: &mut Contents, key: usize) -> Op {
        let id = self.builder.key(&Value::Int(key as i64));
        self.values += 1;
        let value = match self.store.kind {
            kind if kind.repeat() => 1 + self.random.below(self.store.transactions / 2 + 2) as u32,
            _ => self.values,
        };
        let number = ValueId::inline_int(i64::from(value)).expect("values are small");
        if self.store.kind.are_lists() {
            contents[key].push(value);
            Op::Append(id, number)
        } else if self.store.kind == Keys::Counters {
            let by = 1 + value % 3;
            contents[key] = vec![contents[key].last().map_or(by, |sum| sum + by)];
            Op::Increment(id, i64::from(by))
        } else {
            contents[key] = vec![value];
            Op::Write(id, number)
        }
    }

    /// The keys whose content has changed since the oldest state remembered, and was not empty
    /// then.
    fn changed(&self) -> Vec<usize> {
        let Some(old) = self.remembered.front().filter(|_| self.remembered.len() == REMEMBERED)
        else {
            return Vec::new();
        };
        let is_changed = |&key: &usize| old[key] != self.contents[key] && !old[key].is_empty();
        (0..self.store.keys).filter(is_changed).collect()
    }

    /// The operations of a transaction that plants the anomaly; those beside it are pushed.
    fn plant(&mut self, interval: Interval, after: &mut Contents) -> Option<Vec<Op>> {
        let changed = self.changed();
        let (&first, &last) = (changed.first()?, changed.last()?);
        let old = self.remembered.front()?.clone();
        let now = self.contents.clone();
        let ops = match self.store.plant {
            Plant::ReadSkew if first != last => vec![self.read(&old, first), self.read(&now, last)],
            Plant::LostUpdate => vec![self.read(&old, first), self.write(after, first)],
            Plant::StaleRead => changed.iter().take(3).map(|&key| self.read(&old, key)).collect(),
            Plant::AbortedRead => {
                let write = self.write(after, first);
                after.clone_from(&now);
                let read = Op::Read(write.key(), write.written()?.1);
                let session = self.new_session();
                self.push(session, interval, Outcome::Aborted, vec![write]);
                vec![read]
            }
            Plant::IntermediateRead => {
                let writes = vec![self.write(after, first), self.write(after, first)];
                let read = Op::Read(writes[0].key(), writes[0].written()?.1);
                self.beside(interval, [writes]);
                vec![read]
            }
            Plant::Unwritten => {
                let write = self.write(&mut old.clone(), first);
                vec![Op::Read(write.key(), write.written()?.1)]
            }
            _ if first != last => self.plant_pair(interval, after, [first, last])?,
            _ => return None,
        };
        self.is_planted = true;
        Some(ops)
    }

    /// Pushes transactions of new sessions in the same interval.
    fn beside<const N: usize>(&mut self, interval: Interval, all: [Vec<Op>; N]) {
        for ops in all {
            let session = self.new_session();
            self.push(session, interval, Outcome::Committed, ops);
        }
    }

    fn plant_pair(
        &mut self,
        interval: Interval,
        after: &mut Contents,
        [a, b]: [usize; 2],
    ) -> Option<Vec<Op>> {
        let now = self.contents.clone();
        let (old_a, old_b) = (self.read(&now, a), self.read(&now, b));
        let (write_a, write_b) = (self.write(after, a), self.write(after, b));
        let seen = |write: &Op| Some(Op::Read(write.key(), write.written()?.1));
        Some(match self.store.plant {
            Plant::WriteSkew => {
                self.beside(interval, [vec![old_a, write_b]]);
                vec![old_b, write_a]
            }
            Plant::LongFork => {
                let (new_a, new_b) = (seen(&write_a)?, seen(&write_b)?);
                let readers = [vec![new_a, old_b], vec![write_a], vec![write_b]];
                self.beside(interval, readers);
                vec![old_a, new_b]
            }
            Plant::DirtyWrite => {
                let (more_a, more_b) = (self.write(after, a), self.write(&mut now.clone(), b));
                // The last read of each key sees the write that the other one should hide.
                let reads = vec![seen(&more_a)?, seen(&write_b)?];
                self.beside(interval, [vec![write_a, write_b], vec![more_a, more_b]]);
                reads
            }
            Plant::CircularRead => {
                let (new_a, new_b) = (seen(&write_a)?, seen(&write_b)?);
                self.beside(interval, [vec![new_a, write_b]]);
                vec![new_b, write_a]
            }
            _ => return None,
        })
    }

    /// The operations of a transaction on an old state, where these are planted everywhere.
    fn old_reads(&mut self, after: &mut Contents) -> Option<Vec<Op>> {
        if self.remembered.len() < REMEMBERED {
            return None;
        }
        match self.store.plant {
            Plant::StaleReaders if self.random.once_in(10) => {
                let old = self.remembered[REMEMBERED / 2].clone();
                let count = 1 + self.random.below(self.store.operations);
                let keys: Vec<usize> =
                    (0..count).map(|_| self.random.below(self.store.keys)).collect();
                Some(keys.into_iter().map(|key| self.read(&old, key)).collect())
            }
            Plant::Snapshots => {
                let back = 1 + self.random.below(6);
                let old = self.remembered[REMEMBERED - back].clone();
                Some(self.on_snapshot(&old, after))
            }
            _ => None,
        }
    }

    /// Reads of an old state, and writes of keys that have not changed since.
    fn on_snapshot(&mut self, old: &Contents, after: &mut Contents) -> Vec<Op> {
        let mut ops = Vec::new();
        let mut written: Vec<usize> = Vec::new();
        for _ in 0..1 + self.random.below(self.store.operations) {
            let key = self.random.below(self.store.keys);
            if self.random.unit() >= self.store.writes {
                ops.push(self.read(old, key));
            } else if old[key] == self.contents[key] && !written.contains(&key) {
                written.push(key);
            }
        }
        for key in written {
            ops.push(self.write(after, key));
        }
        ops
    }

    fn finish(mut self) -> Transactions {
        (0..self.sessions).for_each(|session| {
            self.builder.session(&Value::Int(i64::from(session)));
        });
        self.list.sort_by_key(|txn| txn.call);
        for (index, mut txn) in self.list.into_iter().enumerate() {
            txn.line = index as u64 + 1;
            self.builder.add(txn);
        }
        self.builder.finish().expect("keys of one kind")
    }
}

/// A history of two to five transactions of any kind: right, wrong, unknown, aborted, intermediate.
pub fn tiny(seed: u64, kind: Keys) -> Transactions {
    let mut random = Random::new(seed.wrapping_mul(7919) + 1);
    let count = 2 + random.below(4);
    tiny_of(&mut random, count, kind)
}

/// The same with so many transactions.
pub fn tiny_of(random: &mut Random, count: usize, kind: Keys) -> Transactions {
    let tiny = Tiny {
        keys: 1 + random.below(3),
        clients: 1 + random.below(4),
        kind,
        is_snapshot: random.once_in(2),
        is_easy: !random.once_in(3),
    };
    let mut plans = tiny.plans(random, count);
    tiny.fill_reads(random, &mut plans);
    tiny.build(plans)
}

struct Tiny {
    keys: usize,
    clients: usize,
    kind: Keys,
    is_snapshot: bool,
    is_easy: bool,
}

/// A transaction whose reads are not yet filled in.
struct Plan {
    client: usize,
    call: Time,
    ret: Time,
    outcome: Outcome,
    ops: Vec<Step>,
}

#[derive(Clone)]
enum Step {
    Write(usize, u32),
    Read(usize, Vec<u32>),
}

impl Tiny {
    fn plans(&self, random: &mut Random, count: usize) -> Vec<Plan> {
        let mut idle: Vec<Option<Time>> = vec![Some(0); self.clients];
        let mut value = 0;
        let mut plans = Vec::new();
        for _ in 0..count {
            let client = random.below(self.clients);
            // A client whose last transaction is unknown may have gone away.
            let Some(start) = idle[client] else { continue };
            let call = start + random.below(4) as Time;
            let ret = call + 1 + random.below(8) as Time;
            let outcome = match random.below(24) {
                0 | 1 => Outcome::Unknown,
                2 => Outcome::Aborted,
                _ => Outcome::Committed,
            };
            let goes_on = outcome != Outcome::Unknown || random.once_in(2);
            idle[client] = goes_on.then_some(ret + random.below(2) as Time);
            let mut step = || {
                let key = random.below(self.keys);
                if random.once_in(2) {
                    return Step::Read(key, Vec::new());
                }
                value += 1;
                match self.kind {
                    kind if kind.repeat() => Step::Write(key, 1 + random.below(3) as u32),
                    _ => Step::Write(key, value),
                }
            };
            let first = step();
            let mut ops = vec![first];
            for _ in 0..random.below(3) {
                let key = random.below(self.keys);
                ops.push(match random.once_in(2) {
                    true => Step::Read(key, Vec::new()),
                    false if self.kind.repeat() => Step::Write(key, 1 + random.below(3) as u32),
                    false => {
                        value += 1;
                        Step::Write(key, value)
                    }
                });
            }
            plans.push(Plan { client, call, ret, outcome, ops });
        }
        plans
    }

    /// Fills reads in from a run in some order, now and then with something else.
    fn fill_reads(&self, random: &mut Random, plans: &mut [Plan]) {
        let mut order: Vec<usize> = (0..plans.len()).collect();
        if random.once_in(2) {
            for index in (1..order.len()).rev() {
                order.swap(index, random.below(index + 1));
            }
        }
        let mut states: Vec<Contents> = vec![vec![Vec::new(); self.keys]];
        let all: Vec<(usize, u32)> =
            plans.iter().flat_map(|plan| &plan.ops).filter_map(written).collect();
        for index in order {
            let last = states.len() - 1;
            let back = if self.is_snapshot { random.below(3).min(last) } else { 0 };
            let mut seen = states[last - back].clone();
            let mut after = states[last].clone();
            for step in &mut plans[index].ops {
                match step {
                    Step::Write(key, value) => {
                        self.apply(&mut seen, *key, *value);
                        self.apply(&mut after, *key, *value);
                    }
                    Step::Read(key, read) => {
                        read.clone_from(&seen[*key]);
                        if random.once_in(if self.is_easy { 16 } else { 4 }) {
                            self.disturb(random, *key, read, &all);
                        }
                    }
                }
            }
            let happens = match plans[index].outcome {
                Outcome::Committed => true,
                Outcome::Unknown => random.once_in(2),
                Outcome::Aborted => random.once_in(12),
            };
            if happens {
                states.push(after);
            }
        }
    }

    /// Whether a key is a counter.
    fn counts(&self, key: usize) -> bool {
        self.kind == Keys::Counters && key == 0
    }

    fn apply(&self, contents: &mut Contents, key: usize, value: u32) {
        if self.counts(key) {
            let sum = contents[key].last().copied().unwrap_or(0);
            contents[key] = vec![sum.wrapping_add_signed(increment(value))];
            return;
        }
        if !self.kind.are_lists() {
            contents[key].clear();
        }
        contents[key].push(value);
    }

    fn disturb(&self, random: &mut Random, key: usize, read: &mut Vec<u32>, all: &[(usize, u32)]) {
        let values: Vec<u32> = all.iter().filter(|write| write.0 == key).map(|w| w.1).collect();
        let any = |random: &mut Random| match values.is_empty() {
            true => None,
            false => Some(values[random.below(values.len())]),
        };
        if self.counts(key) {
            let by = [-1, 1, 1, 2][random.below(4)];
            *read = vec![read.last().copied().unwrap_or(0).wrapping_add_signed(by)];
            return;
        }
        if !self.kind.are_lists() {
            *read = if random.once_in(4) { Vec::new() } else { any(random).into_iter().collect() };
            return;
        }
        match random.below(4) {
            0 if !read.is_empty() => _ = read.remove(random.below(read.len())),
            1 if read.len() > 1 => read.swap(0, 1),
            2 => read.extend(any(random)),
            _ => read.truncate(random.below(read.len() + 1)),
        }
    }

    fn build(&self, plans: Vec<Plan>) -> Transactions {
        let mut builder = Builder::new("generated");
        (0..self.clients).for_each(|client| _ = builder.session(&Value::Int(client as i64)));
        let number = |n: u32| ValueId::inline_int(i64::from(n)).expect("values are small");
        let mut list = Vec::new();
        for (line, plan) in plans.into_iter().enumerate() {
            let mut ops = Vec::new();
            for step in plan.ops {
                let name = |key: usize| Value::text(["x", "y", "z"][key]);
                ops.push(match (step, self.kind) {
                    (Step::Write(key, value), _) if self.counts(key) => {
                        Op::Increment(builder.key(&name(key)), i64::from(increment(value)))
                    }
                    (Step::Read(key, read), _) if self.counts(key) => {
                        let sum = read.last().map_or(0, |&sum| i64::from(sum.cast_signed()));
                        Op::ReadCounter(builder.key(&name(key)), sum)
                    }
                    (Step::Write(key, value), kind) if kind.are_lists() => {
                        Op::Append(builder.key(&name(key)), number(value))
                    }
                    (Step::Write(key, value), _) => {
                        Op::Write(builder.key(&name(key)), number(value))
                    }
                    (Step::Read(key, read), kind) if kind.are_lists() => {
                        let items = read.into_iter().map(number).collect();
                        Op::ReadList(builder.key(&name(key)), items)
                    }
                    (Step::Read(key, read), _) => {
                        let value = read.last().map_or(ValueId::NIL, |&n| number(n));
                        Op::Read(builder.key(&name(key)), value)
                    }
                });
            }
            let is_committed = plan.outcome == Outcome::Committed;
            if !is_committed {
                ops.retain(|op| op.changes().is_some());
            }
            list.push(Transaction {
                session: SessionId(plan.client as u32),
                call: plan.call,
                ret: is_committed.then_some(plan.ret),
                outcome: plan.outcome,
                ops,
                line: line as u64 + 1,
            });
        }
        list.into_iter().for_each(|txn| builder.add(txn));
        builder.finish().expect("keys of one kind")
    }
}

/// By how much the value of a step increments a counter.
fn increment(value: u32) -> i32 {
    [1, 2, 1, 3, 1, -1, 0, 2][value as usize % 8]
}

fn written(step: &Step) -> Option<(usize, u32)> {
    match *step {
        Step::Write(key, value) => Some((key, value)),
        Step::Read(..) => None,
    }
}
