//! Which operation that never returned fills which gap.
//!
//! Depth first over the gaps in ascending order. Each key has a *cursor*: where it is, what it has
//! used, and a filling that completes it alone. At a gap, a key whose filling does not need it now
//! may leave it to others. A key that cannot be completed without this gap *must* have it; two such
//! keys are a dead end. Else the keys are tried by their deadlines: the slot at which each stops to
//! fit if it goes on idle. If more keys are due by some slot than there are gaps up to it, that is
//! a dead end as well. If the version is sparse, a gap may also be left to nobody: that is tried
//! behind the keys that planned to fill it. Dead ends are remembered with everything that decides
//! what comes: the states of the keys that have filled something, and what they used.

use super::key::{Filling, Keys, Pending, Used, has, with};
use hashbrown::HashSet;
use seriatim_spec::{Rise, StateId};

/// What a search ends with.
pub(super) enum Found {
    /// A filling of all gaps: slots and operations.
    Filling(Vec<(u32, u32)>),
    /// There is none.
    Nothing,
    /// The limit was reached.
    GaveUp,
}

/// Where a key is.
#[derive(Clone)]
struct Cursor {
    /// The next place, and the state before it.
    at: u32,
    state: StateId,
    used: Used,
    /// What completes the key alone.
    filling: Filling,
    /// The slot at which it stops to fit if it fills nothing more.
    due: u32,
}

/// Stands for the state of a key that has used all it had: it can be completed, and changes nothing
/// for others.
const SPENT: StateId = StateId(u32::MAX);

/// The slot of a key that is due never.
const NEVER_DUE: u32 = u32::MAX;

/// Stands for the key of a gap that nobody fills.
const NOBODY: usize = usize::MAX;

/// One gap on the way.
struct Frame {
    /// The keys that may fill it, in the order of trying.
    candidates: Vec<Candidate>,
    next: usize,
    /// How many operations of the next candidate were tried.
    tried: u32,
    /// The cursors before the gap of those keys that it changed.
    undo: Vec<(usize, Cursor)>,
    /// The keys that had planned to fill it and can do without, and how.
    others: Vec<(usize, Filling)>,
    situation: Situation,
    /// How many gaps had been filled before.
    filled: usize,
}

#[derive(Clone, Copy)]
struct Candidate {
    key: usize,
    place: u32,
    state: StateId,
}

/// What decides all that comes after: the gap, and keys with their states and what they used.
type Situation = (usize, Vec<(usize, StateId, Used)>);

pub(super) struct Search<'k, 'a> {
    keys: &'k mut Keys<'a>,
    /// For each gap the keys that may fill it and their places.
    open: Vec<Vec<(usize, u32)>>,
    cursors: Vec<Cursor>,
    chosen: Vec<(u32, u32)>,
    dead: HashSet<Situation>,
}

impl<'k, 'a> Search<'k, 'a> {
    /// A search that starts with a filling for each key.
    pub fn new(keys: &'k mut Keys<'a>, start: StateId, fillings: &[Filling]) -> Self {
        let gaps = keys.layout.gaps.len();
        let mut open = vec![Vec::new(); gaps];
        for (key, one) in keys.keys.iter().enumerate() {
            for (place, at) in one.places.iter().zip(0..) {
                if place.is_gap {
                    let gap = keys.layout.gaps.partition_point(|&slot| slot < place.slot);
                    open[gap].push((key, at));
                }
            }
        }
        let mut search =
            Search { keys, open, cursors: Vec::new(), chosen: Vec::new(), dead: HashSet::new() };
        for (key, filling) in fillings.iter().enumerate() {
            let cursor = search.cursor(key, (0, start), Used::new(), filling.clone());
            search.cursors.push(cursor);
        }
        search
    }

    fn cursor(
        &mut self,
        key: usize,
        (at, state): (u32, StateId),
        used: Used,
        filling: Filling,
    ) -> Cursor {
        let stop = self.keys.stop(key, at, state);
        let due = stop.map_or(NEVER_DUE, |stop| self.keys.keys[key].places[stop as usize].slot);
        Cursor { at, state, used, filling, due }
    }

    /// Looks for a filling, until so many gaps were entered, besides each of them once.
    pub fn run(mut self, limit: u64) -> Found {
        let gaps = self.keys.layout.gaps.len();
        let mut frames: Vec<Frame> = Vec::new();
        let mut nodes = 0;
        while frames.len() < gaps {
            nodes += 1;
            if nodes > limit + gaps as u64 || self.keys.steps.declined.is_some() {
                return Found::GaveUp;
            }
            let frame = self.enter(frames.len());
            frames.push(frame);
            // Takes the next candidate of the last gap, or goes back to one that has another.
            loop {
                let Some(frame) = frames.last_mut() else { return Found::Nothing };
                if self.advance(frame) {
                    break;
                }
                self.dead.insert(frame.situation.clone());
                frames.pop();
                if let Some(frame) = frames.last_mut() {
                    self.retreat(frame);
                }
            }
        }
        Found::Filling(self.chosen)
    }

