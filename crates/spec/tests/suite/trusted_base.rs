//! What has to be believed of `check` stays small: the book says so.

use std::path::{Path, PathBuf};

/// The lines with code: no comments, no blank lines, no tests.
fn code_lines(path: &Path) -> usize {
    let text = std::fs::read_to_string(path).unwrap();
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    code.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//")).count()
}

/// What every object needs; the other files describe objects.
const COMMON: &[&str] = &["mod.rs", "order.rs", "record.rs", "refute.rs", "table.rs", "verbs.rs"];

#[test]
fn one_check_relies_on_less_than_1400_lines_and_all_objects_together_have_less_than_2200() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/replay");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let is_common = |path: &PathBuf| COMMON.iter().any(|common| path.ends_with(common));
    let (common, objects): (Vec<PathBuf>, Vec<PathBuf>) = files.partition(is_common);
    let count = |files: &[PathBuf]| -> Vec<usize> { files.iter().map(|p| code_lines(p)).collect() };
    let (common, mut objects) = (count(&common), count(&objects));
    assert!(common.len() == COMMON.len() && objects.len() >= 5, "the replay is somewhere else now");
    objects.sort_unstable();
    // An object is described in one file, which may use another.
    let common = common.iter().sum::<usize>();
    let largest: usize = objects.iter().rev().take(2).sum();
    assert!(common + largest < 1_400, "{common} and {largest} lines");
    let sum = common + objects.iter().sum::<usize>();
    assert!(sum < 2_200, "{sum} lines");
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/evidence.md");
    let told = format!("Together {},{:03}", sum / 1_000, sum % 1_000);
    assert!(std::fs::read_to_string(page).unwrap().contains(&told), "the book lacks: {told}");
}
