//! The file formats: one file each, all read as streams through one [`Builder`].
//!
//! | format | files |
//! | --- | --- |
//! | our JSON Lines | `jsonl.rs`, `plain_line.rs`, `chunks.rs`, `jsonl_write.rs`, `field.rs`, `json.rs` |
//! | Jepsen's EDN, Porcupine's key-value logs | `jepsen_edn.rs`, `jepsen.rs`, `plain_edn.rs`, `edn.rs`, `edn_write.rs` |
//! | Jepsen's text logs | `jepsen_log.rs` |
//! | anything else, as records for those who know what they mean | `records.rs` |
//! | logs of LiMo, PolyLin, fptlin, ahorn's checker | `limo.rs`, `polylin.rs`, `fptlin.rs`, `ahorn.rs` |
//!
//! Reading needs the memory of the history and of one block of the source. `docs/format.md`
//! describes our own format and what we make of the others.

mod ahorn;
mod block;
mod chunks;
mod detect;
mod edn;
mod edn_token;
mod edn_write;
mod field;
mod fields;
mod fptlin;
mod jepsen;
mod jepsen_edn;
mod jepsen_log;
mod json;
mod jsonl;
mod jsonl_write;
mod kept;
mod limo;
mod literal;
mod plain_edn;
mod plain_line;
mod polylin;
mod records;
mod source;
mod write;
mod zstd;

pub use block::bytes_read;
pub use json::{write_string, write_value};
pub use kept::{is_stdin_kept, keep_stdin};
pub use literal::{edn_value, json_value};
pub use records::{Notation, Record, read_records};
pub use source::{decode, expand, name_of, open, path_in_line};
pub use write::{Inexpressible, WriteError, write};

use crate::{Builder, Conventions, History, InputError, Problem};
use block::Block;
use jepsen::Keys;
use std::fmt;
use std::io::{self, Read};
use std::path::Path;
use std::str::FromStr;

/// A file format.
///
/// ```
/// use seriatim_history::Format;
/// assert_eq!("edn".parse(), Ok(Format::Edn));
/// assert_eq!(Format::JsonLines.to_string(), "jsonl");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Format {
    /// Our own format, one operation per line (see `docs/format.md`); reads events as well.
    JsonLines,
    /// Our own format, written one event per line; reads operations as well.
    JsonEvents,
    /// Jepsen's histories: maps, one after another or in one vector.
    Edn,
    /// Porcupine's key-value logs: Jepsen's maps with a `:key`, `get`, `put` and `append`.
    Porcupine,
    /// Jepsen's text logs.
    JepsenLog,
    /// The logs of LiMo.
    LiMo,
    /// The logs of PolyLin.
    PolyLin,
    /// The logs of fptlin.
    Fptlin,
    /// The set logs of ahorn's checker.
    Ahorn,
}

impl Format {
    /// All formats with their names.
    pub const ALL: [(Format, &'static str); 9] = [
        (Format::JsonLines, "jsonl"),
        (Format::JsonEvents, "jsonl-events"),
        (Format::Edn, "edn"),
        (Format::Porcupine, "porcupine"),
        (Format::JepsenLog, "jepsen-log"),
        (Format::LiMo, "limo"),
        (Format::PolyLin, "polylin"),
        (Format::Fptlin, "fptlin"),
        (Format::Ahorn, "ahorn"),
    ];
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = Format::ALL.iter().find(|(format, _)| format == self);
        f.write_str(named.map_or("", |(_, name)| name))
    }
}

/// A name that no format has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownFormatName(String);

impl fmt::Display for UnknownFormatName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Format::ALL.map(|(_, name)| name).join(", ");
        write!(f, "there is no format `{}`; expected one of: {names}", self.0)
    }
}

impl std::error::Error for UnknownFormatName {}

impl FromStr for Format {
    type Err = UnknownFormatName;

    fn from_str(name: &str) -> Result<Self, UnknownFormatName> {
        let named = |(_, known): &&(Format, &str)| known.eq_ignore_ascii_case(name);
        let found = Format::ALL.iter().find(named);
        found.map(|&(format, _)| format).ok_or_else(|| UnknownFormatName(name.to_owned()))
    }
}

/// How to read a source.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReadOptions {
    /// The format; detected from the first bytes when `None`.
    pub format: Option<Format>,
    /// Jepsen's `independent` workloads: `:value` is `[key value]` and each key is an object of its
    /// own.
    pub independent: bool,
}

/// Reads a history from a file (`-` is standard input), its format detected.
///
/// Nothing at all, or nothing but blanks, is an empty history.
pub fn read(path: impl AsRef<Path>) -> Result<History, InputError> {
    read_with(path, ReadOptions::default())
}

/// Reads a history from a file (`-` is standard input).
pub fn read_with(path: impl AsRef<Path>, options: ReadOptions) -> Result<History, InputError> {
    read_on(path, options, 1)
}

