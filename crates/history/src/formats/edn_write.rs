//! Writing EDN: Jepsen's histories, and Porcupine's key-value logs, which are a narrow form of
//! them.
//!
//! An annotation becomes an `:info` of a process that has its group's name; one that lasts becomes
//! two, at its beginning and at its end. The specification's name has no place in the format.
//!
//! Jepsen writes `nil` for results that nobody recorded, and repeats arguments where there is no
//! result. A history in which `nil` is a value, or an argument repeated a result, like any other says
//! so in a comment at its beginning, [`NIL_IS_A_VALUE`] and [`ECHO_IS_A_RESULT`].

use super::Format;
use super::edn_token::{character, number};
use super::json::write_string;
use super::write::{Inexpressible, LogEvent, WriteError, has_echo, has_nil, log_events};
use crate::{
    Annotation, Conventions, Echo, History, Nil, Operation, Outcome, Time, Value, ValueId,
};
use seriatim_limits::InOrder;
use std::io::{self, Write};

/// The first line of a history in which `nil` is a value like any other: who reads it without this
/// line takes a result for unknown, and refuses to write it.
const NIL_IS_A_VALUE: &str = "; seriatim: nil is a value\n";

/// The line behind it, or the first, of a history in which an argument repeated is a result like
/// any other.
const ECHO_IS_A_RESULT: &str = "; seriatim: a repeated argument is a result\n";

/// The conventions of a history that begins with these bytes.
pub(super) fn conventions(mut prefix: &[u8]) -> Conventions {
    let mut conventions = Conventions::JEPSEN;
    if let Some(rest) = prefix.strip_prefix(NIL_IS_A_VALUE.as_bytes()) {
        conventions.nil = Nil::Value;
        prefix = rest;
    }
    if prefix.starts_with(ECHO_IS_A_RESULT.as_bytes()) {
        conventions.echo = Echo::Result;
    }
    conventions
}

/// How many bytes tell the conventions.
pub(super) const HEAD: usize = NIL_IS_A_VALUE.len() + ECHO_IS_A_RESULT.len();

/// Writes one map a line.
pub(super) fn edn(history: &History, out: &mut dyn Write) -> Result<(), WriteError> {
    check_groups(history)?;
    if history.nil() == Nil::Value && has_nil(history) {
        out.write_all(NIL_IS_A_VALUE.as_bytes())?;
    }
    if history.echo() == Echo::Result && has_echo(history) {
        out.write_all(ECHO_IS_A_RESULT.as_bytes())?;
    }
    let mut annotations = moments(history);
    for line in log_events(Format::Edn, history) {
        let line = line?;
        let (LogEvent::Call(op) | LogEvent::Return(op) | LogEvent::GivenUp(op)) = line;
        let operation = history.operation(op);
        check(operation)?;
        let stamp = match line {
            LogEvent::Call(_) => Some(operation.call()),
            LogEvent::Return(_) => operation.ret(),
            LogEvent::GivenUp(_) => None,
        };
        while let Some((_, text)) = annotations.pop_if(|(at, _)| stamp.is_some_and(|s| *at <= s)) {
            out.write_all(text.as_bytes())?;
        }
        event(operation, &line, out)?;
        if let Some(stamp) = stamp {
            write!(out, ", :time {}", history.display_time(stamp))?;
        }
        let ends = matches!(line, LogEvent::Return(_)) || operation.ret().is_none();
        if ends && !matches!(line, LogEvent::GivenUp(_)) {
            note(operation, out)?;
        }
        out.write_all(b"}\n")?;
    }
    while let Some((_, text)) = annotations.pop() {
        out.write_all(text.as_bytes())?;
    }
    Ok(())
}

fn event(operation: Operation<'_>, line: &LogEvent, out: &mut dyn Write) -> Result<(), WriteError> {
    let failed = operation.outcome() == Outcome::Failed;
    let (kind, value) = match line {
        LogEvent::Call(_) => ("invoke", operation.arg()),
        LogEvent::Return(_) if failed && !operation.result().is_present() => {
            ("fail", operation.arg())
        }
        LogEvent::Return(_) if failed => ("fail", operation.result()),
        LogEvent::Return(_) => ("ok", operation.result()),
        LogEvent::GivenUp(_) => ("info", operation.arg()),
    };
    out.write_all(b"{:process ")?;
    write_value(out, operation.history.process_name(operation.process()))?;
    write!(out, ", :type :{kind}, :f ")?;
    write_value(out, &name_or_text(operation.method()))?;
    let values = operation.history.values();
    let fields = [("object", operation.object()), ("key", operation.key()), ("value", value)];
    for (name, value) in fields {
        if value.is_present() {
            write!(out, ", :{name} ")?;
            write_value(out, &values.get(value))?;
        }
    }
    Ok(())
}

