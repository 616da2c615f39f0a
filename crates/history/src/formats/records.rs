//! The records of a log in somebody else's format: JSON values, EDN forms, rows of a table.
//!
//! Nothing is known here of what a record means. A document that is one list of records gives its
//! items, one by one; every record comes with the line in which it begins.

use super::block::{Block, Line};
use super::edn::{Edn, Start};
use super::json::Json;
use crate::{InputError, Value};
use memchr::memchr_iter;
use seriatim_limits::InOrder;
use std::io::Read;

/// How records are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Notation {
    /// JSON: one value per line, values one after another, or one list of objects.
    Json,
    /// EDN: forms one after another, or in one vector or list.
    Edn,
    /// A table, its cells separated by this byte; cells may be quoted as in RFC 4180. The names of
    /// the columns stand in the first row, unless there are other names for them.
    Table(u8),
}

impl Notation {
    /// The notation of a text that begins so, where brackets and keys tell.
    ///
    /// ```
    /// use seriatim_history::Notation;
    /// assert_eq!(Notation::of(b"[{\"a\": 1}]"), Some(Notation::Json));
    /// assert_eq!(Notation::of(b"({:a 1})"), Some(Notation::Edn));
    /// assert_eq!(Notation::of(b"client,key"), None);
    /// ```
    pub fn of(prefix: &[u8]) -> Option<Notation> {
        let mut bytes = prefix.iter().copied().filter(|byte| !byte.is_ascii_whitespace());
        match bytes.next()? {
            b'(' | b';' | b'#' | b'^' => return Some(Notation::Edn),
            b'{' | b'[' => {}
            _ => return None,
        }
        match bytes.find(|byte| !matches!(byte, b'{' | b'['))? {
            b':' | b';' | b'#' | b'(' => Some(Notation::Edn),
            _ => Some(Notation::Json),
        }
    }
}

/// A record, and where it begins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    /// The line, counted from 1.
    pub line: u64,
    /// What it holds; a row of a table is a map from the names of the columns to texts.
    pub value: Value,
}

/// Reads records and hands them on, one by one. `columns` names the columns of a table whose first
/// row does not.
///
/// ```
/// use seriatim_history::{Notation, Value, read_records};
/// let mut lines = Vec::new();
/// let text = "[{\"a\": 1},\n {\"a\": 2}]";
/// read_records(text.as_bytes(), "log", Notation::Json, &[], &mut |record| {
///     lines.push(record.line);
///     Ok(())
/// })?;
/// assert_eq!(lines, [1, 2]);
/// # Ok::<(), seriatim_history::InputError>(())
/// ```
pub fn read_records(
    mut reader: impl Read,
    name: &str,
    notation: Notation,
    columns: &[String],
    take: &mut dyn FnMut(Record) -> Result<(), InputError>,
) -> Result<(), InputError> {
    let mut block = Block::new(&mut reader, name)?;
    match notation {
        Notation::Json => json(&mut block, take),
        Notation::Edn => edn(&mut block, take),
        Notation::Table(separator) => table(&mut block, separator, columns, take),
    }
}

type Take<'t> = &'t mut dyn FnMut(Record) -> Result<(), InputError>;

/// JSON in lines is read line by line; what is not in lines is read whole.
fn json(block: &mut Block<'_>, take: Take<'_>) -> Result<(), InputError> {
    let source = block.source();
    while let Some(line) = block.next_line()? {
        if line.is_blank() {
            continue;
        }
        let mut json = Json::of(line);
        let is_list = json.peek() == b'[' && begins_with_records(line.bytes);
        let value = match is_list {
            true => None,
            false => json.value(0).ok().filter(|_| json.end().is_ok()),
        };
        match value {
            Some(value) => take(Record { line: line.number, value })?,
            None => {
                let first = line.number;
                let mut text = line.bytes.to_vec();
                while let Some(line) = block.next_line()? {
                    text.push(b'\n');
                    text.extend(line.bytes);
                }
                return json_text(source, first, &text, take);
            }
        }
    }
    Ok(())
}

/// Whether a list holds records rather than being one: its first item is a list or an object, or it
/// goes on in the next line.
fn begins_with_records(line: &[u8]) -> bool {
    let mut bytes = line.iter().filter(|byte| !byte.is_ascii_whitespace());
    matches!((bytes.next(), bytes.next()), (Some(b'['), Some(b'{' | b'[' | b']') | None))
}

