//! The memory account: every byte that the process allocates, counted by the allocator.
//!
//! Each thread counts for itself and settles with the common account whenever its balance is beyond
//! a batch; so an allocation costs an addition, and the account is wrong by at most a batch for
//! each thread. What is counted is what the system's allocator really takes: it rounds up and keeps
//! a word for itself.

use crate::guard::{Ended, Guarded, end};
use crate::{Reason, stop};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering};

/// The allocator that keeps the account; a program with limits makes it the global one.
///
/// ```no_run
/// #[global_allocator]
/// static ALLOCATOR: seriatim_limits::account::Counting = seriatim_limits::account::Counting;
/// ```
pub struct Counting;

/// The balance at which a thread settles, in bytes.
const BATCH: isize = 32 << 10;

/// What all threads have settled.
static USED: AtomicIsize = AtomicIsize::new(0);
/// Beyond this, work is asked to stop.
static LIMIT: AtomicUsize = AtomicUsize::new(usize::MAX);
/// Beyond this, the process ends.
static BOUND: AtomicUsize = AtomicUsize::new(usize::MAX);

thread_local! {
    static BALANCE: Cell<isize> = const { Cell::new(0) };
}

/// The bytes in use, by the account.
pub fn used() -> usize {
    usize::try_from(USED.load(Ordering::Relaxed)).unwrap_or(0)
}

/// What is left until the limit, by the account.
pub fn left() -> usize {
    LIMIT.load(Ordering::Relaxed).saturating_sub(used())
}

/// Sets the limit at which work is asked to stop, and the bound at which the process ends.
pub(crate) fn limit(limit: usize, bound: usize) {
    LIMIT.store(limit, Ordering::Relaxed);
    BOUND.store(bound, Ordering::Relaxed);
}

/// What the system's allocator takes for a request: the size with a word before it, in units of two
/// words.
const fn taken(size: usize) -> isize {
    let unit = 2 * size_of::<usize>();
    let whole = (size + size_of::<usize>()).next_multiple_of(unit);
    (if whole < 2 * unit { 2 * unit } else { whole }) as isize
}

/// Adds to the balance of this thread. A thread that is gone settles at once.
#[inline]
fn count(bytes: isize) {
    let balance = BALANCE.try_with(|balance| {
        let sum = balance.get() + bytes;
        let is_settled = sum.abs() > BATCH;
        balance.set(if is_settled { 0 } else { sum });
        if is_settled { sum } else { 0 }
    });
    let due = balance.unwrap_or(bytes);
    if due != 0 {
        settle(due);
    }
}

#[cold]
fn settle(due: isize) {
    let used = USED.fetch_add(due, Ordering::Relaxed) + due;
    let used = usize::try_from(used).unwrap_or(0);
    if due > 0 && used > LIMIT.load(Ordering::Relaxed) {
        stop(Reason::Memory);
        if used > BOUND.load(Ordering::Relaxed) {
            end(Ended::By(Reason::Memory), Guarded::Allocator);
        }
    }
}

/// The system gave nothing: a process with limits ends as if it had reached one. Work that counts
/// on memory cannot go on, and to unwind takes memory, too. The process of another program, which
/// has no limits, is not ours to end: what becomes of it is for the caller.
#[cold]
fn refused() {
    if LIMIT.load(Ordering::Relaxed) != usize::MAX {
        end(Ended::Refused, Guarded::Allocator);
    }
}

/// What the system gave, if it gave something.
#[inline]
fn given(pointer: *mut u8) -> *mut u8 {
    if pointer.is_null() {
        refused();
    }
    pointer
}

// SAFETY: every call goes to the system's allocator with the layout that it came with; the account
// is only told of it, neither allocates nor unwinds.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(taken(layout.size()));
        // SAFETY: as the caller promises.
        given(unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(taken(layout.size()));
        // SAFETY: as the caller promises.
        given(unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-taken(layout.size()));
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(taken(size) - taken(layout.size()));
        // SAFETY: as the caller promises.
        given(unsafe { System.realloc(pointer, layout, size) })
    }
}
