//! What can be known about steps without running them.

pub mod flow;
pub(crate) mod fused;
pub mod guarded;
pub mod held;
pub mod liveness;
pub mod locality;
pub mod lock_order;
pub(crate) mod pauses;
pub mod scalarset;
pub mod sequential;
