//! The table of all rows, with every peer that is there.

use crate::library;
use crate::rows::{Row, Task, folder, rows};
use crate::run::{Cost, median, run};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The variables that may name a peer's command, and the format in which it gets histories.
const PEERS: [(&str, &str); 7] = [
    ("PORCUPINE_CLI", "jsonl"),
    ("PORCUPINE_RUST_CLI", "jsonl"),
    ("KNOSSOS_CLI", "jsonl"),
    ("POLYLIN_CLI", "polylin"),
    ("LIMO_CLI", "limo"),
    ("FPTLIN_CLI", "fptlin"),
    ("AHORN_CLI", "ahorn"),
];

/// A peer that is there.
struct Peer {
    name: &'static str,
    format: &'static str,
    command: PathBuf,
}

/// What a program made of a row: medians of its runs.
struct Result {
    verdict: String,
    /// CPU seconds of the whole process.
    seconds: f64,
    peak: f64,
    /// CPU seconds of the check alone, where it can be told.
    check: Option<f64>,
    /// How many times sooner it is with a second thread, where that is asked.
    speedup: Option<f64>,
}

/// How long the histories are that are measured.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Lengths {
    All,
    /// Less than a million operations: minutes instead of an hour with peers.
    Short,
}

impl Lengths {
    fn hold(self, row: &Row) -> bool {
        self == Lengths::All || row.operations().is_none_or(|count| count < 1_000_000)
    }
}

/// How many times our seconds the peers took, row by row.
#[derive(Default)]
struct Times {
    process: Vec<f64>,
    check: Vec<f64>,
}

/// The peers that are there.
fn peers() -> Vec<Peer> {
    let there = |&(variable, format): &(&'static str, &'static str)| {
        let command = PathBuf::from(std::env::var_os(variable)?);
        Some(Peer { name: variable.trim_end_matches("_CLI"), format, command })
    };
    PEERS.iter().filter_map(there).collect()
}

/// Which rows are measured.
pub struct Wanted<'w> {
    /// Their names contain this.
    pub name: &'w str,
    pub lengths: Lengths,
    /// Their places in the table, those of the library before the first.
    pub places: std::ops::Range<usize>,
}

impl Wanted<'_> {
    /// The rows of some lengths.
    pub fn all(lengths: Lengths) -> Self {
        Wanted { name: "", lengths, places: 0..usize::MAX }
    }
}

/// Measures rows: a table in Markdown, printed line by line.
pub fn table(command: &Path, wanted: &Wanted<'_>) -> String {
    let peers = peers();
    let names: Vec<&str> = peers.iter().map(|peer| peer.name).collect();
    let mut table = String::new();
    let mut print = |line: String| {
        println!("{line}");
        table += &line;
        table += "\n";
    };
    print(head(&names));
    let mut times: Vec<Times> = peers.iter().map(|_| Times::default()).collect();
    measure_rows(command, wanted, &peers, |line, of_row| {
        print(line);
        times.iter_mut().zip(of_row).for_each(|(all, of_row)| all.extend(of_row));
    });
    names
        .iter()
        .zip(&times)
        .for_each(|(name, times)| print(format!("\n{name}, {}.", times.words())));
    table
}

/// Measures some rows and prints what [`joined`] makes a table of: for a machine that is quiet for
/// minutes, and not for an hour.
pub fn piece(command: &Path, wanted: &Wanted<'_>) {
    let peers = peers();
    let names: Vec<&str> = peers.iter().map(|peer| peer.name).collect();
    println!("peers\t{}", names.join("\t"));
    measure_rows(command, wanted, &peers, |line, times| {
        println!("{line}");
        for (name, times) in names.iter().zip(times) {
            let numbers = |times: &[f64]| times.iter().map(f64::to_string).collect::<Vec<_>>();
            let (process, check) = (numbers(&times.process), numbers(&times.check));
            println!("times\t{name}\t{}\t{}", process.join(" "), check.join(" "));
        }
    });
}

