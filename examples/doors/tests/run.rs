//! Every door opens: the little programs are run, and print what their page shows.

#[path = "../../../crates/seriatim/tests/transcript/mod.rs"]
mod transcript;

use std::path::Path;
use std::process::Command;

/// What a program prints, and whether it succeeds.
fn run(program: &str, arguments: &[&str]) -> (String, bool) {
    let output = Command::new(program).args(arguments).output().expect("the program runs");
    let said = [output.stdout, output.stderr].concat();
    (String::from_utf8(said).expect("UTF-8"), output.status.success())
}

#[track_caller]
fn says(said: &str, expected: &str) {
    assert!(said.contains(expected), "expected {expected:?} in:\n{said}");
}

#[test]
fn a_log_is_checked() {
    let program = env!("CARGO_BIN_EXE_check_a_log");
    let histories = concat!(env!("CARGO_MANIFEST_DIR"), "/../histories");
    let (said, succeeds) = run(program, &[&format!("{histories}/queue-overtaken.jsonl"), "queue"]);
    says(&said, "cannot dequeue 2: the front is 1");
    assert!(!succeeds);
    let (said, succeeds) = run(program, &[&format!("{histories}/queue.jsonl"), "queue"]);
    says(&said, "is linearizable as a queue");
    assert!(succeeds);
    let (said, succeeds) = run(program, &[&format!("{histories}/queue.jsonl"), "qeue"]);
    says(&said, "did you mean `queue`?");
    assert!(!succeeds);
}

#[test]
fn a_violation_of_your_own_specification_is_drawn() {
    let (said, _) = run(env!("CARGO_BIN_EXE_own_spec"), &[]);
    says(&said, "VIOLATION");
    says(&said, "Account");
    says(&said, "Withdraw(10)");
}

#[test]
fn what_a_program_recorded_is_linearizable() {
    let (said, _) = run(env!("CARGO_BIN_EXE_recorder"), &[]);
    says(&said, "recorder is linearizable as a map");
    says(&said, "600 operations of 3 processes");
}

#[test]
fn the_mistake_of_a_real_object_is_found_and_shrunk() {
    let (said, _) = run(env!("CARGO_BIN_EXE_harness"), &[]);
    says(&said, "increment() | increment()");
    says(&said, "replay:");
}

#[test]
fn an_algorithm_is_refuted() {
    let (said, _) = run(env!("CARGO_BIN_EXE_verify"), &[]);
    says(&said, "counter: VIOLATION for 2 threads");
    says(&said, "no order of the operations explains the last return");
}

#[test]
fn the_page_shows_what_the_programs_print() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = folder.join("README.md");
    let before = std::fs::read_to_string(&page).expect("a page");
    let programs = Path::new(env!("CARGO_BIN_EXE_verify")).parent().expect("a folder");
    let (after, ran) = transcript::rewritten(&before, |command| {
        let line = command.strip_prefix("cargo run -p seriatim-doors --bin ")?;
        let mut words = line.split(' ').filter(|&word| word != "--");
        let program = programs.join(words.next().expect("a program"));
        let ran = Command::new(program).args(words).current_dir(folder.join("../..")).output();
        Some(String::from_utf8(ran.expect("the program runs").stdout).expect("UTF-8"))
    });
    assert_eq!(ran, 4, "every program but the harness, whose threads are the machine's");
    if after != before && std::env::var_os("SERIATIM_BLESS").is_some() {
        std::fs::write(&page, &after).expect("written");
    } else {
        assert!(after == before, "SERIATIM_BLESS=1 writes the page anew:\n{after}");
    }
}
