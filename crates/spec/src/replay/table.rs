//! Something for each value of a history: an array where the values are dense, else a tree.

use seriatim_history::ValueId;
use std::collections::BTreeMap;

/// Something for each value; the default for those that were never set.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Table<T> {
    /// One row for each of the four kinds of ids, which differ in their last two bits.
    dense: Vec<T>,
    row: usize,
    /// What lies beyond the rows, without defaults.
    sparse: BTreeMap<u32, T>,
}

impl<T: Copy + Default + PartialEq> Table<T> {
    /// A table with room for that many values of a kind; the others cost more.
    pub fn with_room(row: usize) -> Self {
        Table { dense: vec![T::default(); row * 4], row, sparse: BTreeMap::new() }
    }

    #[inline]
    fn place(&self, id: ValueId) -> Option<usize> {
        let column = (id.0 >> 2) as usize;
        (column < self.row).then_some((id.0 & 3) as usize * self.row + column)
    }

    /// What is there for a value.
    #[inline]
    pub fn get(&self, id: ValueId) -> T {
        match self.place(id) {
            Some(place) => self.dense[place],
            None => self.sparse.get(&id.0).copied().unwrap_or_default(),
        }
    }

    /// Sets what is there for a value.
    #[inline]
    pub fn set(&mut self, id: ValueId, entry: T) {
        match self.place(id) {
            Some(place) => self.dense[place] = entry,
            None if entry == T::default() => _ = self.sparse.remove(&id.0),
            None => _ = self.sparse.insert(id.0, entry),
        }
    }

    /// The values for which something else than the default is there.
    pub fn set_ids(&self) -> Vec<ValueId> {
        let id = |place: usize| ValueId((place % self.row) as u32 * 4 + (place / self.row) as u32);
        let is_set = |&place: &usize| self.dense[place] != T::default();
        let dense = (0..self.dense.len()).filter(is_set).map(id);
        dense.chain(self.sparse.keys().copied().map(ValueId)).collect()
    }
}
