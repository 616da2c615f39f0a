//! The library of algorithms is in order: every file checks, lowers for what it expects, is
//! formatted, says what it is, and stands in `docs/algorithms.md`. `SERIATIM_BLESS=1` writes that
//! page anew.

use seriatim_lang::ast::{Expect, File, OptionValue};
use seriatim_lang::{check_with, fmt, lower, parse};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::PathBuf;

/// A file of the library.
struct Entry {
    name: String,
    source: String,
    file: File,
}

fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn entries(folder: &str) -> Vec<Entry> {
    let listing = std::fs::read_dir(root().join(folder)).expect("the library is there");
    let mut paths: Vec<PathBuf> = listing.map(|e| e.expect("a readable folder").path()).collect();
    paths.retain(|p| p.extension().is_some_and(|e| e == "seri"));
    paths.sort();
    let read = |path: PathBuf| {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().to_string();
        let source = std::fs::read_to_string(&path).expect("a readable file");
        let file = parse(&source).unwrap_or_else(|e| panic!("{}", e.render(&source, &name)));
        Entry { name, source, file }
    };
    paths.into_iter().map(read).collect()
}

fn all() -> Vec<Entry> {
    ["algorithms", "algorithms/broken", "algorithms/pat"].into_iter().flat_map(entries).collect()
}

impl Entry {
    /// The lines of the comment that opens the file.
    fn header(&self) -> Vec<&str> {
        self.source.lines().map_while(|l| l.strip_prefix("// ")).collect()
    }

    /// What the file is, and what is subtle about it.
    fn story(&self) -> (String, String) {
        let header = self.header().join(" ");
        match header.split_once(" Subtle: ") {
            Some((what, subtle)) => (what.to_string(), subtle.to_string()),
            None => (header, String::new()),
        }
    }

    fn line(&self, expect: &Expect) -> &str {
        let line = &self.source[expect.span.start as usize..expect.span.end as usize];
        line.strip_prefix("expect ").unwrap_or(line)
    }

    fn says(&self, engine: &str, verdict: &str) -> bool {
        let matches = |e: &Expect| e.engine.text == engine && e.verdict.text == verdict;
        self.file.expects.iter().any(|e| matches(e) && !asks_about_progress(e))
    }

    /// Whether it is said to lack a guarantee of progress, which does not make it wrong by itself.
    fn stalls(&self) -> bool {
        let fails = |e: &Expect| asks_about_progress(e) && e.verdict.text == "fails";
        self.file.expects.iter().any(fails)
    }
}

fn asks_about_progress(expect: &Expect) -> bool {
    expect.options.iter().any(|(key, _)| key.text == "progress")
}

/// What an `expect` line fixes: threads, client, constants. Anything else that it names must be an
/// option of its engine.
fn lower_for(entry: &Entry, expect: &Expect) {
    let line = entry.line(expect);
    let consts: BTreeSet<&str> = entry.file.consts.iter().map(|c| c.name.text.as_str()).collect();
    let (mut threads, mut client, mut fixed) = (2, None, BTreeMap::new());
    for (key, value) in &expect.options {
        match (expect.engine.text.as_str(), key.text.as_str(), value) {
            ("explore", "threads", OptionValue::Number(n)) => threads = *n as u32,
            ("explore", "values" | "keys" | "nodes" | "capacity", OptionValue::Number(_)) => {}
            ("explore", "points", _) | ("explore", "progress", OptionValue::Word(_)) => {}
            ("explore", name, OptionValue::Number(n)) if consts.contains(name) => {
                fixed.insert(name.to_string(), *n as i32);
            }
            ("explore" | "lists", "client", OptionValue::Word(name)) => client = Some(name.clone()),
            ("lists", "equality", OptionValue::Word(w)) if ["elements", "list"].contains(&&**w) => {
            }
            ("lists", "input", OptionValue::Word(word)) if word == "marked" => {}
            (engine, option, value) => {
                panic!("{}: {line}: {engine} has no {option} {value:?}", entry.name)
            }
        }
    }
    if expect.engine.text == "lists" {
        let known =
            entry.file.clients.iter().find(|c| c.name.as_ref().map(|n| &n.text) == client.as_ref());
        threads =
            known.unwrap_or_else(|| panic!("{}: {line}: no client", entry.name)).roles.len() as u32;
    }
    let lowered =
        check_with(&entry.source, &fixed).and_then(|p| lower(&p, threads, client.as_deref()));
    lowered.unwrap_or_else(|e| panic!("{line}\n{}", e.render(&entry.source, &entry.name)));
}

#[test]
fn every_file_checks_and_lowers_for_each_of_its_expectations() {
    for entry in all() {
        assert!(!entry.file.expects.is_empty(), "{} expects nothing", entry.name);
        for expect in &entry.file.expects {
            let engine = expect.engine.text.as_str();
            assert!(["explore", "lists", "prove"].contains(&engine), "{}: {engine}", entry.name);
            lower_for(&entry, expect);
        }
    }
}

