//! The blank-separated fields of a line, for the formats of other checkers.

use super::block::Line;
use crate::{InputError, Value, ValueId, Values};

/// Takes a line apart, field by field.
pub(super) struct Fields<'l> {
    line: Line<'l>,
    at: usize,
}

impl<'l> Fields<'l> {
    /// The fields of a line.
    #[inline]
    pub fn of(line: Line<'l>) -> Self {
        Fields { line, at: 0 }
    }

    /// What is left of the line, without blanks around it.
    pub fn rest(&self) -> &'l [u8] {
        self.line.bytes[self.at..].trim_ascii()
    }

    /// The next field; empty at the end of the line.
    #[inline]
    pub fn word(&mut self) -> &'l [u8] {
        let bytes = self.line.bytes;
        let mut at = self.at;
        while at < bytes.len() && is_blank(bytes[at]) {
            at += 1;
        }
        let begin = at;
        while at < bytes.len() && !is_blank(bytes[at]) {
            at += 1;
        }
        self.at = at;
        &bytes[begin..at]
    }

    /// The next field, which must be a whole number that is not negative.
    #[inline(always)]
    pub fn unsigned(&mut self, what: &str) -> Result<u64, InputError> {
        match self.digits() {
            Some(number) => Ok(number),
            None => self.long_unsigned(what),
        }
    }

    /// The next field, which must be a whole number.
    #[inline(always)]
    pub fn integer(&mut self, what: &str) -> Result<i64, InputError> {
        match self.digits() {
            Some(number) => Ok(number as i64),
            None => self.long_integer(what),
        }
    }

    #[cold]
    fn long_unsigned(&mut self, what: &str) -> Result<u64, InputError> {
        let word = self.word();
        parse_unsigned(word).ok_or_else(|| self.line.expected(what, word))
    }

    #[cold]
    fn long_integer(&mut self, what: &str) -> Result<i64, InputError> {
        let word = self.word();
        parse_integer(word).ok_or_else(|| self.line.expected(what, word))
    }

    /// Takes the next field if it is a number of at most 18 digits, in one pass.
    #[inline(always)]
    fn digits(&mut self) -> Option<u64> {
        let bytes = self.line.bytes;
        let mut at = self.at;
        while bytes.get(at).is_some_and(|&byte| is_blank(byte)) {
            at += 1;
        }
        let rest = &bytes[at..];
        let (number, length) = match rest.first_chunk().map(|eight| short_number(*eight)) {
            Some((number, length)) if length < 8 => (number, length),
            _ => long_number(rest),
        };
        let ends = bytes.get(at + length).is_none_or(|&byte| is_blank(byte));
        if !ends || length == 0 || length > 18 {
            return None;
        }
        self.at = at + length;
        Some(number)
    }

    /// The next field, which must be 0 or 1.
    #[inline]
    pub fn truth(&mut self, what: &str) -> Result<ValueId, InputError> {
        match self.word() {
            b"0" => Ok(ValueId::FALSE),
            b"1" => Ok(ValueId::TRUE),
            other => Err(self.line.expected(what, other)),
        }
    }

    /// Checks that nothing is left.
    #[inline]
    pub fn end(&mut self) -> Result<(), InputError> {
        if self.at == self.line.bytes.len() {
            return Ok(());
        }
        match self.word() {
            b"" => Ok(()),
            word => Err(self.line.expected("the end of the line", word)),
        }
    }
}

/// A name that a line may begin with, ready to be compared eight bytes at once.
pub(super) struct Name {
    text: &'static str,
    /// The first eight bytes, or as many as there are.
    key: u64,
    mask: u64,
}

impl Name {
    /// A name.
    pub fn new(text: &'static str) -> Self {
        let mut eight = [0; 8];
        let length = text.len().min(8);
        eight[..length].copy_from_slice(&text.as_bytes()[..length]);
        let mask = u64::MAX >> (8 * (8 - length));
        Name { text, key: u64::from_le_bytes(eight), mask }
    }
}

/// Which of the names bytes begin with, and how long it is.
#[inline(always)]
pub(super) fn leading_name(bytes: &[u8], names: &[Name]) -> Option<(usize, usize)> {
    let eight = u64::from_le_bytes(*bytes.first_chunk()?);
    // No early end: which name it is cannot be foretold, and a wrong guess costs more than a look.
    let mut found = usize::MAX;
    for (index, name) in names.iter().enumerate() {
        found = if eight & name.mask == name.key { index } else { found };
    }
    let text = names.get(found)?.text.as_bytes();
    let same = text.len() <= 8 || bytes.starts_with(text);
    same.then_some((found, text.len()))
}

