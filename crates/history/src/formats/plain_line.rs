//! A line of our own format as our own writers write it: no blanks, common fields alone, short
//! numbers, words without escapes. Nearly all lines are so, and are taken apart here in one pass
//! with next to no looking back; every other line, right or wrong, is left to the reader that knows
//! all of the format.
//!
//! *What would make it wrong:* a line that is read here in another way than there. What is taken
//! here is a part of what is taken there, field by field and value by value, and interned in the
//! same order; a test holds both against each other.

use super::field::Field;
use super::fields::leading_number;
use super::jsonl::{EventKind, Told};
use crate::{ValueId, Values};

/// The fields of a line and the name of its operation, if it is that plain.
#[inline]
pub(super) fn read<'l>(line: &'l [u8], values: &mut Values) -> Option<(Told, &'l str)> {
    let mut told = Told::NOTHING;
    let mut op: &[u8] = b"";
    let mut rest = line.strip_prefix(b"{")?;
    loop {
        let (field, length) = field(rest)?;
        if !told.seen.insert(field) {
            return None;
        }
        rest = &rest[length..];
        match field {
            Field::Process => told.process = value(&mut rest, values)?,
            Field::Op => op = word(&mut rest)?,
            Field::Arg => told.arg = value(&mut rest, values)?,
            Field::Result => told.result = value(&mut rest, values)?,
            Field::Key => told.key = value(&mut rest, values)?,
            Field::Call => told.call = number(&mut rest)?,
            Field::Return => told.ret = Some(number(&mut rest)?),
            Field::Time => told.time = Some(number(&mut rest)?),
            Field::Type => told.kind = kind(word(&mut rest)?)?,
            _ => return None,
        }
        match rest {
            [b',', more @ ..] => rest = more,
            [b'}'] => break,
            _ => return None,
        }
    }
    Some((told, std::str::from_utf8(op).ok()?))
}

/// The fields with how they are written, the first eight bytes of it as one number.
const WRITTEN: [(Field, &[u8]); 9] = [
    (Field::Process, b"\"process\":"),
    (Field::Op, b"\"op\":"),
    (Field::Key, b"\"key\":"),
    (Field::Arg, b"\"arg\":"),
    (Field::Result, b"\"result\":"),
    (Field::Call, b"\"call\":"),
    (Field::Return, b"\"return\":"),
    (Field::Type, b"\"type\":"),
    (Field::Time, b"\"time\":"),
];

/// The first eight bytes of a name, or as many as there are, and which of them count.
const fn head(name: &[u8]) -> (u64, u64) {
    let (mut eight, mut mask, mut index) = (0, 0, 0);
    while index < name.len() && index < 8 {
        eight |= (name[index] as u64) << (8 * index);
        mask |= 0xff << (8 * index);
        index += 1;
    }
    (eight, mask)
}

const HEADS: [(u64, u64); 9] = {
    let mut heads = [(0, 0); 9];
    let mut index = 0;
    while index < 9 {
        heads[index] = head(WRITTEN[index].1);
        index += 1;
    }
    heads
};

/// The field that comes next, and how many bytes it takes up to its value.
#[inline(always)]
fn field(rest: &[u8]) -> Option<(Field, usize)> {
    let eight = u64::from_le_bytes(*rest.first_chunk()?);
    for (index, &(head, mask)) in HEADS.iter().enumerate() {
        if eight & mask == head {
            let (field, name) = WRITTEN[index];
            let is_it = name.len() <= 8 || rest.get(8..name.len()) == Some(&name[8..]);
            return is_it.then_some((field, name.len()));
        }
    }
    None
}

/// A number that is not negative.
#[inline(always)]
fn number(rest: &mut &[u8]) -> Option<u64> {
    let (number, length) = match leading_number(rest) {
        Some(found) => found,
        None => last_number(rest)?,
    };
    let is_led_by_zero = length > 1 && rest[0] == b'0';
    *rest = &rest[length..];
    // What goes on as a number (a fraction, an exponent) is not for here.
    let ends = matches!(rest.first(), Some(b',' | b'}' | b']'));
    (ends && !is_led_by_zero).then_some(number)
}

/// A number of at most 18 digits, digit by digit: at the end of a line, where eight bytes are not
/// left, or a long one.
#[inline(never)]
fn last_number(rest: &[u8]) -> Option<(u64, usize)> {
    let length = rest.iter().take(19).position(|byte| !byte.is_ascii_digit())?;
    let number = rest[..length].iter().fold(0, |sum, byte| sum * 10 + u64::from(byte - b'0'));
    (length > 0).then_some((number, length))
}

