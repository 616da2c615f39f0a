//! Our own format, JSON Lines: one operation per line, or one event per line.
//!
//! ```text
//! {"seriatim":1,"spec":"queue"}
//! {"process":0,"op":"enqueue","arg":7,"call":10,"return":12}
//! {"process":1,"op":"dequeue","result":7,"call":11,"return":15}
//! {"process":2,"op":"dequeue","call":13}
//! {"annotation":"partition","group":"nemesis","start":9,"end":14,"colour":"red"}
//! ```
//!
//! `docs/format.md` is the full description. The line is scanned once, from left to right, straight
//! into the history: no tree is built unless an argument or a result is a list or an object.

use super::block::{Block, Line, expected_found};
use super::field::{Field, FieldSet, LineKind};
use super::json::Json;
use crate::{
    Annotation, Builder, Call, Conventions, Echo, InputError, Interval, OpId, Outcome, Problem,
    Return, Time,
};
use crate::{Nil, ProcessId, Since, Timescale, Unit, Value, ValueId};
use std::borrow::Cow;

/// Reads a file.
pub(super) fn read(block: &mut Block<'_>, builder: &mut Builder) -> Result<(), InputError> {
    let mut file = File { builder, content: Content::Nothing, annotations: Vec::new() };
    while let Some(line) = block.next_line()? {
        if line.is_blank() {
            continue;
        }
        file.builder.between_records();
        let record = Record::read(line, file.builder)?;
        file.record(line, record)?;
    }
    file.place_annotations(block.source())
}

/// What the lines so far were.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Content {
    Nothing,
    Events,
    Operations,
    AnonymousOperations,
}

struct File<'b> {
    builder: &'b mut Builder,
    content: Content,
    annotations: Vec<Unplaced>,
}

/// What an event line tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum EventKind {
    Call,
    Return,
    Fail,
    Info,
}

/// The fields of one line.
struct Record<'l> {
    seen: FieldSet,
    process: ValueId,
    op: Cow<'l, str>,
    arg: ValueId,
    result: ValueId,
    key: ValueId,
    object: ValueId,
    id: ValueId,
    call: Time,
    ret: Option<Time>,
    time: Option<Time>,
    failed: Value,
    kind: EventKind,
    rest: Rest<'l>,
}

/// The fields that are rare.
#[derive(Default)]
struct Rest<'l> {
    note: Option<Value>,
    version: u64,
    spec: Cow<'l, str>,
    nil: Option<Nil>,
    echo: Option<Echo>,
    timescale: Timescale,
    missing: u64,
    annotation: Cow<'l, str>,
    group: Cow<'l, str>,
    colour: Option<Cow<'l, str>>,
    start: Option<Time>,
    end: Option<Time>,
}

const TIME: &str = "a time, a whole number from 0 on";

impl<'l> Record<'l> {
    fn read(line: Line<'l>, builder: &mut Builder) -> Result<Self, InputError> {
        let mut json = Json::of(line);
        let mut record = Record {
            seen: FieldSet::default(),
            process: ValueId::ABSENT,
            op: Cow::Borrowed(""),
            arg: ValueId::ABSENT,
            result: ValueId::ABSENT,
            key: ValueId::ABSENT,
            object: ValueId::ABSENT,
            id: ValueId::ABSENT,
            call: 0,
            ret: None,
            time: None,
            failed: Value::Bool(false),
            kind: EventKind::Call,
            rest: Rest::default(),
        };
        json.take(b'{', "`{`, an object a line")?;
        if !json.takes(b'}') {
            loop {
                let name = json.string("a field's name")?;
                let Some(field) = Field::named(&name) else {
                    return Err(unknown_field(line, &name));
                };
                json.take(b':', "`:`")?;
                if !record.seen.insert(field) {
                    return Err(line.expected("each field once", name.as_bytes()));
                }
                record.field(field, &mut json, builder)?;
                if json.takes(b'}') {
                    break;
                }
                json.take(b',', "`,` or `}`")?;
            }
        }
        json.end()?;
        Ok(record)
    }

