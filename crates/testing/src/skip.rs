//! Tests that need something that may be missing.
//!
//! A test that has nothing to look at passes, and nobody sees it: the test runner keeps what a
//! passing test prints to itself. So a skip is written to standard error past the runner, and
//! whoever wants it to fail instead says so: `SERIATIM_REQUIRE=corpus` (or `browser`, or both with
//! a comma).

use std::io::Write;
use std::path::{Path, PathBuf};

/// Says that something was not tested, because what it needs is missing; fails if it is required.
///
/// # Panics
///
/// If `SERIATIM_REQUIRE` names what is missing.
pub fn skipped(missing: &str, reason: &str) {
    let required = std::env::var("SERIATIM_REQUIRE").unwrap_or_default();
    let is_required = required.split(',').any(|name| name.trim() == missing);
    assert!(!is_required, "SERIATIM_REQUIRE asks for the {missing}: {reason}");
    let test = std::thread::current();
    let test = test.name().unwrap_or("a test");
    // Not `eprintln!`, which the test runner captures.
    let _ = writeln!(std::io::stderr(), "SKIPPED {missing}: {test}: {reason}");
}

/// The corpus of histories of other projects, which is no part of this one: the folder that
/// `SERIATIM_CORPUS` names, else `corpus` beside the repository. If it is not there, the test is
/// [`skipped`].
pub fn corpus() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../corpus");
    let folder = std::env::var_os("SERIATIM_CORPUS").map_or(beside, PathBuf::from);
    if folder.join("manifest.tsv").is_file() {
        return Some(folder);
    }
    let reason = format!("no manifest.tsv in {} (set SERIATIM_CORPUS)", folder.display());
    skipped("corpus", &reason);
    None
}
