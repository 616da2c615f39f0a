//! Sets of slots: which of the operations now open are linearized.
//!
//! A configuration holds one such set, and a search millions of configurations, so the set is as
//! wide as the history's concurrency: one word for up to 64 operations at a time, four for up to
//! 256, and a boxed slice beyond.

use std::fmt::Debug;
use std::hash::Hash;

/// A set of slots.
pub trait Mask: Clone + Eq + Hash + Debug + Send {
    /// The empty set with room for `slots` slots.
    fn empty(slots: usize) -> Self;

    /// The words of the set.
    fn words(&self) -> &[u64];

    /// The words of the set, to change them.
    fn words_mut(&mut self) -> &mut [u64];

    /// The heap memory of one set, in bytes.
    fn heap_bytes(&self) -> usize {
        0
    }

    /// Whether a slot is in the set.
    #[inline]
    fn has(&self, slot: u32) -> bool {
        self.words()[slot as usize / 64] >> (slot % 64) & 1 == 1
    }

    /// Puts a slot into the set.
    #[inline]
    fn insert(&mut self, slot: u32) {
        self.words_mut()[slot as usize / 64] |= 1 << (slot % 64);
    }

    /// Takes a slot out of the set.
    #[inline]
    fn remove(&mut self, slot: u32) {
        self.words_mut()[slot as usize / 64] &= !(1 << (slot % 64));
    }
}

impl<const N: usize> Mask for [u64; N] {
    fn empty(slots: usize) -> Self {
        debug_assert!(slots <= N * 64);
        [0; N]
    }

    #[inline]
    fn words(&self) -> &[u64] {
        self
    }

    #[inline]
    fn words_mut(&mut self) -> &mut [u64] {
        self
    }
}

impl Mask for Box<[u64]> {
    fn empty(slots: usize) -> Self {
        vec![0; slots.div_ceil(64)].into()
    }

    fn words(&self) -> &[u64] {
        self
    }

    fn words_mut(&mut self) -> &mut [u64] {
        self
    }

    fn heap_bytes(&self) -> usize {
        self.len() * 8
    }
}
