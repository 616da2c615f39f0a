//! How fast states are made: states a second, and instructions for each state, of fixed models.
//!
//! `cargo bench -p seriatim-explore --bench states` prints all rows, those whose name contains the
//! argument alone. `-- instructions` compares the instructions with those in `states.tsv` and ends
//! with 1 if a row costs a twentieth more; `-- instructions --bless` writes them down. Nothing but
//! the search is measured: no second opinion, one worker.

use seriatim_explore::{MemoryModel, Options, Outcome, SecondOpinion, Synchronise, Verdict, run};
use seriatim_testing::{
    Counts, algorithm, bless_counts, can_count, compare_counts, cpu_seconds, instructions,
};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/states/states.tsv");

/// What a child process is told, before the name of its row.
const ONE: &str = "--only-explore";

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words.as_slice() {
        [ONE, name] => {
            let row = rows().into_iter().find(|row| row.name() == *name).expect("a row");
            row.explore();
        }
        ["instructions"] => compare_counts(Path::new(FILE), count_all),
        ["instructions", "--bless"] => {
            if let Some(counts) = count_all() {
                bless_counts(Path::new(FILE), &counts);
            }
        }
        _ => show(words.first().unwrap_or(&"")),
    }
}

/// A model: an algorithm of the library and its bounds.
struct Row {
    algorithm: &'static str,
    bounds: &'static str,
    options: Options,
}

const NO_OPINION: SecondOpinion =
    SecondOpinion { percent: 0, least: Duration::ZERO, runs: 0, states: 0 };

/// So many threads on an object with so many nodes and keys, where all see one memory.
fn on_sc(algorithm: &'static str, bounds: &'static str, threads: u32, data: u32) -> Row {
    let (capacity, second_opinion) = (Some(data), NO_OPINION);
    let options = Options { threads, keys: data, capacity, second_opinion, ..Options::default() };
    Row { algorithm, bounds, options }
}

/// So many threads with so many operations each on a weak memory.
fn on_weak(
    algorithm: &'static str,
    bounds: &'static str,
    model: MemoryModel,
    threads: u32,
    operations: u32,
) -> Row {
    let (memory, operations) = (Some(model), Some(operations));
    let second_opinion = NO_OPINION;
    let options =
        Options { threads, values: 1, memory, operations, second_opinion, ..Options::default() };
    Row { algorithm, bounds, options }
}

fn rows() -> Vec<Row> {
    use MemoryModel::{Rc20, Tso};
    let mut hsy = on_sc("hsy_stack", "2 threads, 2 nodes", 2, 2);
    hsy.options.values = 2;
    let mut deque = on_weak("weak/chase_lev", "rc20, 3 threads, 4 operations", Rc20, 3, 4);
    deque.options.client = Some("owner_and_thieves".to_owned());
    let mut any = on_weak("weak/treiber", "rc20, any operations, 3 in sight", Rc20, 2, 1);
    any.options = Options { operations: None, lag: Some(3), nodes: Some(3), ..any.options };
    let mut clients = on_weak("weak/michael_scott", "tso, 2 × 2, any client", Tso, 2, 2);
    clients.options.synchronise = Some(Synchronise::Anything);
    vec![
        on_sc("treiber", "3 threads, 3 nodes", 3, 3),
        on_sc("michael_scott", "3 threads, 3 nodes", 3, 3),
        on_sc("lazy_list", "3 threads, 2 keys", 3, 2),
        on_sc("harris_michael", "2 threads, 2 keys", 2, 2),
        hsy,
        on_weak("weak/treiber", "rc20, 3 × 2", Rc20, 3, 2),
        on_weak("weak/michael_scott", "rc20, 2 × 3", Rc20, 2, 3),
        deque,
        any,
        clients,
    ]
}

impl Row {
    fn name(&self) -> String {
        format!("{}, {}", self.algorithm, self.bounds)
    }

    fn explore(&self) -> Outcome {
        let source = algorithm(self.algorithm);
        let program = seriatim_lang::check(&source).expect("the library is right");
        let outcome = run(&program, &self.options).expect("it can be explored");
        assert!(matches!(outcome.verdict, Verdict::Holds), "{}", self.name());
        outcome
    }

    /// The instructions of a process that does nothing else.
    fn instructions(&self) -> u64 {
        let own = std::env::current_exe().expect("the benchmark has a path");
        instructions(Command::new(own).args([ONE, &self.name()]))
    }
}

fn count_all() -> Option<Counts> {
    can_count().then(|| rows().iter().map(|row| (row.name(), row.instructions())).collect())
}

fn show(wanted: &str) {
    let counts = can_count();
    println!(
        "{:<56} {:>9} {:>8} {:>10} {:>14}",
        "row", "states", "CPU s", "states/s", "instructions"
    );
    println!("{:<56} {:>9} {:>8} {:>10} {:>14}", "", "", "", "", "a state");
    for row in rows().into_iter().filter(|row| row.name().contains(wanted)) {
        let states = row.explore().statistics.kept;
        let (start, mut rounds) = (cpu_seconds(), 0);
        while cpu_seconds() - start < 0.5 {
            row.explore();
            rounds += 1;
        }
        let seconds = (cpu_seconds() - start) / f64::from(rounds);
        let each = match counts {
            true => (row.instructions() / states).to_string(),
            false => "?".to_owned(),
        };
        let rate = states as f64 / seconds;
        println!("{:<56} {states:>9} {seconds:>8.4} {rate:>10.0} {each:>14}", row.name());
    }
}
