//! What the book shows is what the command prints.
//!
//! Every command of every `console` block in the readme and the book is run, and its output compared;
//! `SERIATIM_BLESS=1` writes the blocks anew. A line `$ …` is a command: `seriatim …` and
//! `cargo run --release -- …` are run by the shell, in a folder of the page's own where `examples`,
//! `testdata` and `algorithms` are those of the repository, so that what one command writes the next
//! one can read. Commands for the reader's own crate are not run; [`NOT_RUN`] lists how they begin.
//! What differs from run to run is masked: times, and how far a second opinion got.
//!
//! Commands of `sh` blocks are not run, since their files are the reader's; their arguments are parsed.

use super::run::{folder, text};
use std::path::{Path, PathBuf};
use std::process::Command;

/// How commands begin that belong to the reader's own crate.
const NOT_RUN: [&str; 4] = ["cargo add ", "cargo test", "cargo install ", "SERIATIM_REPLAY="];

/// Pages that teach no command: figures, the code's layout, and pages that other tests write.
const WITHOUT_COMMANDS: [&str; 10] = [
    "SUMMARY.md",
    "algorithms.md",
    "architecture.md",
    "field-study.md",
    "first-test.md",
    "go.md",
    "harness.md",
    "performance.md",
    "prove-mutants.md",
    "treiber-proof.md",
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

/// The text with whatever differs from run to run masked: `113 µs` and `2.4 s` become `…`.
fn masked(text: &str) -> String {
    text.lines().map(masked_line).collect::<Vec<_>>().join("\n")
}

fn masked_line(line: &str) -> String {
    // How many runs fit into its time is a matter of the machine.
    if line.starts_with("second opinion: ") {
        return line.chars().filter(|c| !c.is_ascii_digit() && *c != '.').collect();
    }
    if let Some((before, after)) = line.split_once("\"elapsed_seconds\":") {
        let rest = after.trim_start_matches(|c: char| c.is_ascii_digit() || ".e-".contains(c));
        return format!("{before}\"elapsed_seconds\":…{rest}");
    }
    let words: Vec<&str> = line.split(' ').collect();
    let is_number = |word: &str| {
        let digits = word.trim_start_matches('(');
        !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit() || c == '.' || c == ',')
    };
    let is_unit = |word: &str| {
        let unit: String = word.chars().take_while(|c| c.is_alphabetic()).collect();
        ["s", "ms", "µs", "ns", "min"].contains(&&unit[..])
    };
    let mut shown: Vec<String> = Vec::new();
    for (position, word) in words.iter().enumerate() {
        let before = position.checked_sub(1).map(|before| words[before]);
        let next = words.get(position + 1);
        shown.push(if is_number(word) && next.is_some_and(|next| is_unit(next)) {
            "…".to_owned()
        } else if is_unit(word) && before.is_some_and(is_number) {
            // The unit depends on the time, too.
            format!("s{}", word.trim_start_matches(char::is_alphabetic))
        } else {
            (*word).to_owned()
        });
    }
    shown.join(" ")
}

/// A page with the output of every command that is run as it is now, and how many were run.
fn rewritten(page: &str, folder: &Path) -> (String, usize) {
    let mut lines = page.lines().peekable();
    let (mut text, mut ran) = (String::new(), 0);
    let mut in_console = false;
    while let Some(line) = lines.next() {
        text.push_str(line);
        text.push('\n');
        match line {
            "```console" => in_console = true,
            "```" => in_console = false,
            _ => {}
        }
        let Some(command) = line.strip_prefix("$ ").filter(|_| in_console) else { continue };
        if NOT_RUN.iter().any(|start| command.starts_with(start)) {
            continue;
        }
        let mut shown = String::new();
        while let Some(line) =
            lines.next_if(|line| !line.starts_with("```") && !line.starts_with("$ "))
        {
            shown.push_str(line);
            shown.push('\n');
        }
        let output = output_of(&command.replace("cargo run --release --", "seriatim"), folder);
        let is_same = masked(output.trim_end()) == masked(shown.trim_end());
        text.push_str(if is_same { &shown } else { &output });
        ran += 1;
    }
    (text, ran)
}

#[test]
fn every_command_in_the_book_prints_what_the_book_shows() {
    let mut stale = Vec::new();
    for page in pages() {
        let before = std::fs::read_to_string(&page).expect("a page");
        let (after, ran) = rewritten(&before, &desk(&page));
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
            let stage = stage.unwrap_or_default().replace("cargo run --release --", "seriatim");
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
