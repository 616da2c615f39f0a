//! Whether values that outlive their objects are a leak: only what grows with the number of
//! executions is.
//!
//! Many correct objects drop a value some time after they were dropped themselves: epoch-based
//! reclamation, hazard pointers, a pool of nodes shared by all objects. What they hold back is
//! bounded, however many objects come and go; a leak is not. So, let *kept(n)* be the number of
//! values of `n` executions that live on although the threads of these executions have ended (which
//! hands over what a thread put aside for later) and many further executions went by (which gives
//! reclaimers their turns). For an object that holds back at most *C* values, *kept(n)* ≤ *C*; for
//! one that leaks at a constant rate it grows without bound. Here it must grow in each of three
//! windows of executions, each twice as long as the one before.
//!
//! What would make this wrong: a *C* larger than the values of all windows (some thousand
//! executions), or a leak so rare that a window has none; the latter is reported once it was seen
//! in [`SIGHTINGS`] scenarios.

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

/// Follows the values of an era. `repeat` runs that many executions of the same kind, whose objects
/// and threads are gone when it returns.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tracked::{Ledger, Tracked};
    use std::collections::VecDeque;

    /// How an object that holds values back lets go of them.
    #[derive(Clone, Copy, PartialEq, Debug)]
    enum Holding {
        /// The oldest first, as soon as there are too many.
        OldestFirst,
        /// All at once, when there are too many.
        AllAtOnce,
        /// Never, but it takes no more than these.
        ForGood,
    }

    /// Follows the values of an object that holds back so many, and loses every so many-th for
    /// good.
    fn followed(holding: Holding, capacity: usize, lost: Option<u64>) -> Fate {
        let ledger = Ledger::open();
        let (mut held, mut count) = (VecDeque::new(), 0);
        let mut repeat = |executions| {
            for _ in 0..executions {
                let value = ledger.watch(|| Tracked::new(1));
                count += 1;
                if lost.is_some_and(|lost| count % lost == 0) {
                    std::mem::forget(value);
                    continue;
                }
                match holding {
                    Holding::ForGood if held.len() >= capacity => drop(value),
                    _ => held.push_back(value),
                }
                if held.len() > capacity {
                    held.drain(..if holding == Holding::OldestFirst { 1 } else { held.len() });
                }
            }
        };
        let era = ledger.begin();
        repeat(512);
        fate(era, Pace { round: 64, window: 1024 }, &mut repeat)
    }

    #[test]
    fn what_is_held_back_is_bounded_and_what_is_lost_is_not() {
        for holding in [Holding::OldestFirst, Holding::AllAtOnce, Holding::ForGood] {
            for capacity in [0, 1, 63, 64, 500, 3000] {
                let fate = followed(holding, capacity, None);
                assert!(!matches!(fate, Fate::Wrong(_)), "{holding:?} {capacity}: {fate:?}");
                for lost in [1, 2, 7, 100, 500] {
                    let fate = followed(holding, capacity, Some(lost));
                    let leaked = matches!(fate, Fate::Wrong(Imbalance::Leaked(_)));
                    assert!(leaked, "{holding:?} {capacity}, one of {lost}: {fate:?}");
                }
            }
        }
    }
}
