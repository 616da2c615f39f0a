//! What is measured: histories that anybody can generate again.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A generated history and how it is checked.
pub struct Row {
    pub name: &'static str,
    pub spec: &'static str,
    /// What `seriatim gen SPEC` is told besides.
    pub generate: &'static str,
    /// Whether its instructions are counted: then it is short.
    pub is_counted: bool,
}

const fn row(
    name: &'static str,
    spec: &'static str,
    generate: &'static str,
    is_counted: bool,
) -> Row {
    Row { name, spec, generate, is_counted }
}

pub const ROWS: [Row; 22] = [
    row("tiny register, 6 calls", "register", "-n 6 --threads 2", true),
    row("stack, 3 values", "stack", "-n 100 --threads 4 --overlap 1 --values 3 --seed 3", true),
    row(
        "priority queue, 5 values",
        "priority-queue",
        "-n 400 --threads 8 --overlap 1 --values 5",
        true,
    ),
    row("deque, 16 threads", "deque", "-n 400 --threads 16 --overlap 1 --values 3", true),
    row("deque, 8 threads", "deque", "-n 200 --threads 8 --overlap 1 --values 3 --seed 2", true),
    row("cas register, 60 pending", "cas-register", "-n 2000 --threads 8 --pending 0.03", true),
    row(
        "cas register, 60 pending, 5 values, violation",
        "cas-register",
        "-n 2000 --threads 8 --pending 0.03 --values 5 --violation",
        false,
    ),
    row("kv, 50 clients, violation", "kv", "-n 2000 --threads 50 --overlap 1 --violation", true),
    row("kv, 10 clients", "kv", "-n 400 --threads 10 --overlap 1", false),
    row("queue, 10⁴", "queue", "-n 10000 --threads 8", true),
    row("stack, 10⁴", "stack", "-n 10000 --threads 8", true),
    row("register, 10⁴", "register", "-n 10000 --threads 8", true),
    row("set, 10⁴", "set", "-n 10000 --threads 8", true),
    row("map with everything, 10⁴", "map", "-n 10000 --threads 8 --keys 100", true),
    row("queue, 10⁶", "queue", "-n 1000000 --threads 8", false),
    row("stack, 10⁶", "stack", "-n 1000000 --threads 8", false),
    row("priority queue, 10⁶", "priority-queue", "-n 1000000 --threads 8", false),
    row("register, 10⁶", "register", "-n 1000000 --threads 8", false),
    row("set, 10⁶, 8 threads", "set", "-n 1000000 --threads 8 --keys 1000", false),
    row("set, 10⁶, 64 threads", "set", "-n 1000000 --threads 64 --keys 1000", false),
    row("set, 10⁶, 500 threads", "set", "-n 1000000 --threads 500 --keys 1000", false),
    row("map with everything, 10⁶", "map", "-n 1000000 --threads 8 --keys 10000", false),
];

impl Row {
    /// Generates the history in a folder.
    pub fn make(&self, command: &Path, folder: &Path) -> PathBuf {
        let name: String =
            self.name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let path = folder.join(format!("{name}.jsonl"));
        let file = std::fs::File::create(&path).expect("the folder can be written");
        let status = Command::new(command)
            .args(["gen", self.spec])
            .args(self.generate.split(' '))
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
