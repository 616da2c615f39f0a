//! A set of small numbers with neighbours in a few steps.
//!
//! A tower of bitmaps: a bit of a level says whether the word below it holds anything. Each step
//! moves up or down one level of 64-fold fan-out, so that the operations take O(log₆₄ n) and touch
//! little memory.

/// A set of numbers below a limit: insert, remove, next, previous.
pub(in crate::fast) struct BitTree {
    levels: Vec<Vec<u64>>,
}

impl BitTree {
    /// The empty set for numbers below `limit`.
    pub fn new(limit: usize) -> Self {
        let mut levels = Vec::new();
        let mut words = limit.max(1);
        loop {
            words = words.div_ceil(64);
            levels.push(vec![0; words]);
            if words == 1 {
                return BitTree { levels };
            }
        }
    }

    /// Adds a number.
    pub fn insert(&mut self, number: u32) {
        let mut index = number as usize;
        for level in &mut self.levels {
            let word = &mut level[index >> 6];
            let was_empty = *word == 0;
            *word |= 1 << (index & 63);
            if !was_empty {
                return;
            }
            index >>= 6;
        }
    }

    /// Removes a number.
    pub fn remove(&mut self, number: u32) {
        let mut index = number as usize;
        for level in &mut self.levels {
            let word = &mut level[index >> 6];
            *word &= !(1 << (index & 63));
            if *word != 0 {
                return;
            }
            index >>= 6;
        }
    }

    /// The largest number of the set.
    pub fn max(&self) -> Option<u32> {
        let top = self.levels.len() - 1;
        (self.levels[top][0] != 0).then(|| self.last_below(top, 0))
    }

    /// The largest number of the set that is at most `number`.
    pub fn at_most(&self, number: u32) -> Option<u32> {
        let mut index = number as usize;
        let mut mask = u64::MAX >> (63 - (index & 63));
        for (height, level) in self.levels.iter().enumerate() {
            let word = level[index >> 6] & mask;
            if word != 0 {
                let found = (index & !63) | (63 - word.leading_zeros() as usize);
                return Some(match height {
                    0 => found as u32,
                    _ => self.last_below(height - 1, found),
                });
            }
            index >>= 6;
            mask = (1 << (index & 63)) - 1;
        }
        None
    }

    /// The smallest number of the set that is at least `number`.
    pub fn at_least(&self, number: u32) -> Option<u32> {
        let mut index = number as usize;
        let mut mask = u64::MAX << (index & 63);
        for height in 0..self.levels.len() {
            let word = self.levels[height].get(index >> 6).copied().unwrap_or(0) & mask;
            if word != 0 {
                let mut found = (index & !63) | word.trailing_zeros() as usize;
                for level in self.levels[..height].iter().rev() {
                    found = found << 6 | level[found].trailing_zeros() as usize;
                }
                return Some(found as u32);
            }
            index >>= 6;
            mask = match index & 63 {
                63 => 0,
                bit => u64::MAX << (bit + 1),
            };
        }
        None
    }

    /// The last number below word `index` of level `height`, which is not empty.
    fn last_below(&self, height: usize, index: usize) -> u32 {
        let mut found = index;
        for level in self.levels[..=height].iter().rev() {
            found = found << 6 | (63 - level[found].leading_zeros() as usize);
        }
        found as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_bit_tree_is_an_ordered_set() {
        for limit in [1, 64, 65, 5000, 300_000] {
            let mut tree = BitTree::new(limit);
            let mut set = BTreeSet::new();
            let mut seed = 1u64;
            for _ in 0..3000 {
                seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1);
                let number = (seed >> 33) as u32 % limit as u32;
                match seed >> 32 & 1 {
                    0 => {
                        tree.insert(number);
                        set.insert(number);
                    }
                    _ => {
                        tree.remove(number);
                        set.remove(&number);
                    }
                }
                let probe = (seed >> 40) as u32 % limit as u32;
                assert_eq!(tree.max(), set.last().copied());
                assert_eq!(tree.at_most(probe), set.range(..=probe).last().copied());
                assert_eq!(tree.at_least(probe), set.range(probe..).next().copied());
            }
        }
    }
}
