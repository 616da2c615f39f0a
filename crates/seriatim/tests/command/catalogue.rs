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

/// Who calls an object a stack expects the last value first, whatever else the object can do.
#[test]
fn no_name_of_a_container_promises_another_order_than_it_has() {
    let pushed = r#"{"process":0,"op":"push","arg":1,"call":0,"return":1}
{"process":0,"op":"push","arg":2,"call":2,"return":3}
{"process":0,"op":"pop","call":4,"return":5,"result":"#;
    let names = catalogue().flat_map(|entry| entry.aliases.iter().copied().chain([entry.name]));
    let mut asked = 0;
    for name in names {
        let first = match name {
            _ if name.contains("priority") || name.contains("unordered") => continue,
            _ if name.contains("double-ended") => continue,
            _ if name.contains("stack") || name.contains("lifo") => 2,
            _ if name.contains("queue") || name.contains("fifo") || name == "ring" => 1,
            _ => continue,
        };
        asked += 1;
        for popped in [1, 2] {
            let log = format!("{pushed}{popped}}}\n");
            let ran = seriatim_reading(log.as_bytes(), &["check", "-", "-q", "--spec", name]);
            assert_eq!(ran.code, Some(i32::from(popped != first)), "{name}: {ran:?}");
        }
    }
    assert!(asked > 6, "{asked} names");
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
