//! Where the threads of a batch meet before each execution.
//!
//! Threads that start together overlap. Who comes early spins, since who sleeps is not there when
//! the others start; but only for a moment: on a machine that is busy with something else the late
//! one may have lost its processor for milliseconds, and a system that shares processors fairly
//! gives those who slept theirs at once, and those who spun all the time none. So who waits for
//! long sleeps, and all meet once more when everybody is awake.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Lets all threads of a batch start an execution together.
pub(crate) struct Gate {
    threads: usize,
    /// How long to spin before another thread is let run here.
    spins: u32,
    /// Those that have come, in all executions together, and those that were seen awake.
    arrived: AtomicUsize,
    awake: AtomicUsize,
    /// Those that sleep.
    sleepers: AtomicUsize,
    bed: Mutex<()>,
    everybody_came: Condvar,
    abandoned: AtomicBool,
}

/// Who waited for so many spins (a tenth of a millisecond, longer than most executions) sleeps.
const PATIENCE: u32 = 4096;

/// Where there are not enough processors, who spins keeps the others from coming.
const PATIENCE_IN_A_CROWD: u32 = 64;

/// Who sleeps looks so often whether the batch was given up.
const NAP: Duration = Duration::from_millis(20);

impl Gate {
    pub fn of(threads: usize, processors: usize) -> Self {
        Gate {
            threads,
            spins: if threads <= processors { PATIENCE } else { PATIENCE_IN_A_CROWD },
            arrived: AtomicUsize::new(0),
            awake: AtomicUsize::new(0),
            sleepers: AtomicUsize::new(0),
            bed: Mutex::new(()),
            everybody_came: Condvar::new(),
            abandoned: AtomicBool::new(false),
        }
    }

    /// Nobody passes any more.
    pub fn abandon(&self) {
        self.abandoned.store(true, Ordering::Relaxed);
    }

    /// Waits for the others before an execution; false if the batch was given up.
    pub fn pass(&self, execution: usize) -> bool {
        let everybody = (execution + 1) * self.threads;
        if self.arrived.fetch_add(1, Ordering::SeqCst) + 1 == everybody {
            self.wake();
        } else if !self.spin(&self.arrived, everybody) {
            self.sleep(everybody);
        }
        self.awake.fetch_add(1, Ordering::AcqRel);
        while !self.spin(&self.awake, everybody) {
            if self.abandoned.load(Ordering::Relaxed) {
                return false;
            }
            std::thread::yield_now();
        }
        true
    }

    /// Whether a number is reached in a moment.
    fn spin(&self, number: &AtomicUsize, wanted: usize) -> bool {
        (0..self.spins).any(|_| {
            std::hint::spin_loop();
            number.load(Ordering::Acquire) >= wanted
        })
    }

    fn sleep(&self, everybody: usize) {
        let mut bed = self.bed.lock().unwrap_or_else(PoisonError::into_inner);
        // Either this is seen by who comes last, or who comes last is seen here.
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        while self.arrived.load(Ordering::SeqCst) < everybody
            && !self.abandoned.load(Ordering::Relaxed)
        {
            let nap = self.everybody_came.wait_timeout(bed, NAP);
            bed = nap.unwrap_or_else(PoisonError::into_inner).0;
        }
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
    }

    fn wake(&self) {
        if self.sleepers.load(Ordering::SeqCst) > 0 {
            drop(self.bed.lock().unwrap_or_else(PoisonError::into_inner));
            self.everybody_came.notify_all();
        }
    }
}
