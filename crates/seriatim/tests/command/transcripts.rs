//! What the book shows is what the command prints.
//!
//! Every command of every `console` block in the readme and the book is run, and its output
//! compared; `SERIATIM_BLESS=1` writes the blocks anew. A line `$ …` is a command: `seriatim …` and
//! `cargo run --profile quick -- …` are run by the shell, in a folder of the page's own where
//! `examples`, `testdata` and `algorithms` are those of the repository, so that what one command
//! writes the next one can read. Commands for the reader's own crate are not run; [`NOT_RUN`] lists
//! how they begin. What differs from run to run is masked.
//!
//! Commands of `sh` blocks are not run, since their files are the reader's; their arguments are
//! parsed.

use super::run::{folder, text};
use super::transcript::rewritten;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How commands begin that belong to the reader's own crate.
const NOT_RUN: [&str; 4] = ["cargo add ", "cargo test", "cargo install ", "SERIATIM_REPLAY="];

/// Pages that teach no command: figures, the code's layout, other languages, and pages that other
/// tests write.
const WITHOUT_COMMANDS: [&str; 14] = [
    "SUMMARY.md",
    "algorithms.md",
    "architecture.md",
    "c.md",
    "field-study.md",
    "first-test.md",
    "go.md",
    "harness.md",
    "java.md",
    "performance.md",
    "prove-mutants.md",
    "python.md",
    "treiber-proof.md",
    "web.md",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The readme and the pages of the book, sorted.
fn pages() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join("docs")).expect("a folder");
    let pages = entries.map(|entry| entry.expect("an entry").path());
    let mut pages: Vec<PathBuf> =
        pages.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect();
    pages.push(root().join("README.md"));
    pages.sort();
    pages
}

fn name(page: &Path) -> &str {
    page.file_name().and_then(|name| name.to_str()).expect("UTF-8")
}

/// A shell that finds the command, in this folder.
fn shell(command: &str, folder: &Path) -> Command {
    let built = Path::new(env!("CARGO_BIN_EXE_seriatim")).parent().expect("a folder");
    let path = std::env::var("PATH").unwrap_or_default();
    let mut shell = Command::new("sh");
    shell
        .args(["-c", &format!("{{ {command}\n}} 2>&1")])
        .current_dir(folder)
        .env("PATH", format!("{}:{path}", built.display()))
        .env("COLUMNS", "100")
        .env_remove("SERIATIM_LONG");
    shell
}

/// What the shell prints for a command, both streams.
fn output_of(command: &str, folder: &Path) -> String {
    let ran = shell(command, folder).output().expect("a shell");
    String::from_utf8(ran.stdout).expect("UTF-8")
}

/// A folder of the page's own, in which the files of the repository are found.
fn desk(page: &Path) -> PathBuf {
    let folder = folder(&format!("book-{}", name(page)));
    for shown in ["algorithms", "examples", "testdata"] {
        let repository = root().join(shown).canonicalize().expect("a folder of the repository");
        std::os::unix::fs::symlink(repository, folder.join(shown)).expect("a link");
    }
    folder
}

#[test]
fn every_command_in_the_book_prints_what_the_book_shows() {
    let mut stale = Vec::new();
    for page in pages() {
        let before = std::fs::read_to_string(&page).expect("a page");
        let desk = desk(&page);
        let (after, ran) = rewritten(&before, |command| {
            let is_run = !NOT_RUN.iter().any(|start| command.starts_with(start));
            is_run.then(|| {
                output_of(&command.replace("cargo run --profile quick --", "seriatim"), &desk)
            })
        });
        let teaches = !WITHOUT_COMMANDS.contains(&name(&page));
        assert!(ran > 0 || !teaches, "{} shows no command with its output", page.display());
        if after == before {
            continue;
        }
        if std::env::var_os("SERIATIM_BLESS").is_some() {
            std::fs::write(&page, after).expect("written");
        } else {
            let differs = |(a, b): &(&str, &str)| a != b;
            let first = before.lines().zip(after.lines()).find(differs);
            stale.push(format!("{}: {first:?}", page.display()));
        }
    }
    assert!(stale.is_empty(), "SERIATIM_BLESS=1 writes these pages anew:\n{}", stale.join("\n"));
}

/// The commands of `sh` blocks, without comments, redirections and what is not ours.
fn unrun_commands(page: &str) -> Vec<String> {
    let mut in_shell = false;
    let mut commands = Vec::new();
    for line in page.lines() {
        match line {
            "```sh" => in_shell = true,
            "```" => in_shell = false,
            _ => {}
        }
        if !in_shell {
            continue;
        }
        let bare = line.split(" #").next().unwrap_or_default();
        for stage in bare.split(" | ") {
            let stage = stage.split(" > ").next().and_then(|rest| rest.split(" < ").next());
            let stage =
                stage.unwrap_or_default().replace("cargo run --profile quick --", "seriatim");
            if stage.trim_start().starts_with("seriatim ") {
                commands.push(stage.trim().to_owned());
            }
        }
    }
    commands
}

#[test]
fn every_command_that_the_book_only_names_is_one() {
    let mut parsed = 0;
    for page in pages() {
        let content = std::fs::read_to_string(&page).expect("a page");
        let commands = content.split("```text\n").skip(1).any(|block| {
            let block = block.split("```").next().unwrap_or_default();
            block.lines().any(|line| line.starts_with("$ "))
        });
        assert!(!commands, "{}: commands are `console` or `sh`", page.display());
        for command in unrun_commands(&content) {
            // These options need a command that is built with them.
            if ["--processes", "--cluster"].iter().any(|feature| command.contains(feature)) {
                continue;
            }
            // What stands before `--help` is parsed first: a wrong option is an error.
            let ran = shell(&format!("{command} --help"), &root()).output().expect("a shell");
            let said = String::from_utf8_lossy(&ran.stdout);
            assert!(ran.status.success(), "{}: {command}\n{said}", text(&page));
            parsed += 1;
        }
    }
    assert!(parsed > 10, "only {parsed} commands were found");
}