/// The table of pieces that were measured with the same peers.
pub fn joined(pieces: &[String]) -> String {
    let lines: Vec<&str> = pieces.iter().flat_map(|piece| piece.lines()).collect();
    let names = lines.iter().find_map(|line| line.strip_prefix("peers\t")).unwrap_or_default();
    let names: Vec<&str> = names.split('\t').filter(|name| !name.is_empty()).collect();
    let mut table = head(&names) + "\n";
    for line in lines.iter().filter(|line| line.starts_with('|')) {
        table += &format!("{line}\n");
    }
    for name in names {
        let mut times = Times::default();
        for line in &lines {
            if let ["times", of, process, check] = line.split('\t').collect::<Vec<_>>()[..]
                && of == name
            {
                let numbers = |text: &str| text.split(' ').filter_map(|n| n.parse().ok()).collect();
                times.extend(Times { process: numbers(process), check: numbers(check) });
            }
        }
        table += &format!("\n{name}, {}.\n", times.words());
    }
    table
}

/// The head of the table.
fn head(peers: &[&str]) -> String {
    let columns = "| row | history | `seriatim gen` | by | verdict | before | goal | now | MB | check alone |";
    let theirs = |name: &&str| format!(" {name}: CPU s | MB | times | check alone | times |");
    let theirs: String = peers.iter().map(theirs).collect();
    let lines = " ---: |".repeat(3 + 5 * peers.len());
    format!("{columns}{theirs}\n| --- | --- | --- | --- | --- | --- | --- |{lines}")
}

/// Measures rows and tells of each its line, and how many times ours the peers took.
fn measure_rows(
    command: &Path,
    wanted: &Wanted<'_>,
    peers: &[Peer],
    mut tell: impl FnMut(String, Vec<Times>),
) {
    let Wanted { name, lengths, ref places } = *wanted;
    if places.start == 0 {
        let lines = library::measured(name, peers.len());
        lines.into_iter().for_each(|line| tell(line, Vec::new()));
    }
    let folder = folder();
    for (_, row) in rows().iter().enumerate().filter(|(place, row)| {
        places.contains(place) && row.name.contains(name) && lengths.hold(row)
    }) {
        let Some(file) = row.make(command, &folder) else { continue };
        let (ours, theirs) = measure(command, peers, row, &file);
        row.unmake(&file);
        let mut times: Vec<Times> = peers.iter().map(|_| Times::default()).collect();
        let line = line(row, &ours, &theirs, &mut times);
        tell(line, times);
    }
    let _ = std::fs::remove_dir(folder);
}

impl Times {
    fn extend(&mut self, more: Times) {
        self.process.extend(more.process);
        self.check.extend(more.check);
    }

    fn words(&self) -> String {
        let said = |name: &str, times: &[f64]| {
            let least = times.iter().copied().fold(f64::INFINITY, f64::min);
            let (rows, middle) = (times.len(), median(times.to_vec()));
            match rows {
                0 => format!("{name}: on no row"),
                _ => format!(
                    "{name}: on {rows} rows at least {least:.1} times ours, median {middle:.1}"
                ),
            }
        };
        let (process, check) = (&self.process, &self.check);
        format!("{}; {}", said("whole processes", process), said("checks alone", check))
    }
}

fn line(row: &Row, ours: &Result, theirs: &[Option<Result>], times: &mut [Times]) -> String {
    let (origin, by) = (row.origin(), row.task.words());
    let Row { number, name, before, goal, .. } = row;
    let now = match ours.speedup {
        Some(speedup) => format!("{speedup:.2} ×"),
        None => format!("{:.4} s", ours.seconds),
    };
    let shown = |check: Option<f64>| check.map_or(String::new(), |check| format!("{check:.4}"));
    let mut line = format!("| {number} | {name} | {origin} | {by} | {} |", ours.verdict);
    line += &format!(" {before} | {goal} | {now} | {:.0} | {} |", ours.peak, shown(ours.check));
    for (theirs, times) in theirs.iter().zip(times) {
        line += &match theirs {
            Some(theirs) if theirs.verdict == ours.verdict => {
                let process = theirs.seconds / ours.seconds;
                let check = theirs.check.zip(ours.check).map(|(theirs, ours)| theirs / ours);
                times.process.push(process);
                times.check.extend(check);
                let check = check.map_or(String::new(), |check| format!("{check:.1}"));
                let (seconds, peak, alone) = (theirs.seconds, theirs.peak, shown(theirs.check));
                format!(" {seconds:.4} | {peak:.0} | {process:.1} | {alone} | {check} |")
            }
            Some(theirs) => format!(" says {} | | | | |", theirs.verdict),
            None => " cannot | | | | |".to_owned(),
        };
    }
    line
}

