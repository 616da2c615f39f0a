//! Values that have left a live queue while a `front` that is still open may return them.
//!
//! Such a `front` is right, and says nothing, if the value's dequeue was called after it. If that
//! was called before it and returned after it, the value stayed until the call of the `front`, and
//! what must be ahead of what may change: of these, at most one for each operation that was open
//! when the `front` was called, more is kept.

use crate::fast::objects::flag::Moment;
use crate::fast::online::rename_keys;
use crate::fast::queue::online::Running;
use crate::fast::queue::residents::Inside;
use hashbrown::HashMap;
use seriatim_history::ValueId;
use std::collections::VecDeque;

/// What a `front` that returned a value which has left tells.
pub(in crate::fast) enum Found {
    /// Nothing: the value left while the `front` was open.
    Nothing,
    /// That the value stayed until the `front` was called.
    Stayed(Inside),
    /// Several copies of the value left: which one it saw is open.
    Several,
}

/// A value that has left.
struct Left {
    value: ValueId,
    /// The call and the return of its dequeue.
    dequeue: (Moment, Moment),
    /// What a `front` that was called while it was dequeued needs to know.
    inside: Option<Inside>,
    /// Whether an equal one that left earlier is remembered.
    is_repeated: bool,
}

/// Values that have left while a query was open.
#[derive(Default)]
pub(in crate::fast) struct Gone {
    /// By the return of the dequeue; the first has number `first`.
    left: VecDeque<Left>,
    first: u64,
    /// By value, the number of the last that left.
    last: HashMap<ValueId, u64>,
    /// The numbers of those of which more is kept.
    watched: Vec<u64>,
}

impl Gone {
    /// How many values are remembered.
    pub fn len(&self) -> usize {
        self.left.len()
    }

    /// A value leaves by a dequeue.
    pub fn add(
        &mut self,
        value: ValueId,
        inside: Inside,
        dequeue: (Moment, Moment),
        queries: &[Running],
    ) {
        if queries.is_empty() {
            return;
        }
        let number = self.first + self.left.len() as u64;
        let is_watched = queries.iter().any(|query| query.call > dequeue.0);
        if is_watched {
            self.watched.push(number);
        }
        let inside = is_watched.then_some(inside);
        let is_repeated = self.last.insert(value, number).is_some();
        self.left.push_back(Left { value, dequeue, inside, is_repeated });
    }

    /// What it tells that a query called at `call` saw a value; `None` if none that left can be
    /// meant.
    pub fn find(&self, value: ValueId, call: Moment) -> Option<Found> {
        let number = *self.last.get(&value)?;
        let left = &self.left[(number - self.first) as usize];
        match (left.dequeue, left.inside) {
            ((called, _), _) if called > call => Some(Found::Nothing),
            ((_, returned), _) if returned < call => None,
            (_, Some(inside)) if !left.is_repeated => Some(Found::Stayed(inside)),
            _ => Some(Found::Several),
        }
    }

    /// An operation called at `last` saw the value.
    pub fn set_last(&mut self, value: ValueId, last: Moment) {
        if let Some(number) = self.last.get(&value)
            && let Some(inside) = &mut self.left[(number - self.first) as usize].inside
        {
            inside.last = last;
        }
    }

    /// What must be ahead of a value that has not left before `stayed` must have left by `bound`.
    pub fn bind(&mut self, value: ValueId, stayed: Moment, bound: Moment) {
        for &number in &self.watched {
            let left = &mut self.left[(number - self.first) as usize];
            if let Some(inside) = &mut left.inside
                && left.value != value
                && inside.leads(stayed)
            {
                inside.deadline = inside.deadline.min(bound);
            }
        }
    }

    /// Gives the values new ids.
    pub fn rename(&mut self, new_id: &mut dyn FnMut(ValueId) -> ValueId) {
        self.left.iter_mut().for_each(|left| left.value = new_id(left.value));
        rename_keys(&mut self.last, new_id);
    }

    /// Forgets what no open query can return.
    pub fn forget(&mut self, queries: &[Running]) {
        let oldest = queries.first().map_or(Moment::MAX, |query| query.call);
        while let Some(left) = self.left.front()
            && left.dequeue.1 < oldest
        {
            if self.last.get(&left.value) == Some(&self.first) {
                self.last.remove(&left.value);
            }
            self.left.pop_front();
            self.first += 1;
        }
        self.watched.retain(|&number| number >= self.first);
    }
}
