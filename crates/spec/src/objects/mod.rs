//! The built-in specifications, one a file. Queue and stack share one (`line`), sorted map and cache
//! what they hold (`entries`), watch cell and broadcast whose operations are (`receiver`).

pub mod bounded_deque;
pub mod broadcast;
pub mod cache;
pub mod counter;
pub mod deque;
pub mod entries;
pub mod line;
pub mod log;
pub mod map;
pub mod multi_register;
pub mod multiset;
pub mod mutex;
pub mod once_cell;
pub mod priority_queue;
pub mod queue;
pub mod receiver;
pub mod register;
pub mod semaphore;
pub mod set;
pub mod snapshot;
pub mod sorted_map;
pub mod stack;
pub mod watch;
pub mod weighted_semaphore;

use crate::catalogue::Entry;

/// Every built-in specification.
pub(crate) const CATALOGUE: &[&[Entry]] = &[
    register::ENTRIES,
    &[multi_register::ENTRY],
    map::ENTRIES,
    &[set::ENTRY, multiset::ENTRY, stack::ENTRY, queue::ENTRY],
    &[priority_queue::ENTRY, deque::ENTRY],
    counter::ENTRIES,
    &[mutex::ENTRY, semaphore::ENTRY, log::ENTRY, snapshot::ENTRY],
    &[sorted_map::ENTRY, bounded_deque::ENTRY, cache::ENTRY, once_cell::ENTRY],
    &[weighted_semaphore::ENTRY, watch::ENTRY, broadcast::ENTRY],
];

/// Objects that are never guessed: their operations are called as those of the older ones, where a
/// result means something else (what `put` returns is the value before), so that a log is read as
/// one of theirs only if somebody says so.
pub(crate) const ONLY_BY_NAME: &[&str] = &[
    "sorted-map",
    "bounded-deque",
    "cache",
    "once-cell",
    "weighted-semaphore",
    "watch",
    "broadcast",
];
