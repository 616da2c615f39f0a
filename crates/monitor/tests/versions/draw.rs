//! Histories of the store: small ones with faults, and large ones.

use crate::store::{Event, FIRST, Op, Ret, State, Store};
use seriatim_persistent::Map;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// Random numbers.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        (0..8).for_each(|_| {
            random.next();
        });
        random
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        (self.next() >> 11) % bound
    }

    pub fn part(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// What small histories are like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Every operation that returns tells the revision.
    Told,
    /// Some operations tell no revision.
    Silent,
    /// The revision also rises by itself.
    Sparse,
    /// Both, and the revision rises by much.
    Open,
    /// As `Told` or `Silent`, and something changes at no revision.
    Aside,
}

impl Kind {
    /// Whether some operations tell no revision.
    fn is_silent(self) -> bool {
        matches!(self, Kind::Silent | Kind::Open | Kind::Aside)
    }

    /// Whether the revision also rises by itself.
    pub fn is_sparse(self) -> bool {
        matches!(self, Kind::Sparse | Kind::Open)
    }
}

/// A small history of a kind: random intervals, real results, up to two faults.
pub fn small_of(kind: Kind, store: Store, seed: u64) -> Vec<Event> {
    let mut random = Random::new(seed);
    let count = 3 + random.below(if kind == Kind::Open { 5 } else { 7 });
    let (keys, values) = (1 + random.below(3), 1 + random.below(4));
    let (unknown, length) = (random.part() * 0.7, 1.0 + random.part() * 8.0);
    let is_rich = random.below(2) == 0;
    let is_joint = random.below(3) == 0;
    let quiet = if kind == Kind::Open { 3 } else { 1 };
    let mut points: Vec<(f64, f64, f64)> = Vec::new();
    for _ in 0..count {
        let (start, lasts) = (random.part() * 10.0, random.part() * length);
        points.push((start + random.part() * lasts, start, start + lasts));
    }
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let is_quiet = kind != Kind::Aside || seed.is_multiple_of(2);
    let is_silent = kind.is_silent() && is_quiet;
    let mut state: State = (FIRST, Map::new(), 0);
    let mut drawn: Vec<(Op, Option<Ret>, f64, f64)> = Vec::new();
    for (_, start, end) in points {
        let key = random.below(keys) as u32;
        let value = 1 + random.below(values) as i64;
        let written = state.1.get(&key).map_or(0, |cell| cell.1);
        let op = match random.below(if is_rich { 10 } else { 7 }) {
            0..=2 if is_joint && random.below(3) == 0 => Op::PutBoth(key, (key + 1) % 3, value),
            0..=2 => Op::Put(key, value),
            3 | 4 if random.below(4) == 0 => Op::Pair(key, (key + 1) % 3),
            3 | 4 => Op::Get(key),
            5 | 6 if random.below(3) > 0 => Op::Txn(key, written, value),
            5 | 6 => Op::Txn(key, random.below(5), value),
            7 => Op::Delete(key),
            _ => Op::Append(key, value),
        };
        let op = match op {
            Op::Get(key) if is_silent && random.below(2) == 0 => Op::Peek(key),
            Op::Put(key, value) if is_silent && random.below(4) < quiet => Op::QuietPut(key, value),
            Op::Delete(key) if is_silent => Op::QuietDelete(key),
            told => told,
        };
        let op = match kind {
            Kind::Aside => sidelong(&mut random, op, (key, state.0), is_silent),
            _ => op,
        };
        if kind.is_sparse() && random.below(4) == 0 {
            state.0 += 1 + random.below(if kind == Kind::Open { 9 } else { 2 });
        }
        let is_past = matches!(op, Op::Past(..) | Op::QuietPast(..));
        let is_update = !is_past && !matches!(op, Op::Get(_) | Op::Peek(_) | Op::Pair(..));
        let is_pending = is_update && random.part() < unknown;
        if is_pending && random.below(2) == 0 {
            drawn.push((op, None, start, end));
            continue;
        }
        let (after, ret) = store.run(&state, &op);
        state = after;
        drawn.push((op, (!is_pending).then_some(ret), start, end));
        let is_fresh = state.1.get(&key).is_some_and(|cell| cell.1 == state.0);
        if is_fresh && drawn.len() < 11 && random.below(4) == 0 {
            let (_, told) = store.run(&state, &Op::Watch(key));
            let told_at = end + random.part() * 4.0;
            drawn.push((Op::Watch(key), Some(told), -1.0 - random.part(), told_at));
        }
    }
    for _ in 0..random.below(3) {
        let place = random.below(drawn.len() as u64) as usize;
        spoil(&mut random, &mut drawn[place], values);
    }
    if drawn.len() < 6 {
        match random.below(16) {
            0 => contend(store, &mut random, &state, &mut drawn),
            1 | 2 if kind == Kind::Silent => go_back(store, &mut random, &mut drawn),
            _ => {}
        }
    }
    timed(drawn)
}

