//! Histories survive conversion: there and back they are the same, and so is the verdict.

use super::run::{example, file, folder, seriatim, text};

#[test]
fn conversions_there_and_back_give_the_same_history_and_verdict() {
    let folder = folder("convert");
    let cases = [
        ("queue.jsonl", "queue", &["jsonl-events", "edn"][..]),
        ("queue-overtaken.jsonl", "queue", &["jsonl-events", "edn"]),
        ("register-stale.jsonl", "register(init=0)", &["edn", "jsonl"]),
        ("cas-timeouts.edn", "cas-register", &["jsonl-events", "edn"]),
        ("kv-stale.edn", "kv", &["porcupine", "jsonl", "jsonl-events", "edn"]),
        ("stack.limo", "stack", &["limo", "jsonl", "edn"]),
        ("priority-queue.polylin", "priority-queue(max)", &["polylin", "jsonl"]),
        ("priority-queue.fptlin", "priority-queue(max)", &["jsonl", "polylin"]),
        ("set.ahorn", "set", &["jsonl", "jsonl-events", "edn", "polylin"]),
    ];
    for (name, spec, formats) in cases {
        let original = example(name);
        let verdict = seriatim(&["check", &original, "--spec", spec]).code;
        let told = seriatim(&["convert", &original, "--to", "jsonl"]).exits(0);
        for format in formats {
            let there = text(&folder.join(format!("{name}.{format}")));
            let ran = seriatim(&["convert", &original, "--to", format, "-o", &there]).exits(0);
            ran.complains(" operations");
            let again = seriatim(&["check", &there, "--spec", spec]);
            assert_eq!(again.code, verdict, "{name} as {format}: {again:#?}");
            let back = seriatim(&["convert", &there]).exits(0);
            assert_eq!(back.out.lines().count(), told.out.lines().count(), "{name} as {format}");
        }
    }
}

#[test]
fn what_a_format_cannot_say_is_refused_and_nothing_is_left_behind() {
    let folder = folder("inexpressible");
    let path = file(
        &folder,
        "queue.jsonl",
        r#"{"process":0,"op":"enqueue","arg":[1,"two"],"call":1,"return":2}"#,
    );
    let there = folder.join("queue.polylin");
    let ran = seriatim(&["convert", &path, "--to", "polylin", "-o", &text(&there)]).exits(2);
    ran.complains("cannot express");
    assert!(!there.exists(), "half a history was left behind");
    // What stood in the file before is not lost for something that cannot be written.
    let before = file(&folder, "before", "an earlier history");
    seriatim(&["convert", &path, "--to", "polylin", "-o", &before]).exits(2);
    assert_eq!(std::fs::read_to_string(&before).expect("a file"), "an earlier history");
    seriatim(&["convert", &path, "-o", &before]).exits(0);
    assert!(std::fs::read_to_string(&before).expect("a file").contains("enqueue"));
    seriatim(&["check", &path, "--html", "/dev/full"])
        .exits(2)
        .complains("/dev/full: cannot write");
    assert_eq!(
        std::fs::read_dir(&folder).expect("a folder").count(),
        2,
        "a temporary file is left"
    );
    seriatim(&["convert", &path, "--to", "fptlin"]).exits(2).complains("no writer for fptlin");
    let pattern = example("queue*.jsonl");
    seriatim(&["convert", &pattern]).exits(2).complains("expected one history to convert, found 2");
}

#[test]
fn nil_keeps_its_meaning_from_format_to_format() {
    let folder = folder("nil");
    let edn =
        "{:process 0, :type :invoke, :f :read}\n{:process 0, :type :ok, :f :read, :value nil}\n";
    let unknown = file(&folder, "unknown.edn", edn);
    let json = r#"{"process":0,"op":"read","result":null,"call":1,"return":2}"#;
    let value = file(&folder, "value.jsonl", json);
    // The reads of a transaction have theirs in a list.
    let edn = "{:process 0, :type :invoke, :f :txn, :value [[:w :x 1] [:r :x nil]]}\n\
               {:process 0, :type :ok, :f :txn, :value [[:w :x 1] [:r :x nil]]}\n";
    let unknown_read = file(&folder, "unknown-read.edn", edn);
    let json = r#"{"process":0,"op":"txn","arg":[["w","x",1],["r","x",null]],"result":[["w","x",1],["r","x",null]],"call":1,"return":2}"#;
    let nil_read = file(&folder, "nil-read.jsonl", json);
    let register = ["--spec", "register(init=0)", "-q"];
    let registers = ["--spec", "multi-register", "-q"];
    for (path, spec, verdict) in [
        (unknown, register, 0),
        (value, register, 1),
        (unknown_read, registers, 0),
        (nil_read, registers, 1),
    ] {
        let mut path = path;
        for format in ["jsonl", "edn", "jsonl-events", "edn", "jsonl"] {
            seriatim(&[&["check", &path], &spec[..]].concat()).exits(verdict);
            let next = format!("{path}.{format}");
            seriatim(&["convert", &path, "--to", format, "-o", &next]).exits(0);
            path = next;
        }
    }
}

#[cfg(not(feature = "parquet"))]
#[test]
fn a_command_without_parquet_says_so() {
    let folder = folder("no-parquet");
    let table = file(&folder, "run.parquet", "PAR1 and more");
    seriatim(&["check", &table]).exits(2).complains("built with the feature `parquet`");
    let queue = example("queue.jsonl");
    seriatim(&["convert", &queue, "--to", "parquet"])
        .exits(2)
        .complains("built without the feature `parquet`");
}

#[test]
fn files_of_one_log_become_one_history_if_their_times_can_be_compared() {
    let folder = folder("convert-one-log");
    let put = "{\"process\":0,\"op\":\"put\",\"arg\":[\"k\",7],\"call\":1,\"return\":3}\n";
    let get = "{\"process\":1,\"op\":\"get\",\"arg\":\"k\",\"result\":7,\"call\":4,\"return\":5}\n";
    let header = |unit: &str| format!("{{\"seriatim\":1,\"spec\":\"map\",\"unit\":\"{unit}\"}}\n");
    let ann = file(&folder, "ann.jsonl", [&header("ms"), put].concat());
    let bob = file(&folder, "bob.jsonl", [&header("ms"), get].concat());
    let both = text(&folder.join("both.jsonl"));
    seriatim(&["convert", &bob, &ann]).exits(2).complains("--one-log");
    seriatim(&["convert", "--one-log", &bob, &ann, "-o", &both]).exits(0).complains("2 operations");
    seriatim(&["check", &both]).exits(0).says("2 operations");
    // What one file counts in milliseconds the other does not.
    let bob = file(&folder, "bob-us.jsonl", [&header("us"), get].concat());
    seriatim(&["convert", "--one-log", &bob, &ann]).exits(2).complains("the same header");
    seriatim(&["check", "--one-log", "--spec", "map", &bob, &ann]).exits(2).complains("the same");
}
