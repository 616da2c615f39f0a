//! Limits: no certificate, however it is made, takes the checker unbounded time or memory.
//!
//! A certificate can be made so that a step has more cases than can be tried: many segments that
//! may be empty, many places that look alike, many threads with names. Every enumeration therefore
//! has a limit of its own, far above what any proof of the library needs, and beyond it the
//! certificate is rejected: a limit never makes a check succeed. What is read is limited, too, so
//! that memory is a multiple of the length of the text, and all work together is.

use seriatim_limits::checkpoint;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many nodes a view may draw, and how many records it may name.
pub const NODES: usize = 64;
/// How many facts, moments and scalars of a part there may be.
pub const WORDS: usize = 256;
/// How many places an effect may have.
pub const PLACES: usize = 12;
/// How many states there may be inside of one step.
pub const INSIDE: usize = 50_000;
/// How many cases the steps of a view, or an effect in a view, may have.
pub const CASES: u32 = 500_000;
/// How many cases of optional segments are told apart when a state or step is looked up.
pub const SPLITS: u32 = 4_096;
/// How many nodes are tried as the places of an effect, or ways through a segment, when one is
/// compared with one step or state.
pub const TRIES: u32 = 100_000;
/// How many cases there may be in all, if nothing else is asked for.
pub const WORK: u64 = 4_000_000_000;

/// Counts down, and says when nothing is left.
#[derive(Clone, Debug)]
pub struct Left(u64);

impl Left {
    /// So many.
    pub fn of(count: impl Into<u64>) -> Left {
        Left(count.into())
    }

    /// Takes one; whether there was one.
    pub fn take(&mut self) -> bool {
        checkpoint();
        let some = self.0 > 0;
        self.0 = self.0.saturating_sub(1);
        some
    }
}

/// Counts down for all threads of a pass together.
#[derive(Debug)]
pub struct Work {
    done: AtomicU64,
    most: u64,
}

impl Work {
    /// So much.
    pub fn of(most: u64) -> Work {
        Work { done: AtomicU64::new(0), most }
    }

    /// Takes one; whether there was one.
    pub fn take(&self) -> bool {
        self.done.fetch_add(1, Ordering::Relaxed) < self.most
    }
}
