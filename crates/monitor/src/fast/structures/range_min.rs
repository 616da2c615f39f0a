//! The first or last cell of a range whose number is small enough, in O(log n): a tree of the minima
//! of blocks of cells, which are looked at one by one.

/// Numbers by cell.
pub(in crate::fast) struct RangeMin<'n> {
    numbers: &'n [u32],
    leaves: usize,
    node: Vec<u32>,
}

/// How many cells a block has.
const BLOCK: usize = 16;

impl<'n> RangeMin<'n> {
    /// The tree over some numbers.
    pub fn new(numbers: &'n [u32]) -> Self {
        let blocks = numbers.chunks(BLOCK);
        let leaves = blocks.len().next_power_of_two().max(1);
        let mut node = vec![u32::MAX; 2 * leaves];
        for (leaf, block) in node[leaves..].iter_mut().zip(blocks) {
            *leaf = block.iter().copied().min().unwrap_or(u32::MAX);
        }
        for index in (1..leaves).rev() {
            node[index] = node[2 * index].min(node[2 * index + 1]);
        }
        RangeMin { numbers, leaves, node }
    }

    /// The first cell from `from` to `to` whose number is at most `limit`, which is below the
    /// largest number.
    pub fn first(&self, from: u32, to: u32, limit: u32) -> Option<u32> {
        let (from, to) = (from as usize, (to as usize).min(self.numbers.len().checked_sub(1)?));
        let within = |from: usize, to: usize| {
            (from..=to).find(|&cell| self.numbers[cell] <= limit).map(|cell| cell as u32)
        };
        let end = from / BLOCK * BLOCK + BLOCK - 1;
        if end >= to {
            return within(from, to);
        }
        within(from, end).or_else(|| {
            let begin = self.first_block(from / BLOCK + 1, limit)? * BLOCK;
            within(begin, to.min(begin + BLOCK - 1))
        })
    }

    /// The last cell from `from` to `to` whose number is at most `limit`, which is below the
    /// largest number.
    pub fn last(&self, from: u32, to: u32, limit: u32) -> Option<u32> {
        let (from, to) = (from as usize, (to as usize).min(self.numbers.len().checked_sub(1)?));
        let within = |from: usize, to: usize| {
            (from..=to).rev().find(|&cell| self.numbers[cell] <= limit).map(|cell| cell as u32)
        };
        let begin = to / BLOCK * BLOCK;
        if begin <= from {
            return within(from, to);
        }
        within(begin, to).or_else(|| {
            let begin = self.last_block(to / BLOCK - 1, limit)? * BLOCK;
            within(begin.max(from), begin + BLOCK - 1)
        })
    }

    /// The first block from one on that has such a cell.
    fn first_block(&self, from: usize, limit: u32) -> Option<usize> {
        let mut node = from + self.leaves;
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
        Some(node - self.leaves)
    }

    /// The last block up to one that has such a cell.
    fn last_block(&self, to: usize, limit: u32) -> Option<usize> {
        let mut node = to + self.leaves;
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
        Some(node - self.leaves)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seriatim_testing::Random;

    #[test]
    fn the_first_and_the_last_are_what_looking_at_all_finds() {
        let mut random = Random(5);
        for length in [1, 2, 15, 16, 17, 31, 32, 33, 100, 257] {
            for _ in 0..2_000 {
                let most = 1 + random.below(40);
                let numbers: Vec<u32> =
                    (0..length).map(|_| 5 + random.below(most) as u32).collect();
                let tree = RangeMin::new(&numbers);
                let (from, to) = (random.below(length) as u32, random.below(length) as u32);
                let limit = 4 + random.below(most + 2) as u32;
                let fits = |cell: &u32| numbers[*cell as usize] <= limit;
                assert_eq!(tree.first(from, to, limit), (from..=to).find(fits));
                assert_eq!(tree.last(from, to, limit), (from..=to).rev().find(fits));
            }
        }
    }
}
