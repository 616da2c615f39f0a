//! Which way of stress finds the broken objects most often. `SERIATIM_LONG=10` prints the table of
//! the book, of ten rounds; without it every way has to find the simplest of them once.

#![allow(missing_docs)]
#![cfg(not(any(feature = "shuttle", feature = "loom")))]

mod common;

use common::*;
use seriatim_examples::{bounded, lazy_set, michael_scott, seqlock as lock, treiber as stack};
use seriatim_harness::{Pressure, Test};
use std::time::Duration;

const WAYS: [Pressure; 6] = [
    Pressure::None,
    Pressure::Pauses,
    Pressure::Pinned,
    Pressure::Crowded,
    Pressure::Busy,
    Pressure::Interrupted,
];

/// The executions after which a failure was found, if one was.
fn found<T: Send + Sync + 'static>(test: Test<T>, way: Pressure) -> Option<Duration> {
    let test = test.pressure(way).budget(Duration::from_secs(2)).shrink_for(Duration::ZERO);
    test.run().err().map(|failed| failed.found_after)
}

#[test]
fn every_way_of_stress_finds_the_ring_buffer_off_by_one() {
    for way in WAYS {
        assert!(found(ring::<bounded::PastCapacity>(), way).is_some(), "{way:?}");
    }
}

/// No whole call fits into the gap by chance; a thread that is stopped there lets it in.
#[test]
#[cfg(target_os = "linux")]
fn a_thread_that_is_stopped_inside_a_call_shows_the_sum_of_shards() {
    let test = sharded().pressure(Pressure::Interrupted).budget(Duration::from_secs(60));
    let failed = test.shrink_for(Duration::ZERO).run().unwrap_err();
    assert_eq!(failed.failure.word(), "violation", "{}", failed.report);
}

/// Prints how often each way finds a defect, in so many rounds as `SERIATIM_LONG` says.
fn table(object: &str, search: impl Fn(Pressure) -> Option<Duration>) {
    let rounds: u32 = match std::env::var("SERIATIM_LONG") {
        Ok(text) => text.parse().unwrap_or(1).max(1),
        Err(_) => return,
    };
    let mut times = vec![Vec::new(); WAYS.len()];
    // In turn, so that whatever else the machine does meets all ways alike.
    for turn in 0..rounds as usize * WAYS.len() {
        let way = turn % WAYS.len();
        times[way].extend(search(WAYS[way]));
    }
    for (way, times) in WAYS.iter().zip(times) {
        let mean = times.iter().sum::<Duration>() / (times.len() as u32).max(1);
        println!("| {object} | {way:?} | {} of {rounds} | {mean:.1?} |", times.len());
    }
}

#[test]
fn the_stack_without_tags() {
    table("stack without tags", |way| found(treiber::<stack::None>(), way));
}

#[test]
fn the_queue_that_looks_then_stores() {
    let object = "queue that looks, then stores";
    table(object, |way| found(queue::<michael_scott::LookThenStore>(), way));
}

#[test]
fn the_lazy_set_that_ignores_marks() {
    table("lazy set that ignores marks", |way| found(set::<lazy_set::IgnoresMarks>(), way));
}

#[test]
fn the_sum_of_shards() {
    table("sum of shards", |way| found(sharded(), way));
}

#[test]
fn the_sequence_lock_that_looks_once() {
    table("sequence lock that looks once", |way| found(seqlock::<lock::LooksOnce>(), way));
}
