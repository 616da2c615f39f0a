//! Where the command speaks: standard output for what was asked for, standard error for the rest.
//!
//! A reader that goes away (`| head`) has had enough: that is neither a failure nor a reason to
//! decide less, so what it would have read is dropped and the exit code stays what it is. Files are
//! written whole or not at all.

use super::Failure;
use seriatim::History;
use seriatim::history::{Format, WriteError, is_harmful, path_in_line, write};
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::Path;

/// A text that was made for a terminal or a program: colours are in it on purpose, and whoever made
/// it has escaped what came from outside.
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

/// The text with control characters written out, and with those that change the direction of
/// writing or cannot be seen. Names, values and messages come from logs and files of strangers:
/// they must not move the cursor, change colours, overwrite a verdict or make it read backwards.
fn harmless(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\t' => clean.push(character),
            _ if is_harmful(character) => clean.extend(character.escape_unicode()),
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

fn write_file(history: &History, format: Format, path: &Path) -> Result<(), Failure> {
    write_whole(path, |mut out| match write(history, format, &mut out) {
        Err(WriteError::Io(error)) => Err(Unwritten::Io(error)),
        Err(error) => Err(Unwritten::Other(format!("{}: {error}", history.source()))),
        Ok(()) => Ok(()),
    })
}

/// Writes something to a file, and says where it is.
pub fn write_and_tell(path: &Path, text: &str, what: &str) -> Result<(), Failure> {
    write_bytes(path, text)?;
    remark(&format!("the {what} is in {}", path_in_line(path)));
    Ok(())
}

/// Why a file could not be written.
pub enum Unwritten {
    /// The disk is in the way.
    Io(io::Error),
    /// What was to be written cannot be.
    Other(String),
}

impl From<io::Error> for Unwritten {
    fn from(error: io::Error) -> Self {
        Unwritten::Io(error)
    }
}

/// Writes a file whole or not at all: under another name first, which becomes the file's own when
/// everything is written. Who reads the file meanwhile, or after the process was stopped or killed,
/// sees what was there before.
///
/// What is no file (a pipe, a terminal) is written to as it is: it has no other name.
pub fn write_whole(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<(), Unwritten>,
) -> Result<(), Failure> {
    let written = match path.metadata() {
        Ok(found) if !found.is_file() => File::create(path)
            .map_err(Unwritten::Io)
            .and_then(|file| write_to(file, write).map(drop)),
        // A link stays one; the file that it names is what is written anew.
        _ => replace(&path.canonicalize().unwrap_or_else(|_| path.to_owned()), write),
    };
    written.map_err(|unwritten| match unwritten {
        Unwritten::Io(error) => Failure(format!("{}: cannot write: {error}", path_in_line(path))),
        Unwritten::Other(reason) => Failure(reason),
    })
}

fn replace(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<(), Unwritten>,
) -> Result<(), Unwritten> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    let temporary = path.with_file_name(name);
    let file = OpenOptions::new().write(true).create_new(true).open(&temporary)?;
    let written = write_to(file, write).and_then(|file| {
        // The permissions of a file that is replaced are kept.
        if let Ok(found) = path.metadata() {
            file.set_permissions(found.permissions())?;
        }
        Ok(std::fs::rename(&temporary, path)?)
    });
    if written.is_err() {
        // What could not be written is what is reported, not the tidying up.
        let _ = std::fs::remove_file(&temporary);
    }
    written
}

fn write_to(
    file: File,
    write: impl FnOnce(&mut dyn Write) -> Result<(), Unwritten>,
) -> Result<File, Unwritten> {
    let mut out = BufWriter::new(file);
    write(&mut out)?;
    out.into_inner().map_err(|error| Unwritten::Io(error.into_error()))
}

/// The number of a line in a report for programs: 0 stands for one that is not known.
pub fn recorded_line(line: u64) -> Option<u64> {
    (line != 0).then_some(line)
}

/// Writes a text or bytes that are there already to a file, whole or not at all.
pub fn write_bytes(path: &Path, bytes: impl AsRef<[u8]>) -> Result<(), Failure> {
    write_whole(path, |out| Ok(out.write_all(bytes.as_ref())?))
}

fn write_all(history: &History, format: Format, out: impl Write) -> Result<(), WriteError> {
    let mut out = BufWriter::new(out);
    write(history, format, &mut out)?;
    out.flush().map_err(WriteError::Io)
}

/// Writes a history with a writer of another crate.
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
        Some(path) => write_bytes(path, bytes),
        None => match std::io::stdout().lock().write_all(&bytes) {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => {
                Err(Failure(format!("standard output: cannot write: {error}")))
            }
            _ => Ok(()),
        },
    }
}
