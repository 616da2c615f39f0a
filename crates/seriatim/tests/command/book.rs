//! The book holds together: links lead somewhere, every page is listed, every option is told.

use super::run::seriatim;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The pages in a folder.
fn pages(folder: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join(folder)).expect("a folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect()
}

fn text(page: &Path) -> String {
    std::fs::read_to_string(page).expect("a page")
}

/// Where the links of a page lead, without those to the network and within the page.
fn links(text: &str) -> Vec<&str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let targets = targets.map(|target| target.split('#').next().unwrap_or_default());
    targets.filter(|target| !target.is_empty() && !target.contains("://")).collect()
}

#[test]
fn every_link_leads_somewhere() {
    let folders = [".", "docs", "docs/decisions", "examples/histories"];
    let mut followed = 0;
    for page in folders.iter().flat_map(|folder| pages(folder)) {
        for link in links(&text(&page)) {
            let target = page.parent().expect("a folder").join(link);
            assert!(target.exists(), "{} links to {link}, which is not there", page.display());
            followed += 1;
        }
    }
    assert!(followed > 30, "only {followed} links were found");
}

#[test]
fn every_page_and_every_decision_is_listed() {
    for (folder, list) in [("docs", "SUMMARY.md"), ("docs/decisions", "README.md")] {
        let list = root().join(folder).join(list);
        let content = text(&list);
        let listed: BTreeSet<&str> = links(&content).into_iter().collect();
        for page in pages(folder).iter().filter(|page| page.file_name() != list.file_name()) {
            let name = page.file_name().and_then(|name| name.to_str()).expect("UTF-8");
            assert!(listed.contains(name), "{} does not list {name}", list.display());
        }
    }
}

/// The commands with their options, as `--help` lists them.
pub fn commands() -> Vec<(String, BTreeSet<String>)> {
    let help = seriatim(&["--help"]).exits(0).out;
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands: Vec<(String, BTreeSet<String>)> = commands
        .take_while(|line| !line.is_empty())
        .filter(|line| !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|&command| command != "help")
        .map(|command| (command.to_owned(), options(command)))
        .collect();
    assert!(commands.len() >= 14, "{commands:?}");
    commands
}

/// The long options of a command.
fn options(command: &str) -> BTreeSet<String> {
    let help = seriatim(&[command, "--help"]).exits(0).out;
    let words = help.lines().filter(|line| line.trim_start().starts_with('-'));
    let options = words.flat_map(str::split_whitespace).filter(|word| word.starts_with("--"));
    // `--progress[=<GUARANTEE>]` is the option `--progress`.
    let names = options.filter_map(|option| option.split(['[', '=']).next());
    names.filter(|&option| option != "--help").map(str::to_owned).collect()
}

#[test]
fn every_option_of_every_command_is_in_the_book() {
    let book = text(&root().join("docs/command.md"));
    for (command, options) in commands() {
        assert!(book.contains(&format!("\n## {command}\n")), "no section about {command}");
        for option in options {
            assert!(book.contains(&option), "{option} of {command} is not in the book");
        }
    }
}