/// All programs on one row, in turns.
fn measure(
    command: &Path,
    peers: &[Peer],
    row: &Row,
    file: &Path,
) -> (Result, Vec<Option<Result>>) {
    let is_parallel = matches!(row.task, Task::TwoThreads | Task::FourFiles);
    let ask = |threads| {
        let mut ask = row.task.command(command, row.spec, file, threads);
        run(&mut ask).expect("the command runs")
    };
    // A peer does not do what these rows ask for.
    let is_for_peers = !is_parallel && row.task != Task::Watch;
    let files: Vec<Option<PathBuf>> = peers
        .iter()
        .map(|peer| row.make_for(command, file, peer.format).filter(|_| is_for_peers))
        .collect();
    let (mut ours, mut together) = (Vec::new(), Vec::new());
    let mut theirs: Vec<Vec<Cost>> = peers.iter().map(|_| Vec::new()).collect();
    for _ in 0..row.runs {
        ours.push(ask(1));
        together.extend(is_parallel.then(|| ask(2)));
        for ((peer, file), costs) in peers.iter().zip(&files).zip(&mut theirs) {
            // Who has given up once is not asked again.
            let is_decided = |cost: &Cost| answer(cost).is_some_and(|(word, _)| word != "unknown");
            if let Some(file) = file.as_ref().filter(|_| costs.iter().all(is_decided)) {
                costs.extend(run(Command::new(&peer.command).arg(row.spec).arg(file)));
            }
        }
    }
    files.iter().flatten().filter(|other| **other != file).for_each(|other| row.unmake(other));
    let verdict = match ours[0].code {
        Some(0) => "linearizable",
        Some(1) => "violation",
        Some(3) => "unknown",
        _ => "error",
    };
    let wall = |costs: &[Cost]| median(costs.iter().map(|cost| cost.wall).collect());
    let speedup = is_parallel.then(|| wall(&ours) / wall(&together));
    let check = check_alone(row, file);
    let ours = Result { check, speedup, ..Result::of(verdict.to_owned(), &ours) };
    (ours, theirs.iter().map(|costs| answers(costs)).collect())
}

/// The CPU seconds of the check without a process around it, where the row measures such a check.
/// They are taken in another process: a child of a large one is counted as large.
fn check_alone(row: &Row, file: &Path) -> Option<f64> {
    let is_check = matches!(row.task, Task::Check | Task::InMemory);
    let mut alone = Command::new(std::env::current_exe().ok().filter(|_| is_check)?);
    alone.args(["alone", row.spec, &row.runs.to_string()]).arg(file);
    run(&mut alone).ok()?.output.trim().parse().ok()
}

impl Result {
    /// What runs cost that said the same.
    fn of(verdict: String, costs: &[Cost]) -> Self {
        let seconds = median(costs.iter().map(|cost| cost.seconds).collect());
        let peak = median(costs.iter().map(|cost| cost.peak).collect());
        Result { verdict, seconds, peak, check: None, speedup: None }
    }
}

/// What a peer answered in one run: a verdict and, if it can tell, CPU seconds on one line.
fn answer(cost: &Cost) -> Option<(&str, Option<f64>)> {
    let mut words = cost.output.split_whitespace();
    let verdict = words.next().filter(|word| VERDICTS.contains(word))?;
    Some((verdict, words.next().and_then(|seconds| seconds.parse().ok())))
}

const VERDICTS: [&str; 3] = ["linearizable", "violation", "unknown"];

/// What a peer answered in all its runs.
fn answers(costs: &[Cost]) -> Option<Result> {
    let parsed: Vec<(&str, Option<f64>)> = costs.iter().map(answer).collect::<Option<_>>()?;
    let verdict = parsed.first()?.0.to_owned();
    let seconds: Option<Vec<f64>> = parsed.iter().map(|answer| answer.1).collect();
    Some(Result { check: seconds.map(median), ..Result::of(verdict, costs) })
}
