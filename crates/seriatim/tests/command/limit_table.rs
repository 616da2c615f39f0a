//! Command × engine × limit: what each takes, and whether that is within the bounds.
//!
//! `bench/limits` prints the whole table; `cargo test` measures its small rows. Every question is asked
//! under a limit of time and under one of memory, and is made so that it would take more than both.

use super::run::{command, example, file, folder, seriatim, text};
use flate2::Compression;
use flate2::write::GzEncoder;
use seriatim::limits::measure::wait;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

/// One row of the table: what is asked, and what it may take.
struct Row {
    arguments: Vec<String>,
    /// What is written to its standard input, for ever if it wants.
    input: Option<fn(u64) -> String>,
    /// How many lines of it there are.
    lines: u64,
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
        Row { arguments, input: None, lines: lines(), threads: 1, time: None, memory: mebibytes }
    }

    fn reading(self, input: fn(u64) -> String) -> Row {
        Row { input: Some(input), ..self }
    }

    /// The same with less to read.
    fn lines(self, lines: u64) -> Row {
        Row { lines, ..self }
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
                scope.spawn(move || feed(pipe, line, self.lines));
            }
            wait(child).expect("the binary ends")
        });
        let over = self.time.map(|time| usage.cpu.saturating_sub(time * self.threads));
        let allowed = self.time.unwrap_or_default() / 20 + Duration::from_millis(200);
        let most = self.memory * 11 / 10 + 30;
        let (peak, code) = (usage.peak >> 20, usage.status.code());
        // What is refused at once takes nothing, and shows nothing. Only what a format or a map
        // cannot express is refused after it has been read.
        let is_answered = match code {
            Some(2) => ["convert", "map"].contains(&arguments[0]),
            code => matches!(code, Some(0..=3)),
        };
        let is_small = peak <= most && is_answered;
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

