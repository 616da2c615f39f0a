//! Michael and Scott's queue. Nodes are never freed.

use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

struct Node<T> {
    value: MaybeUninit<T>,
    next: AtomicPtr<Node<T>>,
}

pub struct Queue<T> {
    head: AtomicPtr<Node<T>>,
    tail: AtomicPtr<Node<T>>,
}

impl<T> Queue<T> {
    pub fn new() -> Self {
        let dummy = Box::into_raw(Box::new(Node {
            value: MaybeUninit::uninit(),
            next: AtomicPtr::new(ptr::null_mut()),
        }));
        Queue { head: AtomicPtr::new(dummy), tail: AtomicPtr::new(dummy) }
    }

    pub fn enqueue(&self, value: T) {
        let node = Box::into_raw(Box::new(Node {
            value: MaybeUninit::new(value),
            next: AtomicPtr::new(ptr::null_mut()),
        }));
        loop {
            let tail = self.tail.load(Ordering::Acquire);
            let next = unsafe { (*tail).next.load(Ordering::Acquire) };
            if next.is_null() {
                let linked = unsafe { &*tail };
                if linked
                    .next
                    .compare_exchange(next, node, Ordering::Release, Ordering::Relaxed)
                    .is_ok()
                {
                    self.help(tail, node);
                    return;
                }
            } else {
                self.help(tail, next);
            }
        }
    }

    pub fn dequeue(&self) -> Option<T> {
        loop {
            let head = self.head.load(Ordering::Acquire);
            let tail = self.tail.load(Ordering::Acquire);
            let next = unsafe { (*head).next.load(Ordering::Acquire) };
            if next.is_null() {
                return None;
            }
            if head == tail {
                self.help(tail, next);
            } else if let Ok(_) =
                self.head.compare_exchange(head, next, Ordering::Release, Ordering::Relaxed)
            {
                return Some(unsafe { (*next).value.assume_init_read() });
            }
        }
    }

    fn help(&self, tail: *mut Node<T>, next: *mut Node<T>) {
        let _ = self.tail.compare_exchange(tail, next, Ordering::Release, Ordering::Relaxed);
    }
}
