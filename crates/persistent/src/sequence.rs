//! A long list with numbered places.
//!
//! It is a map from numbers to values, which need not begin at 0: what is added in front gets the
//! number below. Every change makes O(log n) nodes and shares the rest. Lists that come from the
//! same one are compared along what they do not share. The hash is that of a
//! [`Deque`](crate::Deque): the same however the list came about.

use crate::deque::{BASE, INVERSE, power};
use crate::{Map, hash_of};
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Bound::{Excluded, Included};
use std::ops::Range;

/// A list whose copies share what they have in common.
///
/// ```
/// use seriatim_persistent::Sequence;
/// let list: Sequence<i32> = [1, 2].into_iter().collect();
/// let longer = list.with_front(0).with_back(3);
/// assert_eq!(longer.slice(1..3), list);
/// assert_eq!(longer.with(2, 7).get(2), Some(&7));
/// ```
pub struct Sequence<V> {
    /// The number of the first place.
    first: i64,
    hash: u64,
    items: Map<i64, V>,
}

impl<V> Sequence<V> {
    /// How many values there are.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The values from the first to the last.
    pub fn iter(&self) -> impl Iterator<Item = &V> {
        self.items.values()
    }

    /// The value in a place.
    pub fn get(&self, place: usize) -> Option<&V> {
        self.items.get(&self.number(place))
    }

    /// An estimate of the memory that this list does not share with the one it was made from.
    pub fn own_bytes(&self) -> usize {
        self.items.own_bytes()
    }

    fn number(&self, place: usize) -> i64 {
        self.first + place as i64
    }
}

impl<V: Clone + Hash> Sequence<V> {
    /// The list with one more value in front.
    #[must_use]
    pub fn with_front(&self, value: V) -> Self {
        let hash = self.hash.wrapping_mul(BASE).wrapping_add(hash_of(&value));
        let (first, mut items) = (self.first - 1, self.items.clone());
        items.insert(first, value);
        Sequence { first, hash, items }
    }

    /// The list with one more value at the end.
    #[must_use]
    pub fn with_back(&self, value: V) -> Self {
        let share = hash_of(&value).wrapping_mul(power(self.len()));
        let mut items = self.items.clone();
        items.insert(self.number(self.len()), value);
        Sequence { hash: self.hash.wrapping_add(share), items, ..*self }
    }

    /// The list with another value in a place that there is.
    #[must_use]
    pub fn with(&self, place: usize, value: V) -> Self {
        let Some(old) = self.get(place) else { return self.clone() };
        let change = hash_of(&value).wrapping_sub(hash_of(old)).wrapping_mul(power(place));
        let mut items = self.items.clone();
        items.insert(self.number(place), value);
        Sequence { hash: self.hash.wrapping_add(change), items, ..*self }
    }

    /// The values in some places that there are. Cost: as many steps as the part or the rest has
    /// values, whichever are fewer.
    #[must_use]
    pub fn slice(&self, places: Range<usize>) -> Self {
        let (low, high) = (self.number(places.start), self.number(places.end));
        if 2 * places.len() < self.len() {
            let part = self.items.range(Included(&low), Excluded(&high));
            return part.map(|(_, value)| value.clone()).collect();
        }
        let mut left = self.clone();
        (places.end..self.len()).for_each(|_| left.drop_back());
        (0..places.start).for_each(|_| left.drop_front());
        left
    }

    fn drop_front(&mut self) {
        if let Some((&number, value)) = self.items.first() {
            self.hash = self.hash.wrapping_sub(hash_of(value)).wrapping_mul(INVERSE);
            self.items.remove(&number);
            self.first += 1;
        }
    }

    fn drop_back(&mut self) {
        if let Some((&number, value)) = self.items.last() {
            let share = hash_of(value).wrapping_mul(power(self.len() - 1));
            self.hash = self.hash.wrapping_sub(share);
            self.items.remove(&number);
        }
    }
}

impl<V: Clone + Hash> FromIterator<V> for Sequence<V> {
    fn from_iter<I: IntoIterator<Item = V>>(values: I) -> Self {
        let (mut hash, mut place) = (0_u64, 1_u64);
        let weighed = values.into_iter().inspect(|value| {
            hash = hash.wrapping_add(hash_of(value).wrapping_mul(place));
            place = place.wrapping_mul(BASE);
        });
        let items = (0..).zip(weighed).collect();
        Sequence { first: 0, hash, items }
    }
}

impl<V> Clone for Sequence<V> {
    fn clone(&self) -> Self {
        Sequence { items: self.items.clone(), ..*self }
    }
}

impl<V: PartialEq> PartialEq for Sequence<V> {
    fn eq(&self, other: &Self) -> bool {
        if (self.len(), self.hash) != (other.len(), other.hash) {
            return false;
        }
        match self.first == other.first {
            true => self.items == other.items,
            false => self.iter().eq(other.iter()),
        }
    }
}

impl<V: Eq> Eq for Sequence<V> {}

impl<V: Ord> PartialOrd for Sequence<V> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<V: Ord> Ord for Sequence<V> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.iter().cmp(other.iter())
    }
}

impl<V> Hash for Sequence<V> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash ^ self.len() as u64);
    }
}

impl<V: fmt::Debug> fmt::Debug for Sequence<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sequence_does_what_a_plain_list_does_and_is_equal_however_it_came_about() {
        let mut random = 1_u64;
        let mut next = |below: usize| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> 33) as usize % below
        };
        let (mut list, mut plain): (Sequence<usize>, Vec<usize>) =
            ((0..40).collect(), (0..40).collect());
        for _ in 0..4000 {
            let value = next(3);
            match next(5) {
                0 => {
                    list = list.with_front(value);
                    plain.insert(0, value);
                }
                1 | 2 => {
                    list = list.with_back(value);
                    plain.push(value);
                }
                3 if !plain.is_empty() => {
                    let place = next(plain.len());
                    list = list.with(place, value);
                    plain[place] = value;
                }
                _ => {
                    let (low, high) = (next(4).min(plain.len()), plain.len());
                    let high = high.saturating_sub(next(4)).max(low);
                    list = list.slice(low..high);
                    plain = plain[low..high].to_vec();
                }
            }
            let fresh: Sequence<usize> = plain.iter().copied().collect();
            assert!(list.iter().eq(&plain) && list.len() == plain.len());
            assert_eq!((&list, hash_of(&list)), (&fresh, hash_of(&fresh)));
            assert!((0..plain.len() + 1).all(|place| list.get(place) == plain.get(place)));
            assert_ne!(list.with_back(0), fresh);
            let few: Vec<usize> = plain.iter().copied().take(3).collect();
            assert!(list.slice(0..few.len()).iter().eq(&few));
            assert_eq!(list.cmp(&few.iter().copied().collect()), plain.cmp(&few));
        }
    }
}
