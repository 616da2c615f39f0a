//! Register: `read`, `write`. Also online.
//!
//! **Decides** whether a history of a register to which each value is written once is linearizable.
//!
//! **Theorem** (Gibbons and Korach, zones). A value's write and its reads stand together in any
//! order, the write first. So `a` must come before `b` iff some operation of `a` returns before
//! some operation of `b` is called: `f(a) < s(b)`, where `f` is the first return among a value's
//! operations and `s` the last call. The history is linearizable iff no read returns before its
//! write is called and no two values must each come before the other: no two *forward zones* `[f,
//! s]` overlap and no *backward zone* `[s, f]` lies within a forward one. The order by `min(f, s)`
//! is then right. The initial value is written before everything. Linearizability is local: of several
//! registers (the keys of a map) each is judged so, all in one sweep over the history, as walking
//! through it once for each register would miss the cache at every step.
//!
//! **Cost.** O(n), bucket sort by event rank. Online: O(values kept) an event; the values kept are
//! those that an open read may still return.
//!
//! **Precondition.** Every value is written once, and never the initial one, else declined; no
//! compare-and-set. A pending read, and a pending write that nobody saw, are forgotten: leaving a
//! value out keeps a right order right.

use super::buckets::Buckets;
use super::container::{Dense, NEVER, Rank, Span};
use super::flag::Moment;
use super::online::{Called, Online, Returned, Stop};
use super::violation::counterexample;
use super::{Declined, Part};
use hashbrown::HashMap;
use seriatim_history::{History, MethodId, OpId, Outcome, ValueId};
use seriatim_spec::{Verdict, Witness};
use std::collections::BTreeSet;

/// What an operation does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Method {
    Read,
    Write,
}

impl Method {
    fn named(name: &str) -> Result<Self, Declined> {
        let is = |names: &[&str]| names.iter().any(|known| known.eq_ignore_ascii_case(name));
        if is(&["read", "get", "load", "r"]) {
            Ok(Method::Read)
        } else if is(&["write", "put", "set", "store", "w"]) {
            Ok(Method::Write)
        } else {
            let method = name.to_owned();
            Err(Declined::UnknownMethod { method })
        }
    }

    /// The value that an operation with this method read or wrote, given its argument; nothing if it says
    /// nothing.
    #[inline]
    pub fn value(self, history: &History, op: OpId, arg: ValueId) -> Option<ValueId> {
        match (self, history.outcome(op)) {
            (_, Outcome::Failed) | (Method::Read, Outcome::Pending) => None,
            (Method::Read, Outcome::Ok) => Some(history.result(op)).filter(|v| v.is_present()),
            (Method::Write, _) => Some(arg),
        }
    }
}

/// What a recorded operation does to which register.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    pub method: Method,
    /// The register, numbered from 0 in the order in which they are met.
    pub key: u32,
    pub value: ValueId,
}

/// One value of a register with its operations. Ranks are one higher than elsewhere: 0 is before everything.
#[derive(Clone, Copy, Debug)]
struct Zone {
    key: u32,
    value: ValueId,
    write: Span,
    /// The first return, and whose it is.
    f: (Rank, OpId),
    /// The last call, and whose it is.
    s: (Rank, OpId),
}

const NOBODY: OpId = OpId(u32::MAX);

impl Zone {
    fn new(key: u32, value: ValueId) -> Self {
        Zone { key, value, write: Span::NONE, f: (NEVER, NOBODY), s: (0, NOBODY) }
    }

    /// The zone of the value that a register holds before everything.
    fn initial(key: u32, value: ValueId) -> Self {
        Zone { f: (0, NOBODY), ..Zone::new(key, value) }
    }

    fn add(&mut self, span: Span) {
        if span.ret < self.f.0 {
            self.f = (span.ret, span.op);
        }
        if span.call >= self.s.0 {
            self.s = (span.call, span.op);
        }
    }

    fn is_forward(&self) -> bool {
        self.f.0 < self.s.0
    }

    /// Operations that show when the value was in the register.
    fn operations(&self) -> impl Iterator<Item = OpId> {
        let all = [self.write.op, self.f.1, self.s.1];
        all.into_iter().filter(|&op| op != NOBODY)
    }
}

