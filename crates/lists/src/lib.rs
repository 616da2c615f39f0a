//! Decides whether a parallel composition of methods of a sorted list-based set is linearizable on *every* list of
//! *any* length with *any* keys.

#[cfg(test)]
mod agreement;
mod cases;
mod class;
mod composition;
mod decide;
mod expectation;
mod monitor;
mod normal;
mod render;
mod replay;
mod search;
#[cfg(test)]
mod simulation;
mod state;
mod step;
mod store;
mod subject;

pub use cases::{Case, Input, Presence};
pub use class::{Effect, Refusal};
pub use composition::{
    Composition, CompositionError, MAX_OPERATIONS, all_compositions, parse_composition,
};
pub use decide::{Options, Outcome, Reason, Verdict, decide, table};
pub use expectation::{Equality, Expectation, client_composition, expectations};
pub use monitor::Operation;
pub use render::{counterexample, picture, render, table_text};
pub use replay::{Counterexample, Effort, Pictured, PicturedKey, ShownOperation, ShownStep};
pub use search::Violation;
pub use step::Access;
