//! Where the command speaks: standard output for what was asked for, standard error for the rest.
//!
//! A reader that goes away (`| head`) has had enough: that is neither a failure nor a reason to decide
//! less, so what it would have read is dropped and the exit code stays what it is.

use super::Failure;
use seriatim::History;
use seriatim::history::{Format, WriteError, write};
use std::fs::File;
use std::io::{BufWriter, ErrorKind, Write};
use std::path::Path;

/// A text that was made for a terminal or a program: colours are in it on purpose, and whoever made it has escaped
/// what came from outside.
pub struct Rendered(pub String);

/// Prints a text that was made for standard output as it is.
pub fn say_rendered(Rendered(text): &Rendered) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure(format!("standard output: cannot write: {error}")))
        }
        _ => Ok(()),
    }
}

/// Prints a text on standard output, in which nothing is for the terminal to obey.
pub fn say(text: &str) -> Result<(), Failure> {
    say_rendered(&Rendered(harmless(text)))
}

/// The text with control characters written out, and with those that change the direction of writing or cannot be
/// seen. Names, values and messages come from logs and files of strangers: they must not move the cursor, change
/// colours, overwrite a verdict or make it read backwards.
fn harmless(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\t' => clean.push(character),
            '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                clean.extend(character.escape_unicode());
            }
            _ if character.is_control() => clean.extend(character.escape_unicode()),
            _ => clean.push(character),
        }
    }
    clean
}

/// How much is told.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// The verdict alone.
    Verdict,
    /// Each claim, and the run that contradicts one.
    Claims,
}

/// Prints a line on standard error. If nobody can hear it, there is nobody to tell.
pub fn remark(line: &str) {
    let _ = writeln!(std::io::stderr(), "{}", harmless(line));
}

/// Writes a history to a file, or to standard output without one.
pub fn write_history(
    history: &History,
    format: Format,
    file: Option<&Path>,
) -> Result<(), Failure> {
    match file {
        Some(path) => write_file(history, format, path),
        None => match write_all(history, format, std::io::stdout().lock()) {
            Err(WriteError::Io(error)) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            Err(error) => Err(Failure(format!("{}: {error}", history.source()))),
            Ok(()) => Ok(()),
        },
    }
}

/// Writes a file; half a history is not left behind.
fn write_file(history: &History, format: Format, path: &Path) -> Result<(), Failure> {
    let unwritable = |error| Failure(format!("{}: cannot write: {error}", path.display()));
    let file = File::create(path).map_err(unwritable)?;
    let is_regular = file.metadata().map_err(unwritable)?.is_file();
    write_all(history, format, file).map_err(|error| {
        if is_regular {
            // The history could not be written: that is what is reported, not the tidying up.
            let _ = std::fs::remove_file(path);
        }
        match error {
            WriteError::Io(error) => unwritable(error),
            error => Failure(format!("{}: {error}", history.source())),
        }
    })
}

fn write_all(history: &History, format: Format, out: impl Write) -> Result<(), WriteError> {
    let mut out = BufWriter::new(out);
    write(history, format, &mut out)?;
    out.flush().map_err(WriteError::Io)
}

/// Writes a history with a writer of another crate; half a file is not left behind.
#[cfg(feature = "parquet")]
pub fn write_with<E: std::fmt::Display>(
    history: &History,
    file: Option<&Path>,
    write: impl Fn(&History, &mut Vec<u8>) -> Result<(), E>,
) -> Result<(), Failure> {
    let mut bytes = Vec::new();
    write(history, &mut bytes)
        .map_err(|error| Failure(format!("{}: {error}", history.source())))?;
    match file {
        Some(path) => std::fs::write(path, bytes).map_err(|error| {
            if path.is_file() {
                // What is reported is the failure to write, not the tidying up.
                let _ = std::fs::remove_file(path);
            }
            Failure(format!("{}: cannot write: {error}", path.display()))
        }),
        None => match std::io::stdout().lock().write_all(&bytes) {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => {
                Err(Failure(format!("standard output: cannot write: {error}")))
            }
            _ => Ok(()),
        },
    }
}