/// Decides a part of a register's history.
pub fn check(part: Part<'_>, initial: ValueId) -> Result<Verdict, Declined> {
    let history = part.history;
    let names = (0..history.method_count()).map(|id| history.method_name(MethodId::from(id)));
    let methods: Vec<_> = names.map(Method::named).collect();
    decide(part, initial, Dense::with(&part, initial), |op| {
        let method = methods[history.method(op).index()].clone()?;
        let value = method.value(history, op, history.arg(op));
        Ok(value.map(|value| Access { method, key: 0, value }))
    })
}

/// Decides a part of a history of registers that all hold `initial` at first. `access` is asked about
/// each operation once, in call order; nothing means that it says nothing.
pub(super) fn decide(
    part: Part<'_>,
    initial: ValueId,
    dense: Dense,
    access: impl FnMut(OpId) -> Result<Option<Access>, Declined>,
) -> Result<Verdict, Declined> {
    let zones = match Zones::read(&part, Numbers::new(initial, dense), access)? {
        Ok(zones) => zones,
        Err(violation) => return Ok(violation),
    };
    let keys = zones.zones.iter().zip(0..).filter(|(zone, _)| zone.f.0 != NEVER);
    let keys = keys.map(|(zone, index)| (zone.f.0.min(zone.s.0), index));
    let order = Buckets::new(zones.end as usize + 2, keys).into_numbers();
    match zones.conflict(&order) {
        Some((a, b)) => Ok(conflicting(part.history, a, b)),
        None => {
            let order = zones.order(&order);
            Ok(Verdict::Linearizable(Witness { order }))
        }
    }
}

/// The numbers of the zones.
struct Numbers {
    initial: ValueId,
    /// By register, the zone of the initial value.
    initials: Vec<u32>,
    /// By value, the first zone of that value.
    dense: Dense,
    /// The other zones of a value that several registers held.
    others: HashMap<(u32, ValueId), u32>,
}

impl Numbers {
    fn new(initial: ValueId, dense: Dense) -> Self {
        Numbers { initial, initials: Vec::new(), dense, others: HashMap::new() }
    }

    /// The zone of a value of a register, which is added if it is new.
    #[inline]
    fn zone(&mut self, zones: &mut Vec<Zone>, key: u32, value: ValueId) -> u32 {
        if key as usize == self.initials.len() {
            self.initials.push(zones.len() as u32);
            zones.push(Zone::initial(key, self.initial));
        }
        if value == self.initial {
            return self.initials[key as usize];
        }
        let next = zones.len() as u32;
        let mut zone = self.dense.number(value, next);
        if zone != next && zones[zone as usize].key != key {
            zone = *self.others.entry((key, value)).or_insert(next);
        }
        if zone == next {
            zones.push(Zone::new(key, value));
        }
        zone
    }
}

/// A read of the value of a zone.
#[derive(Clone, Copy)]
struct Reading {
    zone: u32,
    span: Span,
}

/// The zones of a history and the reads of each.
struct Zones {
    zones: Vec<Zone>,
    reads: Vec<Reading>,
    /// The number of registers.
    keys: usize,
    end: Rank,
}

impl Zones {
    fn read(
        part: &Part<'_>,
        mut numbers: Numbers,
        mut access: impl FnMut(OpId) -> Result<Option<Access>, Declined>,
    ) -> Result<Result<Self, Verdict>, Declined> {
        let history = part.history;
        let ranks = part.ranks();
        let mut zones = Vec::new();
        let mut reads = Vec::new();
        for (position, op) in part.operations().enumerate() {
            let Some(Access { method, key, value }) = access(op)? else {
                continue;
            };
            let span = ranks.span(position, op);
            let span = Span { op, call: span.call + 1, ret: span.ret.saturating_add(1) };
            let zone = numbers.zone(&mut zones, key, value);
            if method == Method::Read {
                reads.push(Reading { zone, span });
            } else if value == numbers.initial || zones[zone as usize].write.exists() {
                let value = history.values().get(value).to_string();
                return Err(Declined::RepeatedValue { value });
            } else {
                zones[zone as usize].write = span;
            }
        }
        let (keys, end) = (numbers.initials.len(), ranks.events + 1);
        let mut zones = Zones { zones, reads, keys, end };
        match zones.stretch(history, numbers.initial)? {
            Some(violation) => Ok(Err(violation)),
            None => Ok(Ok(zones)),
        }
    }