/// Often a compaction or a look at the past instead of an operation.
fn sidelong(random: &mut Random, op: Op, (key, revision): (u32, u64), is_silent: bool) -> Op {
    let at = (revision + random.below(3)).saturating_sub(random.below(3));
    match (random.below(6), is_silent && random.below(2) == 0) {
        (0 | 1, false) => Op::Compact(at),
        (0 | 1, true) => Op::QuietCompact(at),
        (2 | 3, false) => Op::Past(key, at),
        (2 | 3, true) => Op::QuietPast(key, at),
        _ => op,
    }
}

/// Behind all others: two keys are seen at one revision and changed at the next, each by a put that
/// never returned, or sometimes with one revision more between.
fn contend(
    store: Store,
    random: &mut Random,
    state: &State,
    drawn: &mut Vec<(Op, Option<Ret>, f64, f64)>,
) {
    let mut at = 30.0;
    let mut see = |state: &State, drawn: &mut Vec<(Op, Option<Ret>, f64, f64)>| {
        for key in 0..2 {
            drawn.push((Op::Get(key), Some(store.run(state, &Op::Get(key)).1), at, at + 1.0));
            at += 2.0;
        }
    };
    see(state, drawn);
    let mut after = state.clone();
    for key in 0..2 {
        let put = Op::Put(key, 7);
        after = store.run(&after, &put).0;
        drawn.push((put, None, 30.0, 30.0));
    }
    let is_lie = random.below(8) > 0;
    see(&(after.0 - u64::from(is_lie), after.1, after.2), drawn);
}

/// Behind all others, if all returned: two puts while two peeks last, of which the second begins when
/// the first is over; the first sees the last put, and the second often the put before that. Then
/// the revision is told once more.
fn go_back(store: Store, random: &mut Random, drawn: &mut Vec<(Op, Option<Ret>, f64, f64)>) {
    if drawn.iter().any(|(_, ret, ..)| ret.is_none()) {
        drawn.clear();
    }
    let told = drawn.iter().filter_map(|(_, ret, ..)| Some(ret.as_ref()?.revision));
    let mut state: State = (told.max().unwrap_or(FIRST).max(FIRST), Map::new(), 0);
    let mut seen = Vec::new();
    for value in 7..9 {
        let (after, ret) = store.run(&state, &Op::Put(0, value));
        drawn.push((Op::Put(0, value), Some(ret), 30.0, 40.0));
        seen.push(store.run(&after, &Op::Peek(0)).1);
        state = after;
    }
    let (second, first) = (random.below(8) == 0, 1);
    drawn.push((Op::Peek(0), Some(seen[first].clone()), 31.0, 32.0));
    drawn.push((Op::Peek(0), Some(seen[usize::from(second)].clone()), 33.0, 34.0));
    drawn.push((Op::Get(0), Some(store.run(&state, &Op::Get(0)).1), 41.0, 42.0));
}

fn spoil(random: &mut Random, drawn: &mut (Op, Option<Ret>, f64, f64), values: u64) {
    let (op, Some(ret), ..) = drawn else { return };
    match random.below(4) {
        0 if ret.revision > 0 => {
            ret.revision = (ret.revision + random.below(3)).saturating_sub(1).max(FIRST)
        }
        1 => {
            let value = 1 + random.below(values) as i64;
            let seen = if random.below(3) == 0 { None } else { Some(value) };
            ret.seen.iter_mut().take(1).for_each(|old| *old = seen);
        }
        2 if matches!(op, Op::Txn(..) | Op::Delete(_)) => ret.flag ^= 1,
        2 if matches!(op, Op::Compact(_) | Op::QuietCompact(_)) => ret.flag ^= 1,
        2 if matches!(op, Op::Past(..) | Op::QuietPast(..)) => ret.flag ^= 1,
        _ => {}
    }
}

