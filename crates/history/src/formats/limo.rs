//! LiMo's logs: one event per line, stacks and queues.
//!
//! ```text
//! # @object atomic-stack
//! [1] call push(1)
//! [2] call pop
//! [1] return
//! [2] return 1
//! ```
//!
//! Methods are `push` and `pop`, `enq` and `deq`, or `add` and `remove`, which we call by the names
//! of the object that the header states. A value is a whole number, a name or `name<thread,index>`.
//! The value of a removal stands at its call or at its return and is its result; `empty` in either
//! place, or a bare `return` when the call has no value either, says that the object was empty:
//! result `nil`. So no value that is added may be called `empty`. A call that never returns is
//! pending; the value at such a removal's call is kept as its note. Lines that start with `#` are
//! comments.

use super::Format;
use super::block::{Block, Line};
use super::fields::{parse_unsigned, value_of_word};
use super::write::{Inexpressible, LogEvent, Roles, WriteError, log_events, only_arg_and_result};
use crate::{Builder, Call, History, InputError, OpId, Operation, Outcome, Problem};
use crate::{ProcessId, Return, Value, ValueId};
use hashbrown::HashMap;
use std::io::Write;

/// What a method does with its value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Adds,
    Removes,
}

/// Reads a log.
pub(super) fn read(block: &mut Block<'_>, builder: &mut Builder) -> Result<(), InputError> {
    let mut log = Log { builder, object: None, announced: HashMap::new() };
    while let Some(line) = block.next_line()? {
        let text = line.bytes.trim_ascii();
        match text.first() {
            None => {}
            Some(b'#') => log.comment(line, text)?,
            Some(_) => log.event(line, text)?,
        }
    }
    log.note_the_announced();
    Ok(())
}

struct Log<'b> {
    builder: &'b mut Builder,
    object: Option<String>,
    /// The values that calls of removals announce.
    announced: HashMap<OpId, ValueId>,
}

