//! Limits of time and memory are kept, and what is known by then is told.

use super::run::{command, example, file, folder, seriatim, seriatim_reading, text};
use super::schema::Schema;
use flate2::Compression;
use flate2::write::GzEncoder;
use seriatim::limits::measure::wait;
use std::fs::File;
use std::io::{BufWriter, Write};
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

#[test]
fn what_stops_a_conversion_is_said_beside_what_it_writes() {
    let stopped = seriatim(&["convert", &example("queue.jsonl"), "--memory", "1"]).exits(3);
    assert!(stopped.out.is_empty() && !stopped.err.contains("--spec"), "{stopped:?}");
    stopped.complains("queue.jsonl: unknown; the memory limit was reached");
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

/// One row of the table: what is asked, and what it may take.
struct Row {
    arguments: Vec<String>,
    /// What is written to its standard input, for ever if it wants.
    input: Option<fn(u64) -> String>,
    /// How many threads work.
    threads: u32,
    /// The time limit among the arguments.
    time: Option<Duration>,
    /// The memory limit among the arguments, in MiB; 4 GiB if there is none.
    memory: u64,
}

impl Row {
    fn timed(milliseconds: u64, threads: u32, arguments: &[&str]) -> Row {
        let time = Some(Duration::from_millis(milliseconds));
        Row { threads, time, ..Row::small(4096, arguments) }
    }

    fn small(mebibytes: u64, arguments: &[&str]) -> Row {
        let arguments = arguments.iter().map(|&word| word.to_owned()).collect();
        Row { arguments, input: None, threads: 1, time: None, memory: mebibytes }
    }

    fn reading(self, input: fn(u64) -> String) -> Row {
        Row { input: Some(input), ..self }
    }

    /// Runs the command under its limits; gives a line of the table, and whether the limits held.
    fn measure(&self) -> (String, bool) {
        let time = self.time.map(|time| format!("{}ms", time.as_millis()));
        let memory = format!("{}M", self.memory);
        let mut arguments: Vec<&str> = self.arguments.iter().map(|word| &word[..]).collect();
        arguments.extend(time.iter().flat_map(|time| ["--time", time.as_str()]));
        arguments.extend(["--memory", memory.as_str()]);
        let mut child = command(&arguments)
            .stdin(if self.input.is_some() { Stdio::piped() } else { Stdio::null() })
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary runs");
        let pipe = child.stdin.take();
        let usage = std::thread::scope(|scope| {
            if let (Some(pipe), Some(line)) = (pipe, self.input) {
                scope.spawn(move || feed(pipe, line));
            }
            wait(child).expect("the binary ends")
        });
        let over = self.time.map(|time| usage.cpu.saturating_sub(time * self.threads));
        let allowed = self.time.unwrap_or_default() / 20 + Duration::from_millis(200);
        let most = self.memory * 11 / 10 + 30;
        let (peak, code) = (usage.peak >> 20, usage.status.code());
        let is_small = peak <= most && matches!(code, Some(0..=3));
        // On a busy machine nobody can say how long something takes: only the long table asserts
        // it.
        let is_quick = over.is_none_or(|over| over <= allowed) || !is_long();
        let beyond = over.map_or("–".to_owned(), |over| format!("{} ms", over.as_millis()));
        let line = format!(
            "| `{}` | {peak} of {most} MiB | {beyond} | {} |",
            shown(&arguments),
            code.map_or("killed".to_owned(), |code| code.to_string())
        );
        (line, is_small && is_quick)
    }
}

/// A command without the folders of this machine.
fn shown(arguments: &[&str]) -> String {
    let name = |word: &&str| match word.rsplit_once('/') {
        Some((folder, name)) if folder.starts_with('/') => name.to_owned(),
        _ => (*word).to_owned(),
    };
    arguments.iter().map(name).collect::<Vec<_>>().join(" ")
}

/// How many lines are written.
fn lines() -> u64 {
    if is_long() { 10_000_000 } else { 400_000 }
}

/// Writes lines until nobody reads them.
fn feed(pipe: impl Write, line: fn(u64) -> String) {
    let mut pipe = BufWriter::new(pipe);
    for number in 0..lines() {
        if pipe.write_all(line(number).as_bytes()).is_err() {
            return;
        }
    }
}

fn is_long() -> bool {
    std::env::var_os("SERIATIM_LONG").is_some()
}

fn put_to_its_key(n: u64) -> String {
    format!(
        "{{\"process\":0,\"op\":\"put\",\"key\":{n},\"arg\":1,\"call\":{},\"return\":{}}}\n",
        2 * n,
        2 * n + 1
    )
}

fn of_its_own_process(n: u64) -> String {
    format!(
        "{{\"process\":{n},\"op\":\"write\",\"arg\":{n},\"call\":{},\"return\":{}}}\n",
        2 * n,
        2 * n + 1
    )
}

fn of_a_large_value(n: u64) -> String {
    let value = "v".repeat(1 << 20);
    format!(
        "{{\"process\":0,\"op\":\"write\",\"arg\":\"{n}{value}\",\"call\":{},\"return\":{}}}\n",
        2 * n,
        2 * n + 1
    )
}

/// Two events: a write that returns.
fn events(n: u64) -> String {
    let (process, arg) = (n % 3, n);
    format!(
        "{{\"type\":\"call\",\"process\":{process},\"op\":\"write\",\"arg\":{arg}}}\n\
         {{\"type\":\"return\",\"process\":{process}}}\n"
    )
}

/// A transaction that reads a list and appends to another.
fn transaction(n: u64) -> String {
    let (process, read, appended) = (n % 3, n % 5, (n + 1) % 5);
    format!(
        "{{:type :invoke, :process {process}, :f :txn, :value [[:r {read} nil] [:append {appended} {n}]]}}\n\
         {{:type :ok, :process {process}, :f :txn, :value [[:r {read} []] [:append {appended} {n}]]}}\n"
    )
}

/// A record that needs a map.
fn record(n: u64) -> String {
    let (client, from, to) = (n % 4, 2 * n, 2 * n + 1);
    format!("{{\"client\":{client},\"verb\":\"write\",\"body\":{n},\"from\":{from},\"to\":{to}}}\n")
}

const MAP: &str = "unit = \"ms\"
[[rule]]
is = \"operation\"
process = 'client'
op = 'verb'
arg = 'body'
call = 'from'
return = 'to'
";

/// The rows about files: a map for records, a log with a key for each operation, plain, compressed
/// and, where the command reads them, as Parquet.
fn rows_of_files(folder: &Path) -> Vec<Row> {
    let map = file(folder, "map.toml", MAP);
    let plain = text(&folder.join("keys.jsonl"));
    feed(File::create(&plain).expect("a file"), put_to_its_key);
    let packed = format!("{plain}.gz");
    let packing = GzEncoder::new(File::create(&packed).expect("a file"), Compression::fast());
    feed(packing, put_to_its_key);
    let mapped = ["check", "--spec", "register", "--map", &map, "-"];
    let mut rows = vec![
        Row::small(24, &["check", "--spec", "map", &plain]),
        Row::small(24, &["check", "--spec", "map", &packed]),
        Row::timed(300, 1, &["check", "--spec", "map", "--threads", "1", &packed]),
        Row::small(24, &mapped).reading(record),
        Row::timed(300, 1, &mapped).reading(record),
    ];
    if cfg!(feature = "parquet") {
        let columns = text(&folder.join("keys.parquet"));
        let short =
            file(folder, "some.jsonl", (0..100_000).map(put_to_its_key).collect::<String>());
        seriatim(&["convert", "--to", "parquet", &short, "--output", &columns]).exits(0);
        rows.push(Row::small(24, &["check", "--spec", "map", &columns]));
        rows.push(Row::timed(100, 1, &["check", "--spec", "map", "--threads", "1", &columns]));
    }
    rows
}

/// The rows about weak memory and isolation levels.
fn rows_of_engines() -> Vec<Row> {
    let weak =
        |model| ["verify", "weak/treiber", "--model", model, "--threads", "4", "--jobs", "1"];
    let levels = ["check", "--spec", "transactions", "--level", "all", "-"];
    vec![
        Row::timed(300, 1, &levels).reading(transaction),
        Row::small(24, &levels).reading(transaction),
        Row::timed(300, 1, &["verify", "weak/treiber", "--weaken", "--jobs", "1"]),
        Row::small(24, &["verify", "weak/treiber", "--weaken", "--jobs", "1"]),
        Row::timed(300, 1, &weak("tso")),
        Row::timed(300, 1, &weak("rc20")),
        Row::small(24, &weak("tso")),
        Row::small(24, &weak("rc20")),
    ]
}

/// The rows that take little, and those of `bench/limits`.
fn rows(folder: &Path) -> Vec<Row> {
    let mut rows = vec![
        Row::small(24, &["check", "--spec", "map", "-"]).reading(put_to_its_key),
        Row::small(24, &["check", "--spec", "register", "-"]).reading(of_its_own_process),
        Row::small(48, &["check", "--spec", "register", "-"]).reading(of_a_large_value),
        Row::small(24, &["convert", "--to", "edn", "-"]).reading(put_to_its_key),
        Row::timed(300, 1, &["check", "--spec", "register", "-"]).reading(of_its_own_process),
        Row::timed(300, 1, &["watch", "register"]).reading(events),
        Row::timed(300, 1, &["gen", "queue", "-n", "500000000"]),
        Row::timed(400, 2, &["verify", "michael_set", "--engine", "prove", "--jobs", "1"]),
        Row::timed(400, 2, &["verify", "michael_set", "--jobs", "1"]),
        Row::timed(400, 2, &["verify", "harris_michael", "--engine", "lists", "--all", "3"]),
        Row::timed(400, 1, &["verify", "harris_michael", "--threads", "4", "--jobs", "1"]),
    ];
    rows.extend(rows_of_files(folder));
    rows.extend(rows_of_engines());
    if is_long() {
        rows.extend([
            Row::small(64, &["check", "--spec", "map", "-"]).reading(put_to_its_key),
            Row::small(64, &["check", "--spec", "register", "-"]).reading(of_its_own_process),
            Row::small(64, &["check", "--spec", "map", "--spill", "never", "-"])
                .reading(put_to_its_key),
            Row::small(32, &["verify", "harris_michael", "--threads", "4", "--jobs", "2"]),
            Row::small(64, &["watch", "register"]).reading(events),
            Row::timed(10_000, 2, &["verify", "michael_set", "--engine", "prove", "--jobs", "1"]),
            Row::timed(5_000, 2, &["verify", "michael_set", "--jobs", "1"]),
            Row::timed(2_000, 1, &["check", "--spec", "map", "-"]).reading(put_to_its_key),
        ]);
    }
    rows
}

#[test]
fn every_command_stays_within_its_limits() {
    println!(
        "| command | peak, and the most | CPU beyond the time | exit |\n| --- | --- | --- | --- |"
    );
    let mut failed = Vec::new();
    for row in rows(&folder("table")) {
        let (line, held) = row.measure();
        println!("{line}");
        if !held {
            failed.push(line);
        }
    }
    assert!(failed.is_empty(), "beyond their limits:\n{}", failed.join("\n"));
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

#[test]
fn a_watch_says_what_held_until_an_event_that_cannot_be_read() {
    let input = format!("{}{}nonsense\n", events(1), events(2));
    seriatim_reading(input.as_bytes(), &["watch", "register"])
        .exits(2)
        .says("no violation in 2 operations, 4 events until there")
        .complains("nonsense");
}
