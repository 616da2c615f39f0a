//! EDN, Clojure's data notation: a reader that takes one form at a time from a stream of bytes.
//!
//! | form | becomes |
//! | --- | --- |
//! | `nil`, `true`, `"text"` | nil, a boolean, a text |
//! | `12`, `12N`, `0x1f`, `2r101`, `017` | an integer, if it fits 64 bits; else a number as text |
//! | `1.5`, `1.5M`, `1/3`, `##NaN` | a number, kept as written |
//! | `:keyword`, `symbol` | a name |
//! | `\a`, `\newline`, `\u0041` | a name that begins with a backslash |
//! | `[…]`, `(…)` | a list |
//! | `#{…}` | a list, sorted: two sets are equal when their members are |
//! | `{…}`, `#:ns{…}` | a map; the namespace goes to the keys |
//! | `#tag form` | the list of the name `#tag` and the form |
//! | `^meta form`, `#_form`, `; …`, `'form` | metadata, discarded forms, comments and quotes vanish |
//!
//! `#seriatim/name "…"` and `#seriatim/number "…"` are names and numbers that EDN cannot write.
//! Lists, maps and sets nest at most 128 deep.

use super::block::{Block, expected_found};
use super::edn_token::{character, number};
use super::fields::parse_integer;
use super::json::{DEEPEST, has_duplicate_keys};
use crate::{InputError, Value, ValueId, Values};

/// Takes forms from a source.
pub(super) struct Edn<'b, 'r> {
    pub block: &'b mut Block<'r>,
    /// The token that was read last.
    token: Vec<u8>,
}

/// What a form begins with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Start {
    /// The end of the source.
    End,
    /// `[` or `(`, with the byte that closes it.
    List(u8),
    /// `{`.
    Map,
    /// `]`, `)` or `}`.
    Close(u8),
    /// Anything else.
    Other,
}

impl<'b, 'r> Edn<'b, 'r> {
    /// The forms of a source.
    pub fn of(block: &'b mut Block<'r>) -> Self {
        let token = Vec::new();
        Edn { block, token }
    }

    /// What comes next, after blanks, comments, discarded forms and metadata; takes nothing else.
    pub fn start(&mut self) -> Result<Start, InputError> {
        self.start_at(0)
    }

    fn start_at(&mut self, depth: usize) -> Result<Start, InputError> {
        loop {
            let Some(byte) = self.block.peek()? else {
                return Ok(Start::End);
            };
            match byte {
                b';' => {
                    while !matches!(self.block.peek()?, None | Some(b'\n')) {
                        self.block.take();
                    }
                }
                b'[' => return Ok(Start::List(b']')),
                b'(' => return Ok(Start::List(b')')),
                b'{' => return Ok(Start::Map),
                b']' | b')' | b'}' => return Ok(Start::Close(byte)),
                b'\'' => self.block.take(),
                b'^' => {
                    self.block.take();
                    self.inner(depth)?;
                }
                b'#' => {
                    let next = self.block.prefix(2)?.get(1).copied();
                    match next {
                        Some(b'_') => {
                            self.block.take();
                            self.block.take();
                            self.inner(depth)?;
                        }
                        // The old way to write metadata.
                        Some(b'^') => self.block.take(),
                        _ => return Ok(Start::Other),
                    }
                }
                _ if is_blank(byte) => self.block.take(),
                _ => return Ok(Start::Other),
            }
        }
    }

    /// The form that comes next; `depth` is how many forms it stands in.
    pub fn value(&mut self, depth: usize) -> Result<Value, InputError> {
        match self.start_at(depth)? {
            Start::End | Start::Close(_) => Err(self.block.expected("a form")),
            Start::List(close) => {
                let items = self.items(close, depth)?;
                Ok(Value::List(items.into()))
            }
            Start::Map => self.map("", depth),
            Start::Other => match self.block.peek()? {
                Some(b'"') => {
                    let text = self.text()?;
                    Ok(Value::Text(text.into()))
                }
                Some(b'#') => self.dispatch(depth),
                Some(b'\\') => self.character(),
                _ => {
                    self.token()?;
                    self.token_value()
                }
            },
        }
    }

