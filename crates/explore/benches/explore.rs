//! What explorations cost: states, CPU time of one worker, bytes per state; the gain of each
//! reduction; the growth with threads and with data.
//!
//! Each row is a claim of `docs/performance.md`. `cargo bench -p seriatim-explore` takes some
//! minutes; rows whose name contains the argument are run alone:
//! `cargo bench -p seriatim-explore -- michael_scott`. Rows with a published time (PAT, FM 2009,
//! Table 1) end with how many times less was needed here.

use seriatim_explore::{Limits, Options, Reductions, Statistics, Verdict, run};
use seriatim_testing::cpu_seconds;
use std::collections::BTreeMap;
use std::time::Duration;

fn main() {
    let wanted = std::env::args().skip(1).find(|a| !a.starts_with("--")).unwrap_or_default();
    println!(
        "{:<54} {:>9} {:>10} {:>10} {:>8} {:>7} {:>8} {:>8}",
        "row", "verdict", "states", "sets", "CPU s", "bytes", "PAT, s", "times"
    );
    let mut rows = published();
    rows.extend(growth());
    rows.extend(named());
    rows.extend(gains());
    for row in rows.into_iter().filter(|row| row.name().contains(&wanted)) {
        row.measure();
    }
}

/// A question: an algorithm of the library, bounds, what is switched off.
struct Row {
    algorithm: &'static str,
    note: String,
    options: Options,
    constants: BTreeMap<String, i32>,
    /// The published time of PAT in seconds.
    published: Option<f64>,
}

impl Row {
    fn new(algorithm: &'static str, threads: u32, data: u32) -> Row {
        let options = Options { threads, capacity: Some(data), keys: data, ..Options::default() };
        let note = format!("{threads} threads, {data}");
        Row { algorithm, note, options, constants: BTreeMap::new(), published: None }
    }

    /// A row of PAT's table: an object without data, or with one value.
    fn of_pat(algorithm: &'static str, threads: u32, seconds: f64) -> Row {
        let options = Options { threads, values: 1, ..Options::default() };
        let note = format!("{threads} threads");
        Row { algorithm, note, options, constants: BTreeMap::new(), published: Some(seconds) }
    }

    fn client(mut self, name: &str) -> Row {
        self.options.client = Some(name.to_owned());
        self
    }

    fn set(mut self, name: &str, value: i32) -> Row {
        self.note += &format!(", {name} {value}");
        self.constants.insert(name.to_owned(), value);
        self
    }

    fn values(mut self, values: u32) -> Row {
        self.note += &format!(", {values} values");
        self.options.values = values;
        self
    }

    fn capacity(mut self, capacity: u32) -> Row {
        self.note += &format!(", {capacity}");
        self.options.capacity = Some(capacity);
        self
    }

    fn name(&self) -> String {
        format!("{}, {}", self.algorithm, self.note)
    }

    fn measure(&self) {
        let path =
            format!("{}/../../algorithms/{}.seri", env!("CARGO_MANIFEST_DIR"), self.algorithm);
        let source = std::fs::read_to_string(&path).expect("a file of the library");
        let program =
            seriatim_lang::check_with(&source, &self.constants).expect("the library is right");
        let start = cpu_seconds();
        let outcome = run(&program, &self.options).expect("it can be explored");
        let seconds = cpu_seconds() - start;
        let Statistics { kept, sets, state_bytes, .. } = outcome.statistics;
        let verdict = match outcome.verdict {
            Verdict::Holds => "holds",
            Verdict::Violation(_) => "violated",
            Verdict::Unknown(_) => "unknown",
        };
        let bytes = state_bytes / kept.max(1);
        let peer = self.published.map_or(String::new(), |theirs| {
            format!(" {theirs:>8} {:>8.0}", theirs / seconds.max(0.001))
        });
        println!(
            "{:<54} {verdict:>9} {kept:>10} {sets:>10} {seconds:>8.3} {bytes:>7}{peer}",
            self.name()
        );
    }
}

