//! fptlin's logs: one operation per line, `process start end METHOD value [answer]`.
//!
//! ```text
//! # stack
//! 0 1 5 PUSH 1
//! 1 2 6 POP 1
//! 2 3 4 PEEK -1
//! ```
//!
//! | header | methods | becomes |
//! | --- | --- | --- |
//! | `stack` | `PUSH v`, `POP v`, `PEEK v` | `push(v)`, `pop() -> v`, `peek() -> v` |
//! | `queue` | `ENQ v`, `DEQ v`, `PEEK v` | the same in small letters |
//! | `priorityqueue` | `INSERT v`, `POLL v`, `PEEK v` | spec `priority-queue(max)` |
//! | `set` | `INSERT v 0\|1`, `REMOVE v 0\|1`, `CONTAINS v 0\|1` | result `false` or `true` |
//! | `semaphore` | `INCR 1`, `DECR 0\|1` | result `false` or `true`; spec `semaphore(init=0)` |
//! | `rmw` | `READ_MODIFY_WRITE old new` | `cas(old, new) -> true`; spec `cas-register(init=0)` |
//!
//! -1 as the value of a removal or a peek means that the object was empty, so that nobody may add
//! it. Every operation has returned. Our intervals are closed: an operation that ends when another
//! starts is concurrent with it.

use super::block::{Block, Line};
use super::fields::Fields;
use super::polylin::{header_name, refuse_empty};
use crate::{Builder, Call, InputError, Interval, Outcome, Return, ValueId};

/// What follows a method's name.
#[derive(Clone, Copy)]
enum Shape {
    /// The argument.
    Adds,
    /// The result; -1 is empty.
    Takes,
    /// The argument and the boolean that is the result.
    Asks,
    /// The boolean that is the result.
    Counts,
    /// The value found and the value left.
    Swaps,
}

struct Object {
    name: &'static str,
    spec: &'static str,
    /// As written, as we call it, what follows.
    methods: &'static [(&'static str, &'static str, Shape)],
}

use Shape::{Adds, Asks, Counts, Swaps, Takes};

const OBJECTS: &[Object] = &[
    Object {
        name: "stack",
        spec: "stack",
        methods: &[("PUSH", "push", Adds), ("POP", "pop", Takes), ("PEEK", "peek", Takes)],
    },
    Object {
        name: "queue",
        spec: "queue",
        methods: &[("ENQ", "enq", Adds), ("DEQ", "deq", Takes), ("PEEK", "peek", Takes)],
    },
    Object {
        name: "priorityqueue",
        spec: "priority-queue(max)",
        methods: &[("INSERT", "insert", Adds), ("POLL", "poll", Takes), ("PEEK", "peek", Takes)],
    },
    Object {
        name: "set",
        spec: "set",
        methods: &[
            ("INSERT", "insert", Asks),
            ("REMOVE", "remove", Asks),
            ("CONTAINS", "contains", Asks),
        ],
    },
    Object {
        name: "semaphore",
        spec: "semaphore(init=0)",
        methods: &[("INCR", "incr", Counts), ("DECR", "decr", Counts)],
    },
    Object {
        name: "rmw",
        spec: "cas-register(init=0)",
        methods: &[("READ_MODIFY_WRITE", "cas", Swaps)],
    },
];

/// The names that a header may have.
pub(super) fn object_names() -> impl Iterator<Item = &'static str> {
    OBJECTS.iter().map(|object| object.name)
}

/// Reads a log.
pub(super) fn read(block: &mut Block<'_>, builder: &mut Builder) -> Result<(), InputError> {
    let mut object: Option<&Object> = None;
    while let Some(line) = block.next_line()? {
        if line.is_blank() {
            continue;
        }
        match object {
            Some(object) => operation(line, object, builder)?,
            None => {
                let known = header(line)?;
                builder.name_spec(known.spec);
                object = Some(known);
            }
        }
    }
    Ok(())
}

fn header(line: Line<'_>) -> Result<&'static Object, InputError> {
    let name = header_name(line.bytes);
    let named = |object: &&Object| name == Some(object.name.as_bytes());
    OBJECTS.iter().find(named).ok_or_else(|| {
        let names: Vec<String> = object_names().map(|name| format!("`# {name}`")).collect();
        line.expected(&format!("a header, one of {}", names.join(", ")), line.bytes)
    })
}

fn operation(line: Line<'_>, object: &Object, builder: &mut Builder) -> Result<(), InputError> {
    let mut fields = Fields::of(line);
    let process = fields.unsigned("the process, a whole number")?;
    let call = fields.unsigned("the start, a whole number")?;
    let ret = Some(fields.unsigned("the end, a whole number")?);
    let word = fields.word();
    let known = |(written, _, _): &&(&str, &str, Shape)| written.as_bytes() == word;
    let Some(&(_, name, shape)) = object.methods.iter().find(known) else {
        let names: Vec<&str> = object.methods.iter().map(|method| method.0).collect();
        let expected = format!("an operation of a {}: {}", object.name, names.join(", "));
        return Err(line.expected(&expected, word));
    };
    let method = builder.method(name);
    let (arg, result) = arg_and_result(line, &mut fields, builder, shape)?;
    fields.end()?;
    let process = i64::try_from(process)
        .map_err(|_| line.expected("a process number below 2^63", line.bytes))?;
    let process = builder.values().intern_int(process);
    let process = builder.process_of(process);
    builder.operation(
        line.number,
        Some(process),
        Call::new(method).arg(arg),
        Interval { call, ret },
        Return::new(Outcome::Ok, result),
    )?;
    Ok(())
}

fn arg_and_result(
    line: Line<'_>,
    fields: &mut Fields<'_>,
    builder: &mut Builder,
    shape: Shape,
) -> Result<(ValueId, ValueId), InputError> {
    if let Counts = shape {
        return Ok((ValueId::ABSENT, fields.truth("0 or 1 as the answer")?));
    }
    let number = fields.integer("a whole number as value")?;
    refuse_empty(line, matches!(shape, Adds), number)?;
    let value = builder.values().intern_int(number);
    Ok(match shape {
        Takes if number == -1 => (ValueId::ABSENT, ValueId::NIL),
        Takes => (ValueId::ABSENT, value),
        Asks => (value, fields.truth("0 or 1 as the set's answer")?),
        Swaps => {
            let new = fields.integer("the new value, a whole number")?;
            let new = builder.values().intern_int(new);
            (builder.values().intern_pair(value, new), ValueId::TRUE)
        }
        Adds | Counts => (value, ValueId::ABSENT),
    })
}
