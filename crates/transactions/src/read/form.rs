//! Forms of EDN and values of JSON, with the line they stand in.

use seriatim_history::{InputError, Value};

/// Which of the two.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Notation {
    Edn,
    Json,
}

/// How deep forms may nest.
const DEEPEST: usize = 128;

/// Takes a text apart.
pub struct Forms<'t> {
    source: &'t str,
    bytes: &'t [u8],
    at: usize,
    line: u64,
    notation: Notation,
}

impl<'t> Forms<'t> {
    pub fn new(source: &'t str, bytes: &'t [u8], notation: Notation) -> Self {
        Forms { source, bytes, at: 0, line: 1, notation }
    }

    /// The error that something else was expected here.
    pub fn expected(&self, expected: &str) -> InputError {
        let rest = &self.bytes[self.at..];
        let end = rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len()).min(40);
        let found = match String::from_utf8_lossy(&rest[..end]) {
            found if found.trim().is_empty() && rest.is_empty() => "the end of the file".into(),
            found => found,
        };
        InputError::syntax(self.source, self.line, expected, &found)
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Takes blanks and comments; gives the next byte and its line.
    pub fn next(&mut self) -> Result<Option<(u8, u64)>, InputError> {
        self.next_within(0)
    }

    /// The same inside so many forms: one that is left out may begin with another one that is.
    fn next_within(&mut self, depth: usize) -> Result<Option<(u8, u64)>, InputError> {
        while let Some(byte) = self.peek() {
            match byte {
                b'\n' => {
                    self.line += 1;
                    self.at += 1;
                }
                b';' if self.notation == Notation::Edn => {
                    while self.peek().is_some_and(|b| b != b'\n') {
                        self.at += 1;
                    }
                }
                b'#' if self.bytes.get(self.at + 1) == Some(&b'_') => {
                    self.at += 2;
                    self.form(depth + 1)?;
                }
                b' ' | b'\t' | b'\r' | b',' => self.at += 1,
                _ => return Ok(Some((byte, self.line))),
            }
        }
        Ok(None)
    }

    /// Takes one byte that `next` gave.
    pub fn take(&mut self) {
        self.at += 1;
    }

    /// The form that comes next, inside so many others.
    pub fn form(&mut self, depth: usize) -> Result<Value, InputError> {
        if depth > DEEPEST {
            return Err(self.expected("forms that nest at most 128 deep"));
        }
        let Some((byte, _)) = self.next_within(depth)? else {
            return Err(self.expected("a form"));
        };
        match byte {
            b'[' | b'(' => {
                self.at += 1;
                let close = if byte == b'[' { b']' } else { b')' };
                Ok(Value::List(self.items(close, depth)?.into()))
            }
            b'{' => {
                self.at += 1;
                self.map(depth)
            }
            b'"' => Ok(Value::Text(self.string()?.into())),
            b'#' => self.tagged(depth),
            b']' | b')' | b'}' => Err(self.expected("a form")),
            _ => self.atom(),
        }
    }

    fn items(&mut self, close: u8, depth: usize) -> Result<Vec<Value>, InputError> {
        let mut items = Vec::new();
        loop {
            match self.next_within(depth)? {
                Some((byte, _)) if byte == close => {
                    self.at += 1;
                    return Ok(items);
                }
                None => return Err(self.expected(&format!("`{}`", char::from(close)))),
                Some((b':', _)) if self.notation == Notation::Json => self.at += 1,
                Some(_) => items.push(self.form(depth + 1)?),
            }
        }
    }

    fn map(&mut self, depth: usize) -> Result<Value, InputError> {
        let items = self.items(b'}', depth)?;
        if items.len() % 2 == 1 {
            return Err(self.expected("a value for every key of the map before this"));
        }
        let mut entries = Vec::with_capacity(items.len() / 2);
        let mut items = items.into_iter();
        while let (Some(key), Some(value)) = (items.next(), items.next()) {
            entries.push((key, value));
        }
        Ok(Value::map(entries))
    }

