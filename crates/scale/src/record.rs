//! One operation as bytes: what is spilled to disk and what travels between processes.
//!
//! Numbers are variable-length (seven bits a byte, the lowest first), signed ones zigzag. A value
//! is a tag and its content; two values have the same bytes exactly when they are equal, so the
//! bytes of a key can be hashed and compared instead of the key. An operation of small integers
//! takes about 30 bytes.
//!
//! A *frame* is a number of eight bytes (a hash, or a time to sort by), the length of an operation,
//! and the operation. Bytes that are not what this file writes are refused ([`Damaged`]), never
//! guessed at.

use seriatim_history::{Call, Interval, MethodId, Outcome, Time, Value, ValueId, Values};

/// An operation as it is told by a log.
#[derive(Clone, Copy)]
pub struct StreamedOperation<'t> {
    /// The file of the log, counted from 0.
    pub file: u32,
    /// The line.
    pub line: u64,
    /// Who calls, where the log says so.
    pub caller: Option<&'t Value>,
    /// The operation's name.
    pub method: &'t str,
    /// What is called; its `method`, `id` and `time` say nothing here.
    pub call: Call,
    /// When it was called and returned.
    pub interval: Interval,
    /// How it ended.
    pub outcome: Outcome,
    /// What came back.
    pub result: ValueId,
    /// The values that it names.
    pub values: &'t Values,
}

/// Bytes that are not an operation: the disk or the network has changed them, or this is a defect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damaged;

/// Where an operation stands among those of its part: by call, then by file and line.
pub type Rank = (Time, u32, u64);

/// An operation that was read back, without the values that were interned for it.
pub struct Row<'b> {
    /// The file of the log.
    pub file: u32,
    /// The line.
    pub line: u64,
    /// Who calls.
    pub caller: Option<Value>,
    /// The operation's name.
    pub method: &'b str,
    /// The object, the key, the argument and the result.
    pub ids: [ValueId; 4],
    /// When it was called and returned.
    pub interval: Interval,
    /// How it ended.
    pub outcome: Outcome,
}

const RETURNED: u8 = 1;
const FAILED: u8 = 2;
const CALLER: u8 = 4;

/// Appends an operation.
pub fn put(out: &mut Vec<u8>, told: &StreamedOperation<'_>) {
    let ret = told.interval.ret.filter(|_| told.outcome != Outcome::Pending);
    let mut flags = 0;
    flags |= if ret.is_some() { RETURNED } else { 0 };
    flags |= if told.outcome == Outcome::Failed { FAILED } else { 0 };
    flags |= if told.caller.is_some() { CALLER } else { 0 };
    out.push(flags);
    put_number(out, told.interval.call);
    put_number(out, u64::from(told.file));
    put_number(out, told.line);
    if let Some(ret) = ret {
        put_number(out, ret - told.interval.call);
    }
    if let Some(caller) = told.caller {
        put_value(out, caller);
    }
    put_number(out, told.method.len() as u64);
    out.extend_from_slice(told.method.as_bytes());
    let result = if ret.is_some() { told.result } else { ValueId::ABSENT };
    for id in [told.call.object, told.call.key, told.call.arg, result] {
        put_id(out, told.values, id);
    }
}

/// The rank of an operation, without reading the rest.
pub fn rank(mut bytes: &[u8]) -> Result<Rank, Damaged> {
    take_byte(&mut bytes)?;
    let call = take_number(&mut bytes)?;
    let file = u32::try_from(take_number(&mut bytes)?).map_err(|_| Damaged)?;
    Ok((call, file, take_number(&mut bytes)?))
}

/// Reads an operation back; its values are interned.
pub fn take<'b>(mut bytes: &'b [u8], values: &mut Values) -> Result<Row<'b>, Damaged> {
    let bytes = &mut bytes;
    let flags = take_byte(bytes)?;
    let call = take_number(bytes)?;
    let file = u32::try_from(take_number(bytes)?).map_err(|_| Damaged)?;
    let line = take_number(bytes)?;
    let span = (flags & RETURNED != 0).then(|| take_number(bytes)).transpose()?;
    let caller = (flags & CALLER != 0).then(|| take_value(bytes)).transpose()?;
    let length = take_number(bytes)?;
    let method = std::str::from_utf8(take_bytes(bytes, length)?).map_err(|_| Damaged)?;
    let mut ids = [ValueId::ABSENT; 4];
    for id in &mut ids {
        *id = take_id(bytes, values)?;
    }
    let outcome = match (span, flags & FAILED) {
        (None, _) => Outcome::Pending,
        (_, 0) => Outcome::Ok,
        _ => Outcome::Failed,
    };
    let ret = span.map(|span| call.checked_add(span).ok_or(Damaged)).transpose()?;
    let interval = Interval { call, ret };
    if bytes.is_empty() {
        Ok(Row { file, line, caller, method, ids, interval, outcome })
    } else {
        Err(Damaged)
    }
}

