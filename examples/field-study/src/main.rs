//! Linearizability tests of concurrent objects that people use, and a table of what they found.
//!
//! ```text
//! cargo run --release -- run --seconds 6          every study that results.tsv does not have yet
//! cargo run --release -- run --only moka --again  those whose crate or object contains it, once more
//! cargo run --release -- known --rounds 10        how soon the known violations are found again
//! cargo run --release -- compare --rounds 5       how often each kind of stress finds them, a table
//! cargo run --release -- controls --seconds 60    objects that are right, none of which may fail; on top of
//!                                                 controls.tsv, with --executions N until there are so many,
//!                                                 --at-once N of them side by side
//! cargo run --release -- table                    the table of docs/field-study.md, from results.tsv
//! ```
//!
//! Each study runs in a process of its own, so that a crate that aborts does not end the others.
//! What was found is in `results.tsv`, a line a study, with the version of the crate; a campaign
//! that was interrupted goes on where it was.

mod cells;
mod channels;
mod known;
mod maps;
mod models;
mod queues;
mod results;
mod rings;
mod tables;

use results::{Outcome, Result, Results, Subject};
use std::process::{Command, ExitCode};
use std::time::Duration;

/// A study: a crate, an object of it, its operations, and the test.
pub struct Study {
    krate: &'static str,
    object: &'static str,
    operations: &'static str,
    run: fn(Duration) -> models::Outcome,
}

/// Declares a study.
const fn study(
    krate: &'static str,
    object: &'static str,
    operations: &'static str,
    run: fn(Duration) -> models::Outcome,
) -> Study {
    Study { krate, object, operations, run }
}

/// All of them, those that look for known violations included.
fn studies() -> impl Iterator<Item = &'static Study> {
    let parts: [&'static [Study]; 7] = [
        queues::STUDIES,
        rings::STUDIES,
        channels::STUDIES,
        maps::STUDIES,
        tables::STUDIES,
        cells::STUDIES,
        known::VIOLATIONS,
    ];
    parts.into_iter().flatten()
}

const USAGE: &str = "usage: run | known | compare | controls | table, with --seconds N --only TEXT --rounds N \
                     --executions N --at-once N --again";

/// The kinds of stress, as `SERIATIM_PRESSURE` names them.
const PRESSURES: [&str; 6] = ["none", "pauses", "pinned", "crowded", "busy", "interrupted"];

/// What is asked for.
struct Asked {
    command: String,
    seconds: f64,
    only: String,
    rounds: u32,
    executions: u64,
    at_once: usize,
    again: bool,
}

impl Asked {
    fn read(mut words: impl Iterator<Item = String>) -> Option<Self> {
        let command = words.next().unwrap_or_else(|| "run".to_owned());
        let mut asked = Asked {
            command,
            seconds: 6.0,
            only: String::new(),
            rounds: 1,
            executions: 0,
            at_once: 1,
            again: false,
        };
        while let Some(word) = words.next() {
            match word.as_str() {
                "--seconds" => asked.seconds = words.next()?.parse().ok()?,
                "--only" => asked.only = words.next()?,
                "--rounds" => asked.rounds = words.next()?.parse().ok()?,
                "--executions" => asked.executions = words.next()?.parse().ok()?,
                "--at-once" => asked.at_once = words.next()?.parse().ok().filter(|&n| n > 0)?,
                "--again" => asked.again = true,
                _ => return None,
            }
        }
        Some(asked)
    }

    fn wants(&self, study: &Study) -> bool {
        study.krate.contains(&self.only) || study.object.contains(&self.only)
    }
}

