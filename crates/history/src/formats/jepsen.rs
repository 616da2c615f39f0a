//! The events of Jepsen's histories, whichever notation they come in.
//!
//! `:invoke` calls, `:ok` returns, `:fail` returns a failure, `:info` leaves the operation pending
//! for ever. The argument is the value of the `:invoke`, the result the value of the `:ok`. (A
//! `:read` that repeats its result at the `:invoke` has no argument.) A failure's value is a result
//! only when it differs from the argument: mostly it repeats it. An `:info` of a process that is
//! not a number and has no open call, such as `:nemesis`, is an annotation.
//!
//! The order of the events is the order in which they stand. Jepsen takes `:time` before it appends
//! the event, so times may step back a little; the display then keeps the later time, and an
//! annotation says so. `:index` repeats the position and is not kept. All other keys become the
//! operation's note.

use super::block::expected_found;
use crate::{Annotation, Builder, Call, InputError, OpId, Outcome, Problem, Return, Time};
use crate::{Since, Timescale, Unit, Value, ValueId};

/// What `:time` counts: nanoseconds since the test began.
pub(super) const TIMESCALE: Timescale = Timescale { unit: Unit::Nanoseconds, since: Since::Start };

/// What `:type` says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Invoke,
    Ok,
    Fail,
    Info,
}

impl Kind {
    /// The kind of a keyword's name.
    pub fn named(name: &[u8]) -> Option<Kind> {
        match name {
            b"invoke" => Some(Kind::Invoke),
            b"ok" => Some(Kind::Ok),
            b"fail" => Some(Kind::Fail),
            b"info" => Some(Kind::Info),
            _ => None,
        }
    }
}

/// The value of `:f`.
pub(super) enum Function<'l> {
    /// A keyword, as it stands in the source.
    Keyword(&'l str),
    /// Any form.
    Form(Value),
}

impl Function<'_> {
    /// The name, if it is one.
    fn name(&self) -> Result<&str, &Value> {
        match self {
            Function::Keyword(name) => Ok(name),
            Function::Form(form) => form.as_str().ok_or(form),
        }
    }
}

/// One event.
pub(super) struct Event<'l> {
    pub line: u64,
    pub process: ValueId,
    pub kind: Kind,
    /// The value of `:f`.
    pub f: Function<'l>,
    pub value: ValueId,
    pub key: ValueId,
    pub object: ValueId,
    pub time: Option<Time>,
    /// Everything else.
    pub extras: Vec<(Value, Value)>,
}

impl Event<'_> {
    /// An event of which only the line is known.
    pub fn at(line: u64) -> Self {
        Event {
            line,
            process: ValueId::ABSENT,
            kind: Kind::Info,
            f: Function::Form(Value::Nil),
            value: ValueId::ABSENT,
            key: ValueId::ABSENT,
            object: ValueId::ABSENT,
            time: None,
            extras: Vec::new(),
        }
    }
}

/// Whether `:value` is `[key value]` of independent objects.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Keys {
    Plain,
    Independent,
}

/// Puts events into a builder.
pub(super) struct Jepsen<'b> {
    pub builder: &'b mut Builder,
    source: &'b str,
    keys: Keys,
    last_time: Time,
    steps_back: u64,
}

impl<'b> Jepsen<'b> {
    pub fn new(builder: &'b mut Builder, source: &'b str, keys: Keys) -> Self {
        Jepsen { builder, source, keys, last_time: 0, steps_back: 0 }
    }

    /// Adds an event.
    pub fn event(&mut self, mut event: Event<'_>) -> Result<(), InputError> {
        if let Some(time) = &mut event.time {
            self.steps_back += u64::from(*time < self.last_time);
            *time = self.last_time.max(*time);
            self.last_time = *time;
        }
        let process = self.builder.values().as_int(event.process).is_some();
        let is_annotation = event.kind == Kind::Info && !process && !self.is_open(event.process);
        if is_annotation {
            self.annotation(event);
            return Ok(());
        }
        if self.keys == Keys::Independent {
            self.split_key(&mut event)?;
        }
        match event.kind {
            Kind::Invoke => self.invoke(event),
            _ => self.completion(event),
        }
    }

    /// Says what was not kept.
    pub fn finish(&mut self) {
        if self.steps_back > 0 {
            let text = format!(
                "{} events carry a time before that of the event before them; the order of the \
                 events counts",
                self.steps_back
            );
            self.builder.annotate_now("reader", &text);
        }
    }

    fn is_open(&mut self, process: ValueId) -> bool {
        let process = self.builder.known_process(process);
        process.is_some_and(|process| self.builder.open_operation(process).is_some())
    }

    fn expected(&self, line: u64, expected: &str, found: &str) -> InputError {
        expected_found(self.source, line, expected, found.as_bytes())
    }

