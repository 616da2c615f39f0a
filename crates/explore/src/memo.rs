//! A memory of fixed size for answers that can be computed again: one entry for each hash, the
//! latest wins. It takes no more room however long a search is, and each worker has its own, so
//! that nobody waits.

use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};

/// Remembers some answers.
pub struct Memo<K, V> {
    entries: Vec<Option<(K, V)>>,
    most: usize,
    used: usize,
}

impl<K: Hash + Eq + Copy, V: Copy> Memo<K, V> {
    /// A memory of at most so many entries, a power of two; it begins small.
    pub fn new(most: usize) -> Self {
        Memo { entries: vec![None; 64], most, used: 0 }
    }

    /// The answer, if it is remembered.
    pub fn get(&self, key: &K) -> Option<V> {
        match &self.entries[self.place(key)] {
            Some((known, value)) if known == key => Some(*value),
            _ => None,
        }
    }

    /// Remembers an answer.
    pub fn insert(&mut self, key: K, value: V) {
        if self.used * 2 > self.entries.len() && self.entries.len() < self.most {
            self.grow();
        }
        let place = self.place(&key);
        self.used += usize::from(self.entries[place].is_none());
        self.entries[place] = Some((key, value));
    }

    /// How many bytes it takes.
    pub fn bytes(&self) -> usize {
        self.entries.len() * size_of::<Option<(K, V)>>()
    }

    fn place(&self, key: &K) -> usize {
        let mut hasher = FxHasher::default();
        key.hash(&mut hasher);
        let hash = hasher.finish();
        (hash ^ hash >> 29) as usize & (self.entries.len() - 1)
    }

    fn grow(&mut self) {
        let size = self.entries.len() * 4;
        let old = std::mem::replace(&mut self.entries, vec![None; size]);
        self.used = 0;
        for (key, value) in old.into_iter().flatten() {
            let place = self.place(&key);
            self.used += usize::from(self.entries[place].is_none());
            self.entries[place] = Some((key, value));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_remembered_is_right_and_memory_is_bounded() {
        let mut memo = Memo::new(256);
        (0..5_000u32).for_each(|i| memo.insert(i, i * 7));
        let known = (0..5_000u32).filter_map(|i| memo.get(&i).map(|v| (i, v)));
        let known: Vec<(u32, u32)> = known.collect();
        assert!(known.iter().all(|(i, v)| i * 7 == *v));
        assert!((100..=256).contains(&known.len()), "{}", known.len());
    }
}
