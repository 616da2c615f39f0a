//! Leaving work from wherever it is.
//!
//! Unwinding is how work leaves that has no result for "stopped", as a reader in the middle of a
//! line. It is no panic: no hook runs and nothing is printed. What the work was changing is dropped
//! on the way; so whoever calls [`Cancel::during`] must not look at anything that the work may have
//! left half changed.

use crate::{Cancel, Instant, Reason, forget_memory, guard};
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Work was left before it was done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stopped(pub Reason);

/// The stack of a thread that helps: that of the main thread.
const STACK: usize = 8 << 20;

/// The most checkpoints between two looks at the requests.
const MOST: u32 = 64;
/// Where looks are farther apart than this, the next checkpoint looks again: what lies between
/// checkpoints may be written by anybody, and take long.
const FAR: Duration = Duration::from_millis(1);

thread_local! {
    /// The checkpoints up to the next look, and how many there were before the last one: first one,
    /// then twice as many each time, as long as looks are not far apart.
    static LEFT: Cell<u32> = const { Cell::new(1) };
    static PACE: Cell<u32> = const { Cell::new(1) };
    static LOOKED: Cell<Option<Instant>> = const { Cell::new(None) };
    /// Who may stop the work of this thread, the innermost last; `None`: nobody.
    static REQUESTS: RefCell<Vec<Option<Cancel>>> = const { RefCell::new(Vec::new()) };
}

/// A place at which work can be left. Costs next to nothing; belongs into every loop that input can
/// make long.
///
/// # Panics
///
/// Unwinds to the innermost [`Cancel::during`] of this thread if its request is raised. Where there
/// is none, and in programs that are compiled to abort on panic, it does nothing.
#[inline]
pub fn checkpoint() {
    checkpoint_after(1);
}

/// A [`checkpoint`] after work that takes about as long as so many usual ones.
#[inline]
pub fn checkpoint_after(work: u32) {
    let left = LEFT.get().saturating_sub(work);
    LEFT.set(left);
    if left == 0 {
        checkpoint_now();
    }
}

/// A [`checkpoint`] that looks at once: for work that takes long between two of them.
#[cold]
pub fn checkpoint_now() {
    LEFT.set(MOST);
    if !cfg!(panic = "unwind") || std::thread::panicking() {
        return;
    }
    let now = Instant::now();
    let is_far =
        LOOKED.replace(Some(now)).is_some_and(|before| now.saturating_duration_since(before) > FAR);
    PACE.set(if is_far { 1 } else { (PACE.get() * 2).min(MOST) });
    LEFT.set(PACE.get());
    let reason = REQUESTS.with_borrow(|requests| requests.last()?.as_ref()?.reason());
    if let Some(reason) = reason {
        resume_unwind(Box::new(Stopped(reason)));
    }
}

/// Does two things at the same time, the second one on a thread of its own, if there is one to be
/// had. Who may stop this thread may stop both.
///
/// # Panics
///
/// Unwinds as either of them does.
pub fn both<A, B: Send>(here: impl FnOnce() -> A, there: impl FnOnce() -> B + Send) -> (A, B) {
    let request = Cancel::innermost();
    let there = Mutex::new(Some(there));
    // Whoever comes first takes it: the thread, or, if there is none, this one.
    let take = || there.lock().unwrap_or_else(PoisonError::into_inner).take();
    std::thread::scope(|scope| {
        let work = || take().map(|there| request.during(there));
        let helper = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work).ok();
        let first = here();
        let second = match helper.map(|helper| helper.join()) {
            Some(Ok(second)) => second,
            Some(Err(panic)) => resume_unwind(panic),
            None => work(),
        };
        match second.expect("it was there for one of them") {
            Ok(second) => (first, second),
            Err(stopped) => resume_unwind(Box::new(stopped)),
        }
    })
}

impl Cancel {
    /// Does something that may be left at any [`checkpoint`] of this thread, once the request is
    /// raised. A request around it is not heard meanwhile.
    pub fn during<T>(&self, work: impl FnOnce() -> T) -> Result<T, Stopped> {
        heard(Some(self.clone()), work)
    }

    /// The request by which the work of this thread can be left just now: for work that asks instead
    /// of passing checkpoints.
    pub fn innermost() -> Cancel {
        let request = REQUESTS.with_borrow(|requests| requests.last().cloned().flatten());
        request.unwrap_or_else(Cancel::never)
    }

    /// Does something that an answer can do without, such as asking for a second opinion: `None` if
    /// a limit ended it. If that was the one of memory, what the work took is there again, and the
    /// answer can still be told.
    pub fn if_possible<T>(work: impl FnOnce() -> T) -> Option<T> {
        Cancel::last().if_not_raised(work)
    }

    /// The same for work that this request ends.
    pub fn if_not_raised<T>(&self, work: impl FnOnce() -> T) -> Option<T> {
        match self.during(work) {
            Ok(done) => Some(done),
            Err(Stopped(reason)) => {
                if reason == Reason::Memory {
                    guard::give_back();
                    forget_memory();
                }
                None
            }
        }
    }

    /// Does something that no checkpoint leaves: what must be said in any case.
    pub fn undisturbed<T>(work: impl FnOnce() -> T) -> T {
        match heard(None, work) {
            Ok(done) => done,
            Err(_) => unreachable!("nobody holds a request that nobody has"),
        }
    }
}

/// Does something while nobody but this request is heard.
fn heard<T>(request: Option<Cancel>, work: impl FnOnce() -> T) -> Result<T, Stopped> {
    REQUESTS.with_borrow_mut(|requests| requests.push(request));
    LEFT.set(1);
    PACE.set(1);
    let outcome = catch_unwind(AssertUnwindSafe(work));
    REQUESTS.with_borrow_mut(|requests| requests.pop());
    outcome.map_err(|payload| match payload.downcast::<Stopped>() {
        Ok(stopped) => *stopped,
        Err(panic) => resume_unwind(panic),
    })
}
