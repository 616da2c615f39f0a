//! Synchronisation primitives that a test can schedule.
//!
//! An object that imports its atomics, locks and cells from here is built on `std` in production: the
//! items are re-exports, the crate has no dependency and costs nothing. With the feature `shuttle` or
//! `loom` the same names are the primitives of that crate, so that a test decides at every access which
//! thread goes on.
//!
//! ```
//! use seriatim_sync::atomic::{AtomicUsize, Ordering};
//! let count = AtomicUsize::new(1);
//! # if seriatim_sync::BACKEND == seriatim_sync::Backend::Std {
//! count.fetch_add(1, Ordering::AcqRel);
//! # }
//! ```
//!
//! | back end | what it sees |
//! | --- | --- |
//! | `std` | what the machine does; rare interleavings stay rare |
//! | `shuttle` | interleavings of whole accesses, sequentially consistent: a wrong memory ordering is invisible |
//! | `loom` | also stale reads that C11 allows, within its limits: at most 4 threads besides the main one, SeqCst accesses as acquire–release, no load buffering |
//!
//! The primitives of Shuttle and Loom work only inside an execution of theirs: a build with one of the
//! features is for tests only, and a feature is never to be enabled by a library for its users.

pub mod cell;

/// Who schedules in this build.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Backend {
    /// The operating system.
    Std,
    /// Shuttle.
    Shuttle,
    /// Loom.
    Loom,
}

#[cfg(feature = "shuttle")]
mod chosen {
    pub const BACKEND: super::Backend = super::Backend::Shuttle;
    pub use shuttle::hint;
    pub use shuttle::sync::*;
    pub use shuttle::thread;
}

#[cfg(all(feature = "loom", not(feature = "shuttle")))]
mod chosen {
    pub const BACKEND: super::Backend = super::Backend::Loom;
    pub use loom::hint;
    pub use loom::sync::*;
    pub use loom::thread;
}

#[cfg(not(any(feature = "shuttle", feature = "loom")))]
mod chosen {
    pub const BACKEND: super::Backend = super::Backend::Std;
    pub use std::hint;
    pub use std::sync::*;
    pub use std::thread;
}

/// Who schedules in this build.
pub const BACKEND: Backend = chosen::BACKEND;

/// Atomic types, [`Ordering`](atomic::Ordering) and [`fence`](atomic::fence).
pub use chosen::atomic;
/// [`spin_loop`](hint::spin_loop), which lets another thread go on under a test.
pub use chosen::hint;
/// Threads.
pub use chosen::thread;
pub use chosen::{
    Arc, Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, mpsc,
};
