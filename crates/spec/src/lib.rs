//! What should happen: sequential specifications of objects.
//!
//! This crate takes operations of a [`History`](seriatim_history::History) and says which results
//! and state changes are correct: through the typed trait [`Spec`], which users implement for their
//! own objects, through the built-in specifications, found by name, and through the numeric form
//! [`Alphabet`] that engines read. It also holds the [`Verdict`] that all engines give, and the
//! replayer that checks a [`Witness`] without trusting any engine; and the [`answer::Answer`] of
//! those that speak of algorithms.

#![forbid(unsafe_code)]

mod alphabet;
pub mod answer;
mod catalogue;
mod checked;
mod choice;
mod collection;
pub mod generate;
mod invalid;
mod kinds;
pub mod live;
mod machine;
mod mentions;
mod notation;
pub mod objects;
mod parameters;
mod refute_under;
mod replay;
pub mod run;
mod sequence;
mod sparse;
mod spec;
mod spec_error;
mod states;
mod timed;
mod validate;
mod verdict;
mod version;
mod vocabulary;

pub use alphabet::{Alphabet, Automaton, Bound, ClassId, StateId, Walk};
pub use catalogue::{Entry, catalogue, names};
pub use checked::{
    Checked, Confirmation, DecidedBy, LeftOut, PartStanding, PartVerdict, Strategy, ViolatedPart,
};
pub use choice::{ChosenReader, SpecChoice};
pub use collection::Collection;
pub use invalid::Invalid;
pub use machine::{Answer, Effect, Machine};
pub use mentions::Mentions;
pub use parameters::{Parameter, Parameters, Takes};
pub use refute_under::refute_under;
pub use replay::{Order, Refutation, refute, replay, replay_under};
pub use sequence::Sequence;
pub use seriatim_limits::{
    Cancel, Patient, Reason, Stopped, checkpoint, checkpoint_after, checkpoint_now,
};
pub use sparse::{Sparse, in_between};
pub use spec::{Next, Spec, key_of};
pub use spec_error::SpecError;
pub use timed::{Timed, replay_timed};
pub use validate::{replay_along, replay_by_steps, validate};
pub use verdict::{
    Attempt, Claim, Context, Counterexample, Explanation, Limit, Replayed, Unknown, Verdict,
    Witness,
};
pub use version::{Aside, Rise, Version, Versioned, Versions, VersionsOf};
pub use vocabulary::{
    Decoded, Failure, Failures, Interpretation, Method, Misfit, Reader, Recorded, Split, Typed,
    Vocabulary, bind, interpret,
};