/// PAT's rows without linearization points of 100 s and more. Times below a millisecond count as
/// one.
fn published() -> Vec<Row> {
    let register = Row::of_pat("pat/register", 2, 297.0).client("one_reader").set("K", 6);
    let readers = Row::of_pat("pat/register_two_readers", 3, 294.0).client("two_readers");
    let stack = |threads, size, seconds| Row::of_pat("pat/stack", threads, seconds).set("N", size);
    let queue = |size, seconds| Row::of_pat("michael_scott", 2, seconds).capacity(size);
    let mailbox = Row::of_pat("pat/mailbox", 2, 2904.0).client("post").set("N", 4);
    let snzi = |threads, children, rounds, seconds| {
        let row = Row::of_pat("pat/snzi", threads, seconds).client("polite");
        row.set("CHILDREN", children).set("ROUNDS", rounds)
    };
    vec![
        register,
        readers,
        stack(2, 12, 138.0),
        stack(2, 14, 411.0),
        stack(3, 2, 4321.0),
        queue(6, 134.0),
        queue(8, 256.0),
        queue(6, 134.0).values(2),
        queue(8, 256.0).values(2),
        mailbox,
        snzi(3, 1, 1, 1298.0),
        snzi(3, 1, 2, 1298.0),
        snzi(3, 1, 3, 1298.0),
        snzi(4, 2, 1, 6214.0),
    ]
}

/// Growth with threads and with data.
fn growth() -> Vec<Row> {
    let mut rows = Vec::new();
    for algorithm in ["treiber", "michael_scott", "lazy_list"] {
        for threads in 2..=4 {
            rows.extend((1..=4).map(|data| Row::new(algorithm, threads, data)));
        }
    }
    rows.push(Row::new("treiber", 5, 4));
    rows.push(Row::new("michael_scott", 5, 4));
    rows
}

/// The other algorithms that have a row of their own.
fn named() -> Vec<Row> {
    vec![
        Row::new("harris_michael", 3, 2),
        Row::new("harris_michael", 3, 3),
        Row::new("harris_michael", 4, 2),
        Row::new("hsy_stack", 3, 2).values(2),
        Row::new("hsy_stack", 3, 2).values(3),
        Row::new("snzi", 3, 1).client("polite"),
    ]
}

/// The gain of each reduction: everything but one, for at most twenty seconds.
fn gains() -> Vec<Row> {
    let all = Reductions::ALL;
    let switched = [
        ("nothing", all),
        ("dead registers", Reductions { dead_registers: false, ..all }),
        ("dead fields", Reductions { dead_fields: false, ..all }),
        ("fusion", Reductions { fusion: false, ..all }),
        ("lock movers", Reductions { lock_movers: false, ..all }),
        ("lock nesting", Reductions { lock_nesting: false, ..all }),
        ("heap symmetry", Reductions { heap_symmetry: false, ..all }),
        ("thread symmetry", Reductions { thread_symmetry: false, ..all }),
        ("value symmetry", Reductions { value_symmetry: false, ..all }),
        ("pure iterations", Reductions { pure_iterations: false, ..all }),
        ("final fields", Reductions { final_fields: false, ..all }),
        ("antichain", Reductions { antichain: false, ..all }),
    ];
    let models =
        [("treiber", 3, 2), ("michael_scott", 2, 2), ("lazy_list", 2, 2), ("lazy_list", 3, 1)];
    let mut rows = Vec::new();
    for (name, reductions) in switched {
        for (algorithm, threads, data) in models {
            let mut row = Row::new(algorithm, threads, data);
            row.note += &format!(", without {name}");
            let limits = Limits { time: Some(Duration::from_secs(20)), ..row.options.limits };
            row.options = Options { reductions, limits, ..row.options };
            rows.push(row);
        }
    }
    rows
}
