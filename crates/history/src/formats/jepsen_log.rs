//! Jepsen's text logs: the lines in which `jepsen.util` logs the events.
//!
//! ```text
//! INFO  jepsen.util - 0  :invoke  :write  3
//! INFO  jepsen.util - 0  :ok  :write  3
//! ```
//!
//! Before `jepsen.util` there may be a date, a thread and a level, behind it `-` or `:`. Fields are
//! separated by tabs or blanks; the value, and the error that may follow it, are EDN. Every line
//! that names `jepsen.util` must be an event. Lines of other loggers, and lines without level that
//! follow one (a stack trace), are skipped; an annotation says how many. What the events mean is in
//! `jepsen.rs`.

use super::block::{Block, Line, expected_found};
use super::edn::{Edn, Start};
use super::fields::Fields;
use super::jepsen::{Event, Function, Jepsen, Keys, Kind};
use super::plain_edn;
use crate::{Builder, InputError, Value, ValueId};

const LOGGER: &[u8] = b"jepsen.util";
const LEVELS: [&[u8]; 6] = [b"INFO", b"WARN", b"ERROR", b"DEBUG", b"TRACE", b"FATAL"];

/// Reads a log.
pub(super) fn read(
    block: &mut Block<'_>,
    builder: &mut Builder,
    keys: Keys,
) -> Result<(), InputError> {
    let mut jepsen = Jepsen::new(builder, block.source(), keys);
    let mut skipped = 0u64;
    let mut after_skipped = false;
    while let Some(line) = block.next_line()? {
        if line.is_blank() {
            continue;
        }
        if let Some(at) = memchr::memmem::find(line.bytes, LOGGER) {
            jepsen.builder.between_records();
            let event = event(line, &line.bytes[at + LOGGER.len()..], &mut jepsen)?;
            jepsen.event(event)?;
            after_skipped = false;
        } else if has_level(line.bytes) || after_skipped {
            skipped += 1;
            after_skipped = true;
        } else {
            let expected = "a line of the log: `INFO  jepsen.util - process :type :f value`";
            return Err(line.expected(expected, line.bytes));
        }
    }
    jepsen.finish();
    if skipped > 0 {
        let text = format!("{skipped} lines of other loggers were skipped");
        builder.annotate_now("reader", &text);
    }
    Ok(())
}

/// Whether a line names the level of a log message among its first words.
pub(super) fn has_level(line: &[u8]) -> bool {
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    words.by_ref().take(4).any(|word| LEVELS.contains(&word))
}

fn event<'l>(
    line: Line<'l>,
    rest: &'l [u8],
    jepsen: &mut Jepsen<'_>,
) -> Result<Event<'l>, InputError> {
    let rest = rest.strip_prefix(b":").unwrap_or(rest).trim_ascii_start();
    let rest = rest.strip_prefix(b"- ").unwrap_or(rest);
    if let Some(event) = plain_edn::logged(rest, line.number, jepsen.builder.values()) {
        return Ok(event);
    }
    let mut fields = Fields::of(line.with_bytes(rest));
    let process = fields.word();
    let kind = fields.word();
    let kind = kind.strip_prefix(b":").and_then(Kind::named).ok_or_else(|| {
        line.expected("`process :invoke|:ok|:fail|:info :f value` after jepsen.util", rest)
    })?;
    let process = forms(line, process)?;
    let [process] = &process[..] else {
        return Err(line.expected("the process", rest));
    };
    let values = jepsen.builder.values();
    let process = values.intern(process);
    let mut forms = forms(line, fields.rest())?.into_iter();
    let Some(f) = forms.next() else {
        return Err(line.expected("the operation's name, such as `:read`", b""));
    };
    let value = forms.next().map_or(ValueId::ABSENT, |value| values.intern(&value));
    let error = Value::Name("error".into());
    let extras = forms.next().map(|value| (error, value)).into_iter().collect();
    if forms.next().is_some() {
        let expected = "at most a value and an error behind the operation's name";
        return Err(line.expected(expected, fields.rest()));
    }
    let f = Function::Form(f);
    Ok(Event { process, kind, f, value, extras, ..Event::at(line.number) })
}

/// The EDN forms of a piece of a line.
fn forms(line: Line<'_>, text: &[u8]) -> Result<Vec<Value>, InputError> {
    let mut nothing = std::io::empty();
    let in_line = |error: InputError| InputError { line: line.number, ..error };
    let mut block = Block::of_text(text, &mut nothing, line.source);
    let mut edn = Edn::of(&mut block);
    let mut forms = Vec::new();
    while edn.start().map_err(in_line)? != Start::End {
        forms.push(edn.value(0).map_err(in_line)?);
        if forms.len() > 3 {
            return Err(expected_found(line.source, line.number, "at most three forms", text));
        }
    }
    Ok(forms)
}
