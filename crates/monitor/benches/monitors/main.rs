//! What the fast monitors cost, from 10⁴ to 10⁷ operations, and what they watch in a second.
//!
//! Claims measured: at 10⁶ operations ten times less CPU time and five times less memory than PolyLin's
//! published figures, reading of PolyLin's format included; the time an operation costs grows by less than
//! 1.5 from 10⁵ to 10⁷; two million events a second are watched at constant memory.
//!
//! ```sh
//! cargo bench -p seriatim-monitor --bench monitors                     # all tables up to 10⁶
//! cargo bench -p seriatim-monitor --bench monitors -- queue 7          # one object, up to 10⁷
//! cargo bench -p seriatim-monitor --bench monitors -- online 8         # 10⁸ events watched
//! ```
//!
//! Every history is written to a file and checked by a process of its own; the best of a few runs
//! counts. The output is Markdown: *CPU seconds with reading / of the check alone / peak MB*.

mod measure;
mod shapes;

use measure::{Cost, best, cost, myself};
use seriatim_history::{Format, History, write};
use seriatim_spec::SpecChoice;
use seriatim_spec::generate::{Generator as SpecGenerator, Profile};
use shapes::{Generator, Kind, Shape};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// CPU seconds and MB that PolyLin needs for 10⁶ operations of eight threads, uniform.
const POLYLIN: [(Kind, f64, f64); 4] = [
    (Kind::Queue, 4.3, 648.0),
    (Kind::Stack, 6.4, 722.0),
    (Kind::PriorityQueue, 6.7, 624.0),
    (Kind::Set, 0.81, 156.0),
];

/// The objects of the smaller table, with the operations that their monitors leave to the search left out.
const OTHERS: [(&str, &[(&str, f64)]); 7] = [
    ("register", &[]),
    ("map", &[("insert", 0.0), ("delete", 0.0), ("cas", 0.0), ("size", 0.0), ("contains", 0.0)]),
    ("multiset", &[("take", 0.0), ("size", 0.0)]),
    ("counter", &[("add", 0.0)]),
    ("fetch-and-add", &[]),
    ("mutex", &[]),
    ("semaphore(init=3)", &[]),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["check-file", path] => return measure::check_file(path),
        ["watch-input", spec] => return measure::watch_input(spec),
        _ => {}
    }
    let wanted = arguments.first().copied();
    let largest = arguments.get(1).and_then(|n| n.parse().ok()).unwrap_or(6);
    let wants =
        |name: &str| wanted.is_none_or(|wanted| wanted == "all" || name.starts_with(wanted));
    for (kind, name) in Kind::ALL.into_iter().filter(|(_, name)| wants(name)) {
        table(kind, name, largest);
    }
    for (spec, shares) in OTHERS.into_iter().filter(|(spec, _)| wants(spec)) {
        small_table(spec, shares, largest);
    }
    if wants("online") {
        ["queue", "set"].into_iter().for_each(|spec| online(spec, largest));
    }
}

/// A file that is gone when it is dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn of(history: &History, format: Format) -> Self {
        let name = format!("seriatim-bench-{}.log", std::process::id());
        let scratch = Scratch(std::env::temp_dir().join(name));
        let file = File::create(&scratch.0).unwrap_or_else(|error| panic!("{error}"));
        let mut out = BufWriter::new(file);
        write(history, format, &mut out).unwrap_or_else(|error| panic!("{error}"));
        out.flush().unwrap_or_else(|error| panic!("{error}"));
        scratch
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A scratch file that stays behind harms nobody.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// How often a history of a size is checked.
fn runs(power: u32) -> usize {
    [9, 7, 5, 2][(power.clamp(4, 7) - 4) as usize]
}

fn table(kind: Kind, name: &str, largest: u32) {
    head(name, largest);
    let mut uniform = None;
    for threads in [8, 16] {
        for (shape, shape_name) in Shape::ALL {
            let costs: Vec<Cost> = (4..=largest)
                .map(|power| {
                    let history = Generator::new(kind, shape, 10u64.pow(power)).history(threads);
                    let file = Scratch::of(&history, Format::PolyLin);
                    drop(history);
                    best(file.path(), runs(power))
                })
                .collect();
            row(&format!("{shape_name}, {threads} threads"), &costs);
            if let (Shape::Uniform, 8, Some(cost)) = (shape, threads, costs.get(2)) {
                uniform = Some(cost.clone());
            }
        }
    }
    let peer = POLYLIN.iter().find(|(peer, ..)| *peer == kind);
    if let (Some(cost), Some((_, seconds, memory))) = (uniform, peer) {
        println!(
            "\nPolyLin needs {seconds} s, {memory} MB for 10^6 (uniform, 8 threads): {:.1} × the time, {:.1} × the memory.",
            seconds / cost.whole,
            memory / cost.peak
        );
    }
}

