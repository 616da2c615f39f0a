//! PolyLin's logs: one operation per line, `method value start end`.
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
//! peek's value is its result, and -1 there means that the object was empty, so that nothing else
//! may add it. There are no processes, no pending and no failed operations.
//!
//! Our intervals are closed: an operation that ends when another starts is concurrent with it.
//! PolyLin orders the two for stacks, queues and priority queues.

use super::Format;
use super::block::{Block, Line};
use super::fields::{Fields, Name, leading_name, leading_number};
use super::write::{Inexpressible, Roles, WriteError, only_arg_and_result};
use crate::batch::Plain;
use crate::{
    Builder, History, InputError, MethodId, Operation, Outcome, Outside, Time, Value, ValueId,
};
use std::io::Write;

/// What the number after a method's name is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// The argument.
    Adds,
    /// The result; -1 is empty.
    Takes,
    /// The argument, followed by the boolean that is the result.
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
    loop {
        if let Some((row, length)) = plain_row(block.window(), object, &names)
            && let Some(number) = block.take_line(length)
        {
            add(number, row, object, &mut methods, builder)?;
            continue;
        }
        let Some(line) = block.next_line()? else {
            return Ok(());
        };
        if !line.is_blank() {
            let row = any_row(line, object)?;
            add(line.number, row, object, &mut methods, builder)?;
        }
    }
}

/// One line.
struct Row {
    /// The position of its method among the object's.
    method: usize,
    value: i64,
    answer: ValueId,
    call: Time,
    ret: Time,
}

/// The line that bytes begin with, and its length, if it is as plain as they mostly are: one blank
/// between the fields, numbers of at most 15 digits. [`any_row`] reads the others, and says what is
/// wrong with those that are none.
#[inline(always)]
fn plain_row(bytes: &[u8], object: &Object, names: &[Name]) -> Option<(Row, usize)> {
    let (method, mut at) = leading_name(bytes, names)?;
    let value = next_number(bytes, &mut at)? as i64;
    let answer = match object.methods[method].1 {
        Asks => {
            let &[blank, digit] = bytes.get(at..)?.first_chunk()?;
            if blank != b' ' || digit & !1 != b'0' {
                return None;
            }
            at += 2;
            // Looked up, since it cannot be foretold.
            [ValueId::FALSE, ValueId::TRUE][usize::from(digit & 1)]
        }
        Adds | Takes => ValueId::ABSENT,
    };
    let (call, ret) = (next_number(bytes, &mut at)?, next_number(bytes, &mut at)?);
    let row = Row { method, value, answer, call, ret };
    (*bytes.get(at)? == b'\n').then_some((row, at + 1))
}

/// The number behind the blank at a place, which moves behind the number.
#[inline(always)]
fn next_number(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let (number, length) = leading_number(bytes.get(*at + 1..)?)?;
    let is_apart = bytes[*at] == b' ';
    *at += 1 + length;
    is_apart.then_some(number)
}

/// Any line.
fn any_row(line: Line<'_>, object: &Object) -> Result<Row, InputError> {
    let mut fields = Fields::of(line);
    let word = fields.word();
    let method = object.methods.iter().position(|(name, _)| name.as_bytes() == word);
    let method = method.ok_or_else(|| unknown_method(line, object, word))?;
    let value = fields.integer("a whole number as value")?;
    refuse_empty(line, object.methods[method].1 == Adds, value)?;
    let answer = match object.methods[method].1 {
        Asks => fields.truth("0 or 1 as the set's answer")?,
        Adds | Takes => ValueId::ABSENT,
    };
    let call = fields.unsigned("the start, a whole number")?;
    let ret = fields.unsigned("the end, a whole number")?;
    fields.end()?;
    Ok(Row { method, value, answer, call, ret })
}

/// Refuses to add -1: whoever takes it out could not be told from one who found nothing.
pub(super) fn refuse_empty(line: Line<'_>, adds: bool, value: i64) -> Result<(), InputError> {
    match adds && value == -1 {
        true => Err(line.expected("a value other than -1, which says that there was none", b"-1")),
        false => Ok(()),
    }
}

#[inline]
fn add(
    line: u64,
    row: Row,
    object: &Object,
    methods: &mut [Option<MethodId>; 6],
    builder: &mut Builder,
) -> Result<(), InputError> {
    let (name, shape) = object.methods[row.method];
    let method = *methods[row.method].get_or_insert_with(|| builder.method(name));
    let value = builder.values().intern_int(row.value);
    let (arg, result) = match shape {
        Adds => (value, ValueId::ABSENT),
        Takes if row.value == -1 => (ValueId::ABSENT, ValueId::NIL),
        Takes => (ValueId::ABSENT, value),
        Asks => (value, row.answer),
    };
    builder.plain(Plain { line, method, arg, result, call: row.call, ret: row.ret })
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
fn unknown_method(line: Line<'_>, object: &Object, found: &[u8]) -> InputError {
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
            "PolyLin knows stack, queue, priority-queue(max), set and deque, not {}",
            Outside(spec)
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
            (Some(number), false) if number != -1 => Ok(number.to_string()),
            _ => refuse("it needs a 32-bit argument other than -1 and no result"),
        },
        Takes => match (arg, result, number(result)) {
            (ValueId::ABSENT, ValueId::NIL, _) => Ok("-1".into()),
            (ValueId::ABSENT, _, Some(number)) if number != -1 => Ok(number.to_string()),
            _ => refuse("it needs no argument and a 32-bit result other than -1"),
        },
        Asks => match (number(arg), result.as_bool()) {
            (Some(number), Some(truth)) => Ok(format!("{number} {}", i32::from(truth))),
            _ => refuse("it needs a 32-bit argument and a boolean as result"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: [&str; 24] = [
        "insert",
        "remove",
        "contains",
        "push_front",
        "push_back",
        "push_fronts",
        "inserts",
        "0",
        "1",
        "7",
        "-1",
        "00",
        "1234567",
        "12345678",
        "123456789",
        "999999999999999",
        "1234567890123456",
        "18446744073709551615",
        "x",
        "1x",
        "",
        " ",
        "\t",
        "\r",
    ];

    #[test]
    fn plain_lines_mean_what_any_line_means() {
        let mut seed = 3u64;
        let mut below = |limit: usize| {
            seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (seed >> 33) as usize % limit
        };
        let mut plain_ones = 0;
        for round in 0..200_000 {
            let object = &OBJECTS[3 + round % 2];
            let names: Vec<Name> = object.methods.iter().map(|(name, _)| Name::new(name)).collect();
            let mut words: Vec<&str> = (0..3 + below(3)).map(|_| WORDS[7 + below(10)]).collect();
            words.insert(0, WORDS[below(5)]);
            if below(2) == 0 {
                let (place, word) = (below(words.len()), below(WORDS.len()));
                words[place] = WORDS[word];
            }
            let text = words.join(" ");
            let padded = format!("{text}\n\n\n\n\n\n\n\n\n\n\n");
            let Some((plain, length)) = plain_row(padded.as_bytes(), object, &names) else {
                continue;
            };
            plain_ones += 1;
            let line = Line { source: "text", number: 1, bytes: text.as_bytes() };
            let any = any_row(line, object).unwrap_or_else(|error| panic!("{error}"));
            let told = |row: Row| (row.method, row.value, row.answer, row.call, row.ret);
            assert_eq!((told(plain), length), (told(any), text.len() + 1), "{text}");
        }
        assert!(plain_ones > 5_000, "{plain_ones}");
    }
}
