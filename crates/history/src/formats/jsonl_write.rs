//! Writing our own format, one operation or one event per line.
//!
//! A line of an operation carries the stamps of the history: for a history of events these are the
//! numbers of the events, whose order is the real-time order; the recorded times are written by the
//! event layout. There an annotation stands where it begins if it is a moment, and where it ends if
//! it lasts.

use super::Format;
use super::json::{write_string, write_value};
use super::write::{LogEvent, WriteError, has_echo, has_nil_result, log_events};
use crate::{Annotation, Echo, History, Nil, Operation, Outcome, Since, Time, Timescale, ValueId};
use seriatim_limits::InOrder;
use std::io::{self, Write};

/// Writes one operation per line.
pub(super) fn operations(history: &History, out: &mut dyn Write) -> Result<(), WriteError> {
    header(history, Times::Stamps, out)?;
    for annotation in history.annotations() {
        let moments = Some((annotation.start, annotation.end));
        write_annotation(out, annotation, moments)?;
    }
    for operation in history.operations() {
        process(operation, out)?;
        call(operation, out)?;
        result(operation, out)?;
        if operation.outcome() == Outcome::Failed {
            out.write_all(b",\"failed\":true")?;
        }
        write!(out, ",\"call\":{}", operation.call())?;
        if let Some(ret) = operation.ret() {
            write!(out, ",\"return\":{ret}")?;
        }
        note(operation, out)?;
        out.write_all(b"}\n")?;
    }
    Ok(())
}

/// Writes one event per line.
pub(super) fn events(history: &History, out: &mut dyn Write) -> Result<(), WriteError> {
    header(history, Times::Recorded, out)?;
    let mut annotations = Annotations::of(history);
    for line in log_events(Format::JsonEvents, history) {
        let line = line?;
        let (LogEvent::Call(op) | LogEvent::Return(op) | LogEvent::GivenUp(op)) = line;
        let operation = history.operation(op);
        let stamp = match line {
            LogEvent::Call(_) => Some(operation.call()),
            LogEvent::Return(_) => operation.ret(),
            LogEvent::GivenUp(_) => None,
        };
        if let Some(stamp) = stamp {
            annotations.write_until(stamp, out)?;
        }
        process(operation, out)?;
        match line {
            LogEvent::Call(_) => {
                out.write_all(b",\"type\":\"call\"")?;
                call(operation, out)?;
                note(operation, out)?;
            }
            LogEvent::Return(_) => {
                let failed = operation.outcome() == Outcome::Failed;
                let kind: &str = if failed { "fail" } else { "return" };
                write!(out, ",\"type\":\"{kind}\"")?;
                result(operation, out)?;
            }
            LogEvent::GivenUp(_) => out.write_all(b",\"type\":\"info\"")?,
        }
        if let Some(stamp) = stamp {
            write!(out, ",\"time\":{}", history.display_time(stamp))?;
        }
        out.write_all(b"}\n")?;
    }
    annotations.write_until(Time::MAX, out)
}

/// Which times a layout writes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Times {
    /// Stamps: the recorded times, or the numbers of events.
    Stamps,
    /// The recorded times.
    Recorded,
}

fn header(history: &History, times: Times, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b"{\"seriatim\":1")?;
    if let Some(spec) = history.spec() {
        out.write_all(b",\"spec\":")?;
        write_string(out, spec)?;
    }
    if history.nil() == Nil::Unknown && has_nil_result(history) {
        out.write_all(b",\"nil\":\"unknown\"")?;
    }
    if history.echo() == Echo::Argument && has_echo(history) {
        out.write_all(b",\"echo\":\"argument\"")?;
    }
    if history.missing_logs() > 0 {
        write!(out, ",\"missing\":{}", history.missing_logs())?;
    }
    let Timescale { unit, since } = history.timescale();
    let has_unit = match times {
        Times::Stamps => !history.has_ranks(),
        Times::Recorded => history.has_times(),
    };
    if let Some(unit) = unit.name().filter(|_| has_unit) {
        write!(out, ",\"unit\":\"{unit}\"")?;
        if since == Since::Unix {
            out.write_all(b",\"since\":\"unix\"")?;
        }
    }
    out.write_all(b"}\n")
}

fn process(operation: Operation<'_>, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b"{\"process\":")?;
    write_value(out, operation.history.process_name(operation.process()))
}

fn call(operation: Operation<'_>, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b",\"op\":")?;
    write_string(out, operation.method())?;
    field(operation, "object", operation.object(), out)?;
    field(operation, "key", operation.key(), out)?;
    field(operation, "arg", operation.arg(), out)
}

fn result(operation: Operation<'_>, out: &mut dyn Write) -> io::Result<()> {
    field(operation, "result", operation.result(), out)
}

fn field(
    operation: Operation<'_>,
    name: &str,
    value: ValueId,
    out: &mut dyn Write,
) -> io::Result<()> {
    if value.is_present() {
        write!(out, ",\"{name}\":")?;
        write_value(out, &operation.history.values().get(value))?;
    }
    Ok(())
}

fn note(operation: Operation<'_>, out: &mut dyn Write) -> io::Result<()> {
    if let Some(note) = operation.history.note(operation.id) {
        out.write_all(b",\"note\":")?;
        write_value(out, note)?;
    }
    Ok(())
}

fn write_annotation(
    out: &mut dyn Write,
    annotation: &Annotation,
    moments: Option<(Time, Time)>,
) -> io::Result<()> {
    out.write_all(b"{\"annotation\":")?;
    write_string(out, &annotation.text)?;
    if !annotation.group.is_empty() {
        out.write_all(b",\"group\":")?;
        write_string(out, &annotation.group)?;
    }
    if let Some((start, end)) = moments {
        write!(out, ",\"start\":{start}")?;
        if end != start {
            write!(out, ",\"end\":{end}")?;
        }
    }
    if let Some(colour) = &annotation.colour {
        out.write_all(b",\"colour\":")?;
        write_string(out, colour)?;
    }
    out.write_all(b"}\n")
}

/// The annotations of a history, written between its events.
struct Annotations<'h> {
    history: &'h History,
    /// The annotations by the moment at which they are written, the next one last.
    waiting: Vec<&'h Annotation>,
}

impl<'h> Annotations<'h> {
    fn of(history: &'h History) -> Self {
        let mut waiting: Vec<&Annotation> = history.annotations().iter().collect();
        waiting.put_in_order_by_key(|annotation| annotation.end);
        waiting.reverse();
        Annotations { history, waiting }
    }

    /// The recorded time of a stamp, or one after all others for a stamp behind the last event.
    fn time(&self, stamp: Time) -> Time {
        let clock = &self.history.clock;
        match clock.len() {
            0 => stamp,
            events if stamp < events as Time => clock.get(stamp as usize),
            events => clock.get(events - 1).saturating_add(1),
        }
    }

    /// Writes what comes before the event of a stamp.
    fn write_until(&mut self, stamp: Time, out: &mut dyn Write) -> Result<(), WriteError> {
        while let Some(&annotation) = self.waiting.last()
            && annotation.end <= stamp
        {
            self.waiting.pop();
            let (start, end) = (annotation.start, annotation.end);
            let time = |stamp| self.time(stamp);
            let moments = (start != end).then(|| (time(start), time(end)));
            write_annotation(out, annotation, moments)?;
        }
        Ok(())
    }
}
