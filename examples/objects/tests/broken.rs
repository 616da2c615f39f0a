//! The broken objects fail, and what fails is small. `SERIATIM_LONG=1` looks for each twenty times.
//!
//! Which engine finds which is told by the `cfg`s: what needs a preemption at one instruction is
//! for an explorer, what needs a weak memory model is for Loom.

#![allow(missing_docs)]

mod common;

use common::*;
#[allow(unused_imports)]
use seriatim_examples::{bounded, lazy_set, mailbox, michael_scott, seqlock, treiber as stack};
use seriatim_harness::{Failed, Failure, Passed, Test};
use std::time::{Duration, Instant};

/// Runs a test that must fail with a small violation, over and over.
fn finds<T: Send + Sync + 'static>(declare: impl Fn() -> Test<T>) -> Vec<Failed> {
    let rounds = if std::env::var_os("SERIATIM_LONG").is_some() { 20 } else { 2 };
    let find = |round| {
        let begin = Instant::now();
        let result: Result<Passed, Box<Failed>> = declare().budget(Duration::from_secs(60)).run();
        let failed = match result {
            Ok(passed) => panic!("round {round}: {passed}"),
            Err(failed) => *failed,
        };
        println!(
            "round {round}: {:?}, {} executions, {} threads, {} calls: {}",
            begin.elapsed(),
            failed.executions,
            failed.threads,
            failed.calls,
            failed.replay
        );
        assert!(failed.threads <= 3 && failed.calls <= 5, "{}", failed.report);
        failed
    };
    let found: Vec<Failed> = (0..rounds).map(find).collect();
    println!("{}", found[0].report);
    found
}

#[cfg(any(feature = "shuttle", feature = "loom"))]
fn finds_violation<T: Send + Sync + 'static>(declare: impl Fn() -> Test<T>) {
    for failed in finds(declare) {
        assert!(matches!(failed.failure, Failure::Violation(_)), "{}", failed.report);
    }
}

/// What is wrong already on one thread is told as that.
fn finds_disagreement<T: Send + Sync + 'static>(declare: impl Fn() -> Test<T>) {
    for failed in finds(declare) {
        assert!(matches!(failed.failure, Failure::Disagreement(_)), "{}", failed.report);
    }
}

#[test]
#[cfg(any(feature = "shuttle", feature = "loom"))]
fn treibers_stack_without_tags_has_aba() {
    for failed in finds(treiber::<stack::None>) {
        // The free list has ABA too: its loss shows as an arena that is full too early.
        let known = matches!(failed.failure, Failure::Violation(_) | Failure::Panic { .. });
        assert!(known, "{}", failed.report);
    }
}

#[test]
#[cfg(any(feature = "shuttle", feature = "loom"))]
fn the_queue_that_looks_then_stores_loses_a_value() {
    finds_violation(queue::<michael_scott::LookThenStore>);
}

#[test]
#[cfg(any(feature = "shuttle", feature = "loom"))]
fn the_lazy_set_that_ignores_marks_loses_a_key() {
    finds_violation(set::<lazy_set::IgnoresMarks>);
}

#[test]
fn the_ring_buffer_off_by_one_overwrites_a_value() {
    finds_disagreement(ring::<bounded::PastCapacity>);
}

#[test]
#[cfg(any(feature = "shuttle", feature = "loom"))]
fn the_sum_of_shards_is_not_linearizable() {
    finds_violation(sharded);
}

#[test]
#[cfg(any(feature = "shuttle", feature = "loom"))]
fn the_sequence_lock_that_looks_once_tears() {
    finds_violation(seqlock::<seqlock::LooksOnce>);
}

#[test]
#[cfg(all(feature = "loom", not(feature = "shuttle")))]
fn the_relaxed_mailbox_delivers_an_old_letter() {
    finds_violation(mailbox::<mailbox::Unpublished>);
}

#[test]
#[cfg(feature = "shuttle")]
fn the_channel_that_wakes_only_when_empty_loses_a_wake_up() {
    finds_violation(channel::<seriatim_examples::channel::WhenEmpty>);
}

/// The line that a report prints repeats the failure, at once and always.
#[test]
#[cfg(feature = "shuttle")]
fn a_replay_line_repeats_the_failure_exactly() {
    let failed = treiber::<stack::None>().budget(Duration::from_secs(60)).run().unwrap_err();
    for _ in 0..3 {
        let again = treiber::<stack::None>().replay(&failed.replay).run().unwrap_err();
        assert_eq!(again.history.len(), failed.history.len());
        assert_eq!(again.replay, failed.replay);
    }
    // The right stack, scheduled in the same way, does not fail.
    treiber::<stack::Counted>().replay(&failed.replay).check();
}
