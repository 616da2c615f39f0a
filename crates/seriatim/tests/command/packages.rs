//! Every crate can be published: its manifest says what it is, and its README what it promises.

use super::run::cargo_metadata;
use serde_json::Value;
use std::path::Path;

#[test]
fn every_published_crate_says_what_it_is_and_what_it_promises() {
    let metadata = cargo_metadata();
    let packages = metadata["packages"].as_array().expect("packages").iter();
    let published: Vec<&Value> = packages.filter(|package| package["publish"].is_null()).collect();
    assert!(published.len() > 15, "{}", published.len());
    for package in published {
        let name = package["name"].as_str().expect("a name");
        for field in ["description", "documentation", "license", "readme", "rust_version"] {
            assert!(package[field].is_string(), "{name} has no {field}");
        }
        for field in ["keywords", "categories"] {
            let words = package[field].as_array().expect("a list").len();
            assert!((1..=5).contains(&words), "{name} has {words} {field}");
        }
        let folder = Path::new(package["manifest_path"].as_str().expect("a path")).parent();
        let readme = folder.expect("a folder").join(package["readme"].as_str().expect("a file"));
        let readme = std::fs::read_to_string(readme).expect("the README");
        assert!(readme.contains("\n## Stability\n\n"), "the README of {name} promises nothing");
        let own = |dependency: &&Value| dependency["path"].is_string();
        for dependency in package["dependencies"].as_array().expect("a list").iter().filter(own) {
            let is_for_tests = dependency["kind"] == "dev";
            let is_versioned = dependency["req"] != "*";
            assert!(is_for_tests || is_versioned, "{name}: {dependency} has no version");
        }
    }
}
