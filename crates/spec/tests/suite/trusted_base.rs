//! What has to be believed of `check` stays small: the book says so.

use std::path::Path;

/// The lines with code: no comments, no blank lines, no tests.
fn code_lines(path: &Path) -> usize {
    let text = std::fs::read_to_string(path).unwrap();
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    code.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//")).count()
}

#[test]
fn the_replay_with_brute_force_has_less_than_two_thousand_lines() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/replay");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let lines: Vec<usize> = files.map(|path| code_lines(&path)).collect();
    let sum: usize = lines.iter().sum();
    assert!(lines.len() >= 10 && sum > 1_000, "the replay is somewhere else now");
    assert!(sum < 2_000, "{sum} lines");
}
