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

/// Those whose proofs take more than a second, of which others that are quicker have most.
const SLOW: [&str; 17] = [
    "harris_michael",
    "harris_michael_map",
    "harris_set",
    "hash_map",
    "hash_michael",
    "lazy_list_contains_ignores_mark",
    "lazy_list_statistics",
    "lazy_map",
    "michael_set",
    "optimistic_list",
    "optimistic_list_plain_contains",
    "rdcss",
    "spin_lazy_list",
    "trylock_list",
    "vechev_cas_contains_ignores_mark",
    "vechev_cas_no_unlink",
    "vechev_cas_unlink",
];

/// The names of the algorithms that are proved, as their files expect; without the slow ones, or
/// with them in a long campaign.
pub fn proved_algorithms() -> Vec<String> {
    let name = |path: &PathBuf| path.file_stem().unwrap_or_default().display().to_string();
    let holds = |path: &PathBuf| {
        let text = std::fs::read_to_string(path).expect("a file that can be read");
        text.lines().any(|line| line.trim_end() == "expect prove holds")
    };
    let all: Vec<String> = algorithms("algorithms").iter().filter(|p| holds(p)).map(name).collect();
    assert!(SLOW.iter().all(|slow| all.iter().any(|name| name == slow)), "{SLOW:?}");
    all.into_iter().filter(|name| crate::long() || !SLOW.contains(&name.as_str())).collect()
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../algorithms")
}
