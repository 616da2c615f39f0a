//! The recorder: histories of programs that drive their own load, databases included.
//!
//! Every process (thread, client, connection) writes into a [`Log`] of its own, so that recording
//! makes nobody wait; the history is put together when the logs are closed. An entry costs two
//! stamps (see [`Clock`]) and a push to a vector. [`Recorder::live`] gives the events away while
//! they happen.

use crate::Clock;
use crate::reply::{IntoReply, IntoValue, Reply};
use crate::stream::{Buffer, Stream};
use seriatim_history::{
    Annotation, Builder, Call, History, InputError, Interval, Outcome, Return, Time, Unit, Value,
    ValueId,
};
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
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
    /// What its histories are called.
    name: String,
    shared: Arc<Shared>,
    live: Option<Arc<Mutex<Vec<Arc<Buffer>>>>>,
}

/// What all logs share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub clock: Clock,
    pub methods: Mutex<Vec<Arc<str>>>,
    closed: Mutex<Vec<(Value, Vec<Entry>)>>,
    annotations: Mutex<Vec<Annotation>>,
    /// How many logs are open.
    open: AtomicU64,
}

/// The name of an operation, registered with a [`Recorder`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MethodName(pub(crate) u32);

/// What is called.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Called {
    pub method: MethodName,
    pub object: Option<Value>,
    pub key: Option<Value>,
    pub arg: Option<Value>,
}

