//! The right objects pass, whatever the engine of the build.

#![allow(missing_docs)]

mod common;

use common::*;
use seriatim_examples::{bounded, lazy_set, mailbox, michael_scott, seqlock, treiber as stack};
use std::time::Duration;

const BUDGET: Duration = Duration::from_millis(1500);

#[test]
fn treibers_stack_with_tags_is_linearizable() {
    treiber::<stack::Counted>().budget(BUDGET).check();
}

#[test]
fn the_queue_of_michael_and_scott_is_linearizable() {
    queue::<michael_scott::Atomically>().budget(BUDGET).check();
}

#[test]
fn the_lazy_set_is_linearizable() {
    set::<lazy_set::LooksAtMarks>().budget(BUDGET).check();
}

#[test]
fn the_ring_buffer_is_linearizable() {
    ring::<bounded::AtCapacity>().budget(BUDGET).check();
}

#[test]
fn the_counter_in_one_word_is_linearizable() {
    single().budget(BUDGET).check();
}

#[test]
fn the_sequence_lock_is_linearizable() {
    seqlock::<seqlock::LooksAgain>().budget(BUDGET).check();
}

#[test]
fn the_mailbox_is_linearizable() {
    mailbox::<mailbox::Published>().budget(BUDGET).check();
}

#[test]
fn the_channel_is_linearizable() {
    channel::<seriatim_examples::channel::Always>().budget(BUDGET).check();
}
