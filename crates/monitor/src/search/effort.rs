//! How long a search may go on before it pauses, and the memory that all searches share.

use super::space::Step;
use seriatim_spec::Cancel;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How a search stands when it hands back control.
pub enum Progress {
    /// An order was found: the steps of a witness.
    Found(Vec<Step>),
    /// There is no order.
    Exhausted,
    /// The effort is spent; the search can go on.
    Paused,
    /// The memory limit is reached.
    OutOfMemory,
    /// Somebody asked to stop.
    Cancelled,
}

/// The memory that all searches of one check may use together, by their own estimates.
pub struct Memory {
    used: AtomicUsize,
    peak: AtomicUsize,
    limit: usize,
}

impl Memory {
    /// A limit in bytes.
    pub fn new(limit: usize) -> Self {
        Memory { used: AtomicUsize::new(0), peak: AtomicUsize::new(0), limit }
    }

    /// Replaces what one search reported before by what it uses now; whether all fits.
    pub fn report(&self, before: &mut usize, now: usize) -> bool {
        let delta = now.wrapping_sub(*before);
        *before = now;
        let total = self.used.fetch_add(delta, Ordering::Relaxed).wrapping_add(delta);
        self.peak.fetch_max(total, Ordering::Relaxed);
        total <= self.limit
    }

    /// Whether so many bytes are within the limit, and few enough to be counted in 32 bits of
    /// words.
    pub fn holds(&self, bytes: usize) -> bool {
        bytes <= self.limit && bytes / 4 < u32::MAX as usize
    }

    /// The most that was in use at a time.
    pub fn peak(&self) -> usize {
        self.peak.load(Ordering::Relaxed)
    }
}

/// How many expansions a search may still make, and who may stop it.
pub struct Effort<'e> {
    left: u64,
    /// Configurations that were generated since the last look.
    unseen: usize,
    cancel: &'e Cancel,
    memory: &'e Memory,
    reported: &'e mut usize,
}

/// Configurations between two looks at the clock and the memory.
const LOOK_EVERY: usize = 1 << 10;

impl<'e> Effort<'e> {
    /// An effort of some expansions; `reported` is the memory that the search reported last.
    pub fn new(
        expansions: u64,
        cancel: &'e Cancel,
        memory: &'e Memory,
        reported: &'e mut usize,
    ) -> Self {
        Effort { left: expansions, unseen: 0, cancel, memory, reported }
    }

    /// Spends one expansion, which generated so many configurations; says why to pause, if so.
    #[inline]
    pub fn spend(&mut self, generated: usize, bytes: impl FnOnce() -> usize) -> Option<Progress> {
        self.left = self.left.saturating_sub(1);
        self.unseen += 1 + generated;
        if self.unseen < LOOK_EVERY && self.left > 0 {
            return None;
        }
        self.unseen = 0;
        if self.cancel.is_raised() {
            return Some(Progress::Cancelled);
        }
        if !self.memory.report(self.reported, bytes()) {
            return Some(Progress::OutOfMemory);
        }
        (self.left == 0).then_some(Progress::Paused)
    }
}