    /// The form that comes next, inside another of this depth.
    fn inner(&mut self, depth: usize) -> Result<Value, InputError> {
        let depth = deeper(self.block, depth)?;
        self.value(depth)
    }

    /// The form that comes next, interned. Integers, names and pairs of integers cost no
    /// allocation.
    pub fn value_id(&mut self, values: &mut Values) -> Result<ValueId, InputError> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b':';
        if self.start()? == Start::Other && self.block.peek()?.is_some_and(plain) {
            self.token()?;
            if self.token == b"nil" {
                return Ok(ValueId::NIL);
            }
            let digits = self.token.strip_prefix(b"-").unwrap_or(&self.token);
            let is_octal = digits.len() > 1 && digits[0] == b'0';
            if let Some(number) = parse_integer(&self.token).filter(|_| !is_octal) {
                return Ok(values.intern_int(number));
            }
            let value = self.token_value()?;
            return Ok(values.intern(&value));
        }
        let value = self.value(0)?;
        Ok(values.intern(&value))
    }

    /// Takes the bracket that `start` showed.
    pub fn take_bracket(&mut self) {
        self.block.take();
    }

    /// The next key of a map as text, if it is a keyword or symbol: `None` at the map's end.
    pub fn key(&mut self) -> Result<Option<&str>, InputError> {
        match self.start()? {
            Start::Close(b'}') => {
                self.block.take();
                return Ok(None);
            }
            Start::Other => {}
            _ => return Err(self.block.expected("a keyword as key, or `}`")),
        }
        let line = self.block.line_number();
        self.token()?;
        let name = self.token.strip_prefix(b":").unwrap_or(&self.token);
        match std::str::from_utf8(name) {
            Ok(name) if !name.is_empty() => Ok(Some(name)),
            _ => {
                let expected = "a keyword as key, in UTF-8";
                let source = self.block.source();
                Err(expected_found(source, line, expected, &self.token))
            }
        }
    }

    fn items(&mut self, close: u8, depth: usize) -> Result<Vec<Value>, InputError> {
        let depth = deeper(self.block, depth)?;
        self.block.take();
        let mut items = Vec::new();
        loop {
            match self.start_at(depth)? {
                Start::Close(byte) if byte == close => {
                    self.block.take();
                    return Ok(items);
                }
                Start::End | Start::Close(_) => {
                    let expected = format!("a form or `{}`", char::from(close));
                    return Err(self.block.expected(&expected));
                }
                _ => items.push(self.value(depth)?),
            }
        }
    }

    fn map(&mut self, namespace: &str, depth: usize) -> Result<Value, InputError> {
        let line = self.block.line_number();
        let items = self.items(b'}', depth)?;
        let source = self.block.source();
        if items.len() % 2 == 1 {
            let expected = "a value for every key of the map";
            return Err(expected_found(source, line, expected, b"a key alone"));
        }
        let mut entries = Vec::with_capacity(items.len() / 2);
        let mut items = items.into_iter();
        while let (Some(key), Some(value)) = (items.next(), items.next()) {
            entries.push((in_namespace(namespace, key), value));
        }
        let map = Value::map(entries);
        if has_duplicate_keys(&map) {
            let found = map.to_string();
            return Err(expected_found(source, line, "each key once", found.as_bytes()));
        }
        Ok(map)
    }

    /// A form that begins with `#`.
    fn dispatch(&mut self, depth: usize) -> Result<Value, InputError> {
        self.block.take();
        match self.block.peek()? {
            Some(b'{') => {
                let mut items = self.items(b'}', depth)?;
                items.sort();
                Ok(Value::List(items.into()))
            }
            Some(b'"') => {
                let text = self.text()?;
                Ok(Value::list([Value::Name("#regex".into()), Value::Text(text.into())]))
            }
            Some(b'#') => {
                self.block.take();
                self.token()?;
                match &self.token[..] {
                    b"NaN" => Ok(Value::Number("##NaN".into())),
                    b"Inf" => Ok(Value::Number("##Inf".into())),
                    b"-Inf" => Ok(Value::Number("##-Inf".into())),
                    _ => Err(self.token_error("##NaN, ##Inf or ##-Inf")),
                }
            }
            Some(b'\'') => {
                self.block.take();
                self.inner(depth)
            }
            Some(b':') => self.namespaced_map(depth),
            Some(byte) if byte.is_ascii_alphabetic() => self.tagged(depth),
            _ => Err(self.block.expected("a tag, a set or another form after `#`")),
        }
    }

    fn namespaced_map(&mut self, depth: usize) -> Result<Value, InputError> {
        self.token()?;
        let namespace = match std::str::from_utf8(&self.token) {
            Ok(text) => text.trim_start_matches(':').to_owned(),
            Err(_) => return Err(self.token_error("a namespace in UTF-8")),
        };
        match self.start_at(depth)? {
            Start::Map => self.map(&namespace, depth),
            _ => Err(self.block.expected("`{` after a namespace")),
        }
    }

    fn tagged(&mut self, depth: usize) -> Result<Value, InputError> {
        self.token()?;
        let Ok(tag) = std::str::from_utf8(&self.token) else {
            return Err(self.token_error("a tag in UTF-8"));
        };
        let tag = format!("#{tag}");
        let value = self.inner(depth)?;
        match (&*tag, value) {
            ("#seriatim/name", Value::Text(name)) => Ok(Value::Name(name)),
            ("#seriatim/number", Value::Text(digits)) => Ok(Value::number(&digits)),
            ("#seriatim/name" | "#seriatim/number", _) => {
                Err(self.block.expected("a string after the tag, before this"))
            }
            (_, value) => Ok(Value::list([Value::Name(tag.into()), value])),
        }
    }

    /// Takes a tag `#tag` in front of a map, if there is one, and says whether a map follows.
    pub fn record(&mut self) -> Result<bool, InputError> {
        if self.start()? != Start::Other {
            return Ok(self.start()? == Start::Map);
        }
        let prefix = self.block.prefix(2)?;
        let is_tag = prefix[0] == b'#' && prefix.get(1).is_some_and(u8::is_ascii_alphabetic);
        if is_tag {
            self.block.take();
            self.token()?;
        }
        Ok(is_tag && self.start()? == Start::Map)
    }

    fn text(&mut self) -> Result<String, InputError> {
        let line = self.block.line_number();
        let mut text = Vec::new();
        self.block.take();
        loop {
            self.block.take_while(&mut text, |byte| byte != b'"' && byte != b'\\')?;
            match self.block.peek()? {
                None => {
                    let message = format!("`\"` at the end of the string of line {line}");
                    return Err(self.block.expected(&message));
                }
                Some(b'"') => break self.block.take(),
                Some(_) => {
                    let c = self.escape()?;
                    text.extend(c.encode_utf8(&mut [0; 4]).as_bytes());
                }
            }
        }
        String::from_utf8(text).map_err(|error| {
            let source = self.block.source();
            expected_found(source, line, "text in UTF-8", error.as_bytes())
        })
    }

    fn escape(&mut self) -> Result<char, InputError> {
        let rest = self.block.prefix(6)?;
        let rest = &rest[..rest.len().min(6)];
        let hex = |digits: &[u8]| {
            let text = std::str::from_utf8(digits).ok()?;
            let plain = text.bytes().all(|byte| byte.is_ascii_hexdigit());
            char::from_u32(u32::from_str_radix(text, 16).ok().filter(|_| plain)?)
        };
        let octal = |digits: &[u8]| {
            let length = digits.iter().take(3).take_while(|d| matches!(d, b'0'..=b'7')).count();
            let text = std::str::from_utf8(&digits[..length]).ok()?;
            Some((char::from_u32(u32::from_str_radix(text, 8).ok()?)?, 1 + length))
        };
        let found = match rest.get(1) {
            Some(b'n') => Some(('\n', 2)),
            Some(b't') => Some(('\t', 2)),
            Some(b'r') => Some(('\r', 2)),
            Some(b'b') => Some(('\u{8}', 2)),
            Some(b'f') => Some(('\u{c}', 2)),
            Some(&byte @ (b'"' | b'\\' | b'/' | b'\'')) => Some((char::from(byte), 2)),
            Some(b'u') => rest.get(2..6).and_then(hex).map(|c| (c, 6)),
            Some(b'0'..=b'7') => octal(&rest[1..]),
            Some(b'o') => octal(&rest[2..]).map(|(c, length)| (c, length + 1)),
            _ => None,
        };
        let Some((c, length)) = found else {
            return Err(self.block.expected("an escaped character"));
        };
        for _ in 0..length {
            self.block.take();
        }
        Ok(c)
    }

    fn character(&mut self) -> Result<Value, InputError> {
        self.block.take();
        self.token.clear();
        // The first character belongs to the token even if it is a bracket.
        match self.block.peek()? {
            Some(byte) if !is_blank(byte) => {
                self.token.push(byte);
                self.block.take();
            }
            _ => return Err(self.block.expected("a character after `\\`")),
        }
        let mut more = std::mem::take(&mut self.token);
        self.block.take_while(&mut more, |byte| !is_delimiter(byte))?;
        self.token = more;
        match std::str::from_utf8(&self.token).ok().and_then(character) {
            Some(name) => Ok(Value::Name(name.into())),
            None => Err(self.token_error("a character")),
        }
    }

    /// Takes a token.
    fn token(&mut self) -> Result<(), InputError> {
        let mut token = std::mem::take(&mut self.token);
        token.clear();
        let taken = self.block.take_while(&mut token, |byte| !is_delimiter(byte));
        self.token = token;
        taken?;
        match self.token.is_empty() {
            true => Err(self.block.expected("a form")),
            false => Ok(()),
        }
    }

    fn token_value(&self) -> Result<Value, InputError> {
        let Ok(text) = std::str::from_utf8(&self.token) else {
            return Err(self.token_error("a form in UTF-8"));
        };
        let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
        Ok(match text {
            "nil" => Value::Nil,
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            _ if digits.starts_with(|c: char| c.is_ascii_digit()) => match number(text) {
                Some(value) => value,
                None => return Err(self.token_error("a number")),
            },
            _ => match text.strip_prefix(':').unwrap_or(text) {
                "" => return Err(self.token_error("a keyword's name after `:`")),
                name => Value::Name(name.into()),
            },
        })
    }

    /// The token that was read last is not what was expected.
    #[cold]
    fn token_error(&self, expected: &str) -> InputError {
        let (source, line) = (self.block.source(), self.block.line_number());
        expected_found(source, line, expected, &self.token)
    }
}

fn deeper(block: &mut Block<'_>, depth: usize) -> Result<usize, InputError> {
    if depth >= DEEPEST {
        return Err(block.expected("forms that nest at most 128 deep"));
    }
    Ok(depth + 1)
}

fn in_namespace(namespace: &str, key: Value) -> Value {
    match &key {
        Value::Name(name) if !namespace.is_empty() => match name.split_once('/') {
            None => Value::Name(format!("{namespace}/{name}").into()),
            Some(("_", bare)) => Value::Name(bare.into()),
            Some(_) => key,
        },
        _ => key,
    }
}

fn is_blank(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == b',' || byte == 0x0b
}

fn is_delimiter(byte: u8) -> bool {
    is_blank(byte) || matches!(byte, b'(' | b')' | b'[' | b']' | b'{' | b'}' | b'"' | b';')
}
