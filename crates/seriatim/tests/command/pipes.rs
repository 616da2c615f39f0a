//! A reader that goes away is no reason to panic.

use super::run::{command, file, folder, seriatim};
use std::io::Read;

/// Runs the command, reads a little of what it prints and goes away; gives exit code and
/// complaints.
fn abandoned(arguments: &[&str]) -> (Option<i32>, String) {
    let mut child = command(arguments).spawn().expect("the binary runs");
    let mut first = [0; 16];
    let mut out = child.stdout.take().expect("a pipe");
    out.read_exact(&mut first).expect("something is printed");
    drop(out);
    let output = child.wait_with_output().expect("the binary ends");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn output_into_a_pipe_that_closes_ends_quietly_with_the_verdicts_exit_code() {
    let folder = folder("pipes");
    let made = |name: &str, shape: &[&str]| {
        let made = seriatim(&[&["gen", "register", "-n", "30000"], shape].concat()).exits(0);
        file(&folder, name, made.out)
    };
    let (right, wrong) = (made("right.jsonl", &[]), made("wrong.jsonl", &["--violation"]));
    let cases: [(&[&str], i32); 5] = [
        (&["gen", "register", "-n", "30000"], 0),
        (&["convert", &right, "--to", "edn"], 0),
        (&["specs"], 0),
        (&["check", &wrong], 1),
        (&["check", "--json", &right, &wrong], 1),
    ];
    for (arguments, code) in cases {
        let (ended, complaints) = abandoned(arguments);
        assert_eq!(ended, Some(code), "{arguments:?}: {complaints}");
        assert!(!complaints.contains("panicked"), "{complaints}");
        assert!(!complaints.contains("error"), "{complaints}");
    }
}
