//! One key along the versions, and whether it can be completed, whatever the others do.
//!
//! A key has *places*: the slots of its own operations, and the gaps that one of its operations
//! might fill. At a gap the key is *idle* (another key fills it) or one of its own operations that
//! never returned makes the version. Left to itself, a key goes on idly until one of its operations
//! does not fit; then one of the gaps on the way there has to be filled. Two questions are asked
//! from a place in a state:
//! - [`hope`](Keys::hope): can it be completed if operations could be used again and again? A *no*
//!   is one for good, and few states have to be looked at.
//! - [`viable`](Keys::viable): can it with each operation used once, those used so far excluded? A
//!   *yes* names the operations it needs and holds for all that leave these alone; a *no* names
//!   those whose use stood in the way and holds wherever these are used.
//!
//! Both relax the whole question: the gaps that a key leaves are always filled.

use super::layout::{Index, Layout, Record};
use super::steps::Steps;
use hashbrown::{HashMap, HashSet};
use seriatim_spec::{ClassId, StateId};
use std::ops::Range;

/// A slot that matters to a key.
pub(super) struct Place {
    pub slot: u32,
    /// The key's own update there, if it was told.
    pub update: Option<Index>,
    /// Whether nobody told the update.
    pub is_gap: bool,
    /// Whether no other key can fill the gap.
    pub is_sole: bool,
    /// The key's reads there.
    pub reads: Range<usize>,
}

/// An operation that never returned, by its place among those of its key.
pub(super) type Pending = u32;

/// Operations used, in ascending order.
pub(super) type Used = Vec<Pending>;

/// Gaps, by place, and what fills them, in ascending order.
pub(super) type Filling = Vec<(u32, Pending)>;

/// Where a key that is left to itself does not fit: no place if it always does.
const DONE: u32 = u32::MAX;

/// One key.
#[derive(Default)]
pub(super) struct Key {
    pub places: Vec<Place>,
    pub reads: Vec<(Index, ClassId)>,
    /// Its operations that never returned, in the order of their calls.
    pub pending: Vec<Index>,
    /// The idle steps that were taken last, one for each place; and those before them.
    way: Vec<Passage>,
    passed: HashMap<(u32, StateId), Option<StateId>>,
    /// What operations did at gaps. Looking ahead comes to the same gap in the same state from many
    /// places, and steps are what it spends its time with.
    filled: HashMap<(u32, StateId, ClassId), Option<StateId>>,
    hopes: HashMap<(u32, StateId), bool>,
    successes: HashMap<(u32, StateId), Vec<Filling>>,
    failures: HashMap<(u32, StateId), Vec<Used>>,
}

/// How a key that does not fill a place comes past it.
#[derive(Clone, Copy)]
struct Passage {
    /// The state before the place.
    before: Option<StateId>,
    /// The state behind it, if it fits.
    after: Option<StateId>,
    /// Where the way from here stops; `None` where nobody has looked.
    stop: Option<u32>,
}

/// All keys with the object's steps.
pub(super) struct Keys<'a> {
    pub layout: &'a Layout,
    pub steps: Steps<'a>,
    pub keys: Vec<Key>,
    /// How many more steps may be kept in mind.
    room: usize,
}

/// How many steps are kept in mind: some dozens of megabytes.
const KNOWN: usize = 1 << 20;

impl Key {
    pub fn ready(&mut self) {
        self.way = vec![Passage { before: None, after: None, stop: None }; self.places.len()];
    }
}

impl<'a> Keys<'a> {
    pub fn new(layout: &'a Layout, steps: Steps<'a>, keys: Vec<Key>) -> Self {
        Keys { layout, steps, keys, room: KNOWN }
    }
}

