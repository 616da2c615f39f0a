//! JSON values of one line: a scanner that rounds no number, and a writer.
//!
//! A number is what it is worth, however it is written ([`Value::number`]). What JSON cannot say is
//! wrapped in an object of one entry: `{"#name": "x"}` for a name (EDN's keyword), `{"#number":
//! "1/3"}` for a number that is none in JSON, `{"#map": [[key, value], …]}` for a map whose keys
//! are not all strings. An object with the same key twice is an error.

use super::block::Line;
use super::fields::parse_integer;
use crate::{InputError, Value, ValueId, Values, is_harmful};
use std::borrow::Cow;
use std::io::{self, Write};

/// How deep lists and maps may nest.
pub(super) const DEEPEST: usize = 128;

/// Takes the JSON text of one line apart.
pub(super) struct Json<'l> {
    line: Line<'l>,
    at: usize,
}

impl<'l> Json<'l> {
    /// The JSON text of a line.
    #[inline]
    pub fn of(line: Line<'l>) -> Self {
        Json { line, at: 0 }
    }

    /// The next byte that is not a blank, without taking it; 0 at the end.
    #[inline]
    pub fn peek(&mut self) -> u8 {
        let bytes = self.line.bytes;
        while let Some(&byte) = bytes.get(self.at) {
            match byte {
                b' ' | b'\t' | b'\n' | b'\r' => self.at += 1,
                _ => return byte,
            }
        }
        0
    }

    /// Takes a byte if it comes next.
    #[inline]
    pub fn takes(&mut self, byte: u8) -> bool {
        let taken = self.peek() == byte && self.at < self.line.bytes.len();
        self.at += usize::from(taken);
        taken
    }

    /// Takes a byte that must come next.
    #[inline]
    pub fn take(&mut self, byte: u8, expected: &str) -> Result<(), InputError> {
        if self.takes(byte) { Ok(()) } else { Err(self.expected(expected)) }
    }

    /// How many bytes were taken.
    pub fn position(&self) -> usize {
        self.at
    }

