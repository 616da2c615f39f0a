//! Where the bytes come from: files, standard input, compressed or not, and patterns of names.

use super::zstd::{self, ZstdReader};
use crate::{InputError, Problem, in_line};
use flate2::read::MultiGzDecoder;
use seriatim_limits::Patient;
use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The name of standard input in messages.
const STDIN: &str = "<stdin>";

/// The name of a source in messages: its path, or `<stdin>` for `-`.
pub fn name_of(path: &Path) -> String {
    match path.to_str() {
        Some("-") => STDIN.into(),
        _ => path_in_line(path),
    }
}

/// A path as part of a line, control characters written out: whoever named a file must not write
/// lines of a report.
pub fn path_in_line(path: &Path) -> String {
    in_line(&path.display().to_string())
}

/// Opens a file of a format that another crate knows.
type Opener = fn(&Path) -> io::Result<Box<dyn Read>>;

/// The formats that other crates know, by their first bytes.
static OPENERS: Mutex<Vec<([u8; 4], Opener)>> = Mutex::new(Vec::new());

/// Lets [`open`] hand files that begin with these bytes to an opener, which gives their content in
/// one of the formats that are read here.
pub fn decode(magic: [u8; 4], opener: Opener) {
    let mut openers = OPENERS.lock().unwrap_or_else(PoisonError::into_inner);
    if openers.iter().all(|&(known, _)| known != magic) {
        openers.push((magic, opener));
    }
}

/// The opener of a file, if another crate knows its format.
fn opener_of(path: &Path) -> io::Result<Option<Opener>> {
    let openers = OPENERS.lock().unwrap_or_else(PoisonError::into_inner).clone();
    if openers.is_empty() || !path.is_file() {
        return Ok(None);
    }
    let mut magic = Vec::new();
    File::open(path)?.take(4).read_to_end(&mut magic)?;
    Ok(openers.into_iter().find(|(known, _)| *known == magic[..]).map(|(_, opener)| opener))
}

/// Opens a file, or standard input for `-`, which is read once unless it is
/// [kept](super::keep_stdin). What gzip or zstd has compressed is recognised by its
/// first bytes and decompressed.
///
/// ```
/// let error = seriatim_history::open("no/such/file.jsonl").err().unwrap();
/// assert!(error.to_string().starts_with("no/such/file.jsonl: cannot read: "));
/// ```
pub fn open(path: impl AsRef<Path>) -> Result<Box<dyn Read>, InputError> {
    let path = path.as_ref();
    let opened = match path.to_str() {
        Some("-") => super::kept::stdin().and_then(decompressed),
        _ => opener_of(path).and_then(|opener| match opener {
            Some(opener) => opener(path),
            None => File::open(path).map(Patient::file).and_then(decompressed),
        }),
    };
    opened.map_err(|error| InputError::new(&name_of(path), 0, Problem::of_reading(&error)))
}

fn unreadable(path: &Path, reason: &str) -> InputError {
    InputError::new(&name_of(path), 0, Problem::Unreadable(reason.to_owned()))
}

/// The content of a source, decompressed if it is compressed.
pub(super) fn decompressed(mut input: impl Read + 'static) -> io::Result<Box<dyn Read>> {
    let mut magic = Vec::new();
    input.by_ref().take(4).read_to_end(&mut magic)?;
    let is_gzip = magic.starts_with(&[0x1f, 0x8b]);
    let is_zstd = zstd::begins_with(&magic);
    if magic == *b"PAR1" {
        let reason = "a Parquet file; they are read by name (not from standard input), and by a program that \
                      was built with the feature `parquet`";
        return Err(io::Error::new(io::ErrorKind::Unsupported, reason));
    }
    let whole = Cursor::new(magic).chain(input);
    Ok(if is_gzip {
        Box::new(MultiGzDecoder::new(whole))
    } else if is_zstd {
        Box::new(ZstdReader::new(whole))
    } else {
        Box::new(whole)
    })
}

/// The files that patterns name (`runs/*.edn`, `**` for folders of any depth), each pattern's in
/// alphabetical order. A pattern that names nothing is an error; `-` and names without `*`, `?` or
/// `[` stand for themselves.
///
/// ```
/// let files = seriatim_history::expand(["-", "src/lib*.rs"]).unwrap();
/// assert_eq!(files.len(), 2);
/// ```
pub fn expand<P: AsRef<str>>(
    patterns: impl IntoIterator<Item = P>,
) -> Result<Vec<PathBuf>, InputError> {
    let mut files = Vec::new();
    for pattern in patterns {
        let pattern = pattern.as_ref();
        let path = Path::new(pattern);
        if !pattern.contains(['*', '?', '[']) || path.exists() {
            files.push(path.to_owned());
            continue;
        }
        let found = glob::glob(pattern).map_err(|error| unreadable(path, error.msg))?;
        let before = files.len();
        for file in found {
            let file = file.map_err(|error| unreadable(path, &error.to_string()))?;
            files.extend(Some(file).filter(|file| !file.is_dir()));
        }
        if files.len() == before {
            return Err(unreadable(path, "no file fits this pattern"));
        }
    }
    Ok(files)
}
