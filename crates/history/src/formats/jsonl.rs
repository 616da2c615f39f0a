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
//! into the history: no tree is built unless an argument or a result is a list or an object. Most
//! lines are plainer still, and have a faster reader: `plain_line.rs`.

use super::block::{Block, Line, expected_found};
use super::chunks;
use super::field::{Field, FieldSet, LineKind};
use super::json::Json;
use super::plain_line;
use crate::{
    Annotation, Builder, Call, Conventions, Echo, InputError, Interval, OpId, Outcome, Problem,
    Return, Time,
};
use crate::{Nil, ProcessId, Since, Timescale, Unit, Value, ValueId, Values};
use std::borrow::Cow;

/// Reads a file, a long one on several threads.
pub(super) fn read(
    block: &mut Block<'_>,
    builder: &mut Builder,
    threads: usize,
) -> Result<(), InputError> {
    let (content, has_header) = (Content::Nothing, false);
    let mut file = File { builder, content, has_header, annotations: Vec::new() };
    let mut left = if threads > 1 { SHORT } else { usize::MAX };
    while left > 0 {
        let Some(line) = block.next_line()? else {
            return file.place_annotations(block.source());
        };
        left = left.saturating_sub(line.bytes.len());
        file.line(line)?;
    }
    chunks::read(block, &mut file, threads)?;
    file.place_annotations(block.source())
}

/// As many bytes are read before it is worth to start threads.
const SHORT: usize = 1 << 20;

/// What the lines so far were.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Content {
    Nothing,
    Events,
    Operations,
    AnonymousOperations,
}

pub(super) struct File<'b> {
    builder: &'b mut Builder,
    content: Content,
    has_header: bool,
    annotations: Vec<Unplaced>,
}

/// What an event line tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum EventKind {
    Call,
    Return,
    Fail,
    Info,
}

/// The fields of one line.
pub(super) struct Record<'l> {
    pub told: Told,
    pub op: Cow<'l, str>,
    failed: Value,
    rest: Rest<'l>,
}

/// The fields that are common, but for the operation's name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Told {
    pub seen: FieldSet,
    pub process: ValueId,
    pub arg: ValueId,
    pub result: ValueId,
    pub key: ValueId,
    object: ValueId,
    id: ValueId,
    pub call: Time,
    pub ret: Option<Time>,
    pub time: Option<Time>,
    pub kind: EventKind,
}

impl Told {
    /// No field at all.
    pub const NOTHING: Told = Told {
        seen: FieldSet::NONE,
        process: ValueId::ABSENT,
        arg: ValueId::ABSENT,
        result: ValueId::ABSENT,
        key: ValueId::ABSENT,
        object: ValueId::ABSENT,
        id: ValueId::ABSENT,
        call: 0,
        ret: None,
        time: None,
        kind: EventKind::Call,
    };

