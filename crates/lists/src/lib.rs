//! Decides whether a parallel composition of methods of a sorted list-based set is linearizable on *every* list of
//! *any* length with *any* keys.

mod cases;
mod class;
mod composition;
mod decide;
mod monitor;
mod normal;
mod replay;
mod search;
mod state;
mod step;
mod store;
mod subject;

pub use cases::{Case, Input, Presence};
pub use class::{Effect, Refusal};
pub use composition::{
    Composition, CompositionError, MAX_OPERATIONS, all_compositions, parse_composition,
};
pub use decide::{Options, Outcome, Reason, Verdict, decide};
pub use monitor::Operation;
pub use replay::{Counterexample, Effort, Pictured, PicturedKey, ShownOperation, ShownStep};
pub use search::Violation;
pub use step::Access;
