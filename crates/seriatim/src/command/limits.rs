//! The limits of a command: one clock and one account of memory, whatever the command and its engines do.

use super::amounts::{bytes, duration};
use super::output::say;
use super::{Exit, Failure};
use clap::Args;
use seriatim::history::bytes_read;
use seriatim::limits::guard::{self, LastWords};
use seriatim::limits::{Cancel, Reason, Stopped, forget_memory, stopped};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// What every command is given.
#[derive(Args, Clone, Copy)]
#[command(next_help_heading = "Limits")]
pub struct Limits {
    /// Stop after this time (90s, 5m, …), whatever the command is doing, and report what is known
    #[arg(long, global = true, value_name = "TIME", value_parser = duration)]
    time: Option<Duration>,

    /// The memory that the process may use (500M, 8G, …), including reading. A log that does not fit is kept on
    /// disk where possible; otherwise the command stops and reports how far it got
    #[arg(long, global = true, value_name = "BYTES", default_value = "4G", value_parser = bytes)]
    memory: usize,
}

/// The limits of this process, once they are known.
static LIMITS: OnceLock<(Limits, Instant)> = OnceLock::new();

impl Limits {
    /// Puts the process under these limits. Its time runs from `start`.
    pub fn install(self, start: Instant) -> Result<(), Failure> {
        LIMITS.get_or_init(|| (self, start));
        let limits = guard::Limits { time: self.time, memory: Some(self.memory) };
        guard::install(limits, start)
            .map_err(|error| Failure(format!("the limits cannot be watched: {error}")))
    }
}

/// The time that is left, if there is a limit.
pub fn time_left() -> Option<Duration> {
    let (limits, start) = LIMITS.get()?;
    Some(limits.time?.saturating_sub(start.elapsed()))
}

/// The memory limit, in bytes.
pub fn memory() -> usize {
    LIMITS.get().map_or(4 << 30, |(limits, _)| limits.memory)
}

/// Does something about one thing, in the limits of the process. Memory that it gave up is there for the next.
pub fn within<T>(work: impl FnOnce() -> T) -> Result<T, Stopped> {
    if stopped() == Some(Reason::Memory) {
        forget_memory();
        guard::give_back();
    }
    Cancel::of_process().during(work)
}

/// Prepares what is said of something if the work on it has to be ended.
pub fn prepare(about: &str) {
    let before = format!("{}: unknown; ", about.escape_debug());
    guard::prepare(LastWords { before, after: "\n".to_owned(), exit: Exit::Unknown as u8 });
}

/// Prepares what is said of something whose verdict is known, if the report on it has to be ended.
pub fn prepare_verdict(about: &str, verdict: &str, exit: Exit) {
    let before = format!("\n{}: {verdict}; the report is not complete: ", about.escape_debug());
    guard::prepare(LastWords { before, after: "\n".to_owned(), exit: exit as u8 });
}

/// Says that something was left before it was done, and how far it came.
pub fn tell(about: &str, stopped: Stopped) -> Result<Exit, Failure> {
    say(&format!("{about}: unknown; {}\n", how_far(stopped)))?;
    Ok(Exit::Unknown)
}

/// How far it came, and what would help.
pub fn how_far(Stopped(reason): Stopped) -> String {
    let read = match bytes_read() {
        0 => String::new(),
        bytes => format!(" after {} of input", amount(bytes)),
    };
    let help = match reason {
        Reason::Time => "; more --time may help",
        Reason::Memory if read.is_empty() => "; more --memory may help",
        Reason::Memory => {
            "; more --memory helps, or a log in a file with its --spec: it is checked from disk"
        }
        Reason::Interrupted => "",
    };
    format!("{reason}{read}{help}")
}

fn amount(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{bytes} bytes"),
        10_000..10_000_000 => format!("{} kB", bytes / 1000),
        _ => format!("{} MB", bytes / 1_000_000),
    }
}
