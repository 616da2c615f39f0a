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
    #[inline]
    pub fn unsigned(&mut self, what: &str) -> Result<u64, InputError> {
        match self.digits() {
            Some(number) => Ok(number),
            None => {
                let word = self.word();
                parse_unsigned(word).ok_or_else(|| self.line.expected(what, word))
            }
        }
    }

    /// The next field, which must be a whole number.
    #[inline]
    pub fn integer(&mut self, what: &str) -> Result<i64, InputError> {
        match self.digits().map(i64::try_from) {
            Some(Ok(number)) => Ok(number),
            _ => {
                let word = self.word();
                parse_integer(word).ok_or_else(|| self.line.expected(what, word))
            }
        }
    }

    /// Takes the next field if it is a number of at most 18 digits, in one pass.
    #[inline(always)]
    fn digits(&mut self) -> Option<u64> {
        let bytes = self.line.bytes;
        let mut at = self.at;
        while at < bytes.len() && is_blank(bytes[at]) {
            at += 1;
        }
        let begin = at;
        let mut number = 0u64;
        while at < bytes.len() && bytes[at].is_ascii_digit() {
            let digit = u64::from(bytes[at] - b'0');
            number = number.wrapping_mul(10).wrapping_add(digit);
            at += 1;
        }
        let ends = at == bytes.len() || is_blank(bytes[at]);
        if !ends || at == begin || at - begin > 18 {
            return None;
        }
        self.at = at;
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
        Value::Number(text.into())
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
