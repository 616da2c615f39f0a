//! The recorder: histories of programs that drive their own load, databases included.
//!
//! Every process (thread, client, connection) writes into a [`Log`] of its own, so that recording makes nobody
//! wait; the history is put together when the logs are closed. An entry costs two stamps (see
//! [`Clock`]) and a push to a vector. [`Recorder::live`] gives the events away while they happen.

use crate::Clock;
use crate::reply::{IntoReply, IntoValue, Reply};
use crate::stream::{Buffer, Stream};
use seriatim_history::{
    Builder, Call, History, InputError, Interval, Outcome, Return, Time, Value, ValueId,
};
use std::sync::{Arc, Mutex};

/// Records the operations of a program.
///
/// ```
/// use seriatim_harness::Recorder;
/// use std::sync::Mutex;
///
/// let stack = Mutex::new(Vec::new());
/// let recorder = Recorder::new();
/// let (push, pop) = (recorder.method("push"), recorder.method("pop"));
/// std::thread::scope(|scope| {
///     for process in 0..2 {
///         let (mut log, stack) = (recorder.log(process), &stack);
///         scope.spawn(move || {
///             log.call(push, process);
///             stack.lock().unwrap().push(process);
///             log.ret(());
///             log.record(pop, (), || stack.lock().unwrap().pop());
///         });
///     }
/// });
/// let history = recorder.history("stack")?;
/// assert_eq!(history.len(), 4);
/// # Ok::<(), seriatim_history::InputError>(())
/// ```
#[derive(Debug)]
pub struct Recorder {
    shared: Arc<Shared>,
    live: Option<Arc<Mutex<Vec<Arc<Buffer>>>>>,
}

/// What all logs share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub clock: Clock,
    pub methods: Mutex<Vec<Arc<str>>>,
    closed: Mutex<Vec<(Value, Vec<Entry>)>>,
}

/// The name of an operation, registered with a [`Recorder`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MethodName(pub(crate) u32);

/// One operation.
#[derive(Debug)]
struct Entry {
    method: MethodName,
    arg: Option<Value>,
    call: Time,
    ret: Time,
    reply: Reply,
}

impl Default for Recorder {
    fn default() -> Self {
        Recorder::new()
    }
}

impl Recorder {
    /// A recorder with the clock that disturbs least.
    pub fn new() -> Self {
        Recorder::with_clock(Clock::fenced())
    }

    /// A recorder with a clock of your choice.
    pub fn with_clock(clock: Clock) -> Self {
        let shared = Shared { clock, methods: Mutex::default(), closed: Mutex::default() };
        Recorder { shared: Arc::new(shared), live: None }
    }

    /// A recorder whose events can be read while they happen, in the order in which they happened, and the
    /// stream of them. Its logs keep nothing for [`history`](Recorder::history).
    ///
    /// ```
    /// use seriatim_harness::{Clock, Recorder};
    /// let (recorder, mut stream) = Recorder::live(Clock::fenced());
    /// let read = recorder.method("read");
    /// let mut log = recorder.log(3);
    /// log.record(read, (), || 7);
    /// let mut lines = Vec::new();
    /// stream.write_new(&mut lines).unwrap();
    /// let lines = String::from_utf8(lines).unwrap();
    /// assert!(lines.lines().nth(1).unwrap().starts_with(r#"{"process":3,"type":"call","op":"read""#));
    /// ```
    pub fn live(clock: Clock) -> (Self, Stream) {
        let mut recorder = Recorder::with_clock(clock);
        let buffers = Arc::new(Mutex::new(Vec::new()));
        recorder.live = Some(buffers.clone());
        let stream = Stream::new(recorder.shared.clone(), buffers);
        (recorder, stream)
    }

    /// Registers the name of an operation.
    pub fn method(&self, name: &str) -> MethodName {
        let mut methods = self.shared.methods.lock().expect("nobody panics with the lock");
        let known = methods.iter().position(|known| **known == *name);
        let place = known.unwrap_or_else(|| {
            methods.push(name.into());
            methods.len() - 1
        });
        MethodName(place as u32)
    }

    /// Opens the log of a process. A process does one thing at a time, so it has one log.
    pub fn log(&self, process: impl IntoValue) -> Log {
        let process = process.into_value();
        let buffer = self.live.as_ref().map(|buffers| {
            let buffer = Arc::new(Buffer::new(process.clone()));
            buffers.lock().expect("nobody panics with the lock").push(buffer.clone());
            buffer
        });
        Log { shared: self.shared.clone(), process, entries: Vec::new(), open: None, buffer }
    }

