//! Why the work of the whole process has to end, if it has.

use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};

/// Why work ends before it is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Reason {
    /// The time limit was reached.
    Time = 1,
    /// The memory limit was reached.
    Memory = 2,
    /// Somebody asked to stop.
    Interrupted = 3,
}

impl Reason {
    /// The reason in words, known without any work: it is said when there is no memory left to make
    /// it.
    pub const fn text(self) -> &'static str {
        match self {
            Reason::Time => "the time limit was reached",
            Reason::Memory => "the memory limit was reached",
            Reason::Interrupted => "it was interrupted",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// The reason of the process, or 0. A signal handler and the allocator write it, so it is an atomic
/// number.
static REASON: AtomicU8 = AtomicU8::new(0);

/// Ends all work of the process. The first reason stands.
pub fn stop(reason: Reason) {
    let _ = REASON.compare_exchange(0, reason as u8, Ordering::Relaxed, Ordering::Relaxed);
}

/// Why all work of the process has to end, if it has.
#[inline]
pub fn stopped() -> Option<Reason> {
    match REASON.load(Ordering::Relaxed) {
        0 => None,
        1 => Some(Reason::Time),
        2 => Some(Reason::Memory),
        _ => Some(Reason::Interrupted),
    }
}

/// Work that ran out of memory was given up and its memory given back: the next may begin.
pub fn forget_memory() {
    let (memory, none) = (Reason::Memory as u8, 0);
    let _ = REASON.compare_exchange(memory, none, Ordering::Relaxed, Ordering::Relaxed);
}