/// Times as numbers of events.
fn timed(drawn: Vec<(Op, Option<Ret>, f64, f64)>) -> Vec<Event> {
    let mut moments: Vec<(f64, usize, bool)> = Vec::new();
    for (place, (_, ret, start, end)) in drawn.iter().enumerate() {
        moments.push((*start, place, true));
        moments.extend(ret.is_some().then_some((*end, place, false)));
    }
    moments.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut times = vec![(0, 0); drawn.len()];
    for (time, &(_, place, is_call)) in moments.iter().enumerate() {
        let slot = if is_call { &mut times[place].0 } else { &mut times[place].1 };
        *slot = time as u64 + 1;
    }
    let mut events: Vec<Event> = Vec::new();
    for ((op, ret, ..), (call, end)) in drawn.into_iter().zip(times) {
        events.push(Event { op, call, ret: ret.map(|ret| (end, ret)) });
    }
    events.sort_by_key(|event| event.call);
    events
}

/// What is wrong with a large history.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    Nothing,
    /// A get returns a value that nobody wrote.
    Wrong,
    /// A get returns the value before the last one.
    Stale,
    /// A put is acknowledged and not done.
    Lost,
    /// Two puts get one revision.
    Duplicate,
    /// A revision is left out.
    Skipped,
    /// A get tells an old revision.
    Old,
}

/// What a large history is like.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    pub clients: usize,
    pub operations: usize,
    pub keys: u64,
    /// The share of updates that never return.
    pub unknown: f64,
    /// Values repeat after this many, if at all.
    pub values: Option<u64>,
    /// The share of puts and gets that tell no revision.
    pub silent: f64,
    /// The share of operations before which the revision rises by itself.
    pub rises: f64,
}

impl Size {
    /// A size without repeated values.
    pub fn new(clients: usize, operations: usize, keys: u64, unknown: f64) -> Self {
        Size { clients, operations, keys, unknown, values: None, silent: 0.0, rises: 0.0 }
    }
}

/// A large history: 40 % puts, 20 % transactions, 40 % gets, with a fault after three quarters.
pub fn large(seed: u64, size: Size, fault: Fault) -> Vec<Event> {
    let mut random = Random::new(seed);
    let mut clock: Vec<f64> = (0..size.clients).map(|_| random.part()).collect();
    let ticks = |time: f64| (time * 1e6) as u64 + 1;
    let mut next: BinaryHeap<(Reverse<u64>, usize)> =
        clock.iter().enumerate().map(|(client, &at)| (Reverse(ticks(at)), client)).collect();
    let mut points: Vec<(f64, f64, f64)> = Vec::with_capacity(size.operations);
    for _ in 0..size.operations {
        let (_, client) = next.pop().expect("there are clients");
        let start = clock[client];
        let lasts = 0.05 - (1.0 - random.part()).ln();
        points.push((start + random.part() * lasts, start, start + lasts));
        clock[client] = start + lasts + random.part() * 0.1;
        next.push((Reverse(ticks(clock[client])), client));
    }
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut drawing = Drawing {
        random,
        fault,
        cells: HashMap::new(),
        old: HashMap::new(),
        lost: None,
        revision: FIRST,
    };
    let mut events = Vec::with_capacity(points.len());
    for (number, (_, start, end)) in points.into_iter().enumerate() {
        let is_late = number >= size.operations * 3 / 4;
        let (op, ret) = drawing.operation(number as u64, size, is_late);
        let ret = ret.map(|ret| (ticks(end), ret));
        events.push(Event { op, call: ticks(start), ret });
    }
    events.sort_by_key(|event| event.call);
    events
}

