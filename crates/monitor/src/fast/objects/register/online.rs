//! A register as its events happen.
//!
//! **Decides** after every event whether what happened so far is linearizable, if each value is
//! written once.
//!
//! **How.** The zones of `register`, as far as they are known: a value's zone begins when one of
//! its operations returns first (`f` is that moment, so zones are in the order of `f`), and grows
//! to the right when a read of it returns that was called later (`s`). Two values conflict if each
//! must come before the other: `f(a) < s(b)` and `f(b) < s(a)`. A new zone conflicts with none,
//! since no call lies ahead of the present; so only a zone that grows is compared, with all that
//! begin before its end: whether one of those ends behind its beginning is the question for a
//! maximum over a range.
//!
//! **What is forgotten.** A value that no open read can return and that no value kept can conflict
//! with.
//!
//! **Cost.** O(log values kept) an event, amortized. A read that stays open may return whatever is
//! written meanwhile, so all of that is kept until it returns, or is told to be pending for ever.

use super::Method;
use crate::fast::Declined;
use crate::fast::objects::flag::Moment;
use crate::fast::online::{Called, Online, Returned, Stop};
use crate::fast::structures::range_max::RangeMax;
use hashbrown::HashMap;
use seriatim_history::{OpId, Outcome, ValueId};
use std::collections::BTreeSet;

/// The register monitor for live streams.
pub struct Watch {
    zones: Zones,
    /// The values of open writes.
    writes: HashMap<OpId, ValueId>,
    written: HashMap<ValueId, Writing>,
    reads: HashMap<OpId, Moment>,
    /// Calls of open reads.
    reading: BTreeSet<Moment>,
    now: Moment,
    /// How many zones there may be before the dead ones are looked for.
    limit: usize,
}

/// A value that may still be read or that is needed to judge others.
#[derive(Clone, Copy, Debug)]
struct Zone {
    value: ValueId,
    f: Moment,
    s: Moment,
}

/// The zones, by their beginnings.
struct Zones {
    zones: Vec<Zone>,
    place: HashMap<ValueId, usize>,
    /// By zone, its end.
    ends: RangeMax,
}

/// An open write.
#[derive(Clone, Copy, Debug)]
struct Writing {
    call: Moment,
    seen: Seen,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Seen {
    ByNobody,
    ByRead,
}

impl Zones {
    fn of(zones: Vec<Zone>) -> Self {
        let place = zones.iter().enumerate().map(|(place, zone)| (zone.value, place)).collect();
        let ends = RangeMax::new(zones.iter().map(|zone| zone.s));
        Zones { zones, place, ends }
    }

    /// Begins the zone of a value now.
    fn begin(&mut self, zone: Zone) {
        self.place.insert(zone.value, self.zones.len());
        self.ends.push(zone.s);
        self.zones.push(zone);
    }

    /// Lets a zone grow to a call; whether it conflicts with another one then.
    fn grow(&mut self, place: usize, call: Moment) -> bool {
        let zone = &mut self.zones[place];
        if call <= zone.s {
            return false;
        }
        zone.s = call;
        let f = zone.f;
        self.ends.raise(place, call);
        self.last_end(place, call) > Some(f)
    }

    /// The last end of another zone that begins before a moment.
    fn last_end(&self, place: usize, until: Moment) -> Option<Moment> {
        let until = self.zones.partition_point(|zone| zone.f < until);
        let (before, behind) = (0..place.min(until), (place + 1).min(until)..until);
        self.ends.max(before).max(self.ends.max(behind))
    }
}

impl Watch {
    /// The monitor of a register that holds a value.
    pub fn new(initial: ValueId) -> Self {
        Watch {
            zones: Zones::of(vec![Zone { value: initial, f: 0, s: 0 }]),
            writes: HashMap::new(),
            written: HashMap::new(),
            reads: HashMap::new(),
            reading: BTreeSet::new(),
            now: 0,
            limit: 16,
        }
    }

