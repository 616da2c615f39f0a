//! The built-in specifications, one a file; queue and stack share one (`line`).

pub mod counter;
pub mod deque;
pub mod line;
pub mod log;
pub mod map;
pub mod multi_register;
pub mod multiset;
pub mod mutex;
pub mod priority_queue;
pub mod queue;
pub mod register;
pub mod semaphore;
pub mod set;
pub mod snapshot;
pub mod stack;

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
];
