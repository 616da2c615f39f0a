//! Treiber's stack. Popped nodes are never freed.

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

struct Node<T> {
    value: T,
    next: *mut Node<T>,
}

pub struct Stack<T> {
    top: AtomicPtr<Node<T>>,
}

impl<T> Stack<T> {
    pub fn new() -> Self {
        Stack { top: AtomicPtr::new(ptr::null_mut()) }
    }

    pub fn push(&self, value: T) {
        let node = Box::into_raw(Box::new(Node { value, next: ptr::null_mut() }));
        let mut top = self.top.load(Ordering::Relaxed);
        loop {
            unsafe { (*node).next = top };
            match self.top.compare_exchange_weak(top, node, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => top = now,
            }
        }
    }

    pub fn pop(&self) -> Option<T> {
        let mut top = self.top.load(Ordering::Acquire);
        loop {
            if top.is_null() {
                return None;
            }
            let next = unsafe { (*top).next };
            match self.top.compare_exchange(top, next, Ordering::Relaxed, Ordering::Acquire) {
                Ok(_) => return Some(unsafe { ptr::read(&(*top).value) }),
                Err(now) => top = now,
            }
        }
    }
}