/// Refuses annotations that would be read back as the end of an operation.
fn check_groups(history: &History) -> Result<(), WriteError> {
    for annotation in history.annotations() {
        let group = name_or_text(&annotation.group);
        if history.process_names().contains(&group) {
            let reason = format!("{group} is a process and a group of annotations");
            return Err(Inexpressible::whole(Format::Edn, &reason));
        }
    }
    Ok(())
}

/// Refuses what would be read back as something else.
fn check(operation: Operation<'_>) -> Result<(), WriteError> {
    let refuse = |reason| Err(Inexpressible::of(Format::Edn, operation, reason));
    let (arg, result) = (operation.arg(), operation.result());
    match operation.outcome() {
        Outcome::Failed if result.is_present() && result == arg => {
            refuse("a failure that repeats its argument has no result of its own")
        }
        Outcome::Ok if operation.method() == "read" && arg == result && arg.is_present() => {
            match arg {
                ValueId::NIL => Ok(()),
                _ => refuse("a read whose argument is its result has no argument"),
            }
        }
        _ => Ok(()),
    }
}

const KEYS: [&str; 9] = ["process", "type", "f", "value", "key", "object", "time", "index", "note"];

fn note(operation: Operation<'_>, out: &mut dyn Write) -> Result<(), WriteError> {
    let Some(note) = operation.history.note(operation.id) else {
        return Ok(());
    };
    let plain = |key: &Value| match key {
        Value::Name(name) => is_keyword(name) && !KEYS.contains(&&**name),
        _ => false,
    };
    match note {
        Value::Map(entries) if !entries.is_empty() && entries.iter().all(|(key, _)| plain(key)) => {
            for (key, value) in entries {
                out.write_all(b", ")?;
                write_value(out, key)?;
                out.write_all(b" ")?;
                write_value(out, value)?;
            }
        }
        other => {
            out.write_all(b", :note ")?;
            write_value(out, other)?;
        }
    }
    Ok(())
}

/// The lines of the annotations with the stamps before which they stand, the next one last.
fn moments(history: &History) -> Vec<(Time, String)> {
    let mut lines = Vec::new();
    for annotation in history.annotations() {
        lines.push((annotation.start, moment(annotation, &annotation.text)));
        if annotation.end > annotation.start {
            let text = format!("{} (end)", annotation.text);
            lines.push((annotation.end, moment(annotation, &text)));
        }
    }
    lines.put_in_order_by_key(|(at, _)| *at);
    lines.reverse();
    lines
}

fn moment(annotation: &Annotation, text: &str) -> String {
    let mut line = b"{:process ".to_vec();
    let mut write = || -> io::Result<()> {
        write_value(&mut line, &name_or_text(&annotation.group))?;
        line.write_all(b", :type :info, :f ")?;
        write_value(&mut line, &name_or_text(text))?;
        if let Some(colour) = &annotation.colour {
            line.write_all(b", :colour ")?;
            write_value(&mut line, &Value::text(colour))?;
        }
        line.write_all(b"}\n")
    };
    write().expect("a vector takes what is written");
    String::from_utf8(line).expect("EDN is written in UTF-8")
}

fn name_or_text(text: &str) -> Value {
    match is_keyword(text) {
        true => Value::Name(text.into()),
        false => Value::text(text),
    }
}

/// Whether any reader of EDN takes `:text` for one keyword.
fn is_keyword(text: &str) -> bool {
    let letter = |c: char| c.is_ascii_alphanumeric() || "*+!_?$%&=<>.-/".contains(c);
    let slashes = text.matches('/').count();
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(letter)
        && (slashes == 0 || slashes == 1 && !text.ends_with('/'))
}

/// Writes a value.
pub(super) fn write_value(out: &mut dyn Write, value: &Value) -> io::Result<()> {
    match value {
        Value::Nil => out.write_all(b"nil"),
        Value::Bool(truth) => write!(out, "{truth}"),
        Value::Int(number) => write!(out, "{number}"),
        Value::Number(digits) => {
            let special = matches!(&**digits, "##NaN" | "##Inf" | "##-Inf");
            if special || is_number(digits, value) {
                return out.write_all(digits.as_bytes());
            }
            out.write_all(b"#seriatim/number ")?;
            write_string(out, digits)
        }
        Value::Text(text) => write_string(out, text),
        Value::Name(name) if is_keyword(name) => write!(out, ":{name}"),
        Value::Name(name) if is_character(name) => out.write_all(name.as_bytes()),
        Value::Name(name) => {
            out.write_all(b"#seriatim/name ")?;
            write_string(out, name)
        }
        Value::List(items) => write_list(out, items),
        Value::Map(entries) => {
            out.write_all(b"{")?;
            for (index, (key, value)) in entries.iter().enumerate() {
                out.write_all(if index == 0 { b"" } else { b", " })?;
                write_value(out, key)?;
                out.write_all(b" ")?;
                write_value(out, value)?;
            }
            out.write_all(b"}")
        }
    }
}

