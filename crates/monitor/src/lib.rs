//! Histories to verdicts.
//!
//! This crate takes a [`History`](seriatim_history::History) and the object that it should be a
//! history of, and gives a [`Verdict`](seriatim_spec::Verdict) with a witness or a
//! counterexample. [`fast`] holds the exact monitors of the common objects, which decide in linear
//! or nearly linear time and decline what they cannot decide.

pub mod fast;
