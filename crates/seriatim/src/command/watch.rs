//! `seriatim watch`: check events as they happen.

use super::input::format_named;
use super::output::{remark, say};
use super::{Exit, Failure};
use seriatim::SpecChoice;
use seriatim::history::{
    Forgets, Format, Listener, LiveCall, LiveReturn, ReadOptions, ValueId, listen, open,
};
use seriatim::monitor::fast::{Called, Online, Returned, Stop};
use seriatim::monitor::watch;
use std::cell::RefCell;
use std::fs::File;
use std::io::Read;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

/// Check calls and returns as they happen, and stop at the event that makes the history wrong
///
/// Reads events (one a line) from standard input or a growing file. Open operations count as pending,
/// so the verdict is right after every event. Memory follows the open operations and the size of the
/// object, not the length of the stream.
#[derive(clap::Args)]
pub struct Arguments {
    /// The specification: queue, set, multiset, register, counter, mutex or log
    #[arg(value_name = "SPEC")]
    spec: String,

    /// A log of events, or - for standard input
    #[arg(value_name = "FILE", default_value = "-")]
    file: PathBuf,

    /// The format of the log
    #[arg(long, value_name = "FORMAT", default_value = "jsonl-events", value_parser = format_named)]
    format: Format,

    /// Wait for more when the file ends
    #[arg(long)]
    follow: bool,
}

/// Carries out `seriatim watch`.
pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let choice = SpecChoice::parse(&arguments.spec)?;
    let monitor = watch(&choice).map_err(Failure)?;
    let watcher = Rc::new(RefCell::new(Watcher { monitor, events: 0, operations: 0, stop: None }));
    let name = arguments.file.display().to_string();
    let options = ReadOptions { format: Some(arguments.format), ..ReadOptions::default() };
    let listener = Box::new(Ear(Rc::clone(&watcher)));
    let heard = match arguments.follow {
        true => listen(Growing::open(&arguments.file)?, &name, options, listener),
        false => listen(open(&arguments.file)?, &name, options, listener),
    };
    let watcher = watcher.borrow();
    match &watcher.stop {
        Some((line, stop)) => report(&name, *line, stop, &watcher),
        None => {
            heard?;
            say(&format!(
                "{name}: linearizable so far, {} operations, {} events\n",
                watcher.operations, watcher.events
            ))?;
            warn_if_vacuous(&watcher);
            Ok(Exit::Holds)
        }
    }
}

fn report(name: &str, line: u64, stop: &Stop, watcher: &Watcher) -> Result<Exit, Failure> {
    match stop {
        Stop::Violation(violation) => {
            say(&format!(
                "{name}:{line}: VIOLATION at event {}: {}\n",
                watcher.events, violation.reason
            ))?;
            Ok(Exit::Violated)
        }
        Stop::Declined(declined) => {
            say(&format!(
                "{name}:{line}: unknown after {} events: {declined}\n",
                watcher.events - 1
            ))?;
            Ok(Exit::Unknown)
        }
    }
}

fn warn_if_vacuous(watcher: &Watcher) {
    if watcher.operations == 0 {
        remark("warning: there was no operation: nothing was checked");
    }
}

/// A monitor with what the report needs.
struct Watcher {
    monitor: Box<dyn Online>,
    events: u64,
    operations: u64,
    stop: Option<(u64, Stop)>,
}

impl Watcher {
    fn heard(&mut self, line: u64, result: Result<(), Stop>) -> ControlFlow<()> {
        match result {
            Ok(()) => ControlFlow::Continue(()),
            Err(stop) => {
                self.stop = Some((line, stop));
                ControlFlow::Break(())
            }
        }
    }
}

/// Hands the events that are read to the watcher.
struct Ear(Rc<RefCell<Watcher>>);

impl Listener for Ear {
    fn call(&mut self, call: LiveCall<'_>) -> ControlFlow<()> {
        let watcher = &mut *self.0.borrow_mut();
        watcher.events += 1;
        watcher.operations += 1;
        let LiveCall { op, line, method, call, values, .. } = call;
        let called = Called { op, method, key: call.key, arg: call.arg, values };
        let result = watcher.monitor.call(called);
        watcher.heard(line, result)
    }

    fn ret(&mut self, ret: LiveReturn<'_>) -> ControlFlow<()> {
        let watcher = &mut *self.0.borrow_mut();
        watcher.events += 1;
        let LiveReturn { op, line, ret, values, .. } = ret;
        let returned = Returned { op, outcome: ret.outcome, result: ret.result, values };
        let result = watcher.monitor.ret(returned);
        watcher.heard(line, result)
    }

    fn forgets(&self) -> Forgets {
        Forgets::Values
    }

    fn rename(&mut self, new_id: &mut dyn FnMut(ValueId) -> ValueId) {
        self.0.borrow_mut().monitor.rename(new_id);
    }
}

/// A file that others still write to: its end is not the end.
struct Growing(File);

/// The pause before looking again.
const PAUSE: Duration = Duration::from_millis(20);

impl Growing {
    fn open(path: &PathBuf) -> Result<Self, Failure> {
        let file = File::open(path);
        Ok(Growing(file.map_err(|error| Failure(format!("{}: {error}", path.display())))?))
    }
}

impl Read for Growing {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        loop {
            match self.0.read(buffer)? {
                0 => std::thread::sleep(PAUSE),
                read => return Ok(read),
            }
        }
    }
}