fn write_list(out: &mut dyn Write, items: &[Value]) -> io::Result<()> {
    if let [Value::Name(tag), form] = items
        && let Some(tag) = tag.strip_prefix('#').filter(|tag| is_tag(tag))
    {
        write!(out, "#{tag} ")?;
        return write_value(out, form);
    }
    out.write_all(b"[")?;
    for (index, item) in items.iter().enumerate() {
        out.write_all(if index == 0 { b"" } else { b" " })?;
        write_value(out, item)?;
    }
    out.write_all(b"]")
}

fn is_tag(tag: &str) -> bool {
    let first = tag.starts_with(|c: char| c.is_ascii_alphabetic());
    first && is_keyword(tag) && !tag.starts_with("seriatim/")
}

fn is_number(digits: &str, value: &Value) -> bool {
    digits.starts_with(|c: char| c.is_ascii_digit() || c == '-')
        && digits.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit())
        && number(digits).as_ref() == Some(value)
}

fn is_character(name: &str) -> bool {
    let Some(token) = name.strip_prefix('\\') else {
        return false;
    };
    let plain = token.chars().all(|c| c.is_ascii_graphic());
    plain && character(token).as_deref() == Some(name)
}

/// Writes Porcupine's key-value log: `get`, `put` and `append` of strings, all of which returned.
pub(super) fn porcupine(history: &History, out: &mut dyn Write) -> Result<(), WriteError> {
    for line in log_events(Format::Porcupine, history) {
        let (LogEvent::Call(op) | LogEvent::Return(op) | LogEvent::GivenUp(op)) = line?;
        check_porcupine(history.operation(op))?;
    }
    for line in log_events(Format::Porcupine, history) {
        let line = line?;
        let (LogEvent::Call(op) | LogEvent::Return(op) | LogEvent::GivenUp(op)) = line;
        let operation = history.operation(op);
        let values = history.values();
        let is_get = operation.method() == "get";
        let (kind, value) = match line {
            LogEvent::Call(_) if is_get => ("invoke", ValueId::NIL),
            LogEvent::Return(_) if is_get => ("ok", operation.result()),
            LogEvent::Call(_) => ("invoke", operation.arg()),
            _ => ("ok", operation.arg()),
        };
        let process = history.process_name(operation.process());
        write!(out, "{{:process {process}, :type :{kind}, :f :{}", operation.method())?;
        out.write_all(b", :key ")?;
        write_value(out, &values.get(operation.key()))?;
        out.write_all(b", :value ")?;
        write_value(out, &values.get(value))?;
        out.write_all(b"}\n")?;
    }
    Ok(())
}

fn check_porcupine(operation: Operation<'_>) -> Result<(), WriteError> {
    let refuse = |reason| Err(Inexpressible::of(Format::Porcupine, operation, reason));
    let values = operation.history.values();
    let plain = |id: ValueId| match values.get(id) {
        Value::Text(text) => !text.contains(['"', '\\', '\n', '\r']),
        _ => false,
    };
    let (arg, result) = (operation.arg(), operation.result());
    if operation.outcome() != Outcome::Ok {
        return refuse("every operation returns and none fails");
    }
    if operation.object().is_present() || !plain(operation.key()) {
        return refuse("operations have a key, a string without quotes, and no object");
    }
    match operation.history.process_name(operation.process()) {
        Value::Int(number) if *number >= 0 => {}
        _ => return refuse("processes are whole numbers from 0 on"),
    }
    let no_arg = !arg.is_present() || arg == ValueId::NIL;
    let repeated = result == arg && operation.history.echo() == Echo::Argument;
    let no_result = !result.is_present() || result == ValueId::NIL || repeated;
    match operation.method() {
        "get" if no_arg && plain(result) => Ok(()),
        "put" | "append" if plain(arg) && no_result => Ok(()),
        _ => refuse("operations are get() -> string, put(string) and append(string)"),
    }
}
