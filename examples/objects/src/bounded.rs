//! A bounded ring buffer for one producer and one consumer (Lamport, 1983).
//!
//! The producer may write while fewer values are in the buffer than it has room for. The broken
//! version also writes when it is exactly full: off by one, and the oldest value is overwritten.

use seriatim_sync::atomic::{AtomicU32, AtomicUsize, Ordering::SeqCst};
use std::marker::PhantomData;

/// When the buffer is full.
pub trait Fullness: Send + Sync + 'static {
    /// Whether a buffer with room for `room` values has no room beside `held` ones.
    fn is_full(held: usize, room: usize) -> bool;
}

/// As many values as there is room for.
pub struct AtCapacity;

/// One more than that.
pub struct PastCapacity;

impl Fullness for AtCapacity {
    fn is_full(held: usize, room: usize) -> bool {
        held >= room
    }
}

impl Fullness for PastCapacity {
    fn is_full(held: usize, room: usize) -> bool {
        held > room
    }
}

/// The buffer.
pub struct Ring<F: Fullness> {
    slots: Vec<AtomicU32>,
    taken: AtomicUsize,
    put: AtomicUsize,
    fullness: PhantomData<F>,
}

/// The right buffer.
pub type RightRing = Ring<AtCapacity>;
/// The buffer that overwrites.
pub type BrokenRing = Ring<PastCapacity>;

impl<F: Fullness> Ring<F> {
    /// A buffer with room for so many values.
    pub fn new(room: usize) -> Self {
        Ring {
            slots: (0..room).map(|_| AtomicU32::new(0)).collect(),
            taken: AtomicUsize::new(0),
            put: AtomicUsize::new(0),
            fullness: PhantomData,
        }
    }

    /// Puts a value in; false if there is no room. For one producer.
    pub fn push(&self, value: u32) -> bool {
        let (taken, put) = (self.taken.load(SeqCst), self.put.load(SeqCst));
        if F::is_full(put - taken, self.slots.len()) {
            return false;
        }
        self.slots[put % self.slots.len()].store(value, SeqCst);
        self.put.store(put + 1, SeqCst);
        true
    }

    /// Takes the oldest value. For one consumer.
    pub fn pop(&self) -> Option<u32> {
        let (taken, put) = (self.taken.load(SeqCst), self.put.load(SeqCst));
        if taken == put {
            return None;
        }
        let value = self.slots[taken % self.slots.len()].load(SeqCst);
        self.taken.store(taken + 1, SeqCst);
        Some(value)
    }
}
