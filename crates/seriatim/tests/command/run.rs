//! Running the binary.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

/// What became of a run.
#[derive(Debug)]
pub struct Ran {
    /// The exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Ran {
    fn of(output: Output) -> Ran {
        Ran {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).expect("UTF-8 on standard output"),
            err: String::from_utf8(output.stderr).expect("UTF-8 on standard error"),
        }
    }

    /// The run, if it ended with this exit code and without a panic.
    #[track_caller]
    pub fn exits(self, code: i32) -> Ran {
        assert_eq!(self.code, Some(code), "{self:#?}");
        assert!(!self.err.contains("panicked"), "{self:#?}");
        self
    }

    /// The run, if standard output contains a text.
    #[track_caller]
    pub fn says(self, text: &str) -> Ran {
        assert!(self.out.contains(text), "expected {text:?} in {self:#?}");
        self
    }

    /// The run, if standard error contains a text.
    #[track_caller]
    pub fn complains(self, text: &str) -> Ran {
        assert!(self.err.contains(text), "expected {text:?} in {self:#?}");
        self
    }
}

/// The command, ready to be run.
pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_seriatim"));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs the command.
pub fn seriatim(arguments: &[&str]) -> Ran {
    seriatim_reading(b"", arguments)
}

/// Runs the command with something on standard input.
pub fn seriatim_reading(input: &[u8], arguments: &[&str]) -> Ran {
    let mut child = command(arguments).stdin(Stdio::piped()).spawn().expect("the binary runs");
    let mut stdin = child.stdin.take().expect("a pipe");
    let output = std::thread::scope(|scope| {
        // The command may end without reading everything; that is its right.
        scope.spawn(move || stdin.write_all(input));
        child.wait_with_output().expect("the binary ends")
    });
    Ran::of(output)
}

/// Runs the command with an engine that is broken in this way, if in any.
pub fn sabotaged(mut command: Command, way: Option<&str>) -> Ran {
    command.envs(way.map(|way| ("SERIATIM_SABOTAGE", way)));
    Ran::of(command.output().expect("the binary runs"))
}

/// An empty folder of a test's own, also if the tests are run twice at the same time.
pub fn folder(name: &str) -> PathBuf {
    // Tests run side by side: none takes another's folder away, whatever they call it.
    static MADE: AtomicUsize = AtomicUsize::new(0);
    let run = format!("run-{}", std::process::id());
    let own = format!("{name}-{}", MADE.fetch_add(1, Ordering::Relaxed));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(run).join(own);
    if folder.exists() {
        std::fs::remove_dir_all(&folder).expect("an old folder can be removed");
    }
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    folder
}

/// Writes a file into a folder; gives its path as text.
pub fn file(folder: &Path, name: &str, content: impl AsRef<[u8]>) -> String {
    let path = folder.join(name);
    std::fs::write(&path, content).expect("a file can be written");
    text(&path)
}

/// A path as text.
pub fn text(path: &Path) -> String {
    path.to_str().expect("paths of tests are UTF-8").to_owned()
}

/// The folder of the example histories.
pub fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/histories")
}

/// An example history.
pub fn example(name: &str) -> String {
    text(&examples().join(name))
}

/// What Cargo says of the packages of the workspace.
pub fn cargo_metadata() -> serde_json::Value {
    let ran = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo");
    serde_json::from_slice(&ran.stdout).expect("JSON")
}