/// Reads a history from a file (`-` is standard input), a long one on several threads where the
/// format allows. It is the same history, to the last id, however many there are.
pub fn read_on(
    path: impl AsRef<Path>,
    options: ReadOptions,
    threads: usize,
) -> Result<History, InputError> {
    let path = path.as_ref();
    let name = name_of(path);
    let mut builder = Builder::new(&name);
    read_into(open(path)?, &name, options, threads, &mut builder)?;
    builder.finish()
}

/// Reads a history from the bytes of a file, for whoever has no files: a page that a log is dropped
/// on. What gzip or zstd has compressed is decompressed; `name` is for messages.
///
/// ```
/// use seriatim_history::{ReadOptions, read_bytes};
/// let log = br#"{"process":0,"op":"write","arg":1,"call":1,"return":2}"#;
/// assert_eq!(read_bytes(log.to_vec(), "run.jsonl", ReadOptions::default()).unwrap().len(), 1);
/// ```
pub fn read_bytes(bytes: Vec<u8>, name: &str, options: ReadOptions) -> Result<History, InputError> {
    let unreadable = |error: io::Error| InputError::new(name, 0, Problem::of_reading(&error));
    read_from(unpacked(bytes).map_err(unreadable)?, name, options)
}

/// The content of a file that is at hand: what gzip or zstd has compressed is decompressed as it is
/// read.
pub fn unpacked(bytes: Vec<u8>) -> io::Result<Box<dyn Read>> {
    source::decompressed(io::Cursor::new(bytes))
}

/// Reads a history from a text, its format detected.
///
/// ```
/// use seriatim_history::read_str;
/// let text = r#"{"process":0,"op":"write","arg":1,"call":1,"return":2}"#;
/// let history = read_str(text).unwrap();
/// assert_eq!(history.operations().next().unwrap().to_string(), "write(1)");
/// let error = read_str("[1] call push(7)\n[2] return\n").unwrap_err();
/// assert_eq!(error.line, 2);
/// ```
pub fn read_str(text: &str) -> Result<History, InputError> {
    read_from(text.as_bytes(), "<text>", ReadOptions::default())
}

/// Reads a history from a stream of bytes; `name` is for messages.
///
/// ```
/// use seriatim_history::{Format, ReadOptions, read_from};
/// let bytes = &b"# stack\npush 1 1 2\npop 1 3 4\n"[..];
/// let options = ReadOptions { format: Some(Format::PolyLin), ..ReadOptions::default() };
/// let history = read_from(bytes, "example", options).unwrap();
/// assert_eq!((history.len(), history.spec()), (2, Some("stack")));
/// ```
pub fn read_from(
    reader: impl Read,
    name: &str,
    options: ReadOptions,
) -> Result<History, InputError> {
    let mut builder = Builder::new(name);
    read_into(reader, name, options, 1, &mut builder)?;
    builder.finish()
}

/// Reads a history into a builder.
pub(crate) fn read_into(
    mut reader: impl Read,
    name: &str,
    options: ReadOptions,
    threads: usize,
    builder: &mut Builder,
) -> Result<(), InputError> {
    let mut block = Block::new(&mut reader, name)?;
    let format = match options.format {
        Some(format) => Some(format),
        None => detect::detect(block.prefix(detect::ENOUGH)?)
            .map_err(|problem| InputError::new(name, 1, problem))?,
    };
    let keys = match options.independent {
        true => Keys::Independent,
        false => Keys::Plain,
    };
    match format {
        Some(Format::JsonLines | Format::JsonEvents) => jsonl::read(&mut block, builder, threads)?,
        Some(Format::Edn | Format::Porcupine) => {
            builder.follow(edn_write::conventions(block.prefix(edn_write::HEAD)?));
            builder.measure_in(jepsen::TIMESCALE);
            jepsen_edn::read(&mut block, builder, keys)?;
        }
        Some(Format::JepsenLog) => {
            builder.follow(Conventions::JEPSEN);
            jepsen_log::read(&mut block, builder, keys)?;
        }
        Some(Format::LiMo) => limo::read(&mut block, builder)?,
        Some(Format::PolyLin) => polylin::read(&mut block, builder)?,
        Some(Format::Fptlin) => fptlin::read(&mut block, builder)?,
        Some(Format::Ahorn) => ahorn::read(&mut block, builder)?,
        None => only_blanks(&mut block)?,
    }
    Ok(())
}

/// Detection found blanks only, as far as it looks: there must not be more behind them.
fn only_blanks(block: &mut Block<'_>) -> Result<(), InputError> {
    while let Some(line) = block.next_line()? {
        if !line.is_blank() {
            return Err(line.expected("a history that begins within the first 64 KiB", line.bytes));
        }
    }
    Ok(())
}
