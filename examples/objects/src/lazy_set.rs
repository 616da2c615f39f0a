//! The lazy list set (Heller et al., OPODIS 2005): `contains` takes no lock, `remove` marks before
//! it unlinks.
//!
//! `add` and `remove` search without locks, lock two neighbours, and then validate that these are
//! still in the list and still neighbours. The broken version forgets to look at the mark: it may
//! insert behind a node that has been taken out, and the key is never seen.

use crate::arena::NIL;
use seriatim_sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use seriatim_sync::{Mutex, MutexGuard};
use std::marker::PhantomData;

/// What is validated under the locks.
pub trait Validation: Send + Sync + 'static {
    /// Whether a node that is marked or not may be used.
    fn accepts(marked: bool) -> bool;
}

/// Marked nodes are out of the list.
pub struct LooksAtMarks;

/// Marks are not looked at.
pub struct IgnoresMarks;

impl Validation for LooksAtMarks {
    fn accepts(marked: bool) -> bool {
        !marked
    }
}

impl Validation for IgnoresMarks {
    fn accepts(_: bool) -> bool {
        true
    }
}

/// The set.
pub struct LazySet<V: Validation> {
    nodes: Vec<Node>,
    used: AtomicU32,
    validation: PhantomData<V>,
}

/// The right set.
pub type RightSet = LazySet<LooksAtMarks>;
/// The set that loses keys.
pub type BrokenSet = LazySet<IgnoresMarks>;

struct Node {
    key: AtomicU32,
    next: AtomicU32,
    marked: AtomicBool,
    lock: Mutex<()>,
}

/// The node before all keys.
const HEAD: u32 = 0;

/// Two neighbours under their locks.
struct Place<'s> {
    before: u32,
    at: u32,
    _locks: (MutexGuard<'s, ()>, Option<MutexGuard<'s, ()>>),
}

impl<V: Validation> LazySet<V> {
    /// A set for so many insertions in its lifetime.
    pub fn new(capacity: usize) -> Self {
        let node = |_| Node {
            key: AtomicU32::new(0),
            next: AtomicU32::new(NIL),
            marked: AtomicBool::new(false),
            lock: Mutex::new(()),
        };
        LazySet {
            nodes: (0..=capacity).map(node).collect(),
            used: AtomicU32::new(1),
            validation: PhantomData,
        }
    }

    fn node(&self, index: u32) -> &Node {
        &self.nodes[index as usize]
    }

    /// The neighbours between which a key is or would be.
    fn search(&self, key: u32) -> (u32, u32) {
        let mut before = HEAD;
        let mut at = self.node(HEAD).next.load(SeqCst);
        while at != NIL && self.node(at).key.load(SeqCst) < key {
            before = at;
            at = self.node(at).next.load(SeqCst);
        }
        (before, at)
    }

    fn locked(&self, key: u32) -> Place<'_> {
        loop {
            let (before, at) = self.search(key);
            let lock = |index| self.node(index).lock.lock().expect("nobody panics with a lock");
            let locks = (lock(before), (at != NIL).then(|| lock(at)));
            let usable =
                |index: u32| index == NIL || V::accepts(self.node(index).marked.load(SeqCst));
            let neighbours = self.node(before).next.load(SeqCst) == at;
            if usable(before) && usable(at) && neighbours {
                return Place { before, at, _locks: locks };
            }
        }
    }

    fn holds(&self, place: &Place<'_>, key: u32) -> bool {
        place.at != NIL && self.node(place.at).key.load(SeqCst) == key
    }

    /// Adds a key; false if it is there.
    ///
    /// # Panics
    /// If the capacity is used up.
    pub fn add(&self, key: u32) -> bool {
        let place = self.locked(key);
        if self.holds(&place, key) {
            return false;
        }
        let new = self.used.fetch_add(1, SeqCst);
        self.node(new).key.store(key, SeqCst);
        self.node(new).next.store(place.at, SeqCst);
        self.node(place.before).next.store(new, SeqCst);
        true
    }

    /// Takes a key out; false if it is not there.
    pub fn remove(&self, key: u32) -> bool {
        let place = self.locked(key);
        if !self.holds(&place, key) {
            return false;
        }
        self.node(place.at).marked.store(true, SeqCst);
        let behind = self.node(place.at).next.load(SeqCst);
        self.node(place.before).next.store(behind, SeqCst);
        true
    }

    /// Whether a key is there.
    pub fn contains(&self, key: u32) -> bool {
        let (_, at) = self.search(key);
        at != NIL && self.node(at).key.load(SeqCst) == key && !self.node(at).marked.load(SeqCst)
    }
}
