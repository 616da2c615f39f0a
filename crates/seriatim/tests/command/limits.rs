//! Limits of time and memory are kept, and what is known by then is told.

use super::limit_table::events;
use super::run::{command, example, file, folder, seriatim, seriatim_reading, text};
use super::schema::Schema;
use seriatim::limits::measure::wait;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The general search of the whole: the engine for transactions would decide them.
const SEARCH: [&str; 3] = ["--no-partition", "--engine", "search"];

/// What thirty threads do to a stack at once, with a violation at the end.
fn hard(name: &str) -> String {
    let shape = ["-n", "4000", "--threads", "30", "--overlap", "1", "--violation", "1"];
    let made = seriatim(&[&["gen", "stack"], &shape[..]].concat()).exits(0);
    file(&folder(name), "hard.jsonl", made.out)
}

#[test]
fn a_time_limit_ends_the_check_and_says_how_far_it_came() {
    let path = hard("time");
    let limited =
        seriatim(&[&["check", &path], &SEARCH[..], &["--time", "300ms"]].concat()).exits(3);
    limited
        .says("UNKNOWN")
        .says("the time limit was reached")
        .says("no violation was found. The first ")
        .says("more time (--time)");
    // An unknown is outranked by a violation, and outranks what holds.
    let (good, bad) = (example("queue.jsonl"), example("queue-overtaken.jsonl"));
    let limit = ["-q", "--engine", "search", "--time", "200ms"];
    // The time is that of the whole command.
    seriatim(&[&["check", &bad, &path], &limit[..]].concat()).exits(1);
    let quiet = seriatim(&[&["check", &good, &path], &limit[..]].concat()).exits(3);
    quiet.says("hard.jsonl: unknown (4004 operations; the time limit was reached)");
}

#[test]
fn a_memory_limit_ends_the_check_and_says_how_far_it_came() {
    let path = hard("memory");
    let limited =
        seriatim(&[&["check", &path], &SEARCH[..], &["--memory", "2M"]].concat()).exits(3);
    limited
        .says("the memory limit was reached")
        .says("no violation was found. The first ")
        .says("more memory (--memory)");
    let document =
        seriatim(&["check", &path, "--engine", "search", "--json", "--memory", "2M"]).exits(3).out;
    let document: serde_json::Value = serde_json::from_str(&document).expect("JSON");
    assert_eq!(document["unknown"]["limit"], "memory");
    let memory = document["statistics"]["memory_bytes"].as_u64().expect("a number");
    assert!(memory < 8 << 20, "{memory} bytes with a limit of 2 MiB");
}

#[test]
fn what_a_limit_ends_is_still_one_line_of_json_that_obeys_the_schema() {
    let schema = Schema::load();
    let hard = hard("json");
    let asked: [&[&str]; 4] = [
        &["verify", "michael_set"],
        &["verify", "michael_set", "--engine", "explore", "--threads", "4"],
        &["check", &hard, "--engine", "search"],
        &["check", &hard, "--spec", "stack", "--order", "process", "--engine", "search"],
    ];
    for limit in [["--time", "1ms"], ["--time", "30ms"], ["--memory", "1M"]] {
        for words in asked {
            let said = seriatim(&[words, &["--json"], &limit[..]].concat()).exits(3).out;
            let document: serde_json::Value = serde_json::from_str(&said)
                .unwrap_or_else(|problem| panic!("{words:?} {limit:?}: {problem}: {said:?}"));
            assert_eq!(document["verdict"], "unknown", "{words:?} {limit:?}: {said}");
            // An order that was sought within the limit has a report of its own.
            if !words.contains(&"--order") || document.get("spec").is_none() {
                schema.validate(&document).unwrap_or_else(|problem| panic!("{problem}: {said}"));
            }
        }
    }
}

/// A pipe that nobody ever writes to.
#[cfg(unix)]
fn silent(folder: &Path) -> String {
    let pipe = text(&folder.join("silent"));
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    pipe
}

/// The limit comes while a later file is waited for: what was found in the first one stands.
#[cfg(unix)]
#[test]
fn a_violation_is_not_forgotten_when_a_later_file_takes_too_long() {
    let folder = folder("forgotten");
    let pipe = silent(&folder);
    let stale = example("register-stale.jsonl");
    let robbed = r#"{"process":0,"op":"read","result":{"a":9223372036854775807,"b":1},"call":0,"return":1}
{"process":0,"op":"read","result":{"a":-9223372036854775808,"b":0},"call":2,"return":3}
"#;
    let robbed = file(&folder, "bank.jsonl", robbed);
    let asked: [&[&str]; 4] = [
        &["check", &stale, &pipe],
        &["check", &stale, &pipe, "--spec", "register", "--order", "process"],
        &["check", &stale, &pipe, "--spec", "register", "--level", "strict-serializable"],
        &["check", &robbed, &pipe, "--spec", "bank"],
    ];
    for words in asked {
        seriatim(&[words, &["--time", "2s"]].concat())
            .exits(1)
            .says("silent: unknown; the time limit was reached");
    }
}

