//! Open operations of one kind, by call.
//!
//! As a rule few are open: a short list is searched from its beginning. In a long one an operation
//! is found by its number, if operations were called in the order of their numbers, as in every
//! recorded history; and what is taken out leaves a hole until half of the list is holes. Then
//! taking one out costs O(log n), amortized; a live stream, which uses numbers again, pays
//! O(operations open).

use crate::fast::objects::flag::Moment;
use seriatim_history::OpId;

/// An open operation.
#[derive(Clone, Copy, Debug)]
pub(in crate::fast) struct Open {
    pub op: OpId,
    pub call: Moment,
}

/// Open operations, by call.
#[derive(Clone, Debug, Default)]
pub(in crate::fast) struct OpenCalls {
    /// Those with a call of [`HOLE`] have returned.
    entries: Vec<Open>,
    holes: usize,
    /// How many, from the beginning, have ascending numbers.
    sorted: usize,
}

const HOLE: Moment = Moment::MAX;

/// Up to how many operations a list is short.
const SHORT: usize = 32;

impl OpenCalls {
    /// How many are open.
    pub fn len(&self) -> usize {
        self.entries.len() - self.holes
    }

    /// Whether none is open.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The open operations, by call.
    pub fn iter(&self) -> impl Iterator<Item = &Open> {
        self.entries.iter().filter(|open| open.call != HOLE)
    }

    /// An operation is called.
    pub fn push(&mut self, op: OpId, call: Moment) {
        let ascends = self.entries.last().is_none_or(|last| last.op < op);
        if ascends && self.sorted == self.entries.len() {
            self.sorted += 1;
        }
        self.entries.push(Open { op, call });
    }

    /// Takes an operation out and gives its call.
    pub fn take(&mut self, op: OpId) -> Option<Moment> {
        let index = self.position(op)?;
        if self.entries.len() <= SHORT && self.holes == 0 {
            self.sorted -= usize::from(index < self.sorted);
            return Some(self.entries.remove(index).call);
        }
        let call = std::mem::replace(&mut self.entries[index].call, HOLE);
        self.holes += 1;
        if 2 * self.holes > self.entries.len() {
            self.entries.retain(|open| open.call != HOLE);
            self.holes = 0;
            let ascend = |two: &[Open]| two[0].op < two[1].op;
            let broken = self.entries.windows(2).position(|two| !ascend(two));
            self.sorted = broken.map_or(self.entries.len(), |index| index + 1);
        }
        Some(call)
    }

    fn position(&self, op: OpId) -> Option<usize> {
        let is_it = |open: &Open| open.op == op && open.call != HOLE;
        if self.entries.len() > SHORT {
            let index = self.entries[..self.sorted].partition_point(|open| open.op < op);
            if self.entries.get(index).is_some_and(is_it) {
                return Some(index);
            }
        }
        self.entries.iter().position(is_it)
    }
}
