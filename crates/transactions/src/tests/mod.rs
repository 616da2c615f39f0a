//! The engines against each other.

mod agreement;