/// Values one after another, or lists of them, from some line on.
fn json_text(source: &str, first: u64, text: &[u8], take: Take<'_>) -> Result<(), InputError> {
    let mut json = Json::of(Line { source, number: first, bytes: text });
    let mut place = Place { line: first, at: 0, text };
    loop {
        // Commas between values are no mistake that would change their meaning.
        json.takes(b',');
        if json.is_at_end() {
            return Ok(());
        }
        let is_list = json.peek() == b'[' && begins_with_records(json.rest());
        if !is_list {
            record(&mut json, &mut place, take)?;
            continue;
        }
        json.take(b'[', "`[`")?;
        if json.takes(b']') {
            continue;
        }
        loop {
            record(&mut json, &mut place, take)?;
            if json.takes(b']') {
                break;
            }
            json.take(b',', "`,` or `]`").map_err(|error| place.of(&json, error))?;
        }
    }
}

fn record(json: &mut Json<'_>, place: &mut Place<'_>, take: Take<'_>) -> Result<(), InputError> {
    json.peek();
    let line = place.line_of(json);
    let value = json.value(0).map_err(|error| place.of(json, error))?;
    take(Record { line, value })
}

/// Which line of a text is reached.
struct Place<'t> {
    line: u64,
    at: usize,
    text: &'t [u8],
}

impl Place<'_> {
    fn line_of(&mut self, json: &Json<'_>) -> u64 {
        let at = json.position();
        self.line += memchr_iter(b'\n', &self.text[self.at.min(at)..at]).count() as u64;
        self.at = at.max(self.at);
        self.line
    }

    fn of(&mut self, json: &Json<'_>, error: InputError) -> InputError {
        InputError { line: self.line_of(json), ..error }
    }
}

fn edn(block: &mut Block<'_>, take: Take<'_>) -> Result<(), InputError> {
    let mut edn = Edn::of(block);
    loop {
        match edn.start()? {
            Start::End => return Ok(()),
            Start::List(close) => {
                edn.take_bracket();
                while edn.start()? != Start::Close(close) {
                    if edn.start()? == Start::End {
                        let expected = format!("a record or `{}`", char::from(close));
                        return Err(edn.block.expected(&expected));
                    }
                    form(&mut edn, take)?;
                }
                edn.take_bracket();
            }
            _ => form(&mut edn, take)?,
        }
    }
}

fn form(edn: &mut Edn<'_, '_>, take: Take<'_>) -> Result<(), InputError> {
    // The tag of a map (`#jepsen.history.Op{…}`) says nothing that its keys do not.
    edn.record()?;
    let line = edn.block.line_number();
    let value = edn.value(0)?;
    take(Record { line, value })
}

fn table(
    block: &mut Block<'_>,
    separator: u8,
    columns: &[String],
    take: Take<'_>,
) -> Result<(), InputError> {
    let source = block.source();
    let mut names: Vec<String> = columns.to_vec();
    while let Some((line, cells)) = row(block, separator)? {
        if names.is_empty() {
            names = cells;
            let mut sorted: Vec<&String> = names.iter().collect();
            sorted.put_in_order();
            if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
                return Err(InputError::syntax(source, line, "each column once", twice[0]));
            }
            continue;
        }
        if cells.len() != names.len() {
            let expected = format!("{} cells ({})", names.len(), names.join(", "));
            let found = format!("{} cells: {}", cells.len(), cells.join(", "));
            return Err(InputError::syntax(source, line, &expected, &found));
        }
        let entries =
            names.iter().zip(&cells).map(|(name, cell)| (Value::text(name), Value::text(cell)));
        take(Record { line, value: Value::map(entries) })?;
    }
    Ok(())
}

/// The next row that is not blank, with the line in which it begins.
fn row(block: &mut Block<'_>, separator: u8) -> Result<Option<(u64, Vec<String>)>, InputError> {
    let source = block.source();
    let (first, mut text) = loop {
        match block.next_line()? {
            None => return Ok(None),
            Some(line) if line.is_blank() => {}
            Some(line) => break (line.number, line.bytes.to_vec()),
        }
    };
    // A quoted cell may hold line ends: the row is whole when its quotes are even.
    while memchr_iter(b'"', &text).count() % 2 == 1 {
        match block.next_line()? {
            Some(line) => {
                text.push(b'\n');
                text.extend(line.bytes);
            }
            None => {
                let found = String::from_utf8_lossy(&text);
                return Err(InputError::syntax(
                    source,
                    first,
                    "`\"` at the end of a quoted cell",
                    &found,
                ));
            }
        }
    }
    let Ok(text) = String::from_utf8(text) else {
        return Err(InputError::syntax(source, first, "text in UTF-8", "other bytes"));
    };
    let cells = cells(&text, char::from(separator));
    let cells = cells.ok_or_else(|| {
        let expected = "cells that are quoted whole, with quotes in them doubled";
        InputError::syntax(source, first, expected, &text)
    })?;
    Ok(Some((first, cells)))
}

