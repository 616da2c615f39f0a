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
//! Both relax the whole question: the gaps that a key leaves are always filled. States come with
//! what the key owes ([`standing`](super::standing)), and in it which silent operations were used.

use super::layout::{Index, Layout, NEVER, Record};
use super::standing::{Posture, Silent, Standing};
use super::steps::Steps;
use hashbrown::{HashMap, HashSet};
use seriatim_spec::ClassId;
use std::iter::Chain;
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
    pub reads: Range<u32>,
}

/// An operation that may fill gaps, by its place among those of its key.
pub(super) type Pending = u32;

/// Operations used that never returned, in ascending order. Silent ones are part of a standing.
pub(super) type Used = Vec<Pending>;

/// What fills which gaps, in ascending order: the first link of a chain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Filling(u32);

impl Filling {
    pub const NONE: Filling = Filling(u32::MAX);
}

/// A gap, by place, what fills it, and what comes behind it. Fillings share their ends.
#[derive(Clone, Copy)]
struct Link {
    place: u32,
    pending: Pending,
    next: Filling,
    /// The next link from here on that needs an operation that never returned.
    needs: Filling,
}

/// Operations that were called in time to fill a gap: silent ones, and some that never returned.
pub(super) type Fillers = Chain<Range<Pending>, Range<Pending>>;

/// Where a key that is left to itself does not fit: no place if it always does.
const DONE: u32 = u32::MAX;

/// Where nobody has looked.
const OPEN: u32 = u32::MAX - 1;

/// No standing.
const NOWHERE: Standing = Standing(u32::MAX);

/// One key.
#[derive(Default)]
pub(super) struct Key {
    pub places: Vec<Place>,
    pub reads: Vec<(Index, ClassId)>,
    /// Its operations that may fill gaps: those that never returned, then silent ones; each in the
    /// order of their calls.
    pub pending: Vec<Index>,
    /// How many of them never returned.
    pub never: u32,
    /// For each silent one of them the latest return up to it.
    pub lasting: Vec<u32>,
    /// Its silent operations, those first that may fill gaps.
    pub silents: Vec<Silent>,
    /// For each place in turn the silent operations that may stand there, and where they end.
    pub active: Vec<u32>,
    pub active_ends: Vec<u32>,
    pub postures: Vec<Posture>,
    pub numbers: HashMap<Posture, u32>,
    links: Vec<Link>,
    /// The idle steps that were taken last, one for each place; and those before them.
    way: Vec<Passage>,
    passed: HashMap<(u32, Standing), Option<Standing>>,
    /// What operations did at gaps, by class, or by number if they are silent. Looking ahead comes
    /// to the same gap in the same state from many places, and steps are what it spends its time
    /// with.
    filled: HashMap<(u32, Standing, Act), Option<Standing>>,
    hopes: HashMap<(u32, Standing), bool>,
    successes: HashMap<(u32, Standing), Vec<Filling>>,
    failures: HashMap<(u32, Standing), Vec<Used>>,
}

/// What an operation is for its key: those that never returned are alike if they do the same.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Act {
    Class(ClassId),
    Silent(u32),
}

