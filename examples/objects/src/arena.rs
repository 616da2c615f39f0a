//! Nodes by index, and the words that point to them.

use seriatim_sync::atomic::{AtomicU64, Ordering};

/// Points nowhere.
pub const NIL: u32 = u32::MAX;

/// An index together with a tag that changes whenever the word does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Link {
    /// The node.
    pub index: u32,
    /// The tag.
    pub tag: u32,
}

/// A link in shared memory.
pub struct AtomicLink(AtomicU64);

fn pack(link: Link) -> u64 {
    u64::from(link.tag) << 32 | u64::from(link.index)
}

impl AtomicLink {
    /// A word that points to a node.
    pub fn new(index: u32) -> Self {
        AtomicLink(AtomicU64::new(pack(Link { index, tag: 0 })))
    }

    /// The link now.
    pub fn load(&self) -> Link {
        let word = self.0.load(Ordering::SeqCst);
        Link { index: word as u32, tag: (word >> 32) as u32 }
    }

    /// Points elsewhere, whatever it is now.
    pub fn store(&self, link: Link) {
        self.0.store(pack(link), Ordering::SeqCst);
    }

    /// Points elsewhere if it is still the expected link.
    pub fn replace(&self, expected: Link, new: Link) -> bool {
        let exchange =
            self.0.compare_exchange(pack(expected), pack(new), Ordering::SeqCst, Ordering::SeqCst);
        exchange.is_ok()
    }
}
