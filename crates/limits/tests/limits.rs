//! Work stops where it is asked to, and every byte counts.

use seriatim_limits::account::{self, Counting};
use seriatim_limits::{Cancel, Reason, Stopped, checkpoint, checkpoint_now};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn work_without_an_end_is_left_at_its_deadline() {
    let cancel = Cancel::at(Some(Instant::now() + Duration::from_millis(20)));
    let left: Result<(), Stopped> = cancel.during(|| {
        loop {
            checkpoint();
        }
    });
    assert_eq!(left, Err(Stopped(Reason::Time)));
}

/// A step of a model may take long, and a limit must not wait for dozens of them.
#[test]
fn work_that_takes_long_between_checkpoints_is_left_at_one_of_the_next() {
    let cancel = Cancel::never();
    let mut steps = 0;
    let left: Result<(), Stopped> = cancel.during(|| {
        loop {
            std::thread::sleep(Duration::from_millis(2));
            steps += 1;
            if steps == 4 {
                cancel.raise();
            }
            checkpoint();
        }
    });
    assert_eq!(left, Err(Stopped(Reason::Interrupted)));
    assert!(steps <= 5, "{steps} steps");
}

#[test]
fn what_must_be_said_is_said_though_everybody_has_to_stop() {
    let cancel = Cancel::never();
    let outcome = cancel.during(|| {
        cancel.raise();
        let said = Cancel::undisturbed(|| {
            checkpoint_now();
            "said"
        });
        assert_eq!(said, "said");
        checkpoint_now();
        unreachable!("the request is raised");
    });
    let left: Result<(), Stopped> = outcome;
    assert_eq!(left, Err(Stopped(Reason::Interrupted)));
}

#[test]
fn work_that_nobody_may_stop_passes_checkpoints() {
    checkpoint_now();
    let within = Cancel::never().during(|| (0..1000).map(|_| checkpoint()).count());
    assert_eq!(within, Ok(1000));
}

#[test]
fn a_panic_is_no_reason_to_stop() {
    std::panic::set_hook(Box::new(|_| {}));
    let outcome = catch_unwind(AssertUnwindSafe(|| Cancel::never().during(|| panic!("a defect"))));
    let payload = outcome.map(|stopped: Result<(), Stopped>| stopped).unwrap_err();
    assert_eq!(payload.downcast_ref::<&str>(), Some(&"a defect"));
    // The request of the work that panicked is gone.
    checkpoint_now();
}

/// Threads of other tests count, too; none of them takes as much.
#[test]
fn what_is_allocated_is_counted_and_what_is_freed_is_not() {
    // An interpreter takes its time.
    const LARGE: usize = if cfg!(miri) { 4 << 20 } else { 64 << 20 };
    const MANY: usize = if cfg!(miri) { 1 << 12 } else { 1 << 19 };
    let within = |difference: usize| (LARGE - (1 << 20)..LARGE + (1 << 20)).contains(&difference);
    let before = account::used();
    let block = vec![0_u8; LARGE];
    assert!(within(account::used() - before));
    let mut small: Vec<Box<[u8; 64]>> = Vec::new();
    drop(block);
    assert!(account::used() < before + (1 << 20));
    // Small ones with what the allocator takes besides.
    small.extend((0..MANY).map(|_| Box::new([0; 64])));
    let taken = account::used() - before;
    assert!(taken > MANY * 72 && taken < MANY * 100, "{taken}");
}
