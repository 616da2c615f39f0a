//! Histories to verdicts.

pub mod search;
