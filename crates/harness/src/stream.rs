//! The events of a recorder while they happen, in order.
//!
//! Every log puts its events on a buffer of its own, under the buffer's lock, and takes the stamp
//! *under the lock*. The reader takes a stamp first and then empties all buffers: whatever is put
//! on a buffer later has a later stamp, so that every event before the reader's stamp has arrived,
//! and these can be sorted and given away for good. Events of equal stamps are put calls first,
//! because such operations are concurrent.

use crate::Clock;
use crate::recorder::{Called, Shared};
use crate::reply::Reply;
use seriatim_history::{Since, Time, Timescale, Value, write_string, write_value};
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Where one log puts its events.
#[derive(Debug)]
pub(crate) struct Buffer {
    process: Value,
    events: Mutex<Vec<(Time, What)>>,
    closed: AtomicBool,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
enum What {
    Call(Called),
    Return(Reply),
}

impl Buffer {
    pub fn new(process: Value) -> Self {
        Buffer { process, events: Mutex::default(), closed: AtomicBool::new(false) }
    }

    pub fn call(&self, clock: &Clock, called: Called) {
        let mut events = self.events.lock().expect("nobody panics with the lock");
        // A process does one thing after another also by a coarse clock.
        let mut stamp = clock.now();
        while events.last().is_some_and(|last| last.0 >= stamp) {
            stamp = clock.now();
        }
        events.push((stamp, What::Call(called)));
    }

    pub fn ret(&self, clock: &Clock, reply: Reply) {
        let mut events = self.events.lock().expect("nobody panics with the lock");
        events.push((clock.now(), What::Return(reply)));
    }

    pub fn close(&self) {
        self.closed.store(true, Ordering::Release);
    }
}

/// The events of a [live](crate::Recorder::live) recorder.
#[derive(Debug)]
pub struct Stream {
    shared: Arc<Shared>,
    buffers: Arc<Mutex<Vec<Arc<Buffer>>>>,
    /// Events that came in but may still be overtaken.
    waiting: Vec<(Time, Arc<Buffer>, What)>,
    begun: bool,
}

impl Stream {
    pub(crate) fn new(shared: Arc<Shared>, buffers: Arc<Mutex<Vec<Arc<Buffer>>>>) -> Self {
        Stream { shared, buffers, waiting: Vec::new(), begun: false }
    }

    /// Writes the events that happened since the last time, as JSON Lines (`jsonl-events`). Gives
    /// the number of events.
    pub fn write_new(&mut self, out: &mut dyn Write) -> io::Result<usize> {
        if !self.begun {
            self.begun = true;
            let Timescale { unit, since } = self.shared.clock.timescale();
            out.write_all(b"{\"seriatim\":1")?;
            if let Some(unit) = unit.name() {
                write!(out, ",\"unit\":\"{unit}\"")?;
            }
            if since == Since::Unix {
                out.write_all(b",\"since\":\"unix\"")?;
            }
            out.write_all(b"}\n")?;
        }
        let ready = self.ready();
        let methods = self.shared.methods.lock().expect("nobody panics with the lock").clone();
        for (stamp, buffer, what) in &ready {
            out.write_all(b"{\"process\":")?;
            write_value(out, &buffer.process)?;
            match what {
                What::Call(Called { method, object, key, arg }) => {
                    out.write_all(b",\"type\":\"call\",\"op\":")?;
                    write_string(out, &methods[method.0 as usize])?;
                    field(out, "object", object.as_ref())?;
                    field(out, "key", key.as_ref())?;
                    field(out, "arg", arg.as_ref())?;
                }
                What::Return(reply) => {
                    let (kind, value) = match reply {
                        Reply::Answer(value) => ("return", value.as_ref()),
                        Reply::Failed(value) => ("fail", value.as_ref()),
                        Reply::Unknown | Reply::Waits => ("info", None),
                    };
                    write!(out, ",\"type\":\"{kind}\"")?;
                    field(out, "result", value)?;
                }
            }
            writeln!(out, ",\"time\":{stamp}}}")?;
        }
        out.flush()?;
        Ok(ready.len())
    }

    /// Writes events as they happen until the recorder and all its logs are dropped.
    pub fn write_until_closed(mut self, out: &mut dyn Write, pause: Duration) -> io::Result<()> {
        loop {
            // Whether anybody can still write must be asked before the last look.
            let alone = self.is_closed();
            self.write_new(out)?;
            if alone {
                return Ok(());
            }
            std::thread::sleep(pause);
        }
    }

    /// Whether nobody can write any more.
    fn is_closed(&self) -> bool {
        let buffers = self.buffers.lock().expect("nobody panics with the lock");
        Arc::strong_count(&self.buffers) == 1
            && buffers.iter().all(|buffer| buffer.closed.load(Ordering::Acquire))
    }

    /// The events that nothing can overtake any more, in order.
    fn ready(&mut self) -> Vec<(Time, Arc<Buffer>, What)> {
        // Asked before the buffers are emptied: who closes in between has put events there that are
        // not among these, and earlier than some of them.
        let closed = self.is_closed();
        // A log that is opened later has later stamps only.
        let now = self.shared.clock.now();
        let buffers = self.buffers.lock().expect("nobody panics with the lock").clone();
        for buffer in buffers {
            let events =
                std::mem::take(&mut *buffer.events.lock().expect("nobody panics with the lock"));
            self.waiting
                .extend(events.into_iter().map(|(stamp, what)| (stamp, buffer.clone(), what)));
        }
        let later = |event: &(Time, Arc<Buffer>, What)| event.0 >= now && !closed;
        let (waiting, mut ready): (Vec<_>, Vec<_>) = self.waiting.drain(..).partition(later);
        self.waiting = waiting;
        ready.sort_by_key(|(stamp, _, what)| (*stamp, matches!(what, What::Return(_))));
        ready
    }
}

fn field(out: &mut dyn Write, name: &str, value: Option<&Value>) -> io::Result<()> {
    if let Some(value) = value {
        write!(out, ",\"{name}\":")?;
        write_value(out, value)?;
    }
    Ok(())
}
