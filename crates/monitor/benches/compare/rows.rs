//! What is measured: histories that anybody can generate again.

use seriatim_testing::corpus;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A history and how it is checked.
pub struct Row {
    /// Rows that belong together have the same one.
    pub number: &'static str,
    pub name: &'static str,
    pub spec: &'static str,
    pub origin: Origin,
    pub task: Task,
    /// What it took when the rows were chosen, by hand and partly with other histories of the kind;
    /// empty if nobody measured.
    pub before: &'static str,
    /// What it is to take.
    pub goal: &'static str,
    /// Whether its instructions are counted: then it is short.
    pub is_counted: bool,
    /// How often it is run, of which the median counts.
    pub runs: usize,
}

/// Where a history comes from.
#[derive(Clone, Copy)]
pub enum Origin {
    /// What `seriatim gen SPEC` is told besides.
    Generated(&'static str),
    /// A pattern of files in the corpus of other projects' histories.
    Corpus(&'static str),
}

/// What the command does with a history.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// It says the verdict.
    Check,
    /// It says the verdict and shows a minimal counterexample.
    Explain,
    /// It checks in memory, whatever the size.
    InMemory,
    /// It is told the events one by one.
    Watch,
    /// It says the verdict, with one thread and with two: what counts is how much sooner.
    TwoThreads,
    /// The same on four copies of the file.
    FourFiles,
}

impl Task {
    /// How it stands in the table.
    pub fn words(self) -> &'static str {
        match self {
            Task::Check => "check -q",
            Task::Explain => "check",
            Task::InMemory => "check -q --spill never",
            Task::Watch => "watch",
            Task::TwoThreads => "check -q, wall time of one thread through that of two",
            Task::FourFiles => "check -q on four files, the same",
        }
    }

    /// The command on a file.
    pub fn command(self, command: &Path, spec: &str, file: &Path, threads: usize) -> Command {
        let mut run = Command::new(command);
        match self {
            Task::Watch => _ = run.args(["watch", spec]),
            _ => _ = run.args(["check", "--time", "10m", "--spec", spec]),
        }
        match self {
            Task::Watch => {}
            _ => _ = run.arg("--threads").arg(threads.to_string()),
        }
        match self {
            Task::Check | Task::TwoThreads | Task::FourFiles => _ = run.arg("-q"),
            Task::InMemory => _ = run.args(["-q", "--spill", "never"]),
            Task::Explain | Task::Watch => {}
        }
        let copies = if self == Task::FourFiles { 4 } else { 1 };
        run.args(std::iter::repeat_n(file, copies));
        run
    }
}

const fn row(number: &'static str, name: &'static str, spec: &'static str) -> Row {
    let (origin, task, before, goal) = (Origin::Generated(""), Task::Check, "", "");
    Row { number, name, spec, origin, task, before, goal, is_counted: false, runs: 3 }
}

impl Row {
    const fn made(self, generate: &'static str) -> Row {
        Row { origin: Origin::Generated(generate), ..self }
    }

    const fn found(self, pattern: &'static str) -> Row {
        Row { origin: Origin::Corpus(pattern), ..self }
    }

    const fn from(self, before: &'static str, goal: &'static str) -> Row {
        Row { before, goal, ..self }
    }

    const fn by(self, task: Task) -> Row {
        Row { task, ..self }
    }

    const fn counted(self) -> Row {
        Row { is_counted: true, ..self }
    }

    const fn once(self) -> Row {
        Row { runs: 1, ..self }
    }
}

const KV: &str = "-n 2000 --threads 50 --overlap 1 --violation";
const PENDING: &str = "-n 2000 --threads 8 --pending 0.03 --violation";
const FIVE: &str = "-n 2000 --threads 8 --pending 0.03 --values 5 --violation";
const MANY: &str = "-n 2000 --threads 16 --violation";
const LONG_MAP: &str = "-n 10000000 --threads 8 --keys 100000";