/// Whatever a command reads whole may be a pipe that nobody writes to, or never end.
#[cfg(unix)]
#[test]
fn every_text_is_read_within_the_limits() {
    let folder = folder("endless");
    let log = example("queue.jsonl");
    let pipe = silent(&folder);
    let asked: [&[&str]; 10] = [
        &["check", &log, "--map"],
        &["map"],
        &["verify"],
        &["verify", "treiber", "--replay"],
        &["certify", "treiber"],
        &["show"],
        &["fmt"],
        &["import", "--spec", "stack"],
        &["algorithms"],
        &["merge"],
    ];
    for words in asked {
        let full = seriatim(&[words, &["/dev/zero", "--memory", "8M"]].concat()).exits(3);
        let said = format!("{}{}", full.out, full.err);
        let expected = "/dev/zero: unknown; the memory limit was reached; more --memory may help";
        assert!(said.contains(expected), "{words:?}: {said}");
        seriatim(&[words, &[&pipe, "--time", "100ms"]].concat()).exits(3);
    }
}

/// The search takes a few megabytes, the plain runs that are held against it fifty.
#[test]
fn a_second_opinion_that_there_is_no_room_for_does_not_cost_the_answer() {
    for way in [&["orvyy_set", "--engine", "explore"][..], &["cas_counter", "--progress=lock-free"]]
    {
        let asked = [&["verify", "--jobs", "1", "--memory", "16M"], way].concat();
        seriatim(&asked).exits(0);
    }
}

/// Of many explorations a limit lets some be: those are unknown, and the others are told.
#[test]
fn orderings_that_no_time_was_left_for_are_unknown() {
    let schema = Schema::load();
    for limit in ["1ms", "300ms", "1s", "3s"] {
        let asked =
            ["verify", "weak/chase_lev", "--weaken", "--all-minimal", "--jobs", "1", "--json"];
        let ran = seriatim(&[&asked[..], &["--time", limit]].concat());
        let document: serde_json::Value =
            serde_json::from_str(&ran.out).unwrap_or_else(|problem| panic!("{problem}: {ran:?}"));
        schema.validate(&document).unwrap_or_else(|problem| panic!("{problem}: {ran:?}"));
        let orderings = document["orderings"].as_array().expect("a list");
        let is_open = |ordering: &serde_json::Value| {
            ordering["alone"] == "unknown" || ordering["minimum_may_be_weaker"] == true
        };
        let is_known = document["minima"]["complete"] == true && !orderings.iter().any(is_open);
        let is_known = is_known && !orderings.is_empty();
        assert_eq!(ran.code, Some(if is_known { 0 } else { 3 }), "{ran:?}");
    }
}

#[test]
fn what_stops_a_conversion_is_said_beside_what_it_writes() {
    let made = seriatim(&["gen", "queue", "-n", "20000"]).exits(0);
    let queue = file(&folder("converted"), "queue.jsonl", made.out);
    let stopped = seriatim(&["convert", &queue, "--memory", "1"]).exits(3);
    assert!(stopped.out.is_empty() && !stopped.err.contains("--spec"), "{stopped:?}");
    stopped.complains("queue.jsonl: unknown; the memory limit was reached");
}

/// Work that asks for much more than there is at once is ended in the middle: it has the words of work
/// that hears of it.
#[test]
fn who_is_ended_in_the_middle_says_how_far_it_came_and_what_helps() {
    let made = seriatim(&["gen", "register", "-n", "200000", "--values", "200000"]).exits(0).out;
    let log = file(&folder("middle"), "log.jsonl", &made);
    for question in [["--order", "process"], ["--level", "all"]] {
        let asked = ["check", "--spec", "register", "--memory", "1M", &log];
        let ran = seriatim(&[&asked[..], &question].concat()).exits(3);
        ran.says("the memory limit was reached after ").says(" of input; more --memory helps");
    }
}

