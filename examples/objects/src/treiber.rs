//! Treiber's stack (R. K. Treiber, 1986) over an arena with a free list.
//!
//! `pop` reads the top node, then replaces the top by the node below with a compare-and-swap. If in
//! between the node was popped, freed, taken again for another value and pushed, the index is the
//! same as before although everything has changed: the swap succeeds when it must not. That is ABA.
//! The right version counts every change in a tag beside the index; the broken one does not.

use crate::arena::{AtomicLink, Link, NIL};
use seriatim_sync::atomic::{AtomicU32, Ordering};
use std::marker::PhantomData;

/// What becomes of the tag when a word changes.
pub trait Tags: Send + Sync + 'static {
    /// The next tag.
    fn next(tag: u32) -> u32;
}

/// Every change has a tag of its own.
pub struct Counted;

/// There are no tags.
pub struct None;

impl Tags for Counted {
    fn next(tag: u32) -> u32 {
        tag.wrapping_add(1)
    }
}

impl Tags for None {
    fn next(_: u32) -> u32 {
        0
    }
}

/// The stack.
pub struct Treiber<T: Tags> {
    top: AtomicLink,
    free: AtomicLink,
    nodes: Vec<Node>,
    tags: PhantomData<T>,
}

/// The right stack.
pub type RightTreiber = Treiber<Counted>;
/// The stack with ABA.
pub type BrokenTreiber = Treiber<None>;

struct Node {
    value: AtomicU32,
    below: AtomicU32,
}

impl<T: Tags> Treiber<T> {
    /// A stack with room for so many values.
    pub fn new(room: usize) -> Self {
        let below = |index: usize| if index + 1 < room { index as u32 + 1 } else { NIL };
        let node = |index| Node { value: AtomicU32::new(0), below: AtomicU32::new(below(index)) };
        Treiber {
            top: AtomicLink::new(NIL),
            free: AtomicLink::new(0),
            nodes: (0..room).map(node).collect(),
            tags: PhantomData,
        }
    }

    /// Puts a value on top.
    ///
    /// # Panics
    /// If the arena is full.
    pub fn push(&self, value: u32) {
        let index = self.take_from(&self.free).expect("the arena has room").0;
        self.nodes[index as usize].value.store(value, Ordering::SeqCst);
        self.put_on(&self.top, index);
    }

    /// Takes the value on top.
    pub fn pop(&self) -> Option<u32> {
        let (index, value) = self.take_from(&self.top)?;
        self.put_on(&self.free, index);
        Some(value)
    }

    fn put_on(&self, list: &AtomicLink, index: u32) {
        loop {
            let top = list.load();
            self.nodes[index as usize].below.store(top.index, Ordering::SeqCst);
            if list.replace(top, Link { index, tag: T::next(top.tag) }) {
                return;
            }
        }
    }

    fn take_from(&self, list: &AtomicLink) -> Option<(u32, u32)> {
        loop {
            let top = list.load();
            if top.index == NIL {
                return Option::None;
            }
            let node = &self.nodes[top.index as usize];
            let below = node.below.load(Ordering::SeqCst);
            let value = node.value.load(Ordering::SeqCst);
            if list.replace(top, Link { index: below, tag: T::next(top.tag) }) {
                return Some((top.index, value));
            }
        }
    }
}
