//! What can be wrong with a recorded history, said for the person who has to fix it.

use crate::outside::Outside;
use std::error::Error;
use std::fmt;
use std::io;
use std::sync::Arc;

/// A defect of an input: where it stands, what it is, and what was expected instead.
///
/// ```
/// use seriatim_history::{InputError, Problem};
/// let error = InputError::new("run.jsonl", 7, Problem::ReturnWithoutCall { process: "3".into() });
/// assert!(error.to_string().starts_with("run.jsonl:7: "));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputError {
    /// The file, or `<stdin>`.
    pub source: Arc<str>,
    /// The line, counted from 1; 0 when the problem is not in one line.
    pub line: u64,
    /// What is wrong.
    pub problem: Problem,
}

impl InputError {
    /// A problem in a line of a source; line 0 means the whole source.
    pub fn new(source: &str, line: u64, problem: Problem) -> Self {
        InputError { source: source.into(), line, problem }
    }

    /// A text that does not follow the grammar.
    pub fn syntax(source: &str, line: u64, expected: &str, found: &str) -> Self {
        let (expected, found) = (expected.into(), shortened(found));
        InputError::new(source, line, Problem::Syntax { expected, found })
    }
}

impl Problem {
    /// Why a source could not be read: what the system says is a failure of the system, what a
    /// decoder says is a defect of the source.
    pub fn of_reading(error: &io::Error) -> Self {
        match error.raw_os_error() {
            Some(_) => Problem::Failed(error.to_string()),
            None => Problem::Unreadable(error.to_string()),
        }
    }
}

/// The failure of the system that lies behind an error of a decoder, if one does.
pub fn failure_behind(error: &(dyn Error + 'static)) -> Option<io::Error> {
    let mut next = Some(error);
    while let Some(error) = next {
        let code = error.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error);
        if let Some(code) = code {
            return Some(io::Error::from_raw_os_error(code));
        }
        next = error.source();
    }
    None
}

/// The kinds of defect.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// The text does not follow the format's grammar.
    Syntax {
        /// What the reader expected.
        expected: String,
        /// What stands there.
        found: String,
    },
    /// A return of a process that has no open call.
    ReturnWithoutCall {
        /// The process (or operation id) that returns.
        process: String,
    },
    /// A call of a process whose earlier call is still open.
    ProcessBusy {
        /// The process.
        process: String,
        /// The line of the call that is still open.
        open_since: u64,
    },
    /// An operation that returns before it is called.
    ReturnBeforeCall {
        /// When it was called.
        call: u64,
        /// When it returned.
        ret: u64,
    },
    /// An event that is earlier than the one before it.
    TimeRunsBackwards {
        /// The time of the event before.
        before: u64,
        /// The time of this event.
        now: u64,
    },
    /// An operation id used for two calls.
    DuplicateId {
        /// The id.
        id: String,
        /// The line of its first use.
        first: u64,
    },
    /// An operation that the specification does not have.
    UnknownOperation {
        /// The operation's name.
        name: String,
        /// The specification.
        spec: String,
        /// The operations that it has.
        known: String,
    },
    /// An operation with an argument or result that the specification cannot take.
    BadOperation {
        /// The operation as written.
        operation: String,
        /// What the specification expects of it.
        expected: String,
    },
    /// A parameter of the specification says a value that the log has in another kind.
    OtherKind {
        /// The specification as it was given.
        spec: String,
        /// What it says.
        said: String,
        /// What the log has.
        found: String,
        /// The specification that means what the log has.
        instead: String,
    },
    /// The return of an operation does not repeat the call it closes.
    Mismatch {
        /// What the call says.
        call: String,
        /// What the return says.
        ret: String,
    },
    /// The specification itself is wrong.
    BrokenSpec {
        /// The specification.
        spec: String,
        /// What is wrong with it.
        defect: String,
    },
    /// A whole operation where events are expected as they happen.
    NotAnEvent,
    /// The listener has heard enough.
    Halted,
    /// The bytes of the source cannot be read: another time they cannot be read either.
    Unreadable(String),
    /// The system did not give the bytes of the source: another time it may.
    Failed(String),
    /// More than one format fits.
    AmbiguousFormat {
        /// The formats that fit.
        candidates: String,
    },
    /// No known format fits.
    UnknownFormat {
        /// What the first line looks like.
        found: String,
    },
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.source, self.problem),
            line => write!(f, "{}:{line}: {}", self.source, self.problem),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Syntax { expected, found } => write!(f, "expected {expected}, found {found}"),
            Problem::ReturnWithoutCall { process } => write!(
                f,
                "process {} returns, but it has no open call; expected its call before",
                Outside(process)
            ),
            Problem::ProcessBusy { process, open_since } => write!(
                f,
                "process {} calls again while its call of line {open_since} is open; \
                 expected that call's return first (a process has one operation at a time)",
                Outside(process)
            ),
            Problem::ReturnBeforeCall { call, ret } => write!(
                f,
                "the operation returns at {ret}, before its call at {call}; \
                 expected call <= return"
            ),
            Problem::TimeRunsBackwards { before, now } => write!(
                f,
                "time runs backwards from {before} to {now}; expected events in the order in \
                 which they happened"
            ),
            Problem::DuplicateId { id, first } => write!(
                f,
                "operation id {} was used before, in line {first}; expected a new id for each \
                 call",
                Outside(id)
            ),
            Problem::UnknownOperation { name, spec, known } => {
                let name = Outside(name);
                write!(f, "{spec} has no operation `{name}`; expected one of: {known}")
            }
            Problem::BadOperation { operation, expected } => {
                write!(f, "cannot take `{}`; expected {expected}", Outside(operation))
            }
            Problem::OtherKind { spec, said, found, instead } => {
                let [spec, said, found] = [spec, said, found].map(|text| Outside(text));
                write!(
                    f,
                    "{spec} says {said}, and the log has {found}, which is another value; expected {}",
                    Outside(instead)
                )
            }
            Problem::Mismatch { call, ret } => {
                let (call, ret) = (Outside(call), Outside(ret));
                write!(f, "the return says `{ret}` but the call that it closes says `{call}`")
            }
            Problem::BrokenSpec { spec, defect } => {
                write!(f, "the specification {spec} is wrong itself: {defect}")
            }
            Problem::NotAnEvent => f.write_str(
                "a whole operation cannot be watched; expected calls and returns as they happen, one \
                 event per line",
            ),
            Problem::Halted => f.write_str("reading was stopped"),
            Problem::Unreadable(reason) | Problem::Failed(reason) => {
                write!(f, "cannot read: {reason}")
            }
            Problem::AmbiguousFormat { candidates } => write!(
                f,
                "the text fits more than one format: {candidates}; expected one of them to be \
                 named with --format"
            ),
            Problem::UnknownFormat { found } => write!(
                f,
                "no known history format starts with {found}; expected JSON Lines, EDN, a Jepsen \
                 log, or a LiMo, PolyLin, fptlin or ahorn log (name one with --format, or say with --map what the records mean)"
            ),
        }
    }
}

impl std::error::Error for InputError {}

/// A found text in backquotes, cut to a length that fits a message.
fn shortened(found: &str) -> String {
    let found = found.trim_end();
    if found.is_empty() {
        return "nothing".into();
    }
    match found.char_indices().nth(60) {
        Some((end, _)) => format!("`{}…`", Outside(&found[..end])),
        None => format!("`{}`", Outside(found)),
    }
}
