//! Which operation that tells nothing fills which gap.
//!
//! Depth first over the gaps in ascending order. Each key has a *cursor*: where it is, what it has
//! used, and a filling that completes it alone. At a gap, a key whose filling does not need it now
//! may leave it to others. A key that cannot be completed without this gap *must* have it; two such
//! keys are a dead end. Else the keys are tried by their deadlines: the slot at which each stops to
//! fit if it goes on idle. If more keys are due by some slot than there are gaps up to it, that is
//! a dead end as well. If the version is sparse, a gap may also be left to nobody: that is tried
//! behind the keys that planned to fill it. Of a row of gaps that can be exchanged for one another
//! (nobody names their versions, and only their order matters) those that are filled come first. Silent operations happen along with it
//! ([`dues`](super::dues)). Dead ends are remembered with everything that decides what comes: the
//! standings of the keys that have filled something, what they used, and what is still to happen.
//!
//! Where an attempt comes to many dead ends, the first choices were bad ones, and the next attempt
//! makes others ([`Search::again`]): it tries candidates in another order, and what was remembered of
//! dead ends holds for it as well, since it rests on no order.
//!
//! A filling of all gaps is handed on; if it is refused, because silent operations do not find their
//! places in it after all, the search goes on, but its *no* is none any more.

use super::dues::{Dues, Happened};
use super::key::{Fillers, Filling, Keys, Pending, Used, has, with};
use super::layout::{Index, NEVER};
use super::standing::Standing;
use hashbrown::{HashMap, HashSet};
use seriatim_limits::InOrder;
use seriatim_spec::{Rise, StateId};
use std::collections::BTreeMap;

/// What a search ends with.
pub(super) enum Found<T> {
    /// What was made of a filling of all gaps.
    Filling(T),
    /// There is none.
    Nothing,
    /// All that there are were refused.
    Refused,
    /// The limit was reached.
    GaveUp,
}

/// Where a key is.
#[derive(Clone)]
struct Cursor {
    /// The next place, and the standing before it.
    at: u32,
    standing: Standing,
    used: Used,
    /// Whether it has filled a gap.
    has_filled: bool,
    /// What completes the key alone.
    filling: Filling,
    /// The slot at which it stops to fit if it fills nothing more.
    due: u32,
}

/// Stands for the standing of a key that has used all it had: it can be completed, and changes
/// nothing for others.
const SPENT: Standing = Standing(u32::MAX);

/// The slot of a key that is due never.
const NEVER_DUE: u32 = u32::MAX;

/// Stands for the key of a gap that nobody fills.
const NOBODY: usize = usize::MAX;

/// How many fillings may be refused.
const REFUSALS: u32 = 400;

/// One gap on the way.
struct Frame {
    gap: usize,
    /// The keys that may fill it, in the order of trying.
    candidates: Vec<Candidate>,
    next: usize,
    /// How many operations of the next candidate were tried.
    tried: u32,
    /// The cursors before the gap of those keys that it changed.
    undo: Vec<(usize, Cursor)>,
    /// The keys that had planned to fill it and can do without, and how.
    others: Vec<(usize, Filling)>,
    /// What is still to happen before the gap.
    happened: Happened,
    /// How many gaps had been filled before.
    filled: usize,
}

#[derive(Clone, Copy)]
struct Candidate {
    key: usize,
    place: u32,
    standing: Standing,
}

/// Nobody fills the gap.
const LEFT: Candidate = Candidate { key: NOBODY, place: 0, standing: SPENT };

/// What decides all that comes after a gap: keys with their standings and what they used, the
/// silent operations that have not happened, and whether the gap has to be left.
type Situation = (Vec<(usize, Standing, Used)>, Vec<u32>, bool);

pub(super) struct Search<'k, 'a> {
    keys: &'k mut Keys<'a>,
    /// For each gap the keys that may fill it and their places.
    open: Vec<Vec<(u32, u32)>>,
    cursors: Vec<Cursor>,
    /// How many keys are due at which slot, and in all.
    dues: BTreeMap<u32, u32>,
    due_keys: usize,
    chosen: Vec<(u32, Index)>,
    silent: Dues,
    /// The situations at each gap from which nothing was found.
    dead: HashMap<usize, HashSet<Situation>>,
    /// How many fillings were refused.
    refusals: u32,
    /// The number of the attempt: later ones try candidates in another order.
    attempt: u64,
}