fn main() -> ExitCode {
    let Some(asked) = Asked::read(std::env::args().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match asked.command.as_str() {
        "run" => run(&asked),
        "known" => known(&asked),
        "compare" => compare(&asked),
        "controls" => return controls(&asked),
        "table" => Results::read(results::STUDIES).write_table(),
        "one" => one(&asked),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

/// Runs what has no result yet.
fn run(asked: &Asked) {
    let mut results = Results::read(results::STUDIES);
    for study in studies().filter(|study| asked.wants(study)) {
        let subject = study.subject();
        if asked.again || !results.has(&subject) {
            let result = study.in_process_of_its_own(asked.seconds);
            println!("{result}");
            results.put(result);
        }
    }
}

/// Looks for every known violation again and again.
fn known(asked: &Asked) {
    println!("| crate | object | found | median | calls, median and most |");
    println!("| --- | --- | --- | --- | --- |");
    for study in known::VIOLATIONS.iter().filter(|study| asked.wants(study)) {
        let rounds = (0..asked.rounds).map(|_| study.in_process_of_its_own(asked.seconds));
        let found: Vec<(f64, usize)> = rounds.filter_map(|result| result.found()).collect();
        let seconds = middle(found.iter().map(|(seconds, _)| *seconds).collect());
        let calls = middle(found.iter().map(|(_, calls)| *calls as f64).collect());
        let most = found.iter().map(|(_, calls)| *calls).max().unwrap_or(0);
        let (krate, object, count, rounds) = (study.krate, study.object, found.len(), asked.rounds);
        println!("| {krate} | {object} | {count} of {rounds} | {seconds:.1} s | {calls}, {most} |");
    }
}

fn middle(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Looks for every known violation with every kind of stress. Those of a round run side by side, so
/// that whatever else the machine does meets all of them alike.
fn compare(asked: &Asked) {
    println!("| crate | object | {} |", PRESSURES.map(|name| format!("`{name}`")).join(" | "));
    println!("| --- | --- |{}", " --- |".repeat(PRESSURES.len()));
    let mut sums = [0; PRESSURES.len()];
    let mut tried = 0;
    for study in known::VIOLATIONS.iter().filter(|study| asked.wants(study)) {
        let mut times = [const { Vec::new() }; PRESSURES.len()];
        for _ in 0..asked.rounds {
            let found = std::thread::scope(|scope| {
                let runs = PRESSURES.map(|pressure| {
                    scope.spawn(move || study.in_a_process(asked.seconds, Some(pressure)).found())
                });
                runs.map(|run| run.join().expect("a study ends"))
            });
            times.iter_mut().zip(found).for_each(|(times, found)| {
                times.extend(found.map(|(seconds, _)| seconds));
            });
        }
        tried += asked.rounds;
        sums.iter_mut().zip(&times).for_each(|(sum, times)| *sum += times.len());
        let cells = times.map(|times| match times.len() {
            0 => "0".to_owned(),
            count => format!("{count}, {:.1} s", middle(times)),
        });
        println!("| {} | {} | {} |", study.krate, study.object, cells.join(" | "));
    }
    println!("| all | of {tried} each | {} |", sums.map(|sum| sum.to_string()).join(" | "));
}

/// Runs the controls, none of which may fail.
fn controls(asked: &Asked) -> ExitCode {
    let mut results = Results::read(results::CONTROLS);
    loop {
        let mut wanted: Vec<&Study> =
            known::CONTROLS.iter().filter(|study| asked.wants(study)).collect();
        // Those that were run least come first, so that an interruption does no harm.
        wanted.sort_by_key(|study| results.executions_of(&study.subject()));
        for studies in wanted.chunks(asked.at_once) {
            let done: Vec<Result> = std::thread::scope(|scope| {
                let run = |study: &'static Study| {
                    scope.spawn(move || study.in_process_of_its_own(asked.seconds))
                };
                let runs: Vec<_> = studies.iter().map(|study| run(study)).collect();
                runs.into_iter().map(|run| run.join().expect("a study ends")).collect()
            });
            for result in done {
                println!("{result}");
                results.add(result);
            }
        }
        if results.failed() || results.executions() >= asked.executions {
            break;
        }
    }
    let (executions, failed) = (results.executions(), results.failed());
    println!("{executions} executions, {}", if failed { "FAILED" } else { "no failure" });
    ExitCode::from(u8::from(failed))
}

/// What the process of one study does: `--only` is the place of the study among all.
fn one(asked: &Asked) {
    let place: usize = asked.only.parse().expect("the place of a study");
    let study = studies().chain(known::CONTROLS).nth(place).expect("there are that many");
    let outcome = Outcome::of((study.run)(Duration::from_secs_f64(asked.seconds)));
    if let Some(report) = outcome.report() {
        eprintln!("\n## {} {}\n{report}", study.krate, study.object);
    }
    println!("{}", outcome.line());
}

impl Study {
    fn subject(&self) -> Subject {
        Subject::of(self.krate, self.object, self.operations)
    }

    fn in_process_of_its_own(&self, seconds: f64) -> Result {
        self.in_a_process(seconds, None)
    }

    /// The same under a kind of stress.
    fn in_a_process(&self, seconds: f64, pressure: Option<&str>) -> Result {
        let mut all = studies().chain(known::CONTROLS);
        let place = all.position(|other| std::ptr::eq(other, self)).expect("it is one of them");
        let program = std::env::current_exe().expect("the program knows itself");
        let output = Command::new(program)
            .args(["one", "--only", &place.to_string(), "--seconds", &seconds.to_string()])
            .envs(pressure.map(|pressure| ("SERIATIM_PRESSURE", pressure)))
            .stderr(std::process::Stdio::inherit())
            .output()
            .expect("the system starts processes");
        let text = String::from_utf8_lossy(&output.stdout);
        let outcome = text.lines().last().and_then(Outcome::from_line);
        let outcome = outcome.unwrap_or_else(|| Outcome::crash(&output.status.to_string()));
        Result { subject: self.subject(), seconds, outcome }
    }
}