pub const ROWS: &[Row] = &[
    row("1", "kv, 50 clients, violation", "kv").made(KV).from("3.7 s, 285 MB", "0.01 s").counted(),
    row("1", "the same, explained", "kv").made(KV).by(Task::Explain).from("3.7 s", "0.2 s"),
    row("1b", "register, pending, violation", "register").made(PENDING).from("27 ms", ""),
    row("1b", "the same, explained", "register")
        .made(PENDING)
        .by(Task::Explain)
        .from("1.6 s", "2 × plain + 50 ms"),
    row("10", "cas register, 60 pending, 5 values, violation", "cas-register")
        .made(FIVE)
        .from("undecided", "1 s"),
    row("1b", "the same, explained", "cas-register")
        .made(FIVE)
        .by(Task::Explain)
        .from("2.1 s", "2 × plain + 50 ms"),
    row("1b", "multi-register, 16 threads, violation", "multi-register")
        .made(MANY)
        .from("141 ms", ""),
    row("1b", "the same, explained", "multi-register")
        .made(MANY)
        .by(Task::Explain)
        .from("1.4 s", "2 × plain + 50 ms"),
    row("2", "stack, 3 values", "stack")
        .made("-n 100 --threads 4 --overlap 1 --values 3 --seed 3")
        .from("2.8 s", "2 × the best engine")
        .counted(),
    row("2", "priority queue, 5 values", "priority-queue")
        .made("-n 400 --threads 8 --overlap 1 --values 5")
        .from("0.5 s", "2 × the best engine")
        .counted(),
    row("3", "deque, 16 threads", "deque")
        .made("-n 400 --threads 16 --overlap 1 --values 3")
        .from("undecided", "0.1 s")
        .counted(),
    row("3", "deque, 8 threads", "deque")
        .made("-n 200 --threads 8 --overlap 1 --values 3 --seed 2")
        .from("undecided", "0.1 s")
        .counted(),
    row("4", "register, some pending, 10⁵, watched", "register")
        .made("-n 100000 --threads 8 --pending 0.0001")
        .by(Task::Watch)
        .from("2 s", "0.1 s"),
    row("4", "register, some pending, 10⁶, watched", "register")
        .made("-n 1000000 --threads 8 --pending 0.00001")
        .by(Task::Watch)
        .from("> 417 s", "1 s"),
    row("5", "tiny register, 6 calls", "register").made("-n 6 --threads 2").counted(),
    row("6", "set, 10⁶, 8 threads", "set")
        .made("-n 1000000 --threads 8 --overlap 1 --keys 1000 --to polylin")
        .from("", "0.09 s"),
    row("6", "set, 10⁶, 64 threads", "set")
        .made("-n 1000000 --threads 64 --overlap 1 --keys 1000 --to polylin")
        .from("0.255 s", "0.09 s"),
    row("6", "set, 10⁶, 500 threads", "set")
        .made("-n 1000000 --threads 500 --overlap 1 --keys 1000 --to polylin")
        .from("0.364 s", "0.09 s"),
    row("6", "set, 10⁶, 2,000 threads", "set")
        .made("-n 1000000 --threads 2000 --overlap 1 --keys 1000 --to polylin")
        .from("0.303 s", "0.09 s"),
    row("6", "priority queue, 10⁶, 8 threads", "priority-queue(max)")
        .made("-n 1000000 --threads 8 --overlap 1 --to polylin")
        .from("0.76 s", "0.25 s"),
    row("6", "priority queue, 10⁶, 500 threads", "priority-queue(max)")
        .made("-n 1000000 --threads 500 --overlap 1 --to polylin")
        .from("0.87 s", "0.25 s"),
    row("7", "map, 10⁶, 10,000 parts, second core", "map")
        .made("-n 1000000 --threads 8 --keys 10000")
        .by(Task::TwoThreads)
        .from("1.05 ×", "1.7 ×"),
    row("7", "queues of 10⁵, second core", "queue")
        .made("-n 100000 --threads 8")
        .by(Task::FourFiles)
        .from("1 ×", "1.7 ×"),
    row("8", "map with everything, 10⁴", "map").made("-n 10000 --threads 8 --keys 100").counted(),
    row("8", "map with everything, 10⁶", "map")
        .made("-n 1000000 --threads 8 --keys 10000")
        .from("1.6 s, 193 MB", "0.6 s, 80 MB"),
    row("8", "map with everything, 10⁷, in memory", "map")
        .made(LONG_MAP)
        .by(Task::InMemory)
        .from("85.8 s, 2.2 GB", "7 s")
        .once(),
    row("9", "stack, 10⁷", "stack")
        .made("-n 10000000 --threads 8")
        .from("11 s, 1,761 MB", "as in memory")
        .once(),
    row("9", "stack, 10⁷, in memory", "stack")
        .made("-n 10000000 --threads 8")
        .by(Task::InMemory)
        .from("8 s, 865 MB", "")
        .once(),
    row("10", "cas register, 60 pending", "cas-register")
        .made("-n 2000 --threads 8 --pending 0.03")
        .from("0.043 s", "0.01 s")
        .counted(),
    row("11", "56 of the 102 etcd logs", "cas-register")
        .found("etcd/*.log")
        .from("", "0.02 s for 102"),
    row("12", "kv, 10 clients", "kv").found("kv/c10-ok.txt").from("4.1 ms", "2 ms"),
    row("12", "kv, 10 clients, generated", "kv").made("-n 400 --threads 10 --overlap 1"),
    row("13", "kv, 50 clients", "kv").found("kv/c50-ok.txt"),
    row("14", "stack, 3 values, watched", "stack")
        .made("-n 2000 --threads 4 --values 3")
        .by(Task::Watch)
        .from("refused", "decided"),
    row("14", "priority queue, watched", "priority-queue")
        .made("-n 2000 --threads 4 --values 5")
        .by(Task::Watch)
        .from("refused", "decided"),
    row("14", "map with everything, 10⁵, watched", "map")
        .made("-n 100000 --threads 8 --keys 1000")
        .by(Task::Watch)
        .from("refused", "decided"),
    row("14", "cas register, 10⁵, watched", "cas-register")
        .made("-n 100000 --threads 8")
        .by(Task::Watch)
        .from("refused", "decided"),
    row("14", "log, watched", "log")
        .made("-n 2000 --threads 4")
        .by(Task::Watch)
        .from("gave up", "decided"),
    row("14", "queue, 64 threads, watched", "queue")
        .made("-n 10000 --threads 64 --overlap 1")
        .by(Task::Watch)
        .from("gave up", "decided"),
    row("", "queue, 10⁴", "queue").made("-n 10000 --threads 8").counted(),
    row("", "stack, 10⁴", "stack").made("-n 10000 --threads 8").counted(),
    row("", "register, 10⁴", "register").made("-n 10000 --threads 8").counted(),
    row("", "set, 10⁴", "set").made("-n 10000 --threads 8").counted(),
    row("", "queue, 10⁶", "queue").made("-n 1000000 --threads 8"),
    row("", "stack, 10⁶", "stack").made("-n 1000000 --threads 8"),
    row("", "register, 10⁶", "register").made("-n 1000000 --threads 8"),
];