impl<'k, 'a> Search<'k, 'a> {
    /// A search that starts with a filling for each key.
    pub fn new(keys: &'k mut Keys<'a>, start: StateId, fillings: &[Filling]) -> Self {
        let mut open = vec![Vec::new(); keys.layout.gaps.len()];
        for (key, one) in (0..).zip(&keys.keys) {
            for (place, at) in one.places.iter().zip(0..) {
                if place.is_gap {
                    let gap = keys.layout.gaps.partition_point(|&slot| slot < place.slot);
                    open[gap].push((key, at));
                }
            }
        }
        let (cursors, dues, due_keys, chosen, dead) = Default::default();
        let silent = Dues::of(keys);
        let (refusals, attempt) = (0, 0);
        let mut search =
            Search { keys, open, cursors, dues, due_keys, chosen, silent, dead, refusals, attempt };
        search.begin(start, fillings);
        search
    }

    /// Puts all keys at their start.
    fn begin(&mut self, start: StateId, fillings: &[Filling]) {
        self.dues.clear();
        (self.due_keys, self.cursors, self.chosen) = Default::default();
        self.silent = Dues::of(self.keys);
        for (key, &filling) in fillings.iter().enumerate() {
            let start = self.keys.keys[key].start(start);
            let cursor = self.cursor(key, (0, start), Used::new(), filling);
            self.count(&cursor, true);
            self.cursors.push(cursor);
        }
    }

    /// Begins another attempt.
    pub fn again(&mut self, attempt: u64, start: StateId, fillings: &[Filling]) {
        self.attempt = attempt;
        self.begin(start, fillings);
    }

