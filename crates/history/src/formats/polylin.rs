//! PolyLin's logs: one operation a line, `method value start end`.
//!
//! ```text
//! # stack
//! push 1 1 2
//! peek 1 3 4
//! pop 1 5 6
//! pop -1 7 8
//! ```
//!
//! The first line names the object: `stack` (push, pop, peek), `queue` (enq, deq, peek), `pqueue`
//! (insert, poll, peek; the largest first), `deque` (push, pop and peek of either end: `push_front`
//! …) and `set` (insert, remove, contains, with 0 or 1 between value and times). A removal's or a
//! peek's value is its result, and -1 there means that the object was empty. There are no
//! processes, no pending and no failed operations.
//!
//! Our intervals are closed: an operation that ends when another starts is concurrent with it.
//! PolyLin orders the two for stacks, queues and priority queues.

use super::Format;
use super::block::{Block, Line};
use super::fields::{Fields, Name};
use super::write::{Inexpressible, Roles, WriteError, only_arg_and_result};
use crate::{Builder, Call, History, InputError, Interval, MethodId, Operation, Outcome, Return};
use crate::{Value, ValueId};
use std::io::Write;

/// What the number after a method's name is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// The argument.
    Adds,
    /// The result; -1 is empty.
    Takes,
    /// The argument, followed by the truth value that is the result.
    Asks,
}

/// An object of PolyLin.
pub(super) struct Object {
    /// Its name in the header.
    pub name: &'static str,
    /// Our specification.
    pub spec: &'static str,
    pub methods: &'static [(&'static str, Shape)],
}

use Shape::{Adds, Asks, Takes};

pub(super) const OBJECTS: &[Object] = &[
    Object {
        name: "stack",
        spec: "stack",
        methods: &[("push", Adds), ("pop", Takes), ("peek", Takes)],
    },
    Object {
        name: "queue",
        spec: "queue",
        methods: &[("enq", Adds), ("deq", Takes), ("peek", Takes)],
    },
    Object {
        name: "pqueue",
        spec: "priority-queue(max)",
        methods: &[("insert", Adds), ("poll", Takes), ("peek", Takes)],
    },
    Object {
        name: "set",
        spec: "set",
        methods: &[("insert", Asks), ("remove", Asks), ("contains", Asks)],
    },
    Object {
        name: "deque",
        spec: "deque",
        methods: &[
            ("push_front", Adds),
            ("push_back", Adds),
            ("pop_front", Takes),
            ("pop_back", Takes),
            ("peek_front", Takes),
            ("peek_back", Takes),
        ],
    },
];

/// Reads a log.
pub(super) fn read(block: &mut Block<'_>, builder: &mut Builder) -> Result<(), InputError> {
    let Some(object) = header(block)? else {
        return Ok(());
    };
    builder.name_spec(object.spec);
    let names: Vec<Name> = object.methods.iter().map(|(name, _)| Name::new(name)).collect();
    let mut methods: [Option<MethodId>; 6] = [None; 6];
    while let Some(line) = block.next_line()? {
        let mut fields = Fields::of(line);
        let Some(index) = fields.first_of(&names).or_else(|| indented(&mut fields, object)) else {
            if line.is_blank() {
                continue;
            }
            return Err(unknown_method(line, object));
        };
        let (name, shape) = object.methods[index];
        let method = *methods[index].get_or_insert_with(|| builder.method(name));
        operation(line, &mut fields, builder, (method, shape))?;
    }
    Ok(())
}

/// The method of a line that does not begin with its name at once.
#[cold]
fn indented(fields: &mut Fields<'_>, object: &Object) -> Option<usize> {
    let word = fields.word();
    object.methods.iter().position(|(name, _)| name.as_bytes() == word)
}

#[inline]
fn operation(
    line: Line<'_>,
    fields: &mut Fields<'_>,
    builder: &mut Builder,
    (method, shape): (MethodId, Shape),
) -> Result<(), InputError> {
    let number = fields.integer("a whole number as value")?;
    let value = builder.values().intern_int(number);
    let (arg, result) = match shape {
        Adds => (value, ValueId::ABSENT),
        Takes if number == -1 => (ValueId::ABSENT, ValueId::NIL),
        Takes => (ValueId::ABSENT, value),
        Asks => (value, fields.truth("0 or 1 as the set's answer")?),
    };
    let call = fields.unsigned("the start, a whole number")?;
    let ret = Some(fields.unsigned("the end, a whole number")?);
    fields.end()?;
    builder.operation(
        line.number,
        None,
        Call::new(method).arg(arg),
        Interval { call, ret },
        Return::new(Outcome::Ok, result),
    )?;
    Ok(())
}

