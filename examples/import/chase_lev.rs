//! The deque of Chase and Lev with the orderings of Lê, Pop, Cohen and Zappa Nardelli, for numbers.

use std::sync::atomic::{AtomicIsize, AtomicU32, Ordering, fence};

const SIZE: usize = 2;

pub struct Deque {
    top: AtomicIsize,
    bottom: AtomicIsize,
    items: [AtomicU32; SIZE],
}

impl Deque {
    pub fn new() -> Self {
        Deque {
            top: AtomicIsize::new(0),
            bottom: AtomicIsize::new(0),
            items: [const { AtomicU32::new(0) }; SIZE],
        }
    }

    pub fn push(&self, value: u32) {
        let bottom = self.bottom.load(Ordering::Relaxed);
        while bottom - self.top.load(Ordering::Acquire) >= SIZE as isize {
            std::hint::spin_loop();
        }
        self.items[bottom as usize % SIZE].store(value, Ordering::Relaxed);
        fence(Ordering::Release);
        self.bottom.store(bottom + 1, Ordering::Relaxed);
    }

    pub fn pop(&self) -> Option<u32> {
        let bottom = self.bottom.load(Ordering::Relaxed) - 1;
        self.bottom.store(bottom, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let top = self.top.load(Ordering::Relaxed);
        if top > bottom {
            self.bottom.store(bottom + 1, Ordering::Relaxed);
            return None;
        }
        let value = self.items[bottom as usize % SIZE].load(Ordering::Relaxed);
        if top < bottom {
            return Some(value);
        }
        let won =
            self.top.compare_exchange(top, top + 1, Ordering::SeqCst, Ordering::Relaxed).is_ok();
        self.bottom.store(bottom + 1, Ordering::Relaxed);
        if won { Some(value) } else { None }
    }

    pub fn steal(&self) -> Option<u32> {
        loop {
            let top = self.top.load(Ordering::Acquire);
            fence(Ordering::SeqCst);
            let bottom = self.bottom.load(Ordering::Acquire);
            if top >= bottom {
                return None;
            }
            let value = self.items[top as usize % SIZE].load(Ordering::Relaxed);
            if self.top.compare_exchange(top, top + 1, Ordering::SeqCst, Ordering::Relaxed).is_ok()
            {
                return Some(value);
            }
        }
    }
}
