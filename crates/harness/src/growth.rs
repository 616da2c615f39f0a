//! Whether values that outlive their objects are a leak: only what grows with the number of executions is.
//!
//! Many correct objects drop a value some time after they were dropped themselves: epoch-based reclamation,
//! hazard pointers, a pool of nodes shared by all objects. What they hold back is bounded, however many
//! objects come and go; a leak is not. So, let *kept(n)* be the number of values of `n` executions that
//! live on although the threads of these executions have ended (which hands over what a thread put aside
//! for later) and many further executions went by (which gives reclaimers their turns). For an object that
//! holds back at most *C* values, *kept(n)* ≤ *C*; for one that leaks at a constant rate it grows without
//! bound. Here it must grow in each of three windows of executions, each twice as long as the one before.
//!
//! What would make this wrong: a *C* larger than the values of all windows (some thousand executions), or a
//! leak so rare that a window has none; the latter is reported once it was seen in [`SIGHTINGS`]
//! scenarios.

#[cfg(any(feature = "shuttle", feature = "loom"))]
use crate::tracked::Ledger;
use crate::tracked::{Era, Imbalance};

/// So many looks without a change, and it has settled.
const QUIET_ROUNDS: u32 = 24;
/// The windows, in units of the first.
const WINDOWS: [u64; 3] = [1, 2, 4];
/// In so many scenarios values must be kept for a leak that is too rare to grow in every window.
pub(crate) const SIGHTINGS: usize = 4;

/// What became of the values of an era that outlived their objects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fate {
    /// They were dropped later.
    Dropped,
    /// They live, but did not become more.
    Kept,
    /// They became more with the executions, or something died twice.
    Wrong(Imbalance),
}

/// How many executions to spend.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// Between two looks at an account that is to settle.
    pub round: u64,
    /// In the first window.
    pub window: u64,
}

impl Pace {
    /// So much that all of it takes about this many executions, within what makes sense.
    pub fn for_about(executions: u64) -> Self {
        Pace { round: (executions / 200).clamp(16, 64), window: (executions / 16).clamp(64, 1024) }
    }
}

/// Follows the values of an era. `repeat` runs that many executions of the same kind, whose objects and
/// threads are gone when it returns.
pub(crate) fn fate(era: Era, pace: Pace, repeat: &mut dyn FnMut(u64)) -> Fate {
    match settled(era, pace, repeat) {
        None => return Fate::Dropped,
        Some(Imbalance::Leaked(_)) => {}
        Some(wrong) => return Fate::Wrong(wrong),
    }
    for length in WINDOWS {
        let later = era.next();
        repeat(pace.window * length);
        match settled(later, pace, repeat) {
            None => return Fate::Kept,
            Some(Imbalance::Leaked(_)) => {}
            Some(wrong) => return Fate::Wrong(wrong),
        }
    }
    era.imbalance().map_or(Fate::Dropped, Fate::Wrong)
}

/// What is wrong with an account when nothing changes any more.
fn settled(era: Era, pace: Pace, repeat: &mut dyn FnMut(u64)) -> Option<Imbalance> {
    let mut last = era.imbalance();
    // What is made meanwhile is not the era's.
    era.next();
    let mut quiet = 0;
    while quiet < QUIET_ROUNDS {
        let Some(Imbalance::Leaked(_)) = last else { break };
        repeat(pace.round);
        let now = era.imbalance();
        quiet = if now == last { quiet + 1 } else { 0 };
        last = now;
    }
    last
}

/// Whether the living values become more with every repetition of one and the same execution. For
/// explorers, which can repeat one: `repeat` does it that many times.
#[cfg(any(feature = "shuttle", feature = "loom"))]
pub(crate) fn grows(ledger: &Ledger, window: u64, repeat: &mut dyn FnMut(u64)) -> bool {
    WINDOWS.iter().all(|length| {
        let before = ledger.live();
        repeat(window * length);
        ledger.live() >= before + (window * length) as i64
    })
}
