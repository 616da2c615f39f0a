//! Events as they are read, for those who do not wait for the end.
//!
//! A [`Listener`] hears of every call and return in the moment in which the reader comes to it.
//! Nothing is kept but the operations that are open, so a stream may go on for ever.

use crate::formats::{ReadOptions, read_into};
use crate::{
    Builder, Call, Conventions, InputError, Interval, OpId, Problem, ProcessId, Return, Timescale,
    Value, ValueId, Values,
};
use std::io::Read;
use std::ops::ControlFlow;

/// A call, as it is read.
#[derive(Clone, Copy)]
pub struct LiveCall<'b> {
    /// A number that no other open operation has. It is used again once the operation has returned.
    pub op: OpId,
    /// The line.
    pub line: u64,
    /// Who calls.
    pub process: ProcessId,
    /// The caller's name in the source.
    pub caller: &'b Value,
    /// The operation's name.
    pub method: &'b str,
    /// What is called.
    pub call: Call,
    /// The values that it names.
    pub values: &'b Values,
    /// How the results of the source are to be read, which it says before its first operation.
    pub conventions: Conventions,
}

/// A return, as it is read.
#[derive(Clone, Copy)]
pub struct LiveReturn<'b> {
    /// The number of the operation.
    pub op: OpId,
    /// The line.
    pub line: u64,
    /// The operation's name.
    pub method: &'b str,
    /// What was called, as it is known by now: some logs tell an argument at the return only.
    pub call: Call,
    /// What comes back. A pending operation stays open for ever.
    pub ret: Return,
    /// The values that it names.
    pub values: &'b Values,
}

/// A whole operation, as it is read from a log that has one a line.
#[derive(Clone, Copy)]
pub struct LiveOperation<'b> {
    /// The line.
    pub line: u64,
    /// The caller's name in the source, where it names one.
    pub caller: Option<&'b Value>,
    /// The operation's name.
    pub method: &'b str,
    /// What is called.
    pub call: Call,
    /// When it was called and returned.
    pub interval: Interval,
    /// What comes back.
    pub ret: Return,
    /// The values that it names.
    pub values: &'b Values,
}

/// What a log says of itself before its first operation.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Header {
    /// The specification that it names.
    pub spec: Option<String>,
    /// How its results are to be read.
    pub conventions: Conventions,
    /// What its times count.
    pub timescale: Timescale,
    /// What whoever reads a report has to know of how it was read, once it was read to its end.
    pub remarks: Vec<String>,
}

/// Reads a log and tells a listener, until the log ends or the listener has heard enough: in the
/// formats of this crate, or as somebody else says.
pub trait Tells: Send + Sync {
    /// Reads a log; `name` is for messages. Gives what it said of itself so far.
    fn listen(
        &self,
        reader: Box<dyn Read>,
        name: &str,
        listener: Box<dyn Listener>,
    ) -> Result<Header, InputError>;

    /// Whether a line means the same wherever it stands, so that some lines can be read without
    /// those before them.
    fn is_by_lines(&self) -> bool;
}

impl Tells for ReadOptions {
    fn listen(
        &self,
        reader: Box<dyn Read>,
        name: &str,
        listener: Box<dyn Listener>,
    ) -> Result<Header, InputError> {
        listen(reader, name, *self, listener)
    }

    fn is_by_lines(&self) -> bool {
        true
    }
}

/// What a reader may forget.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Forgets {
    /// Nothing.
    Nothing,
    /// Values that neither an open operation nor the listener knows by their id.
    Values,
    /// The same, and the numbers of operations that are given up: they are used again.
    ValuesAndOperations,
}

/// Hears of events as they are read, and may ask to stop.
pub trait Listener {
    /// An operation is called.
    fn call(&mut self, call: LiveCall<'_>) -> ControlFlow<()>;

    /// An operation returns.
    fn ret(&mut self, ret: LiveReturn<'_>) -> ControlFlow<()>;

    /// A whole operation is read; `None` from those who listen to events only, for whom it is an
    /// error.
    fn operation(&mut self, _: LiveOperation<'_>) -> Option<ControlFlow<()>> {
        None
    }

    /// What the listener allows the reader to forget.
    fn forgets(&self) -> Forgets {
        Forgets::Nothing
    }

    /// The reader forgets values: all of which the listener still knows the id get new ids, which
    /// `new_id` gives. Asked only where it [`forgets`](Listener::forgets) something.
    fn rename(&mut self, _: &mut dyn FnMut(ValueId) -> ValueId) {}
}

/// Reads a log and tells a listener, until the log ends or the listener has heard enough; gives
/// what the log said of itself so far.
///
/// ```
/// use seriatim_history::{LiveCall, LiveReturn, Listener, ReadOptions, listen};
/// use std::ops::ControlFlow;
///
/// struct Count(std::rc::Rc<std::cell::Cell<usize>>);
///
/// impl Listener for Count {
///     fn call(&mut self, _: LiveCall<'_>) -> ControlFlow<()> {
///         self.0.set(self.0.get() + 1);
///         ControlFlow::Continue(())
///     }
///     fn ret(&mut self, _: LiveReturn<'_>) -> ControlFlow<()> {
///         ControlFlow::Continue(())
///     }
/// }
///
/// let calls = std::rc::Rc::default();
/// let log = "# @object queue\n[1] call enq(7)\n[1] return\n";
/// let listener = Box::new(Count(std::rc::Rc::clone(&calls)));
/// listen(log.as_bytes(), "example", ReadOptions::default(), listener)?;
/// assert_eq!(calls.get(), 1);
/// # Ok::<(), seriatim_history::InputError>(())
/// ```
pub fn listen(
    reader: impl Read,
    name: &str,
    options: ReadOptions,
    listener: Box<dyn Listener>,
) -> Result<Header, InputError> {
    let mut builder = Builder::listening(name, listener);
    match read_into(reader, name, options, 1, &mut builder) {
        Ok(()) | Err(InputError { problem: Problem::Halted, .. }) => Ok(builder.header()),
        Err(other) => Err(other),
    }
}
