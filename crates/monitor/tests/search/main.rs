//! The general search against brute force.

mod exhaustive;
mod oracle;
mod random;
mod short;
mod unsplit;
mod weaker;
