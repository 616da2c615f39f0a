//! How fast histories are read. Claims: JSON Lines at a million operations a second and more;
//! PolyLin's sets at 50 ns per operation and less; the cost of an operation does not grow with the
//! length of the log.
//!
//! `cargo bench -p seriatim-history` prints, for every format and for 10^4, 10^5 and 10^6
//! operations, the CPU time for each operation (the best of several runs, one thread, reading from
//! memory), and as the baseline the time that serde_json takes to make a `Value` of every line of
//! the same JSON text in the same run. `cargo bench -p seriatim-history -- polylin-set 1000000`
//! reads one text once and prints the peak memory of the process.

use seriatim_history::{Format, ReadOptions, read_from};
use seriatim_testing::{cpu_seconds, peak_memory};
use std::fmt::Write;
use std::hint::black_box;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    match &words[..] {
        [name, count] => once(name, count.parse().expect("a number of operations")),
        _ => table(),
    }
}

/// A text of a number of operations.
type Make = fn(u64) -> String;

const TEXTS: [(&str, Format, Make); 7] = [
    ("jsonl", Format::JsonLines, jsonl),
    ("jsonl-events", Format::JsonEvents, jsonl_events),
    ("edn", Format::Edn, edn),
    ("jepsen-log", Format::JepsenLog, jepsen_log),
    ("limo", Format::LiMo, limo),
    ("polylin-queue", Format::PolyLin, polylin_queue),
    ("polylin-set", Format::PolyLin, polylin_set),
];

fn table() {
    let sizes = [10_000, 100_000, 1_000_000];
    println!("CPU ns an operation, and the growth from 10^4 to 10^6 operations\n");
    println!("{:<28}{:>8}{:>8}{:>8}{:>9}{:>9}", "", "10^4", "10^5", "10^6", "growth", "MB/s");
    for (name, format, make) in TEXTS {
        let texts = sizes.map(make);
        row(name, sizes, &texts, |text| {
            black_box(read_text(text, format));
        });
        if name.starts_with("jsonl") {
            row("  serde_json::Value", sizes, &texts, |text| {
                for line in text.lines() {
                    black_box(serde_json::from_str::<serde_json::Value>(line).unwrap());
                }
            });
        }
    }
}

fn row(name: &str, sizes: [u64; 3], texts: &[String; 3], read: impl Fn(&str)) {
    let mut costs = [0.0; 3];
    for (index, text) in texts.iter().enumerate() {
        let runs = [40, 10, 4][index];
        let best = (0..runs).map(|_| cpu_time(|| read(text))).fold(f64::MAX, f64::min);
        costs[index] = best * 1e9 / sizes[index] as f64;
    }
    let rate = texts[2].len() as f64 / (costs[2] * sizes[2] as f64) * 1e3;
    let growth = costs[2] / costs[0];
    println!(
        "{name:<28}{:>8.1}{:>8.1}{:>8.1}{growth:>9.2}{rate:>9.0}",
        costs[0], costs[1], costs[2]
    );
}

/// Writes the text to a file, reads it in a process without anything else, prints time and memory.
fn once(name: &str, count: u64) {
    let path = std::env::temp_dir().join(format!("seriatim-bench-{name}-{count}"));
    let known = TEXTS.iter().find(|(known, ..)| *known == name);
    let &(_, format, make) = known.expect("a text's name, as the table prints it");
    if std::env::var_os("SERIATIM_BENCH_CHILD").is_none() {
        std::fs::write(&path, make(count)).unwrap();
        let this = std::env::current_exe().unwrap();
        let mut child = std::process::Command::new(this);
        child.args([name, &count.to_string()]).env("SERIATIM_BENCH_CHILD", "1");
        child.status().unwrap();
        std::fs::remove_file(path).unwrap();
        return;
    }
    let mut history = None;
    let seconds = cpu_time(|| {
        let options = ReadOptions { format: Some(format), ..ReadOptions::default() };
        let file = std::fs::File::open(&path).unwrap();
        history = Some(read_from(file, name, options).unwrap());
    });
    let history = history.unwrap();
    println!(
        "{name}: {} operations, {:.1} ms CPU, history {:.1} bytes per operation, peak {:.1} MB",
        history.len(),
        seconds * 1e3,
        history.bytes() as f64 / history.len() as f64,
        peak_memory() / 1e6
    );
}