fn small_table(spec: &str, shares: &[(&str, f64)], largest: u32) {
    head(spec, largest);
    let choice = SpecChoice::parse(spec).unwrap_or_else(|error| panic!("{error}"));
    let costs: Vec<Cost> = (4..=largest)
        .map(|power| {
            let operations = 10u64.pow(power);
            let profile = Profile {
                operations,
                threads: 8,
                overlap: 1.0,
                keys: 1 + operations / 100,
                shares: named(shares),
                ..Profile::default()
            };
            let generator = SpecGenerator::new(&choice, profile);
            let generator = generator.unwrap_or_else(|error| panic!("{error}"));
            let made = generator.history().unwrap_or_else(|error| panic!("{error}"));
            let file = Scratch::of(&made.history, Format::JsonLines);
            drop(made);
            best(file.path(), runs(power))
        })
        .collect();
    row("uniform, 8 threads", &costs);
}

fn named(shares: &[(&str, f64)]) -> Vec<(String, f64)> {
    shares.iter().map(|&(name, share)| (name.to_owned(), share)).collect()
}

fn head(name: &str, largest: u32) {
    let sizes: String = (4..=largest).map(|power| format!(" 10^{power} |")).collect();
    println!("\n| {name} |{sizes} growth, with reading | without |");
    println!("| --- |{} --- | --- |", " --- |".repeat(largest as usize - 3));
}

fn row(name: &str, costs: &[Cost]) {
    let cell = |cost: &Cost| format!(" {:.4} / {:.4} / {:.0} |", cost.whole, cost.check, cost.peak);
    let cells: String = costs.iter().map(cell).collect();
    let growth = |of: &dyn Fn(&Cost) -> f64| match costs {
        [_, small, .., large] => {
            let times = 10f64.powi(costs.len() as i32 - 2);
            format!("{:.2}", of(large) / of(small) / times)
        }
        _ => "-".to_owned(),
    };
    let words: Vec<&str> = costs.iter().map(|cost| cost.word.as_str()).collect();
    let verdict = match words.iter().all(|word| *word == words[0]) {
        true => words[0].to_owned(),
        false => words.join(", "),
    };
    let (with, without) = (growth(&|cost| cost.whole), growth(&|cost| cost.check));
    println!("| {name}: {verdict} |{cells} {with} | {without} |");
}

/// As much goes out of a queue as comes in, so that it does not grow for ever.
const BALANCED: [(&str, f64); 3] = [("enqueue", 1.0), ("dequeue", 1.05), ("front", 0.1)];

/// Events that are generated and watched at once.
fn online(spec: &str, largest: u32) {
    let choice = SpecChoice::parse(spec).unwrap_or_else(|error| panic!("{error}"));
    for power in [6, largest] {
        let profile = Profile {
            operations: 10u64.pow(power) / 2,
            threads: 8,
            keys: 1000,
            shares: if spec == "queue" { named(&BALANCED) } else { Vec::new() },
            ..Profile::default()
        };
        let generator = SpecGenerator::new(&choice, profile);
        let generator = generator.unwrap_or_else(|error| panic!("{error}"));
        let mut command = myself();
        command.args(["watch-input", spec]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{error}"));
        if let Some(input) = child.stdin.take() {
            let mut out = BufWriter::with_capacity(1 << 16, input);
            let written = generator.write_events(&mut out, &mut 0).and_then(|()| out.flush());
            written.unwrap_or_else(|error| panic!("{error}"));
        }
        let output = child.wait_with_output().unwrap_or_else(|error| panic!("{error}"));
        let Cost { whole, peak, word, .. } = cost(&output.stdout);
        let rate = 10f64.powi(power as i32) / whole / 1e6;
        println!(
            "{spec}: 10^{power} events, {whole:.2} CPU s, {rate:.2} million a second, {peak:.1} MB, {word}"
        );
    }
}