    /// Takes the value `[k v]` apart: the key is the object.
    fn split_key(&mut self, event: &mut Event<'_>) -> Result<(), InputError> {
        let values = self.builder.values();
        match (values.as_keyed_pair(event.value), event.kind) {
            (Some((key, value)), _) => {
                event.object = key;
                event.value = value;
                Ok(())
            }
            (None, Kind::Fail | Kind::Info) => Ok(()),
            (None, _) => {
                let found = values.get(event.value).to_string();
                let expected = "`:value [key value]`, since the keys are independent objects";
                Err(self.expected(event.line, expected, &found))
            }
        }
    }

    fn method_name<'e>(&self, event: &'e Event<'_>) -> Result<&'e str, InputError> {
        event.f.name().map_err(|form| {
            let expected = "the operation's name as `:f`, a keyword or a string";
            self.expected(event.line, expected, &form.to_string())
        })
    }

    fn invoke(&mut self, event: Event<'_>) -> Result<(), InputError> {
        let method = self.method_name(&event)?;
        let call = Call {
            object: event.object,
            key: event.key,
            arg: event.value,
            time: event.time,
            ..Call::new(self.builder.method(method))
        };
        let process = self.builder.process_of(event.process);
        let op = self.builder.call(event.line, process, call)?;
        self.note(op, event.extras);
        Ok(())
    }

    fn completion(&mut self, event: Event<'_>) -> Result<(), InputError> {
        let process = self.builder.process_of(event.process);
        let outcome = match event.kind {
            Kind::Fail => Outcome::Failed,
            Kind::Info => Outcome::Pending,
            Kind::Ok | Kind::Invoke => Outcome::Ok,
        };
        let mut ret = Return { time: event.time, ..Return::new(outcome, event.value) };
        if let Some(op) = self.builder.open_operation(process) {
            self.repeats_its_invoke(op, &event)?;
            let call = self.builder.call_of(op);
            let is_read = self.builder.method_name(call.method) == "read";
            match outcome {
                Outcome::Failed if call.arg == ret.result => ret.result = ValueId::ABSENT,
                Outcome::Ok if is_read && call.arg == ret.result && call.arg.is_present() => {
                    self.builder.set_arg(op, ValueId::NIL);
                }
                _ => {}
            }
        }
        let op = self.builder.ret(event.line, process, ret)?;
        self.note(op, event.extras);
        Ok(())
    }

    fn repeats_its_invoke(&mut self, op: OpId, event: &Event<'_>) -> Result<(), InputError> {
        let call = self.builder.call_of(op);
        let name = self.builder.method_name(call.method);
        let f = self.method_name(event)?;
        let problem = if name != f {
            Problem::Mismatch { call: format!(":f :{name}"), ret: format!(":f :{f}") }
        } else {
            let pairs = [(":key", event.key, call.key), ("key", event.object, call.object)];
            let differs = |&&(_, said, called): &&(&str, ValueId, ValueId)| {
                said.is_present() && said != called
            };
            let Some(&(what, said, called)) = pairs.iter().find(differs) else {
                return Ok(());
            };
            let values = self.builder.values();
            Problem::Mismatch {
                call: format!("{what} {}", values.get(called)),
                ret: format!("{what} {}", values.get(said)),
            }
        };
        Err(InputError::new(self.source, event.line, problem))
    }

    /// Adds the keys that have no meaning here to the note of an operation.
    fn note(&mut self, op: OpId, extras: Vec<(Value, Value)>) {
        if extras.is_empty() {
            return;
        }
        let is_note = |key: &Value| key.as_str() == Some("note");
        let mut entries = match self.builder.note_of(op) {
            Some(Value::Map(entries)) => entries.to_vec(),
            Some(other) => vec![(Value::Name("note".into()), other.clone())],
            None => Vec::new(),
        };
        for (key, value) in extras {
            entries.retain(|(known, _)| *known != key);
            entries.push((key, value));
        }
        let note = match &entries[..] {
            [(key, value)] if is_note(key) => value.clone(),
            _ => Value::map(entries),
        };
        self.builder.note(op, note);
    }

    fn annotation(&mut self, event: Event<'_>) {
        let plain = |value: &Value| match value {
            Value::Text(text) | Value::Name(text) => text.to_string(),
            other => other.to_string(),
        };
        let value = self.builder.values().get(event.value);
        let mut text = event.f.name().map_or_else(plain, str::to_owned);
        if value != Value::Nil {
            text.push_str(&format!(" {value}"));
        }
        let now = self.builder.now();
        let mut colour = None;
        for (key, value) in event.extras {
            match (key.as_str(), value) {
                (Some("colour"), Value::Text(name)) => colour = Some(name.into()),
                (_, value) => text.push_str(&format!(" {key}: {value}")),
            }
        }
        let group = plain(&self.builder.values().get(event.process));
        self.builder.annotate(Annotation { start: now, end: now, group, text, colour });
    }
}
