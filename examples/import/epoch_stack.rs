//! Treiber's stack with epochs: nodes are destroyed when nobody can hold them any more.

use crossbeam_epoch::{self as epoch, Atomic, Owned};
use std::mem::ManuallyDrop;
use std::ptr;
use std::sync::atomic::Ordering;

struct Node<T> {
    value: ManuallyDrop<T>,
    next: Atomic<Node<T>>,
}

pub struct Stack<T> {
    top: Atomic<Node<T>>,
}

impl<T> Stack<T> {
    pub fn new() -> Self {
        Stack { top: Atomic::null() }
    }

    pub fn push(&self, value: T) {
        let mut node =
            Owned::new(Node { value: ManuallyDrop::new(value), next: Atomic::null() });
        let guard = epoch::pin();
        loop {
            let top = self.top.load(Ordering::Relaxed, &guard);
            node.next.store(top, Ordering::Relaxed);
            match self.top.compare_exchange(
                top,
                node,
                Ordering::Release,
                Ordering::Relaxed,
                &guard,
            ) {
                Ok(_) => return,
                Err(error) => node = error.new,
            }
        }
    }

    pub fn pop(&self) -> Option<T> {
        let guard = epoch::pin();
        loop {
            let top = self.top.load(Ordering::Acquire, &guard);
            match unsafe { top.as_ref() } {
                None => return None,
                Some(node) => {
                    let next = node.next.load(Ordering::Relaxed, &guard);
                    if self
                        .top
                        .compare_exchange(top, next, Ordering::Relaxed, Ordering::Relaxed, &guard)
                        .is_ok()
                    {
                        let value = unsafe { ptr::read(&node.value) };
                        unsafe { guard.defer_destroy(top) };
                        return Some(ManuallyDrop::into_inner(value));
                    }
                }
            }
        }
    }
}
