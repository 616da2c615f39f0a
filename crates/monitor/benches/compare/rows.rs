//! What is measured: histories that anybody can generate again.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A generated history and how it is checked.
pub struct Row {
    pub name: &'static str,
    pub spec: &'static str,
    /// What `seriatim gen SPEC` is told besides.
    pub generate: &'static str,
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
}

impl Task {
    /// How it stands in the table.
    pub fn words(self) -> &'static str {
        match self {
            Task::Check => "check -q",
            Task::Explain => "check",
            Task::InMemory => "check -q --spill never",
            Task::Watch => "watch",
        }
    }

    /// The command on a file.
    pub fn command(self, command: &Path, spec: &str, file: &Path) -> Command {
        let mut run = Command::new(command);
        match self {
            Task::Watch => _ = run.args(["watch", spec]),
            _ => _ = run.args(["check", "--threads", "1", "--time", "60s", "--spec", spec]),
        }
        match self {
            Task::Check => _ = run.arg("-q"),
            Task::InMemory => _ = run.args(["-q", "--spill", "never"]),
            Task::Explain | Task::Watch => {}
        }
        run.arg(file);
        run
    }
}

const fn row(name: &'static str, spec: &'static str, generate: &'static str) -> Row {
    let (task, before, goal) = (Task::Check, "", "");
    Row { name, spec, generate, task, before, goal, is_counted: false, runs: 5 }
}

impl Row {
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
    row("kv, 50 clients, violation", "kv", KV).from("3.7 s, 285 MB", "0.01 s").counted(),
    row("the same, explained", "kv", KV).by(Task::Explain).from("3.7 s", "0.2 s"),
    row("register, pending, violation", "register", PENDING).from("27 ms", ""),
    row("the same, explained", "register", PENDING)
        .by(Task::Explain)
        .from("1.6 s", "2 × plain + 50 ms"),
    row("cas register, 60 pending, 5 values, violation", "cas-register", FIVE)
        .from("undecided", "1 s"),
    row("the same, explained", "cas-register", FIVE)
        .by(Task::Explain)
        .from("2.1 s", "2 × plain + 50 ms"),
    row("multi-register, 16 threads, violation", "multi-register", MANY).from("141 ms", ""),
    row("the same, explained", "multi-register", MANY)
        .by(Task::Explain)
        .from("1.4 s", "2 × plain + 50 ms"),
    row("stack, 3 values", "stack", "-n 100 --threads 4 --overlap 1 --values 3 --seed 3")
        .from("2.8 s", "2 × the best engine")
        .counted(),
    row("priority queue, 5 values", "priority-queue", "-n 400 --threads 8 --overlap 1 --values 5")
        .from("0.5 s", "2 × the best engine")
        .counted(),
    row("deque, 16 threads", "deque", "-n 400 --threads 16 --overlap 1 --values 3")
        .from("undecided", "0.1 s")
        .counted(),
    row("deque, 8 threads", "deque", "-n 200 --threads 8 --overlap 1 --values 3 --seed 2")
        .from("undecided", "0.1 s")
        .counted(),
    row(
        "register, some pending, 10⁵, watched",
        "register",
        "-n 100000 --threads 8 --pending 0.0001",
    )
    .by(Task::Watch)
    .from("2 s", "linear"),
    row(
        "register, some pending, 10⁶, watched",
        "register",
        "-n 1000000 --threads 8 --pending 0.00001",
    )
    .by(Task::Watch)
    .from("> 417 s", "1 s"),
    row("tiny register, 6 calls", "register", "-n 6 --threads 2").counted(),
    row("set, 10⁶, 8 threads", "set", "-n 1000000 --threads 8 --keys 1000").from("", "0.09 s"),
    row("set, 10⁶, 64 threads", "set", "-n 1000000 --threads 64 --keys 1000")
        .from("0.255 s", "0.09 s"),
    row("set, 10⁶, 500 threads", "set", "-n 1000000 --threads 500 --keys 1000")
        .from("0.364 s", "0.09 s"),
    row("set, 10⁶, 2,000 threads", "set", "-n 1000000 --threads 2000 --keys 1000")
        .from("0.303 s", "0.09 s"),
    row("map with everything, 10⁴", "map", "-n 10000 --threads 8 --keys 100").counted(),
    row("map with everything, 10⁶", "map", "-n 1000000 --threads 8 --keys 10000")
        .from("1.6 s, 193 MB", "0.6 s, 80 MB"),
    row("map with everything, 10⁷, in memory", "map", LONG_MAP)
        .by(Task::InMemory)
        .from("85.8 s, 2.2 GB", "7 s")
        .once(),
    row("stack, 10⁷", "stack", "-n 10000000 --threads 8")
        .from("11 s, 1,761 MB", "as in memory")
        .once(),
    row("stack, 10⁷, in memory", "stack", "-n 10000000 --threads 8")
        .by(Task::InMemory)
        .from("8 s, 865 MB", "")
        .once(),
    row("cas register, 60 pending", "cas-register", "-n 2000 --threads 8 --pending 0.03")
        .from("0.043 s", "0.01 s")
        .counted(),
    row("kv, 10 clients", "kv", "-n 400 --threads 10 --overlap 1").from("4.1 ms", "2 ms"),
    row("stack, 3 values, watched", "stack", "-n 2000 --threads 4 --values 3")
        .by(Task::Watch)
        .from("refused", "decided"),
    row("priority queue, watched", "priority-queue", "-n 2000 --threads 4 --values 5")
        .by(Task::Watch)
        .from("refused", "decided"),
    row("map with everything, 10⁵, watched", "map", "-n 100000 --threads 8 --keys 1000")
        .by(Task::Watch)
        .from("refused", "decided"),
    row("cas register, 10⁵, watched", "cas-register", "-n 100000 --threads 8")
        .by(Task::Watch)
        .from("refused", "decided"),
    row("log, watched", "log", "-n 2000 --threads 4").by(Task::Watch).from("gave up", "decided"),
    row("queue, 64 threads, watched", "queue", "-n 10000 --threads 64 --overlap 1")
        .by(Task::Watch)
        .from("gave up", "decided"),
    row("queue, 10⁴", "queue", "-n 10000 --threads 8").counted(),
    row("stack, 10⁴", "stack", "-n 10000 --threads 8").counted(),
    row("register, 10⁴", "register", "-n 10000 --threads 8").counted(),
    row("set, 10⁴", "set", "-n 10000 --threads 8").counted(),
    row("queue, 10⁶", "queue", "-n 1000000 --threads 8"),
    row("stack, 10⁶", "stack", "-n 1000000 --threads 8"),
    row("priority queue, 10⁶", "priority-queue", "-n 1000000 --threads 8"),
    row("register, 10⁶", "register", "-n 1000000 --threads 8"),
];

impl Row {
    /// Generates the history in a folder.
    pub fn make(&self, command: &Path, folder: &Path) -> PathBuf {
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
            .args(self.generate.split(' '))
            .args(format)
            .stdout(file)
            .stderr(Stdio::null())
            .status();
        assert!(status.is_ok_and(|status| status.success()), "{} cannot be generated", self.name);
        path
    }
}

/// A folder of this process for the histories.
pub fn folder() -> PathBuf {
    let folder = std::env::temp_dir().join(format!("seriatim-compare-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for temporary files");
    folder
}
