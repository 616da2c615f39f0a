//! What is printed does not depend on the number of threads.

use crate::run::{Ran, folder, seriatim};
use serde_json::Value;
use std::path::Path;

/// What a run said, without what it measured.
fn said(ran: Ran) -> (Option<i32>, Vec<String>, String) {
    let lines = ran.out.lines().map(|line| match serde_json::from_str::<Value>(line) {
        Ok(mut report) => {
            forget_measures(&mut report);
            report.to_string()
        }
        Err(_) => line.to_owned(),
    });
    (ran.code, lines.collect(), ran.err)
}

fn forget_measures(report: &mut Value) {
    match report {
        Value::Object(fields) => {
            fields.retain(|name, _| !["elapsed_seconds"].contains(&&name[..]));
            fields.values_mut().for_each(forget_measures);
        }
        Value::Array(items) => items.iter_mut().for_each(forget_measures),
        _ => {}
    }
}

/// Every form of the report on some files, for one number of threads after another.
fn compare(files: &[&str], forms: &[&[&str]]) {
    for form in forms {
        let with = |threads: &str| {
            let asked = [&["check", "--threads", threads], *form, files].concat();
            said(seriatim(&asked))
        };
        let expected = with("1");
        for threads in ["2", "3"] {
            assert_eq!(with(threads), expected, "{form:?} {files:?}, {threads} threads");
        }
    }
}

#[test]
fn the_examples_are_told_alike_by_any_number_of_threads() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/histories");
    let mut files: Vec<String> = std::fs::read_dir(examples)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file())
        .map(|path| path.to_str().unwrap().to_owned())
        .collect();
    files.sort();
    assert!(files.len() > 5, "{files:?}");
    files.insert(3, "no/such/file.jsonl".to_owned());
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    compare(&files, &[&["-q"], &["--json"]]);
}

#[test]
fn long_logs_are_told_alike_by_any_number_of_threads() {
    let folder = folder("threads");
    let rows: &[(&str, &[&str])] = &[
        ("map", &["--keys", "500"]),
        ("map", &["--keys", "500", "--violation"]),
        ("map", &["--keys", "3", "--overlap", "1", "--pending", "0.0001"]),
        ("queue", &[]),
        ("register", &["--violation"]),
        ("set", &["--keys", "100", "--to", "jsonl-events"]),
    ];
    let mut files = Vec::new();
    for (index, (object, options)) in rows.iter().enumerate() {
        let file = folder.join(format!("{index}.jsonl"));
        let usual = ["gen", object, "-n", "60000", "--threads", "8"];
        let generated = seriatim(&[&usual[..], options].concat()).exits(0);
        std::fs::write(&file, generated.out).unwrap();
        files.push(file.to_str().unwrap().to_owned());
    }
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    for file in &files {
        compare(&[file], &[&["-q"], &["--json"]]);
    }
    compare(&files, &[&["-q"]]);
}

/// A process can have some 16,000 threads, and whoever begins one more is aborted.
#[test]
fn more_threads_may_be_asked_for_than_a_process_can_have() {
    let file = folder("many-threads").join("map.jsonl");
    let usual = ["gen", "map", "-n", "20000", "--threads", "8", "--keys", "5000"];
    std::fs::write(&file, seriatim(&usual).exits(0).out).unwrap();
    let file = file.to_str().unwrap();
    let checked = |threads| seriatim(&["check", "-q", "--threads", threads, file]).exits(0).out;
    assert_eq!(checked("100000"), checked("1"));
    let explored = ["verify", "broken/treiber_aba", "--engine", "explore", "--jobs", "100000"];
    seriatim(&explored).exits(1);
}