    /// The keys that are asked about.
    pub fn keys(&mut self) -> &mut Keys<'a> {
        self.keys
    }

    fn cursor(
        &mut self,
        key: usize,
        (at, standing): (u32, Standing),
        used: Used,
        filling: Filling,
    ) -> Cursor {
        let stop = self.keys.stop(key, at, standing);
        let due = stop.map_or(NEVER_DUE, |stop| self.keys.keys[key].places[stop as usize].slot);
        Cursor { at, standing, used, has_filled: at > 0, filling, due }
    }

    /// Looks for a filling that is taken, until so many gaps were entered, besides each of them
    /// once.
    pub fn run<T>(
        &mut self,
        limit: u64,
        mut take: impl FnMut(&mut Keys<'a>, &[(u32, Index)]) -> Option<T>,
    ) -> Found<T> {
        let gaps = self.keys.layout.gaps.len();
        let mut frames: Vec<Frame> = Vec::new();
        let mut nodes = 0;
        if gaps > 0 && !self.happen(0, 0) {
            return Found::Nothing;
        }
        loop {
            if frames.len() < gaps {
                nodes += 1;
                if nodes > limit + gaps as u64 || self.keys.steps.declined.is_some() {
                    return Found::GaveUp;
                }
                let frame = self.enter(frames.len());
                frames.push(frame);
            } else {
                if let Some(taken) = take(self.keys, &self.chosen) {
                    return Found::Filling(taken);
                }
                self.refusals += 1;
                if self.refusals >= REFUSALS || self.keys.steps.declined.is_some() {
                    return Found::GaveUp;
                }
                if let Some(frame) = frames.last_mut() {
                    self.retreat(frame);
                }
            }
            // Takes the next candidate of the last gap, or goes back to one that has another.
            loop {
                let Some(frame) = frames.last_mut() else {
                    return if self.refusals > 0 { Found::Refused } else { Found::Nothing };
                };
                if self.advance(frame) {
                    break;
                }
                let gap = frame.gap;
                let situation = self.situation(gap);
                self.dead.entry(gap).or_default().insert(situation);
                frames.pop();
                if let Some(frame) = frames.last_mut() {
                    self.retreat(frame);
                }
            }
        }
    }

    /// What decides all that comes from a gap on.
    fn situation(&mut self, gap: usize) -> Situation {
        let slot = self.keys.layout.gaps[gap];
        let matters = !self.keys.layout.silent.is_empty();
        let mut situation = Vec::new();
        for key in 0..self.cursors.len() {
            let Cursor { at, standing, ref used, has_filled, .. } = self.cursors[key];
            if !has_filled {
                continue;
            }
            let used = used.clone();
            let one = &self.keys.keys[key];
            // Its state does not matter any more, but that it has nothing left does.
            if !matters && used.len() == one.pending.len() {
                situation.push((key, SPENT, used));
                continue;
            }
            let place = one.places.partition_point(|place| place.slot < slot) as u32;
            if let Some(standing) = self.keys.arrive(key, at, standing, place.max(at)) {
                situation.push((key, standing, used));
            }
        }
        (situation, self.silent.open().to_vec(), self.is_closed(gap))
    }

    /// Lets silent operations happen from a slot to the gap of this number; false if one had to and
    /// did not.
    fn happen(&mut self, start: u32, gap: usize) -> bool {
        let Search { keys, cursors, silent, .. } = self;
        let slots = keys.layout.updates.len() as u32;
        let end = keys.layout.gaps.get(gap).copied().unwrap_or(slots);
        silent.pass(start..end, |key, operation, slot| {
            let Cursor { at, standing, .. } = cursors[key];
            let next = keys.keys[key].places.partition_point(|place| place.slot <= slot) as u32;
            let Some(standing) = keys.arrive(key, at, standing, next.max(at)) else { return false };
            let state = keys.keys[key].state(standing);
            keys.steps.may_fit(keys.layout, slot, operation, state)
        })
    }

    /// Comes to a gap: who may fill it?
    fn enter(&mut self, gap: usize) -> Frame {
        let mut candidates: Vec<(u32, Candidate)> = Vec::new();
        let mut must: Vec<Candidate> = Vec::new();
        let mut others = Vec::new();
        for place in 0..self.open[gap].len() {
            let (key, place) = self.open[gap][place];
            let key = key as usize;
            let Cursor { at, standing, due, filling, .. } = self.cursors[key];
            let one = &self.keys.keys[key];
            if one.silents.is_empty() && self.cursors[key].used.len() == one.pending.len() {
                continue;
            }
            let plans = one.first(filling).is_some_and(|(first, _)| first == place);
            let Some(standing) = self.keys.arrive(key, at, standing, place) else { continue };
            let candidate = Candidate { key, place, standing };
            match plans.then(|| self.idle(candidate)) {
                Some(None) => must.push(candidate),
                Some(Some(filling)) => others.push((key, filling)),
                None => {}
            }
            candidates.push((due, candidate));
        }
        let is_closed = self.is_closed(gap);
        let is_dead = must.len() + usize::from(is_closed) > 1
            || self.is_crowded(gap)
            || self.is_known_dead(gap);
        let candidates = match (is_dead, must.is_empty()) {
            (true, _) => Vec::new(),
            (false, true) if is_closed => vec![LEFT],
            (false, false) => must,
            (false, true) => {
                candidates.put_in_order_by_key(|&(due, candidate)| (due, candidate.key));
                let first = self.whim(gap) as usize % candidates.len().max(1);
                candidates.rotate_left(first);
                let sorted = candidates.into_iter().map(|(_, candidate)| candidate).collect();
                self.with_nobody(sorted, &others)
            }
        };
        let (filled, happened) = (self.chosen.len(), self.silent.save());
        Frame { gap, candidates, next: 0, tried: 0, undo: Vec::new(), others, happened, filled }
    }

    /// Which candidate is tried first at a gap: that of the plan in the first attempt, and often in
    /// the others.
    fn whim(&self, gap: usize) -> u64 {
        let mixed = (gap as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
        let mixed = (mixed ^ self.attempt).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 40;
        if self.attempt == 0 || mixed & 3 > 0 { 0 } else { mixed >> 2 }
    }

    /// Whether a gap has to be left, since the one before it was, for which it can be exchanged: what
    /// fills gaps of a row can fill the first of them.
    fn is_closed(&self, gap: usize) -> bool {
        let slot = self.keys.layout.gaps[gap];
        let is_filled = self.chosen.last().is_some_and(|&(filled, _)| filled + 1 == slot);
        self.keys.layout.continues(slot) && !is_filled
    }

    fn is_known_dead(&mut self, gap: usize) -> bool {
        if !self.dead.contains_key(&gap) {
            return false;
        }
        let situation = self.situation(gap);
        self.dead.get(&gap).is_some_and(|dead| dead.contains(&situation))
    }

    /// The candidates for a gap and, if it may stay open, nobody: behind those that planned it.
    fn with_nobody(
        &self,
        candidates: Vec<Candidate>,
        others: &[(usize, Filling)],
    ) -> Vec<Candidate> {
        if self.keys.layout.rise == Rise::ByOne {
            return candidates;
        }
        let planned = |candidate: &Candidate| others.iter().any(|&(key, _)| key == candidate.key);
        let (mut first, last): (Vec<_>, Vec<_>) = candidates.into_iter().partition(planned);
        first.push(LEFT);
        first.extend(last);
        first
    }

    /// How a key can be completed if it leaves this gap to others.
    fn idle(&mut self, candidate: Candidate) -> Option<Filling> {
        let Candidate { key, place, standing } = candidate;
        let after = self.keys.pass(key, place, standing)?;
        let used = self.cursors[key].used.clone();
        self.keys.viable(key, place + 1, after, &used).ok()
    }

    /// Whether more keys are due by some slot than there are gaps up to it.
    fn is_crowded(&self, gap: usize) -> bool {
        let gaps = &self.keys.layout.gaps[gap..];
        let mut keys = 0;
        for (&due, &count) in &self.dues {
            keys += count as usize;
            let room = gaps.partition_point(|&slot| slot <= due);
            if keys > room || room >= self.due_keys {
                return keys > room;
            }
        }
        false
    }

    /// Fills the gap of a frame in the next way that is left.
    fn advance(&mut self, frame: &mut Frame) -> bool {
        let slot = self.keys.layout.gaps[frame.gap];
        while let Some(&candidate) = frame.candidates.get(frame.next) {
            let Candidate { key, place, standing } = candidate;
            if key == NOBODY {
                frame.next += 1;
                self.leave(frame, NOBODY);
                if self.happen(slot, frame.gap + 1) {
                    return true;
                }
                self.retreat(frame);
                continue;
            }
            let used = self.cursors[key].used.clone();
            let fillers = self.keys.fillers(key, place);
            let planned = self.keys.keys[key].first(self.cursors[key].filling);
            let planned = planned.map(|(_, pending)| pending);
            let planned = planned.filter(|&planned| fillers.clone().any(|p| p == planned));
            let earliest = self.silent.earliest();
            // What the key needs next comes first.
            let others = fillers.clone().filter(|&pending| Some(pending) != planned);
            for pending in planned.into_iter().chain(others).skip(frame.tried as usize) {
                frame.tried += 1;
                if has(&used, pending)
                    || earliest < self.keys.record(key, pending).call
                    || self.is_repeated(candidate, &fillers, &used, pending)
                {
                    continue;
                }
                let Some(after) = self.keys.fill(key, place, standing, pending) else { continue };
                let used = match self.keys.record(key, pending).ret {
                    NEVER => with(&used, pending),
                    _ => used.clone(),
                };
                let Ok(filling) = self.keys.viable(key, place + 1, after, &used) else { continue };
                let cursor = self.cursor(key, (place + 1, after), used, filling);
                self.change(frame, key, cursor);
                self.leave(frame, key);
                let index = self.keys.keys[key].pending[pending as usize];
                self.chosen.push((slot, index));
                self.silent.fill(index);
                if self.happen(slot, frame.gap + 1) {
                    return true;
                }
                self.retreat(frame);
            }
            (frame.next, frame.tried) = (frame.next + 1, 0);
        }
        false
    }

    /// Whether another operation does the same that was called no later and lasts no longer: it has
    /// to come first; else they are alike. One that returned and need not happen here, since its
    /// result fitted before, is not to be exchanged for one that must.
    fn is_repeated(
        &self,
        candidate: Candidate,
        fillers: &Fillers,
        used: &Used,
        pending: Pending,
    ) -> bool {
        let Candidate { key, place, standing } = candidate;
        let this = *self.keys.record(key, pending);
        let is_alike = |other: Pending| {
            let that = self.keys.record(key, other);
            that.class == this.class
                && (that.call, that.ret) != (this.call, this.ret)
                && that.call <= this.call
                && that.ret <= this.ret
        };
        let is_free = |other: Pending| {
            !has(used, other)
                && self.keys.is_lasting(key, place, other)
                && !self.keys.is_settled(key, standing, other)
        };
        fillers.clone().any(|other| is_alike(other) && is_free(other))
    }

    /// Lets all keys but one leave the gap of a frame to others.
    fn leave(&mut self, frame: &mut Frame, but: usize) {
        for (other, filling) in frame.others.clone() {
            if other != but {
                let cursor = Cursor { filling, ..self.cursors[other].clone() };
                self.change(frame, other, cursor);
            }
        }
    }

    fn change(&mut self, frame: &mut Frame, key: usize, cursor: Cursor) {
        frame.undo.push((key, self.replace(key, cursor)));
    }

    fn replace(&mut self, key: usize, cursor: Cursor) -> Cursor {
        self.count(&cursor, true);
        let old = std::mem::replace(&mut self.cursors[key], cursor);
        self.count(&old, false);
        old
    }

    /// Keeps count of when keys are due.
    fn count(&mut self, cursor: &Cursor, is_new: bool) {
        if cursor.due == NEVER_DUE {
            return;
        }
        let count = self.dues.entry(cursor.due).or_default();
        match is_new {
            true => (*count, self.due_keys) = (*count + 1, self.due_keys + 1),
            false => (*count, self.due_keys) = (*count - 1, self.due_keys - 1),
        }
        if *count == 0 {
            self.dues.remove(&cursor.due);
        }
    }

    /// Takes back what was chosen for the gap of a frame.
    fn retreat(&mut self, frame: &mut Frame) {
        self.chosen.truncate(frame.filled);
        self.silent.undo(&frame.happened);
        while let Some((key, cursor)) = frame.undo.pop() {
            self.replace(key, cursor);
        }
    }
}
