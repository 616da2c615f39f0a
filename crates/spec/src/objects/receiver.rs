//! Receivers of values that are sent to many: each has seen something of its own.
//!
//! An operation says whose it is by its argument, else by the process that calls it; a log that
//! names neither is refused, since different receivers would be taken for one.

use crate::vocabulary::{Misfit, Recorded};
use seriatim_history::{History, ProcessId, Value, ValueId, Values};

/// Who receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Receiver {
    /// The receiver that operations name.
    Named(ValueId),
    /// The only receiver of a process.
    Of(ProcessId),
}

impl Receiver {
    /// The receiver of an operation.
    pub(super) fn of(recorded: Recorded<'_>) -> Result<Receiver, Misfit> {
        match recorded.operation.arg() {
            ValueId::ABSENT | ValueId::NIL if recorded.operation.history.invents_processes() => {
                Misfit::expected("a receiver as argument, or operations with their processes")
            }
            ValueId::ABSENT | ValueId::NIL => Ok(Receiver::Of(recorded.operation.caller())),
            name => Ok(Receiver::Named(name)),
        }
    }

    /// As a person calls it.
    pub(super) fn shown(self, values: &Values, processes: &[Value]) -> String {
        match self {
            Receiver::Named(name) => values.get(name).to_string(),
            Receiver::Of(process) => format!("process {}", processes[process.index()]),
        }
    }
}

/// The names of the processes, for messages.
pub(super) fn processes(history: &History) -> Box<[Value]> {
    let name = |index: usize| history.process_name(index.into()).clone();
    (0..history.process_count()).map(name).collect()
}

/// The word for what gives nothing any more.
const CLOSED: &str = "closed";

/// The word for a receiver that was too slow.
const LAGGED: &str = "lagged";

/// Whether a result says that all is closed.
pub(super) fn is_closed(values: &Values, result: ValueId) -> bool {
    values.as_str(result) == Some(CLOSED)
}

/// How many values a receiver missed, if a result says so: `["lagged", 3]`.
pub(super) fn lag(values: &Values, result: ValueId) -> Option<i64> {
    let (word, count) = values.as_pair(result)?;
    values.as_int(count).filter(|_| values.as_str(word) == Some(LAGGED))
}
