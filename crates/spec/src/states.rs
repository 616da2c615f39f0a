//! Numbers for the states of a specification, in the order in which they are met.

use crate::alphabet::StateId;
use hashbrown::{DefaultHashBuilder, HashSet, HashTable};
use std::hash::{BuildHasher, Hash};

/// States with their numbers.
pub(crate) struct States<T> {
    all: Vec<T>,
    index: HashTable<u32>,
    hasher: DefaultHashBuilder,
    /// What the states hold outside of themselves, in bytes.
    heap: usize,
}

impl<T> Default for States<T> {
    fn default() -> Self {
        let (all, index, hasher) = (Vec::new(), HashTable::new(), DefaultHashBuilder::default());
        States { all, index, hasher, heap: 0 }
    }
}

impl<T: Hash + Eq> States<T> {
    /// The number of a state; `heap` tells what a new one holds outside of itself.
    #[inline]
    pub(crate) fn intern(&mut self, state: T, heap: impl FnOnce(&T) -> usize) -> StateId {
        let hash = self.hasher.hash_one(&state);
        let all = &self.all;
        if let Some(&id) = self.index.find(hash, |&i| all[i as usize] == state) {
            return StateId(id);
        }
        let id = u32::try_from(self.all.len()).expect("fewer than 2^32 states fit in memory");
        self.heap += heap(&state);
        self.all.push(state);
        let (all, hasher) = (&self.all, &self.hasher);
        self.index.insert_unique(hash, id, |&i| hasher.hash_one(&all[i as usize]));
        StateId(id)
    }

    /// The state of a number.
    #[inline]
    pub(crate) fn get(&self, id: StateId) -> &T {
        &self.all[id.0 as usize]
    }

    /// All of them, in the order of their numbers.
    pub(crate) fn into_all(self) -> Vec<T> {
        self.all
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// How many bytes they take, roughly.
    pub(crate) fn bytes(&self) -> usize {
        self.all.len() * (size_of::<T>() + 5) + self.heap
    }
}

/// Sees to it that what is added to a list stands in it once.
pub(crate) struct Once<T> {
    /// Where in the list it begins to matter.
    start: usize,
    /// What stands there, once that is more than a few.
    met: HashSet<T>,
}

/// Of more than these it is looked up whether one was there before.
const FEW: usize = 16;

impl<T: Copy + Eq + Hash> Once<T> {
    pub(crate) fn after(start: usize) -> Self {
        Once { start, met: HashSet::new() }
    }

    /// Adds something to the list, unless it is there.
    pub(crate) fn push(&mut self, list: &mut Vec<T>, new: T) {
        let here = &list[self.start..];
        let is_new = match here.len() {
            0..FEW => !here.contains(&new),
            _ => {
                if self.met.is_empty() {
                    self.met.extend(here);
                }
                self.met.insert(new)
            }
        };
        if is_new {
            list.push(new);
        }
    }
}
