//! Where a key stands: its state, and what it owes.
//!
//! A completed operation that tells no version is *silent*. It stands somewhere between what had
//! returned before it was called and what was called after it returned: at one of some slots. Until
//! those are over its key owes it: it fills a gap (it is *used*), or its result fits at one of those
//! slots and nothing changes (it is *met*). One that was met may still fill a gap instead. A key
//! that has done neither when the last of those slots is over does not fit there.
//!
//! **Claim.** What a key can do from a place on depends on its state and on which of the silent
//! operations that are still due were met and which were used, and on nothing else that it did. So
//! the look-ahead treats both together as one *standing*, and what it says of states is true of
//! standings. It would be unsound to let a slot pass at which a silent operation may stand without
//! asking whether it fits ([`settle`](Keys::settle) asks at all of them), or to call one due that
//! may come after all slots ([`Silent::due`]).
//!
//! Silent operations of one key that precede one another are used in that order. Those of several
//! keys are compared by the [search](super::search), and all of them once more when an order was
//! found ([`silent`](super::silent)).

use super::key::{Key, Keys, Pending};
use super::layout::Index;
use seriatim_spec::{ClassId, StateId};

/// A state of a key with what the key owes. Of a key that never owes anything it is the state.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) struct Standing(pub u32);

/// A completed operation of a key that tells no version.
pub(super) struct Silent {
    pub index: Index,
    pub class: ClassId,
    /// The first and the last slot at which it may stand without a change.
    pub first: u32,
    pub last: u32,
    /// The last slot by which it has to have happened; none if it may come after all of them.
    pub due: Option<u32>,
}

/// What a standing consists of; silent operations by their numbers, ascending.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Posture {
    pub state: StateId,
    pub met: Vec<u32>,
    pub used: Vec<u32>,
}

impl Posture {
    /// The posture in another state, to which a silent operation may have led.
    pub fn with(&self, state: StateId, silent: Option<u32>) -> Posture {
        let mut posture = Posture { state, ..self.clone() };
        if let Some(silent) = silent {
            posture.met.retain(|&met| met != silent);
            insert(&mut posture.used, silent);
        }
        posture
    }

    fn is_settled(&self, silent: u32) -> bool {
        self.met.contains(&silent) || self.used.contains(&silent)
    }
}

impl Key {
    /// The standing of a key at the start.
    pub fn start(&mut self, state: StateId) -> Standing {
        self.standing(Posture { state, met: Vec::new(), used: Vec::new() })
    }

    pub fn state(&self, standing: Standing) -> StateId {
        match self.silents.is_empty() {
            true => StateId(standing.0),
            false => self.postures[standing.0 as usize].state,
        }
    }

    pub fn posture(&self, standing: Standing) -> Posture {
        match self.silents.is_empty() {
            true => Posture { state: StateId(standing.0), met: Vec::new(), used: Vec::new() },
            false => self.postures[standing.0 as usize].clone(),
        }
    }

    fn standing(&mut self, posture: Posture) -> Standing {
        if self.silents.is_empty() {
            return Standing(posture.state.0);
        }
        let fresh = self.postures.len() as u32;
        let number = *self.numbers.entry(posture.clone()).or_insert(fresh);
        if number == fresh {
            self.postures.push(posture);
        }
        Standing(number)
    }

    /// The slots from a place to the next one.
    fn run(&self, at: usize, slots: u32) -> std::ops::Range<u32> {
        self.places[at].slot..self.places.get(at + 1).map_or(slots, |next| next.slot)
    }

    /// The silent operations that may stand at a place.
    fn active_at(&self, at: usize) -> &[u32] {
        let end = self.active_ends.get(at).copied().unwrap_or(0) as usize;
        let start = if at == 0 { 0 } else { self.active_ends.get(at - 1).copied().unwrap_or(0) };
        &self.active[start as usize..end]
    }

    /// The silent operation that one of those is which may fill gaps.
    pub fn silent_of(&self, pending: Pending) -> Option<u32> {
        pending.checked_sub(self.never)
    }
}

impl Keys<'_> {
    /// The earliest return of the silent operations that a key owes at a place.
    pub fn owed_by(&self, key: usize, at: u32, standing: Standing) -> u32 {
        let one = &self.keys[key];
        if one.silents.is_empty() {
            return u32::MAX;
        }
        let posture = &one.postures[standing.0 as usize];
        let open = one.active_at(at as usize).iter().filter(|&&silent| !posture.is_settled(silent));
        let ret = |&silent: &u32| self.layout.record(one.silents[silent as usize].index).ret;
        open.map(ret).min().unwrap_or(u32::MAX)
    }

    /// What becomes of a standing behind a place and up to the next one; none if something was due
    /// there.
    pub fn settle(&mut self, key: usize, at: u32, mut posture: Posture) -> Option<Standing> {
        let Keys { layout, steps, keys, .. } = self;
        let one = &mut keys[key];
        let run = one.run(at as usize, layout.updates.len() as u32);
        for &number in one.active_at(at as usize) {
            let silent = &one.silents[number as usize];
            if !posture.is_settled(number) {
                let mut slots = run.start.max(silent.first)..run.end.min(silent.last + 1);
                let one = (silent.index, silent.class);
                if slots.any(|slot| steps.may_fit(layout, slot, one, posture.state)) {
                    insert(&mut posture.met, number);
                }
            }
            if silent.due.is_some_and(|due| due < run.end) {
                if !posture.is_settled(number) {
                    return None;
                }
                posture.met.retain(|&other| other != number);
                posture.used.retain(|&other| other != number);
            }
        }
        Some(one.standing(posture))
    }
}

/// Adds a number to ascending ones.
pub(super) fn insert(numbers: &mut Vec<u32>, number: u32) {
    if let Err(place) = numbers.binary_search(&number) {
        numbers.insert(place, number);
    }
}
