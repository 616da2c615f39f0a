//! Objects whose monitors need nothing of a container: cells, numbers, keys, logs.

mod appends;
pub(super) mod cells;
pub mod counter;
mod deeds;
pub mod fetch_and_add;
pub(super) mod flag;
pub mod log;
pub(super) mod log_index;
pub mod map;
pub mod multiset;
pub mod mutex;
pub mod register;
pub mod semaphore;
pub mod set;
pub(super) mod set_sweep;
pub(super) mod set_window;
pub(super) mod tally;
mod texts;
