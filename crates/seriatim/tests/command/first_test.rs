//! The page on a first test, done as it says: a crate is made of its blocks, and fails and passes
//! as shown.
//!
//! That builds the harness with an explorer from nothing, so it is left to `SERIATIM_LONG=1`.

use super::run::folder;
use seriatim_testing::{long, skipped};
use std::path::{Path, PathBuf};
use std::process::Command;

fn page() -> String {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/first-test.md");
    std::fs::read_to_string(page).expect("the page")
}

/// The blocks of the page in a language.
fn blocks<'p>(page: &'p str, language: &str) -> Vec<&'p str> {
    let opening = format!("```{language}\n");
    page.split(&opening[..]).skip(1).filter_map(|rest| rest.split("```").next()).collect()
}

/// The text after a change that is shown as a diff.
fn patched(text: &str, diff: &str) -> String {
    let side = |sign: char| -> String {
        let lines = diff.lines().filter_map(|line| line.strip_prefix(sign));
        lines.map(|line| format!("{line}\n")).collect()
    };
    let (old, new) = (side('-'), side('+'));
    assert_eq!(text.matches(&old).count(), 1, "not there once:\n{old}");
    text.replace(&old, &new)
}

fn write_crate(folder: &Path, source: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let root = root.canonicalize().expect("the repository");
    let manifest = format!(
        "[package]\nname = \"ids\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n\n\
         [dependencies]\nseriatim-sync = {{ path = \"{0}/crates/sync\" }}\n\n\
         [dev-dependencies]\nseriatim-harness = {{ path = \"{0}/crates/harness\" }}\n\n{1}",
        root.display(),
        blocks(&page(), "toml")[0]
    );
    std::fs::create_dir_all(folder.join("src")).expect("a folder");
    std::fs::write(folder.join("Cargo.toml"), manifest).expect("written");
    std::fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock")).expect("copied");
    std::fs::write(folder.join("src/lib.rs"), source).expect("written");
}

/// What `cargo test --features shuttle` prints.
fn tested(folder: &Path) -> String {
    let ran = Command::new(env!("CARGO"))
        .args(["test", "--lib", "--features", "shuttle"])
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", folder.join("target"))
        .env_remove("SERIATIM_LONG")
        .output()
        .expect("cargo");
    String::from_utf8([ran.stdout, ran.stderr].concat()).expect("UTF-8")
}

/// Whether a line is as shown; `…` stands for anything.
fn is_as_shown(line: &str, shown: &str) -> bool {
    let mut rest = line;
    let mut pieces = shown.trim().split('…').peekable();
    let first = pieces.next().unwrap_or_default();
    let Some(after) = rest.trim().strip_prefix(first) else { return false };
    rest = after;
    for piece in pieces {
        let Some(place) = rest.find(piece) else { return false };
        rest = &rest[place + piece.len()..];
    }
    rest.is_empty() || shown.trim().ends_with('…')
}

#[test]
fn the_first_test_fails_and_passes_as_its_page_says() {
    if !long() {
        skipped("long", "the page on a first test is followed with SERIATIM_LONG=1");
        return;
    }
    let page = page();
    let (rust, diffs) = (blocks(&page, "rust"), blocks(&page, "diff"));
    let folder: PathBuf = folder("first-test");
    let wrong = patched(&format!("{}\n{}", rust[0], rust[1]), diffs[0]);
    write_crate(&folder, &wrong);
    let said = tested(&folder);
    let console = blocks(&page, "console");
    let report = console.iter().find(|block| block.contains("scenario:")).expect("the report");
    let mut lines = said.lines();
    for shown in report.lines().skip(1).filter(|line| !line.is_empty()) {
        assert!(lines.any(|line| is_as_shown(line, shown)), "{shown}\nis not in:\n{said}");
    }
    write_crate(&folder, &patched(&wrong, diffs[1]));
    let said = tested(&folder);
    assert!(said.contains("test tests::ids_are_linearizable ... ok"), "{said}");
}
