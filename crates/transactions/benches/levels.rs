//! How long each level takes on long histories of a made-up store, and what a violation costs.
//!
//! `cargo bench -p seriatim-transactions` prints CPU seconds; `-- NAME` picks rows by a part of
//! their name, `-- FILE` measures a file instead, reading and memory included.

use seriatim_transactions::generate::{Keys, Plant, Store};
use seriatim_transactions::{Checker, Level, Options, Standing, Transactions};
use std::path::Path;

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let files: Vec<String> =
        wanted.iter().filter(|name| Path::new(name).is_file()).cloned().collect();
    for file in &files {
        let start = cpu();
        let history = seriatim_transactions::read(Path::new(file)).expect("a history");
        println!("{file}: read in {:.3}", cpu() - start);
        measure(file, &history);
        println!("  {} MB at most", memory() / 1024);
    }
    if !files.is_empty() {
        return;
    }
    for (name, store) in rows() {
        if wanted.is_empty() || wanted.iter().any(|part| name.contains(part.as_str())) {
            measure(&name, &store.run());
        }
    }
    for (name, store) in rows_without_times() {
        if wanted.is_empty() || wanted.iter().any(|part| name.contains(part.as_str())) {
            measure(&name, &store.run().without_times());
        }
    }
}

/// Many clients that share few keys: little says what came first.
fn rows_without_times() -> Vec<(String, Store)> {
    let base = Store { clients: 1000, keys: 1000, ..Store::default() };
    let rows = [
        (20_000, 200),
        (5_000, 1000),
        (10_000, 1000),
        (20_000, 1000),
        (40_000, 1000),
        (100_000, 1000),
    ];
    let row = |(transactions, clients)| {
        let name = format!("untimed {}k/{clients}/1000", transactions / 1000);
        (name, Store { transactions, clients, ..base })
    };
    rows.into_iter().map(row).collect()
}

fn rows() -> Vec<(String, Store)> {
    let base = Store { clients: 50, transactions: 100_000, ..Store::default() };
    let mut rows = vec![
        ("5k/20/100".into(), Store { clients: 20, transactions: 5_000, keys: 100, ..base }),
        ("100k/10/10".into(), Store { clients: 10, ..base }),
        ("100k/50/10".into(), base),
        ("100k/50/100 8 ops".into(), Store { keys: 100, operations: 8, ..base }),
        ("100k/50/1000".into(), Store { keys: 1000, ..base }),
        ("100k/50/10 8 ops 90% writes".into(), Store { operations: 8, writes: 0.9, ..base }),
        ("100k/50/10 10% unknown".into(), Store { unknown: 0.1, ..base }),
        ("50k/200/10".into(), Store { clients: 200, transactions: 50_000, ..base }),
        (
            "lists 50k/50/2000".into(),
            Store { transactions: 50_000, keys: 2000, kind: Keys::Lists, ..base },
        ),
        (
            "counters 20k/10/10".into(),
            Store { clients: 10, transactions: 20_000, kind: Keys::Counters, ..base },
        ),
        (
            "20k/20/100 stale readers".into(),
            Store {
                clients: 20,
                transactions: 20_000,
                keys: 100,
                plant: Plant::StaleReaders,
                ..base
            },
        ),
        (
            "20k/20/100 snapshots".into(),
            Store { clients: 20, transactions: 20_000, keys: 100, plant: Plant::Snapshots, ..base },
        ),
    ];
    for transactions in [62_500, 125_000, 250_000, 500_000, 1_000_000] {
        let store = Store { clients: 20, transactions, keys: 100, ..base };
        rows.push((format!("growth {transactions}/20/100"), store));
    }
    for plant in Plant::ONE {
        for seed in 1..=3 {
            let name = format!("planted 100k/50/10 {plant:?} {seed}");
            rows.push((name, Store { plant, seed, ..base }));
        }
    }
    rows
}

fn measure(name: &str, history: &Transactions) {
    let start = cpu();
    let mut checker = Checker::new(history, &Options::default());
    println!("{name}: {} transactions, prepared in {:.3}", history.len(), cpu() - start);
    for level in Level::ALL {
        let start = cpu();
        let answer = checker.check(level).expect("no defect");
        let time = cpu() - start;
        let s = answer.statistics;
        let text = match answer.standing {
            Standing::Satisfied(_) => "yes".to_owned(),
            Standing::Unknown(why) => format!("unknown {why:?}"),
            Standing::Violated(violation) => {
                let core = violation.part.ids.len();
                let anomaly = violation.explanation.anomaly;
                let needed = violation.part.needed.map_or(String::new(), |needed| {
                    format!(" ({} of {} needed)", needed.at_least, needed.among)
                });
                let verdict = verdict_alone(&checker, level);
                let confirmed = violation.confirmation;
                format!("NO in {verdict:.3}, {anomaly}, {core} transactions{needed}, {confirmed:?}")
            }
        };
        println!(
            "  {:34} {time:7.3}  {text}  variables {} forced {} decisions {} conflicts {}",
            level.name(),
            s.variables,
            s.forced,
            s.decisions,
            s.conflicts
        );
    }
}

/// How long a level takes without evidence.
fn verdict_alone(checker: &Checker<'_>, level: Level) -> f64 {
    let start = cpu();
    checker.unconfirmed(level).expect("no defect");
    cpu() - start
}

/// CPU seconds of this process.
fn cpu() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let nanoseconds = text.split(' ').next().and_then(|number| number.parse::<f64>().ok());
    nanoseconds.unwrap_or(0.0) / 1e9
}

/// The most memory that this process has had, in KB.
fn memory() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("VmHWM:"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).unwrap_or(0)
}
