//! Limits of time and memory are kept, and what is known by then is told.

use super::run::{example, file, folder, seriatim};

/// Transactions of thirty clients that all overlap, with a violation at the end.
fn hard(name: &str) -> String {
    let shape = ["-n", "4000", "--threads", "30", "--overlap", "1", "--violation", "1"];
    let made = seriatim(&[&["gen", "multi-register"], &shape[..]].concat()).exits(0);
    file(&folder(name), "hard.jsonl", made.out)
}

#[test]
fn a_time_limit_ends_the_check_and_says_how_far_it_came() {
    let path = hard("time");
    let limited = seriatim(&["check", &path, "--no-partition", "--time", "300ms"]).exits(3);
    limited
        .says("UNKNOWN")
        .says("the time limit was reached")
        .says("no violation was found. The first ")
        .says("more time (--time)");
    // An unknown is outranked by a violation, and outranks what holds.
    let (good, bad) = (example("queue.jsonl"), example("queue-overtaken.jsonl"));
    let limit = ["-q", "--time", "200ms"];
    // The time is that of the whole command.
    seriatim(&[&["check", &bad, &path], &limit[..]].concat()).exits(1);
    let quiet = seriatim(&[&["check", &good, &path], &limit[..]].concat()).exits(3);
    quiet.says("hard.jsonl: unknown (4003 operations; the time limit was reached)");
}

#[test]
fn a_memory_limit_ends_the_check_and_says_how_far_it_came() {
    let path = hard("memory");
    let limited = seriatim(&["check", &path, "--no-partition", "--memory", "2M"]).exits(3);
    limited
        .says("the memory limit was reached")
        .says("no violation was found. The first ")
        .says("more memory (--memory)");
    let document = seriatim(&["check", &path, "--json", "--memory", "2M"]).exits(3).out;
    let document: serde_json::Value = serde_json::from_str(&document).expect("JSON");
    assert_eq!(document["unknown"]["limit"], "memory");
    let memory = document["statistics"]["memory_bytes"].as_u64().expect("a number");
    assert!(memory < 8 << 20, "{memory} bytes with a limit of 2 MiB");
}

#[test]
fn an_easy_violation_beside_a_hard_part_is_found() {
    let mut history = String::new();
    let hard = std::fs::read_to_string(hard("beside")).expect("a history");
    for line in hard.lines().filter(|line| line.contains("\"process\"")) {
        history.push_str(&line.replacen('{', r#"{"object":"hard","#, 1));
        history.push('\n');
    }
    history.push_str(
        r#"{"object":"easy","process":99,"op":"txn","arg":[["r",0,null]],"result":[["r",0,7]],"call":1,"return":2}"#,
    );
    let path = file(&folder("easy"), "both.jsonl", history);
    let against = ["--spec", "multi-register", "--threads", "1", "--memory", "64M"];
    seriatim(&[&["check", &path], &against[..]].concat()).exits(1).says("easy");
}
