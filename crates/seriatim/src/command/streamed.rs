//! Generated histories as JSON Lines while they are made, so that they may be larger than memory.
//!
//! The text is what writing the collected history would give, byte for byte. Operations are written
//! in the order of their calls: one waits until all that were called before it have ended.

use super::Failure;
use seriatim::history::{Format, write_string, write_value};
use seriatim::spec::generate::{Datum, Generator, Happening, Invocation};
use std::collections::{HashMap, VecDeque};
use std::io::{self, BufWriter, ErrorKind, Write};

/// What a line holds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    Operations,
    Events,
}

impl Layout {
    /// The layout of a format that can be streamed.
    pub fn of(format: Format) -> Option<Self> {
        match format {
            Format::JsonLines => Some(Layout::Operations),
            Format::JsonEvents => Some(Layout::Events),
            _ => None,
        }
    }
}

/// Writes a history to standard output as it is made; gives the number of operations.
pub fn stream(generator: Generator, layout: Layout) -> Result<u64, Failure> {
    let mut out = BufWriter::with_capacity(256 << 10, io::stdout().lock());
    let mut operations = 0;
    let written = match layout {
        Layout::Operations => by_operation(generator, &mut out, &mut operations),
        Layout::Events => generator.write_events(&mut out, &mut operations),
    };
    match written.and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure(format!("standard output: cannot write: {error}")))
        }
        _ => Ok(operations),
    }
}

fn header(generator: &Generator, out: &mut impl Write) -> io::Result<()> {
    out.write_all(b"{\"seriatim\":1,\"spec\":")?;
    write_string(out, generator.spec())?;
    out.write_all(b"}\n")
}

/// An operation that waits to be written.
struct Waiting {
    process: u32,
    call: Invocation,
    called: u64,
    end: Option<End>,
}

enum End {
    Returned(u64, Datum),
    Crashed,
}

fn by_operation(
    generator: Generator,
    out: &mut impl Write,
    operations: &mut u64,
) -> io::Result<()> {
    header(&generator, out)?;
    let mut time = 0u64;
    let mut waiting: VecDeque<Waiting> = VecDeque::new();
    let mut open: HashMap<u32, u64> = HashMap::new();
    for happening in generator {
        let (process, end) = match happening {
            Happening::Call(process, call) => {
                open.insert(process, *operations);
                *operations += 1;
                waiting.push_back(Waiting { process, call, called: time, end: None });
                time += 1;
                continue;
            }
            Happening::Effect(_) => continue,
            Happening::Crash(process) => (process, End::Crashed),
            Happening::Return(process, result) => {
                time += 1;
                (process, End::Returned(time - 1, result))
            }
        };
        let first = *operations - waiting.len() as u64;
        if let Some(number) = open.remove(&process) {
            waiting[(number - first) as usize].end = Some(end);
        }
        while let Some(Waiting { end: Some(_), .. }) = waiting.front() {
            waiting.pop_front().map(|operation| write_operation(&operation, out)).transpose()?;
        }
    }
    waiting.iter().try_for_each(|operation| write_operation(operation, out))
}

fn write_operation(operation: &Waiting, out: &mut impl Write) -> io::Result<()> {
    write!(out, "{{\"process\":{}", operation.process)?;
    invocation(&operation.call, out)?;
    match &operation.end {
        Some(End::Returned(time, result)) => {
            field("result", result, out)?;
            writeln!(out, ",\"call\":{},\"return\":{time}}}", operation.called)
        }
        Some(End::Crashed) | None => writeln!(out, ",\"call\":{}}}", operation.called),
    }
}

fn invocation(call: &Invocation, out: &mut impl Write) -> io::Result<()> {
    out.write_all(b",\"op\":")?;
    write_string(out, call.method)?;
    field("key", &call.key, out)?;
    field("arg", &call.arg, out)
}

fn field(name: &str, datum: &Datum, out: &mut impl Write) -> io::Result<()> {
    if *datum == Datum::Absent {
        return Ok(());
    }
    write!(out, ",\"{name}\":")?;
    match datum {
        Datum::Absent => Ok(()),
        Datum::Nil => out.write_all(b"null"),
        Datum::Truth(truth) => write!(out, "{truth}"),
        Datum::Int(number) => write!(out, "{number}"),
        Datum::Pair(a, b) => write!(out, "[{a},{b}]"),
        Datum::Other(value) => write_value(out, value),
    }
}
