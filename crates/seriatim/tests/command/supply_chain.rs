//! What is built into the command: licences, sources and duplicates are those that `deny.toml`
//! allows, and `unsafe` code is where `SECURITY.md` says.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// The system that is built for.
pub fn host() -> String {
    let version = Command::new("rustc").arg("-vV").output().expect("rustc");
    let version = String::from_utf8(version.stdout).expect("UTF-8");
    version.lines().find_map(|line| line.strip_prefix("host: ")).expect("a host").to_owned()
}

/// The packages of the workspace on this system, with all features. Those that no test needs may
/// have to be fetched; without a connection there is nothing to look at.
pub fn packages() -> Option<Vec<Value>> {
    let ran = Command::new(env!("CARGO"))
        .args(["metadata", "--locked", "--all-features", "--format-version", "1"])
        .args(["--filter-platform", &host()])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo");
    match serde_json::from_slice::<Value>(&ran.stdout) {
        Ok(metadata) => Some(metadata["packages"].as_array().expect("packages").clone()),
        Err(_) => {
            seriatim_testing::skipped("packages", &String::from_utf8_lossy(&ran.stderr));
            None
        }
    }
}

/// The texts of a list in `deny.toml`.
fn allowed(list: &str) -> BTreeSet<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deny.toml");
    let text = std::fs::read_to_string(path).expect("deny.toml");
    let (_, rest) = text.split_once(&format!("\n{list} = [")).expect("the list");
    let (inside, _) = rest.split_once(']').expect("its end");
    inside.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Whether an expression such as `(MIT OR Apache-2.0) AND Unicode-3.0` is met by licences that are
/// allowed.
fn is_licensed(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let plain = expression.replace(['(', ')'], "").replace('/', " OR ");
    plain.split(" AND ").all(|all| all.split(" OR ").any(|one| allowed.contains(one.trim())))
}

#[test]
fn every_dependency_is_licensed_comes_from_the_registry_and_comes_once() {
    let (licences, twice) = (allowed("allow"), allowed("skip"));
    let mut versions: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let Some(packages) = packages() else { return };
    assert!(packages.len() > 50, "only {} packages", packages.len());
    for package in &packages {
        let name = package["name"].as_str().expect("a name");
        let licence = package["license"].as_str().unwrap_or("none");
        assert!(is_licensed(licence, &licences), "{name} is licensed {licence}");
        if let Some(source) = package["source"].as_str() {
            assert!(source.starts_with("registry+"), "{name} comes from {source}");
        }
        let version = package["version"].as_str().expect("a version").to_owned();
        versions.entry(name.to_owned()).or_default().insert(version);
    }
    for (name, versions) in versions {
        let is_expected = twice.contains(&name);
        assert_eq!(versions.len() > 1, is_expected, "{name} comes in the versions {versions:?}");
    }
}

#[test]
fn every_crate_forbids_unsafe_code_but_those_that_the_page_names() {
    let needing = ["ffi", "harness", "limits", "python", "sync", "web"];
    let page = include_str!("../../../../SECURITY.md");
    let (_, rest) = page.split_once("All crates forbid `unsafe` code but").expect("the sentence");
    let (named, _) = rest.split_once(". ").expect("its end");
    let Some(packages) = packages() else { return };
    let is_ours = |package: &&Value| package["source"].is_null() && package["publish"].is_null();
    for package in packages.iter().filter(is_ours) {
        let name = package["name"].as_str().expect("a name");
        let short = name.strip_prefix("seriatim-").unwrap_or(name);
        for target in package["targets"].as_array().expect("targets") {
            let kind = target["kind"][0].as_str().expect("a kind");
            if needing.contains(&short) || !kind.ends_with("lib") && kind != "bin" {
                continue;
            }
            let source = target["src_path"].as_str().expect("a path");
            let text = std::fs::read_to_string(source).expect("the source");
            assert!(text.contains("#![forbid(unsafe_code)]"), "{source} allows unsafe code");
        }
    }
    for name in needing {
        assert!(named.contains(&format!("`{name}`")), "SECURITY.md does not name {name}: {named}");
    }
}
