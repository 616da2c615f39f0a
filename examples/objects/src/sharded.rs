//! A counter in shards, so that additions do not meet.
//!
//! `sum` adds the shards up one after another. That is no moment in time: it may miss an addition
//! to a shard that it has read already and see a later one to a shard that it has yet to read, so
//! that it returns a number that the counter never was. (Were every addition a one, every number in
//! between would have been the count at some time during the call, and the sum would be
//! linearizable.) The right version is one word.

use seriatim_sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};

/// The counter in shards.
pub struct Sharded {
    shards: Vec<AtomicU64>,
    next: AtomicUsize,
}

impl Sharded {
    /// A counter with so many shards.
    pub fn new(shards: usize) -> Self {
        let shards = (0..shards).map(|_| AtomicU64::new(0)).collect();
        Sharded { shards, next: AtomicUsize::new(0) }
    }

    /// Adds an amount, in one shard after another.
    pub fn add(&self, amount: u64) {
        let shard = self.next.fetch_add(1, SeqCst) % self.shards.len();
        self.shards[shard].fetch_add(amount, SeqCst);
    }

    /// The count, more or less.
    pub fn sum(&self) -> u64 {
        self.shards.iter().map(|shard| shard.load(SeqCst)).sum()
    }
}

/// The counter in one word.
#[derive(Default)]
pub struct Single(AtomicU64);

impl Single {
    /// Adds an amount.
    pub fn add(&self, amount: u64) {
        self.0.fetch_add(amount, SeqCst);
    }

    /// The count.
    pub fn sum(&self) -> u64 {
        self.0.load(SeqCst)
    }
}