    /// What was not taken yet.
    pub fn rest(&self) -> &'l [u8] {
        &self.line.bytes[self.at..]
    }

    /// Whether nothing but blanks is left.
    pub fn is_at_end(&mut self) -> bool {
        self.peek() == 0 && self.at == self.line.bytes.len()
    }

    /// Checks that the line ends here.
    pub fn end(&mut self) -> Result<(), InputError> {
        match self.peek() {
            0 if self.at == self.line.bytes.len() => Ok(()),
            _ => Err(self.expected("the end of the line")),
        }
    }

    /// The error that something else was expected here.
    #[cold]
    pub fn expected(&self, expected: &str) -> InputError {
        self.line.expected(expected, &self.line.bytes[self.at..])
    }

    /// A string.
    #[inline]
    pub fn string(&mut self, expected: &str) -> Result<Cow<'l, str>, InputError> {
        self.take(b'"', expected)?;
        let bytes = self.line.bytes;
        let begin = self.at;
        while let Some(&byte) = bytes.get(self.at) {
            match byte {
                b'"' => {
                    let text = &bytes[begin..self.at];
                    self.at += 1;
                    return self.utf8(text).map(Cow::Borrowed);
                }
                b'\\' => return self.escaped_string(begin).map(Cow::Owned),
                0..0x20 => return Err(self.expected("no control characters in a string")),
                _ => self.at += 1,
            }
        }
        Err(self.expected("`\"` at the end of the string"))
    }

    #[inline]
    fn utf8(&self, text: &'l [u8]) -> Result<&'l str, InputError> {
        std::str::from_utf8(text).map_err(|_| self.line.expected("text in UTF-8", text))
    }

    #[cold]
    fn escaped_string(&mut self, begin: usize) -> Result<String, InputError> {
        let bytes = self.line.bytes;
        let mut text = self.utf8(&bytes[begin..self.at])?.to_owned();
        loop {
            let begin = self.at;
            while matches!(bytes.get(self.at), Some(byte) if !matches!(byte, b'"' | b'\\' | 0..0x20))
            {
                self.at += 1;
            }
            text.push_str(self.utf8(&bytes[begin..self.at])?);
            match bytes.get(self.at) {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(text);
                }
                Some(b'\\') => text.push(self.escape()?),
                Some(_) => return Err(self.expected("no control characters in a string")),
                None => return Err(self.expected("`\"` at the end of the string")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, InputError> {
        let begin = self.at;
        let escaped = self.line.bytes.get(self.at + 1);
        self.at += 2;
        let plain = match escaped {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                return self.unicode().ok_or_else(|| {
                    let found = &self.line.bytes[begin..];
                    self.line.expected("an escaped character", found)
                });
            }
            _ => {
                self.at = begin;
                return Err(self.expected("an escaped character"));
            }
        };
        Ok(plain)
    }

    fn unicode(&mut self) -> Option<char> {
        let first = self.hex4()?;
        if !(0xd800..0xdc00).contains(&first) {
            return char::from_u32(first);
        }
        let follows = self.line.bytes.get(self.at..self.at + 2) == Some(b"\\u");
        self.at += 2;
        let second = follows.then(|| self.hex4())??;
        let low = second.checked_sub(0xdc00).filter(|&low| low < 0x400)?;
        char::from_u32(0x10000 + ((first - 0xd800) << 10) + low)
    }

    fn hex4(&mut self) -> Option<u32> {
        let digits = self.line.bytes.get(self.at..self.at + 4)?;
        self.at += 4;
        digits
            .iter()
            .try_fold(0, |number, &byte| Some(number << 4 | char::from(byte).to_digit(16)?))
    }

    /// A whole number that is not negative.
    #[inline]
    pub fn unsigned(&mut self, what: &str) -> Result<u64, InputError> {
        self.peek();
        let bytes = self.line.bytes;
        let begin = self.at;
        let mut number = 0u64;
        while let Some(digit) = bytes.get(self.at).map(|byte| byte.wrapping_sub(b'0')) {
            if digit > 9 {
                break;
            }
            let next = number.checked_mul(10).and_then(|n| n.checked_add(u64::from(digit)));
            let Some(next) = next else {
                self.at = begin;
                return Err(self.expected(what));
            };
            number = next;
            self.at += 1;
        }
        let zero_led = self.at > begin + 1 && bytes[begin] == b'0';
        let goes_on = matches!(bytes.get(self.at), Some(b'.' | b'e' | b'E'));
        if self.at == begin || zero_led || goes_on {
            self.at = begin;
            return Err(self.expected(what));
        }
        Ok(number)
    }

    /// A value, interned.
    #[inline]
    pub fn value_id(&mut self, values: &mut Values) -> Result<ValueId, InputError> {
        match self.peek() {
            b'"' => {
                let text = self.string("a string")?;
                Ok(values.intern_text(&text))
            }
            b'-' | b'0'..=b'9' => match self.small_integer() {
                Some(number) => Ok(values.intern_int(number)),
                None => Ok(values.intern(&self.value(0)?)),
            },
            _ => Ok(values.intern(&self.value(0)?)),
        }
    }

    /// Takes a whole number of at most 18 digits, if one comes next: the common case, fast.
    #[inline]
    fn small_integer(&mut self) -> Option<i64> {
        let rest = &self.line.bytes[self.at..];
        let sign = usize::from(rest.first() == Some(&b'-'));
        let mut length = sign;
        let mut number = 0i64;
        while let Some(digit) = rest.get(length).map(|byte| byte.wrapping_sub(b'0')) {
            if digit > 9 {
                break;
            }
            if length - sign == 18 {
                return None;
            }
            number = number * 10 + i64::from(digit);
            length += 1;
        }
        let goes_on = matches!(rest.get(length), Some(b'.' | b'e' | b'E'));
        let zero_led = rest.get(sign) == Some(&b'0') && length > sign + 1;
        if length == sign || goes_on || zero_led {
            return None;
        }
        self.at += length;
        Some(if sign == 1 { -number } else { number })
    }

    /// A value; `depth` is how many lists and maps it stands in.
    pub fn value(&mut self, depth: usize) -> Result<Value, InputError> {
        if depth > DEEPEST {
            return Err(self.expected("lists and objects that nest at most 128 deep"));
        }
        match self.peek() {
            b'"' => Ok(Value::Text(self.string("a string")?.into())),
            b'-' | b'0'..=b'9' => {
                let text = self.number()?;
                Ok(match parse_integer(text.as_bytes()) {
                    Some(number) => Value::Int(number),
                    None => Value::number(text),
                })
            }
            b'[' => self.list(depth),
            b'{' => self.object(depth),
            _ => self.literal(),
        }
    }

    fn literal(&mut self) -> Result<Value, InputError> {
        let literals =
            [("null", Value::Nil), ("true", Value::Bool(true)), ("false", Value::Bool(false))];
        let rest = &self.line.bytes[self.at..];
        for (text, value) in literals {
            if rest.starts_with(text.as_bytes()) {
                self.at += text.len();
                return Ok(value);
            }
        }
        Err(self.expected("a JSON value"))
    }

    fn list(&mut self, depth: usize) -> Result<Value, InputError> {
        self.take(b'[', "`[`")?;
        let mut items = Vec::new();
        if !self.takes(b']') {
            loop {
                items.push(self.value(depth + 1)?);
                if self.takes(b']') {
                    break;
                }
                self.take(b',', "`,` or `]`")?;
            }
        }
        Ok(Value::List(items.into()))
    }

    fn object(&mut self, depth: usize) -> Result<Value, InputError> {
        let begin = self.at;
        self.take(b'{', "`{`")?;
        let mut entries = Vec::new();
        if !self.takes(b'}') {
            loop {
                let key = Value::Text(self.string("a key, a string")?.into());
                self.take(b':', "`:`")?;
                entries.push((key, self.value(depth + 1)?));
                if self.takes(b'}') {
                    break;
                }
                self.take(b',', "`,` or `}`")?;
            }
        }
        let value = unwrapped(entries).unwrap_or_else(Value::map);
        if has_duplicate_keys(&value) {
            self.at = begin;
            return Err(self.expected("each key once"));
        }
        Ok(value)
    }

    /// The characters of a number.
    fn number(&mut self) -> Result<&'l str, InputError> {
        let rest = &self.line.bytes[self.at..];
        match number_length(rest) {
            Some(length) => {
                self.at += length;
                self.utf8(&rest[..length])
            }
            None => Err(self.expected("a number")),
        }
    }
}

/// Whether two entries of a map have the same key.
pub(super) fn has_duplicate_keys(value: &Value) -> bool {
    match value {
        Value::Map(entries) => entries.windows(2).any(|pair| pair[0].0 == pair[1].0),
        _ => false,
    }
}

/// The value that an object of one entry wraps, or the entries again.
fn unwrapped(entries: Vec<(Value, Value)>) -> Result<Value, Vec<(Value, Value)>> {
    let [(key, value)] = &entries[..] else {
        return Err(entries);
    };
    let pair = |item: &Value| match item.as_list() {
        Some([key, value]) => Some((key.clone(), value.clone())),
        _ => None,
    };
    let inner = match (key.as_str(), value) {
        (Some("#name"), Value::Text(name)) => Some(Value::Name(name.clone())),
        (Some("#number"), Value::Text(digits)) => Some(Value::number(digits)),
        (Some("#map"), Value::List(items)) => {
            let pairs: Option<Vec<_>> = items.iter().map(pair).collect();
            pairs.map(Value::map)
        }
        _ => None,
    };
    inner.ok_or(entries)
}

/// How many bytes at the beginning are a JSON number.
#[inline]
fn number_length(bytes: &[u8]) -> Option<usize> {
    let digits = |mut at: usize| {
        while bytes.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        at
    };
    let begin = usize::from(bytes.first() == Some(&b'-'));
    let mut at = digits(begin);
    if at == begin || (at > begin + 1 && bytes[begin] == b'0') {
        return None;
    }
    if bytes.get(at) == Some(&b'.') {
        let end = digits(at + 1);
        if end == at + 1 {
            return None;
        }
        at = end;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        let end = digits(at + 1 + sign);
        if end == at + 1 + sign {
            return None;
        }
        at = end;
    }
    Some(at)
}

/// Writes a string as JSON. Harmful characters are written with their numbers.
pub fn write_string(out: &mut dyn Write, text: &str) -> io::Result<()> {
    out.write_all(b"\"")?;
    for c in text.chars() {
        match c {
            '"' => out.write_all(b"\\\"")?,
            '\\' => out.write_all(b"\\\\")?,
            '\n' => out.write_all(b"\\n")?,
            '\r' => out.write_all(b"\\r")?,
            '\t' => out.write_all(b"\\t")?,
            // Beyond that EDN, which is written here, too, would need two escapes.
            '\0'..='\u{ffff}' if is_harmful(c) => write!(out, "\\u{:04x}", u32::from(c))?,
            c => write!(out, "{c}")?,
        }
    }
    out.write_all(b"\"")
}

/// Writes a value as JSON, the way our own format has it.
pub fn write_value(out: &mut dyn Write, value: &Value) -> io::Result<()> {
    match value {
        Value::Nil => out.write_all(b"null"),
        Value::Bool(truth) => write!(out, "{truth}"),
        Value::Int(number) => write!(out, "{number}"),
        Value::Number(digits) => {
            let bytes = digits.as_bytes();
            let plain = number_length(bytes) == Some(bytes.len()) && parse_integer(bytes).is_none();
            if plain {
                return out.write_all(bytes);
            }
            write_wrapped(out, "#number", digits)
        }
        Value::Text(text) => write_string(out, text),
        Value::Name(name) => write_wrapped(out, "#name", name),
        Value::List(items) => {
            out.write_all(b"[")?;
            for (index, item) in items.iter().enumerate() {
                out.write_all(if index == 0 { b"" } else { b"," })?;
                write_value(out, item)?;
            }
            out.write_all(b"]")
        }
        Value::Map(entries) => write_map(out, entries),
    }
}

fn write_wrapped(out: &mut dyn Write, tag: &str, text: &str) -> io::Result<()> {
    write!(out, "{{\"{tag}\":")?;
    write_string(out, text)?;
    out.write_all(b"}")
}

fn write_map(out: &mut dyn Write, entries: &[(Value, Value)]) -> io::Result<()> {
    let texts = entries.iter().all(|(key, _)| matches!(key, Value::Text(_)));
    let looks_wrapped = texts && unwrapped(entries.to_vec()).is_ok();
    let plain = texts && !looks_wrapped;
    out.write_all(if plain { b"{" } else { b"{\"#map\":[" })?;
    for (index, (key, value)) in entries.iter().enumerate() {
        out.write_all(if index == 0 { b"" } else { b"," })?;
        out.write_all(if plain { b"" } else { b"[" })?;
        write_value(out, key)?;
        out.write_all(if plain { b":" } else { b"," })?;
        write_value(out, value)?;
        out.write_all(if plain { b"" } else { b"]" })?;
    }
    out.write_all(if plain { b"}" } else { b"]}" })
}