/// Writes so many lines, or until nobody reads them.
fn feed(pipe: impl Write, line: fn(u64) -> String, lines: u64) {
    let mut pipe = BufWriter::new(pipe);
    for number in 0..lines {
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
pub fn events(n: u64) -> String {
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
    feed(File::create(&plain).expect("a file"), put_to_its_key, lines());
    let packed = format!("{plain}.gz");
    let packing = GzEncoder::new(File::create(&packed).expect("a file"), Compression::fast());
    feed(packing, put_to_its_key, lines());
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

/// A bank whose reads see the same total.
fn balances(n: u64) -> String {
    let (call, ret, amount) = (2 * n, 2 * n + 1, n % 10);
    let rest = 10 - amount;
    format!(
        "{{\"process\":0,\"op\":\"read\",\"result\":{{\"a\":{amount},\"b\":{rest}}},\"call\":{call},\"return\":{ret}}}\n"
    )
}

/// A put to etcd, with the revision that it tells.
fn put_with_revision(n: u64) -> String {
    let (key, call, ret, revision) = (n % 100, 2 * n, 2 * n + 1, n + 2);
    format!(
        "{{\"process\":0,\"op\":\"put\",\"arg\":[{key},{n}],\"result\":{revision},\"call\":{call},\"return\":{ret}}}\n"
    )
}

/// Two events of a line with two ends, which nothing but the frontier follows. It stays short: a
/// step of the frontier takes as long as the object is large.
fn line_events(n: u64) -> String {
    let process = n % 3;
    let (call, result) = match n.is_multiple_of(2) {
        true => (format!("\"op\":\"push_front\",\"arg\":{n}"), "true".to_owned()),
        false => ("\"op\":\"pop_back\"".to_owned(), (n - 1).to_string()),
    };
    format!(
        "{{\"type\":\"call\",\"process\":{process},{call}}}\n\
         {{\"type\":\"return\",\"process\":{process},\"result\":{result}}}\n"
    )
}

/// A write that never returns.
fn call_alone(n: u64) -> String {
    format!("{{\"type\":\"call\",\"process\":{n},\"op\":\"write\",\"arg\":{n}}}\n")
}

/// What is asked under both limits: the words, and what is written to standard input.
type Question = (Vec<String>, Option<fn(u64) -> String>);

fn asked(words: &[&str]) -> Question {
    (words.iter().map(|&word| word.to_owned()).collect(), None)
}

fn asked_of(words: &[&str], input: fn(u64) -> String) -> Question {
    (asked(words).0, Some(input))
}

/// `check`: every engine and every further question.
fn questions_of_checks(folder: &Path) -> Vec<Question> {
    let shape = ["-n", "4000", "--threads", "30", "--overlap", "1", "--violation", "1"];
    let made = seriatim(&[&["gen", "stack"], &shape[..]].concat()).exits(0);
    let hard = file(folder, "hard.jsonl", made.out);
    let made = seriatim(&["gen", "map", "-n", "100000", "--keys", "20000"]).exits(0);
    let keys = file(folder, "parts.jsonl", made.out);
    let model = "spec cell {\n  var v: int = 0\n  method write(next: int) { v = next }\n}\n";
    let model = file(folder, "model.seri", model);
    let path = |name: &str| text(&folder.join(name));
    let decided = path("decided");
    seriatim(&["check", "--spec", "map", &keys, "--verdicts", &decided]).exits(0);
    let stack = ["check", "--spec", "stack", "--threads", "1", &hard];
    let with = |more: &[&str]| asked(&[&stack[..], more].concat());
    let map = ["check", "--spec", "map", "--threads", "1", &keys];
    let mapped = |more: &[&str]| asked(&[&map[..], more].concat());
    vec![
        with(&["--engine", "search"]),
        with(&["--engine", "depth-first"]),
        with(&["--engine", "breadth-first"]),
        with(&["--engine", "search", "--html", &path("hard.html")]),
        with(&["--engine", "search", "--junit", &path("hard.xml"), "--json"]),
        with(&["--order", "process", "--engine", "search"]),
        with(&["--order", "none", "--engine", "search"]),
        mapped(&["--check-partition"]),
        mapped(&["--no-partition", "--engine", "search"]),
        mapped(&["--spill", "always"]),
        mapped(&["--verdicts", &path("v")]),
        mapped(&["--verdicts", &path("v0"), "--shard", "0/2"]),
        asked(&["merge", &decided]),
        asked_of(&["check", "--threads", "1", "-"], of_its_own_process),
        asked_of(&["check", "--spec", "bank", "--threads", "1", "-"], balances),
        asked_of(&["check", "--spec", "etcd", "--threads", "1", "-"], put_with_revision),
        asked_of(&["check", "--spec", &model, "--threads", "1", "-"], of_its_own_process),
        asked_of(&["check", "--spec", "register", "--level", "all", "-"], of_its_own_process),
        asked_of(&["check", "--spec", "transactions", "--level", "all", "-"], transaction),
    ]
}

/// All that writes or looks at histories and is no check.
fn questions_of_histories(folder: &Path) -> Vec<Question> {
    let map = file(folder, "records.toml", MAP);
    let log = file(folder, "records.jsonl", (0..200_000).map(record).collect::<String>());
    let mut questions = vec![
        asked_of(&["watch", "register"], events),
        asked_of(&["watch", "register"], call_alone),
        asked_of(&["watch", "bounded-deque"], line_events),
        asked(&["map", &map, "--try", &log]),
        asked(&["map", "--try", &log]),
    ];
    for format in ["jsonl", "jsonl-events", "edn", "porcupine", "limo", "polylin"] {
        let spec = if format == "porcupine" { "kv" } else { "queue" };
        questions.push(asked_of(&["convert", "--to", format, "-"], put_to_its_key));
        questions.push(asked(&["gen", spec, "-n", "5000000", "--to", format]));
    }
    questions
}

/// `verify`, `certify` and what else is about algorithms.
fn questions_of_algorithms(folder: &Path) -> Vec<Question> {
    let path = |name: &str| text(&folder.join(name));
    let certificate = path("treiber.cert");
    seriatim(&["verify", "treiber", "--engine", "prove", "--certificate", &certificate]).exits(0);
    let weak = ["verify", "weak/treiber", "--threads", "4", "--jobs", "1"];
    let with = |more: &[&str]| asked(&[&weak[..], more].concat());
    let harris = ["verify", "harris_michael", "--threads", "4", "--jobs", "1"];
    let explored = |more: &[&str]| asked(&[&harris[..], more].concat());
    vec![
        asked(&["verify", "michael_set", "--jobs", "1"]),
        asked(&["verify", "michael_set", "--jobs", "1", "--engine", "prove"]),
        asked(&["verify", "michael_set", "--jobs", "1", "--html", &path("set.html"), "--json"]),
        asked(&["verify", "harris_michael", "--engine", "lists", "--all", "3"]),
        explored(&["--engine", "explore"]),
        explored(&["--progress"]),
        with(&["--model", "sc"]),
        with(&["--model", "tso"]),
        with(&["--model", "rc20"]),
        asked(&["verify", "weak/chase_lev", "--jobs", "1", "--weaken"]),
        asked(&["verify", "weak/chase_lev", "--jobs", "1", "--weaken", "--all-minimal"]),
        asked(&["certify", "treiber", &certificate]),
        asked(&["certify", "treiber", &certificate, "--draw"]),
        asked(&["import", "--spec", "stack", &imported()]),
        asked(&["show", "harris_michael"]),
    ]
}

/// An object in Rust.
fn imported() -> String {
    text(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/import/treiber.rs"))
}

/// Every question under a limit of time, and in the long table under one of memory, too.
fn grid(folder: &Path) -> Vec<Row> {
    let mut questions = questions_of_checks(folder);
    questions.extend(questions_of_histories(folder));
    questions.extend(questions_of_algorithms(folder));
    let mut rows = Vec::new();
    for (words, input) in questions {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        // The chooser looks for a wrong run beside the proof.
        let is_of_two =
            words[0] == "verify" && words[1] == "michael_set" || words.contains(&"lists");
        let timed = Row::timed(200, if is_of_two { 2 } else { 1 }, &words);
        let small = Row::small(24, &words).lines(1_000_000);
        rows.push(Row { input, ..timed });
        if is_long() {
            rows.push(Row { input, ..small });
        }
    }
    let served = example("queue.jsonl");
    rows.push(Row::timed(200, 1, &["view", &served, "--serve"]));
    rows
}

/// The rows that take little, and those of `bench/limits`.
fn rows(folder: &Path) -> Vec<Row> {
    let mut rows = vec![
        Row::small(24, &["check", "--spec", "map", "-"]).reading(put_to_its_key),
        Row::small(24, &["check", "--spec", "register", "-"]).reading(of_its_own_process),
        Row::small(48, &["check", "--spec", "register", "-"]).reading(of_a_large_value),
        Row::small(24, &["check", "--spec", "register", "--order", "process", "-"])
            .reading(of_its_own_process),
        Row::timed(300, 1, &["gen", "queue", "-n", "500000000"]),
        Row::small(
            24,
            &["verify", "weak/treiber", "--model", "rc20", "--threads", "4", "--jobs", "1"],
        ),
    ];
    rows.extend(rows_of_files(folder));
    rows.extend(grid(folder));
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
