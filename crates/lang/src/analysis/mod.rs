//! What can be known about steps without running them.

pub mod flow;
pub mod guarded;
pub mod held;
pub mod liveness;
pub mod locality;
pub mod lock_order;
pub(crate) mod pauses;
pub(crate) mod riding;
pub mod scalarset;
