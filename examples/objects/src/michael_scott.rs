//! The queue of Michael and Scott (PODC 1996), over an arena that is never reused.
//!
//! `enqueue` links its node behind the last one with a compare-and-swap on that node's `next`. The
//! broken version looks whether `next` is free and then stores: two enqueues may both find it free,
//! and one value is lost.

use crate::arena::NIL;
use seriatim_sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::marker::PhantomData;

/// How a node is linked behind the last one.
pub trait Linking: Send + Sync + 'static {
    /// Sets `next` to a node if it is free.
    fn link(next: &AtomicU32, node: u32) -> bool;
}

/// In one step.
pub struct Atomically;

/// In two steps.
pub struct LookThenStore;

impl Linking for Atomically {
    fn link(next: &AtomicU32, node: u32) -> bool {
        next.compare_exchange(NIL, node, SeqCst, SeqCst).is_ok()
    }
}

impl Linking for LookThenStore {
    fn link(next: &AtomicU32, node: u32) -> bool {
        let free = next.load(SeqCst) == NIL;
        if free {
            next.store(node, SeqCst);
        }
        free
    }
}

/// The queue.
pub struct MichaelScott<L: Linking> {
    head: AtomicU32,
    tail: AtomicU32,
    used: AtomicU32,
    nodes: Vec<Node>,
    linking: PhantomData<L>,
}

/// The right queue.
pub type RightQueue = MichaelScott<Atomically>;
/// The queue that loses values.
pub type BrokenQueue = MichaelScott<LookThenStore>;

struct Node {
    value: AtomicU32,
    next: AtomicU32,
}

impl<L: Linking> MichaelScott<L> {
    /// A queue for so many values in its lifetime.
    pub fn new(capacity: usize) -> Self {
        let node = |_| Node { value: AtomicU32::new(0), next: AtomicU32::new(NIL) };
        MichaelScott {
            head: AtomicU32::new(0),
            tail: AtomicU32::new(0),
            used: AtomicU32::new(1),
            nodes: (0..=capacity).map(node).collect(),
            linking: PhantomData,
        }
    }

    fn node(&self, index: u32) -> &Node {
        &self.nodes[index as usize]
    }

    /// Adds a value at the back.
    ///
    /// # Panics
    /// If the capacity is used up.
    pub fn enqueue(&self, value: u32) {
        let new = self.used.fetch_add(1, SeqCst);
        self.node(new).value.store(value, SeqCst);
        loop {
            let tail = self.tail.load(SeqCst);
            let next = self.node(tail).next.load(SeqCst);
            if next != NIL {
                // Somebody linked a node and has not moved the tail yet.
                let _ = self.tail.compare_exchange(tail, next, SeqCst, SeqCst);
            } else if L::link(&self.node(tail).next, new) {
                let _ = self.tail.compare_exchange(tail, new, SeqCst, SeqCst);
                return;
            }
        }
    }

    /// Takes the value at the front.
    pub fn dequeue(&self) -> Option<u32> {
        loop {
            let head = self.head.load(SeqCst);
            let tail = self.tail.load(SeqCst);
            let next = self.node(head).next.load(SeqCst);
            if next == NIL {
                return None;
            }
            if head == tail {
                let _ = self.tail.compare_exchange(tail, next, SeqCst, SeqCst);
                continue;
            }
            if self.head.compare_exchange(head, next, SeqCst, SeqCst).is_ok() {
                return Some(self.node(next).value.load(SeqCst));
            }
        }
    }
}