    /// Comes to a gap: who may fill it?
    fn enter(&mut self, gap: usize) -> Frame {
        let mut candidates: Vec<(u32, Candidate)> = Vec::new();
        let mut must: Vec<Candidate> = Vec::new();
        let mut others = Vec::new();
        let mut history = Vec::new();
        for (key, place) in self.open[gap].clone() {
            let Cursor { at, state, due, .. } = self.cursors[key];
            let is_fresh = self.cursors[key].used.is_empty();
            if self.cursors[key].used.len() == self.keys.keys[key].pending.len() {
                // Its state does not matter any more, but that it has nothing left does.
                history.push((key, SPENT, self.cursors[key].used.clone()));
                continue;
            }
            let Some(state) = self.keys.arrive(key, at, state, place) else { continue };
            if !is_fresh {
                history.push((key, state, self.cursors[key].used.clone()));
            }
            let candidate = Candidate { key, place, state };
            let plans = self.cursors[key].filling.first().is_some_and(|&(first, _)| first == place);
            match plans.then(|| self.idle(candidate)) {
                Some(None) => must.push(candidate),
                Some(Some(filling)) => others.push((key, filling)),
                None => {}
            }
            candidates.push((due, candidate));
        }
        let situation = (gap, history);
        let is_dead = must.len() > 1 || self.is_crowded(gap) || self.dead.contains(&situation);
        let candidates = match (is_dead, must.is_empty()) {
            (true, _) => Vec::new(),
            (false, false) => must,
            (false, true) => {
                candidates.sort_by_key(|&(due, candidate)| (due, candidate.key));
                let sorted = candidates.into_iter().map(|(_, candidate)| candidate).collect();
                self.with_nobody(sorted, &others)
            }
        };
        let filled = self.chosen.len();
        Frame { candidates, next: 0, tried: 0, undo: Vec::new(), others, situation, filled }
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
        first.push(Candidate { key: NOBODY, place: 0, state: SPENT });
        first.extend(last);
        first
    }

    /// How a key can be completed if it leaves this gap to others.
    fn idle(&mut self, candidate: Candidate) -> Option<Filling> {
        let Candidate { key, place, state } = candidate;
        let after = self.keys.pass(key, place, state)?;
        let used = self.cursors[key].used.clone();
        self.keys.viable(key, place + 1, after, &used).ok()
    }

    /// Whether more keys are due by some slot than there are gaps up to it.
    fn is_crowded(&self, gap: usize) -> bool {
        let mut dues: Vec<u32> =
            self.cursors.iter().map(|cursor| cursor.due).filter(|&due| due != NEVER_DUE).collect();
        dues.sort_unstable();
        let gaps = &self.keys.layout.gaps[gap..];
        dues.iter().zip(1..).any(|(&due, count)| count > gaps.partition_point(|&g| g <= due))
    }

    /// Fills the gap of a frame in the next way that is left.
    fn advance(&mut self, frame: &mut Frame) -> bool {
        let slot = self.keys.layout.gaps[frame.situation.0];
        while let Some(&candidate) = frame.candidates.get(frame.next) {
            let Candidate { key, place, state } = candidate;
            if key == NOBODY {
                frame.next += 1;
                self.leave(frame, NOBODY);
                return true;
            }
            let used = self.cursors[key].used.clone();
            let fillers = self.keys.fillers(key, place).end;
            let planned = self.cursors[key].filling.first().map(|&(_, pending)| pending);
            let planned = planned.filter(|&pending| pending < fillers);
            let is_repeated = |keys: &Keys<'_>, pending: Pending| {
                let class = keys.class_of(key, pending);
                let is_free = |&p: &Pending| !has(&used, p) && keys.is_lasting(key, place, p);
                // One that lasts shorter has to come first; else they are alike.
                let ends = |p: Pending| keys.record(key, p).ret;
                let mut earlier = (0..pending).filter(is_free);
                earlier.any(|p| keys.class_of(key, p) == class && ends(p) <= ends(pending))
            };
            // What the key needs next comes first.
            let order = planned.into_iter().chain((0..fillers).filter(|&p| Some(p) != planned));
            for pending in order.skip(frame.tried as usize) {
                frame.tried += 1;
                if has(&used, pending) || is_repeated(self.keys, pending) {
                    continue;
                }
                let Some(after) = self.keys.fill(key, place, state, pending) else { continue };
                let used = with(&used, pending);
                let Ok(filling) = self.keys.viable(key, place + 1, after, &used) else { continue };
                let cursor = self.cursor(key, (place + 1, after), used, filling);
                self.change(frame, key, cursor);
                self.leave(frame, key);
                self.chosen.push((slot, self.keys.keys[key].pending[pending as usize]));
                return true;
            }
            (frame.next, frame.tried) = (frame.next + 1, 0);
        }
        false
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
        frame.undo.push((key, std::mem::replace(&mut self.cursors[key], cursor)));
    }

    /// Takes back what was chosen for the gap of a frame.
    fn retreat(&mut self, frame: &mut Frame) {
        self.chosen.truncate(frame.filled);
        for (key, cursor) in frame.undo.drain(..).rev() {
            self.cursors[key] = cursor;
        }
    }
}
