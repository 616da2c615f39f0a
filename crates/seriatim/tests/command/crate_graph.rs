//! The crates as the book draws them, taken from Cargo: no crate depends on one of its own layer or
//! of a layer above it. `SERIATIM_BLESS=1` draws the graph in `docs/architecture.md` anew.

use super::run::cargo_metadata;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// The layers from the ground up, each with what its crates have in common.
const LAYERS: [(&str, &[&str]); 9] = [
    ("when to stop", &["limits"]),
    (
        "what happened, states that share their parts, and Rust as text",
        &["history", "persistent", "import"],
    ),
    (
        "what should happen, and what can be answered",
        &["spec", "map", "sync", "algorithms", "services"],
    ),
    ("algorithms as text and as steps", &["lang"]),
    ("steps and states in the words of the source", &["trace"]),
    ("engines", &["monitor", "explore", "lists", "prove", "certify", "report"]),
    (
        "what chooses between engines",
        &["verify", "harness", "transactions", "scale", "parquet", "cluster"],
    ),
    ("the command, and all of it under one name", &["seriatim"]),
    ("other languages", &["ffi"]),
];

/// The dependencies of each of our crates on others of ours, without `seriatim-`.
fn dependencies() -> BTreeMap<String, Vec<String>> {
    let metadata = cargo_metadata();
    let short = |value: &Value| {
        let name = value["name"].as_str().expect("a name");
        name.strip_prefix("seriatim-").unwrap_or(name).to_owned()
    };
    let is_ours =
        |dependency: &&Value| dependency["path"].is_string() && dependency["kind"].is_null();
    let packages = metadata["packages"].as_array().expect("packages").iter();
    packages
        .filter(|package| package["publish"].is_null())
        .map(|package| {
            let all = package["dependencies"].as_array().expect("dependencies").iter();
            let mut ours: Vec<String> = all.filter(is_ours).map(short).collect();
            ours.sort();
            (short(package), ours)
        })
        .collect()
}

fn layer_of(name: &str) -> usize {
    let layer = LAYERS.iter().position(|(_, crates)| crates.contains(&name));
    layer.unwrap_or_else(|| panic!("{name} belongs to no layer: give it one"))
}

/// The graph, the ground last.
fn drawn(graph: &BTreeMap<String, Vec<String>>) -> String {
    let mut text = String::new();
    for (meaning, crates) in LAYERS.iter().rev() {
        writeln!(text, "{meaning}").expect("a string takes everything");
        for name in crates.iter().filter(|name| graph.contains_key(**name)) {
            let below = graph[*name].join(", ");
            writeln!(text, "  {name:<13} → {}", if below.is_empty() { "nothing" } else { &below })
                .expect("a string takes everything");
        }
    }
    text
}

#[test]
fn every_dependency_points_down_and_the_book_shows_it() {
    let graph = dependencies();
    for (name, below) in &graph {
        for dependency in below {
            let (upper, lower) = (layer_of(name), layer_of(dependency));
            assert!(lower < upper || is_beside(name, dependency), "{name} depends on {dependency}");
        }
    }
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/architecture.md");
    let text = std::fs::read_to_string(&page).expect("a page");
    let (before, rest) = text.split_once("```graph\n").expect("the graph's block");
    let (shown, after) = rest.split_once("```\n").expect("the end of the block");
    let graph = drawn(&graph);
    if std::env::var_os("SERIATIM_BLESS").is_some() {
        std::fs::write(&page, format!("{before}```graph\n{graph}```\n{after}")).expect("written");
    } else {
        assert_eq!(shown, graph, "SERIATIM_BLESS=1 draws it anew");
    }
}

/// The few edges within a layer, each with its reason in `docs/architecture.md`.
fn is_beside(name: &str, dependency: &str) -> bool {
    matches!((name, dependency), ("cluster", "scale"))
}

/// Each row of the table of concepts names a file that is there, whose header speaks of the concept
/// and says why it is sound, and the function in it.
#[test]
fn every_concept_of_the_book_has_its_file_and_its_entry() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("docs/architecture.md")).expect("a page");
    let (_, table) = page.split_once("| concept | file | entry |\n").expect("the table");
    let mut rows = 0;
    for row in table.lines().skip(1).take_while(|line| line.starts_with('|')) {
        let cells: Vec<&str> = row.split('|').map(|cell| cell.trim().trim_matches('`')).collect();
        let [_, concept, file, entry, _] = cells[..] else { panic!("three cells expected: {row}") };
        let text = std::fs::read_to_string(root.join(file))
            .unwrap_or_else(|error| panic!("{file}: {error}"));
        let header: Vec<&str> = text.lines().take_while(|line| line.starts_with("//!")).collect();
        assert!(header.len() > 4, "{file} has no header that says why");
        let word = concept.split(' ').next().unwrap_or(concept);
        let stem: String = word.chars().take(5).collect::<String>().to_lowercase();
        let says = header.iter().any(|line| line.to_lowercase().contains(&stem));
        assert!(says, "the header of {file} does not speak of {concept}");
        let is_there = [format!("fn {entry}("), format!("fn {entry}<")];
        assert!(is_there.iter().any(|name| text.contains(name)), "{file} has no `{entry}`");
        rows += 1;
    }
    assert!(rows >= 8, "{rows} concepts");
}