    /// An operation on a value returned: its zone grows, or begins.
    fn returned(&mut self, op: OpId, value: ValueId, call: Moment) -> Result<(), Stop> {
        match self.zones.place.get(&value) {
            Some(&place) => {
                if self.zones.grow(place, call) {
                    let reason =
                        "its value was in the register before another one was and also after it";
                    return Err(Stop::violation(op, reason));
                }
            }
            None => self.zones.begin(Zone { value, f: self.now, s: call }),
        }
        if self.zones.zones.len() > self.limit {
            self.forget();
            self.limit = 2 * self.zones.zones.len() + 16;
        }
        Ok(())
    }

    /// Forgets values that no open read can return and that no value kept can conflict with: a
    /// value is over if another one that began before all open reads must come behind it.
    fn forget(&mut self) {
        let zones = &self.zones.zones;
        let earliest = self.reading.first().copied().unwrap_or(self.now + 1);
        let is_over = |place: usize| self.zones.last_end(place, earliest) > Some(zones[place].f);
        let over: Vec<bool> = (0..zones.len()).map(is_over).collect();
        let kept = zones.iter().zip(&over).find(|&(_, &over)| !over);
        let first = kept.map_or(self.now, |(zone, _)| zone.f);
        let kept = zones.iter().zip(over).filter(|&(zone, over)| !over || zone.s > first);
        self.zones = Zones::of(kept.map(|(zone, _)| *zone).collect());
    }

    /// A read is over.
    fn end_read(&mut self, op: OpId) -> Option<Moment> {
        let call = self.reads.remove(&op)?;
        self.reading.remove(&call);
        Some(call)
    }

    /// A write is over.
    fn end_write(&mut self, op: OpId) -> Option<(ValueId, Writing)> {
        let value = self.writes.remove(&op)?;
        self.written.remove_entry(&value)
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
        if self.zones.place.contains_key(&value) || self.written.contains_key(&value) {
            let value = called.values.get(value).to_string();
            return Err(Stop::Declined(Declined::RepeatedValue { value }));
        }
        self.writes.insert(op, value);
        self.written.insert(value, Writing { call, seen: Seen::ByNobody });
        Ok(())
    }

    fn ret(&mut self, returned: Returned<'_>) -> Result<(), Stop> {
        self.now += 1;
        let op = returned.op;
        match returned.outcome {
            // A write may still be seen; a read that never returns says nothing.
            Outcome::Pending => {
                self.end_read(op);
                return Ok(());
            }
            Outcome::Failed => {
                self.end_write(op);
                self.end_read(op);
                return Ok(());
            }
            Outcome::Ok => {}
        }
        if let Some((value, writing)) = self.end_write(op) {
            return match writing.seen {
                Seen::ByNobody => self.returned(op, value, writing.call),
                Seen::ByRead => Ok(()),
            };
        }
        let Some(call) = self.end_read(op) else { return Ok(()) };
        let value = returned.result;
        if value == ValueId::ABSENT {
            return Ok(());
        }
        if self.zones.place.contains_key(&value) {
            return self.returned(op, value, call);
        }
        match self.written.get_mut(&value).filter(|writing| writing.seen == Seen::ByNobody) {
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

    fn rename(&mut self, new_id: &mut dyn FnMut(ValueId) -> ValueId) {
        let mut zones = std::mem::take(&mut self.zones.zones);
        zones.iter_mut().for_each(|zone| zone.value = new_id(zone.value));
        self.zones = Zones::of(zones);
        let written = std::mem::take(&mut self.written);
        self.written = written.into_iter().map(|(value, open)| (new_id(value), open)).collect();
        self.writes.values_mut().for_each(|value| *value = new_id(*value));
    }

    fn remembered(&self) -> usize {
        self.zones.zones.len() + self.writes.len() + self.reads.len()
    }
}
