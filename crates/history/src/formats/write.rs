//! Writing histories, and what the writers share.
//!
//! A writer refuses what its format cannot say about operations: nothing is dropped silently that a
//! verdict could depend on. What is only for display (notes, annotations, recorded times) is
//! written where the format has a place for it.

use super::{Format, edn_write, jsonl_write, limo, polylin};
use crate::{Event, History, OpId, Operation, ProcessId, Value, ValueId};
use std::fmt;
use std::io::{self, Write};

/// Why a history was not written.
#[derive(Debug)]
#[non_exhaustive]
pub enum WriteError {
    /// The output could not be written.
    Io(io::Error),
    /// The format cannot express the history.
    Inexpressible(Inexpressible),
    /// There is no writer for this format.
    NoWriter(Format),
}

/// What a format cannot express.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inexpressible {
    /// The format.
    pub format: Format,
    /// The operation that it has no words for; `None` when it is the history as a whole.
    pub operation: Option<String>,
    /// The line of that operation in its own source; 0 when unknown.
    pub line: u64,
    /// What the format would need.
    pub reason: String,
}

impl Inexpressible {
    /// A whole history is inexpressible.
    pub(super) fn whole(format: Format, reason: &str) -> WriteError {
        WriteError::Inexpressible(Inexpressible {
            format,
            operation: None,
            line: 0,
            reason: reason.into(),
        })
    }

    /// An operation is inexpressible.
    pub(super) fn of(format: Format, operation: Operation<'_>, reason: &str) -> WriteError {
        WriteError::Inexpressible(Inexpressible {
            format,
            operation: Some(operation.to_string()),
            line: operation.line(),
            reason: reason.into(),
        })
    }
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WriteError::Io(error) => write!(f, "cannot write: {error}"),
            WriteError::Inexpressible(what) => {
                write!(f, "the format {} cannot express ", what.format)?;
                match (&what.operation, what.line) {
                    (None, _) => write!(f, "this history: {}", what.reason),
                    (Some(operation), 0) => write!(f, "`{operation}`: {}", what.reason),
                    (Some(operation), line) => {
                        write!(f, "`{operation}` (read from line {line}): {}", what.reason)
                    }
                }
            }
            WriteError::NoWriter(format) => write!(
                f,
                "there is no writer for {format}; expected jsonl, jsonl-events, edn, porcupine, \
                 limo or polylin"
            ),
        }
    }
}

impl std::error::Error for WriteError {}

impl From<io::Error> for WriteError {
    fn from(error: io::Error) -> Self {
        WriteError::Io(error)
    }
}

/// Writes a history in a format.
///
/// ```
/// use seriatim_history::{Format, read_str, write};
/// let history = read_str("# @object atomic-queue\n[0] call enq(7)\n[0] return\n").unwrap();
/// let mut text = Vec::new();
/// write(&history, Format::JsonLines, &mut text).unwrap();
/// assert_eq!(
///     String::from_utf8(text).unwrap(),
///     "{\"seriatim\":1,\"spec\":\"queue\"}\n\
///      {\"process\":0,\"op\":\"enq\",\"arg\":7,\"call\":0,\"return\":1}\n"
/// );
/// ```
pub fn write(history: &History, format: Format, out: &mut impl Write) -> Result<(), WriteError> {
    let mut out = io::BufWriter::with_capacity(64 << 10, out);
    match format {
        Format::JsonLines => jsonl_write::operations(history, &mut out)?,
        Format::JsonEvents => jsonl_write::events(history, &mut out)?,
        Format::Edn => edn_write::edn(history, &mut out)?,
        Format::Porcupine => edn_write::porcupine(history, &mut out)?,
        Format::LiMo => limo::write(history, &mut out)?,
        Format::PolyLin => polylin::write(history, &mut out)?,
        Format::JepsenLog | Format::Fptlin | Format::Ahorn => {
            return Err(WriteError::NoWriter(format));
        }
    }
    out.flush()?;
    Ok(())
}

/// Checks that an operation has neither object nor key.
pub(super) fn only_arg_and_result(
    format: Format,
    operation: Operation<'_>,
) -> Result<(), WriteError> {
    if operation.object().is_present() || operation.key().is_present() {
        let reason = "operations have a value and nothing else: no key, no object";
        return Err(Inexpressible::of(format, operation, reason));
    }
    Ok(())
}

/// One line of an event log.
pub(super) enum LogEvent {
    /// The operation is called.
    Call(OpId),
    /// It returns.
    Return(OpId),
    /// It is pending for ever; its process goes on.
    GivenUp(OpId),
}