    /// The same with other ids for its values.
    #[inline]
    pub fn renamed(self, new: impl Fn(ValueId) -> ValueId) -> Self {
        Told {
            process: new(self.process),
            arg: new(self.arg),
            result: new(self.result),
            key: new(self.key),
            object: new(self.object),
            id: new(self.id),
            ..self
        }
    }
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
    /// Reads a line of any kind.
    #[cold]
    pub(super) fn read_fully(line: Line<'l>, values: &mut Values) -> Result<Self, InputError> {
        let mut json = Json::of(line);
        let (op, failed) = (Cow::Borrowed(""), Value::Bool(false));
        let mut record = Record { told: Told::NOTHING, op, failed, rest: Rest::default() };
        json.take(b'{', "`{`, an object a line")?;
        if !json.takes(b'}') {
            loop {
                let name = json.string("a field's name")?;
                let Some(field) = Field::named(&name) else {
                    return Err(unknown_field(line, &name));
                };
                json.take(b':', "`:`")?;
                if !record.told.seen.insert(field) {
                    return Err(line.expected("each field once", name.as_bytes()));
                }
                record.field(field, &mut json, values)?;
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
        values: &mut Values,
    ) -> Result<(), InputError> {
        let told = &mut self.told;
        match field {
            Field::Process => told.process = json.value_id(values)?,
            Field::Op => self.op = json.string("the operation's name, a string")?,
            Field::Arg => told.arg = json.value_id(values)?,
            Field::Result => told.result = json.value_id(values)?,
            Field::Key => told.key = json.value_id(values)?,
            Field::Object => told.object = json.value_id(values)?,
            Field::Id => told.id = json.value_id(values)?,
            Field::Call => told.call = json.unsigned(TIME)?,
            Field::Return => told.ret = Some(json.unsigned(TIME)?),
            Field::Time => told.time = Some(json.unsigned(TIME)?),
            Field::Failed => self.failed = json.value(0)?,
            Field::Type => told.kind = event_kind(json)?,
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
    /// Takes a line.
    #[inline]
    pub(super) fn line(&mut self, line: Line<'_>) -> Result<(), InputError> {
        if line.is_blank() {
            return Ok(());
        }
        self.builder.between_records();
        match plain_line::read(line.bytes, self.builder.values()) {
            Some((told, op)) => self.told(line, told, op),
            None => self.unusual(line),
        }
    }

    #[cold]
    fn unusual(&mut self, line: Line<'_>) -> Result<(), InputError> {
        let record = Record::read_fully(line, self.builder.values())?;
        self.record(line, record)
    }

    /// Takes a line that has common fields alone.
    #[inline]
    pub(super) fn told(&mut self, line: Line<'_>, told: Told, op: &str) -> Result<(), InputError> {
        match self.kind(line, told.seen)? {
            LineKind::Operation => self.operation(line, &told, op, Some(Outcome::Ok)).map(drop),
            LineKind::Event => self.event(line, &told, op).map(drop),
            LineKind::Annotation | LineKind::Header => {
                unreachable!("they have fields that are not common")
            }
        }
    }

    /// The values of the file.
    pub(super) fn values(&mut self) -> &mut Values {
        self.builder.values()
    }

    /// What a line is.
    #[inline]
    fn kind(&self, line: Line<'_>, seen: FieldSet) -> Result<LineKind, InputError> {
        let kind = LineKind::of(seen).ok_or_else(|| {
            line.expected(
                "a field that tells what the line is: `call` (an operation), `type` (an event), \
                 `annotation` or `seriatim` (the header)",
                line.bytes,
            )
        })?;
        if let Some(stranger) = seen.first_outside(kind.allowed()) {
            let expected = format!("no field `{}` in {}", stranger.name(), kind.name());
            return Err(line.expected(&expected, line.bytes));
        }
        if let Some(missing) = kind.required().first_outside(seen) {
            let expected = format!("the field `{}` in {}", missing.name(), kind.name());
            return Err(line.expected(&expected, line.bytes));
        }
        Ok(kind)
    }

    fn record(&mut self, line: Line<'_>, record: Record<'_>) -> Result<(), InputError> {
        let told = &record.told;
        match self.kind(line, told.seen)? {
            LineKind::Operation => {
                let outcome = match record.failed {
                    Value::Bool(false) => Some(Outcome::Ok),
                    Value::Bool(true) => Some(Outcome::Failed),
                    _ => None,
                };
                let op = self.operation(line, told, &record.op, outcome)?;
                if let Some(note) = record.rest.note {
                    self.builder.note(op, note);
                }
                Ok(())
            }
            LineKind::Event => {
                let op = self.event(line, told, &record.op)?;
                if let Some(note) = record.rest.note {
                    let note = match self.builder.note_of(op) {
                        Some(before) => Value::list([before.clone(), note]),
                        None => note,
                    };
                    self.builder.note(op, note);
                }
                Ok(())
            }
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
        // Of two headers, which may contradict each other, none is chosen.
        if std::mem::replace(&mut self.has_header, true) {
            return Err(line.expected("one header", line.bytes));
        }
        if record.told.seen.has(Field::Spec) {
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
        // Whoever hears of operations one by one cannot take a verdict back.
        if record.rest.missing > 0 && self.builder.is_listening() {
            let expected =
                "a history of which no log is missing: such a one is only checked whole, in memory";
            return Err(line.expected(expected, line.bytes));
        }
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

    /// Takes an operation; without an outcome, it was not said rightly.
    #[inline]
    fn operation(
        &mut self,
        line: Line<'_>,
        told: &Told,
        op: &str,
        outcome: Option<Outcome>,
    ) -> Result<OpId, InputError> {
        let process = match told.process {
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
        let Some(outcome) = outcome else {
            return Err(line.expected("true or false as `failed`", line.bytes));
        };
        if told.ret.is_none() && (told.result.is_present() || outcome == Outcome::Failed) {
            let expected = "`return` beside `result` or `failed` (without it the operation is \
                            pending and has neither)";
            return Err(line.expected(expected, line.bytes));
        }
        let call = call_of(told, op, self.builder);
        let interval = Interval { call: told.call, ret: told.ret };
        let ret = Return::new(outcome, told.result);
        self.builder.operation(line.number, process, call, interval, ret)
    }

    fn event(&mut self, line: Line<'_>, told: &Told, op: &str) -> Result<OpId, InputError> {
        self.becomes(line, Content::Events)?;
        let process = self.builder.process_of(told.process);
        match told.kind {
            EventKind::Call => {
                if told.result.is_present() || !told.seen.has(Field::Op) {
                    let expected = "`op` and no `result` in a call";
                    return Err(line.expected(expected, line.bytes));
                }
                let call = Call { time: told.time, ..call_of(told, op, self.builder) };
                self.builder.call(line.number, process, call)
            }
            _ => self.event_return(line, process, told, op),
        }
    }

    fn event_return(
        &mut self,
        line: Line<'_>,
        process: ProcessId,
        told: &Told,
        op: &str,
    ) -> Result<OpId, InputError> {
        let outcome = match told.kind {
            EventKind::Fail => Outcome::Failed,
            EventKind::Info => Outcome::Pending,
            EventKind::Return | EventKind::Call => Outcome::Ok,
        };
        if outcome == Outcome::Pending && told.result.is_present() {
            return Err(line.expected("no `result` in an info", line.bytes));
        }
        let ret = Return { id: told.id, time: told.time, ..Return::new(outcome, told.result) };
        let returned = self.builder.ret(line.number, process, ret)?;
        self.repeats_its_call(line, returned, told, op)?;
        Ok(returned)
    }

    /// What a return says of its call must be what the call said.
    fn repeats_its_call(
        &mut self,
        line: Line<'_>,
        returned: OpId,
        told: &Told,
        op: &str,
    ) -> Result<(), InputError> {
        let call = self.builder.call_of(returned);
        let mismatch = |call: String, ret: String| line.problem(Problem::Mismatch { call, ret });
        if told.seen.has(Field::Op) {
            let name = self.builder.method_name(call.method);
            if name != op {
                return Err(mismatch(name.into(), op.into()));
            }
        }
        let pairs = [(told.arg, call.arg), (told.key, call.key), (told.object, call.object)];
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
fn call_of(told: &Told, op: &str, builder: &mut Builder) -> Call {
    Call {
        object: told.object,
        key: told.key,
        arg: told.arg,
        id: told.id,
        ..Call::new(builder.method(op))
    }
}