#[test]
fn every_file_is_formatted_and_named_after_its_object() {
    for entry in all() {
        assert!(fmt(&entry.source) == entry.source, "{} is not formatted", entry.name);
        let object = entry.file.object.as_ref().expect("an object");
        let named =
            object.name.text == entry.name || object.name.text == format!("pat_{}", entry.name);
        assert!(named, "{} describes `{}`", entry.name, object.name.text);
        assert!(object.spec.is_some(), "{} has no specification", entry.name);
        let wide = entry.source.lines().find(|l| l.chars().count() > 130);
        assert!(wide.is_none(), "{}: a line is too long: {wide:?}", entry.name);
    }
}

#[test]
fn an_algorithm_says_what_is_subtle_and_holds() {
    for entry in entries("algorithms") {
        let (what, subtle) = entry.story();
        assert!(
            !what.is_empty() && subtle.ends_with('.'),
            "{}: the header is incomplete",
            entry.name
        );
        assert!(!entry.says("explore", "fails"), "{} belongs to the broken ones", entry.name);
        assert!(!entry.says("prove", "fails"), "{} belongs to the broken ones", entry.name);
    }
}

#[test]
fn a_broken_algorithm_says_what_is_broken_and_is_a_variant_of_a_right_one() {
    let right: Vec<String> = entries("algorithms").into_iter().map(|e| e.name).collect();
    let broken = entries("algorithms/broken");
    assert!(broken.len() >= 25, "{} broken algorithms", broken.len());
    for entry in broken {
        let header = entry.header();
        let told = header.first().is_some_and(|l| l.starts_with("Broken: ") && l.ends_with('.'));
        assert!(told, "{}: the first line does not say what is broken", entry.name);
        let of = right.iter().find(|r| entry.name.starts_with(&format!("{r}_")));
        assert!(of.is_some(), "{} is a variant of no algorithm", entry.name);
        let is_wrong = entry.says("explore", "fails");
        assert!(is_wrong || entry.stalls(), "{} is not refuted", entry.name);
        for engine in ["explore", "prove"] {
            let holds = is_wrong && entry.says(engine, "holds");
            assert!(!holds, "{}: {engine} cannot hold", entry.name);
        }
    }
}

#[test]
fn the_page_of_algorithms_is_in_step_with_the_files() {
    let path = root().join("docs/algorithms.md");
    let page = page();
    if std::env::var_os("SERIATIM_BLESS").is_some() {
        std::fs::write(&path, &page).expect("a writable page");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == page, "docs/algorithms.md is out of step: SERIATIM_BLESS=1 writes it anew");
}

const OPENING: &str = "\
# The library of algorithms

Written by the tests from the heads and the `expect` lines of the files in `algorithms/`; change those, not this page.

How to read the expectations: `explore` runs every interleaving of the threads within the bounds, for any number of
operations unless a `client` limits them; capital letters are constants of the file; `lists` decides the named parallel
composition on lists of any length (`equality` says whether the same elements or the same list must be left, `input: marked`
that the list may contain marked nodes at the start); `prove` speaks of any number of threads and any heap. `unknown` and
`refused` are what an engine is expected to say of an algorithm outside of its class.
";

fn page() -> String {
    let mut page = OPENING.to_string();
    let (right, broken) = (entries("algorithms"), entries("algorithms/broken"));
    page.push_str(
        "\n## Right\n\n| file | object | what | subtle | expected |\n|---|---|---|---|---|\n",
    );
    for entry in &right {
        let (what, subtle) = entry.story();
        let link = format!("[{0}](../algorithms/{0}.seri)", entry.name);
        row(&mut page, &[link, spec(entry), what, subtle, expected(entry)]);
    }
    page.push_str(
        "\n## Broken\n\n| file | object | what is broken | expected |\n|---|---|---|---|\n",
    );
    for entry in &broken {
        let (what, _) = entry.story();
        let what = what.strip_prefix("Broken: ").unwrap_or(&what).to_string();
        let link = format!("[{0}](../algorithms/broken/{0}.seri)", entry.name);
        row(&mut page, &[link, spec(entry), what, expected(entry)]);
    }
    page.push_str("\n## Models of published experiments\n\n| file | object | what | expected |\n|---|---|---|---|\n");
    for entry in &entries("algorithms/pat") {
        let link = format!("[{0}](../algorithms/pat/{0}.seri)", entry.name);
        row(&mut page, &[link, spec(entry), entry.story().0, expected(entry)]);
    }
    page
}

fn spec(entry: &Entry) -> String {
    let spec = entry.file.object.as_ref().and_then(|o| o.spec.as_ref());
    spec.map(|s| s.text.clone()).unwrap_or_default()
}

fn expected(entry: &Entry) -> String {
    let lines: Vec<String> =
        entry.file.expects.iter().map(|e| format!("`{}`", entry.line(e))).collect();
    lines.join("<br>")
}

fn row(page: &mut String, cells: &[String]) {
    let cells: Vec<String> = cells.iter().map(|c| c.replace('|', "\\|")).collect();
    writeln!(page, "| {} |", cells.join(" | ")).expect("a string takes everything");
}