    /// Makes every zone as long as its operations; or finds a read of what was not written.
    fn stretch(
        &mut self,
        history: &History,
        initial: ValueId,
    ) -> Result<Option<Verdict>, Declined> {
        for &Reading { zone, span } in &self.reads {
            let zone = &mut self.zones[zone as usize];
            let (written, is_initial) = (zone.write, zone.value == initial);
            if zone.value == ValueId::NIL && !is_initial && !written.exists() {
                // Some recorders write nil where they did not see the result.
                return Err(Declined::Unreadable {
                    operation: history.operation(span.op).to_string(),
                    expected: "a value that was written",
                });
            }
            if !is_initial && (!written.exists() || span.ret < written.call) {
                return Ok(Some(unwritten(history, span.op, written)));
            }
            zone.add(span);
        }
        for zone in &mut self.zones {
            // A pending write that nobody read is forgotten: its zone has no return.
            if zone.write.exists() && (zone.write.ret != NEVER || zone.f.0 != NEVER) {
                zone.add(zone.write);
            }
        }
        Ok(None)
    }

    /// Two zones each of which must come before the other, given the order by `min(f, s)`.
    fn conflict(&self, order: &[u32]) -> Option<(&Zone, &Zone)> {
        // By register, the forward zone that ends last.
        let mut latest: Vec<Option<&Zone>> = vec![None; self.keys];
        for &index in order {
            let zone = &self.zones[index as usize];
            let latest = &mut latest[zone.key as usize];
            if let Some(forward) = *latest
                && zone.f.0 < forward.s.0
                && forward.f.0 < zone.s.0
            {
                return Some((forward, zone));
            }
            if zone.is_forward() && latest.is_none_or(|latest| latest.s.0 < zone.s.0) {
                *latest = Some(zone);
            }
        }
        None
    }

    /// The operations in order, given the order of the zones: one register's as they stand in the zones;
    /// those of several by the first cell that its place in its register's order allows for each.
    fn order(&self, zones: &[u32]) -> Vec<OpId> {
        let reads = self.reads.iter().zip(0..).map(|(read, index)| (read.zone, index));
        let reads = Buckets::new(self.zones.len(), reads);
        let spans = zones.iter().flat_map(|&zone| {
            let write = Some(self.zones[zone as usize].write).filter(Span::exists);
            let reads = reads.of(zone as usize).iter();
            let reads = reads.map(|&read| self.reads[read as usize].span);
            write.into_iter().chain(reads).map(move |span| (zone, span))
        });
        if self.keys <= 1 {
            return spans.map(|(_, span)| span.op).collect();
        }
        let mut latest: Vec<Rank> = vec![0; self.keys];
        let mut placed = Vec::with_capacity(self.zones.len() + self.reads.len());
        for (zone, span) in spans {
            let latest = &mut latest[self.zones[zone as usize].key as usize];
            *latest = span.call.max(*latest);
            placed.push((*latest, span.op.0));
        }
        let numbers = Buckets::new(self.end as usize + 1, placed.iter().copied()).into_numbers();
        numbers.into_iter().map(OpId).collect()
    }
}

fn conflicting(history: &History, a: &Zone, b: &Zone) -> Verdict {
    let show = |zone: &Zone| history.values().get(zone.value);
    let (x, y) = (show(a), show(b));
    let sentence = format!(
        "{x} was in the register before {y} was and also after it, but {x} was written once only"
    );
    counterexample(a.operations().chain(b.operations()).collect(), sentence)
}

fn unwritten(history: &History, read: OpId, write: Span) -> Verdict {
    let text = history.operation(read);
    match write.exists() {
        true => counterexample(
            vec![write.op, read],
            format!("{text} returned before {} was called", history.operation(write.op)),
        ),
        false => counterexample(vec![read], format!("{text} saw a value that was never written")),
    }
}

/// The register monitor for live streams.
pub struct Watch {
    zones: Vec<Live>,
    writes: HashMap<OpId, Writing>,
    reads: HashMap<OpId, Moment>,
    /// Calls of open reads.
    reading: BTreeSet<Moment>,
    now: Moment,
    /// How many zones there may be before the dead ones are looked for.
    limit: usize,
}

/// A value that may still be read or that is needed to judge others.
#[derive(Clone, Copy, Debug)]
struct Live {
    value: ValueId,
    f: Moment,
    s: Moment,
}

impl Live {
    fn conflicts(&self, other: &Live) -> bool {
        self.f < other.s && other.f < self.s
    }
}

