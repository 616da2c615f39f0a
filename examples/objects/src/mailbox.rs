//! A mailbox for one letter: a word, and a flag that says whether it is there.
//!
//! The flag publishes the word, so it must be set with release and cleared with acquire ordering.
//! The broken version is relaxed: no interleaving of whole accesses shows it, only a memory model
//! does.

use seriatim_sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::marker::PhantomData;

/// The orderings of the flag.
pub trait Orderings: Send + Sync + 'static {
    /// Of the store that publishes.
    const PUBLISH: Ordering;
    /// Of the access that takes.
    const TAKE: Ordering;
}

/// Release and acquire.
pub struct Published;

/// Relaxed.
pub struct Unpublished;

impl Orderings for Published {
    const PUBLISH: Ordering = Ordering::Release;
    const TAKE: Ordering = Ordering::Acquire;
}

impl Orderings for Unpublished {
    const PUBLISH: Ordering = Ordering::Relaxed;
    const TAKE: Ordering = Ordering::Relaxed;
}

const EMPTY: u8 = 0;
const BUSY: u8 = 1;
const FULL: u8 = 2;

/// The mailbox.
pub struct Mailbox<O: Orderings> {
    letter: AtomicU32,
    state: AtomicU8,
    orderings: PhantomData<O>,
}

/// The right mailbox.
pub type RightMailbox = Mailbox<Published>;
/// The mailbox without publication.
pub type BrokenMailbox = Mailbox<Unpublished>;

impl<O: Orderings> Default for Mailbox<O> {
    fn default() -> Self {
        let (letter, state) = (AtomicU32::new(0), AtomicU8::new(EMPTY));
        Mailbox { letter, state, orderings: PhantomData }
    }
}

impl<O: Orderings> Mailbox<O> {
    fn change(&self, from: u8, to: u8) -> bool {
        self.state.compare_exchange(from, to, O::TAKE, Ordering::Relaxed).is_ok()
    }

    /// Puts a letter in; false if there is one, or somebody is at the mailbox.
    pub fn put(&self, letter: u32) -> bool {
        let free = self.change(EMPTY, BUSY);
        if free {
            self.letter.store(letter, Ordering::Relaxed);
            self.state.store(FULL, O::PUBLISH);
        }
        free
    }

    /// Takes the letter.
    pub fn take(&self) -> Option<u32> {
        let there = self.change(FULL, BUSY);
        there.then(|| {
            let letter = self.letter.load(Ordering::Relaxed);
            self.state.store(EMPTY, O::PUBLISH);
            letter
        })
    }
}