impl Row<'_> {
    /// The operation as a log tells it.
    pub fn told<'t>(&'t self, values: &'t Values) -> StreamedOperation<'t> {
        let [object, key, arg, result] = self.ids;
        StreamedOperation {
            file: self.file,
            line: self.line,
            caller: self.caller.as_ref(),
            method: self.method,
            call: Call { object, key, arg, ..Call::new(MethodId(0)) },
            interval: self.interval,
            outcome: self.outcome,
            result,
            values,
        }
    }
}

/// Appends a frame.
pub fn put_frame(out: &mut Vec<u8>, number: u64, operation: &[u8]) {
    out.extend_from_slice(&number.to_le_bytes());
    put_number(out, operation.len() as u64);
    out.extend_from_slice(operation);
}

/// Takes a frame: its number and its operation.
pub fn take_frame<'b>(bytes: &mut &'b [u8]) -> Result<(u64, &'b [u8]), Damaged> {
    let number = take_bytes(bytes, 8)?.try_into().map_err(|_| Damaged)?;
    let length = take_number(bytes)?;
    Ok((u64::from_le_bytes(number), take_bytes(bytes, length)?))
}

/// Appends a number.
#[inline]
pub fn put_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Takes a number.
#[inline]
pub fn take_number(bytes: &mut &[u8]) -> Result<u64, Damaged> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let byte = take_byte(bytes)?;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(number);
        }
    }
    Err(Damaged)
}

#[inline]
fn take_byte(bytes: &mut &[u8]) -> Result<u8, Damaged> {
    let (&first, rest) = bytes.split_first().ok_or(Damaged)?;
    *bytes = rest;
    Ok(first)
}

#[inline]
fn take_bytes<'b>(bytes: &mut &'b [u8], length: u64) -> Result<&'b [u8], Damaged> {
    let length = usize::try_from(length).map_err(|_| Damaged)?;
    let (taken, rest) = bytes.split_at_checked(length).ok_or(Damaged)?;
    *bytes = rest;
    Ok(taken)
}

const ABSENT: u8 = 0;
const NIL: u8 = 1;
const FALSE: u8 = 2;
const TRUE: u8 = 3;
const INT: u8 = 4;
const NUMBER: u8 = 5;
const TEXT: u8 = 6;
const NAME: u8 = 7;
const LIST: u8 = 8;
const MAP: u8 = 9;

/// Appends a value of some values, or that there is none.
#[inline]
pub fn put_id(out: &mut Vec<u8>, values: &Values, id: ValueId) {
    if let Some(number) = id.as_inline_int() {
        return put_int(out, number);
    }
    match id {
        ValueId::ABSENT => out.push(ABSENT),
        ValueId::NIL => out.push(NIL),
        ValueId::FALSE => out.push(FALSE),
        ValueId::TRUE => out.push(TRUE),
        id => match values.as_pair(id) {
            Some((first, second)) => {
                out.extend_from_slice(&[LIST, 2]);
                put_id(out, values, first);
                put_id(out, values, second);
            }
            None => put_value(out, &values.get(id)),
        },
    }
}

#[inline]
fn put_int(out: &mut Vec<u8>, number: i64) {
    out.push(INT);
    put_number(out, ((number << 1) ^ (number >> 63)) as u64);
}

fn put_text(out: &mut Vec<u8>, tag: u8, text: &str) {
    out.push(tag);
    put_number(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// Appends a value.
pub fn put_value(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Nil => out.push(NIL),
        Value::Bool(false) => out.push(FALSE),
        Value::Bool(true) => out.push(TRUE),
        Value::Int(number) => put_int(out, *number),
        Value::Number(text) => put_text(out, NUMBER, text),
        Value::Text(text) => put_text(out, TEXT, text),
        Value::Name(text) => put_text(out, NAME, text),
        Value::List(items) => {
            out.push(LIST);
            put_number(out, items.len() as u64);
            items.iter().for_each(|item| put_value(out, item));
        }
        Value::Map(entries) => {
            out.push(MAP);
            put_number(out, entries.len() as u64);
            for (key, value) in entries {
                put_value(out, key);
                put_value(out, value);
            }
        }
    }
}

/// Takes a value, interned, or that there is none.
pub fn take_id(bytes: &mut &[u8], values: &mut Values) -> Result<ValueId, Damaged> {
    Ok(match *bytes.first().ok_or(Damaged)? {
        ABSENT => {
            take_byte(bytes)?;
            ValueId::ABSENT
        }
        INT => {
            take_byte(bytes)?;
            values.intern_int(take_int(bytes)?)
        }
        TEXT => {
            take_byte(bytes)?;
            values.intern_text(take_text(bytes)?)
        }
        _ => values.intern(&take_value(bytes)?),
    })
}

#[inline]
fn take_int(bytes: &mut &[u8]) -> Result<i64, Damaged> {
    let zigzag = take_number(bytes)?;
    Ok((zigzag >> 1) as i64 ^ -((zigzag & 1) as i64))
}

fn take_text<'b>(bytes: &mut &'b [u8]) -> Result<&'b str, Damaged> {
    let length = take_number(bytes)?;
    std::str::from_utf8(take_bytes(bytes, length)?).map_err(|_| Damaged)
}

