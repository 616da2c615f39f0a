//! How many pending operations of each class a configuration has used.
//!
//! Most configurations have used few, so a use is the sorted list of (class, count); lists are
//! interned, and a configuration holds a number. Of two configurations that differ only in their
//! uses, the one that used no more of any class makes the other redundant: whatever the other can
//! still do, it can do as well (*dominance*).

use super::part::PendingId;
use hashbrown::HashMap;

/// An interned use.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct UseId(pub u32);

impl UseId {
    /// Nothing used.
    pub const NOTHING: UseId = UseId(0);
}

/// Beyond this many it is forgotten what uses become.
const MORE_LIMIT: usize = 1 << 15;

type Counts = Box<[(PendingId, u32)]>;

/// The uses met so far.
pub struct Uses {
    lists: Vec<Counts>,
    index: HashMap<Counts, UseId>,
    /// What a use becomes with one more of a class, where that was asked.
    more: HashMap<(UseId, PendingId), UseId>,
    bytes: usize,
}

impl Default for Uses {
    fn default() -> Self {
        let nothing: Counts = Box::new([]);
        let index = [(nothing.clone(), UseId::NOTHING)].into_iter().collect();
        Uses { lists: vec![nothing], index, more: HashMap::new(), bytes: 0 }
    }
}

impl Uses {
    /// How many of a class are used.
    pub fn count(&self, used: UseId, pending: PendingId) -> usize {
        let list = &self.lists[used.0 as usize];
        match list.binary_search_by_key(&pending, |&(class, _)| class) {
            Ok(place) => list[place].1 as usize,
            Err(_) => 0,
        }
    }

    /// The classes of which some are used, and how many are.
    pub fn counts(&self, used: UseId) -> &[(PendingId, u32)] {
        &self.lists[used.0 as usize]
    }

    /// The use with one more of a class.
    pub fn with(&mut self, used: UseId, pending: PendingId) -> UseId {
        if let Some(&known) = self.more.get(&(used, pending)) {
            return known;
        }
        let id = self.interned_with(used, pending);
        if self.more.len() > MORE_LIMIT {
            self.more.clear();
        }
        self.more.insert((used, pending), id);
        id
    }

    fn interned_with(&mut self, used: UseId, pending: PendingId) -> UseId {
        let mut list = self.lists[used.0 as usize].to_vec();
        match list.binary_search_by_key(&pending, |&(class, _)| class) {
            Ok(place) => list[place].1 += 1,
            Err(place) => list.insert(place, (pending, 1)),
        }
        let list: Counts = list.into();
        if let Some(&known) = self.index.get(&list) {
            return known;
        }
        let id = UseId(self.lists.len() as u32);
        self.bytes += 2 * size_of_val(&*list) + 64;
        self.lists.push(list.clone());
        self.index.insert(list, id);
        id
    }

    /// Whether `less` uses no more of any class than `more`.
    pub fn dominates(&self, less: UseId, more: UseId) -> bool {
        if less == more || less == UseId::NOTHING {
            return true;
        }
        let (less, more) = (&self.lists[less.0 as usize], &self.lists[more.0 as usize]);
        if less.len() > more.len() {
            return false;
        }
        let mut rest = more.iter();
        less.iter().all(|&(class, count)| {
            rest.by_ref()
                .find(|&&(other, _)| other >= class)
                .is_some_and(|&(other, most)| other == class && count <= most)
        })
    }

    /// An estimate of the memory in use, in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes + self.more.len() * 16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dominance_is_the_order_of_counts() {
        let mut uses = Uses::default();
        let mut all = vec![(UseId::NOTHING, [0usize; 3])];
        for a in 0..3 {
            for b in 0..3 {
                for c in 0..3 {
                    let mut used = UseId::NOTHING;
                    for (class, times) in [(2, c), (0, a), (1, b)] {
                        for _ in 0..times {
                            used = uses.with(used, PendingId(class));
                        }
                    }
                    all.push((used, [a, b, c]));
                }
            }
        }
        for &(x, counts_x) in &all {
            for (class, &count) in counts_x.iter().enumerate() {
                assert_eq!(uses.count(x, PendingId(class as u32)), count);
            }
            for &(y, counts_y) in &all {
                let expected = counts_x.iter().zip(&counts_y).all(|(a, b)| a <= b);
                assert_eq!(uses.dominates(x, y), expected, "{counts_x:?} {counts_y:?}");
                assert_eq!(x == y, counts_x == counts_y);
            }
        }
    }
}
