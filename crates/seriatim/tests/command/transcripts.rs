//! What the book shows is what the command prints: every command of every `console` block in the
//! readme and the book is run, and its output compared. `SERIATIM_BLESS=1` writes the blocks anew.
//!
//! A line `$ …` is a command; `seriatim …` and `cargo run --release -- …` are run by the shell in the
//! root of the repository. Other commands (`cargo add`, `cargo test`) are for the reader's own crate and
//! are not run; [`NOT_RUN`] lists how they begin. Times differ from run to run and are masked.

use std::path::{Path, PathBuf};
use std::process::Command;

/// How commands begin that belong to the reader's own crate.
const NOT_RUN: [&str; 4] = ["cargo add ", "cargo test", "cargo install ", "SERIATIM_REPLAY="];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The readme and the pages of the book.
fn pages() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join("docs")).expect("a folder");
    let pages = entries.map(|entry| entry.expect("an entry").path());
    let mut pages: Vec<PathBuf> =
        pages.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect();
    pages.push(root().join("README.md"));
    pages.sort();
    pages
}

/// What the shell prints for a command, both streams.
fn output_of(command: &str) -> String {
    let built = Path::new(env!("CARGO_BIN_EXE_seriatim")).parent().expect("a folder");
    let path = std::env::var("PATH").unwrap_or_default();
    let ran = Command::new("sh")
        .args(["-c", &format!("{{ {command}\n}} 2>&1")])
        .current_dir(root())
        .env("PATH", format!("{}:{path}", built.display()))
        .env("COLUMNS", "100")
        .env_remove("SERIATIM_LONG")
        .output()
        .expect("a shell");
    String::from_utf8(ran.stdout).expect("UTF-8")
}

/// The text with every time masked: `113 µs` and `2.4 s` become `…`.
fn masked(text: &str) -> String {
    let words: Vec<&str> = text.split(' ').collect();
    let is_number = |word: &str| {
        !word.is_empty() && word.chars().all(|c| c.is_ascii_digit() || c == '.' || c == ',')
    };
    let is_unit = |word: &str| {
        let unit: String = word.chars().take_while(|c| c.is_alphabetic()).collect();
        ["s", "ms", "µs", "ns", "min"].contains(&&unit[..])
    };
    let mut shown: Vec<&str> = Vec::new();
    for (position, word) in words.iter().enumerate() {
        let next = words.get(position + 1);
        shown.push(if is_number(word) && next.is_some_and(|next| is_unit(next)) {
            "…"
        } else {
            word
        });
    }
    // The unit depends on the time, too.
    let mut text = shown.join(" ");
    for unit in ["ms", "µs", "ns", "min"] {
        text = text.replace(&format!("… {unit}"), "… s");
    }
    text
}

/// A page with the output of every command that is run as it is now, and how many were run.
fn rewritten(page: &str) -> (String, usize) {
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
        let output = output_of(&command.replace("cargo run --release --", "seriatim"));
        let is_same = masked(output.trim_end()) == masked(shown.trim_end());
        text.push_str(if is_same { &shown } else { &output });
        ran += 1;
    }
    (text, ran)
}

#[test]
fn every_command_in_the_book_prints_what_the_book_shows() {
    let mut total = 0;
    let mut stale = Vec::new();
    for page in pages() {
        let before = std::fs::read_to_string(&page).expect("a page");
        assert!(!before.contains("```text\n$ "), "{}: commands are `console`", page.display());
        let (after, ran) = rewritten(&before);
        total += ran;
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
    assert!(total >= 1, "no command was run");
}
