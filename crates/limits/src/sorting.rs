//! Sorting in little code.
//!
//! The standard library makes a copy of its sort, some four kilobytes, for each type and each
//! order; in the page that checks they were an eighth of the code. So there ([`SMALL`]) all sorts
//! are one function that knows places only, and asks what stands before what. Elsewhere they are
//! those of the standard library, and nothing is between.
//!
//! **Theorem.** `sort` leaves the elements in order, and equal ones as they stood (so both ways of
//! sorting give the same): merging two neighbouring runs takes from the second one only what is
//! strictly before the head of the first. Elements are only ever swapped, so none is lost or
//! doubled, whatever the comparison says.
//!
//! **Cost**: `n` comparisons for what is in order, else at most `n log r` for `r` ascending runs,
//! each an indirect call; 8 bytes for an element.
//!
//! **What would make it unsound**: a merge that takes from the second run on a tie.

use std::cmp::Ordering;

/// Whether the size of the code is what counts.
const SMALL: bool = cfg!(target_family = "wasm");

/// Fewer elements are sorted where they stand.
const FEW: usize = 16;

/// Sorting of elements that are equal only if they are the same, or whose order is to be kept if
/// they are equal.
pub trait InOrder<T> {
    /// Sorts by the order of the elements.
    fn put_in_order(&mut self)
    where
        T: Ord;

    /// Sorts by a key.
    fn put_in_order_by_key<K: Ord>(&mut self, key: impl FnMut(&T) -> K);

    /// Sorts by a key that no two different elements have in common.
    fn put_in_order_by_own_key<K: Ord>(&mut self, key: impl FnMut(&T) -> K);

    /// Sorts by a comparison.
    fn put_in_order_by(&mut self, compare: impl FnMut(&T, &T) -> Ordering);
}

impl<T> InOrder<T> for [T] {
    #[inline]
    fn put_in_order(&mut self)
    where
        T: Ord,
    {
        match SMALL {
            true => sort_small(self, T::lt),
            // Whole elements that are equal are the same: their order shows nowhere.
            false => self.sort_unstable(),
        }
    }

    #[inline]
    fn put_in_order_by_key<K: Ord>(&mut self, mut key: impl FnMut(&T) -> K) {
        match SMALL {
            true => sort_small(self, |a, b| key(a) < key(b)),
            false => self.sort_by_key(key),
        }
    }

    #[inline]
    fn put_in_order_by_own_key<K: Ord>(&mut self, mut key: impl FnMut(&T) -> K) {
        match SMALL {
            true => sort_small(self, |a, b| key(a) < key(b)),
            false => self.sort_unstable_by_key(key),
        }
    }

    #[inline]
    fn put_in_order_by(&mut self, mut compare: impl FnMut(&T, &T) -> Ordering) {
        match SMALL {
            true => sort_small(self, |a, b| compare(a, b).is_lt()),
            false => self.sort_by(compare),
        }
    }
}

fn sort_small<T>(elements: &mut [T], precedes: impl FnMut(&T, &T) -> bool) {
    let length = elements.len();
    sort(&mut Elements { elements, precedes }, length);
}

/// What is sorted, known by its places.
trait Places {
    fn precedes(&mut self, one: usize, other: usize) -> bool;
    fn swap(&mut self, one: usize, other: usize);
}

struct Elements<'a, T, F> {
    elements: &'a mut [T],
    precedes: F,
}

impl<T, F: FnMut(&T, &T) -> bool> Places for Elements<'_, T, F> {
    fn precedes(&mut self, one: usize, other: usize) -> bool {
        (self.precedes)(&self.elements[one], &self.elements[other])
    }

    fn swap(&mut self, one: usize, other: usize) {
        self.elements.swap(one, other);
    }
}

/// Sorts so many places: few of them by insertion, more by merging the runs that they already have.
fn sort(places: &mut dyn Places, length: usize) {
    if length <= FEW {
        for next in 1..length {
            let mut at = next;
            while at > 0 && places.precedes(at, at - 1) {
                places.swap(at, at - 1);
                at -= 1;
            }
        }
        return;
    }
    let mut starts = vec![0];
    starts.extend((1..length).filter(|&at| places.precedes(at, at - 1)));
    let mut order: Vec<usize> = (0..length).collect();
    while starts.len() > 1 {
        let ends = starts.iter().copied().chain([length]).skip(1).collect::<Vec<_>>();
        let mut merged = Vec::with_capacity(length);
        for run in (0..starts.len()).step_by(2) {
            let first = &order[starts[run]..ends[run]];
            let second = ends.get(run + 1).map_or(&[][..], |&end| &order[ends[run]..end]);
            merge(places, first, second, &mut merged);
        }
        order = merged;
        starts = starts.into_iter().step_by(2).collect();
    }
    arrange(places, order);
}

/// Merges two runs; on a tie the first goes first.
fn merge(places: &mut dyn Places, first: &[usize], second: &[usize], merged: &mut Vec<usize>) {
    let mut left = first.iter().copied().peekable();
    for &place in second {
        while let Some(before) = left.next_if(|&before| !places.precedes(place, before)) {
            merged.push(before);
        }
        merged.push(place);
    }
    merged.extend(left);
}

/// Moves to each place the element that `order` names for it, cycle by cycle.
fn arrange(places: &mut dyn Places, mut order: Vec<usize>) {
    for start in 0..order.len() {
        let mut at = start;
        loop {
            let from = std::mem::replace(&mut order[at], at);
            if from == start || from == at {
                break;
            }
            places.swap(at, from);
            at = from;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Small numbers with the places that they had, so that every order shows.
    fn marked(numbers: impl IntoIterator<Item = u32>) -> Vec<(u32, usize)> {
        numbers.into_iter().enumerate().map(|(place, number)| (number, place)).collect()
    }

    fn agrees(elements: Vec<(u32, usize)>) {
        let (mut small, mut expected) = (elements.clone(), elements);
        sort_small(&mut small, |a, b| a.0 < b.0);
        expected.sort_by_key(|element| element.0);
        assert_eq!(small, expected);
    }

    #[test]
    fn few_elements_of_every_order() {
        for length in 0..=7_u32 {
            for code in 0..4_u32.pow(length) {
                agrees(marked((0..length).map(|digit| code / 4_u32.pow(digit) % 4)));
            }
        }
    }

    #[test]
    fn many_elements_in_runs_and_in_none() {
        let mut chance = 1_u64;
        let mut below = |bound: u32| {
            chance = chance.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (chance >> 33) as u32 % bound
        };
        for length in (0..400).chain([5000]) {
            let bound = 1 + below(2 * length + 1);
            agrees(marked((0..length).map(|_| below(bound))));
            agrees(marked(0..length));
            agrees(marked((0..length).rev()));
            agrees(marked((0..length).map(|place| (place + length / 3) % (1 + length / 2))));
        }
    }

    /// No answer of a comparison loses an element.
    #[test]
    fn a_comparison_that_contradicts_itself_gives_the_same_elements() {
        for length in 0..200 {
            let mut turns = 0;
            let mut elements: Vec<usize> = (0..length).collect();
            sort_small(&mut elements, |_, _| {
                turns += 1;
                turns % 3 == 0
            });
            elements.sort_unstable();
            assert_eq!(elements, (0..length).collect::<Vec<_>>());
        }
    }
}
