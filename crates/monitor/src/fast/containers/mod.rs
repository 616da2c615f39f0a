//! Containers that hand out what was put in: what queue, stack and priority queue share, and the
//! last two. The [queue](super::queue) has its own folder.

pub(super) mod container;
pub(super) mod container_driver;
pub(super) mod coverage;
pub(super) mod equal;
pub(super) mod matching;
pub(super) mod nonempty_queries;
pub(super) mod pending_removals;
pub mod priority_queue;
pub(super) mod query_search;
pub(super) mod repeated_values;
pub(super) mod size;
pub mod stack;
