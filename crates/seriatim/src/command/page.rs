//! The report as a page, written to a file.

use super::Failure;
use super::output::write_whole;
use super::question::Done;
use seriatim::report::html;
use std::path::Path;

/// Writes the page of a checked history.
pub fn write(done: &Done, path: &Path) -> Result<(), Failure> {
    write_whole(path, |mut out| Ok(html::write(&done.answered.page_report(), &mut out)?))
}
