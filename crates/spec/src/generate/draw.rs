//! Random choices, the same for the same seed on every machine and in every version.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// How values or keys are spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Spread {
    /// Each as likely as any other.
    #[default]
    Uniform,
    /// The n-th about 1/n as likely as the first, as keys are in practice (Zipf).
    Skewed,
}

/// Whether values repeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Repetition {
    /// Every value that is put somewhere is a new one.
    #[default]
    Distinct,
    /// Values come from a range of this many.
    Among(u64),
}

/// The source of random choices.
pub(crate) struct Draw {
    rng: Xoshiro256PlusPlus,
    pub spread: Spread,
    pub keys: u64,
    pub repetition: Repetition,
    next_value: i64,
    next_fresh: i64,
}

/// Values from here on are never drawn: they are fresh.
const FRESH: i64 = 1 << 29;

impl Draw {
    pub fn new(seed: u64, spread: Spread, keys: u64, repetition: Repetition) -> Self {
        Draw {
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            spread,
            keys: keys.max(1),
            repetition,
            next_value: 0,
            next_fresh: FRESH,
        }
    }

    /// A number below a bound (which must not be 0).
    pub fn below(&mut self, bound: u64) -> u64 {
        // Multiply and shift: the bias is below bound / 2^64.
        ((u128::from(self.rng.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// A number from 0 up to 1.
    fn unit(&mut self) -> f64 {
        (self.rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// True with a probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        probability > 0.0 && self.unit() < probability
    }

    fn spread_below(&mut self, bound: u64) -> i64 {
        let number = match self.spread {
            Spread::Uniform => self.below(bound),
            Spread::Skewed => self.skewed_below(bound),
        };
        number as i64
    }

    /// The bit length is uniform, so the density falls as 1/n; integers only, so that every machine
    /// draws the same.
    fn skewed_below(&mut self, bound: u64) -> u64 {
        let bits = u64::from(u64::BITS - bound.leading_zeros());
        loop {
            let start = 1 << self.below(bits);
            let number = start + self.below(start) - 1;
            if number < bound {
                return number;
            }
        }
    }

    /// A key.
    pub fn key(&mut self) -> i64 {
        self.spread_below(self.keys)
    }

    /// A value to put somewhere.
    pub fn value(&mut self) -> i64 {
        match self.repetition {
            Repetition::Distinct => {
                self.next_value += 1;
                self.next_value
            }
            Repetition::Among(count) => self.spread_below(count.max(1)) + 1,
        }
    }

    /// A value to put somewhere; distinct ones in no order.
    pub fn scattered_value(&mut self) -> i64 {
        match self.repetition {
            // Multiplication by an odd number permutes the values below a power of two.
            Repetition::Distinct => self.value().wrapping_mul(0x9e37_79b1) & (FRESH - 1),
            Repetition::Among(_) => self.value(),
        }
    }

    /// A value that may have been put somewhere.
    pub fn old_value(&mut self) -> i64 {
        match self.repetition {
            Repetition::Distinct => self.next_value.max(1) - self.below(8) as i64,
            Repetition::Among(count) => self.spread_below(count.max(1)) + 1,
        }
    }

    /// A value that nothing else names; later ones are greater.
    pub fn fresh(&mut self) -> i64 {
        self.next_fresh += 1;
        self.next_fresh
    }

    /// One of several, by weight.
    pub fn weighted(&mut self, weights: &[f64]) -> usize {
        let mut left = self.unit() * weights.iter().sum::<f64>();
        for (index, &weight) in weights.iter().enumerate() {
            left -= weight;
            if left < 0.0 {
                return index;
            }
        }
        weights.iter().rposition(|&weight| weight > 0.0).unwrap_or(0)
    }
}
