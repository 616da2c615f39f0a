//! The report as a page, written to a file.

use super::Failure;
use super::output::write_whole;
use super::question::Done;
use seriatim::report::html;
use std::path::Path;

/// The steps of a witness whose states the page shows.
const STEPS: usize = 2_000;

/// Writes the page of a checked history.
pub fn write(done: &Done, path: &Path) -> Result<(), Failure> {
    write_whole(path, |mut out| Ok(html::write(&done.report(STEPS), &mut out)?))
}

/// The page of a checked history.
pub fn render(done: &Done) -> Vec<u8> {
    html::render(&done.report(STEPS))
}
