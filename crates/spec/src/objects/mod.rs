//! The built-in specifications, one a file.

pub mod register;
