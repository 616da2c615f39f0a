//! What is measured: histories that anybody can generate again.

use seriatim_history::expand;
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

/// All rows, in the order of `rows.tsv`: those that belong together, a name, a specification, a
/// task, where the history comes from, what it took before, the goal, and whether instructions are
/// counted or the row is run once.
pub fn rows() -> Vec<Row> {
    let table = include_str!("rows.tsv").lines().filter(|line| !line.starts_with('#'));
    table.map(|line| Row::read(line).unwrap_or_else(|| panic!("not a row: {line}"))).collect()
}

impl Row {
    fn read(line: &'static str) -> Option<Row> {
        let cells: Vec<&str> = line.split('\t').collect();
        let &[number, name, spec, task, from, before, goal, how] = &cells[..] else { return None };
        let task = match task {
            "check" => Task::Check,
            "explain" => Task::Explain,
            "in memory" => Task::InMemory,
            "watch" => Task::Watch,
            "two threads" => Task::TwoThreads,
            "four files" => Task::FourFiles,
            _ => return None,
        };
        let origin = match from.split_once(' ')? {
            ("gen", generate) => Origin::Generated(generate),
            ("corpus", pattern) => Origin::Corpus(pattern),
            _ => return None,
        };
        let (is_counted, runs) = match how {
            "counted" => (true, 3),
            "once" => (false, 1),
            "" => (false, 3),
            _ => return None,
        };
        Some(Row { number, name, spec, origin, task, before, goal, is_counted, runs })
    }
}

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
        let format = generate.split_once("--to ").map_or("jsonl", |(_, format)| format);
        let path = folder.join(format!("{name}.{format}"));
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

    /// The history in another format, as a file beside the one that was made; `None` if it cannot be
    /// written so. What is taken from the corpus is given to everybody as it is.
    pub fn make_for(&self, command: &Path, file: &Path, format: &str) -> Option<PathBuf> {
        let Origin::Generated(generate) = self.origin else { return Some(file.to_owned()) };
        let is_in = generate.split_once("--to ").map_or("jsonl", |(_, format)| format);
        if is_in == format {
            return Some(file.to_owned());
        }
        let path = file.with_extension(format);
        let output = std::fs::File::create(&path).expect("the folder can be written");
        let mut convert = Command::new(command);
        convert.args(["convert", "--to", format]).arg(file);
        let status = convert.stdout(output).stderr(Stdio::null()).status();
        if status.is_ok_and(|status| status.success()) {
            return Some(path);
        }
        let _ = std::fs::remove_file(path);
        None
    }

    /// Removes the file, if it was made.
    pub fn unmake(&self, file: &Path) {
        if let Origin::Generated(_) = self.origin {
            let _ = std::fs::remove_file(file);
        }
    }

    /// How many operations are generated.
    pub fn operations(&self) -> Option<u64> {
        let Origin::Generated(generate) = self.origin else { return None };
        generate.strip_prefix("-n ")?.split(' ').next()?.parse().ok()
    }

    /// Where it comes from, for the table.
    pub fn origin(&self) -> String {
        match self.origin {
            Origin::Generated(generate) => format!("`{} {generate}`", self.spec),
            Origin::Corpus(pattern) if pattern.contains('*') => {
                let files = corpus().map(|corpus| corpus.join(pattern).display().to_string());
                let count = files.and_then(|files| expand([files]).ok()).map_or(0, |f| f.len());
                format!("{}, {count} files `{pattern}` of the corpus", self.spec)
            }
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