    #[inline]
    fn field(
        &mut self,
        field: Field,
        json: &mut Json<'l>,
        builder: &mut Builder,
    ) -> Result<(), InputError> {
        match field {
            Field::Process => self.process = json.value_id(builder.values())?,
            Field::Op => self.op = json.string("the operation's name, a string")?,
            Field::Arg => self.arg = json.value_id(builder.values())?,
            Field::Result => self.result = json.value_id(builder.values())?,
            Field::Key => self.key = json.value_id(builder.values())?,
            Field::Object => self.object = json.value_id(builder.values())?,
            Field::Id => self.id = json.value_id(builder.values())?,
            Field::Call => self.call = json.unsigned(TIME)?,
            Field::Return => self.ret = Some(json.unsigned(TIME)?),
            Field::Time => self.time = Some(json.unsigned(TIME)?),
            Field::Failed => self.failed = json.value(0)?,
            Field::Type => self.kind = event_kind(json)?,
            _ => self.rest.field(field, json)?,
        }
        Ok(())
    }
}

impl<'l> Rest<'l> {
    #[cold]
    fn field(&mut self, field: Field, json: &mut Json<'l>) -> Result<(), InputError> {
        match field {
            Field::Seriatim => self.version = json.unsigned("the format's version, 1")?,
            Field::Spec => self.spec = json.string("the specification, a string")?,
            Field::Nil => self.nil = Some(nil(json)?),
            Field::Echo => self.echo = Some(echo(json)?),
            Field::Unit => self.timescale.unit = unit(json)?,
            Field::Since => self.timescale.since = since(json)?,
            Field::Missing => self.missing = json.unsigned("the number of missing logs")?,
            Field::Annotation => self.annotation = json.string("a text, a string")?,
            Field::Group => self.group = json.string("a group's name, a string")?,
            Field::Colour => self.colour = Some(json.string("a colour, a string")?),
            Field::Start => self.start = Some(json.unsigned(TIME)?),
            Field::End => self.end = Some(json.unsigned(TIME)?),
            _ => self.note = Some(json.value(0)?),
        }
        Ok(())
    }
}

fn nil(json: &mut Json<'_>) -> Result<Nil, InputError> {
    let expected = "\"value\" or \"unknown\" as the meaning of nil";
    let text = json.string(expected)?;
    match &*text {
        "value" => Ok(Nil::Value),
        "unknown" => Ok(Nil::Unknown),
        _ => Err(json.expected(&format!("{expected} (it is {text:?}) before this"))),
    }
}

fn echo(json: &mut Json<'_>) -> Result<Echo, InputError> {
    let expected = "\"result\" or \"argument\" as the meaning of a repeated argument";
    let text = json.string(expected)?;
    match &*text {
        "result" => Ok(Echo::Result),
        "argument" => Ok(Echo::Argument),
        _ => Err(json.expected(&format!("{expected} (it is {text:?}) before this"))),
    }
}

fn unit(json: &mut Json<'_>) -> Result<Unit, InputError> {
    let expected = "\"ns\", \"us\", \"ms\" or \"s\" as the unit of times";
    let text = json.string(expected)?;
    let found = || json.expected(&format!("{expected} (it is {text:?}) before this"));
    Unit::named(&text).ok_or_else(found)
}

fn since(json: &mut Json<'_>) -> Result<Since, InputError> {
    let expected = "\"start\" or \"unix\" as what times are counted from";
    let text = json.string(expected)?;
    match &*text {
        "start" => Ok(Since::Start),
        "unix" => Ok(Since::Unix),
        _ => Err(json.expected(&format!("{expected} (it is {text:?}) before this"))),
    }
}

fn event_kind(json: &mut Json<'_>) -> Result<EventKind, InputError> {
    let expected = "\"call\", \"return\", \"fail\" or \"info\" as type";
    let text = json.string(expected)?;
    Ok(match &*text {
        "call" => EventKind::Call,
        "return" => EventKind::Return,
        "fail" => EventKind::Fail,
        "info" => EventKind::Info,
        _ => return Err(json.expected(&format!("{expected} (it is {text:?}) before this"))),
    })
}

#[cold]
fn unknown_field(line: Line<'_>, name: &str) -> InputError {
    let expected = match Field::meant(name) {
        Some(field) => format!("a known field (did you mean `{}`?)", field.name()),
        None => format!("a known field, one of {}", Field::all_names()),
    };
    line.expected(&expected, name.as_bytes())
}

