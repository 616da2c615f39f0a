//! Events as they are read, for those who do not wait for the end.
//!
//! A [`Listener`] hears of every call and return in the moment in which the reader comes to it. Nothing
//! is kept but the operations that are open, so a stream may go on for ever.

use crate::formats::{ReadOptions, read_into};
use crate::{Builder, Call, InputError, OpId, Problem, ProcessId, Return, Values};
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
    /// The operation's name.
    pub method: &'b str,
    /// What is called.
    pub call: Call,
    /// The values that it names.
    pub values: &'b Values,
}

/// A return, as it is read.
#[derive(Clone, Copy)]
pub struct LiveReturn<'b> {
    /// The number of the operation.
    pub op: OpId,
    /// The line.
    pub line: u64,
    /// What comes back. A pending operation stays open for ever.
    pub ret: Return,
    /// The values that it names.
    pub values: &'b Values,
}

/// Hears of events as they are read, and may ask to stop.
pub trait Listener {
    /// An operation is called.
    fn call(&mut self, call: LiveCall<'_>) -> ControlFlow<()>;

    /// An operation returns.
    fn ret(&mut self, ret: LiveReturn<'_>) -> ControlFlow<()>;
}

/// Reads a log of events and tells a listener, until the log ends or the listener has heard enough.
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
) -> Result<(), InputError> {
    let mut builder = Builder::listening(name, listener);
    match read_into(reader, name, options, &mut builder) {
        Err(InputError { problem: Problem::Halted, .. }) => Ok(()),
        other => other,
    }
}