#[derive(Clone, Copy, Debug)]
struct Writing {
    value: ValueId,
    call: Moment,
    seen: Seen,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Seen {
    ByNobody,
    ByRead,
}

impl Watch {
    /// The monitor of a register that holds a value.
    pub fn new(initial: ValueId) -> Self {
        let initial = Live { value: initial, f: 0, s: 0 };
        Watch {
            zones: vec![initial],
            writes: HashMap::new(),
            reads: HashMap::new(),
            reading: BTreeSet::new(),
            now: 0,
            limit: 16,
        }
    }

    /// An operation on a value returned: its zone grows, or begins.
    fn returned(&mut self, op: OpId, value: ValueId, call: Moment) -> Result<(), Stop> {
        let place = self.zones.iter().position(|zone| zone.value == value);
        let index = place.unwrap_or(self.zones.len());
        match place {
            Some(index) => self.zones[index].s = self.zones[index].s.max(call),
            None => self.zones.push(Live { value, f: self.now, s: call }),
        }
        let zone = self.zones[index];
        let others = self.zones.iter().enumerate();
        for (_, other) in others.filter(|&(other, _)| other != index) {
            if zone.conflicts(other) {
                let reason =
                    "its value was in the register before another one was and also after it";
                return Err(Stop::violation(op, reason));
            }
        }
        if self.zones.len() > self.limit {
            self.forget();
            self.limit = 2 * self.zones.len() + 16;
        }
        Ok(())
    }

    /// Forgets values that no open read can return and that no value kept can conflict with.
    fn forget(&mut self) {
        let earliest = self.reading.first().copied().unwrap_or(self.now + 1);
        let dead: Vec<bool> = self
            .zones
            .iter()
            .map(|zone| {
                let mut others = self.zones.iter().filter(|other| other.value != zone.value);
                others.any(|other| zone.f < other.s && other.f < earliest)
            })
            .collect();
        let alive = self.zones.iter().zip(&dead).filter(|&(_, &dead)| !dead);
        let first = alive.map(|(zone, _)| zone.f).min().unwrap_or(self.now);
        let mut dead = dead.into_iter();
        self.zones.retain(|zone| dead.next() == Some(false) || zone.s > first);
    }
}

impl Online for Watch {
    fn call(&mut self, called: Called<'_>) -> Result<(), Stop> {
        self.now += 1;
        let (op, value, call) = (called.op, called.arg, self.now);
        if Method::named(called.method)? == Method::Read {
            self.reads.insert(op, call);
            self.reading.insert(call);
            return Ok(());
        }
        let known = self.zones.iter().any(|zone| zone.value == value)
            || self.writes.values().any(|writing| writing.value == value);
        if known {
            let value = called.values.get(value).to_string();
            return Err(Stop::Declined(Declined::RepeatedValue { value }));
        }
        let seen = Seen::ByNobody;
        self.writes.insert(op, Writing { value, call, seen });
        Ok(())
    }

    fn ret(&mut self, returned: Returned<'_>) -> Result<(), Stop> {
        self.now += 1;
        let op = returned.op;
        match returned.outcome {
            Outcome::Pending => return Ok(()),
            Outcome::Failed => {
                self.writes.remove(&op);
                self.reads.remove(&op).map(|call| self.reading.remove(&call));
                return Ok(());
            }
            Outcome::Ok => {}
        }
        if let Some(writing) = self.writes.remove(&op) {
            return match writing.seen {
                Seen::ByNobody => self.returned(op, writing.value, writing.call),
                Seen::ByRead => Ok(()),
            };
        }
        let Some(call) = self.reads.remove(&op) else {
            return Ok(());
        };
        self.reading.remove(&call);
        let value = returned.result;
        if value == ValueId::ABSENT {
            return Ok(());
        }
        if self.zones.iter().any(|zone| zone.value == value) {
            return self.returned(op, value, call);
        }
        let open = self.writes.values_mut().find(|writing| writing.value == value);
        match open.filter(|writing| writing.seen == Seen::ByNobody) {
            Some(writing) => {
                writing.seen = Seen::ByRead;
                let call = call.max(writing.call);
                self.returned(op, value, call)
            }
            None => {
                let reason =
                    "it saw a value that was not written or was overwritten before its call";
                Err(Stop::violation(op, reason))
            }
        }
    }

    fn remembered(&self) -> usize {
        self.zones.len() + self.writes.len() + self.reads.len()
    }
}
