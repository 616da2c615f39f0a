//! Where each value of a live object is kept.
//!
//! Ids of values that come one after the other are often consecutive: numbers that are counted up,
//! texts that are interned as they come. So a window of consecutive ids is a plain array, in which
//! neighbours in time are neighbours in memory; a hash table would miss the cache at every step
//! once the object is large. What lies outside the window is in a hash table. Memory: at most four
//! entries of four bytes for each value there was at once, and the table. O(1) an operation,
//! amortized.

use hashbrown::HashMap;
use seriatim_history::ValueId;
use std::collections::VecDeque;

/// Small numbers by value.
#[derive(Default)]
pub(in crate::fast) struct Directory {
    /// By kind of id, the last two bits.
    windows: [Window; 4],
    others: HashMap<ValueId, u32>,
}

/// Numbers of values with consecutive ids.
#[derive(Default)]
struct Window {
    /// The first id, without its kind.
    base: u32,
    /// [`NOWHERE`] for values that are not there.
    places: VecDeque<u32>,
    /// How many are there.
    count: usize,
}

const NOWHERE: u32 = u32::MAX;

/// How much longer than its values a window may be from the start.
const SLACK: usize = 64;

impl Window {
    fn get(&self, id: u32) -> Option<u32> {
        let place = self.places.get(id.wrapping_sub(self.base) as usize).copied();
        place.filter(|&place| place != NOWHERE)
    }

    /// The entry of an id, if the window reaches so far or may be made longer.
    fn entry(&mut self, id: u32) -> Option<&mut u32> {
        if self.places.is_empty() {
            self.base = id;
        }
        let index = id.checked_sub(self.base)? as usize;
        if index >= self.places.len() {
            if index > 4 * self.count + SLACK {
                return None;
            }
            self.places.resize(index + 1, NOWHERE);
        }
        self.places.get_mut(index)
    }

    fn remove(&mut self, id: u32) -> bool {
        let place = self.places.get_mut(id.wrapping_sub(self.base) as usize);
        let Some(place) = place.filter(|place| **place != NOWHERE) else {
            return false;
        };
        *place = NOWHERE;
        self.count -= 1;
        while self.places.front() == Some(&NOWHERE) {
            self.places.pop_front();
            self.base += 1;
        }
        true
    }
}

impl Directory {
    /// How many values there are.
    pub fn len(&self) -> usize {
        self.others.len() + self.windows.iter().map(|window| window.count).sum::<usize>()
    }

    /// The number of a value.
    #[inline]
    pub fn get(&self, value: ValueId) -> Option<u32> {
        let found = self.windows[value.0 as usize & 3].get(value.0 >> 2);
        match self.others.is_empty() {
            true => found,
            false => found.or_else(|| self.others.get(&value).copied()),
        }
    }

    /// Gives a value that has none a number.
    #[inline]
    pub fn insert(&mut self, value: ValueId, number: u32) {
        let window = &mut self.windows[value.0 as usize & 3];
        match window.entry(value.0 >> 2) {
            Some(place) => {
                *place = number;
                window.count += 1;
            }
            None => {
                self.others.insert(value, number);
            }
        }
    }

    /// Forgets a value.
    #[inline]
    pub fn remove(&mut self, value: ValueId) {
        if !self.windows[value.0 as usize & 3].remove(value.0 >> 2) {
            self.others.remove(&value);
        }
    }

    /// Takes all numbers out.
    pub fn drain(&mut self) -> Vec<u32> {
        let old = std::mem::take(self);
        let windows = old.windows.into_iter().flat_map(|window| window.places);
        let windows = windows.filter(|&place| place != NOWHERE);
        windows.chain(old.others.into_values()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_a_table() {
        let mut seed = 1u64;
        let mut next = |limit: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % limit
        };
        for spread in [1, 3, 100, 1_000_000] {
            let (mut directory, mut table) = (Directory::default(), HashMap::new());
            for step in 0..20_000u64 {
                // Around an id that grows, at some distance.
                let id = ValueId((step * 2 + next(spread * 40)) as u32);
                match table.get(&id) {
                    None if next(2) == 0 => {
                        directory.insert(id, step as u32);
                        table.insert(id, step as u32);
                    }
                    _ => {
                        directory.remove(id);
                        table.remove(&id);
                    }
                }
                let probe = ValueId((step * 2 + next(spread * 40)) as u32);
                assert_eq!(directory.get(probe), table.get(&probe).copied());
                assert_eq!(directory.len(), table.len());
            }
            let mut all = directory.drain();
            let mut expected: Vec<u32> = table.into_values().collect();
            all.sort_unstable();
            expected.sort_unstable();
            assert_eq!(all, expected);
            assert_eq!(directory.len(), 0);
        }
    }
}
