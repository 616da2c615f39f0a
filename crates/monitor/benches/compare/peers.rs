//! The table of all rows, with every peer that is there.

use crate::library;
use crate::rows::{Row, Task, folder, rows};
use crate::run::{Cost, median, run};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The variables that may name a peer's command.
const PEERS: [&str; 7] = [
    "PORCUPINE_CLI",
    "PORCUPINE_RUST_CLI",
    "KNOSSOS_CLI",
    "POLYLIN_CLI",
    "LIMO_CLI",
    "FPTLIN_CLI",
    "AHORN_CLI",
];

/// What a program made of a row: medians of its runs.
struct Result {
    verdict: String,
    seconds: f64,
    peak: f64,
    /// How many times sooner it is with a second thread, where that is asked.
    speedup: Option<f64>,
}

/// Measures the rows whose names contain a text: a table in Markdown, printed line by line.
pub fn table(command: &Path, wanted: &str) -> String {
    let peers: Vec<(&str, PathBuf)> = PEERS
        .iter()
        .filter_map(|&name| std::env::var_os(name).map(|path| (name, PathBuf::from(path))))
        .collect();
    let names: Vec<&str> = peers.iter().map(|(name, _)| name.trim_end_matches("_CLI")).collect();
    let mut table = String::new();
    let mut print = |line: String| {
        println!("{line}");
        table += &line;
        table += "\n";
    };
    let head = names.iter().map(|name| format!(" {name}: CPU s | MB | times ours |"));
    let head: String = head.collect();
    let columns = "| row | history | `seriatim gen` | by | verdict | before | goal | now | MB |";
    print(format!("{columns}{head}"));
    let lines = " ---: |".repeat(2 + 3 * peers.len());
    print(format!("| --- | --- | --- | --- | --- | --- | --- |{lines}"));
    library::measured(wanted, peers.len()).into_iter().for_each(&mut print);
    let folder = folder();
    for row in rows().iter().filter(|row| row.name.contains(wanted)) {
        let Some(file) = row.make(command, &folder) else { continue };
        let (ours, theirs) = measure(command, &peers, row, &file);
        row.unmake(&file);
        print(line(row, &ours, &theirs));
    }
    let _ = std::fs::remove_dir(folder);
    table
}

fn line(row: &Row, ours: &Result, theirs: &[Option<Result>]) -> String {
    let (origin, by) = (row.origin(), row.task.words());
    let Row { number, name, before, goal, .. } = row;
    let now = match ours.speedup {
        Some(speedup) => format!("{speedup:.2} ×"),
        None => format!("{:.4} s", ours.seconds),
    };
    let mut line = format!("| {number} | {name} | {origin} | {by} | {} |", ours.verdict);
    line += &format!(" {before} | {goal} | {now} | {:.0} |", ours.peak);
    for theirs in theirs {
        line += &match theirs {
            Some(theirs) if theirs.verdict == ours.verdict => {
                let times = theirs.seconds / ours.seconds;
                format!(" {:.4} | {:.0} | {times:.1} |", theirs.seconds, theirs.peak)
            }
            Some(theirs) => format!(" says {} | | |", theirs.verdict),
            None => " cannot | | |".to_owned(),
        };
    }
    line
}

/// All programs on one row, in turns.
fn measure(
    command: &Path,
    peers: &[(&str, PathBuf)],
    row: &Row,
    file: &Path,
) -> (Result, Vec<Option<Result>>) {
    let is_parallel = matches!(row.task, Task::TwoThreads | Task::FourFiles);
    let ask = |threads| {
        let mut ask = row.task.command(command, row.spec, file, threads);
        run(&mut ask).expect("the command runs")
    };
    let (mut ours, mut together) = (Vec::new(), Vec::new());
    let mut theirs: Vec<Vec<Cost>> = peers.iter().map(|_| Vec::new()).collect();
    for _ in 0..row.runs {
        ours.push(ask(1));
        together.extend(is_parallel.then(|| ask(2)));
        for ((_, peer), costs) in peers.iter().zip(&mut theirs) {
            costs.extend(run(Command::new(peer).arg(row.spec).arg(file)));
        }
    }
    let verdict = match ours[0].code {
        Some(0) => "linearizable",
        Some(1) => "violation",
        Some(3) => "unknown",
        _ => "error",
    };
    let wall = |costs: &[Cost]| median(costs.iter().map(|cost| cost.wall).collect());
    let ours = Result {
        verdict: verdict.to_owned(),
        seconds: median(ours.iter().map(|cost| cost.seconds).collect()),
        peak: median(ours.iter().map(|cost| cost.peak).collect()),
        speedup: is_parallel.then(|| wall(&ours) / wall(&together)),
    };
    (ours, theirs.iter().map(|costs| answer(costs)).collect())
}

/// What a peer answered: a verdict and CPU seconds on one line.
fn answer(costs: &[Cost]) -> Option<Result> {
    let parsed = costs.iter().map(|cost| {
        let mut words = cost.output.split_whitespace();
        Some((words.next()?.to_owned(), words.next()?.parse::<f64>().ok()?, cost.peak))
    });
    let parsed: Vec<(String, f64, f64)> = parsed.collect::<Option<_>>()?;
    let verdict = parsed.first()?.0.clone();
    let seconds = median(parsed.iter().map(|answer| answer.1).collect());
    let peak = median(parsed.iter().map(|answer| answer.2).collect());
    Some(Result { verdict, seconds, peak, speedup: None })
}
