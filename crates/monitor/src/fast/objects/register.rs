//! Register: `read`, `write`. Also online.
//!
//! **Decides** whether a history of a register to which each value is written once is linearizable.
//!
//! **Theorem** (Gibbons and Korach, zones). A value's write and its reads stand together in any
//! order, the write first. So `a` must come before `b` iff some operation of `a` returns before
//! some operation of `b` is called: `f(a) < s(b)`, where `f` is the first return among a value's
//! operations and `s` the last call. The history is linearizable iff no read returns before its
//! write is called and no two values must each come before the other: no two *forward zones*
//! `[f, s]` overlap and no *backward zone* `[s, f]` lies within a forward one. The order by
//! `min(f, s)` is then right. The initial value is written before everything. Linearizability is
//! local: of several registers (the keys of a map) each is judged so, all in one sweep over the
//! history, as walking through it once for each register would miss the cache at every step.
//!
//! **Cost.** O(n), bucket sort by event rank. For live streams see `online`.
//!
//! **Precondition.** Every value is written once, and never the initial one, else declined; no
//! compare-and-set. A pending read, and a pending write that nobody saw, are forgotten: leaving a
//! value out keeps a right order right.

mod online;

pub use online::Watch;

use crate::fast::containers::container::{Dense, NEVER, Rank, Span};
use crate::fast::part::Ranks;
use crate::fast::structures::buckets::Buckets;
use crate::fast::violation::counterexample;
use crate::fast::{Declined, Part};
use hashbrown::HashMap;
use seriatim_history::{History, MethodId, OpId, Outcome, ValueId};
use seriatim_limits::InOrder;
use seriatim_spec::{Claim, Witness, names};

/// What an operation does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::fast) enum Method {
    Read,
    Write,
}

impl Method {
    fn named(name: &str) -> Result<Self, Declined> {
        let is = |names: &[&str]| names.iter().any(|known| known.eq_ignore_ascii_case(name));
        if is(const { names("register", "read") }) {
            Ok(Method::Read)
        } else if is(const { names("register", "write") }) {
            Ok(Method::Write)
        } else {
            let method = name.to_owned();
            Err(Declined::UnknownMethod { method })
        }
    }

    /// The value that an operation with this method read or wrote, given its argument; nothing if
    /// it says nothing.
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
pub(in crate::fast) struct Access {
    pub method: Method,
    /// The register, numbered from 0 in the order in which they are met.
    pub key: u32,
    pub value: ValueId,
}

/// One value of a register with its operations. Ranks are one higher than elsewhere: 0 is before
/// everything. Half a line of the cache: the zones of many registers are far apart.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct Zone {
    key: u32,
    value: ValueId,
    write: Span,
    /// The first return.
    f: Rank,
    /// The last call.
    s: Rank,
}

impl Zone {
    fn new(key: u32, value: ValueId) -> Self {
        Zone { key, value, write: Span::NONE, f: NEVER, s: 0 }
    }

    /// The zone of the value that a register holds before everything.
    fn initial(key: u32, value: ValueId) -> Self {
        Zone { f: 0, ..Zone::new(key, value) }
    }

    #[inline]
    fn add(&mut self, span: Span) {
        self.f = self.f.min(span.ret);
        self.s = self.s.max(span.call);
    }

    fn is_forward(&self) -> bool {
        self.f < self.s
    }

    /// Whether its value was never in the register for certain.
    fn is_forgotten(&self) -> bool {
        self.f == NEVER
    }
}

/// Decides a part of a register's history.
pub fn check(part: Part<'_>, initial: ValueId) -> Result<Claim, Declined> {
    let history = part.history;
    let names = (0..history.method_count()).map(|id| history.method_name(MethodId::from(id)));
    let methods: Vec<_> = names.map(Method::named).collect();
    decide(part, initial, Dense::with(&part, initial), |op| {
        let method = methods[history.method(op).index()].clone()?;
        let value = method.value(history, op, history.arg(op));
        Ok(value.map(|value| Access { method, key: 0, value }))
    })
}

