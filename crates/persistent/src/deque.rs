//! A line with two ends for the states of specifications.
//!
//! A short line is a list, copied with every change: nothing is faster. Of a long one, a change
//! makes O(log n) nodes and shares the rest. It is kept as its runs of equal values, which are
//! numbered from front to back; a new run in front gets the number below. Lines that come from the
//! same one by the same operations in different orders number their runs alike, so they are
//! compared along what they do not share; any others run by run.
//!
//! The hash is a polynomial over the values, kept up to date by every change, and the same for
//! equal lines however they came about: Σ h(vᵢ)·Bⁱ modulo 2⁶⁴ from the front on. B is odd, so that it
//! can be divided by.

use crate::{Map, hash_of};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A list that gets longer than this is kept as runs.
const LONG: usize = 512;

/// Runs whose values get as few as this are kept as a list. It is far from [`LONG`], so that a line
/// that stays about as long is not changed to and fro.
const SHORT: usize = 128;

pub(crate) const BASE: u64 = 0x9e37_79b9_7f4a_7c15;
pub(crate) const INVERSE: u64 = inverse(BASE);

/// The number whose product with an odd one is 1: each round doubles the bits that are right.
const fn inverse(odd: u64) -> u64 {
    let (mut inverse, mut round) = (odd, 0);
    while round < 5 {
        inverse = inverse.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(inverse)));
        round += 1;
    }
    inverse
}

/// A line with two ends whose copies share what they have in common.
///
/// ```
/// use seriatim_persistent::Deque;
/// let line: Deque<i32> = [1, 2].into_iter().collect();
/// let longer = line.with_front(0).with_back(3);
/// assert_eq!(longer.iter().copied().collect::<Vec<_>>(), [0, 1, 2, 3]);
/// assert_eq!(longer.without_front().without_back(), line);
/// ```
pub struct Deque<V> {
    len: usize,
    hash: u64,
    held: Held<V>,
}

enum Held<V> {
    Short(Arc<[V]>),
    Long(Map<i64, Run<V>>),
}

/// So many equal values, one after another.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Run<V> {
    value: V,
    count: usize,
}

impl<V> Deque<V> {
    /// The number of values.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The value in front.
    pub fn front(&self) -> Option<&V> {
        match &self.held {
            Held::Short(list) => list.first(),
            Held::Long(runs) => runs.first().map(|(_, run)| &run.value),
        }
    }

    /// The value at the back.
    pub fn back(&self) -> Option<&V> {
        match &self.held {
            Held::Short(list) => list.last(),
            Held::Long(runs) => runs.last().map(|(_, run)| &run.value),
        }
    }

    /// The values from the front to the back.
    pub fn iter(&self) -> impl Iterator<Item = &V> {
        let (list, runs) = match &self.held {
            Held::Short(list) => (Some(list), None),
            Held::Long(runs) => (None, Some(runs)),
        };
        let runs = runs.into_iter().flat_map(Map::values);
        let run = runs.flat_map(|run| std::iter::repeat_n(&run.value, run.count));
        list.into_iter().flat_map(|list| list.iter()).chain(run)
    }

    /// An estimate of the memory that this line does not share with the one it was made from.
    pub fn own_bytes(&self) -> usize {
        match &self.held {
            Held::Short(list) => size_of_val(&**list) + 2 * size_of::<usize>(),
            Held::Long(runs) => runs.own_bytes(),
        }
    }
}

impl<V: Clone + Eq + Hash> Deque<V> {
    /// The line with one more value in front.
    pub fn with_front(&self, value: V) -> Self {
        let hash = self.hash.wrapping_mul(BASE).wrapping_add(hash_of(&value));
        let held = match &self.held {
            Held::Short(list) if list.len() < LONG => {
                Held::Short([value].into_iter().chain(list.iter().cloned()).collect())
            }
            held => Held::Long(with(held.runs(), value, -1)),
        };
        Deque { len: self.len + 1, hash, held }
    }

    /// The line with one more value at the back.
    pub fn with_back(&self, value: V) -> Self {
        let share = hash_of(&value).wrapping_mul(power(self.len));
        let held = match &self.held {
            Held::Short(list) if list.len() < LONG => {
                Held::Short(list.iter().cloned().chain([value]).collect())
            }
            held => Held::Long(with(held.runs(), value, 1)),
        };
        Deque { len: self.len + 1, hash: self.hash.wrapping_add(share), held }
    }

    /// The line without the value in front; an empty one stays empty.
    pub fn without_front(&self) -> Self {
        let Some(front) = self.front() else { return Deque::default() };
        let hash = self.hash.wrapping_sub(hash_of(front)).wrapping_mul(INVERSE);
        let held = match &self.held {
            Held::Short(list) => Held::Short(list[1..].into()),
            Held::Long(runs) => without(runs.clone(), Map::first),
        };
        Deque { len: self.len - 1, hash, held }.shortened()
    }

    /// The line without the value at the back; an empty one stays empty.
    pub fn without_back(&self) -> Self {
        let Some(back) = self.back() else { return Deque::default() };
        let share = hash_of(back).wrapping_mul(power(self.len - 1));
        let held = match &self.held {
            Held::Short(list) => Held::Short(list[..list.len() - 1].into()),
            Held::Long(runs) => without(runs.clone(), Map::last),
        };
        Deque { len: self.len - 1, hash: self.hash.wrapping_sub(share), held }.shortened()
    }