/// How a key that does not fill a place comes past it.
#[derive(Clone, Copy)]
struct Passage {
    /// The standing before the place, or nowhere.
    before: Standing,
    /// The standing behind it, or nowhere if it does not fit.
    after: Standing,
    /// Where the way from here stops.
    stop: u32,
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
        let unseen = Passage { before: NOWHERE, after: NOWHERE, stop: OPEN };
        self.way = vec![unseen; self.places.len()];
    }

    /// Forgets what looking ahead has found out, fillings too.
    pub fn forget(&mut self) {
        self.links = Vec::new();
        self.way = Vec::new();
        self.passed = HashMap::new();
        self.filled = HashMap::new();
        self.hopes = HashMap::new();
        self.successes = HashMap::new();
        self.failures = HashMap::new();
    }

    /// Whether nothing of the key happens at a place if it does not fill it.
    fn is_still(&self, at: u32) -> bool {
        let Place { update, is_sole, reads, .. } = &self.places[at as usize];
        update.is_none() && !is_sole && reads.is_empty() && self.silents.is_empty()
    }

    /// The first gap of a filling, by place, and what fills it.
    pub fn first(&self, filling: Filling) -> Option<(u32, Pending)> {
        let link = self.links.get(filling.0 as usize)?;
        Some((link.place, link.pending))
    }

    /// The gaps of a filling, by place, and what fills them.
    pub fn links(&self, filling: Filling) -> impl Iterator<Item = (u32, Pending)> + '_ {
        let next = |link: &&Link| self.links.get(link.next.0 as usize);
        let all = std::iter::successors(self.links.get(filling.0 as usize), next);
        all.map(|link| (link.place, link.pending))
    }

    /// A filling with one gap before it.
    fn link(&mut self, place: u32, pending: Pending, next: Filling) -> Filling {
        let link = Filling(self.links.len() as u32);
        let needs = match pending < self.never {
            true => link,
            false => self.links.get(next.0 as usize).map_or(Filling::NONE, |next| next.needs),
        };
        self.links.push(Link { place, pending, next, needs });
        link
    }

    /// Whether a filling needs none of the operations used so far.
    fn is_free(&self, filling: Filling, used: &Used) -> bool {
        if used.is_empty() {
            return true;
        }
        let needs = |filling: Filling| {
            let link = self.links.get(filling.0 as usize)?;
            self.links.get(link.needs.0 as usize)
        };
        let mut all = std::iter::successors(needs(filling), |link| needs(link.next));
        all.all(|link| !has(used, link.pending))
    }
}

impl<'a> Keys<'a> {
    pub fn new(layout: &'a Layout, steps: Steps<'a>, keys: Vec<Key>) -> Self {
        Keys { layout, steps, keys, room: KNOWN }
    }
}

