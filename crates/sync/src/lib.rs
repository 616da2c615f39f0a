//! Synchronisation primitives that a test can schedule.
//!
//! An object that imports its atomics, locks and cells from here is built on `std` in production:
//! the items are re-exports, the crate has no dependency and costs nothing. With the feature
//! `shuttle` or `loom` the same names are the primitives of that crate, so that a test decides at
//! every access which thread goes on.
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
//! The primitives of Shuttle and Loom work only inside an execution of theirs: a build with one of
//! the features is for tests only, and a feature is never to be enabled by a library for its users.

pub mod cell;

/// `new` of a primitive: Shuttle's can be made in a `const` and a `static`, Loom's cannot.
#[cfg(feature = "shuttle")]
macro_rules! constructor {
    ($($own:ident)::+, $value:ty) => {
        /// A new one.
        pub const fn new(value: $value) -> Self {
            Self($($own)::+::new(value))
        }
    };
}

#[cfg(all(feature = "loom", not(feature = "shuttle")))]
macro_rules! constructor {
    ($($own:ident)::+, $value:ty) => {
        /// A new one.
        #[track_caller]
        pub fn new(value: $value) -> Self {
            Self($($own)::+::new(value))
        }
    };
}

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
use shuttle as explorer;

#[cfg(all(feature = "loom", not(feature = "shuttle")))]
use loom as explorer;

#[cfg(any(feature = "shuttle", feature = "loom"))]
/// Atomic types, [`Ordering`](atomic::Ordering) and [`fence`](atomic::fence).
pub mod atomic;
#[cfg(any(feature = "shuttle", feature = "loom"))]
mod lock;
#[cfg(any(feature = "shuttle", feature = "loom"))]
pub mod trace;

#[cfg(any(feature = "shuttle", feature = "loom"))]
mod chosen {
    pub use crate::explorer::sync::{
        Arc, Condvar, MutexGuard, RwLockReadGuard, RwLockWriteGuard, mpsc,
    };
    pub use crate::explorer::{hint, thread};
    pub use crate::lock::{Mutex, RwLock};
}

#[cfg(feature = "shuttle")]
const CHOSEN: Backend = Backend::Shuttle;
#[cfg(all(feature = "loom", not(feature = "shuttle")))]
const CHOSEN: Backend = Backend::Loom;
#[cfg(not(any(feature = "shuttle", feature = "loom")))]
const CHOSEN: Backend = Backend::Std;

#[cfg(not(any(feature = "shuttle", feature = "loom")))]
mod chosen {
    pub use std::hint;
    pub use std::sync::{
        Arc, Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, mpsc,
    };
    pub use std::thread;
}

/// Who schedules in this build.
pub const BACKEND: Backend = CHOSEN;

/// [`spin_loop`](hint::spin_loop), which lets another thread go on under a test.
pub use chosen::hint;
/// Threads.
pub use chosen::thread;
pub use chosen::{
    Arc, Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, mpsc,
};
/// Atomic types, [`Ordering`](atomic::Ordering) and [`fence`](atomic::fence).
#[cfg(not(any(feature = "shuttle", feature = "loom")))]
pub use std::sync::atomic;
