//! The algorithms of the library, as text and as files.

use std::path::{Path, PathBuf};

/// The text of an algorithm: `treiber`, `broken/treiber_aba`.
pub fn algorithm(name: &str) -> String {
    let path = folder().join(format!("{name}.seri"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// All files of a folder of the repository that are algorithms, by name: of `algorithms`, of
/// `algorithms/broken`.
pub fn algorithms(folder: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    let entries = std::fs::read_dir(&root).unwrap_or_else(|_| panic!("{folder} is not there"));
    let paths = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    let mut files: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|ending| ending == "seri")).collect();
    files.sort();
    files
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../algorithms")
}
