//! What can be wrong with a map.

use std::fmt;

/// A map that cannot be used, with the place of the mistake.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MapError {
    /// The file, or the name of a ready map.
    pub source: String,
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong, and what was expected.
    pub message: String,
}

impl fmt::Display for MapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.source, self.line, self.message)
    }
}

impl std::error::Error for MapError {}