    /// The history of all logs that were closed (dropped) so far, under a specification by name (which
    /// goes into the file; empty if there is none to name).
    pub fn history(&self, spec: &str) -> Result<History, InputError> {
        let mut builder = Builder::new("recorder");
        if !spec.is_empty() {
            builder.name_spec(spec);
        }
        let closed =
            std::mem::take(&mut *self.shared.closed.lock().expect("nobody panics with the lock"));
        let methods = self.shared.methods.lock().expect("nobody panics with the lock").clone();
        let mut entries: Vec<(usize, Entry)> = Vec::new();
        let mut processes = Vec::new();
        for (process, log) in closed {
            processes.push(builder.process(&process));
            entries.extend(log.into_iter().map(|entry| (processes.len() - 1, entry)));
        }
        entries.sort_by_key(|(_, entry)| entry.call);
        let first = entries.first().map_or(0, |(_, entry)| entry.call);
        for (line, (process, entry)) in entries.into_iter().enumerate() {
            let mut call = Call::new(builder.method(&methods[entry.method.0 as usize]));
            if let Some(arg) = &entry.arg {
                call = call.arg(builder.values().intern(arg));
            }
            let (outcome, value) = match entry.reply {
                Reply::Answer(value) => (Outcome::Ok, value),
                Reply::Failed(value) => (Outcome::Failed, value),
                Reply::Unknown | Reply::Waits => (Outcome::Pending, None),
            };
            let result = value.map_or(ValueId::ABSENT, |value| builder.values().intern(&value));
            let ret = (outcome != Outcome::Pending).then(|| entry.ret - first);
            let interval = Interval { call: entry.call - first, ret };
            let process = Some(processes[process]);
            let line = line as u64 + 1;
            builder.operation(line, process, call, interval, Return::new(outcome, result))?;
        }
        builder.finish()
    }
}

/// An argument of a recorded call: a value, or `()` for none.
pub trait IntoArgument {
    /// The argument as a history records it.
    fn into_argument(self) -> Option<Value>;
}

impl IntoArgument for () {
    fn into_argument(self) -> Option<Value> {
        None
    }
}

impl<V: IntoValue> IntoArgument for V {
    fn into_argument(self) -> Option<Value> {
        Some(self.into_value())
    }
}

/// The log of one process. Its operations reach the recorder when it is dropped; one that is open then
/// is pending.
#[derive(Debug)]
pub struct Log {
    shared: Arc<Shared>,
    process: Value,
    entries: Vec<Entry>,
    open: Option<(MethodName, Option<Value>, Time)>,
    buffer: Option<Arc<Buffer>>,
}

impl Log {
    /// The process calls an operation: to be said right before it does.
    ///
    /// # Panics
    /// If the operation before it has neither returned nor been given up.
    #[inline]
    pub fn call(&mut self, method: MethodName, arg: impl IntoArgument) {
        assert!(self.open.is_none(), "a process does one thing at a time: its last call is open");
        let arg = arg.into_argument();
        if let Some(buffer) = &self.buffer {
            buffer.call(&self.shared.clock, method, arg);
            self.open = Some((method, None, 0));
            return;
        }
        self.open = Some((method, arg, 0));
        // A process does one thing after another also by a coarse clock.
        let mut stamp = self.shared.clock.call();
        while self.entries.last().is_some_and(|last| last.ret >= stamp) {
            stamp = self.shared.clock.call();
        }
        if let Some(open) = &mut self.open {
            open.2 = stamp;
        }
    }

    /// The operation returned: to be said right after it did.
    ///
    /// # Panics
    /// If no call is open.
    #[inline]
    pub fn ret(&mut self, result: impl IntoReply) {
        if self.buffer.is_some() {
            return self.ret_live(result.reply());
        }
        let stamp = self.shared.clock.ret();
        self.close(stamp, result.reply());
    }

    /// Nobody will ever know whether the operation took effect: a time-out, a lost connection. It stays
    /// pending, and the process goes on.
    pub fn give_up(&mut self) {
        match self.buffer {
            Some(_) => self.ret_live(Reply::Unknown),
            None => self.close(0, Reply::Unknown),
        }
    }

    /// Calls an operation between two stamps and gives back what it returned.
    #[inline]
    pub fn record<R: IntoReply + Clone>(
        &mut self,
        method: MethodName,
        arg: impl IntoArgument,
        operation: impl FnOnce() -> R,
    ) -> R {
        self.call(method, arg);
        let result = operation();
        self.ret(result.clone());
        result
    }

    fn ret_live(&mut self, reply: Reply) {
        self.open.take().expect("a return needs a call before it");
        if let Some(buffer) = &self.buffer {
            buffer.ret(&self.shared.clock, reply);
        }
    }

    #[inline]
    fn close(&mut self, ret: Time, reply: Reply) {
        let (method, arg, call) = self.open.take().expect("a return needs a call before it");
        self.entries.push(Entry { method, arg, call, ret, reply });
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        if let Some(buffer) = &self.buffer {
            buffer.close();
            return;
        }
        if self.open.is_some() {
            self.close(0, Reply::Unknown);
        }
        let entries = std::mem::take(&mut self.entries);
        if let Ok(mut closed) = self.shared.closed.lock() {
            closed.push((self.process.clone(), entries));
        }
    }
}
