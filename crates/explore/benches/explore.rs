//! What explorations cost: states, CPU time of one worker, bytes a state; the gain of each reduction; the growth with threads
//! and with data.
//!
//! Each row is a claim of `docs/performance.md`. `cargo bench -p seriatim-explore` takes some minutes; rows whose
//! name contains the argument are run alone: `cargo bench -p seriatim-explore -- michael_scott`.

use seriatim_explore::{Limits, Options, Reductions, Statistics, Verdict, run};
use std::time::Duration;

fn main() {
    let wanted = std::env::args().skip(1).find(|a| !a.starts_with("--")).unwrap_or_default();
    println!(
        "{:<46} {:>9} {:>10} {:>10} {:>8} {:>7}",
        "row", "verdict", "states", "sets", "CPU s", "bytes"
    );
    let mut rows = growth();
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
}

impl Row {
    fn new(algorithm: &'static str, threads: u32, data: u32) -> Row {
        let options = Options { threads, capacity: Some(data), keys: data, ..Options::default() };
        Row { algorithm, note: format!("{threads} threads, {data}"), options }
    }

    fn name(&self) -> String {
        format!("{}, {}", self.algorithm, self.note)
    }

    fn measure(&self) {
        let path =
            format!("{}/../../algorithms/{}.seri", env!("CARGO_MANIFEST_DIR"), self.algorithm);
        let source = std::fs::read_to_string(&path).expect("a file of the library");
        let program = seriatim_lang::check(&source).expect("the library is right");
        let start = cpu();
        let outcome = run(&program, &self.options).expect("it can be explored");
        let seconds = (cpu() - start).as_secs_f64();
        let Statistics { kept, sets, state_bytes, .. } = outcome.statistics;
        let verdict = match outcome.verdict {
            Verdict::Holds => "holds",
            Verdict::Violation(_) => "violated",
            Verdict::Unknown(_) => "unknown",
        };
        let bytes = state_bytes / kept.max(1);
        println!(
            "{:<46} {verdict:>9} {kept:>10} {sets:>10} {seconds:>8.2} {bytes:>7}",
            self.name()
        );
    }
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
    let mut hsy = Row::new("hsy_stack", 3, 2);
    hsy.options.values = 2;
    let mut snzi = Row::new("snzi", 3, 1);
    snzi.options.client = Some("polite".to_owned());
    vec![
        Row::new("harris_michael", 3, 2),
        Row::new("harris_michael", 3, 3),
        Row::new("harris_michael", 4, 2),
        hsy,
        snzi,
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
        ("retries", Reductions { retries: false, ..all }),
        ("final fields", Reductions { frozen: false, ..all }),
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

/// The CPU time of this process.
fn cpu() -> Duration {
    let mut usage = std::mem::MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: clock_gettime fills the structure that it is given.
    let now = unsafe {
        libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, usage.as_mut_ptr());
        usage.assume_init()
    };
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}