fn header(block: &mut Block<'_>) -> Result<Option<&'static Object>, InputError> {
    while let Some(line) = block.next_line()? {
        if line.is_blank() {
            continue;
        }
        let name = header_name(line.bytes);
        let object = OBJECTS.iter().find(|object| name == Some(object.name.as_bytes()));
        return match object {
            Some(object) => Ok(Some(object)),
            None => Err(line.expected(
                "a header: `# stack`, `# queue`, `# pqueue`, `# set` or `# deque`",
                line.bytes,
            )),
        };
    }
    Ok(None)
}

/// The object that a header line `# object` names.
pub(super) fn header_name(line: &[u8]) -> Option<&[u8]> {
    let name = line.trim_ascii().strip_prefix(b"#")?.trim_ascii();
    (!name.is_empty() && !name.contains(&b' ')).then_some(name)
}

#[cold]
fn unknown_method(line: Line<'_>, object: &Object) -> InputError {
    let found = Fields::of(line).word();
    let names: Vec<&str> = object.methods.iter().map(|(name, _)| *name).collect();
    let expected = format!("an operation of a {}: {}", object.name, names.join(", "));
    line.expected(&expected, found)
}

/// Writes a log. Processes are not part of the format.
pub(super) fn write(history: &History, out: &mut dyn Write) -> Result<(), WriteError> {
    let refuse = |reason: &str| Inexpressible::whole(Format::PolyLin, reason);
    let spec =
        history.spec().ok_or_else(|| refuse("it does not say which specification it is for"))?;
    let spec = if spec == "priority-queue" { "priority-queue(min)" } else { spec };
    let object = OBJECTS.iter().find(|object| object.spec == spec);
    let object = object.ok_or_else(|| {
        refuse(&format!(
            "PolyLin knows stack, queue, priority-queue(max), set and deque, not {spec}"
        ))
    })?;
    writeln!(out, "# {}", object.name)?;
    let roles = Roles::of(object.methods.iter().map(|(name, _)| *name));
    for operation in history.operations() {
        let (index, name) = roles.find(Format::PolyLin, operation)?;
        let (_, shape) = object.methods[index];
        let numbers = numbers(operation, shape)?;
        let (call, ret) = (operation.call(), operation.ret().unwrap_or_default());
        writeln!(out, "{name} {numbers} {call} {ret}")?;
    }
    Ok(())
}

/// The value, and a set's answer, of a completed operation.
fn numbers(operation: Operation<'_>, shape: Shape) -> Result<String, WriteError> {
    let refuse = |reason: &str| Err(Inexpressible::of(Format::PolyLin, operation, reason));
    if operation.outcome() != Outcome::Ok {
        return refuse("the format has only operations that returned and did not fail");
    }
    only_arg_and_result(Format::PolyLin, operation)?;
    let values = operation.history.values();
    let (arg, result) = (operation.arg(), operation.result());
    let number = |id: ValueId| match values.get(id) {
        Value::Int(number) if id.is_present() && i32::try_from(number).is_ok() => Some(number),
        _ => None,
    };
    match shape {
        Adds => match (number(arg), result.is_present()) {
            (Some(number), false) => Ok(number.to_string()),
            _ => refuse("it needs a 32-bit argument and no result"),
        },
        Takes => match (arg, result, number(result)) {
            (ValueId::ABSENT, ValueId::NIL, _) => Ok("-1".into()),
            (ValueId::ABSENT, _, Some(number)) if number != -1 => Ok(number.to_string()),
            _ => refuse("it needs no argument and a 32-bit result other than -1"),
        },
        Asks => match (number(arg), result.as_bool()) {
            (Some(number), Some(truth)) => Ok(format!("{number} {}", i32::from(truth))),
            _ => refuse("it needs a 32-bit argument and a truth value as result"),
        },
    }
}
