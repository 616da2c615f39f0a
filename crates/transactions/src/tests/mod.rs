//! The engines against each other.

mod agreement;
mod mutants;
