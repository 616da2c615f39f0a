//! The values inside a live queue: by value, and in the line in which they entered.
//!
//! A queue may hold millions of values of which little is to be known: when their enqueue was
//! called and by when they were inside. They lie in slots of 24 bytes that are used again; where a
//! value is, a `directory` tells. More is noted only of the few that were seen at the front or must
//! have left. What left stays in the line until it comes to the front, or until half of the line is
//! gone; only then its slot is used again. O(1) an operation, amortized; memory: the most values
//! that were inside at once.

use crate::fast::objects::flag::Moment;
use crate::fast::online::directory::Directory;
use hashbrown::HashMap;
use seriatim_history::ValueId;
use std::collections::VecDeque;

/// What is known of a value inside, or being enqueued, or gone while a `front` may still return it.
#[derive(Clone, Copy, Debug)]
pub(in crate::fast) struct Inside {
    /// The call of its enqueue.
    pub call: Moment,
    /// By when it was in the queue; [`OPEN`] while that is not certain.
    pub entered: Moment,
    /// When it had been at the front for the first time, or [`OPEN`].
    pub first: Moment,
    /// The last call of an operation that saw it, or 0.
    pub last: Moment,
    /// By when it must have left, or [`OPEN`].
    pub deadline: Moment,
}

impl Inside {
    /// Before when it has not left.
    pub fn stayed(&self) -> Moment {
        self.last.max(self.call)
    }

    /// Whether it must be ahead of one that has not left before a moment.
    pub fn leads(&self, stayed: Moment) -> bool {
        self.first < stayed || self.deadline < stayed
    }

    /// By when whatever must be ahead of it must have left.
    pub fn bound(&self) -> Moment {
        self.first.min(self.deadline)
    }
}

/// Never, so far.
pub(in crate::fast) const OPEN: Moment = Moment::MAX;

/// Where a value is kept as long as it is inside.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(in crate::fast) struct Slot(u32);

/// A value inside or being enqueued.
#[derive(Clone, Copy)]
struct Resident {
    call: Moment,
    entered: Moment,
    /// [`ValueId::ABSENT`] if it is gone.
    value: ValueId,
    is_noted: bool,
    is_in_line: bool,
}

/// What is noted of a few values, as in [`Inside`].
#[derive(Clone, Copy)]
struct Note {
    first: Moment,
    last: Moment,
    deadline: Moment,
}

/// Nothing to note.
const PLAIN: Note = Note { first: OPEN, last: 0, deadline: OPEN };

/// The values inside a queue, or being enqueued.
#[derive(Default)]
pub(in crate::fast) struct Residents {
    slots: Vec<Resident>,
    free: Vec<Slot>,
    by_value: Directory,
    notes: HashMap<Slot, Note>,
    /// By the moment by which they were inside; some that are gone linger.
    line: VecDeque<Slot>,
}

impl Residents {
    /// How many values there are.
    pub fn len(&self) -> usize {
        self.by_value.len()
    }

    /// A value is being enqueued; nothing if an equal one is inside.
    pub fn add(&mut self, value: ValueId, call: Moment) -> Option<Slot> {
        if self.by_value.get(value).is_some() {
            return None;
        }
        let (is_noted, is_in_line) = (false, false);
        let resident = Resident { call, entered: OPEN, value, is_noted, is_in_line };
        let slot = self.free.pop().unwrap_or(Slot(self.slots.len() as u32));
        match self.slots.get_mut(slot.0 as usize) {
            Some(place) => *place = resident,
            None => self.slots.push(resident),
        }
        self.by_value.insert(value, slot.0);
        Some(slot)
    }

    /// Where a value is, if it is inside or being enqueued.
    #[inline]
    pub fn find(&self, value: ValueId) -> Option<Slot> {
        self.by_value.get(value).map(Slot)
    }

    /// What is known of a value.
    #[inline]
    pub fn get(&self, slot: Slot) -> Inside {
        let Resident { call, entered, is_noted, .. } = self.slots[slot.0 as usize];
        let note = if is_noted { self.notes[&slot] } else { PLAIN };
        let Note { first, last, deadline } = note;
        Inside { call, entered, first, last, deadline }
    }

    /// Notes when a value was seen and by when it must have left.
    pub fn set(&mut self, slot: Slot, Inside { first, last, deadline, .. }: Inside) {
        self.slots[slot.0 as usize].is_noted = true;
        self.notes.insert(slot, Note { first, last, deadline });
    }

    /// A value is in the queue by now.
    pub fn enter(&mut self, slot: Slot, now: Moment) {
        let resident = &mut self.slots[slot.0 as usize];
        resident.entered = now;
        resident.is_in_line = true;
        self.line.push_back(slot);
        if self.line.len() > 64 + 2 * self.by_value.len() {
            let (slots, free) = (&self.slots, &mut self.free);
            self.line.retain(|&slot| {
                let is_gone = slots[slot.0 as usize].value == ValueId::ABSENT;
                free.extend(is_gone.then_some(slot));
                !is_gone
            });
        }
    }

    /// A value that has entered leaves.
    pub fn remove(&mut self, slot: Slot) {
        let resident = &mut self.slots[slot.0 as usize];
        let value = std::mem::replace(&mut resident.value, ValueId::ABSENT);
        if std::mem::take(&mut resident.is_noted) {
            self.notes.remove(&slot);
        }
        self.by_value.remove(value);
        if !resident.is_in_line {
            self.free.push(slot);
        }
    }

    /// Takes the first value out of the line if it entered no later than at a moment.
    pub fn next_until(&mut self, latest: Moment) -> Option<Slot> {
        while let Some(&slot) = self.line.front() {
            let resident = &mut self.slots[slot.0 as usize];
            let is_gone = resident.value == ValueId::ABSENT;
            if !is_gone && resident.entered > latest {
                return None;
            }
            self.line.pop_front();
            resident.is_in_line = false;
            match is_gone {
                true => self.free.push(slot),
                false => return Some(slot),
            }
        }
        None
    }

    /// Gives the values new ids.
    pub fn rename(&mut self, new_id: &mut dyn FnMut(ValueId) -> ValueId) {
        // In the old order, so that consecutive ids stay so.
        for slot in self.by_value.drain() {
            let value = &mut self.slots[slot as usize].value;
            *value = new_id(*value);
            self.by_value.insert(*value, slot);
        }
    }
}
