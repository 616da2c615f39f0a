//! How often operations fit: what seldom fits is tried first.
//!
//! A `pop` that returned 3 fits only when a 3 is on top, a `push` always does. Whoever takes the
//! push first may bury the 3 for long, and learns of it many operations later; whoever takes the
//! pop while it fits can still push afterwards. So a search counts for each class of operations how
//! often one fitted when it was tried, and tries those first that did so least often. On deques and
//! stacks of few values that takes a third to a half of the configurations; luck matters still.
//!
//! It is an order and nothing else: every candidate is tried in the end, so that no count can make
//! an answer wrong.

use super::part::Rank;
use super::space::Order;
use seriatim_limits::InOrder;
use seriatim_spec::ClassId;

/// The counts of a search.
#[derive(Default)]
pub struct Odds {
    /// By class.
    counts: Vec<Count>,
    /// Candidates with what they are put in order by.
    keyed: Vec<(u64, Rank)>,
}

/// How often operations of a class were tried, and how often one fitted.
#[derive(Clone, Copy)]
struct Count {
    tried: u32,
    fitted: u32,
    /// How likely one fits, in steps.
    steps: u32,
}

/// A class of which nothing is known fits always.
const UNKNOWN: Count = Count { tried: 1, fitted: 1, steps: STEPS };
/// When so many were counted, the older half weighs half as much.
const MANY: u32 = 1 << 12;
/// Odds are told in steps of one through so many: what is about as likely stays in its order.
const STEPS: u32 = 16;
/// By how many steps chance may change the odds: enough to turn every order around at times, so
/// that one bad guess does not last for ever.
const CHANCE: u64 = 16;

impl Odds {
    /// Takes note of an operation that was tried.
    #[inline]
    pub fn note(&mut self, class: ClassId, fits: bool) {
        let index = class.0 as usize;
        if index >= self.counts.len() {
            self.counts.resize(index + 1, UNKNOWN);
        }
        let count = &mut self.counts[index];
        count.tried += 1;
        count.fitted += u32::from(fits);
        if count.tried == MANY {
            (count.tried, count.fitted) = (count.tried / 2, count.fitted / 2);
        }
        count.steps = count.fitted * STEPS / count.tried;
    }

    /// How likely an operation of a class fits, in steps.
    fn steps(&self, class: ClassId) -> u32 {
        self.counts.get(class.0 as usize).unwrap_or(&UNKNOWN).steps
    }

    /// Puts candidates in the order in which they are tried.
    pub fn sort(&mut self, candidates: &mut [Rank], order: Order, class: impl Fn(Rank) -> ClassId) {
        let mut keyed = std::mem::take(&mut self.keyed);
        keyed.clear();
        keyed.extend(candidates.iter().map(|&rank| {
            let chance = match order {
                Order::Odds => 0,
                Order::Mixed(seed) => mixed(u64::from(rank.0) + (seed << 32)) % CHANCE,
            };
            (u64::from(self.steps(class(rank))) + chance, rank)
        }));
        keyed.put_in_order_by_key(|&(key, _)| key);
        candidates.iter_mut().zip(&keyed).for_each(|(place, &(_, rank))| *place = rank);
        self.keyed = keyed;
    }

    /// An estimate of the memory in use, in bytes.
    pub fn bytes(&self) -> usize {
        self.counts.capacity() * size_of::<Count>()
    }
}

/// A number that has nothing to do with the given one, but depends on nothing else.
pub fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let number = (number ^ number >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (number ^ number >> 27).wrapping_mul(0x94D0_49BB_1331_11EB) >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Operations 0 and 2 are of a class that always fits, 1 and 3 of one that seldom does.
    #[test]
    fn what_seldom_fits_comes_first_and_the_rest_stays_in_its_order() {
        let class = |rank: Rank| ClassId(rank.0 % 2);
        let sorted = |odds: &mut Odds, order| {
            let mut candidates = [0, 1, 2, 3].map(Rank);
            odds.sort(&mut candidates, order, class);
            candidates.map(|rank| rank.0)
        };
        let mut odds = Odds::default();
        assert_eq!(sorted(&mut odds, Order::Odds), [0, 1, 2, 3]);
        // So often that counts are halved meanwhile.
        for nth in 0..3 * MANY {
            odds.note(ClassId(0), true);
            odds.note(ClassId(1), nth.is_multiple_of(5));
        }
        assert_eq!(sorted(&mut odds, Order::Odds), [1, 3, 0, 2]);
        let orders: Vec<_> = (0..100).map(|seed| sorted(&mut odds, Order::Mixed(seed))).collect();
        assert!(orders.contains(&[1, 3, 0, 2]), "mostly as the odds say");
        assert!(orders.iter().any(|order| order[0] % 2 == 0), "now and then otherwise");
    }
}
