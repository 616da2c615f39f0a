//! Instructions instead of seconds: the same on a busy machine, so that what becomes more expensive
//! shows.
//!
//! Counted by valgrind, of the whole process. What rows cost is written down in a file, with the
//! compiler and the instruction set: another compiler makes other code, and the C library takes
//! other ways on another processor, so that only counts of the same kind are compared.

use std::path::Path;
use std::process::{Command, Stdio};

/// How much more a row may cost than is written down.
const TOLERANCE: f64 = 0.05;

/// What was counted of each row.
pub type Counts = Vec<(String, u64)>;

/// Compares counts with those that are written down in a file; ends the process with 1 if some row
/// costs more.
pub fn compare_counts(file: &Path, count_all: impl FnOnce() -> Option<Counts>) {
    let known = std::fs::read_to_string(file).unwrap_or_default();
    let (here, there) = (machine(), known.lines().next().unwrap_or_default());
    if here != there {
        println!("SKIPPED: instructions were counted with `{there}`, and this is `{here}`");
        return;
    }
    let known: Vec<(&str, u64)> = known
        .lines()
        .filter_map(|line| line.split_once('\t'))
        .filter_map(|(name, count)| Some((name, count.parse().ok()?)))
        .collect();
    let Some(counts) = count_all() else { return };
    let mut is_worse = false;
    for (name, count) in counts {
        match known.iter().find(|known| known.0 == name) {
            None => println!("{name}: {count} instructions, nothing written down"),
            Some(&(_, before)) => {
                let change = count as f64 / before as f64 - 1.0;
                let word = if change > TOLERANCE { "WORSE" } else { "fine" };
                println!("{name}: {count} instructions, {:+.1} %: {word}", 100.0 * change);
                is_worse |= change > TOLERANCE;
            }
        }
    }
    if is_worse {
        std::process::exit(1);
    }
}

/// Writes down what rows cost now.
pub fn bless_counts(file: &Path, counts: &Counts) {
    let lines: String = counts.iter().map(|(name, count)| format!("{name}\t{count}\n")).collect();
    std::fs::write(file, format!("{}\n{lines}", machine())).expect("the file can be written");
}

/// What the number of instructions depends on besides the program.
fn machine() -> String {
    let version = Command::new("rustc").arg("--version").output();
    let compiler = version.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    let processor = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let has = |feature: &&str| processor.split_whitespace().any(|word| word == *feature);
    let features = ["avx2", "avx512f", "erms", "fsrm"].into_iter().filter(has);
    let features: Vec<&str> = features.collect();
    format!("# {}; {}", compiler.unwrap_or_default(), features.join(" "))
}

/// Whether instructions can be counted; it says so where valgrind is missing.
pub fn can_count() -> bool {
    let version = Command::new("valgrind").arg("--version").stdout(Stdio::null()).status();
    let can = version.is_ok_and(|status| status.success());
    if !can {
        println!("SKIPPED: no instructions are counted, since valgrind is missing");
    }
    can
}

/// The instructions of one run. What the environment of the caller holds does not count: the loader
/// looks for libraries wherever it is told to, which is a twentieth of the shortest runs.
pub fn instructions(run: &Command) -> u64 {
    let output = Command::new("valgrind")
        .env_clear()
        .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(run.get_program())
        .args(run.get_args())
        .output()
        .expect("valgrind runs");
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().find_map(|line| line.split_once("Collected :"));
    let count = line.and_then(|(_, count)| count.trim().parse().ok());
    count.unwrap_or_else(|| panic!("valgrind does not say how many instructions: {text}"))
}
