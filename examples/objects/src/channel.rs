//! A queue whose receivers wait: a lock and a condition.
//!
//! The broken version wakes a receiver only when the queue was empty. If two values arrive before
//! the first receiver is up again, the second receiver sleeps on beside a value: a lost wake-up.

use seriatim_sync::{Condvar, Mutex, MutexGuard};
use std::collections::VecDeque;
use std::marker::PhantomData;

/// When a sender wakes a receiver.
pub trait Waking: Send + Sync + 'static {
    /// Whether to wake one after the queue had so many values.
    fn wakes(held: usize) -> bool;
}

/// Always.
pub struct Always;

/// Only if the queue was empty.
pub struct WhenEmpty;

impl Waking for Always {
    fn wakes(_: usize) -> bool {
        true
    }
}

impl Waking for WhenEmpty {
    fn wakes(held: usize) -> bool {
        held == 0
    }
}

/// The channel.
pub struct Channel<W: Waking> {
    values: Mutex<VecDeque<u32>>,
    arrived: Condvar,
    waking: PhantomData<W>,
}

/// The right channel.
pub type RightChannel = Channel<Always>;
/// The channel that loses wake-ups.
pub type BrokenChannel = Channel<WhenEmpty>;

impl<W: Waking> Default for Channel<W> {
    fn default() -> Self {
        let values = Mutex::new(VecDeque::new());
        Channel { values, arrived: Condvar::new(), waking: PhantomData }
    }
}

impl<W: Waking> Channel<W> {
    fn open(&self) -> MutexGuard<'_, VecDeque<u32>> {
        self.values.lock().expect("nobody panics with the lock")
    }

    /// Sends a value.
    pub fn send(&self, value: u32) {
        let mut values = self.open();
        if W::wakes(values.len()) {
            self.arrived.notify_one();
        }
        values.push_back(value);
    }

    /// Receives a value; waits until there is one.
    pub fn receive(&self) -> u32 {
        let mut values = self.open();
        loop {
            match values.pop_front() {
                Some(value) => return value,
                None => values = self.arrived.wait(values).expect("nobody panics with the lock"),
            }
        }
    }
}