/// The number of at most 15 digits that bytes begin with, and how many it has.
#[inline(always)]
pub(super) fn leading_number(bytes: &[u8]) -> Option<(u64, usize)> {
    let (number, length) = short_number(*bytes.first_chunk()?);
    match length {
        0 => None,
        1..8 => Some((number, length)),
        _ => {
            let (rest, more) = short_number(*bytes[8..].first_chunk()?);
            let shifted = number * 10u64.pow(more as u32);
            (more < 8).then_some((shifted + rest, 8 + more))
        }
    }
}

/// The number that eight bytes begin with, and how many digits it has: all at once.
///
/// With `0` taken from every byte a digit is below 10, so adding 118 leaves its high bit clear. The
/// digits are moved to the end, behind zeros; then neighbours are joined to numbers of two, four
/// and eight digits.
#[inline(always)]
fn short_number(eight: [u8; 8]) -> (u64, usize) {
    let bytes = u64::from_le_bytes(eight) ^ 0x3030_3030_3030_3030;
    let high = 0x8080_8080_8080_8080;
    // The first byte that is no digit is found exactly: carries only run towards later bytes.
    let others = (bytes.wrapping_add(0x7676_7676_7676_7676) | bytes) & high;
    let length = (others.trailing_zeros() / 8) as usize;
    if length == 0 {
        return (0, 0);
    }
    let digits = bytes << (64 - 8 * length);
    let twos = digits.wrapping_mul(10).wrapping_add(digits >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = twos.wrapping_mul(100).wrapping_add(twos >> 16) & 0x0000_ffff_0000_ffff;
    let number = fours.wrapping_mul(10_000).wrapping_add(fours >> 32) & 0xffff_ffff;
    (number, length)
}

/// The number that bytes begin with, and how many digits it has; right up to 18 digits.
#[inline]
fn long_number(bytes: &[u8]) -> (u64, usize) {
    let mut number = 0u64;
    let mut length = 0;
    for byte in bytes {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        number = number.wrapping_mul(10).wrapping_add(u64::from(digit));
        length += 1;
    }
    (number, length)
}

#[inline]
fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

/// A whole number that is not negative, written in digits only.
pub(super) fn parse_unsigned(word: &[u8]) -> Option<u64> {
    let digit = |&byte: &u8| byte.is_ascii_digit().then(|| u64::from(byte - b'0'));
    if word.is_empty() {
        return None;
    }
    word.iter().try_fold(0u64, |number, byte| number.checked_mul(10)?.checked_add(digit(byte)?))
}

/// A whole number, with a minus sign or without.
pub(super) fn parse_integer(word: &[u8]) -> Option<i64> {
    match word.strip_prefix(b"-") {
        None => i64::try_from(parse_unsigned(word)?).ok(),
        Some(digits) => 0i64.checked_sub_unsigned(parse_unsigned(digits)?),
    }
}

/// The value of a word: a number, or a name.
pub(super) fn value_of_word(values: &mut Values, line: Line<'_>, word: &[u8]) -> ValueOf {
    if let Some(number) = parse_integer(word) {
        return Ok(values.intern_int(number));
    }
    let Ok(text) = std::str::from_utf8(word) else {
        return Err(line.expected("a value in UTF-8", word));
    };
    let digits = word.strip_prefix(b"-").unwrap_or(word);
    let value = if !digits.is_empty() && digits.iter().all(u8::is_ascii_digit) {
        Value::number(text)
    } else {
        Value::Name(text.into())
    };
    Ok(values.intern(&value))
}

type ValueOf = Result<ValueId, InputError>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_bytes_at_once_are_what_one_at_a_time_are() {
        let alphabet = b"0123456789 /:-x\xb0\xff";
        let mut seed = 7u64;
        for round in 0..100_000 {
            let mut eight = [0; 8];
            for byte in &mut eight {
                seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
                let among = if round % 2 == 0 { 10 } else { alphabet.len() };
                *byte = alphabet[(seed >> 33) as usize % among];
            }
            eight[round % 8] = b' ';
            let expected = long_number(&eight);
            assert_eq!(short_number(eight), expected, "{eight:?}");
        }
    }

    #[test]
    fn numbers_are_what_the_standard_library_reads() {
        let words = [
            "0",
            "7",
            "007",
            "-1",
            "",
            "-",
            "+1",
            "1x",
            "9223372036854775807",
            "9223372036854775808",
            "-9223372036854775808",
            "-9223372036854775809",
            "18446744073709551615",
            "18446744073709551616",
            "99999999999999999999",
            "100000000000000000000",
        ];
        for word in words {
            let plain = !word.starts_with('+');
            let unsigned = word.parse::<u64>().ok().filter(|_| plain);
            let integer = word.parse::<i64>().ok().filter(|_| plain);
            assert_eq!(parse_unsigned(word.as_bytes()), unsigned, "{word}");
            assert_eq!(parse_integer(word.as_bytes()), integer, "{word}");
        }
    }
}
