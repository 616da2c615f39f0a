//! The general search: exact, for every specification.
//!
//! One space of configurations (`space`), two ways through it: `depth_first` finds witnesses
//! fast, `breadth_first` refutes early and forgets the past. Both can be paused, so that
//! [`dovetail`] lets all parts of a history and both ways take turns: one hard part never hides an
//! easy violation, even on one thread.

mod breadth_first;
mod dependence;
mod depth_first;
pub mod dovetail;
mod effort;
mod engine;
mod explain;
mod lookahead;
mod mask;
mod odds;
mod origins;
mod part;
mod pending_operations;
mod seen;
mod space;
mod transitions;
mod used;

pub use effort::{Effort, Memory, Progress};
pub use engine::Engine;
pub use explain::explain;
pub use part::Part;
pub use seriatim_spec::Strategy;