fn read_text(text: &str, format: Format) -> usize {
    let options = ReadOptions { format: Some(format), ..ReadOptions::default() };
    read_from(text.as_bytes(), "bench", options).unwrap().len()
}

/// The CPU seconds that a piece of work takes.
fn cpu_time(work: impl FnOnce()) -> f64 {
    let before = cpu_seconds();
    work();
    cpu_seconds() - before
}

/// Four processes; each operation overlaps its neighbours.
fn jsonl(count: u64) -> String {
    let mut text = String::from("{\"seriatim\":1,\"spec\":\"queue\"}\n");
    for i in 0..count {
        let (process, call, ret) = (i % 4, i * 250, i * 250 + 900);
        if i % 2 == 0 {
            let _ = writeln!(
                text,
                r#"{{"process":{process},"op":"enqueue","arg":{i},"call":{call},"return":{ret}}}"#
            );
        } else {
            let value = i - 1;
            let _ = writeln!(
                text,
                r#"{{"process":{process},"op":"dequeue","result":{value},"call":{call},"return":{ret}}}"#
            );
        }
    }
    text
}

fn jsonl_events(count: u64) -> String {
    let mut text = String::new();
    for i in 0..count {
        let (process, time) = (i % 4, i * 1000);
        let _ = writeln!(
            text,
            r#"{{"process":{process},"type":"call","op":"write","arg":"v{}","time":{time}}}"#,
            i % 100
        );
        let _ = writeln!(text, r#"{{"process":{process},"type":"return","time":{}}}"#, time + 400);
    }
    text
}

fn edn(count: u64) -> String {
    let mut text = String::new();
    for i in 0..count {
        let (process, time) = (i % 4, i * 1000);
        let head = format!("{{:process {process}, :f :write, :value {}", i % 5);
        let _ = writeln!(text, "{head}, :type :invoke, :time {time}}}");
        let _ = writeln!(text, "{head}, :type :ok, :time {}}}", time + 400);
    }
    text
}

fn jepsen_log(count: u64) -> String {
    let mut text = String::new();
    for i in 0..count {
        let (process, value) = (i % 4, i % 5);
        let _ = writeln!(text, "INFO  jepsen.util - {process}\t:invoke\t:write\t{value}");
        let _ = writeln!(text, "INFO  jepsen.util - {process}\t:ok\t:write\t{value}");
    }
    text
}

fn limo(count: u64) -> String {
    let mut text = String::from("# @object atomic-queue\n");
    for i in 0..count / 2 {
        let thread = i % 4;
        let _ = writeln!(text, "[{thread}] call enq({i})\n[{thread}] return");
        let _ = writeln!(text, "[{thread}] call deq\n[{thread}] return {i}");
    }
    text
}

fn polylin_queue(count: u64) -> String {
    let mut text = String::from("# queue\n");
    for i in 0..count {
        let (call, ret) = (i * 3, i * 3 + 8);
        let (method, value) = if i % 2 == 0 { ("enq", i) } else { ("deq", i - 1) };
        let _ = writeln!(text, "{method} {value} {call} {ret}");
    }
    text
}

fn polylin_set(count: u64) -> String {
    let mut text = String::from("# set\n");
    for i in 0..count {
        let (call, ret) = (i * 3, i * 3 + 8);
        let method = ["insert", "contains", "remove"][(i % 3) as usize];
        let _ = writeln!(text, "{method} {} 1 {call} {ret}", i / 3);
    }
    text
}
