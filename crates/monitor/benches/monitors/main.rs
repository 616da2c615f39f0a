//! What the fast monitors cost, from 10⁴ to 10⁷ operations, and what they watch in a second.
//!
//! Claims measured: at 10⁶ operations ten times less CPU time and five times less memory than
//! PolyLin's published figures, reading of PolyLin's format included; the time an operation costs
//! grows by less than 1.5 from 10⁵ to 10⁷; two million events a second are watched at constant
//! memory.
//!
//! ```sh
//! cargo bench -p seriatim-monitor --bench monitors                     # all tables up to 10⁶
//! cargo bench -p seriatim-monitor --bench monitors -- queue 7          # one object, up to 10⁷
//! cargo bench -p seriatim-monitor --bench monitors -- online 8         # 10⁸ events watched
//! ```
//!
//! Every history is written to a file and checked by a process of its own; the sizes of a row take
//! turns, and the median of a few runs counts. `-- make queue uniform 8 6 FILE` writes one history,
//! for a profiler. The output is Markdown: *CPU seconds with reading / of the check alone / peak
//! MB*.

mod measure;
mod shapes;

use measure::{Cost, cost, myself};
use seriatim_history::{Format, History, write};
use seriatim_spec::SpecChoice;
use seriatim_spec::generate::{Generator as SpecGenerator, Profile, Violation};
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

/// The objects of the smaller table, with the operations that their monitors leave to the search
/// left out.
const OTHERS: [(&str, &[(&str, f64)]); 8] = [
    ("register", &[]),
    ("map", &[("insert", 0.0), ("delete", 0.0), ("cas", 0.0), ("size", 0.0), ("contains", 0.0)]),
    ("multiset", &[("take", 0.0), ("size", 0.0)]),
    ("counter", &[("add", 0.0)]),
    ("fetch-and-add", &[]),
    ("mutex", &[]),
    ("semaphore(init=3)", &[]),
    ("log", &[]),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["check-file", path] => return measure::check_file(path),
        ["watch-input", spec] => return measure::watch_input(spec),
        ["make", object, shape, threads, power, path] => {
            return make([object, shape, threads, power, path]);
        }
        _ => {}
    }
    let wanted = arguments.first().copied();
    let largest = arguments.get(1).and_then(|n| n.parse().ok()).unwrap_or(6);
    let wants =
        |name: &str| wanted.is_none_or(|wanted| wanted == "all" || name.starts_with(wanted));
    for (object, name) in Object::all().filter(|(_, name)| wants(name)) {
        table(object, name, largest);
    }
    if wants("online") {
        STREAMS.into_iter().for_each(|stream| online(stream, largest));
    }
}

/// A file that is gone when it is dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn of(row: &Row, power: u32) -> Self {
        let name = format!("seriatim-bench-{}-{power}.log", std::process::id());
        let scratch = Scratch(std::env::temp_dir().join(name));
        row.write(power, &scratch.0);
        scratch
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A scratch file that stays behind harms nobody.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// What a row of a table is about.
struct Row {
    object: Object,
    shape: Shape,
    threads: usize,
}