impl File<'_> {
    #[inline]
    fn record(&mut self, line: Line<'_>, record: Record<'_>) -> Result<(), InputError> {
        let kind = LineKind::of(record.seen).ok_or_else(|| {
            line.expected(
                "a field that tells what the line is: `call` (an operation), `type` (an event), \
                 `annotation` or `seriatim` (the header)",
                line.bytes,
            )
        })?;
        if let Some(stranger) = record.seen.first_outside(kind.allowed()) {
            let expected = format!("no field `{}` in {}", stranger.name(), kind.name());
            return Err(line.expected(&expected, line.bytes));
        }
        if let Some(missing) = kind.required().first_outside(record.seen) {
            let expected = format!("the field `{}` in {}", missing.name(), kind.name());
            return Err(line.expected(&expected, line.bytes));
        }
        match kind {
            LineKind::Operation => self.operation(line, record),
            LineKind::Event => self.event(line, record),
            LineKind::Annotation => self.annotation(line, record.rest),
            LineKind::Header => self.header(line, record),
        }
    }

    #[cold]
    fn header(&mut self, line: Line<'_>, record: Record<'_>) -> Result<(), InputError> {
        if record.rest.version != 1 {
            return Err(line.expected("version 1 of the format", line.bytes));
        }
        if self.content != Content::Nothing {
            return Err(line.expected("the header before everything else", line.bytes));
        }
        if record.seen.has(Field::Spec) {
            self.builder.name_spec(&record.rest.spec);
        }
        self.builder.follow(Conventions {
            nil: record.rest.nil.unwrap_or_default(),
            echo: record.rest.echo.unwrap_or_default(),
        });
        let timescale = record.rest.timescale;
        if timescale.since == Since::Unix && timescale.unit == Unit::Ticks {
            return Err(line.expected("`unit` beside `since`", line.bytes));
        }
        self.builder.measure_in(timescale);
        self.builder.misses_logs(record.rest.missing);
        Ok(())
    }

    #[inline]
    fn becomes(&mut self, line: Line<'_>, content: Content) -> Result<(), InputError> {
        if self.content == content {
            return Ok(());
        }
        let expected = match self.content {
            Content::Nothing => {
                self.content = content;
                return Ok(());
            }
            Content::Events => "an event, as in the lines before (`type`, no `call`)",
            Content::Operations => "an operation of a `process`, as in the lines before",
            Content::AnonymousOperations => {
                "an operation without `process`, as in the lines before"
            }
        };
        Err(line.expected(expected, line.bytes))
    }

    #[inline]
    fn operation(&mut self, line: Line<'_>, record: Record<'_>) -> Result<(), InputError> {
        let process = match record.process {
            ValueId::ABSENT => None,
            name => Some(self.builder.process_of(name)),
        };
        self.becomes(
            line,
            match process {
                None => Content::AnonymousOperations,
                Some(_) => Content::Operations,
            },
        )?;
        let outcome = match record.failed {
            Value::Bool(false) => Outcome::Ok,
            Value::Bool(true) => Outcome::Failed,
            _ => return Err(line.expected("true or false as `failed`", line.bytes)),
        };
        if record.ret.is_none() && (record.result.is_present() || outcome == Outcome::Failed) {
            let expected = "`return` beside `result` or `failed` (without it the operation is \
                            pending and has neither)";
            return Err(line.expected(expected, line.bytes));
        }
        let call = call_of(&record, self.builder);
        let interval = Interval { call: record.call, ret: record.ret };
        let ret = Return::new(outcome, record.result);
        let op = self.builder.operation(line.number, process, call, interval, ret)?;
        if let Some(note) = record.rest.note {
            self.builder.note(op, note);
        }
        Ok(())
    }

    fn event(&mut self, line: Line<'_>, record: Record<'_>) -> Result<(), InputError> {
        self.becomes(line, Content::Events)?;
        let process = self.builder.process_of(record.process);
        let op = match record.kind {
            EventKind::Call => {
                if record.result.is_present() || !record.seen.has(Field::Op) {
                    let expected = "`op` and no `result` in a call";
                    return Err(line.expected(expected, line.bytes));
                }
                let call = Call { time: record.time, ..call_of(&record, self.builder) };
                self.builder.call(line.number, process, call)?
            }
            kind => self.event_return(line, process, kind, &record)?,
        };
        if let Some(note) = record.rest.note {
            let note = match self.builder.note_of(op) {
                Some(before) => Value::list([before.clone(), note]),
                None => note,
            };
            self.builder.note(op, note);
        }
        Ok(())
    }

    fn event_return(
        &mut self,
        line: Line<'_>,
        process: ProcessId,
        kind: EventKind,
        record: &Record<'_>,
    ) -> Result<OpId, InputError> {
        let outcome = match kind {
            EventKind::Fail => Outcome::Failed,
            EventKind::Info => Outcome::Pending,
            EventKind::Return | EventKind::Call => Outcome::Ok,
        };
        if outcome == Outcome::Pending && record.result.is_present() {
            return Err(line.expected("no `result` in an info", line.bytes));
        }
        let ret =
            Return { id: record.id, time: record.time, ..Return::new(outcome, record.result) };
        let op = self.builder.ret(line.number, process, ret)?;
        self.repeats_its_call(line, op, record)?;
        Ok(op)
    }

    /// What a return says of its call must be what the call said.
    fn repeats_its_call(
        &mut self,
        line: Line<'_>,
        op: OpId,
        record: &Record<'_>,
    ) -> Result<(), InputError> {
        let call = self.builder.call_of(op);
        let mismatch = |call: String, ret: String| line.problem(Problem::Mismatch { call, ret });
        if record.seen.has(Field::Op) {
            let name = self.builder.method_name(call.method);
            if name != record.op {
                return Err(mismatch(name.into(), record.op.clone().into()));
            }
        }
        let pairs = [(record.arg, call.arg), (record.key, call.key), (record.object, call.object)];
        for (said, called) in pairs {
            if said.is_present() && said != called {
                let values = self.builder.values();
                let (said, called) = (values.get(said), values.get(called));
                return Err(mismatch(called.to_string(), said.to_string()));
            }
        }
        Ok(())
    }

    #[cold]
    fn annotation(&mut self, line: Line<'_>, rest: Rest<'_>) -> Result<(), InputError> {
        if rest.start.zip(rest.end).is_some_and(|(start, end)| end < start) {
            return Err(line.expected("a `start` that is not after the `end`", line.bytes));
        }
        self.annotations.push(Unplaced {
            line: line.number,
            now: self.builder.now(),
            start: rest.start,
            end: rest.end,
            group: rest.group.into_owned(),
            text: rest.annotation.into_owned(),
            colour: rest.colour.map(Cow::into_owned),
        });
        Ok(())
    }

    /// Turns the times of annotations into stamps, now that all events are known.
    fn place_annotations(&mut self, source: &str) -> Result<(), InputError> {
        for unplaced in std::mem::take(&mut self.annotations) {
            let (start, end) = match (self.content, unplaced.start) {
                (Content::Events | Content::Nothing, start) => {
                    let builder = &self.builder;
                    let start = start.map_or(unplaced.now, |time| builder.stamp_at(time));
                    let end = unplaced.end.map_or(start, |time| builder.stamp_at(time));
                    (start, end.max(start))
                }
                (_, Some(start)) => (start, unplaced.end.unwrap_or(start)),
                (_, None) => {
                    let expected = "the `start` of an annotation between operations";
                    return Err(expected_found(source, unplaced.line, expected, b""));
                }
            };
            self.builder.annotate(Annotation {
                start,
                end,
                group: unplaced.group,
                text: unplaced.text,
                colour: unplaced.colour,
            });
        }
        Ok(())
    }
}

/// An annotation whose moments are still as recorded.
struct Unplaced {
    line: u64,
    /// The stamp of the event that comes next.
    now: Time,
    start: Option<Time>,
    end: Option<Time>,
    group: String,
    text: String,
    colour: Option<String>,
}

#[inline]
fn call_of(record: &Record<'_>, builder: &mut Builder) -> Call {
    Call {
        object: record.object,
        key: record.key,
        arg: record.arg,
        id: record.id,
        ..Call::new(builder.method(&record.op))
    }
}
