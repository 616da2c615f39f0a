//! Data structures of the monitors.

pub(super) mod bit_tree;
pub(super) mod buckets;
pub(super) mod chain;
pub(super) mod min_tree;
pub(super) mod radix;
pub(super) mod range_max;
pub(super) mod range_min;
pub(super) mod slots;
pub(super) mod stab_tree;
