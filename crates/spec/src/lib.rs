//! What should happen: sequential specifications of objects.
//!
//! This crate takes operations of a [`History`](seriatim_history::History) and says which results
//! and state changes are right: through the typed trait [`Spec`], which users implement for their own
//! objects, through the built-in specifications, found by name, and through the numeric form
//! [`Alphabet`] that engines read. It also holds the [`Verdict`] that all engines give, and the
//! replayer that checks a [`Witness`] without trusting any engine.

mod alphabet;
mod cancel;
pub mod objects;
mod spec;
mod verdict;
mod vocabulary;

pub use alphabet::{Alphabet, Automaton, Bound, ClassId, StateId};
pub use cancel::Cancel;
pub use spec::{Next, Spec, key_of};
pub use verdict::{
    Attempt, Context, Counterexample, Explanation, Limit, Unknown, Verdict, Witness,
};
pub use vocabulary::{
    Decoded, Failures, Interpretation, Method, Misfit, Reader, Recorded, Vocabulary, interpret,
};