impl Keys<'_> {
    /// Where a key stops to fit if it fills nothing from a place on: the place, if there is one.
    pub fn stop(&mut self, key: usize, start: u32, state: StateId) -> Option<u32> {
        let places = self.keys[key].places.len() as u32;
        let (mut at, mut state) = (start, state);
        let stop = loop {
            if at == places {
                break DONE;
            }
            let after = self.pass(key, at, state);
            if let Some(stop) = self.keys[key].way[at as usize].stop {
                break stop;
            }
            match after {
                Some(after) => state = after,
                None => {
                    self.keys[key].way[at as usize].stop = Some(at);
                    break at;
                }
            }
            at += 1;
        };
        let way = &mut self.keys[key].way[start as usize..at as usize];
        way.iter_mut().for_each(|passage| passage.stop = Some(stop));
        (stop != DONE).then_some(stop)
    }

    /// The state of an idle key before a place that it comes to.
    pub fn arrive(&mut self, key: usize, at: u32, state: StateId, place: u32) -> Option<StateId> {
        (at..place).try_fold(state, |state, at| self.pass(key, at, state))
    }

    /// The state after a place that the key does not fill, if it fits there.
    pub fn pass(&mut self, key: usize, at: u32, state: StateId) -> Option<StateId> {
        let passage = self.keys[key].way[at as usize];
        if passage.before == Some(state) {
            return passage.after;
        }
        let after = match self.keys[key].passed.get(&(at, state)) {
            Some(&known) => self.steps.recall(known),
            None => self.step_past(key, at, state),
        };
        if let Some(before) = passage.before
            && self.room > 0
        {
            let known = self.keys[key].passed.insert((at, before), passage.after);
            self.room -= usize::from(known.is_none());
        }
        self.keys[key].way[at as usize] = Passage { before: Some(state), after, stop: None };
        after
    }

    fn step_past(&mut self, key: usize, at: u32, state: StateId) -> Option<StateId> {
        let Keys { layout, steps, keys, .. } = self;
        let place = &keys[key].places[at as usize];
        if place.is_sole {
            return None;
        }
        let after = match place.update {
            Some(index) => {
                let record = layout.record(index);
                steps.told(state, record.class, record.told?)?
            }
            None => state,
        };
        let reads = &keys[key].reads[place.reads.clone()];
        steps.misfit(layout, place.slot, reads, after).is_none().then_some(after)
    }

    /// What an operation that never returned does at a gap, if it makes the version and the reads
    /// there fit.
    pub fn fill(
        &mut self,
        key: usize,
        at: u32,
        state: StateId,
        pending: Pending,
    ) -> Option<StateId> {
        if !self.is_lasting(key, at, pending) {
            return None;
        }
        let class = self.class_of(key, pending);
        if let Some(&known) = self.keys[key].filled.get(&(at, state, class)) {
            return self.steps.recall(known);
        }
        let after = self.step_into(key, at, state, class);
        if self.room > 0 {
            self.room -= 1;
            self.keys[key].filled.insert((at, state, class), after);
        }
        after
    }

    fn step_into(
        &mut self,
        key: usize,
        at: u32,
        state: StateId,
        class: ClassId,
    ) -> Option<StateId> {
        let Keys { layout, steps, keys, .. } = self;
        let place = &keys[key].places[at as usize];
        let after = steps.untold(state, class, layout.version(place.slot))?;
        let reads = &keys[key].reads[place.reads.clone()];
        steps.misfit(layout, place.slot, reads, after).is_none().then_some(after)
    }

    /// The operations of a key that were called in time to fill a gap.
    pub fn fillers(&self, key: usize, at: u32) -> Range<Pending> {
        let slot = self.keys[key].places[at as usize].slot;
        let pending = &self.keys[key].pending;
        0..pending.partition_point(|&p| self.layout.is_in_time(p, slot)) as Pending
    }

    /// Whether an operation of a key had not returned too early to fill a gap.
    pub fn is_lasting(&self, key: usize, at: u32, pending: Pending) -> bool {
        let Key { places, pending: all, .. } = &self.keys[key];
        self.layout.is_lasting(all[pending as usize], places[at as usize].slot)
    }

    pub fn record(&self, key: usize, pending: Pending) -> &Record {
        self.layout.record(self.keys[key].pending[pending as usize])
    }

    pub fn class_of(&self, key: usize, pending: Pending) -> ClassId {
        self.record(key, pending).class
    }

    /// The gaps on the idle way from a place to where it stops, with the states before them, the
    /// last one first: what is needed at the stop was most likely made shortly before.
    fn chances(&mut self, key: usize, at: u32, state: StateId, stop: u32) -> Vec<(u32, StateId)> {
        let mut gaps = Vec::new();
        let mut state = Some(state);
        for place in at..=stop {
            let Some(before) = state else { break };
            if self.keys[key].places[place as usize].is_gap {
                gaps.push((place, before));
            }
            state = self.pass(key, place, before);
        }
        gaps.reverse();
        gaps
    }

    /// Whether filling a gap makes a difference before the next gap.
    fn matters(&mut self, key: usize, at: u32, (before, after): (StateId, StateId)) -> bool {
        let places = self.keys[key].places.len() as u32;
        let (mut idle, mut filled) = (before, after);
        if self.pass(key, at, before).is_none() {
            return true;
        }
        for place in at + 1..places {
            if idle == filled {
                return false;
            }
            if self.keys[key].places[place as usize].is_gap {
                return true;
            }
            match (self.pass(key, place, idle), self.pass(key, place, filled)) {
                (Some(next), Some(other)) => (idle, filled) = (next, other),
                _ => return true,
            }
        }
        idle != filled
    }

    /// Whether a key could be completed if its operations could be used again and again.
    pub fn hope(&mut self, key: usize, at: u32, state: StateId) -> bool {
        let Some(stop) = self.stop(key, at, state) else { return true };
        if let Some(&known) = self.keys[key].hopes.get(&(at, state)) {
            return known;
        }
        let mut hopeful = false;
        'chances: for (gap, before) in self.chances(key, at, state, stop) {
            let mut tried = HashSet::new();
            for pending in self.fillers(key, gap) {
                if self.steps.declined.is_some() {
                    return false;
                }
                if !self.is_lasting(key, gap, pending) || !tried.insert(self.class_of(key, pending))
                {
                    continue;
                }
                let Some(after) = self.fill(key, gap, before, pending) else { continue };
                if self.matters(key, gap, (before, after)) && self.hope(key, gap + 1, after) {
                    hopeful = true;
                    break 'chances;
                }
            }
        }
        self.keys[key].hopes.insert((at, state), hopeful);
        hopeful
    }

    /// A filling that completes a key from a place on without the operations used so far; else
    /// those of them that stand in the way.
    pub fn viable(
        &mut self,
        key: usize,
        at: u32,
        state: StateId,
        used: &Used,
    ) -> Result<Filling, Used> {
        let Some(stop) = self.stop(key, at, state) else { return Ok(Filling::new()) };
        let id = (at, state);
        if let Some(known) = self.remembered(key, id, used) {
            return known;
        }
        if !self.hope(key, at, state) {
            return Err(Used::new());
        }
        let mut reason = Used::new();
        for (gap, before) in self.chances(key, at, state, stop) {
            let mut tried = HashSet::new();
            for pending in self.fillers(key, gap) {
                let Some(after) = self.fill(key, gap, before, pending) else { continue };
                if !self.hope(key, gap + 1, after) || !self.matters(key, gap, (before, after)) {
                    continue;
                }
                if has(used, pending) {
                    reason = with(&reason, pending);
                    continue;
                }
                // Alike are those that do the same and last as long.
                let Record { class, ret, .. } = *self.record(key, pending);
                if !tried.insert((class, ret)) {
                    continue;
                }
                match self.viable(key, gap + 1, after, &with(used, pending)) {
                    Ok(mut filling) => {
                        filling.insert(0, (gap, pending));
                        self.keys[key].successes.entry(id).or_default().push(filling.clone());
                        return Ok(filling);
                    }
                    Err(others) => {
                        let others = others.iter().filter(|&&other| other != pending);
                        others.for_each(|&other| reason = with(&reason, other));
                    }
                }
                if self.steps.declined.is_some() {
                    return Err(reason);
                }
            }
        }
        self.keys[key].failures.entry(id).or_default().push(reason.clone());
        Err(reason)
    }

    fn remembered(
        &self,
        key: usize,
        id: (u32, StateId),
        used: &Used,
    ) -> Option<Result<Filling, Used>> {
        let Key { successes, failures, .. } = &self.keys[key];
        let is_free = |filling: &&Filling| filling.iter().all(|&(_, p)| !has(used, p));
        if let Some(filling) = successes.get(&id).and_then(|all| all.iter().find(is_free)) {
            return Some(Ok(filling.clone()));
        }
        let is_used = |reason: &&Used| reason.iter().all(|&p| has(used, p));
        let reason = failures.get(&id).and_then(|all| all.iter().find(is_used));
        reason.map(|reason| Err(reason.clone()))
    }
}

pub(super) fn has(used: &Used, pending: Pending) -> bool {
    used.binary_search(&pending).is_ok()
}

pub(super) fn with(used: &Used, pending: Pending) -> Used {
    let mut more = used.clone();
    if let Err(place) = more.binary_search(&pending) {
        more.insert(place, pending);
    }
    more
}
