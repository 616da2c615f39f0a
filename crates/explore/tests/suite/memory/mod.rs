//! Memory models: litmus tests, random programs against the axioms, algorithms with orderings.

mod algorithms;
mod axioms;
mod clients;
mod library;
mod litmus;
mod mutants;
mod program;
mod races;
mod variants;
mod weakened;
