//! A stack whose lock is the tag of its top: who sets it has the stack for itself.

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
        let guard = epoch::pin();
        let node = Owned::new(Node { value: ManuallyDrop::new(value), next: Atomic::null() });
        loop {
            let top = self.top.load(Ordering::Relaxed, &guard);
            if top.tag() == 0
                && self
                    .top
                    .compare_exchange(
                        top,
                        top.with_tag(1),
                        Ordering::Acquire,
                        Ordering::Relaxed,
                        &guard,
                    )
                    .is_ok()
            {
                node.next.store(top, Ordering::Relaxed);
                self.top.store(node, Ordering::Release);
                return;
            }
        }
    }

    pub fn pop(&self) -> Option<T> {
        let guard = epoch::pin();
        loop {
            let top = self.top.load(Ordering::Relaxed, &guard);
            if top.tag() == 1 {
                continue;
            }
            if top.is_null() {
                return None;
            }
            let locked = top.with_tag(1);
            if self
                .top
                .compare_exchange(top, locked, Ordering::Acquire, Ordering::Relaxed, &guard)
                .is_ok()
            {
                let node = unsafe { top.deref() };
                let next = node.next.load(Ordering::Relaxed, &guard);
                let value = unsafe { ptr::read(&node.value) };
                self.top.store(next, Ordering::Release);
                unsafe { guard.defer_destroy(top) };
                return Some(ManuallyDrop::into_inner(value));
            }
        }
    }
}
