//! Which of some intervals hold a point, each found once and then taken out.
//!
//! The intervals are sorted by their first cell; a tree of maxima over their last cells finds, in
//! any range of that order, one that reaches far enough. O(log n) a step, arrays only.

/// The last cells of intervals, in an order that the caller knows.
pub(in crate::fast) struct StabTree {
    leaves: usize,
    /// Last cell plus one; 0 when taken out.
    node: Vec<u32>,
}

impl StabTree {
    /// The tree of the last cells of intervals.
    pub fn new(last_cells: impl ExactSizeIterator<Item = u32>) -> Self {
        let leaves = last_cells.len().next_power_of_two().max(1);
        let mut node = vec![0; 2 * leaves];
        for (place, last) in node[leaves..].iter_mut().zip(last_cells) {
            *place = last + 1;
        }
        for index in (1..leaves).rev() {
            node[index] = node[2 * index].max(node[2 * index + 1]);
        }
        StabTree { leaves, node }
    }

    /// Takes out one of the intervals `from..to` that reach `cell`, and names it.
    pub fn take(&mut self, from: u32, to: u32, cell: u32) -> Option<u32> {
        let mut left = from as usize + self.leaves;
        let mut right = to as usize + self.leaves;
        while left < right {
            if right & 1 == 1 {
                right -= 1;
                if self.node[right] > cell {
                    return Some(self.take_below(right, cell));
                }
            }
            if left & 1 == 1 {
                if self.node[left] > cell {
                    return Some(self.take_below(left, cell));
                }
                left += 1;
            }
            left >>= 1;
            right >>= 1;
        }
        None
    }

    /// Takes an interval out.
    pub fn remove(&mut self, index: u32) {
        let mut node = index as usize + self.leaves;
        self.node[node] = 0;
        while node > 1 {
            node >>= 1;
            let most = self.node[2 * node].max(self.node[2 * node + 1]);
            if self.node[node] == most {
                return;
            }
            self.node[node] = most;
        }
    }

    fn take_below(&mut self, mut node: usize, cell: u32) -> u32 {
        while node < self.leaves {
            node = 2 * node + usize::from(self.node[2 * node] <= cell);
        }
        let index = (node - self.leaves) as u32;
        self.remove(index);
        index
    }
}