    /// `#{…}` is a set, `#tag form` the form.
    fn tagged(&mut self, depth: usize) -> Result<Value, InputError> {
        self.at += 1;
        if self.peek() == Some(b'{') {
            self.at += 1;
            return Ok(Value::List(self.items(b'}', depth)?.into()));
        }
        self.atom()?;
        self.form(depth + 1)
    }

    fn string(&mut self) -> Result<String, InputError> {
        self.at += 1;
        let mut text = Vec::new();
        while let Some(byte) = self.peek() {
            self.at += 1;
            match byte {
                b'"' => {
                    return String::from_utf8(text).map_err(|_| self.expected("text in UTF-8"));
                }
                b'\\' => {
                    let escaped = self.peek().ok_or_else(|| self.expected("a character"))?;
                    self.at += 1;
                    match escaped {
                        b'n' => text.push(b'\n'),
                        b'b' => text.push(8),
                        b'f' => text.push(12),
                        b't' => text.push(b'\t'),
                        b'r' => text.push(b'\r'),
                        b'u' => text.extend(self.unicode()?.encode_utf8(&mut [0; 4]).as_bytes()),
                        b'"' | b'\\' | b'/' => text.push(escaped),
                        _ => return Err(self.expected("an escaped character before this")),
                    }
                }
                b'\n' => {
                    self.line += 1;
                    text.push(byte);
                }
                _ => text.push(byte),
            }
        }
        Err(self.expected("`\"` at the end of the string"))
    }

    /// A character by its number, or by the two of its surrogates.
    fn unicode(&mut self) -> Result<char, InputError> {
        let first = self.unit()?;
        let units = match first {
            0xd800..0xdc00 if self.bytes[self.at..].starts_with(b"\\u") => {
                self.at += 2;
                vec![first, self.unit()?]
            }
            _ => vec![first],
        };
        let mut characters = char::decode_utf16(units);
        match (characters.next(), characters.next()) {
            (Some(Ok(character)), None) => Ok(character),
            _ => Err(self.expected("an escaped character before this")),
        }
    }

    /// Four hex digits.
    fn unit(&mut self) -> Result<u16, InputError> {
        let digits = self.bytes.get(self.at..self.at + 4);
        let digits = digits.filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        let text = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        let number = text.and_then(|text| u16::from_str_radix(text, 16).ok());
        let number = number.ok_or_else(|| self.expected("four hex digits"))?;
        self.at += 4;
        Ok(number)
    }

    fn atom(&mut self) -> Result<Value, InputError> {
        let ends = |byte: u8| byte.is_ascii_whitespace() || b",[](){}\";".contains(&byte);
        let rest = &self.bytes[self.at..];
        let is_json = self.notation == Notation::Json;
        let length = rest
            .iter()
            .position(|&byte| ends(byte) || (is_json && byte == b':'))
            .unwrap_or(rest.len());
        let Ok(word) = std::str::from_utf8(&rest[..length]) else {
            return Err(self.expected("text in UTF-8"));
        };
        if word.is_empty() {
            return Err(self.expected("a form"));
        }
        let value = match word {
            "nil" | "null" => Value::Nil,
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            _ if word.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '+') => {
                let in_numbers = |byte: u8| byte.is_ascii_alphanumeric() || b"+-./".contains(&byte);
                match word.trim_end_matches('N').parse::<i64>() {
                    Ok(number) => Value::Int(number),
                    Err(_) if word.bytes().all(in_numbers) => Value::Number(word.into()),
                    Err(_) => return Err(self.expected("a number")),
                }
            }
            _ if is_json => return Err(self.expected("a JSON value")),
            _ => Value::Name(word.strip_prefix(':').unwrap_or(word).into()),
        };
        self.at += length;
        Ok(value)
    }
}
