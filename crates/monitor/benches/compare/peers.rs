//! The table of all rows, with every peer that is there.

use crate::rows::{ROWS, Row, folder};
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
}

/// Measures the rows whose names contain a text, and prints them.
pub fn table(command: &Path, wanted: &str) {
    let peers: Vec<(&str, PathBuf)> = PEERS
        .iter()
        .filter_map(|&name| std::env::var_os(name).map(|path| (name, PathBuf::from(path))))
        .collect();
    let names: Vec<&str> = peers.iter().map(|(name, _)| name.trim_end_matches("_CLI")).collect();
    print!("| history | `seriatim gen` | by | verdict | before | goal | now: CPU s | MB |");
    names.iter().for_each(|name| print!(" {name}: CPU s | MB | times ours |"));
    print!("\n| --- | --- | --- | --- | --- | --- | ---: | ---: |");
    names.iter().for_each(|_| print!(" ---: | ---: | ---: |"));
    println!();
    let folder = folder();
    for row in ROWS.iter().filter(|row| row.name.contains(wanted)) {
        let file = row.make(command, &folder);
        let (ours, theirs) = measure(command, &peers, row, &file);
        print!("| {} | `{} {}` | {} |", row.name, row.spec, row.generate, row.task.words());
        print!(" {} | {} | {} |", ours.verdict, row.before, row.goal);
        print!(" {:.4} | {:.0} |", ours.seconds, ours.peak);
        for theirs in theirs {
            match theirs {
                Some(theirs) if theirs.verdict == ours.verdict => {
                    let times = theirs.seconds / ours.seconds;
                    print!(" {:.4} | {:.0} | {times:.1} |", theirs.seconds, theirs.peak);
                }
                Some(theirs) => print!(" says {} | | |", theirs.verdict),
                None => print!(" cannot | | |"),
            }
        }
        println!();
        let _ = std::fs::remove_file(file);
    }
    let _ = std::fs::remove_dir(folder);
}

/// All programs on one row, in turns.
fn measure(
    command: &Path,
    peers: &[(&str, PathBuf)],
    row: &Row,
    file: &Path,
) -> (Result, Vec<Option<Result>>) {
    let mut ours = Vec::new();
    let mut theirs: Vec<Vec<Cost>> = peers.iter().map(|_| Vec::new()).collect();
    for _ in 0..row.runs {
        let mut ask = row.task.command(command, row.spec, file);
        ours.push(run(&mut ask).expect("the command runs"));
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
    let seconds = median(ours.iter().map(|cost| cost.seconds).collect());
    let peak = median(ours.iter().map(|cost| cost.peak).collect());
    let ours = Result { verdict: verdict.to_owned(), seconds, peak };
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
    Some(Result { verdict, seconds, peak })
}
