//! Reading a Parquet file as lines of our JSON Lines.
//!
//! Row after row becomes a line, so that the reader of JSON Lines checks everything that it checks
//! anyway and names the row by its line (the header and annotations stand before the first row).
//! Memory: one page of each column and one line.

use crate::{COLUMNS, HEAD, footer};
use parquet::basic::ConvertedType;
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, FileReader, SerializedFileReader};
use parquet::record::reader::RowIter;
use parquet::record::{Field, Row};
use parquet::schema::types::SchemaDescriptor;
use seriatim_history::{failure_behind, write_string};
use std::cell::Cell;
use std::io::{self, Error, ErrorKind, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};

/// The lines of a Parquet file.
///
/// ```no_run
/// use seriatim_history::{ReadOptions, read_from};
/// let file = std::fs::File::open("run.parquet")?;
/// let lines = seriatim_parquet::Lines::of(file)?;
/// let history = read_from(lines, "run.parquet", ReadOptions::default())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Lines {
    rows: RowIter<'static>,
    /// How the values of each column are written.
    columns: Vec<Notation>,
    line: Vec<u8>,
    taken: usize,
}

/// How the values of a column are written as JSON.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Notation {
    /// They are JSON already.
    Json,
    /// As what they are.
    Plain,
}

/// What the Parquet library says is wrong with a file, or with the system.
fn failed(error: ParquetError) -> Error {
    failure_behind(&error).unwrap_or_else(|| wrong(error))
}

fn wrong(reason: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::InvalidData, format!("not a Parquet file that holds a history: {reason}"))
}

thread_local! {
    /// Whether this thread asks the Parquet library.
    static ASKING: Cell<bool> = const { Cell::new(false) };
}

/// Panics of the Parquet library, which become errors, are not reported to the present panic hook
/// from now on.
pub fn hush() {
    let report = take_hook();
    set_hook(Box::new(move |panic| {
        if !ASKING.get() {
            report(panic);
        }
    }));
}

/// What the Parquet library says of a file. It may panic on a damaged one: that is an error as
/// well.
fn asked<T>(ask: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, ParquetError> {
    ASKING.set(true);
    let outcome = catch_unwind(AssertUnwindSafe(ask));
    ASKING.set(false);
    outcome.unwrap_or_else(|_| Err(ParquetError::General("damaged".to_owned())))
}

impl Lines {
    /// The lines of a file.
    pub fn of(file: impl ChunkReader + 'static) -> io::Result<Self> {
        footer::look_at(&file).map_err(wrong)?;
        let reader = asked(|| SerializedFileReader::new(file)).map_err(failed)?;
        let metadata = reader.metadata().file_metadata();
        let entries = metadata.key_value_metadata().map(Vec::as_slice).unwrap_or_default();
        let head = entries.iter().find(|entry| entry.key == HEAD);
        let mut head = head.and_then(|entry| entry.value.clone()).unwrap_or_default();
        if !head.is_empty() && !head.ends_with('\n') {
            head.push('\n');
        }
        let columns = notations(metadata.schema_descr()).map_err(wrong)?;
        let rows = RowIter::from_file_into(Box::new(reader));
        Ok(Lines { rows, columns, line: head.into_bytes(), taken: 0 })
    }

    fn write(&mut self, row: &Row) -> io::Result<()> {
        self.line.clear();
        self.line.push(b'{');
        for ((name, field), &notation) in row.get_column_iter().zip(&self.columns) {
            if *field == Field::Null {
                continue;
            }
            if self.line.len() > 1 {
                self.line.push(b',');
            }
            write_string(&mut self.line, name)?;
            self.line.push(b':');
            let written = write_field(&mut self.line, field, notation);
            written.map_err(|reason| wrong(format!("column `{name}`: {reason}")))?;
        }
        self.line.extend_from_slice(b"}\n");
        Ok(())
    }
}

/// How the values of the columns are written; which columns there are is checked.
fn notations(schema: &SchemaDescriptor) -> Result<Vec<Notation>, String> {
    let mut columns = Vec::new();
    let mut seen = Vec::new();
    for column in schema.columns() {
        let name = column.path().string();
        if !COLUMNS.contains(&&name[..]) {
            return Err(format!("column `{name}`; expected columns among {}", COLUMNS.join(", ")));
        }
        if seen.contains(&name) {
            return Err(format!("two columns `{name}`"));
        }
        seen.push(name);
        columns.push(match column.converted_type() {
            ConvertedType::JSON => Notation::Json,
            _ => Notation::Plain,
        });
    }
    match ["op", "call"].iter().find(|&&needed| seen.iter().all(|name| name != needed)) {
        Some(missing) => Err(format!("no column `{missing}`")),
        None => Ok(columns),
    }
}

fn write_field(line: &mut Vec<u8>, field: &Field, notation: Notation) -> io::Result<()> {
    match (field, notation) {
        (Field::Str(text), Notation::Json) => write_json(line, text.as_bytes()),
        (Field::Bytes(bytes), Notation::Json) => write_json(line, bytes.data()),
        (Field::Str(text), Notation::Plain) => write_string(line, text),
        (Field::Bool(truth), _) => write!(line, "{truth}"),
        (Field::Byte(number), _) => write!(line, "{number}"),
        (Field::Short(number), _) => write!(line, "{number}"),
        (Field::Int(number), _) => write!(line, "{number}"),
        (Field::Long(number), _) => write!(line, "{number}"),
        (Field::UByte(number), _) => write!(line, "{number}"),
        (Field::UShort(number), _) => write!(line, "{number}"),
        (Field::UInt(number), _) => write!(line, "{number}"),
        (Field::ULong(number), _) => write!(line, "{number}"),
        (Field::Bytes(bytes), Notation::Plain) => match std::str::from_utf8(bytes.data()) {
            Ok(text) => write_string(line, text),
            Err(_) => Err(Error::other("bytes that are not UTF-8")),
        },
        (other, _) => Err(Error::other(format!(
            "a value {other}; expected whole numbers, booleans, texts or JSON"
        ))),
    }
}

/// Writes a JSON text that is one value. The reader of lines checks its grammar; what it cannot see
/// is whether the text ends the field and begins another, so that is looked at here: no line ends,
/// and no comma, colon or closing bracket outside of brackets and strings.
fn write_json(line: &mut Vec<u8>, text: &[u8]) -> io::Result<()> {
    let (mut depth, mut in_string, mut escaped) = (0u32, false, false);
    let mut is_one = !text.contains(&b'\n');
    for &byte in text {
        match (in_string, byte) {
            (true, _) if escaped => escaped = false,
            (true, b'\\') => escaped = true,
            (_, b'"') => in_string = !in_string,
            (true, _) => {}
            (false, b'[' | b'{') => depth += 1,
            (false, b']' | b'}') if depth > 0 => depth -= 1,
            (false, b']' | b'}') => is_one = false,
            (false, b',' | b':') => is_one &= depth > 0,
            (false, _) => {}
        }
    }
    if !is_one || depth > 0 || in_string {
        let found = String::from_utf8_lossy(&text[..text.len().min(64)]).into_owned();
        return Err(Error::other(format!("expected one JSON value on one line, found {found:?}")));
    }
    line.write_all(text)
}

impl Read for Lines {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.taken == self.line.len() {
            let rows = &mut self.rows;
            let Some(row) = asked(|| rows.next().transpose()).map_err(failed)? else {
                return Ok(0);
            };
            self.taken = 0;
            self.write(&row)?;
        }
        let rest = &self.line[self.taken..];
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.taken += count;
        Ok(count)
    }
}
