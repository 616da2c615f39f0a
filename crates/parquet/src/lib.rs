//! Histories as Parquet files, one operation per row.
//!
//! This crate takes a [`History`](seriatim_history::History) and writes a Parquet file
//! ([`write()`]), and it reads Parquet files as the lines of our own JSON Lines ([`Lines`]), so
//! that everything that reads a history, whole or operation by operation, reads them too. Once
//! [`install`]ed, [`open`](seriatim_history::open) recognises them by their first bytes. The schema
//! is in `docs/format.md`.

#![forbid(unsafe_code)]

mod footer;
mod read;
mod write;

pub use read::{Lines, hush};
pub use write::write;

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Once;

/// Lets everything that opens histories read Parquet files. Calling it twice does no harm.
///
/// The Parquet library may panic on damaged files. Here that is an error as any other; so that it
/// is not reported as a panic as well, this adds to the panic hook of the program; whoever sets
/// another hook afterwards calls [`hush`].
pub fn install() {
    static HUSHED: Once = Once::new();
    HUSHED.call_once(read::hush);
    seriatim_history::decode(*b"PAR1", open);
}

fn open(path: &Path) -> std::io::Result<Box<dyn Read>> {
    Ok(Box::new(Lines::of(File::open(path)?)?))
}

/// The columns that a file may have.
pub(crate) const COLUMNS: [&str; 11] =
    ["process", "op", "object", "key", "arg", "result", "failed", "call", "return", "id", "note"];

/// The entry of a file's metadata that holds what stands before the operations: the header and
/// annotations, as lines of our JSON Lines.
pub(crate) const HEAD: &str = "seriatim.head";
