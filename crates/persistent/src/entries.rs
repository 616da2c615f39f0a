//! An ordered map for states that mostly have few entries.
//!
//! While there are few, it is a sorted list, copied with every change: nothing is faster. Many are
//! kept as a [`Map`], where a change makes O(log n) nodes and shares the rest. Both have the hash
//! that a [`Map`] has.

use crate::{Map, own_hash};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A list that gets longer than this becomes a map.
const MANY: usize = 256;

/// A map that has as few entries as this becomes a list. It is far from [`MANY`], so that one whose
/// size stays about the same is not changed to and fro.
const FEW: usize = 64;

/// An ordered map whose copies share what they have in common, plain while it is small.
///
/// ```
/// use seriatim_persistent::Entries;
/// let entries: Entries<i32, &str> = [(2, "b"), (1, "a")].into_iter().collect();
/// let more = entries.with(3, "c");
/// assert_eq!((more.first(), more.last()), (Some((&1, &"a")), Some((&3, &"c"))));
/// assert_eq!(more.without(&3), entries);
/// ```
pub struct Entries<K, V>(Held<K, V>);

enum Held<K, V> {
    /// In ascending order of the keys, with the sum of the hashes.
    Few(Arc<[(K, V)]>, u64),
    Many(Map<K, V>),
}

impl<K, V> Entries<K, V> {
    /// How many there are.
    pub fn len(&self) -> usize {
        match &self.0 {
            Held::Few(list, _) => list.len(),
            Held::Many(map) => map.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The entry with the least key.
    pub fn first(&self) -> Option<(&K, &V)> {
        match &self.0 {
            Held::Few(list, _) => list.first().map(|(key, value)| (key, value)),
            Held::Many(map) => map.first(),
        }
    }

    /// The entry with the greatest key.
    pub fn last(&self) -> Option<(&K, &V)> {
        match &self.0 {
            Held::Few(list, _) => list.last().map(|(key, value)| (key, value)),
            Held::Many(map) => map.last(),
        }
    }

    /// The entries by ascending key.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        let (list, map) = match &self.0 {
            Held::Few(list, _) => (Some(list), None),
            Held::Many(map) => (None, Some(map)),
        };
        let listed = list.into_iter().flat_map(|list| list.iter());
        listed.map(|(key, value)| (key, value)).chain(map.into_iter().flatten())
    }

    /// An estimate of the memory that is not shared with the entries that these were made from.
    pub fn own_bytes(&self) -> usize {
        match &self.0 {
            Held::Few(list, _) => size_of_val(&**list) + 2 * size_of::<usize>(),
            Held::Many(map) => map.own_bytes(),
        }
    }

    fn sum(&self) -> u64 {
        match &self.0 {
            Held::Few(_, sum) => *sum,
            Held::Many(map) => map.sum(),
        }
    }
}

impl<K: Ord, V> Entries<K, V> {
    /// The value of a key.
    pub fn get(&self, key: &K) -> Option<&V> {
        match &self.0 {
            Held::Few(list, _) => {
                let place = list.binary_search_by(|entry| entry.0.cmp(key)).ok()?;
                Some(&list[place].1)
            }
            Held::Many(map) => map.get(key),
        }
    }

    /// The entries from one key to another, both included, ascending.
    pub fn range<'e>(&'e self, low: &'e K, high: &'e K) -> impl Iterator<Item = (&'e K, &'e V)> {
        use std::ops::Bound::Included;
        let (list, map) = match &self.0 {
            Held::Few(list, _) => (Some(list), None),
            Held::Many(map) => (None, Some(map)),
        };
        let listed = list.into_iter().flat_map(move |list| {
            let start = list.partition_point(|entry| entry.0 < *low);
            let listed = list[start..].iter().map(|(key, value)| (key, value));
            listed.take_while(move |(key, _)| *key <= high)
        });
        listed.chain(map.into_iter().flat_map(move |map| map.range(Included(low), Included(high))))
    }
}