#[derive(Clone, Copy)]
enum Object {
    /// A container, in PolyLin's format.
    Container(Kind),
    /// Any other object, in our own format, with some shares of methods.
    Other(&'static str, &'static [(&'static str, f64)]),
}

impl Object {
    fn all() -> impl Iterator<Item = (Object, &'static str)> {
        let containers = Kind::ALL.into_iter().map(|(kind, name)| (Object::Container(kind), name));
        containers
            .chain(OTHERS.into_iter().map(|(spec, shares)| (Object::Other(spec, shares), spec)))
    }

    /// The shapes that say something about the object.
    fn shapes(self) -> Vec<(Shape, &'static str)> {
        let is_general =
            |shape| matches!(shape, Shape::Uniform | Shape::LowOverlap | Shape::Violation);
        let fits = |shape| matches!(self, Object::Container(_)) || is_general(shape);
        Shape::ALL.into_iter().filter(|&(shape, _)| fits(shape)).collect()
    }
}

impl Row {
    /// Writes the history of a size to a file.
    fn write(&self, power: u32, path: &Path) {
        let operations = 10u64.pow(power);
        let (history, format) = match self.object {
            Object::Container(kind) => {
                let generator = Generator::new(kind, self.shape, operations);
                (generator.history(self.threads), Format::PolyLin)
            }
            Object::Other(spec, shares) => {
                (self.generated(spec, shares, operations), Format::JsonLines)
            }
        };
        let file = File::create(path).unwrap_or_else(|error| panic!("{error}"));
        let mut out = BufWriter::new(file);
        write(&history, format, &mut out).unwrap_or_else(|error| panic!("{error}"));
        out.flush().unwrap_or_else(|error| panic!("{error}"));
    }

    fn generated(&self, spec: &str, shares: &[(&str, f64)], operations: u64) -> History {
        let choice = SpecChoice::parse(spec).unwrap_or_else(|error| panic!("{error}"));
        let profile = Profile {
            operations,
            threads: self.threads as u32,
            overlap: if self.shape == Shape::LowOverlap { 0.1 } else { 1.0 },
            keys: 1 + operations / 100,
            shares: named(shares),
            violation: match self.shape {
                Shape::Violation => Violation::At(operations / 2),
                _ => Violation::None,
            },
            ..Profile::default()
        };
        let generator = SpecGenerator::new(&choice, profile);
        let generator = generator.unwrap_or_else(|error| panic!("{error}"));
        generator.history().unwrap_or_else(|error| panic!("{error}")).history
    }

    /// The cost of each size. The sizes take turns, so that what else the machine does hits all of
    /// them alike.
    fn costs(&self, largest: u32) -> Vec<Cost> {
        let files: Vec<Scratch> = (4..=largest).map(|power| Scratch::of(self, power)).collect();
        let mut costs: Vec<Vec<Cost>> = vec![Vec::new(); files.len()];
        for round in 0..runs(4) {
            for (power, (file, costs)) in (4..).zip(files.iter().zip(&mut costs)) {
                if round < runs(power) {
                    costs.push(measure::run(&file.0));
                }
            }
        }
        costs.into_iter().map(measure::median).collect()
    }
}

/// How often a history of a size is checked.
fn runs(power: u32) -> usize {
    [11, 11, 7, 3][(power.clamp(4, 7) - 4) as usize]
}

fn table(object: Object, name: &str, largest: u32) {
    head(name, largest);
    let mut uniform = None;
    for threads in [8, 16] {
        for (shape, shape_name) in object.shapes() {
            let costs = Row { object, shape, threads }.costs(largest);
            print_row(&format!("{shape_name}, {threads} threads"), &costs);
            if let (Shape::Uniform, 8, Some(cost)) = (shape, threads, costs.get(2)) {
                uniform = Some(cost.clone());
            }
        }
    }
    let Object::Container(kind) = object else { return };
    let peer = POLYLIN.iter().find(|(peer, ..)| *peer == kind);
    if let (Some(cost), Some((_, seconds, memory))) = (uniform, peer) {
        println!(
            "\nPolyLin needs {seconds} s, {memory} MB for 10^6 (uniform, 8 threads): {:.1} × the time, {:.1} × the memory.",
            seconds / cost.whole,
            memory / cost.peak
        );
    }
}

/// Writes the history of one cell of a table, for a profiler.
fn make(arguments: [&str; 5]) {
    let [object, shape, threads, power, path] = arguments;
    let object = Object::all().find(|(_, name)| name.starts_with(object));
    let shape = Shape::ALL.into_iter().find(|(_, name)| name.starts_with(shape));
    let numbers = (threads.parse(), power.parse());
    match (object, shape, numbers) {
        (Some((object, _)), Some((shape, _)), (Ok(threads), Ok(power))) => {
            Row { object, shape, threads }.write(power, Path::new(path));
        }
        _ => panic!("expected: make OBJECT SHAPE THREADS POWER FILE"),
    }
}

fn named(shares: &[(&str, f64)]) -> Vec<(String, f64)> {
    shares.iter().map(|&(name, share)| (name.to_owned(), share)).collect()
}

fn head(name: &str, largest: u32) {
    let sizes: String = (4..=largest).map(|power| format!(" 10^{power} |")).collect();
    println!("\n| {name} |{sizes} growth, with reading | without |");
    println!("| --- |{} --- | --- |", " --- |".repeat(largest as usize - 3));
}

fn print_row(name: &str, costs: &[Cost]) {
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

/// An object that is watched.
struct Stream {
    name: &'static str,
    spec: &'static str,
    shares: &'static [(&'static str, f64)],
}

const STREAMS: [Stream; 3] = [
    // A little more is taken out than put in, so that it does not grow for ever.
    Stream {
        name: "queue",
        spec: "queue",
        shares: &[("enqueue", 1.0), ("dequeue", 1.05), ("front", 0.1)],
    },
    Stream { name: "queue that grows", spec: "queue", shares: &[] },
    Stream { name: "set", spec: "set", shares: &[] },
];

/// Events that are generated and watched at once.
fn online(Stream { name, spec, shares }: Stream, largest: u32) {
    let choice = SpecChoice::parse(spec).unwrap_or_else(|error| panic!("{error}"));
    for power in [6, largest] {
        let profile = Profile {
            operations: 10u64.pow(power) / 2,
            threads: 8,
            keys: 1000,
            shares: named(shares),
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
            "{name}: 10^{power} events, {whole:.2} CPU s, {rate:.2} million a second, {peak:.1} MB, {word}"
        );
    }
}
