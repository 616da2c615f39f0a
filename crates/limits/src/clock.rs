//! What time it is, also where only the host knows.
//!
//! On `wasm32-unknown-unknown` the standard library has no clock, and whoever asks it for the time
//! ends the program. There the host passes a clock in (`told::tell`); as long as it has not, time
//! stands still: nothing takes any, and no limit of time is ever reached. Everything that may run
//! there takes its `Instant` from here and not from `std::time`.

#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
pub use std::time::Instant;
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
pub use told::Instant;

/// Moments of a clock that the host passes in.
#[cfg(any(test, all(target_family = "wasm", target_os = "unknown")))]
pub mod told {
    use std::ops::{Add, Sub};
    use std::sync::OnceLock;
    use std::time::Duration;

    static CLOCK: OnceLock<fn() -> Duration> = OnceLock::new();

    /// Passes in the clock: the time since some moment in the past. Only the first one counts.
    pub fn tell(clock: fn() -> Duration) {
        CLOCK.get_or_init(|| clock);
    }

    /// A moment, as `std::time::Instant` where the system has a clock.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
    pub struct Instant(Duration);

    impl Instant {
        /// This moment.
        pub fn now() -> Self {
            Instant(CLOCK.get().map_or(Duration::ZERO, |clock| clock()))
        }

        /// How long ago it was.
        pub fn elapsed(&self) -> Duration {
            Instant::now().saturating_duration_since(*self)
        }

        /// The time since an earlier moment; none if it is a later one.
        pub fn saturating_duration_since(&self, earlier: Instant) -> Duration {
            self.0.saturating_sub(earlier.0)
        }
    }

    impl Add<Duration> for Instant {
        type Output = Instant;

        fn add(self, time: Duration) -> Instant {
            Instant(self.0.saturating_add(time))
        }
    }

    impl Sub for Instant {
        type Output = Duration;

        fn sub(self, earlier: Instant) -> Duration {
            self.saturating_duration_since(earlier)
        }
    }

    impl Sub<Duration> for Instant {
        type Output = Instant;

        fn sub(self, time: Duration) -> Instant {
            Instant(self.0.saturating_sub(time))
        }
    }

    #[test]
    fn time_stands_still_until_the_host_passes_a_clock_in() {
        use std::sync::atomic::{AtomicU64, Ordering};
        static SECONDS: AtomicU64 = AtomicU64::new(5);

        let start = Instant::now();
        assert_eq!(start.elapsed(), Duration::ZERO);
        tell(|| Duration::from_secs(SECONDS.load(Ordering::Relaxed)));
        let (start, second) = (Instant::now(), Duration::from_secs(1));
        assert_eq!(start.elapsed(), Duration::ZERO);
        SECONDS.store(8, Ordering::Relaxed);
        assert_eq!((start.elapsed(), Instant::now() - start), (3 * second, 3 * second));
        assert!(start + 3 * second <= Instant::now() && start + 4 * second > Instant::now());
        assert_eq!(start - Instant::now(), Duration::ZERO);
        assert!(start + Duration::MAX > Instant::now());
    }
}