/// The cells of a row; `None` if something stands beside a quoted cell.
fn cells(text: &str, separator: char) -> Option<Vec<String>> {
    let mut cells = Vec::new();
    let mut rest = text;
    loop {
        let Some(quoted) = rest.strip_prefix('"') else {
            let (cell, after) = match rest.split_once(separator) {
                Some((cell, after)) => (cell, Some(after)),
                None => (rest, None),
            };
            cells.push(cell.to_owned());
            match after {
                Some(after) => rest = after,
                None => return Some(cells),
            }
            continue;
        };
        let (cell, after) = quoted_cell(quoted)?;
        cells.push(cell);
        match after.strip_prefix(separator) {
            Some(after) => rest = after,
            None if after.is_empty() => return Some(cells),
            None => return None,
        }
    }
}

/// A cell behind its opening quote, and what follows it.
fn quoted_cell(mut text: &str) -> Option<(String, &str)> {
    let mut cell = String::new();
    loop {
        let (part, after) = text.split_once('"')?;
        cell.push_str(part);
        match after.strip_prefix('"') {
            Some(more) => {
                cell.push('"');
                text = more;
            }
            None => return Some((cell, after)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, notation: Notation) -> Result<Vec<(u64, String)>, InputError> {
        let mut records = Vec::new();
        read_records(text.as_bytes(), "log", notation, &[], &mut |record| {
            records.push((record.line, record.value.to_string()));
            Ok(())
        })?;
        Ok(records)
    }

    #[test]
    fn records_are_the_same_however_a_document_is_laid_out() {
        let expected = ["{\"a\": 1}", "{\"a\": [2, 3]}", "{\"a\": nil}"];
        let layouts = [
            ("{\"a\":1}\n{\"a\":[2,3]}\n\n{\"a\":null}", [1, 2, 4]),
            ("[{\"a\":1},{\"a\":[2,3]},{\"a\":null}]", [1, 1, 1]),
            ("[\n{\"a\":1},\n{\"a\":\n[2,3]},{\"a\":null}]\n", [2, 3, 4]),
            ("{\"a\":\n1}{\"a\":[2,3]},\n{\"a\":null}", [1, 2, 3]),
        ];
        for (text, lines) in layouts {
            let records = read(text, Notation::Json).unwrap();
            assert_eq!(records.iter().map(|(line, _)| *line).collect::<Vec<_>>(), lines, "{text}");
            assert_eq!(records.iter().map(|(_, value)| value).collect::<Vec<_>>(), expected);
        }
        let edn = read("#a.B{:a 1}\n[{:a [2 3]}\n {:a nil}]", Notation::Edn).unwrap();
        assert_eq!(edn.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [1, 2, 3]);
    }

    #[test]
    fn an_error_names_the_line_in_which_it_is() {
        for (text, line) in
            [("[{\"a\":1},\n{\"a\" 2}]", 2), ("{\"a\":1}\n{\"a\":}\n", 2), ("[{}\n{}]", 2)]
        {
            assert_eq!(read(text, Notation::Json).unwrap_err().line, line, "{text}");
        }
    }

    #[test]
    fn cells_may_hold_separators_quotes_and_line_ends() {
        let text = "a,b\n\"x,\"\"y\"\"\nz\",\n 1 ,\"\"\n";
        let rows = read(text, Notation::Table(b',')).unwrap();
        assert_eq!(rows[0], (2, "{\"a\": \"x,\\\"y\\\"\\nz\", \"b\": \"\"}".to_owned()));
        assert_eq!(rows[1], (4, "{\"a\": \" 1 \", \"b\": \"\"}".to_owned()));
        for wrong in ["a,b\n1\n", "a,a\n", "a\n\"x\"y\n", "a\n\"x\n"] {
            assert!(read(wrong, Notation::Table(b',')).is_err(), "{wrong}");
        }
    }
}
