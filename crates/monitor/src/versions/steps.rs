//! The object's steps at versions, with what it declared about them held against every one.

use super::aside::Possible;
use super::layout::{Index, Layout};
use seriatim_spec::{Aside, Cancel, ClassId, StateId, Version, Versioned};

/// How many steps the engine takes before it gives way to the general search.
const LIMIT: u64 = 60_000_000;

/// An automaton whose declarations are checked.
pub(super) struct Steps<'a> {
    pub automaton: Box<dyn Versioned + 'a>,
    /// Why nothing that was found out since counts.
    pub declined: Option<String>,
    /// What may stand aside along the slots.
    pub possible: Possible,
    cancel: Cancel,
    taken: u64,
    buffer: Vec<(StateId, u64)>,
}

impl<'a> Steps<'a> {
    pub fn new(automaton: Box<dyn Versioned + 'a>, cancel: &Cancel) -> Self {
        let (declined, taken, buffer) = (None, 0, Vec::new());
        let possible = Possible::Constant;
        Steps { automaton, declined, possible, cancel: cancel.clone(), taken, buffer }
    }

    /// The state after a completed operation of a class; `None` if it cannot return what it did.
    pub fn told(&mut self, state: StateId, class: ClassId, told: Version) -> Option<StateId> {
        let before = match told {
            Version::Update(version) => version - 1,
            Version::Read(version) => version,
        };
        let (after, version) = self.step(state, class, before)?;
        let is_as_declared = match told {
            Version::Update(promised) => version == promised,
            Version::Read(_) => version == before && after == state,
        };
        if !is_as_declared {
            self.decline(format!("an operation that tells {told:?} leaves version {version}"));
            return None;
        }
        self.leaves_aside(state, after).then_some(after)
    }

    /// Whether a step left alone what stands aside, as all do that change a version.
    fn leaves_aside(&mut self, before: StateId, after: StateId) -> bool {
        if before == after || matches!(self.possible, Possible::Constant) {
            return true;
        }
        let is_left = self.automaton.is_same_aside(after, before);
        if !is_left {
            self.decline("an update changes what is said to change at no version".to_owned());
        }
        is_left
    }

    /// What may stand aside after an operation that changes nothing else.
    pub fn changes(&mut self, state: StateId, class: ClassId, version: u64) -> Vec<StateId> {
        self.take(state, class, version);
        let found = std::mem::take(&mut self.buffer);
        for &(after, now) in &found {
            if now != version || self.automaton.with_aside(state, after) != after {
                let why = "what is said to change at no version changes more than that";
                self.decline(why.to_owned());
            }
        }
        found.into_iter().map(|(after, _)| after).collect()
    }

    /// Whether a completed operation that changes nothing, given by record and class, fits a state
    /// at a slot, with what stands aside in it.
    pub fn fits_at(
        &mut self,
        layout: &Layout,
        slot: u32,
        (index, class): (Index, ClassId),
        state: StateId,
    ) -> bool {
        match layout.record(index).told {
            Some(told) => self.told(state, class, told).is_some(),
            None => self.unchanged(state, class, layout.version(slot)),
        }
    }

    /// The same, with anything that may stand aside at the slot.
    pub fn may_fit(
        &mut self,
        layout: &Layout,
        slot: u32,
        operation: (Index, ClassId),
        state: StateId,
    ) -> bool {
        if layout.record(operation.0).aside == Aside::Apart {
            return self.fits_at(layout, slot, operation, state);
        }
        let Some(all) = self.possible.at(slot).map(<[StateId]>::to_vec) else { return true };
        all.into_iter().any(|aside| {
            let joined = self.automaton.with_aside(state, aside);
            self.fits_at(layout, slot, operation, joined)
        })
    }

    /// The state after an operation that never returned, if it makes this version.
    pub fn untold(&mut self, state: StateId, class: ClassId, makes: u64) -> Option<StateId> {
        self.take(state, class, makes - 1);
        let mut made = None;
        for place in 0..self.buffer.len() {
            let (after, version) = self.buffer[place];
            let problem = match version {
                version if version == makes => match made.replace(after) {
                    None => continue,
                    Some(_) => "an operation may change the object in several ways".to_owned(),
                },
                version if version + 1 == makes && after == state => continue,
                version if version + 1 == makes => {
                    "an operation changes the object and not its version".to_owned()
                }
                _ => format!("an operation leads from version {} to {version}", makes - 1),
            };
            self.decline(problem);
            return None;
        }
        made.filter(|&made| self.leaves_aside(state, made))
    }

    /// All that an operation may lead to.
    pub fn outcomes(&mut self, state: StateId, class: ClassId, before: u64) -> Vec<(StateId, u64)> {
        self.take(state, class, before);
        self.buffer.clone()
    }

    /// Whether a completed operation that tells nothing may happen without a change.
    pub fn unchanged(&mut self, state: StateId, class: ClassId, version: u64) -> bool {
        self.take(state, class, version);
        self.buffer.contains(&(state, version))
    }

    fn step(&mut self, state: StateId, class: ClassId, before: u64) -> Option<(StateId, u64)> {
        self.take(state, class, before);
        if self.buffer.len() > 1 {
            self.decline("an operation with its result leaves a choice".to_owned());
        }
        self.buffer.first().copied()
    }

    /// Fills the buffer with the successors of a state.
    fn take(&mut self, state: StateId, class: ClassId, before: u64) {
        self.count();
        self.buffer.clear();
        if let Err(why) = self.automaton.step(state, class, before, &mut self.buffer) {
            self.decline(why);
            self.buffer.clear();
        }
    }

    /// What a step led to that had been taken before. It counts as a step: the limits are to be met
    /// by a search that does nothing else.
    pub fn recall<T>(&mut self, known: Option<T>) -> Option<T> {
        self.count();
        known
    }

    fn count(&mut self) {
        self.taken += 1;
        if self.taken > LIMIT {
            self.decline("it takes too many steps".to_owned());
        }
        if self.taken.is_multiple_of(1024) && self.cancel.is_raised() {
            self.decline("the time is over".to_owned());
        }
    }

    pub fn decline(&mut self, why: String) {
        self.declined.get_or_insert(why);
    }

    /// Whether all reads of a slot, given by record and class, fit a state; the first that does
    /// not.
    pub fn misfit(
        &mut self,
        layout: &Layout,
        slot: u32,
        reads: &[(u32, ClassId)],
        state: StateId,
    ) -> Option<u32> {
        reads
            .iter()
            .find(|&&read| !self.may_fit(layout, slot, read, state))
            .map(|&(index, _)| index)
    }
}
