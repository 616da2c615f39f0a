//! The software bill of materials of the command (CycloneDX): every package that it links, with
//! version, licence, checksum and what it depends on, and those that only building it takes.
//! `SERIATIM_SBOM=FILE` writes it, for the features that the tests are built with.
//!
//! Cargo knows all of it, so that a clone and Rust suffice. What is linked comes from `cargo tree`,
//! which resolves the features of this one package; `cargo metadata` resolves those of the whole
//! workspace, but has the licences.

use super::supply_chain::{host, packages};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// The name and the version of a package.
type Name = (String, String);

/// The features of the command that the tests are built with.
fn features() -> String {
    let all = [
        ("cli", cfg!(feature = "cli")),
        ("harness", cfg!(feature = "harness")),
        ("shuttle", cfg!(feature = "shuttle")),
        ("loom", cfg!(feature = "loom")),
        ("cluster", cfg!(feature = "cluster")),
        ("parquet", cfg!(feature = "parquet")),
    ];
    let on = all.iter().filter(|(_, is_on)| *is_on).map(|(name, _)| *name);
    on.collect::<Vec<_>>().join(",")
}

/// The packages that the command reaches over such edges.
fn tree(edges: &str) -> Option<BTreeSet<Name>> {
    let ran = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "--package", "seriatim", "--prefix", "none", "--format", "{p}"])
        .args(["--no-default-features", "--features", &features()])
        .args(["--edges", edges, "--target", &host()])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo");
    if !ran.status.success() {
        seriatim_testing::skipped("packages", &String::from_utf8_lossy(&ran.stderr));
        return None;
    }
    let lines = String::from_utf8(ran.stdout).expect("UTF-8");
    let name = |line: &str| {
        let (name, rest) = line.split_once(" v")?;
        Some((name.to_owned(), rest.split(' ').next()?.to_owned()))
    };
    Some(lines.lines().filter_map(name).collect())
}

fn name_of(package: &Value) -> Name {
    let word = |key: &str| package[key].as_str().expect("a text").to_owned();
    (word("name"), word("version"))
}

/// The checksums of `Cargo.lock`. Packages of the workspace have none.
fn checksums() -> BTreeMap<Name, String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.lock");
    let lock = std::fs::read_to_string(path).expect("Cargo.lock");
    let field = |package: &str, key: &str| {
        let value = package.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "));
        value.map(|value| value.trim_matches('"').to_owned())
    };
    let locked = |package: &str| {
        let name = (field(package, "name")?, field(package, "version")?);
        Some((name, field(package, "checksum")?))
    };
    lock.split("[[package]]").filter_map(locked).collect()
}

fn purl((name, version): &Name) -> String {
    format!("pkg:cargo/{name}@{version}")
}

/// A package as the bill names it.
fn component(package: &Value, is_linked: bool, checksum: Option<&String>) -> Value {
    let name = name_of(package);
    let licence = package["license"].as_str().expect("a licence").replace('/', " OR ");
    let mut component = json!({
        "type": "library",
        "bom-ref": purl(&name),
        "name": name.0,
        "version": name.1,
        "purl": purl(&name),
        "scope": if is_linked { "required" } else { "excluded" },
        "licenses": [{ "expression": licence }],
    });
    if let Some(checksum) = checksum {
        component["hashes"] = json!([{ "alg": "SHA-256", "content": checksum }]);
    }
    component
}

/// The bill of materials, if Cargo has the packages.
fn bill() -> Option<Value> {
    let (linked, used) = (tree("normal,no-proc-macro")?, tree("normal,build")?);
    let checksums = checksums();
    let metadata = packages()?;
    let listed = |package: &&Value| used.contains(&name_of(package));
    let (mut components, mut dependencies, mut command) = (Vec::new(), Vec::new(), Value::Null);
    for package in metadata.iter().filter(listed) {
        let name = name_of(package);
        let part = component(package, linked.contains(&name), checksums.get(&name));
        if name.0 == "seriatim" {
            command = part;
            command["type"] = json!("application");
        } else {
            components.push(part);
        }
        let needs = package["dependencies"].as_array().expect("dependencies").iter();
        let needs: BTreeSet<&str> = needs
            .filter(|needed| needed["kind"] != "dev")
            .filter_map(|needed| needed["name"].as_str())
            .collect();
        let on = used.iter().filter(|other| needs.contains(&other.0[..]) && **other != name);
        dependencies
            .push(json!({ "ref": purl(&name), "dependsOn": on.map(purl).collect::<Vec<_>>() }));
    }
    Some(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": command },
        "components": components,
        "dependencies": dependencies,
    }))
}

#[test]
fn the_bill_names_every_package_that_the_command_links() {
    let Some(bill) = bill() else { return };
    let components = bill["components"].as_array().expect("components");
    let mut named = BTreeMap::new();
    for component in components.iter().chain([&bill["metadata"]["component"]]) {
        let licence = component["licenses"][0]["expression"].as_str().expect("a licence");
        assert!(!licence.is_empty() && !licence.contains('/'), "{component}");
        let earlier = named.insert(name_of(component), component);
        assert!(earlier.is_none(), "twice: {component}");
    }
    let linked = tree("normal,no-proc-macro").expect("Cargo has the packages");
    assert!(linked.len() > 50, "only {} packages", linked.len());
    let checksums = checksums();
    for name in &linked {
        let component = named.get(name).unwrap_or_else(|| panic!("{name:?} is not in the bill"));
        assert_eq!(component["scope"], "required", "{component}");
        let checksum = component["hashes"][0]["content"].as_str();
        assert_eq!(checksum, checksums.get(name).map(|sum| &sum[..]), "{component}");
        let is_ours = name.0.starts_with("seriatim");
        assert!(is_ours != checksum.is_some_and(|sum| sum.len() == 64), "{component}");
    }
    let required = named.iter().filter(|(_, component)| component["scope"] == "required");
    assert!(required.map(|(name, _)| name).eq(&linked), "more is said to be linked than is");
    for dependency in bill["dependencies"].as_array().expect("dependencies") {
        let on = dependency["dependsOn"].as_array().expect("a list").iter();
        for reference in on.chain([&dependency["ref"]]) {
            let is_known = named.keys().any(|name| reference == &json!(purl(name)));
            assert!(is_known, "{reference} is not in the bill");
        }
    }
    if let Some(file) = std::env::var_os("SERIATIM_SBOM") {
        std::fs::write(file, bill.to_string()).expect("a bill can be written");
    }
}