/// A log is read again where the first way has no room for it: that does not count twice.
#[test]
fn nobody_came_farther_than_the_log_is_long() {
    let made = seriatim(&["gen", "map", "-n", "60000", "--keys", "400"]).exits(0).out;
    let log = file(&folder("far"), "log.jsonl", &made);
    let mut ended = 0;
    for (memory, input) in [1, 2, 3].into_iter().flat_map(|m| [(m, &log[..]), (m, "-")]) {
        let memory = format!("{memory}M");
        let ran = seriatim_reading(
            made.as_bytes(),
            &["check", "--spec", "map", "--memory", &memory, input],
        );
        let Some((_, far)) = ran.out.split_once("reached after ") else { continue };
        let amount: usize =
            far.split(' ').next().and_then(|text| text.parse().ok()).expect("a number");
        // The beginning is looked at once more before a log is read from disk.
        let most = (made.len() + (128 << 10)) / 1000;
        assert!(far.contains(" kB of input") && amount <= most, "{ran:?}");
        ended += 1;
    }
    assert!(ended > 0, "some end while they read");
}

#[test]
fn an_easy_violation_beside_a_hard_part_is_found() {
    let mut history = String::new();
    let hard = std::fs::read_to_string(hard("beside")).expect("a history");
    for line in hard.lines().filter(|line| line.contains("\"process\"")) {
        history.push_str(&line.replacen('{', r#"{"object":"hard","#, 1));
        history.push('\n');
    }
    history.push_str(r#"{"object":"easy","process":99,"op":"pop","result":7,"call":1,"return":2}"#);
    let path = file(&folder("easy"), "both.jsonl", history);
    let against = ["--spec", "stack", "--engine", "search", "--threads", "1", "--memory", "64M"];
    seriatim(&[&["check", &path], &against[..]].concat()).exits(1).says("easy");
}

#[test]
fn a_search_stays_within_its_memory() {
    let shape = ["--threads", "20", "--overlap", "1", "--values", "3", "--violation", "0.9"];
    let made =
        seriatim(&[&["gen", "stack", "-n", "300", "--seed", "2"], &shape[..]].concat()).exits(0);
    let path = file(&folder("stack"), "stack.jsonl", made.out);
    for engine in ["search", "depth-first", "breadth-first"] {
        let arguments = ["check", &path, "--engine", engine, "--memory", "24M", "-q"];
        let child = command(&arguments).stdout(Stdio::null()).spawn().expect("the binary runs");
        let usage = wait(child).expect("the binary ends");
        assert!(usage.peak >> 20 <= 24 * 11 / 10 + 30, "{engine}: {usage:?}");
        assert!(matches!(usage.status.code(), Some(1 | 3)), "{engine}: {usage:?}");
    }
}

/// Whether these tests run in the background of a shell that had them ignore interrupts: the command
/// goes on ignoring them then, as it should.
fn ignores_interrupts() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|signals| u64::from_str_radix(signals.trim(), 16).ok());
    ignored.is_some_and(|signals| signals & 0b10 != 0)
}

#[test]
fn the_first_interrupt_ends_the_work_and_says_how_far_it_came() {
    let interrupt = if ignores_interrupts() { "-TERM" } else { "-INT" };
    for (arguments, signal) in [
        (["check", "--spec", "register", "-"], interrupt),
        (["watch", "register", "-", "--format=jsonl-events"], "-TERM"),
    ] {
        let mut child = command(&arguments).stdin(Stdio::piped()).spawn().expect("the binary runs");
        let mut pipe = child.stdin.take().expect("a pipe");
        pipe.write_all(events(1).as_bytes()).expect("somebody reads");
        // It is listening once it has taken its limits upon itself; until then a signal would end
        // it.
        std::thread::sleep(Duration::from_millis(500));
        let process = child.id().to_string();
        let sent = Command::new("kill").args([signal, &process]).status().expect("kill");
        assert!(sent.success());
        let output = child.wait_with_output().expect("the binary ends");
        let out = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        assert!(out.contains("unknown; it was interrupted"), "{out}");
    }
}

/// Twenty threads at once: nobody can follow what may be true of a line with two ends.
#[test]
fn a_watch_that_nobody_can_follow_claims_nothing_of_the_rest() {
    let mut input = String::new();
    for n in 0..40 {
        let op = if n % 2 == 0 { "push_back" } else { "push_front" };
        input += &format!("{{\"type\":\"call\",\"process\":{n},\"op\":\"{op}\",\"arg\":{n}}}\n");
    }
    for n in 0..40 {
        input += &format!("{{\"type\":\"return\",\"process\":{n},\"result\":true}}\n");
    }
    input += "nonsense\n";
    seriatim_reading(input.as_bytes(), &["watch", "bounded-deque"])
        .exits(2)
        .says("nobody could follow the others, and they were not decided")
        .complains("nobody can follow any more");
}

#[test]
fn a_watch_says_what_held_until_an_event_that_cannot_be_read() {
    let input = format!("{}{}nonsense\n", events(1), events(2));
    seriatim_reading(input.as_bytes(), &["watch", "register"])
        .exits(2)
        .says("no violation in 2 operations, 4 events until there")
        .complains("nonsense");
}
