//! Treiber's stack that frees what it pops: another thread may still read the node.

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
        loop {
            let top = self.top.load(Ordering::Relaxed);
            unsafe { (*node).next = top };
            if self
                .top
                .compare_exchange_weak(top, node, Ordering::Release, Ordering::Relaxed)
                .is_ok()
            {
                return;
            }
        }
    }

    pub fn pop(&self) -> Option<T> {
        loop {
            let top = self.top.load(Ordering::Acquire);
            if top.is_null() {
                return None;
            }
            let next = unsafe { (*top).next };
            if self.top.compare_exchange(top, next, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                let node = unsafe { Box::from_raw(top) };
                return Some(node.value);
            }
        }
    }
}
