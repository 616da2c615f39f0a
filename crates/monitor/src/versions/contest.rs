//! Whether keys contend for gaps in vain.
//!
//! A relaxation of the whole question that keeps what ties the keys together: each gap goes to one
//! of them. All else is left open. Operations can be used again and again, so a key is in a *set*
//! of states, and a gap that goes to it takes each of them to all that its operations make of it.
//! The object is in one of some *divisions*: a set for each key.
//!
//! **Claim.** If no division is left at some slot, the gaps cannot be filled. For a filling gives
//! each gap to one key (to nobody, perhaps, if the version is sparse), and along it the state of
//! each key lies in its set of the division that gave the gaps to the same keys; a set that is
//! empty holds no state. It would be unsound to leave out a division for any other reason than an
//! empty set or another one that is equal to it: where there are too many, nothing is claimed.

use super::key::Keys;
use super::standing::Standing;
use hashbrown::{HashMap, HashSet};
use seriatim_limits::InOrder;
use seriatim_spec::{Rise, StateId};

/// The most divisions of one slot.
const MOST: usize = 4_000;

/// A set of states, by number.
type Set = u32;

/// Whether no filling of the gaps can be right, because keys contend for them. A *no* says nothing.
pub(super) fn is_in_vain(keys: &mut Keys<'_>, start: StateId) -> bool {
    let mut contest = Contest {
        keys,
        sets: Vec::new(),
        numbers: HashMap::new(),
        passed: HashMap::new(),
        filled: HashMap::new(),
    };
    contest.run(start)
}

struct Contest<'k, 'a> {
    keys: &'k mut Keys<'a>,
    sets: Vec<Vec<Standing>>,
    numbers: HashMap<Vec<Standing>, Set>,
    /// What became of a key's set at a place that it did not fill, and at one that it filled.
    passed: HashMap<(usize, u32, Set), Option<Set>>,
    filled: HashMap<(usize, u32, Set), Option<Set>>,
}

/// A key at one of its places.
type Visit = (usize, u32);

impl Contest<'_, '_> {
    fn run(&mut self, start: StateId) -> bool {
        let mut first = Vec::with_capacity(self.keys.keys.len());
        for key in 0..self.keys.keys.len() {
            let start = self.keys.keys[key].start(start);
            let Some(set) = self.number(vec![start]) else { return false };
            first.push(set);
        }
        let mut divisions = HashSet::from([first]);
        for (visits, slot) in self.visits().iter().zip(0..) {
            let is_gap = slot > 0 && self.keys.layout.updates[slot].is_none();
            let mut next = HashSet::new();
            for division in divisions.iter().filter(|_| !visits.is_empty()) {
                match is_gap {
                    true => self.give(division, visits, &mut next),
                    false => next.extend(self.leave(division, visits, None)),
                }
                if next.len() > MOST {
                    return false;
                }
            }
            if self.keys.steps.declined.is_some() {
                return false;
            }
            if !visits.is_empty() {
                divisions = next;
            }
            if divisions.is_empty() {
                return true;
            }
        }
        false
    }

    /// Who has a place at each slot.
    fn visits(&self) -> Vec<Vec<Visit>> {
        let mut visits = vec![Vec::new(); self.keys.layout.updates.len()];
        for (key, one) in self.keys.keys.iter().enumerate() {
            for (place, at) in one.places.iter().zip(0..) {
                visits[place.slot as usize].push((key, at));
            }
        }
        visits
    }

    /// Gives a gap to each of the keys in turn.
    fn give(&mut self, division: &[Set], visits: &[Visit], next: &mut HashSet<Vec<Set>>) {
        if self.keys.layout.rise == Rise::Sparse {
            next.extend(self.leave(division, visits, None));
        }
        for &(key, at) in visits {
            if self.keys.keys[key].places[at as usize].is_gap {
                next.extend(self.leave(division, visits, Some(key)));
            }
        }
    }

    /// What becomes of a division at a slot that one key fills, or none.
    fn leave(&mut self, division: &[Set], visits: &[Visit], by: Option<usize>) -> Option<Vec<Set>> {
        let mut after = division.to_vec();
        for &(key, at) in visits {
            after[key] = match by == Some(key) {
                true => self.fill(key, at, division[key])?,
                false => self.pass(key, at, division[key])?,
            };
        }
        Some(after)
    }

    fn pass(&mut self, key: usize, at: u32, set: Set) -> Option<Set> {
        if let Some(&known) = self.passed.get(&(key, at, set)) {
            return known;
        }
        let states = self.sets[set as usize].clone();
        let after = states.iter().filter_map(|&state| self.keys.pass(key, at, state)).collect();
        let after = self.number(after);
        self.passed.insert((key, at, set), after);
        after
    }

    fn fill(&mut self, key: usize, at: u32, set: Set) -> Option<Set> {
        if let Some(&known) = self.filled.get(&(key, at, set)) {
            return known;
        }
        let mut after = Vec::new();
        for pending in self.keys.fillers(key, at) {
            for place in 0..self.sets[set as usize].len() {
                let state = self.sets[set as usize][place];
                after.extend(self.keys.fill(key, at, state, pending));
            }
        }
        let after = self.number(after);
        self.filled.insert((key, at, set), after);
        after
    }

    /// The number of a set, unless it is empty.
    fn number(&mut self, mut states: Vec<Standing>) -> Option<Set> {
        states.put_in_order();
        states.dedup();
        if states.is_empty() {
            return None;
        }
        let fresh = self.sets.len() as Set;
        let number = *self.numbers.entry(states.clone()).or_insert(fresh);
        if number == fresh {
            self.sets.push(states);
        }
        Some(number)
    }
}
