//! The limits of a command: one clock and one account of memory, whatever the command and its
//! engines do.

use super::amounts::{bytes, duration};
use super::output::{remark, say};
use super::{Exit, Failure};
use clap::Args;
use serde_json::json;
use seriatim::history::{bytes_read, harmless_json, path_in_line};
use seriatim::limits::guard::{self, LastWords};
use seriatim::limits::{Cancel, Reason, Stopped, forget_memory, stopped};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

/// What every command is given.
#[derive(Args, Clone, Copy)]
#[cfg_attr(test, derive(Debug))]
#[command(next_help_heading = "Limits")]
pub struct Limits {
    /// Stop after this time (90s, 5m, …), whatever the command is doing, and report what is known
    #[arg(long, global = true, value_name = "TIME", value_parser = duration)]
    pub(super) time: Option<Duration>,

    /// The memory that the process may use (500M, 8G, …), including reading. A log that does not
    /// fit is kept on disk where possible; otherwise the command stops and reports how far it got
    #[arg(long, global = true, value_name = "BYTES", default_value = "4G", value_parser = bytes)]
    memory: usize,
}

/// The memory that the process may use if nobody says.
const USUAL_MEMORY: usize = 4 << 30;

impl Default for Limits {
    fn default() -> Self {
        Limits { time: None, memory: USUAL_MEMORY }
    }
}

/// How the command answers, even if it has to stop.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// In words.
    Text,
    /// One object a line.
    Json,
    /// Beside standard output, which is for what the command writes.
    Beside,
}

/// What all of a process knows of its limits.
struct Known {
    limits: Limits,
    start: Instant,
    form: Form,
}

static KNOWN: OnceLock<Known> = OnceLock::new();
/// What the work is about, once that is known.
static ABOUT: Mutex<Option<String>> = Mutex::new(None);
/// Whether a log that does not fit in memory would go to disk if its specification were named.
static SPEC_HELPS: AtomicBool = AtomicBool::new(false);
/// How much had been read when the present attempt began: what is read again does not count twice.
static READ_BEFORE: AtomicU64 = AtomicU64::new(0);
/// What the command has come to so far: it is not forgotten if what comes next has to be ended.
static SO_FAR: Mutex<Exit> = Mutex::new(Exit::Holds);

impl Limits {
    /// Puts the process under these limits. Its time runs from `start`, and it answers in `form`.
    pub fn install(self, start: Instant, form: Form) -> Result<(), Failure> {
        KNOWN.get_or_init(|| Known { limits: self, start, form });
        let limits = guard::Limits { time: self.time, memory: Some(self.memory) };
        guard::install(limits, start)
            .map_err(|error| Failure(format!("the limits cannot be watched: {error}")))
    }
}

/// The time that is left, if there is a limit.
pub fn time_left() -> Option<Duration> {
    let known = KNOWN.get()?;
    Some(known.limits.time?.saturating_sub(known.start.elapsed()))
}

/// The memory limit, in bytes.
pub fn memory() -> usize {
    KNOWN.get().map_or(USUAL_MEMORY, |known| known.limits.memory)
}

fn form() -> Form {
    KNOWN.get().map_or(Form::Text, |known| known.form)
}

/// Does something about one thing, in the limits of the process. Memory that it gave up is there
/// for the next.
pub fn within<T>(work: impl FnOnce() -> T) -> Result<T, Stopped> {
    if stopped() == Some(Reason::Memory) {
        forget_memory();
        guard::give_back();
    }
    READ_BEFORE.store(bytes_read(), Ordering::Relaxed);
    Cancel::of_process().during(work)
}

/// Does something with each of some files, in the limits of the process. A file at which the work has
/// to be ended is told of, and so is every one after it; what was found in others stands.
pub fn each(
    paths: &[PathBuf],
    mut work: impl FnMut(&Path) -> Result<Exit, Failure>,
) -> Result<Exit, Failure> {
    let mut exit = Exit::Holds;
    for path in paths {
        let about = path_in_line(path);
        note(exit);
        prepare(&about);
        let done = within(|| work(path)).unwrap_or_else(|stopped| tell_of(&about, stopped))?;
        exit = exit.and(done);
    }
    Ok(exit)
}

