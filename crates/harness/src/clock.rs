//! Time stamps that never make an operation look shorter than it was.
//!
//! A verdict rests on "this operation returned before that one was called". The recorded interval
//! must therefore *contain* the operation: a call stamped early or a return stamped late only hides
//! an order, the other way round invents one, and a correct object looks broken. A bare `rdtsc`
//! does that: the processor reads the counter before the loads that precede it in the program.
//!
//! | clock | call | return | price |
//! | --- | --- | --- | --- |
//! | [`Clock::fenced`] on x86-64 with a trusted counter | `rdtsc; lfence` | `mfence; lfence; rdtsc` | 15 to 35 ns, threads do not touch each other |
//! | [`Clock::fenced`] elsewhere | `Instant`, then `fence(SeqCst)` | `fence(SeqCst)`, then `Instant` | 25 to 50 ns |
//! | [`Clock::system`], [`Clock::wall`] | the same | the same | the same, with a unit; `wall` in nanoseconds since 1970 |
//! | [`Clock::counter`] | `fetch_add(SeqCst)` | the same | 2 to 5 ns, but all threads share a cache line: it slows them, orders them, and can hide a race |
//! | [`Clock::simulated`] | the time of a simulation, but later than every stamp before | the same | what the simulation takes, and a shared cache line |
//!
//! `lfence` lets nothing later start before the counter was read; `mfence` first drains the store
//! buffer, so that what the operation wrote is visible to everybody before its return is stamped.
//! The counter is trusted where Linux itself uses it as its clock source, because then the kernel
//! has checked that it runs at one rate and agrees between cores. What would make this unsound: a
//! machine whose cores disagree although the kernel believes that they agree. `docs/harness.md` has
//! the measurements.

use seriatim_history::{Since, Time, Timescale, Unit};
use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering, compiler_fence, fence};
use std::time::{Duration, Instant, SystemTime};

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
    /// The same, in nanoseconds since the Unix epoch: how many there were at an instant.
    Wall(Instant, Time),
    /// One number a stamp.
    Shared(Box<Line>),
    /// The time of a simulation.
    Simulated(Simulation),
}

/// Who knows the time of a simulation, and the latest stamp.
struct Simulation {
    elapsed: Box<dyn Fn() -> Duration + Send + Sync>,
    latest: AtomicU64,
}

impl fmt::Debug for Simulation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Simulation({:?})", self.latest)
    }
}

impl Simulation {
    /// The time that has elapsed, but later than all that was told before: in a simulation much
    /// happens at one instant, one after another.
    fn stamp(&self) -> Time {
        let elapsed = (self.elapsed)().as_nanos() as Time;
        let later = |latest| elapsed.max(latest + 1);
        let before = self
            .latest
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |latest| Some(later(latest)));
        before.map_or(elapsed, later)
    }
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

    /// The system's monotonic clock with fences, told the wall-clock time once, when the first such
    /// clock is made: stamps can be looked up in the logs of servers, and do not jump when somebody
    /// sets the clock. Price: that of [`system`](Clock::system).
    pub fn wall() -> Self {
        static BASE: OnceLock<(Instant, Time)> = OnceLock::new();
        let (base, epoch) = *BASE.get_or_init(|| {
            let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
            (Instant::now(), since.map_or(0, |since| since.as_nanos() as Time))
        });
        Clock(Source::Wall(base, epoch))
    }

    /// The time of a simulation, as it tells it: what has elapsed since it began. Of two stamps the
    /// one that is taken later is greater, also where no time has passed; so a simulation with its
    /// seed makes the same history in every run.
    ///
    /// ```
    /// use seriatim_harness::Clock;
    /// use std::time::Duration;
    /// let clock = Clock::simulated(|| Duration::from_micros(3));
    /// assert_eq!([clock.call(), clock.ret()], [3000, 3001]);
    /// ```
    pub fn simulated(elapsed: impl Fn() -> Duration + Send + Sync + 'static) -> Self {
        let (elapsed, latest) = (Box::new(elapsed), AtomicU64::new(0));
        Clock(Source::Simulated(Simulation { elapsed, latest }))
    }

    /// What the stamps count, and since when.
    pub fn timescale(&self) -> Timescale {
        match &self.0 {
            #[cfg(target_arch = "x86_64")]
            Source::Counter64 => Timescale::default(),
            Source::System(_) | Source::Simulated(_) => {
                Timescale { unit: Unit::Nanoseconds, since: Since::Start }
            }
            Source::Wall(..) => Timescale::UNIX_NANOSECONDS,
            Source::Shared(_) => Timescale::default(),
        }
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
            Source::Wall(base, epoch) => {
                let stamp = epoch + base.elapsed().as_nanos() as Time;
                fence(Ordering::SeqCst);
                compiler_fence(Ordering::SeqCst);
                stamp
            }
            Source::Shared(line) => line.0.fetch_add(1, Ordering::SeqCst),
            Source::Simulated(simulation) => simulation.stamp(),
        }
    }

    /// A stamp that is neither earlier than what comes before it nor later than what comes after
    /// it: for programs that take stamps under a lock and rely on their order.
    #[inline]
    pub fn now(&self) -> Time {
        let stamp = self.ret();
        #[cfg(target_arch = "x86_64")]
        if matches!(self.0, Source::Counter64) {
            // Every x86-64 processor has the instruction.
            unsafe { std::arch::x86_64::_mm_lfence() };
        }
        fence(Ordering::SeqCst);
        stamp
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
            Source::Wall(base, epoch) => {
                fence(Ordering::SeqCst);
                epoch + base.elapsed().as_nanos() as Time
            }
            Source::Shared(line) => line.0.fetch_add(1, Ordering::SeqCst),
            Source::Simulated(simulation) => simulation.stamp(),
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

    /// Two threads take turns; each stamps after it saw the other's stamp.
    #[test]
    fn a_stamp_taken_after_another_was_seen_is_not_earlier() {
        let simulated = Clock::simulated(|| Duration::ZERO);
        for clock in [Clock::fenced(), Clock::system(), Clock::wall(), Clock::counter(), simulated]
        {
            let (turn, stamp) = (AtomicU64::new(0), AtomicU64::new(0));
            let play = |player: u64| {
                for round in 0..2_000 {
                    while turn.load(Ordering::Acquire) != 2 * round + player {
                        std::thread::yield_now();
                    }
                    let (seen, call) = (stamp.load(Ordering::Relaxed), clock.call());
                    // A call may be stamped early, but not before a return that it has seen.
                    assert!(seen <= clock.now(), "{clock:?} runs backwards");
                    let ret = clock.ret();
                    assert!(call <= ret);
                    stamp.store(ret, Ordering::Relaxed);
                    turn.store(2 * round + player + 1, Ordering::Release);
                }
            };
            std::thread::scope(|scope| {
                scope.spawn(|| play(0));
                scope.spawn(|| play(1));
            });
        }
    }
}