/// Decides a part of a history of registers that all hold `initial` at first. `access` is asked
/// about each operation once, in call order; nothing means that it says nothing.
pub(in crate::fast) fn decide(
    part: Part<'_>,
    initial: ValueId,
    dense: Dense,
    access: impl FnMut(OpId) -> Result<Option<Access>, Declined>,
) -> Result<Claim, Declined> {
    let zones = match Zones::read(&part, Numbers::new(initial, dense), access)? {
        Ok(zones) => zones,
        Err(violation) => return Ok(violation),
    };
    let keys = zones.zones.iter().zip(0..).filter(|(zone, _)| !zone.is_forgotten());
    let keys = keys.map(|(zone, index)| (zone.f.min(zone.s), index));
    let order = Buckets::new(zones.ranks.events as usize + 3, keys).into_numbers();
    if let Some((a, b)) = zones.conflict(&order) {
        return Ok(zones.conflicting(a, b));
    }
    let order = match zones.keys {
        0 | 1 => zones.order_of_one(&order),
        _ => zones.order_of_several(&order),
    };
    Ok(Claim::Linearizable(Witness { order }))
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

/// No zone, no register.
const NONE: u32 = u32::MAX;

/// How many operations are looked at together.
const TOGETHER: usize = 32;

/// The zones of a history.
struct Zones<'p> {
    part: &'p Part<'p>,
    ranks: Ranks,
    zones: Vec<Zone>,
    /// By position, the zone of an operation.
    of: Vec<u32>,
    /// The number of registers.
    keys: usize,
}

impl<'p> Zones<'p> {
    fn read(
        part: &'p Part<'p>,
        mut numbers: Numbers,
        mut access: impl FnMut(OpId) -> Result<Option<Access>, Declined>,
    ) -> Result<Result<Self, Claim>, Declined> {
        let (zones, of) = (Vec::new(), vec![NONE; part.len()]);
        let mut all = Zones { part, ranks: part.ranks(), zones, of, keys: 0 };
        let mut together: Vec<(usize, Access)> = Vec::with_capacity(TOGETHER);
        for (position, op) in part.operations().enumerate() {
            together.extend(access(op)?.map(|access| (position, access)));
            if together.len() == TOGETHER {
                all.add(&mut numbers, &together)?;
                together.clear();
            }
        }
        all.add(&mut numbers, &together)?;
        all.keys = numbers.initials.len();
        match all.add_writes(numbers.initial)? {
            Some(violation) => Ok(Err(violation)),
            None => Ok(Ok(all)),
        }
    }

    /// Adds some operations to their zones, but does not yet make zones longer for writes. With
    /// many registers each zone is far from the last; looked up one after the other without a
    /// decision in between, the processor fetches them together.
    fn add(&mut self, numbers: &mut Numbers, some: &[(usize, Access)]) -> Result<(), Declined> {
        // For each operation a zone of its value, and the register of that zone.
        let mut guesses = [(NONE, NONE); TOGETHER];
        for ((zone, _), (_, access)) in guesses.iter_mut().zip(some) {
            *zone = numbers.dense.known(access.value).unwrap_or(NONE);
        }
        for (zone, key) in &mut guesses[..some.len()] {
            *key = self.zones.get(*zone as usize).map_or(NONE, |zone| zone.key);
        }
        for (&(zone, of), &(position, Access { method, key, value })) in guesses.iter().zip(some) {
            let index = match of == key {
                true => zone,
                false => numbers.zone(&mut self.zones, key, value),
            };
            self.of[position] = index;
            let span = self.span(position);
            let zone = &mut self.zones[index as usize];
            if method == Method::Read {
                zone.add(span);
            } else if value == numbers.initial || zone.write.exists() {
                let value = self.part.history.values().get(value).to_string();
                return Err(Declined::RepeatedValue { value });
            } else {
                zone.write = span;
            }
        }
        Ok(())
    }

    /// The operation at a position.
    #[inline]
    fn span(&self, position: usize) -> Span {
        let span = self.ranks.span(position, self.part.operation(position));
        Span { op: span.op, call: span.call + 1, ret: span.ret.saturating_add(1) }
    }

    /// The operations that belong to a zone, in call order.
    fn spans(&self) -> impl Iterator<Item = (u32, Span)> + Clone {
        let zones = self.of.iter().enumerate().filter(|&(_, &zone)| zone != NONE);
        zones.map(|(position, &zone)| (zone, self.span(position)))
    }

    /// Adds the writes to zones that the reads have made; or finds a read of what was not written.
    fn add_writes(&mut self, initial: ValueId) -> Result<Option<Claim>, Declined> {
        for index in 0..self.zones.len() {
            let zone = &mut self.zones[index];
            let (written, is_initial) = (zone.write, zone.value == initial);
            if is_initial || zone.f >= written.call && written.exists() {
                // A pending write that nobody read is forgotten: its zone has no return.
                if written.exists() && (written.ret != NEVER || !zone.is_forgotten()) {
                    zone.add(written);
                }
                continue;
            }
            let first = zone.f;
            let nobody_knows = zone.value == ValueId::NIL && !written.exists();
            let reads = self.spans().filter(|&(zone, _)| zone as usize == index);
            let read = reads.map(|(_, span)| span).find(|span| span.ret == first);
            let Some(read) = read else { continue };
            let history = self.part.history;
            if nobody_knows {
                // Some recorders write nil where they did not see the result.
                return Err(Declined::Unreadable {
                    operation: history.operation(read.op).to_string(),
                    expected: "a value that was written",
                });
            }
            return Ok(Some(unwritten(history, read.op, written)));
        }
        Ok(None)
    }

