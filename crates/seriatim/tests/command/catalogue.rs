//! The generator, the specifications, the search and the replayer agree on every built-in object.

use super::run::{seriatim, seriatim_reading};
use seriatim::spec::catalogue;

fn made(spec: &str, shape: &[&str]) -> String {
    seriatim(&[&["gen", spec, "-n", "150", "--threads", "3"], shape].concat()).exits(0).out
}

#[test]
fn what_is_made_right_is_certified_and_what_is_made_wrong_is_refuted() {
    for entry in catalogue() {
        let spec = entry.name;
        for seed in ["1", "2"] {
            let right = made(spec, &["--pending", "2%", "--seed", seed]);
            let check = ["check", "-", "--certify", "--check-partition"];
            let ran = seriatim_reading(right.as_bytes(), &check);
            ran.exits(0).says("Replayed by a plain");
            let wrong = made(spec, &["--violation", "--values", "3", "--seed", seed]);
            let ran = seriatim_reading(wrong.as_bytes(), &["check", "-"]);
            ran.exits(1).says("✗ VIOLATION").says("Why: ");
        }
    }
}

#[test]
fn every_specification_is_listed_and_described() {
    let listed = seriatim(&["specs"]).exits(0).out;
    for entry in catalogue() {
        let described = seriatim(&["specs", entry.name]).exits(0).out;
        assert!(described.starts_with(&format!("{}: {}", entry.name, entry.meaning)));
        assert!(listed.contains(&described), "{} is not listed", entry.name);
        for method in entry.methods {
            assert!(described.contains(method.names[0]), "{described}");
        }
    }
}