/// One operation.
#[derive(Debug)]
struct Entry {
    called: Called,
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
        let shared = Shared {
            clock,
            methods: Mutex::default(),
            closed: Mutex::default(),
            annotations: Mutex::default(),
            open: AtomicU64::new(0),
        };
        Recorder { name: "recorder".to_owned(), shared: Arc::new(shared), live: None }
    }

    /// The same; reports call its histories by this name. It may say how to make them again: which
    /// test it was, with which seed.
    ///
    /// ```
    /// use seriatim_harness::Recorder;
    /// let recorder = Recorder::new().named("two clients, seed 7");
    /// assert_eq!(recorder.history("")?.source(), "two clients, seed 7");
    /// # Ok::<(), seriatim_history::InputError>(())
    /// ```
    pub fn named(self, name: &str) -> Self {
        Recorder { name: name.to_owned(), ..self }
    }

    /// A recorder with wall-clock times, for services: its histories can be held against the logs
    /// of servers, and reports show times and durations. See [`Clock::wall`].
    pub fn timed() -> Self {
        Recorder::with_clock(Clock::wall())
    }

    /// Something happens around the operations, now: a fault is injected, a leader elected. It is
    /// drawn in reports. (A [live](Recorder::live) recorder's stream does not have it.)
    ///
    /// ```
    /// use seriatim_harness::Recorder;
    /// let recorder = Recorder::timed();
    /// recorder.annotate("nemesis", "kill -9");
    /// assert_eq!(recorder.history("")?.annotations()[0].text, "kill -9");
    /// # Ok::<(), seriatim_history::InputError>(())
    /// ```
    pub fn annotate(&self, group: &str, text: &str) {
        let now = self.shared.clock.now();
        let (group, text) = (group.to_owned(), text.to_owned());
        let annotation = Annotation { start: now, end: now, group, text, colour: None };
        self.shared.annotations.lock().expect("nobody panics with the lock").push(annotation);
    }

    /// How many logs are open: their operations are not in a [`history`](Recorder::history) that is
    /// taken now.
    pub fn open_logs(&self) -> u64 {
        self.shared.open.load(Ordering::Acquire)
    }

    /// A recorder whose events can be read while they happen, in the order in which they happened,
    /// and the stream of them. Its logs keep nothing for [`history`](Recorder::history).
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
        self.shared.open.fetch_add(1, Ordering::AcqRel);
        let (entries, open) = (Vec::new(), None);
        let shared = self.shared.clone();
        Log { shared, process, entries, open, object: None, key: None, buffer }
    }

    /// The history of all logs that were closed (dropped) so far, under a specification by name
    /// (which goes into the file; empty if there is none to name). If other logs are open, the
    /// history says how many are missing, and what it cannot explain counts as unknown, not as a
    /// violation: an operation that was not handed in may explain it.
    pub fn history(&self, spec: &str) -> Result<History, InputError> {
        // Before the closed logs are taken: one that is closed meanwhile is missing.
        let missing = self.open_logs();
        let mut builder = Builder::new(&self.name);
        let timescale = self.shared.clock.timescale();
        builder.measure_in(timescale);
        if missing > 0 {
            builder.misses_logs(missing);
            builder.remark(format!("{missing} logs were not handed in when the history was taken"));
        }
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
        // Ticks of a counter are counted from the first call; times that have a unit are what they
        // are.
        let first = match timescale.unit {
            Unit::Ticks => entries.first().map_or(0, |(_, entry)| entry.call),
            _ => 0,
        };
        for annotation in
            self.shared.annotations.lock().expect("nobody panics with the lock").iter()
        {
            let (start, end) =
                (annotation.start.saturating_sub(first), annotation.end.saturating_sub(first));
            builder.annotate(Annotation { start, end, ..annotation.clone() });
        }
        for (line, (process, entry)) in entries.into_iter().enumerate() {
            let called = &entry.called;
            let mut call = Call::new(builder.method(&methods[called.method.0 as usize]));
            let values = builder.values();
            let mut interned = |value: &Option<Value>| {
                value.as_ref().map_or(ValueId::ABSENT, |value| values.intern(value))
            };
            call.object = interned(&called.object);
            call.key = interned(&called.key);
            call.arg = interned(&called.arg);
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

/// The log of one process. Its operations reach the recorder when it is dropped; one that is open
/// then is pending.
#[derive(Debug)]
pub struct Log {
    shared: Arc<Shared>,
    process: Value,
    entries: Vec<Entry>,
    open: Option<(Called, Time)>,
    /// What the next call is on.
    object: Option<Value>,
    key: Option<Value>,
    buffer: Option<Arc<Buffer>>,
}

impl Log {
    /// Names the key of the next call: `log.key("x").call(put, 7)`.
    ///
    /// ```
    /// use seriatim_harness::Recorder;
    /// let recorder = Recorder::new();
    /// let put = recorder.method("put");
    /// let mut log = recorder.log(0);
    /// log.key("x").record(put, 7, || ());
    /// drop(log);
    /// let history = recorder.history("map")?;
    /// assert_eq!(history.operations().next().unwrap().to_string(), "put(\"x\", 7)");
    /// # Ok::<(), seriatim_history::InputError>(())
    /// ```
    pub fn key(&mut self, key: impl IntoValue) -> &mut Self {
        self.key = Some(key.into_value());
        self
    }

    /// Names the object of the next call, where there are several.
    pub fn object(&mut self, object: impl IntoValue) -> &mut Self {
        self.object = Some(object.into_value());
        self
    }

    /// The process calls an operation: to be said right before it does.
    ///
    /// # Panics
    /// If the operation before it has neither returned nor been given up.
    #[inline]
    pub fn call(&mut self, method: MethodName, arg: impl IntoArgument) {
        assert!(self.open.is_none(), "a process does one thing at a time: its last call is open");
        let (object, key, arg) = (self.object.take(), self.key.take(), arg.into_argument());
        let called = Called { method, object, key, arg };
        if let Some(buffer) = &self.buffer {
            buffer.call(&self.shared.clock, called.clone());
            self.open = Some((called, 0));
            return;
        }
        self.open = Some((called, 0));
        // A process does one thing after another also by a coarse clock.
        let mut stamp = self.shared.clock.call();
        while self.entries.last().is_some_and(|last| last.ret >= stamp) {
            stamp = self.shared.clock.call();
        }
        if let Some(open) = &mut self.open {
            open.1 = stamp;
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

    /// Nobody will ever know whether the operation took effect: a time-out, a lost connection. It
    /// stays pending, and the process goes on.
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

    /// Calls an asynchronous operation between two stamps. If the future is dropped before it is
    /// done (a time-out, a `select!`), nobody knows whether the operation took effect: it stays
    /// pending, and the process goes on.
    ///
    /// ```
    /// use seriatim_harness::Recorder;
    /// use std::future::{Future, ready};
    /// use std::pin::pin;
    /// use std::task::{Context, Waker};
    /// let recorder = Recorder::new();
    /// let read = recorder.method("read");
    /// let mut log = recorder.log(0);
    /// {
    ///     let mut done = pin!(log.record_async(read, (), ready(7)));
    ///     assert!(done.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready());
    /// }
    /// {
    ///     let never = std::future::pending::<i64>();
    ///     let mut lost = pin!(log.record_async(read, (), never));
    ///     assert!(lost.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    /// }
    /// log.record(read, (), || 8);
    /// drop(log);
    /// let tally = recorder.history("register")?.tally();
    /// assert_eq!((tally.ok, tally.pending), (2, 1));
    /// # Ok::<(), seriatim_history::InputError>(())
    /// ```
    pub async fn record_async<R: IntoReply + Clone>(
        &mut self,
        method: MethodName,
        arg: impl IntoArgument,
        operation: impl Future<Output = R>,
    ) -> R {
        /// Gives the operation up unless it is done.
        struct Guard<'l>(&'l mut Log);
        impl Drop for Guard<'_> {
            fn drop(&mut self) {
                if self.0.open.is_some() {
                    self.0.give_up();
                }
            }
        }
        self.call(method, arg);
        let guard = Guard(self);
        let result = operation.await;
        guard.0.ret(result.clone());
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
        let (called, call) = self.open.take().expect("a return needs a call before it");
        self.entries.push(Entry { called, call, ret, reply });
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        if let Some(buffer) = &self.buffer {
            buffer.close();
            self.shared.open.fetch_sub(1, Ordering::AcqRel);
            return;
        }
        if self.open.is_some() {
            self.close(0, Reply::Unknown);
        }
        let entries = std::mem::take(&mut self.entries);
        if let Ok(mut closed) = self.shared.closed.lock() {
            closed.push((self.process.clone(), entries));
        }
        self.shared.open.fetch_sub(1, Ordering::AcqRel);
    }
}