impl Row {
    /// The history as a file, which is generated in a folder if need be; `None` if it is to be
    /// found in the corpus and there is none.
    pub fn make(&self, command: &Path, folder: &Path) -> Option<PathBuf> {
        let generate = match self.origin {
            Origin::Generated(generate) => generate,
            Origin::Corpus(pattern) => return Some(corpus()?.join(pattern)),
        };
        let name: String =
            self.name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let path = folder.join(format!("{name}.jsonl"));
        let file = std::fs::File::create(&path).expect("the folder can be written");
        let format: &[&str] = match self.task {
            Task::Watch => &["--to", "jsonl-events"],
            _ => &[],
        };
        let status = Command::new(command)
            .args(["gen", self.spec])
            .args(generate.split(' '))
            .args(format)
            .stdout(file)
            .stderr(Stdio::null())
            .status();
        assert!(status.is_ok_and(|status| status.success()), "{} cannot be generated", self.name);
        Some(path)
    }

    /// Removes the file, if it was made.
    pub fn unmake(&self, file: &Path) {
        if let Origin::Generated(_) = self.origin {
            let _ = std::fs::remove_file(file);
        }
    }

    /// Where it comes from, for the table.
    pub fn origin(&self) -> String {
        match self.origin {
            Origin::Generated(generate) => format!("`{} {generate}`", self.spec),
            Origin::Corpus(pattern) => format!("{}, `{pattern}` of the corpus", self.spec),
        }
    }
}

/// A folder of this process for the histories.
pub fn folder() -> PathBuf {
    let folder = std::env::temp_dir().join(format!("seriatim-compare-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for temporary files");
    folder
}