    /// The same, as a list if it has become short.
    fn shortened(self) -> Self {
        match self.held {
            Held::Long(_) if self.len <= SHORT => {
                Deque { held: Held::Short(self.iter().cloned().collect()), ..self }
            }
            _ => self,
        }
    }
}

impl<V: Clone + Eq + Hash> Held<V> {
    fn runs(&self) -> Map<i64, Run<V>> {
        match self {
            Held::Long(runs) => runs.clone(),
            Held::Short(list) => {
                list.iter().fold(Map::new(), |runs, value| with(runs, value.clone(), 1))
            }
        }
    }
}

/// Runs with one more value, in front if `end` is -1, at the back if it is 1.
fn with<V: Clone + Eq + Hash>(mut runs: Map<i64, Run<V>>, value: V, end: i64) -> Map<i64, Run<V>> {
    let last = if end < 0 { runs.first() } else { runs.last() };
    let (number, count) = match last {
        None => (0, 1),
        Some((&number, run)) if run.value == value => (number, run.count + 1),
        Some((&number, _)) => (number + end, 1),
    };
    runs.insert(number, Run { value, count });
    runs
}

/// Runs without a value of the one at an end.
fn without<V: Clone + Eq + Hash>(
    mut runs: Map<i64, Run<V>>,
    end: impl Fn(&Map<i64, Run<V>>) -> Option<(&i64, &Run<V>)>,
) -> Held<V> {
    if let Some((&number, run)) = end(&runs) {
        let Run { value, count } = run.clone();
        match count {
            1 => runs.remove(&number),
            _ => runs.insert(number, Run { value, count: count - 1 }),
        }
    }
    Held::Long(runs)
}

pub(crate) fn power(exponent: usize) -> u64 {
    // An exponent beyond 32 bits would need as many values.
    BASE.wrapping_pow(exponent as u32)
}

impl<V> Clone for Deque<V> {
    fn clone(&self) -> Self {
        let held = match &self.held {
            Held::Short(list) => Held::Short(Arc::clone(list)),
            Held::Long(runs) => Held::Long(runs.clone()),
        };
        Deque { held, ..*self }
    }
}

impl<V> Default for Deque<V> {
    fn default() -> Self {
        Deque { len: 0, hash: 0, held: Held::Short([].into()) }
    }
}

impl<V: Clone + Eq + Hash> FromIterator<V> for Deque<V> {
    fn from_iter<I: IntoIterator<Item = V>>(values: I) -> Self {
        let list: Arc<[V]> = values.into_iter().collect();
        let share = |hash: u64, value: &V| hash.wrapping_mul(BASE).wrapping_add(hash_of(value));
        let hash = list.iter().rev().fold(0, share);
        let (len, held) = (list.len(), Held::Short(list));
        let held = if len > LONG { Held::Long(held.runs()) } else { held };
        Deque { len, hash, held }
    }
}

impl<V: PartialEq> PartialEq for Deque<V> {
    fn eq(&self, other: &Self) -> bool {
        if (self.len, self.hash) != (other.len, other.hash) {
            return false;
        }
        match (&self.held, &other.held) {
            (Held::Short(a), Held::Short(b)) => Arc::ptr_eq(a, b) || a == b,
            (Held::Long(a), Held::Long(b)) if first_number(a) == first_number(b) => a == b,
            (Held::Long(a), Held::Long(b)) => a.values().eq(b.values()),
            _ => self.iter().eq(other.iter()),
        }
    }
}

fn first_number<V>(runs: &Map<i64, Run<V>>) -> Option<i64> {
    runs.first().map(|(&number, _)| number)
}

impl<V: Eq> Eq for Deque<V> {}

impl<V> Hash for Deque<V> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash ^ self.len as u64);
    }
}

impl<V: fmt::Debug> fmt::Debug for Deque<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    /// Long and short, with long runs and without, growing and shrinking at both ends.
    #[test]
    fn a_deque_does_what_a_plain_one_does_and_is_equal_however_it_came_about() {
        for values in [1, 2, 1000] {
            let mut random = 1_u64;
            let (mut line, mut model) = (Deque::default(), VecDeque::new());
            for round in 0..20_000 {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let value = (random >> 33) % values;
                let grows = (round / 1500) % 2 == 0;
                match ((random >> 50).is_multiple_of(2), (random >> 55) % 8 < 6) {
                    (true, often) if often == grows => {
                        line = line.with_front(value);
                        model.push_front(value);
                    }
                    (false, often) if often == grows => {
                        line = line.with_back(value);
                        model.push_back(value);
                    }
                    (true, _) => (line, _) = (line.without_front(), model.pop_front()),
                    (false, _) => (line, _) = (line.without_back(), model.pop_back()),
                }
                assert_eq!(line.len(), model.len());
                assert_eq!(line.is_empty(), model.is_empty());
                assert_eq!((line.front(), line.back()), (model.front(), model.back()));
                if round % 61 == 0 {
                    assert!(line.iter().eq(&model));
                    let fresh: Deque<u64> = model.iter().copied().collect();
                    assert_eq!(hash_of(&line), hash_of(&fresh));
                    assert_eq!(line, fresh);
                    // As a list, or as runs, and the numbers of the runs differ: still the same.
                    let there_and_back = fresh.with_front(value).without_front();
                    assert_eq!(hash_of(&there_and_back), hash_of(&line));
                    assert_eq!(there_and_back, line);
                    assert_ne!(fresh.with_back(value), line);
                    assert_ne!(fresh.without_front().with_front(values), line);
                }
            }
        }
    }
}
