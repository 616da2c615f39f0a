//! A pair of words behind a sequence lock.
//!
//! A writer makes the sequence number odd, writes, and makes it even again. A reader reads the
//! number, the words, and the number again: if it is the same even number, nobody wrote in between.
//! The broken reader only looks before it reads, and may see half of a write.

use seriatim_sync::atomic::{AtomicU32, Ordering::SeqCst};
use seriatim_sync::hint;
use std::marker::PhantomData;

/// What a reader does after it has read.
pub trait SecondLook: Send + Sync + 'static {
    /// Whether what was read while the number was `before` may be used.
    fn is_good(sequence: &AtomicU32, before: u32) -> bool;
}

/// It looks again.
pub struct LooksAgain;

/// It trusts its luck.
pub struct LooksOnce;

impl SecondLook for LooksAgain {
    fn is_good(sequence: &AtomicU32, before: u32) -> bool {
        sequence.load(SeqCst) == before
    }
}

impl SecondLook for LooksOnce {
    fn is_good(_: &AtomicU32, _: u32) -> bool {
        true
    }
}

/// The pair.
pub struct SeqLock<L: SecondLook> {
    sequence: AtomicU32,
    words: [AtomicU32; 2],
    look: PhantomData<L>,
}

/// The right pair.
pub type RightSeqLock = SeqLock<LooksAgain>;
/// The pair that tears.
pub type BrokenSeqLock = SeqLock<LooksOnce>;

impl<L: SecondLook> Default for SeqLock<L> {
    fn default() -> Self {
        let words = [AtomicU32::new(0), AtomicU32::new(0)];
        SeqLock { sequence: AtomicU32::new(0), words, look: PhantomData }
    }
}

impl<L: SecondLook> SeqLock<L> {
    /// Writes both words.
    pub fn write(&self, first: u32, second: u32) {
        loop {
            let before = self.sequence.load(SeqCst);
            let free = before.is_multiple_of(2);
            if free && self.sequence.compare_exchange(before, before + 1, SeqCst, SeqCst).is_ok() {
                self.words[0].store(first, SeqCst);
                self.words[1].store(second, SeqCst);
                self.sequence.store(before + 2, SeqCst);
                return;
            }
            hint::spin_loop();
        }
    }

    /// Reads both words.
    pub fn read(&self) -> (u32, u32) {
        loop {
            let before = self.sequence.load(SeqCst);
            if before.is_multiple_of(2) {
                let pair = (self.words[0].load(SeqCst), self.words[1].load(SeqCst));
                if L::is_good(&self.sequence, before) {
                    return pair;
                }
            }
            hint::spin_loop();
        }
    }
}
