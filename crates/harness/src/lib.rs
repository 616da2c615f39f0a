//! Real Rust objects to histories and verdicts.
//!
//! This crate takes a concurrent object and a few closures that use it, and says whether its
//! operations are linearizable: it draws scenarios, runs them on real [threads](fn@test) or, in a
//! build with the feature `shuttle` or `loom`, under every schedule that the explorer picks, checks
//! the history of each execution, and shrinks what fails to a scenario of a few calls with a line
//! that replays it. The [`Recorder`] is the part that writes histories down, for programs that
//! drive their own load.

mod argument;
mod asynchronous;
mod borrowing;
mod campaign;
mod clock;
#[cfg(feature = "loom")]
mod coherence;
mod columns;
mod constancy;
mod coverage;
mod ends;
mod engine;
#[cfg(any(feature = "shuttle", feature = "loom"))]
mod execution_log;
mod failure;
mod gate;
mod generator;
mod growth;
mod identity;
mod interruption;
#[cfg(feature = "loom")]
mod loom_engine;
mod lost_wake_up;
mod methods;
mod mishap;
mod misuse;
mod model;
mod oracle;
mod passed;
mod pool;
mod pressure;
mod quiet;
mod random;
mod recorder;
mod reply;
mod run;
mod scenario;
mod second_opinion;
mod sequential;
mod shrink;
#[cfg(feature = "shuttle")]
mod shuttle_engine;
mod steps;
mod stream;
mod stress;
mod subject;
mod test;
mod tracked;
mod tuples;

pub use argument::Argument;
pub use asynchronous::{AsyncTest, Operation, test_async};
pub use borrowing::{Borrowed, Borrowing, Borrows};
pub use clock::Clock;
pub use coverage::Overlap;
pub use ends::{Ends, Halves, ends};
pub use failure::{Failed, Failure};
pub use generator::{
    ArrayOf, Distinct, Draw, DrawnBy, Generator, ListOf, Maybe, TrackedValues, array_of, distinct,
    drawn_by, list_of, maybe, tracked,
};
pub use methods::Methods;
pub use model::ModelCall;
pub use passed::Passed;
pub use pressure::Pressure;
pub use recorder::{IntoArgument, Log, MethodName, Recorder};
pub use reply::{IntoReply, IntoValue, Reply};
pub use seriatim_sync as sync;
pub use stream::Stream;
pub use subject::Caller;
pub use test::{Own, Shared, Test, test};
pub use tracked::Tracked;