impl<K: Ord + Hash + Clone, V: Hash + Clone> Entries<K, V> {
    /// The entries after a key got a value.
    pub fn with(&self, key: K, value: V) -> Self {
        let (list, sum) = match &self.0 {
            Held::Few(list, sum) => (list, *sum),
            Held::Many(map) => {
                let mut map = map.clone();
                map.insert(key, value);
                return Entries(Held::Many(map));
            }
        };
        let sum = sum.wrapping_add(own_hash(&key, &value));
        let (before, after, sum) = match list.binary_search_by(|entry| entry.0.cmp(&key)) {
            Ok(place) => {
                let (known, held) = &list[place];
                (&list[..place], &list[place + 1..], sum.wrapping_sub(own_hash(known, held)))
            }
            Err(place) => (&list[..place], &list[place..], sum),
        };
        let all = before.iter().cloned().chain([(key, value)]).chain(after.iter().cloned());
        match before.len() + after.len() {
            MANY.. => Entries(Held::Many(all.collect())),
            _ => Entries(Held::Few(all.collect(), sum)),
        }
    }

    /// The entries without a key.
    pub fn without(&self, key: &K) -> Self {
        match &self.0 {
            Held::Few(list, sum) => match list.binary_search_by(|entry| entry.0.cmp(key)) {
                Err(_) => self.clone(),
                Ok(place) => {
                    let (before, after) = (&list[..place], &list[place + 1..]);
                    let sum = sum.wrapping_sub(own_hash(&list[place].0, &list[place].1));
                    let all = before.iter().chain(after).cloned();
                    Entries(Held::Few(all.collect(), sum))
                }
            },
            Held::Many(map) => {
                let mut map = map.clone();
                map.remove(key);
                match map.len() {
                    ..=FEW => map.iter().map(|(key, value)| (key.clone(), value.clone())).collect(),
                    _ => Entries(Held::Many(map)),
                }
            }
        }
    }
}

impl<K, V> Clone for Entries<K, V> {
    fn clone(&self) -> Self {
        Entries(match &self.0 {
            Held::Few(list, sum) => Held::Few(Arc::clone(list), *sum),
            Held::Many(map) => Held::Many(map.clone()),
        })
    }
}

impl<K, V> Default for Entries<K, V> {
    fn default() -> Self {
        Entries(Held::Few([].into(), 0))
    }
}

/// Of several values for a key the last one counts.
impl<K: Ord + Hash + Clone, V: Hash + Clone> FromIterator<(K, V)> for Entries<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let map: Map<K, V> = entries.into_iter().collect();
        if map.len() > MANY {
            return Entries(Held::Many(map));
        }
        let list = map.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
        Entries(Held::Few(list, map.sum()))
    }
}

impl<K: PartialEq, V: PartialEq> PartialEq for Entries<K, V> {
    fn eq(&self, other: &Self) -> bool {
        if (self.len(), self.sum()) != (other.len(), other.sum()) {
            return false;
        }
        match (&self.0, &other.0) {
            (Held::Few(a, _), Held::Few(b, _)) => Arc::ptr_eq(a, b) || a == b,
            (Held::Many(a), Held::Many(b)) => a == b,
            _ => self.iter().eq(other.iter()),
        }
    }
}

impl<K: Eq, V: Eq> Eq for Entries<K, V> {}

impl<K, V> Hash for Entries<K, V> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.sum() ^ self.len() as u64);
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for Entries<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash_of;
    use std::collections::BTreeMap;

    /// Few and many, growing and shrinking.
    #[test]
    fn entries_do_what_a_plain_map_does_and_are_equal_however_they_came_about() {
        let mut random = 1_u64;
        let (mut entries, mut model) = (Entries::default(), BTreeMap::new());
        for round in 0..20_000_u64 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (key, value) = ((random >> 33) % 700, (random >> 20) % 3);
            let grows = (round / 2500) % 2 == 0;
            if ((random >> 55) % 8 < 6) == grows {
                entries = entries.with(key, value);
                model.insert(key, value);
            } else {
                entries = entries.without(&key);
                model.remove(&key);
            }
            assert_eq!((entries.len(), entries.is_empty()), (model.len(), model.is_empty()));
            assert_eq!(entries.get(&key), model.get(&key));
            assert_eq!(entries.first(), model.first_key_value());
            assert_eq!(entries.last(), model.last_key_value());
            if round % 61 == 0 {
                assert!(entries.iter().eq(&model));
                let (low, high) = (key.min(value * 300), key.max(value * 300));
                assert!(entries.range(&low, &high).eq(model.range(low..=high)));
                let fresh: Entries<u64, u64> = model.iter().map(|(&k, &v)| (k, v)).collect();
                assert_eq!(hash_of(&entries), hash_of(&fresh));
                assert_eq!(entries, fresh);
                assert_ne!(fresh.with(key, value + 3), entries);
                assert_ne!(fresh.with(701, value), entries);
            }
        }
    }
}
