//! The report as a page, written to a file.

use super::Failure;
use super::question::Done;
use seriatim::report::html;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

/// The steps of a witness whose states the page shows.
const STEPS: usize = 2_000;

/// Writes the page of a checked history.
pub fn write(done: &Done, path: &Path) -> Result<(), Failure> {
    let unwritable =
        |error: std::io::Error| Failure(format!("{}: cannot write: {error}", path.display()));
    let mut out = BufWriter::new(File::create(path).map_err(unwritable)?);
    html::write(&done.report(STEPS), &mut out).map_err(unwritable)?;
    out.flush().map_err(unwritable)
}

/// The page of a checked history.
pub fn render(done: &Done) -> Vec<u8> {
    html::render(&done.report(STEPS))
}
