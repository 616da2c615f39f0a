//! The built-in specifications, one a file.

pub mod counter;
pub mod map;
pub mod queue;
pub mod register;
pub mod set;
pub mod stack;

use crate::registry::Entry;

/// Every built-in specification.
pub(crate) const CATALOGUE: &[&[Entry]] =
    &[register::ENTRIES, map::ENTRIES, &[set::ENTRY, stack::ENTRY, queue::ENTRY]];