/// Takes a value.
pub fn take_value(bytes: &mut &[u8]) -> Result<Value, Damaged> {
    Ok(match take_byte(bytes)? {
        NIL => Value::Nil,
        FALSE => Value::Bool(false),
        TRUE => Value::Bool(true),
        INT => Value::Int(take_int(bytes)?),
        NUMBER => Value::Number(take_text(bytes)?.into()),
        TEXT => Value::Text(take_text(bytes)?.into()),
        NAME => Value::Name(take_text(bytes)?.into()),
        LIST => {
            let count = take_number(bytes)?;
            (0..count).map(|_| take_value(bytes)).collect::<Result<Vec<_>, _>>().map(Value::list)?
        }
        MAP => {
            let count = take_number(bytes)?;
            let entry = |_| Ok((take_value(bytes)?, take_value(bytes)?));
            (0..count).map(entry).collect::<Result<Vec<_>, _>>().map(Value::map)?
        }
        _ => return Err(Damaged),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples() -> Vec<Value> {
        let mut samples = vec![Value::Nil, Value::Bool(true), Value::Bool(false)];
        samples.extend([0, 1, -1, i64::MAX, i64::MIN, 1 << 30].map(Value::Int));
        samples.extend([Value::text(""), Value::text("é"), Value::Name("x".into())]);
        samples.push(Value::Number("1/3".into()));
        samples.push(Value::list([]));
        samples.push(Value::list([Value::Int(1), Value::list([Value::Nil, Value::Int(-7)])]));
        samples.push(Value::map([(Value::Int(1), Value::text("a")), (Value::Nil, Value::Nil)]));
        samples
    }

    #[test]
    fn operations_come_back_as_they_were_and_nothing_shorter_is_one() {
        let mut values = Values::default();
        let samples = samples();
        for (index, value) in samples.iter().enumerate() {
            let other = &samples[(index * 7 + 3) % samples.len()];
            let (id, result) = (values.intern(value), values.intern(other));
            for outcome in [Outcome::Ok, Outcome::Failed, Outcome::Pending] {
                let ret = (outcome != Outcome::Pending).then_some(u64::MAX - 1);
                let told = StreamedOperation {
                    file: 3,
                    line: 1 << 40,
                    caller: (index % 2 == 0).then_some(value),
                    method: "put",
                    call: Call { object: result, key: id, arg: id, ..Call::new(MethodId(0)) },
                    interval: Interval { call: 300, ret },
                    outcome,
                    result,
                    values: &values,
                };
                let mut bytes = Vec::new();
                put(&mut bytes, &told);
                assert_eq!(rank(&bytes), Ok((300, 3, 1 << 40)));
                let mut fresh = Values::default();
                let row = take(&bytes, &mut fresh).unwrap();
                let seen: Vec<Value> = row.ids.iter().map(|&id| fresh.get(id)).collect();
                let kept = if ret.is_some() { other.clone() } else { Value::Nil };
                assert_eq!(seen, [other.clone(), value.clone(), value.clone(), kept]);
                assert_eq!((row.method, row.outcome), ("put", outcome));
                assert_eq!((row.interval.call, row.interval.ret), (300, ret));
                assert_eq!(row.caller.as_ref(), told.caller);
                for end in 0..bytes.len() {
                    assert!(take(&bytes[..end], &mut Values::default()).is_err(), "{end} bytes");
                }
            }
        }
    }

    #[test]
    fn bytes_are_equal_exactly_when_values_are() {
        let samples = samples();
        let bytes = |value: &Value| {
            let mut values = Values::default();
            let id = values.intern(value);
            let (mut by_id, mut by_value) = (Vec::new(), Vec::new());
            put_id(&mut by_id, &values, id);
            put_value(&mut by_value, value);
            assert_eq!(by_id, by_value, "{value}");
            by_id
        };
        for (index, a) in samples.iter().enumerate() {
            for b in &samples[index + 1..] {
                assert_ne!(bytes(a), bytes(b), "{a} and {b}");
            }
        }
    }
}