impl Log<'_> {
    fn comment(&mut self, line: Line<'_>, text: &[u8]) -> Result<(), InputError> {
        let Some(object) = object_of_header(text) else {
            return Ok(());
        };
        let object = std::str::from_utf8(object)
            .map_err(|_| line.expected("an object's name in UTF-8", text))?;
        let object = object.strip_prefix("atomic-").unwrap_or(object);
        let known = self.object.as_deref();
        if object.is_empty() || known.is_some_and(|known| known != object) {
            return Err(line.expected("one `# @object` line for the whole log", text));
        }
        self.builder.name_spec(object);
        self.object = Some(object.to_owned());
        Ok(())
    }

    fn event(&mut self, line: Line<'_>, text: &[u8]) -> Result<(), InputError> {
        let (process, rest) = self.process(line, text)?;
        let (verb, rest) = split_word(rest);
        match verb {
            b"call" => self.call(line, process, rest),
            b"return" => self.ret(line, process, rest),
            _ => Err(line.expected("`call` or `return`", verb)),
        }
    }

    fn process<'t>(
        &mut self,
        line: Line<'_>,
        text: &'t [u8],
    ) -> Result<(ProcessId, &'t [u8]), InputError> {
        let parts = text.strip_prefix(b"[").and_then(|text| {
            let end = memchr::memchr(b']', text)?;
            let number = parse_unsigned(text[..end].trim_ascii())?;
            Some((i64::try_from(number).ok()?, &text[end + 1..]))
        });
        let Some((number, rest)) = parts else {
            return Err(line.expected("`[thread]`, a whole number in brackets", text));
        };
        let name = self.builder.values().intern_int(number);
        Ok((self.builder.process_of(name), rest))
    }

    fn call(&mut self, line: Line<'_>, process: ProcessId, rest: &[u8]) -> Result<(), InputError> {
        let end = rest.iter().position(|&byte| byte == b'(' || byte == b' ' || byte == b'\t');
        let (name, value) = rest.split_at(end.unwrap_or(rest.len()));
        let (name, role) = self.method(line, name)?;
        let value = self.argument(line, value)?;
        let method = self.builder.method(name);
        let mut call = Call::new(method);
        if role == Role::Adds {
            if !value.is_present() {
                return Err(line.expected("the value that is added", b""));
            }
            if value == ValueId::NIL {
                let expected = "a value of another name: `empty` says that there was none";
                return Err(line.expected(expected, b"empty"));
            }
            call.arg = value;
        }
        let op = self.builder.call(line.number, process, call)?;
        if role == Role::Removes && value.is_present() {
            self.announced.insert(op, value);
        }
        Ok(())
    }

    fn method(&self, line: Line<'_>, name: &[u8]) -> Result<(&'static str, Role), InputError> {
        let is_stack = self.object.as_deref() == Some("stack");
        let is_queue = self.object.as_deref() == Some("queue");
        Ok(match name {
            b"add" | b"Add" if is_stack => ("push", Role::Adds),
            b"add" | b"Add" if is_queue => ("enq", Role::Adds),
            b"add" | b"Add" => ("add", Role::Adds),
            b"remove" | b"Remove" if is_stack => ("pop", Role::Removes),
            b"remove" | b"Remove" if is_queue => ("deq", Role::Removes),
            b"remove" | b"Remove" => ("remove", Role::Removes),
            b"push" | b"Push" => ("push", Role::Adds),
            b"pop" | b"Pop" => ("pop", Role::Removes),
            b"enq" | b"Enq" => ("enq", Role::Adds),
            b"deq" | b"Deq" => ("deq", Role::Removes),
            _ => return Err(line.expected("push, pop, enq, deq, add or remove", name)),
        })
    }

    /// The value of a call: `(v)`, ` v`, `()` or nothing.
    fn argument(&mut self, line: Line<'_>, text: &[u8]) -> Result<ValueId, InputError> {
        let text = text.trim_ascii();
        let value = match text.strip_prefix(b"(") {
            None => text,
            Some(inner) => match inner.strip_suffix(b")") {
                Some(inner) => inner.trim_ascii(),
                None => return Err(line.expected("`)` at the end of the line", text)),
            },
        };
        self.value(line, value)
    }

    fn value(&mut self, line: Line<'_>, word: &[u8]) -> Result<ValueId, InputError> {
        let odd = |byte: &u8| matches!(byte, b' ' | b'\t' | b'(' | b')' | b'[' | b']');
        match word {
            b"" => Ok(ValueId::ABSENT),
            b"empty" | b"Empty" => Ok(ValueId::NIL),
            _ if word.iter().any(odd) => Err(line.expected("one value", word)),
            _ => value_of_word(self.builder.values(), line, word),
        }
    }

    fn ret(&mut self, line: Line<'_>, process: ProcessId, rest: &[u8]) -> Result<(), InputError> {
        let stated = self.value(line, rest.trim_ascii())?;
        let result = match self.builder.open_operation(process) {
            Some(op) => self.result(line, op, stated)?,
            None => stated,
        };
        self.builder.ret(line.number, process, Return::new(Outcome::Ok, result))?;
        Ok(())
    }

    /// The result of an operation, from what its call and its return tell.
    fn result(&mut self, line: Line<'_>, op: OpId, stated: ValueId) -> Result<ValueId, InputError> {
        let call = self.builder.call_of(op);
        let name = self.builder.method_name(call.method);
        let removes = matches!(name, "pop" | "deq" | "remove");
        Ok(match (self.announced.remove(&op), stated) {
            (None, ValueId::ABSENT) if removes => ValueId::NIL,
            // An addition that repeats what it added returns nothing.
            (None, stated) if !removes && stated == call.arg => ValueId::ABSENT,
            (None, stated) => stated,
            (Some(value), ValueId::ABSENT) => value,
            (Some(value), stated) if value == stated => value,
            (Some(value), stated) => {
                let values = self.builder.values();
                let (call, ret) = (values.get(value).to_string(), values.get(stated).to_string());
                return Err(line.problem(Problem::Mismatch { call, ret }));
            }
        })
    }

    fn note_the_announced(&mut self) {
        for (op, value) in std::mem::take(&mut self.announced) {
            let value = self.builder.values().get(value);
            self.builder.note(op, value);
        }
    }
}

