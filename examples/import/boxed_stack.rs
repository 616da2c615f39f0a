//! A stack under a spin lock, whose nodes are owned by the links that lead to them.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};

struct Node<T> {
    value: T,
    next: Option<Box<Node<T>>>,
}

pub struct Stack<T> {
    locked: AtomicBool,
    top: UnsafeCell<Option<Box<Node<T>>>>,
}

unsafe impl<T: Send> Sync for Stack<T> {}

impl<T> Stack<T> {
    pub const fn new() -> Self {
        Stack { locked: AtomicBool::new(false), top: UnsafeCell::new(None) }
    }

    fn lock(&self) {
        while self.locked.swap(true, Ordering::Acquire) {
            std::hint::spin_loop();
        }
    }

    fn unlock(&self) {
        self.locked.store(false, Ordering::Release);
    }

    pub fn push(&self, value: T) {
        let mut node = Box::new(Node { value, next: None });
        self.lock();
        node.next = unsafe { (*self.top.get()).take() };
        unsafe { *self.top.get() = Some(node) };
        self.unlock();
    }

    pub fn pop(&self) -> Option<T> {
        self.lock();
        match unsafe { (*self.top.get()).take() } {
            None => {
                self.unlock();
                None
            }
            Some(node) => {
                unsafe { *self.top.get() = node.next };
                self.unlock();
                Some(node.value)
            }
        }
    }
}