impl Keys<'_> {
    /// Where a key stops to fit if it fills nothing from a place on: the place, if there is one.
    pub fn stop(&mut self, key: usize, start: u32, standing: Standing) -> Option<u32> {
        let places = self.keys[key].places.len() as u32;
        let (mut at, mut standing) = (start, standing);
        let stop = loop {
            if at == places {
                break DONE;
            }
            let after = self.pass(key, at, standing);
            let known = self.keys[key].way[at as usize].stop;
            if known != OPEN {
                break known;
            }
            match after {
                Some(after) => standing = after,
                None => {
                    self.keys[key].way[at as usize].stop = at;
                    break at;
                }
            }
            at += 1;
        };
        let way = &mut self.keys[key].way[start as usize..at as usize];
        way.iter_mut().for_each(|passage| passage.stop = stop);
        (stop != DONE).then_some(stop)
    }

    /// The standing of an idle key before a place that it comes to.
    pub fn arrive(
        &mut self,
        key: usize,
        at: u32,
        standing: Standing,
        place: u32,
    ) -> Option<Standing> {
        (at..place).try_fold(standing, |standing, at| self.pass(key, at, standing))
    }

    /// The standing behind a place that the key does not fill, if it fits there.
    pub fn pass(&mut self, key: usize, at: u32, standing: Standing) -> Option<Standing> {
        let passage = self.keys[key].way[at as usize];
        if passage.before == standing {
            return (passage.after != NOWHERE).then_some(passage.after);
        }
        // Where nothing of the key happens there is nothing to remember: most places are gaps that
        // other keys fill.
        let is_still = self.keys[key].is_still(at);
        let known = |one: &Key| one.passed.get(&(at, standing)).copied();
        let after = match is_still {
            true => Some(standing),
            false => match known(&self.keys[key]) {
                Some(known) => self.steps.recall(known),
                None => self.step_past(key, at, standing),
            },
        };
        if !is_still && passage.before != NOWHERE && self.room > 0 {
            let behind = (passage.after != NOWHERE).then_some(passage.after);
            let known = self.keys[key].passed.insert((at, passage.before), behind);
            self.room -= usize::from(known.is_none());
        }
        self.keys[key].way[at as usize] =
            Passage { before: standing, after: after.unwrap_or(NOWHERE), stop: OPEN };
        after
    }

    fn step_past(&mut self, key: usize, at: u32, standing: Standing) -> Option<Standing> {
        let Keys { layout, steps, keys, .. } = self;
        let one = &keys[key];
        let place = &one.places[at as usize];
        if place.is_sole {
            return None;
        }
        let before = one.state(standing);
        let state = match place.update {
            Some(index) => {
                let record = layout.record(index);
                steps.told(before, record.class, record.told?)?
            }
            None => before,
        };
        let reads = &one.reads[place.reads.start as usize..place.reads.end as usize];
        if steps.misfit(layout, place.slot, reads, state).is_some() {
            return None;
        }
        if one.silents.is_empty() {
            return Some(Standing(state.0));
        }
        let posture = one.posture(standing).with(state, None);
        self.settle(key, at, posture)
    }

    /// What an operation that tells nothing does at a gap, if it makes the version and the reads
    /// there fit.
    pub fn fill(
        &mut self,
        key: usize,
        at: u32,
        standing: Standing,
        pending: Pending,
    ) -> Option<Standing> {
        if !self.is_lasting(key, at, pending)
            || self.owed_by(key, at, standing) < self.record(key, pending).call
        {
            return None;
        }
        let act = self.act(key, pending);
        if let Some(&known) = self.keys[key].filled.get(&(at, standing, act)) {
            return self.steps.recall(known);
        }
        let after = self.step_into(key, at, standing, pending);
        if self.room > 0 {
            self.room -= 1;
            self.keys[key].filled.insert((at, standing, act), after);
        }
        after
    }

    fn step_into(
        &mut self,
        key: usize,
        at: u32,
        standing: Standing,
        pending: Pending,
    ) -> Option<Standing> {
        let class = self.class_of(key, pending);
        let Keys { layout, steps, keys, .. } = self;
        let one = &keys[key];
        let place = &one.places[at as usize];
        let silent = one.silent_of(pending);
        let is_used = |silent: u32| one.posture(standing).used.contains(&silent);
        if silent.is_some_and(is_used) {
            return None;
        }
        let state = steps.untold(one.state(standing), class, layout.version(place.slot))?;
        let reads = &one.reads[place.reads.start as usize..place.reads.end as usize];
        if steps.misfit(layout, place.slot, reads, state).is_some() {
            return None;
        }
        if one.silents.is_empty() {
            return Some(Standing(state.0));
        }
        let posture = one.posture(standing).with(state, silent);
        self.settle(key, at, posture)
    }

    /// The operations of a key that were called in time to fill a gap, and some silent ones that
    /// may have returned too early.
    pub fn fillers(&self, key: usize, at: u32) -> Fillers {
        let Key { places, pending, never, lasting, .. } = &self.keys[key];
        let slot = places[at as usize].slot;
        let in_time = |all: &[Index]| all.partition_point(|&p| self.layout.is_in_time(p, slot));
        let (first, silent) = pending.split_at(*never as usize);
        let early = lasting.partition_point(|&ret| !self.layout.is_after(ret, slot)) as u32;
        let silent = never + early..(never + in_time(silent) as u32).max(never + early);
        // Those that happened for sure come first.
        silent.chain(0..in_time(first) as u32)
    }

    /// Whether an operation of a key had not returned too early to fill a gap.
    pub fn is_lasting(&self, key: usize, at: u32, pending: Pending) -> bool {
        let Key { places, pending: all, .. } = &self.keys[key];
        self.layout.is_lasting(all[pending as usize], places[at as usize].slot)
    }

    fn act(&self, key: usize, pending: Pending) -> Act {
        match self.keys[key].silent_of(pending) {
            Some(silent) => Act::Silent(silent),
            None => Act::Class(self.class_of(key, pending)),
        }
    }

    /// Whether a silent operation of a key was used, or met at least.
    pub fn is_settled(&self, key: usize, standing: Standing, pending: Pending) -> bool {
        let one = &self.keys[key];
        let Posture { met, used, .. } = one.posture(standing);
        one.silent_of(pending).is_some_and(|silent| met.contains(&silent) || used.contains(&silent))
    }

    pub fn record(&self, key: usize, pending: Pending) -> &Record {
        self.layout.record(self.keys[key].pending[pending as usize])
    }

    pub fn class_of(&self, key: usize, pending: Pending) -> ClassId {
        self.record(key, pending).class
    }

    /// The gaps on the idle way from a place to where it stops, with the standings before them, the
    /// last one first: what is needed at the stop was most likely made shortly before. Of gaps in a
    /// row that can be exchanged the first will do.
    fn chances(
        &mut self,
        key: usize,
        at: u32,
        standing: Standing,
        stop: u32,
    ) -> Vec<(u32, Standing)> {
        let mut gaps = Vec::new();
        let mut standing = Some(standing);
        for place in at..=stop {
            let Some(before) = standing else { break };
            if self.keys[key].places[place as usize].is_gap
                && !(place > at && self.continues(key, place))
            {
                gaps.push((place, before));
            }
            standing = self.pass(key, place, before);
        }
        gaps.reverse();
        gaps
    }

    /// Whether a gap can be exchanged for the one at the place before it.
    fn continues(&self, key: usize, place: u32) -> bool {
        let places = &self.keys[key].places;
        let slot = places[place as usize].slot;
        self.layout.continues(slot) && places[place as usize - 1].slot + 1 == slot
    }

    /// Whether filling a gap makes a difference before the next gap.
    fn matters(&mut self, key: usize, at: u32, (before, after): (Standing, Standing)) -> bool {
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

    /// Whether a key could be completed if its operations that never returned could be used again
    /// and again.
    pub fn hope(&mut self, key: usize, at: u32, standing: Standing) -> bool {
        let Some(stop) = self.stop(key, at, standing) else { return true };
        if let Some(&known) = self.keys[key].hopes.get(&(at, standing)) {
            return known;
        }
        let mut hopeful = false;
        'chances: for (gap, before) in self.chances(key, at, standing, stop) {
            let mut tried = HashSet::new();
            for pending in self.fillers(key, gap) {
                if self.steps.declined.is_some() {
                    return false;
                }
                if !self.is_lasting(key, gap, pending) || !tried.insert(self.act(key, pending)) {
                    continue;
                }
                let Some(after) = self.fill(key, gap, before, pending) else { continue };
                if self.matters(key, gap, (before, after)) && self.hope(key, gap + 1, after) {
                    hopeful = true;
                    break 'chances;
                }
            }
        }
        self.keys[key].hopes.insert((at, standing), hopeful);
        hopeful
    }

    /// A filling that completes a key from a place on without the operations used so far; else
    /// those of them that stand in the way.
    pub fn viable(
        &mut self,
        key: usize,
        at: u32,
        standing: Standing,
        used: &Used,
    ) -> Result<Filling, Used> {
        let Some(stop) = self.stop(key, at, standing) else { return Ok(Filling::NONE) };
        let id = (at, standing);
        if let Some(known) = self.remembered(key, id, used) {
            return known;
        }
        if !self.hope(key, at, standing) {
            return Err(Used::new());
        }
        let mut reason = Used::new();
        for (gap, before) in self.chances(key, at, standing, stop) {
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
                let more = match ret {
                    NEVER => with(used, pending),
                    _ => used.clone(),
                };
                match self.viable(key, gap + 1, after, &more) {
                    Ok(filling) => {
                        let filling = self.keys[key].link(gap, pending, filling);
                        self.keys[key].successes.entry(id).or_default().push(filling);
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
        id: (u32, Standing),
        used: &Used,
    ) -> Option<Result<Filling, Used>> {
        let one = &self.keys[key];
        let is_free = |filling: &&Filling| one.is_free(**filling, used);
        if let Some(&filling) = one.successes.get(&id).and_then(|all| all.iter().find(is_free)) {
            return Some(Ok(filling));
        }
        let is_used = |reason: &&Used| reason.iter().all(|&p| has(used, p));
        let reason = one.failures.get(&id).and_then(|all| all.iter().find(is_used));
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
