//! Which way of stress finds the broken objects most often. `SERIATIM_LONG=1` prints the table of the book; without it
//! every way has to find the simplest of them once.

#![allow(missing_docs)]
#![cfg(not(any(feature = "shuttle", feature = "loom")))]

mod common;

use common::*;
use seriatim_examples::{bounded, lazy_set, michael_scott, seqlock as lock, treiber as stack};
use seriatim_harness::{Pressure, Test};
use std::time::Duration;

const WAYS: [Pressure; 5] =
    [Pressure::None, Pressure::Pauses, Pressure::Pinned, Pressure::Crowded, Pressure::Busy];

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

/// An object and a look for its defect.
type Search = (&'static str, fn(Pressure) -> Option<Duration>);

#[test]
fn the_table_of_the_book() {
    let rounds: u32 = match std::env::var("SERIATIM_LONG") {
        Ok(_) => std::env::var("SERIATIM_ROUNDS").map_or(10, |text| text.parse().unwrap()),
        Err(_) => return,
    };
    let objects: [Search; 5] = [
        ("stack without tags", |way| found(treiber::<stack::None>(), way)),
        ("queue that looks, then stores", |way| {
            found(queue::<michael_scott::LookThenStore>(), way)
        }),
        ("lazy set that ignores marks", |way| found(set::<lazy_set::IgnoresMarks>(), way)),
        ("sum of shards", |way| found(sharded(), way)),
        ("sequence lock that looks once", |way| found(seqlock::<lock::LooksOnce>(), way)),
    ];
    for (name, search) in objects {
        for way in WAYS {
            let times: Vec<Duration> = (0..rounds).filter_map(|_| search(way)).collect();
            let mean = times.iter().sum::<Duration>() / (times.len() as u32).max(1);
            println!("| {name} | {way:?} | {} of {rounds} | {mean:.1?} |", times.len());
        }
    }
}