/// The lines of an event log of a history: its events, and an end for each pending operation whose
/// process calls again.
pub(super) fn log_events(
    format: Format,
    history: &History,
) -> impl Iterator<Item = Result<LogEvent, WriteError>> {
    let mut open: Vec<Option<OpId>> = vec![None; history.process_count()];
    let mut slot = move |process: ProcessId, now: Option<OpId>| {
        std::mem::replace(&mut open[process.index()], now)
    };
    history
        .events()
        .flat_map(move |event| match event {
            Event::Call(op) => match slot(history.process(op), Some(op)) {
                None => [Some(Ok(LogEvent::Call(op))), None],
                Some(before) if history.ret(before).is_none() => {
                    [Some(Ok(LogEvent::GivenUp(before))), Some(Ok(LogEvent::Call(op)))]
                }
                Some(_) => {
                    let reason = "its process calls it at the instant at which it returns from the \
                              operation before; events of one process come one after another";
                    let operation = history.operation(op);
                    [Some(Err(Inexpressible::of(format, operation, reason))), None]
                }
            },
            Event::Return(op) => {
                slot(history.process(op), None);
                [Some(Ok(LogEvent::Return(op))), None]
            }
        })
        .flatten()
}

/// The names that other tools and people give to the methods that the logs know.
const SYNONYMS: &[(&str, &[&str])] = &[
    ("enq", &["enqueue", "add", "offer", "push"]),
    ("deq", &["dequeue", "remove", "poll", "pop"]),
    ("push", &["add"]),
    ("pop", &["remove"]),
    ("insert", &["add", "push", "enqueue"]),
    ("poll", &["extract", "pop", "dequeue", "delete-max", "extract-max", "remove-max"]),
    ("remove", &["delete"]),
    ("contains", &["has", "member"]),
    ("peek", &["top", "front", "max"]),
];

/// The methods of an object of a log, found by their own names or by what others call them.
pub(super) struct Roles {
    names: Vec<&'static str>,
}

impl Roles {
    /// The methods of an object.
    pub fn of(names: impl Iterator<Item = &'static str>) -> Self {
        Roles { names: names.collect() }
    }

    /// The method of an operation, and its position among the object's.
    pub fn find(
        &self,
        format: Format,
        operation: Operation<'_>,
    ) -> Result<(usize, &'static str), WriteError> {
        let recorded = operation.method().replace('-', "_");
        let own = |name: &&str| name.eq_ignore_ascii_case(&recorded);
        let alias = |name: &&str| {
            let row = SYNONYMS.iter().find(|(known, _)| known == name);
            row.is_some_and(|(_, others)| {
                let same = |other: &&str| other.replace('-', "_").eq_ignore_ascii_case(&recorded);
                others.iter().any(same)
            })
        };
        let position = self.names.iter().position(own);
        let position = position.or_else(|| self.names.iter().position(alias));
        match position {
            Some(index) => Ok((index, self.names[index])),
            None => {
                let reason = format!("its object has only {}", self.names.join(", "));
                Err(Inexpressible::of(format, operation, &reason))
            }
        }
    }
}

/// Whether some operation has the result `nil`, or one with `nil` in it as the reads of a
/// transaction have, so that its meaning must be stated.
pub(super) fn has_nil_result(history: &History) -> bool {
    let values = history.values();
    let results = history.operations().map(|operation| operation.result());
    results.filter(|result| result.is_present()).any(|result| contains_nil(&values.get(result)))
}

/// Whether an argument or a result is `nil`, or contains it.
pub(super) fn has_nil(history: &History) -> bool {
    let values = history.values();
    let arguments = history.operations().map(|operation| operation.arg());
    has_nil_result(history)
        || arguments.filter(|arg| arg.is_present()).any(|arg| contains_nil(&values.get(arg)))
}

fn contains_nil(value: &Value) -> bool {
    match value {
        Value::Nil => true,
        Value::List(items) => items.iter().any(contains_nil),
        Value::Map(entries) => entries.iter().any(|(k, v)| contains_nil(k) || contains_nil(v)),
        _ => false,
    }
}

/// Whether some operation has its argument as its result, so that the meaning of that must be
/// stated.
pub(super) fn has_echo(history: &History) -> bool {
    let echoes = |operation: Operation<'_>| {
        let result = operation.result();
        result.is_present() && result != ValueId::NIL && result == operation.arg()
    };
    history.operations().any(echoes)
}