/// A word in quotes, without escapes, of ASCII characters.
#[inline(always)]
fn word<'l>(rest: &mut &'l [u8]) -> Option<&'l [u8]> {
    let text = rest.strip_prefix(b"\"")?;
    let is_plain = |byte: &u8| (0x20..0x80).contains(byte) && *byte != b'"' && *byte != b'\\';
    let length = text.iter().position(|byte| !is_plain(byte))?;
    *rest = text[length..].strip_prefix(b"\"")?;
    Some(&text[..length])
}

/// A small value.
#[inline(always)]
fn value(rest: &mut &[u8], values: &mut Values) -> Option<ValueId> {
    match rest.first()? {
        b'"' => {
            let text = std::str::from_utf8(word(rest)?).ok()?;
            Some(values.intern_text(text))
        }
        b'[' => {
            *rest = &rest[1..];
            let first = scalar(rest, values)?;
            *rest = rest.strip_prefix(b",")?;
            let second = scalar(rest, values)?;
            *rest = rest.strip_prefix(b"]")?;
            Some(values.intern_pair(first, second))
        }
        _ => scalar(rest, values),
    }
}

/// A number or a constant.
#[inline(always)]
fn scalar(rest: &mut &[u8], values: &mut Values) -> Option<ValueId> {
    let (text, id): (&[u8], ValueId) = match rest.first()? {
        b'n' => (b"null", ValueId::NIL),
        b't' => (b"true", ValueId::TRUE),
        b'f' => (b"false", ValueId::FALSE),
        b'-' => {
            *rest = &rest[1..];
            let number = number(rest)?;
            return Some(values.intern_int(-(number as i64)));
        }
        _ => return Some(values.intern_int(number(rest)? as i64)),
    };
    *rest = rest.strip_prefix(text)?;
    Some(id)
}

fn kind(word: &[u8]) -> Option<EventKind> {
    match word {
        b"call" => Some(EventKind::Call),
        b"return" => Some(EventKind::Return),
        b"fail" => Some(EventKind::Fail),
        b"info" => Some(EventKind::Info),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::block::Line;
    use super::super::field::FieldSet;
    use super::super::jsonl::Record;
    use super::*;

    const LINES: [&str; 9] = [
        r#"{"process":0,"op":"write","arg":1,"call":1,"return":2}"#,
        r#"{"process":12,"op":"cas","key":"k1","arg":[3,null],"result":true,"call":123456789,"return":1234567890123}"#,
        r#"{"op":"get","key":-5,"result":null,"call":0,"return":0}"#,
        r#"{"process":"a b","type":"call","op":"push","arg":99999999999,"time":7}"#,
        r#"{"process":3,"type":"return","result":false,"time":700000000000000}"#,
        r#"{"process":3,"type":"info","op":"x"}"#,
        r#"{"call":5,"return":6,"process":1,"result":[1,2],"arg":[-1,true],"op":"z"}"#,
        r#"{"process":1,"op":"\u0041","arg":"é","call":10,"return":1e3}"#,
        r#"{"process":1,"op":"w","arg":[[1,2],3],"call":01,"return":2,"call":3}"#,
    ];

    /// Both readings of a line, from the same values.
    fn compare(text: &[u8]) -> bool {
        let line = Line { source: "", number: 1, bytes: text };
        let (mut here, mut there) = (Values::default(), Values::default());
        let Some((told, op)) = read(text, &mut here) else { return false };
        let record = Record::read_fully(line, &mut there);
        let shown = String::from_utf8_lossy(text);
        let record = record.unwrap_or_else(|error| panic!("{shown} is taken, but wrong: {error}"));
        assert_eq!((&record.told, &*record.op), (&told, op), "{shown}");
        assert!(record.told.seen.is_within(FieldSet::COMMON), "{shown}");
        assert_eq!(here.interned(), there.interned(), "{shown}");
        true
    }

    #[test]
    fn what_is_taken_here_is_what_the_whole_format_says() {
        let taken = LINES.iter().filter(|line| compare(line.as_bytes())).count();
        assert_eq!(taken, LINES.len() - 2);
        let alphabet = b"{}[]\",:-.0123456789eEtfn\\ a\x01\xc3";
        let mut seed = 11u64;
        let mut random = |below: usize| {
            seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (seed >> 33) as usize % below
        };
        let mut taken = 0;
        for _ in 0..200_000 {
            let mut text = LINES[random(LINES.len())].as_bytes().to_vec();
            for _ in 0..=random(3) {
                let (place, other) = (random(text.len()), alphabet[random(alphabet.len())]);
                match random(4) {
                    0 => text[place] = other,
                    1 => text.insert(place, other),
                    2 => _ = text.remove(place),
                    _ => {
                        let from = random(text.len());
                        let piece = text[from..(from + 9).min(text.len())].to_vec();
                        text.splice(place..place, piece);
                    }
                }
            }
            taken += usize::from(compare(&text));
        }
        assert!(taken > 2_000, "{taken}");
    }
}
