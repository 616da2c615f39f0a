//! Lamport's ring for one producer and one consumer, neither of which waits.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicUsize, Ordering};

const SIZE: usize = 2;

/// There is no item.
pub struct Empty;

pub struct Ring<T> {
    first: AtomicUsize,
    last: AtomicUsize,
    items: [UnsafeCell<MaybeUninit<T>>; SIZE],
}

unsafe impl<T: Send> Sync for Ring<T> {}

impl<T> Ring<T> {
    pub fn new() -> Self {
        Ring {
            first: AtomicUsize::new(0),
            last: AtomicUsize::new(0),
            items: std::array::from_fn(|_| UnsafeCell::new(MaybeUninit::uninit())),
        }
    }

    pub fn enqueue(&self, value: T) -> Result<(), T> {
        let last = self.last.load(Ordering::Relaxed);
        if last.wrapping_sub(self.first.load(Ordering::Acquire)) >= SIZE {
            return Err(value);
        }
        unsafe { (*self.items[last % SIZE].get()).write(value) };
        self.last.store(last.wrapping_add(1), Ordering::Release);
        Ok(())
    }

    pub fn dequeue(&self) -> Result<T, Empty> {
        let first = self.first.load(Ordering::Relaxed);
        if first == self.last.load(Ordering::Acquire) {
            return Err(Empty);
        }
        let value = unsafe { (*self.items[first % SIZE].get()).assume_init_read() };
        self.first.store(first + 1, Ordering::Release);
        Ok(value)
    }
}