fn split_word(text: &[u8]) -> (&[u8], &[u8]) {
    let text = text.trim_ascii();
    let end = text.iter().position(u8::is_ascii_whitespace).unwrap_or(text.len());
    (&text[..end], text[end..].trim_ascii_start())
}

/// The object that a line `# @object name` states.
pub(super) fn object_of_header(line: &[u8]) -> Option<&[u8]> {
    let text = line.trim_ascii().strip_prefix(b"#")?.trim_ascii_start();
    let name = text.strip_prefix(b"@object")?;
    Some(name.trim_ascii())
}

const FORMAT: Format = Format::LiMo;

/// Writes a log.
pub(super) fn write(history: &History, out: &mut dyn Write) -> Result<(), WriteError> {
    let methods: &[&str] = match history.spec() {
        Some("stack") => &["push", "pop"],
        Some("queue") => &["enq", "deq"],
        _ => return Err(Inexpressible::whole(FORMAT, "LiMo knows only stack and queue")),
    };
    writeln!(out, "# @object atomic-{}", history.spec().unwrap_or_default())?;
    let roles = Roles::of(methods.iter().copied());
    for line in log_events(FORMAT, history) {
        let line = line?;
        let (LogEvent::Call(op) | LogEvent::Return(op) | LogEvent::GivenUp(op)) = line;
        let operation = history.operation(op);
        let thread = match history.process_name(operation.process()) {
            Value::Int(number) if *number >= 0 => number,
            _ => return Err(refuse(operation, "threads are whole numbers from 0 on")),
        };
        let (index, name) = roles.find(FORMAT, operation)?;
        let values = values_of(operation, index == 0)?;
        match line {
            LogEvent::Call(_) => writeln!(out, "[{thread}] call {name}{}", values.0)?,
            LogEvent::Return(_) => writeln!(out, "[{thread}] return{}", values.1)?,
            LogEvent::GivenUp(_) => {
                return Err(refuse(operation, "a thread stops at a pending operation"));
            }
        }
    }
    Ok(())
}

fn refuse(operation: Operation<'_>, reason: &str) -> WriteError {
    Inexpressible::of(FORMAT, operation, reason)
}

/// What stands behind an operation's method and behind its `return`.
fn values_of(operation: Operation<'_>, adds: bool) -> Result<(String, String), WriteError> {
    only_arg_and_result(FORMAT, operation)?;
    let values = operation.history.values();
    let (arg, result) = (operation.arg(), operation.result());
    if operation.outcome() == Outcome::Failed {
        return Err(refuse(operation, "the format has no failed operations"));
    }
    let text = |id: ValueId| match values.get(id) {
        Value::Int(number) => Ok(number.to_string()),
        Value::Name(name) if is_name(&name) => Ok(name.into()),
        _ => Err(refuse(operation, "values are whole numbers and names")),
    };
    match (adds, arg, result) {
        (true, arg, ValueId::ABSENT) if arg.is_present() => {
            Ok((format!("({})", text(arg)?), String::new()))
        }
        (false, ValueId::ABSENT, ValueId::NIL) => Ok((String::new(), " empty".into())),
        (false, ValueId::ABSENT, result) if operation.ret().is_none() => {
            debug_assert!(!result.is_present());
            Ok((String::new(), String::new()))
        }
        (false, ValueId::ABSENT, result) if result.is_present() => {
            Ok((String::new(), format!(" {}", text(result)?)))
        }
        _ => Err(refuse(operation, "additions have an argument, removals a result")),
    }
}

fn is_name(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_graphic() && !"()[]".contains(c);
    let number = name.strip_prefix('-').unwrap_or(name);
    let digits = number.bytes().all(|byte| byte.is_ascii_digit());
    !digits && name.chars().all(allowed) && !name.eq_ignore_ascii_case("empty")
}