/// What the command has come to so far.
pub fn note(exit: Exit) {
    if let Ok(mut so_far) = SO_FAR.lock() {
        *so_far = exit;
    }
}

/// What the command comes to if the rest is not known.
fn unknown() -> Exit {
    SO_FAR.lock().map_or(Exit::Unknown, |so_far| so_far.and(Exit::Unknown))
}

/// Prepares what is said of something if the work on it has to be ended.
pub fn prepare(about: &str) {
    if let Ok(mut current) = ABOUT.lock() {
        *current = Some(about.to_owned());
    }
    let (before, after) = match form() {
        Form::Text => (format!("{}: unknown; ", about.escape_debug()), "\n"),
        Form::Json => (unfinished(about, "unknown"), END),
        Form::Beside => return,
    };
    prepare_words(before, after, unknown());
}

/// Prepares what is said of something whose verdict is known, if the report on it has to be ended.
pub fn prepare_verdict(about: &str, verdict: &str, exit: Exit) {
    const WHY: &str = "the report is not complete: ";
    let (before, after) = match form() {
        Form::Text => (format!("\n{}: {verdict}; {WHY}", about.escape_debug()), "\n"),
        Form::Json => (format!("\n{}{WHY}", unfinished(about, verdict)), END),
        Form::Beside => return,
    };
    prepare_words(before, after, exit);
}

fn prepare_words(before: String, after: &str, exit: Exit) {
    let (after, exit) = (after.to_owned(), exit as u8);
    guard::prepare(LastWords { before, how_far: Some(say_how_far), after, exit });
}

/// Whoever lacks memory may be told to name the specification, so that the log goes to disk.
pub fn note_that_spec_helps() {
    SPEC_HELPS.store(true, Ordering::Relaxed);
}

/// Says that the work was left before it was done, and how far it came.
pub fn tell(stopped: Stopped) -> Result<Exit, Failure> {
    let about = ABOUT.lock().ok().and_then(|about| about.clone());
    tell_of(about.as_deref().unwrap_or("seriatim"), stopped)
}

/// Says that the work on something was left before it was done, and how far it came.
pub fn tell_of(about: &str, stopped: Stopped) -> Result<Exit, Failure> {
    let how_far = how_far(stopped);
    match form() {
        Form::Text => say(&format!("{about}: unknown; {how_far}\n"))?,
        Form::Json => say(&format!("{}{how_far}{END}", unfinished(about, "unknown")))?,
        Form::Beside => remark(&format!("{about}: unknown; {how_far}")),
    }
    Ok(unknown())
}

/// The beginning of a report on something that was not finished, up to the reason, which needs no
/// escapes: it may have to be said when there is no memory left to make it.
fn unfinished(about: &str, verdict: &str) -> String {
    let (about, verdict) = (json!(about).to_string(), json!(verdict));
    let about = harmless_json(&about);
    format!(r#"{{"schema":1,"verdict":{verdict},"source":{about},"reason":""#)
}

/// Its end.
const END: &str = "\"}\n";

/// How far it came, and what would help.
pub fn how_far(Stopped(reason): Stopped) -> String {
    let mut text = reason.text().to_owned();
    say_how_far(reason, &mut text).expect("a text takes everything");
    text
}

/// The same without the reason. Takes no memory of its own: there may be none.
fn say_how_far(reason: Reason, to: &mut dyn fmt::Write) -> fmt::Result {
    let read = bytes_read().saturating_sub(READ_BEFORE.load(Ordering::Relaxed));
    match read {
        0 => {}
        1..10_000 => write!(to, " after {read} bytes of input")?,
        10_000..10_000_000 => write!(to, " after {} kB of input", read / 1000)?,
        _ => write!(to, " after {} MB of input", read / 1_000_000)?,
    }
    to.write_str(match reason {
        Reason::Time => "; more --time may help",
        Reason::Memory if read == 0 => "; more --memory may help",
        Reason::Memory if SPEC_HELPS.load(Ordering::Relaxed) => {
            "; more --memory helps, or its --spec: then it is checked from disk"
        }
        Reason::Memory => "; more --memory helps",
        Reason::Interrupted => "",
    })
}