    /// Two zones each of which must come before the other, given the order by `min(f, s)`.
    fn conflict(&self, order: &[u32]) -> Option<(u32, u32)> {
        // By register, the forward zone that ends last: `f`, `s` and which it is.
        let mut latest: Vec<(Rank, Rank, u32)> = vec![(0, 0, NONE); self.keys];
        for &index in order {
            let zone = &self.zones[index as usize];
            let (f, s, forward) = &mut latest[zone.key as usize];
            if zone.f < *s && *f < zone.s {
                return Some((*forward, index));
            }
            if zone.is_forward() && *s < zone.s {
                (*f, *s, *forward) = (zone.f, zone.s, index);
            }
        }
        None
    }

    /// The operations of one register, given the order of its zones.
    fn order_of_one(&self, zones: &[u32]) -> Vec<OpId> {
        let write = |zone: u32| self.zones[zone as usize].write;
        let reads = self.spans().filter(|&(zone, span)| write(zone).op != span.op);
        let reads = Buckets::new(self.zones.len(), reads.map(|(zone, span)| (zone, span.op.0)));
        let mut order = Vec::with_capacity(self.of.len());
        for &zone in zones {
            order.extend(Some(write(zone)).filter(Span::exists).map(|write| write.op));
            order.extend(reads.of(zone as usize).iter().map(|&op| OpId(op)));
        }
        order
    }

    /// The operations of several registers, given the order of all zones. Each operation gets the
    /// first cell that its place in its register's order allows: mostly that of its call, so that
    /// most operations stand as they were called; the others are sorted and put in between.
    fn order_of_several(&self, zones: &[u32]) -> Vec<OpId> {
        let mut latest: Vec<Rank> = vec![0; self.keys];
        // By zone, the first cell that the zones before it and its write allow, and its place.
        let mut cells = vec![(0, NONE); self.zones.len()];
        for (&index, place) in zones.iter().zip(0..) {
            let zone = &self.zones[index as usize];
            let written = if zone.write.exists() { zone.write.call } else { 0 };
            let latest = &mut latest[zone.key as usize];
            cells[index as usize] = (written.max(*latest), place);
            *latest = zone.s.max(*latest);
        }
        let mut late: Vec<(Rank, u32, u32, OpId)> = Vec::new();
        let mut order = Vec::with_capacity(self.of.len());
        for (index, span) in self.spans() {
            let (cell, place) = cells[index as usize];
            if place != NONE && cell <= span.call {
                order.push((span.call, span.op));
            } else if place != NONE {
                let is_read = self.zones[index as usize].write.op != span.op;
                late.push((cell, place, u32::from(is_read), span.op));
            }
        }
        late.put_in_order();
        merge(&order, &late)
    }

    fn conflicting(&self, a: u32, b: u32) -> Claim {
        let show = |zone: u32| self.part.history.values().get(self.zones[zone as usize].value);
        let (x, y) = (show(a), show(b));
        let sentence = format!(
            "{x} was in the register before {y} was and also after it, but {x} was written once only"
        );
        let operations = [a, b].into_iter().flat_map(|zone| self.extremes(zone));
        counterexample(operations.collect(), sentence)
    }

    /// Operations that show when a value was in the register: its write, and those whose return is
    /// the first or whose call is the last.
    fn extremes(&self, index: u32) -> impl Iterator<Item = OpId> {
        let Zone { write, f, s, .. } = self.zones[index as usize];
        let own = self.spans().filter(move |&(zone, _)| zone == index);
        let is_extreme = move |span: &Span| span.op == write.op || span.ret == f || span.call == s;
        own.map(|(_, span)| span).filter(is_extreme).map(|span| span.op)
    }
}

/// Operations by cell, and among them the late ones, each behind those of its cell.
fn merge(order: &[(Rank, OpId)], late: &[(Rank, u32, u32, OpId)]) -> Vec<OpId> {
    let mut merged = Vec::with_capacity(order.len() + late.len());
    let mut late = late.iter().peekable();
    for &(cell, op) in order {
        while let Some(&(.., earlier)) = late.next_if(|late| late.0 < cell) {
            merged.push(earlier);
        }
        merged.push(op);
    }
    merged.extend(late.map(|&(.., op)| op));
    merged
}

fn unwritten(history: &History, read: OpId, write: Span) -> Claim {
    let text = history.operation(read);
    match write.exists() {
        true => counterexample(
            vec![write.op, read],
            format!("{text} returned before {} was called", history.operation(write.op)),
        ),
        false => counterexample(vec![read], format!("{text} saw a value that was never written")),
    }
}
