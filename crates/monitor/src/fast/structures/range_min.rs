//! A tree of minima over numbers by cell: the first or last cell of a range whose number is small
//! enough, in O(log n).

/// Numbers by cell.
pub(in crate::fast) struct RangeMin {
    leaves: usize,
    node: Vec<u32>,
}

impl RangeMin {
    /// The tree over some numbers.
    pub fn new(numbers: &[u32]) -> Self {
        let leaves = numbers.len().next_power_of_two().max(1);
        let mut node = vec![u32::MAX; 2 * leaves];
        node[leaves..][..numbers.len()].copy_from_slice(numbers);
        for index in (1..leaves).rev() {
            node[index] = node[2 * index].min(node[2 * index + 1]);
        }
        RangeMin { leaves, node }
    }

    /// The first cell from `from` to `to` whose number is at most `limit`.
    pub fn first(&self, from: u32, to: u32, limit: u32) -> Option<u32> {
        if from > to {
            return None;
        }
        let mut node = from as usize + self.leaves;
        while self.node[node] > limit {
            // To the next subtree on the right.
            while node & 1 == 1 {
                node >>= 1;
            }
            if node == 0 {
                return None;
            }
            node += 1;
        }
        while node < self.leaves {
            node = 2 * node + usize::from(self.node[2 * node] > limit);
        }
        let cell = (node - self.leaves) as u32;
        (cell <= to).then_some(cell)
    }

    /// The last cell from `from` to `to` whose number is at most `limit`.
    pub fn last(&self, from: u32, to: u32, limit: u32) -> Option<u32> {
        if from > to {
            return None;
        }
        let mut node = to as usize + self.leaves;
        while self.node[node] > limit {
            // To the next subtree on the left.
            while node & 1 == 0 {
                node >>= 1;
            }
            if node == 1 {
                return None;
            }
            node -= 1;
        }
        while node < self.leaves {
            node = 2 * node + usize::from(self.node[2 * node + 1] <= limit);
        }
        let cell = (node - self.leaves) as u32;
        (cell >= from).then_some(cell)
    }
}