/// The same operation without its revision, if there is one.
fn silenced(op: Op, ret: Ret) -> (Op, Ret) {
    match op {
        Op::Put(key, value) => (Op::QuietPut(key, value), Ret { revision: 0, ..ret }),
        Op::Get(key) => (Op::Peek(key), Ret { revision: 0, ..ret }),
        op => (op, ret),
    }
}

struct Drawing {
    random: Random,
    fault: Fault,
    cells: HashMap<u32, (i64, u64)>,
    /// What each cell held before what it holds.
    old: HashMap<u32, i64>,
    /// The key of a put that was lost, until it is read.
    lost: Option<u32>,
    revision: u64,
}

impl Drawing {
    fn operation(&mut self, number: u64, size: Size, is_late: bool) -> (Op, Option<Ret>) {
        let value = match size.values {
            Some(values) => (number * 7919 % values) as i64 + 1,
            None => number as i64 + 1,
        };
        if size.rises > 0.0 && self.random.part() < size.rises {
            self.revision += 1 + self.random.below(8);
        }
        let mut key = self.random.below(size.keys) as u32;
        let kind = self.random.part();
        match self.lost {
            // Somebody should notice before it is written again.
            Some(lost) if kind >= 0.6 => {
                key = lost;
                self.lost = None;
            }
            Some(lost) if lost == key => key = (key + 1) % size.keys as u32,
            _ => {}
        }
        let is_unknown = kind < 0.6 && self.random.part() < size.unknown;
        let written = self.cells.get(&key).map_or(0, |cell| cell.1);
        let op = match kind {
            kind if kind < 0.4 => Op::Put(key, value),
            kind if kind < 0.6 && (is_unknown || self.random.part() < 0.7) => {
                Op::Txn(key, written, value)
            }
            kind if kind < 0.6 => Op::Txn(key, written.saturating_sub(1), value),
            _ => Op::Get(key),
        };
        if is_unknown && self.random.below(2) == 0 {
            return (op, None);
        }
        let is_now = is_late && !is_unknown;
        let ret = match op {
            Op::Get(key) => self.get(key, is_now),
            Op::Txn(_, expected, _) if expected != written => self.ret(0, Vec::new()),
            Op::Txn(key, _, value) => {
                self.revision += 1;
                self.write(key, value);
                self.ret(1, Vec::new())
            }
            _ => self.put(key, value, is_now),
        };
        let is_silent = size.silent > 0.0 && self.random.part() < size.silent;
        let (op, ret) = if is_silent { silenced(op, ret) } else { (op, ret) };
        (op, (!is_unknown).then_some(ret))
    }

    fn ret(&self, flag: u64, seen: Vec<Option<i64>>) -> Ret {
        Ret { flag, seen, revision: self.revision }
    }

    /// Whether the fault is this one and has not happened; then it has now.
    fn happens(&mut self, fault: Fault, is_now: bool) -> bool {
        let happens = is_now && self.fault == fault;
        if happens {
            self.fault = Fault::Nothing;
        }
        happens
    }

    fn put(&mut self, key: u32, value: i64, is_now: bool) -> Ret {
        self.revision += u64::from(!self.happens(Fault::Duplicate, is_now));
        self.revision += u64::from(self.happens(Fault::Skipped, is_now));
        match self.happens(Fault::Lost, is_now && self.cells.contains_key(&key)) {
            true => self.lost = Some(key),
            false => self.write(key, value),
        }
        self.ret(0, Vec::new())
    }

    fn write(&mut self, key: u32, value: i64) {
        if let Some((old, _)) = self.cells.insert(key, (value, self.revision)) {
            self.old.insert(key, old);
        }
    }

    fn get(&mut self, key: u32, is_now: bool) -> Ret {
        let seen = self.cells.get(&key).map(|cell| cell.0);
        let old = self.old.get(&key).copied();
        let is_now = is_now && old.is_some() && old != seen && self.revision > 60;
        if self.happens(Fault::Wrong, is_now) {
            return self.ret(0, vec![Some(-1)]);
        }
        if self.happens(Fault::Stale, is_now) {
            return self.ret(0, vec![old]);
        }
        let mut ret = self.ret(0, vec![seen]);
        if self.happens(Fault::Old, is_now) {
            ret.revision -= 50;
        }
        ret
    }
}
