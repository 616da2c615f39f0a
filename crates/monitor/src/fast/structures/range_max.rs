//! A tree of maxima over moments by cell that may grow: cells are added behind and raised, and the
//! largest of a range is found, in O(log n).

use crate::fast::objects::flag::Moment;
use std::ops::Range;

/// Moments by cell.
pub(in crate::fast) struct RangeMax {
    len: usize,
    leaves: usize,
    /// One more than each moment, or nothing.
    node: Vec<Moment>,
}

impl RangeMax {
    /// The tree over some moments.
    pub fn new(moments: impl ExactSizeIterator<Item = Moment>) -> Self {
        let len = moments.len();
        let leaves = (len + 1).next_power_of_two() * 2;
        let mut node = vec![0; 2 * leaves];
        for (cell, moment) in moments.enumerate() {
            node[leaves + cell] = moment + 1;
        }
        for index in (1..leaves).rev() {
            node[index] = node[2 * index].max(node[2 * index + 1]);
        }
        RangeMax { len, leaves, node }
    }

    /// Adds a cell behind the others.
    pub fn push(&mut self, moment: Moment) {
        if self.len == self.leaves {
            let moments: Vec<Moment> =
                self.node[self.leaves..].iter().map(|moment| moment - 1).collect();
            *self = RangeMax::new(moments.into_iter());
        }
        self.len += 1;
        self.raise(self.len - 1, moment);
    }

    /// Raises the moment of a cell.
    pub fn raise(&mut self, cell: usize, moment: Moment) {
        let mut node = cell + self.leaves;
        while node > 0 && self.node[node] < moment + 1 {
            self.node[node] = moment + 1;
            node /= 2;
        }
    }

    /// The largest of a range of cells.
    pub fn max(&self, cells: Range<usize>) -> Option<Moment> {
        let (mut from, mut to) = (cells.start + self.leaves, cells.end + self.leaves);
        let mut largest = 0;
        while from < to {
            if from % 2 == 1 {
                largest = largest.max(self.node[from]);
                from += 1;
            }
            if to % 2 == 1 {
                to -= 1;
                largest = largest.max(self.node[to]);
            }
            from /= 2;
            to /= 2;
        }
        largest.checked_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_list_that_is_looked_through() {
        let mut seed = 5u64;
        let mut below = |limit: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % limit
        };
        let mut list = vec![3];
        let mut tree = RangeMax::new(list.iter().copied());
        for _ in 0..2_000 {
            let moment = below(1_000);
            if below(8) == 0 {
                list.push(moment);
                tree.push(moment);
            } else {
                let cell = below(list.len() as u64) as usize;
                list[cell] = list[cell].max(moment);
                tree.raise(cell, moment);
            }
            let from = below(list.len() as u64 + 1) as usize;
            let to = from + below((list.len() - from) as u64 + 1) as usize;
            assert_eq!(tree.max(from..to), list[from..to].iter().max().copied());
        }
    }
}
