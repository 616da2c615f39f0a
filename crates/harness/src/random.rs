//! A small, fast, reproducible source of random numbers (SplitMix64, Steele, Lea and Flood 2014).

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

/// A stream of random numbers that depends on its seed alone.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The stream of a seed.
    pub fn of(seed: u64) -> Self {
        Random(seed)
    }

    /// A seed that differs from run to run.
    pub fn fresh_seed() -> u64 {
        RandomState::new().hash_one(0)
    }

    /// Any number.
    pub fn any(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below a bound, which must not be 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.any()) * u128::from(bound)) >> 64) as u64
    }

    /// A number between two, both included.
    pub fn between(&mut self, least: usize, most: usize) -> usize {
        least + self.below((most - least) as u64 + 1) as usize
    }
}
