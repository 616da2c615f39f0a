//! What must hold for any bytes that somebody hands to Seriatim.
//!
//! Each function takes bytes and panics if something does not hold that should. A fuzzer
//! (`fuzz/targets`) looks for such bytes; the tests of this crate try those that are kept in
//! `fuzz/corpus`. That nothing else panics is the least of it: what was read and written again is
//! the same, two engines say the same, stronger levels imply weaker ones, no certificate proves a
//! broken algorithm, and nothing that came from outside reaches a terminal or a page as anything
//! but text.

#![forbid(unsafe_code)]

mod algorithms;
mod events;
mod files;
mod heard;
mod histories;
mod maps;
mod operations;
mod parquet;
mod shown;
mod transactions;

pub use algorithms::{certificate, seri};
pub use events::events;
pub use files::{hosts, saved_run, specification, value, verdict_file};
pub use histories::history;
pub use maps::map;
pub use operations::operations;
pub use parquet::parquet;
pub use transactions::transactions;

/// A function that takes any bytes.
pub type Target = fn(&[u8]);

/// All targets by name.
pub const TARGETS: [(&str, Target); 13] = [
    ("certificate", certificate),
    ("events", events),
    ("history", history),
    ("hosts", hosts),
    ("map", map),
    ("operations", operations),
    ("parquet", parquet),
    ("saved_run", saved_run),
    ("seri", seri),
    ("specification", specification),
    ("transactions", transactions),
    ("value", value),
    ("verdict_file", verdict_file),
];

/// The bytes as text, if they are.
fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}
