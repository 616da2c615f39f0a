//! A counter under a spin lock.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};

pub struct Counter {
    locked: AtomicBool,
    count: UnsafeCell<i32>,
}

impl Counter {
    pub const fn new() -> Self {
        Counter { locked: AtomicBool::new(false), count: UnsafeCell::new(0) }
    }

    fn acquire(&self) {
        while let Err(_) =
            self.locked.compare_exchange_weak(false, true, Ordering::Acquire, Ordering::Relaxed)
        {
            while self.locked.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        }
    }

    fn release(&self) {
        self.locked.store(false, Ordering::Release);
    }

    pub fn increment(&self) -> i32 {
        self.acquire();
        let before = unsafe { *self.count.get() };
        unsafe { *self.count.get() = before + 1 };
        self.release();
        before
    }

    pub fn read(&self) -> i32 {
        self.acquire();
        let now = unsafe { *self.count.get() };
        self.release();
        now
    }
}
