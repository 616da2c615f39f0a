//! Numbers under addition to ranges, with the leftmost zero.
//!
//! A segment tree in one array without push-down: each node holds how much the minimum below it
//! exceeds that of its sibling pair, and the root holds the minimum of all. Adding to a range
//! touches the two paths from its ends and stops where nothing changes any more. O(log n) a step.

/// Numbers at least zero: add to a range, find the leftmost zero.
pub(in crate::fast) struct MinTree {
    leaves: usize,
    node: Vec<i32>,
}

/// More than any count; what is raised by it is never zero again.
const OUT: i32 = 1 << 29;

impl MinTree {
    /// The tree of some numbers.
    pub fn new(numbers: &[i32]) -> Self {
        // One spare leaf at either end: the ends of a range are named by their neighbours.
        let leaves = (numbers.len() + 2).next_power_of_two();
        let mut node = vec![OUT; 2 * leaves];
        node[leaves + 1..][..numbers.len()].copy_from_slice(numbers);
        for index in (1..leaves).rev() {
            let least = node[2 * index].min(node[2 * index + 1]);
            node[2 * index] -= least;
            node[2 * index + 1] -= least;
            node[index] = least;
        }
        MinTree { leaves, node }
    }

    /// Adds to the numbers from `first` to `last`.
    pub fn add(&mut self, first: u32, last: u32, delta: i32) {
        debug_assert!(first <= last);
        let mut left = first as usize + self.leaves;
        let mut right = last as usize + 2 + self.leaves;
        while left ^ right != 1 {
            if left & 1 == 0 {
                self.node[left ^ 1] += delta;
            }
            if right & 1 == 1 {
                self.node[right ^ 1] += delta;
            }
            self.settle(left);
            self.settle(right);
            left >>= 1;
            right >>= 1;
        }
        self.settle_up(left);
    }

    /// Takes the number at `index` out: it is never the leftmost zero again.
    pub fn retire(&mut self, index: u32) {
        self.raise(index, OUT);
    }

    /// Adds to one number.
    pub fn raise(&mut self, index: u32, delta: i32) {
        let leaf = index as usize + 1 + self.leaves;
        self.node[leaf] += delta;
        self.settle_up(leaf);
    }

    /// The leftmost zero, if there is one.
    pub fn leftmost_zero(&self) -> Option<u32> {
        if self.node[1] != 0 {
            return None;
        }
        let mut index = 1;
        while index < self.leaves {
            index = 2 * index + usize::from(self.node[2 * index] != 0);
        }
        Some((index - self.leaves - 1) as u32)
    }

    #[inline]
    fn settle(&mut self, index: usize) -> i32 {
        let least = self.node[index].min(self.node[index ^ 1]);
        if least != 0 {
            self.node[index] -= least;
            self.node[index ^ 1] -= least;
            self.node[index >> 1] += least;
        }
        least
    }

    fn settle_up(&mut self, mut index: usize) {
        while index > 1 && self.settle(index) != 0 {
            index >>= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_min_tree_is_a_vector_of_numbers() {
        let mut seed = 7u64;
        let mut random = move |limit: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1);
            (seed >> 33) % limit
        };
        for _ in 0..300 {
            let len = 1 + random(40);
            let mut numbers: Vec<i32> = (0..len).map(|_| random(4) as i32).collect();
            let mut tree = MinTree::new(&numbers);
            for _ in 0..40 {
                let zero = numbers.iter().position(|&n| n == 0).map(|i| i as u32);
                assert_eq!(tree.leftmost_zero(), zero);
                if let Some(zero) = zero {
                    tree.retire(zero);
                    numbers[zero as usize] = OUT;
                }
                let first = random(len);
                let last = first + random(len - first);
                let range = first as usize..=last as usize;
                let delta = match numbers[range.clone()].iter().all(|&n| n > 0) {
                    true => -1,
                    false => 1,
                };
                tree.add(first as u32, last as u32, delta);
                numbers[range].iter_mut().for_each(|n| *n += delta);
            }
        }
    }
}
