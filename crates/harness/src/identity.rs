//! The name of a test, and the command that runs it again.

use std::collections::HashMap;
use std::panic::Location;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Who a test is: its name in reports and files, and how it is run.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    pub name: String,
    /// What runs it again, apart from the environment.
    command: String,
}

impl Identity {
    /// The test that is declared with a name, or runs as a test of a test runner, or stands at a
    /// place.
    pub fn of(declared: Option<&str>, place: &Location<'_>) -> Self {
        let thread = std::thread::current();
        let running = thread.name().filter(|name| *name != "main" && folder_of_tests().is_some());
        let placed = || {
            let file = Path::new(place.file()).file_name().map(|name| name.to_string_lossy());
            format!("{}:{}", file.unwrap_or_default(), place.line())
        };
        let name = declared.or(running).map_or_else(placed, str::to_owned);
        let command = match running {
            Some(running) => format!("cargo test {running}"),
            None => std::env::args().map(|arg| quoted(&arg)).collect::<Vec<_>>().join(" "),
        };
        Identity { name: unique(name), command }
    }

    /// The line that repeats an execution.
    pub fn replay_command(&self, replay: &str) -> String {
        let (replay, name) = (quoted(replay), quoted(&self.name));
        format!("SERIATIM_REPLAY={replay} SERIATIM_REPLAY_OF={name} {}", self.command)
    }

    /// What the environment wants this test to do.
    pub fn ordered(&self) -> Order {
        let Ok(line) = std::env::var("SERIATIM_REPLAY") else { return Order::Run };
        match std::env::var("SERIATIM_REPLAY_OF") {
            Ok(other) if other != self.name => Order::Rest,
            _ => Order::Replay(line),
        }
    }

    /// Where its history is written.
    pub fn file(&self) -> PathBuf {
        let plain = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '_' };
        let name: String = self.name.chars().map(plain).collect();
        output_folder().join(format!("{name}.jsonl"))
    }
}

/// What the environment may want.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// The test as it is declared.
    Run,
    /// One execution.
    Replay(String),
    /// Nothing: another test is meant.
    Rest,
}

/// Tests of the same name in one program are numbered, so that none overwrites the other's history.
fn unique(name: String) -> String {
    static USED: Mutex<Option<HashMap<String, u32>>> = Mutex::new(None);
    let mut used = USED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let count = used.get_or_insert_default().entry(name.clone()).or_default();
    *count += 1;
    if *count == 1 { name } else { format!("{name}-{count}") }
}

/// A word for the shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-:=+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// `SERIATIM_OUT`, else the folder `seriatim` beside the test binary's, else a temporary one.
fn output_folder() -> PathBuf {
    if let Some(folder) = std::env::var_os("SERIATIM_OUT") {
        return folder.into();
    }
    folder_of_tests().unwrap_or_else(std::env::temp_dir).join("seriatim")
}

/// The target folder, if this program is one that cargo builds for tests.
fn folder_of_tests() -> Option<PathBuf> {
    let binary = std::env::current_exe().unwrap_or_default();
    let deps = binary.ancestors().find(|folder| folder.file_name().is_some_and(|n| n == "deps"))?;
    deps.parent()?.parent().map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_for_the_shell_is_quoted_only_if_need_be() {
        assert_eq!(quoted("--study=rtrb"), "--study=rtrb");
        assert_eq!(quoted("it's"), "'it'\\''s'");
        assert_eq!(quoted(""), "''");
    }

    #[test]
    fn a_test_without_a_name_is_called_after_its_place_and_every_name_is_used_once() {
        let here = Location::caller();
        let thread = std::thread::Builder::new().name("main".to_owned());
        let names = thread.spawn(|| [0, 1].map(|_| Identity::of(None, here).name));
        let [first, second] = names.unwrap().join().unwrap();
        assert!(first.ends_with(&format!(":{}", here.line())), "{first}");
        assert_eq!(second, format!("{first}-2"));
    }
}
