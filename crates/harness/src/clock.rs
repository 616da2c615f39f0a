//! Time stamps that never make an operation look shorter than it was.
//!
//! A verdict rests on "this operation returned before that one was called". The recorded interval must
//! therefore *contain* the operation: a call stamped early or a return stamped late only hides an order,
//! the other way round invents one, and a correct object looks broken. A bare `rdtsc` does that: the
//! processor reads the counter before the loads that precede it in the program.
//!
//! | clock | call | return | price |
//! | --- | --- | --- | --- |
//! | [`Clock::fenced`] on x86-64 with a trusted counter | `rdtsc; lfence` | `mfence; lfence; rdtsc` | 15 to 35 ns, threads do not touch each other |
//! | [`Clock::fenced`] elsewhere | `Instant`, then `fence(SeqCst)` | `fence(SeqCst)`, then `Instant` | 25 to 50 ns |
//! | [`Clock::counter`] | `fetch_add(SeqCst)` | the same | 2 to 5 ns, but all threads share a cache line: it slows them, orders them, and can hide a race |
//!
//! `lfence` lets nothing later start before the counter was read; `mfence` first drains the store buffer,
//! so that what the operation wrote is visible to everybody before its return is stamped. The counter is
//! trusted where Linux itself uses it as its clock source, because then the kernel has checked that it
//! runs at one rate and agrees between cores. What would make this unsound: a machine whose cores disagree
//! although the kernel believes that they agree. `docs/harness.md` has the measurements.

use seriatim_history::Time;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering, compiler_fence, fence};
use std::time::Instant;

/// Where time stamps come from. Stamps of one clock are comparable between threads.
///
/// ```
/// use seriatim_harness::Clock;
/// for clock in [Clock::fenced(), Clock::counter()] {
///     let call = clock.call();
///     let ret = clock.ret();
///     assert!(call <= ret);
/// }
/// ```
#[derive(Debug)]
pub struct Clock(Source);

#[derive(Debug)]
enum Source {
    /// The processor's time stamp counter.
    #[cfg(target_arch = "x86_64")]
    Counter64,
    /// The system's monotonic clock, in nanoseconds since this instant.
    System(Instant),
    /// One number a stamp.
    Shared(Box<Line>),
}

/// A cache line of its own: nobody else's data suffers from the counter.
#[derive(Debug)]
#[repr(align(128))]
struct Line(AtomicU64);

impl Clock {
    /// Hardware time with fences: the best clock of this machine that needs no shared memory.
    pub fn fenced() -> Self {
        #[cfg(target_arch = "x86_64")]
        if counter_is_trusted() {
            return Clock(Source::Counter64);
        }
        Clock::system()
    }

    /// The system's monotonic clock with fences.
    pub fn system() -> Self {
        static BASE: OnceLock<Instant> = OnceLock::new();
        Clock(Source::System(*BASE.get_or_init(Instant::now)))
    }

    /// A shared counter: right by construction, without durations.
    pub fn counter() -> Self {
        Clock(Source::Shared(Box::new(Line(AtomicU64::new(0)))))
    }

    /// The stamp of a call: not later than anything that the operation does.
    #[inline]
    pub fn call(&self) -> Time {
        match &self.0 {
            #[cfg(target_arch = "x86_64")]
            Source::Counter64 => {
                use std::arch::x86_64::{_mm_lfence, _rdtsc};
                compiler_fence(Ordering::SeqCst);
                // Every x86-64 processor has both instructions.
                let stamp = unsafe { _rdtsc() };
                unsafe { _mm_lfence() };
                compiler_fence(Ordering::SeqCst);
                stamp
            }
            Source::System(base) => {
                let stamp = base.elapsed().as_nanos() as Time;
                fence(Ordering::SeqCst);
                compiler_fence(Ordering::SeqCst);
                stamp
            }
            Source::Shared(line) => line.0.fetch_add(1, Ordering::SeqCst),
        }
    }

    /// The stamp of a return: not earlier than anything that the operation did.
    #[inline]
    pub fn ret(&self) -> Time {
        match &self.0 {
            #[cfg(target_arch = "x86_64")]
            Source::Counter64 => {
                use std::arch::x86_64::{_mm_lfence, _mm_mfence, _rdtsc};
                compiler_fence(Ordering::SeqCst);
                // Every x86-64 processor has these instructions.
                unsafe {
                    _mm_mfence();
                    _mm_lfence();
                }
                let stamp = unsafe { _rdtsc() };
                compiler_fence(Ordering::SeqCst);
                stamp
            }
            Source::System(base) => {
                fence(Ordering::SeqCst);
                base.elapsed().as_nanos() as Time
            }
            Source::Shared(line) => line.0.fetch_add(1, Ordering::SeqCst),
        }
    }
}

/// Whether the time stamp counter runs at one rate and agrees between the cores.
#[cfg(target_arch = "x86_64")]
fn counter_is_trusted() -> bool {
    static TRUSTED: OnceLock<bool> = OnceLock::new();
    *TRUSTED.get_or_init(|| {
        let source = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
        std::fs::read_to_string(source).is_ok_and(|name| name.trim() == "tsc")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    /// Hands a stamp from one thread to another and back: the stamp that is taken after the other
    /// was seen must not be the earlier one.
    #[test]
    fn a_stamp_taken_after_another_was_seen_is_not_earlier() {
        for clock in [Clock::fenced(), Clock::system(), Clock::counter()] {
            let (ping, pong) = (AtomicU64::new(0), AtomicU64::new(0));
            let rounds = 2_000;
            let hand_over = |mine: &AtomicU64, other: &AtomicU64, first: bool| {
                let mut before = 0;
                for _ in 0..rounds {
                    if !first || before != 0 {
                        while other.load(Ordering::Acquire) <= before {
                            std::thread::yield_now();
                        }
                        before = other.load(Ordering::Acquire);
                    }
                    let stamp = clock.call() + 1;
                    assert!(stamp >= before, "{stamp} after {before} by {clock:?}");
                    before = before.max(stamp).max(1);
                    let stamp = clock.ret() + 2;
                    mine.store(stamp.max(before + 1), Ordering::Release);
                    before = stamp.max(before + 1);
                }
            };
            std::thread::scope(|scope| {
                scope.spawn(|| hand_over(&ping, &pong, true));
                scope.spawn(|| hand_over(&pong, &ping, false));
            });
        }
    }
}
