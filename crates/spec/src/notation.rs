//! How a specification and its parameters are written: `queue`, `cas-register(init=0)`,
//! `priority-queue(max)`, `multi-register {:x 0 :y 0}`, `cas-register, init 0`.
//!
//! A value is written in one of three notations, from its first bracket to its last:
//!
//! 1. as in JSON: `0`, `"a"`, `null`, `[1, 2]`, `{"x":0}`;
//! 2. as values are shown: the same, but a key may be a number, and nothing is `nil`: `{1: nil}`;
//! 3. as in EDN: `nil`, `:x`, `[1 2]`, `{:x 0 :y 0}`.
//!
//! The first of them that reads the whole value decides what it means, so that JSON is always JSON,
//! and what none of them reads is refused: a mixture never means something. Nor does a bare word:
//! whether `x` is the text of a log in JSON or the keyword of one in EDN only its writer knows, and
//! the two are different values. `unknown` alone is no value but says that nobody knows it.

use crate::spec_error::SpecError;
use seriatim_history::{Value, edn_value, json_value};
use std::fmt;

/// Something given to a specification: a parameter with its value, a flag, or a value alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Given {
    pub name: Option<String>,
    pub said: Said,
}

/// What is said of a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// Nothing: it is a flag.
    Nothing,
    /// That nobody knows its value.
    Unknown,
    /// Its value.
    Value(Value),
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Said::Nothing => f.write_str("nothing"),
            Said::Unknown => f.write_str(UNKNOWN),
            Said::Value(value) => write!(f, "{}", Written(value)),
        }
    }
}

impl fmt::Display for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => f.write_str(name),
            None => write!(f, "{}", self.said),
        }
    }
}

const UNKNOWN: &str = "unknown";

/// A value as a parameter is written, so that it is read as the same value: as it is shown, or as
/// EDN if it has keywords.
pub(crate) struct Written<'v>(pub &'v Value);

impl fmt::Display for Written<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match has_keyword(self.0) {
            true => write_edn(f, self.0),
            false => write!(f, "{}", self.0),
        }
    }
}

fn has_keyword(value: &Value) -> bool {
    match value {
        Value::Name(_) => true,
        Value::List(items) => items.iter().any(has_keyword),
        Value::Map(entries) => {
            entries.iter().any(|(key, value)| has_keyword(key) || has_keyword(value))
        }
        _ => false,
    }
}

fn write_edn(f: &mut fmt::Formatter<'_>, value: &Value) -> fmt::Result {
    let comma = |index: usize| if index == 0 { "" } else { ", " };
    match value {
        Value::Name(name) => write!(f, ":{name}"),
        Value::List(items) => {
            f.write_str("[")?;
            for (index, item) in items.iter().enumerate() {
                f.write_str(comma(index))?;
                write_edn(f, item)?;
            }
            f.write_str("]")
        }
        Value::Map(entries) => {
            f.write_str("{")?;
            for (index, (key, value)) in entries.iter().enumerate() {
                f.write_str(comma(index))?;
                write_edn(f, key)?;
                f.write_str(" ")?;
                write_edn(f, value)?;
            }
            f.write_str("}")
        }
        plain => write!(f, "{plain}"),
    }
}

/// The name and what is given to it.
pub(crate) fn parse(text: &str) -> Result<(String, Vec<Given>), SpecError> {
    let text = text.trim();
    let mut reader = Reader { text, rest: text };
    let name = reader.word().ok_or_else(|| reader.fail("a name"))?;
    reader.skip_blanks();
    let closing = reader.eat('(');
    if !closing {
        reader.eat(',');
    }
    let given = reader.all_given()?;
    if closing && !reader.eat(')') {
        return Err(reader.fail("`)`"));
    }
    reader.skip_blanks();
    match reader.rest.is_empty() {
        true => Ok((name, given)),
        false => Err(reader.fail("the end")),
    }
}

struct Reader<'t> {
    text: &'t str,
    /// What is not read yet: an end of the text.
    rest: &'t str,
}

const DEEPEST: u32 = 32;

/// What is expected where a bare word stands.
const BARE_WORD: &str =
    "a text in quotes, \"x\", or a keyword of EDN, :x (a bare word could be either)";

impl<'t> Reader<'t> {
    fn fail(&self, expected: &'static str) -> SpecError {
        let found = match self.rest {
            "" => "the end".to_owned(),
            rest => format!("`{rest}`"),
        };
        let read = &self.text[..self.text.len() - self.rest.len()];
        SpecError::Syntax { expected, found, place: read.chars().count() + 1 }
    }

    fn skip_blanks(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn eat(&mut self, wanted: char) -> bool {
        match self.rest.strip_prefix(wanted) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn take(&mut self, length: usize) -> &'t str {
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        taken
    }

    fn word(&mut self) -> Option<String> {
        let word = self.take(word_length(self.rest));
        (!word.is_empty()).then(|| word.to_owned())
    }

    /// Parameters with commas between them.
    fn all_given(&mut self) -> Result<Vec<Given>, SpecError> {
        let mut given = Vec::new();
        self.skip_blanks();
        while !self.rest.is_empty() && !self.rest.starts_with(')') {
            given.push(self.given()?);
            self.skip_blanks();
            if !self.eat(',') {
                break;
            }
            self.skip_blanks();
            if self.rest.is_empty() || self.rest.starts_with(')') {
                return Err(self.fail("a parameter behind the comma"));
            }
        }
        Ok(given)
    }

    /// `name=value`, `name: value`, `name value`, `flag`, or a value.
    fn given(&mut self) -> Result<Given, SpecError> {
        let starts_word = |c: char| c.is_alphabetic() || c == '_';
        if !self.rest.starts_with(starts_word) {
            let said = Said::Value(self.value()?);
            return Ok(Given { name: None, said });
        }
        let name = self.word();
        self.skip_blanks();
        let assigned = self.eat('=') || self.eat(':');
        self.skip_blanks();
        let follows = !self.rest.is_empty() && !self.rest.starts_with([',', ')']);
        let said = match assigned || follows {
            true => self.said()?,
            false => Said::Nothing,
        };
        Ok(Given { name, said })
    }

    /// `unknown`, or a value.
    fn said(&mut self) -> Result<Said, SpecError> {
        if &self.rest[..word_length(self.rest)] == UNKNOWN {
            self.take(UNKNOWN.len());
            return Ok(Said::Unknown);
        }
        self.value().map(Said::Value)
    }

    /// A value in the first of the notations that reads all of it.
    fn value(&mut self) -> Result<Value, SpecError> {
        let whole = &self.rest[..self.extent()?];
        let mut shown = Reader { text: whole, rest: whole };
        let value = match json_value(whole) {
            Ok(value) => Ok(value),
            Err(_) => shown.only_value().or_else(|error| match edn_value(whole) {
                Ok(value) if is_plain_edn(whole, &value) => Ok(value),
                _ => Err(error),
            }),
        };
        match value {
            Ok(value) => {
                self.take(whole.len());
                Ok(value)
            }
            // The notation in which values are shown says best where it went wrong; the place counts
            // from the beginning.
            Err(error) => {
                self.take(whole.len() - shown.rest.len());
                match error {
                    SpecError::Syntax { expected, .. } => Err(self.fail(expected)),
                    other => Err(other),
                }
            }
        }
    }

    /// A value as it is shown, and nothing else.
    fn only_value(&mut self) -> Result<Value, SpecError> {
        let value = self.shown_value(0)?;
        match self.rest.is_empty() {
            true => Ok(value),
            false => Err(self.fail("the end of the value")),
        }
    }

    /// How long the value is that begins here: to the bracket or quote that ends it, or as far as
    /// the word goes.
    fn extent(&self) -> Result<usize, SpecError> {
        if !self.rest.starts_with(['"', '[', '{']) {
            let colon = usize::from(self.rest.starts_with(':'));
            return match colon + word_length(&self.rest[colon..]) {
                0 => Err(self.fail("a value")),
                length => Ok(length),
            };
        }
        let (mut depth, mut in_text, mut escaped) = (0, false, false);
        for (place, c) in self.rest.char_indices() {
            match c {
                _ if escaped => escaped = false,
                '\\' if in_text => escaped = true,
                '"' => in_text = !in_text,
                '[' | '{' if !in_text => depth += 1,
                ']' | '}' if !in_text => depth -= 1,
                _ => {}
            }
            if depth > DEEPEST {
                return Err(self.fail("a value that is less deeply nested"));
            }
            if depth == 0 && !in_text {
                return Ok(place + c.len_utf8());
            }
        }
        match in_text {
            true => Err(self.fail("a text that ends with `\"`")),
            false => Err(self.fail("a bracket at the end of the value")),
        }
    }

    /// A value as it is shown.
    fn shown_value(&mut self, depth: u32) -> Result<Value, SpecError> {
        if depth > DEEPEST {
            return Err(self.fail("a value that is less deeply nested"));
        }
        if self.eat('[') {
            let item = |reader: &mut Self| reader.shown_value(depth + 1);
            return Ok(Value::list(self.until(']', item)?));
        }
        if self.eat('{') {
            let entry = |reader: &mut Self| reader.entry(depth);
            let entries = self.until('}', entry)?;
            let repeated = |(i, entry): (usize, &(Value, Value))| {
                entries[..i].iter().any(|before| before.0 == entry.0)
            };
            return match entries.iter().enumerate().any(repeated) {
                true => Err(self.fail("each key once")),
                false => Ok(Value::map(entries)),
            };
        }
        self.scalar()
    }

    /// Things with commas between them, up to a bracket.
    fn until<T>(
        &mut self,
        end: char,
        mut one: impl FnMut(&mut Self) -> Result<T, SpecError>,
    ) -> Result<Vec<T>, SpecError> {
        let mut all = Vec::new();
        self.skip_blanks();
        if self.eat(end) {
            return Ok(all);
        }
        loop {
            self.skip_blanks();
            all.push(one(self)?);
            self.skip_blanks();
            if self.eat(end) {
                return Ok(all);
            }
            if !self.eat(',') {
                return Err(self.fail("`,` or the bracket that ends it"));
            }
        }
    }

    /// `key: value`.
    fn entry(&mut self, depth: u32) -> Result<(Value, Value), SpecError> {
        let key = self.scalar()?;
        if !self.eat(':') {
            return Err(self.fail("`:` right behind the key"));
        }
        self.skip_blanks();
        Ok((key, self.shown_value(depth + 1)?))
    }

    /// A text, a number, a boolean or nil.
    fn scalar(&mut self) -> Result<Value, SpecError> {
        if self.rest.starts_with('"') {
            let length = self.extent()?;
            let text = json_value(&self.rest[..length])
                .map_err(|_| self.fail("a text with the escapes of JSON"))?;
            self.take(length);
            return Ok(text);
        }
        let word = &self.rest[..word_length(self.rest)];
        let value = match word {
            "" => return Err(self.fail("a value")),
            "nil" => Value::Nil,
            "none" => return Err(self.fail("nil, which is written `nil` or `null`")),
            _ => match json_value(word) {
                Ok(value) => value,
                Err(_) if !is_numeric(word) => return Err(self.fail(BARE_WORD)),
                Err(_) => match edn_value(word) {
                    Ok(value) if is_plain_edn(word, &value) => value,
                    _ => return Err(self.fail("a number")),
                },
            },
        };
        self.take(word.len());
        Ok(value)
    }
}

fn word_length(text: &str) -> usize {
    let inside = |c: char| c.is_alphanumeric() || "-_.+*/?!".contains(c);
    text.find(|c| !inside(c)).unwrap_or(text.len())
}

fn is_numeric(word: &str) -> bool {
    let size = word.strip_prefix(['+', '-']).unwrap_or(word);
    size.starts_with(|c: char| c.is_ascii_digit())
}

/// Whether a form of EDN means what everybody takes it for: nothing of it is a word of JSON, looks
/// like a number or is an octal one, and its forms stand apart.
fn is_plain_edn(text: &str, value: &Value) -> bool {
    let is_octal = |word: &str| {
        let size = word.strip_prefix(['+', '-']).unwrap_or(word);
        size.len() > 1 && size.starts_with('0') && size.as_bytes()[1].is_ascii_digit()
    };
    let mut words = text.split(|c: char| word_length(c.encode_utf8(&mut [0; 4])) == 0);
    has_plain_names(value)
        && !words.any(is_octal)
        && texts_stand_apart(text)
        && !has_bare_words(text)
}

/// Whether a word of a value is neither a keyword nor a number nor one of the literals.
fn has_bare_words(text: &str) -> bool {
    let plain = without_texts(text);
    let mut forms = plain.split(|c: char| c != ':' && word_length(c.encode_utf8(&mut [0; 4])) == 0);
    forms.any(|form| {
        let is_literal = ["", "nil", "true", "false"].contains(&form);
        !is_literal && !form.starts_with(':') && !is_numeric(form)
    })
}

/// A value with nothing in the quotes of its texts.
fn without_texts(text: &str) -> String {
    let (mut in_text, mut escaped) = (false, false);
    let is_outside = |c: &char| {
        let is_quote = *c == '"' && !escaped;
        escaped = *c == '\\' && in_text && !escaped;
        in_text ^= is_quote;
        is_quote || !in_text
    };
    text.chars().filter(is_outside).collect()
}

fn has_plain_names(value: &Value) -> bool {
    match value {
        Value::Name(name) => {
            let is_literal = ["null", "none", "nil", "true", "false"].contains(&&**name);
            !is_literal && !is_numeric(name) && word_length(name) == name.len()
        }
        Value::List(items) => items.iter().all(has_plain_names),
        Value::Map(entries) => {
            entries.iter().all(|(key, value)| has_plain_names(key) && has_plain_names(value))
        }
        _ => true,
    }
}

/// Whether every text of a value has a blank, a comma or a bracket before and behind it.
fn texts_stand_apart(text: &str) -> bool {
    let is_apart = |c: Option<char>| {
        c.is_none_or(|c| c.is_whitespace() || matches!(c, ',' | '[' | ']' | '{' | '}'))
    };
    let (mut before, mut in_text, mut escaped) = (None, false, false);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            _ if escaped => escaped = false,
            '\\' if in_text => escaped = true,
            '"' => {
                let beside = if in_text { chars.peek().copied() } else { before };
                if !is_apart(beside) {
                    return false;
                }
                in_text = !in_text;
            }
            _ => {}
        }
        before = Some(c);
    }
    true
}

#[cfg(test)]
mod tests {
    use crate::SpecChoice;

    fn shown(text: &str) -> String {
        match SpecChoice::parse(text) {
            Ok(choice) => choice.to_string(),
            Err(error) => format!("error: {error}"),
        }
    }

    #[test]
    fn spellings_of_one_choice_mean_the_same() {
        let spellings = [
            "cas-register(init=0)",
            "cas-register, init 0",
            " CAS_Register ( init : 0 ) ",
            "cas-register 0",
        ];
        for text in spellings {
            assert_eq!(shown(text), "cas-register(init=0)", "{text}");
        }
        assert_eq!(shown("queue(init=[1, 2])"), "queue(init=[1, 2])");
        let registers = "multi-register(init={:x 0, :y 0})";
        for text in ["multi-register {:x 0 :y 0}", registers] {
            assert_eq!(shown(text), registers, "{text}");
        }
        assert_eq!(shown("kv {\"a\" \"b\"}"), "kv(init={\"a\": \"b\"})");
        assert_eq!(
            shown("map(default=\"\", init={\"x\": 0, 1: nil})"),
            "map(default=\"\", init={1: nil, \"x\": 0})"
        );
        assert_eq!(shown("register(init=1e3)"), "register(init=1000)");
    }

    #[test]
    fn every_small_map_is_one_of_the_notations_or_refused() {
        // All maps of one entry from these pieces. What each means follows from the pieces by
        // the rules in the module's header, without reading the text.
        let keys = ["x", "\"x\"", ":x", "1"];
        let betweens = [":", ": ", " : ", " :", " ", ""];
        let values = ["0", "true", "null", "nil", "y", ":y", "\"y\""];
        for key in keys {
            for between in betweens {
                for value in values {
                    let text = format!("map(init={{{key}{between}{value}}})");
                    let is_json_value = !["nil", "y", ":y"].contains(&value);
                    let is_json = key == "\"x\"" && between.contains(':') && is_json_value;
                    let right_behind = [":", ": "].contains(&between);
                    let is_shown =
                        right_behind && ["\"x\"", "1"].contains(&key) && !value.ends_with('y');
                    // ` :` and `y` are a blank and a keyword.
                    let keyword = value == ":y" || (between == " :" && value == "y");
                    let is_edn = match between {
                        " " => key != "x" && !["null", "y"].contains(&value),
                        " :" => key != "x" && value == "y",
                        _ => false,
                    };
                    let value = if value == "null" { "nil" } else { value };
                    let again = match (key, keyword) {
                        (key, true) => format!("{key} :y"),
                        (":x", false) => format!(":x {value}"),
                        (key, false) => format!("{key}: {value}"),
                    };
                    let got = shown(&text);
                    match is_json || is_shown || is_edn {
                        true => assert_eq!(got, format!("map(init={{{again}}})"), "{text}"),
                        false => assert!(got.starts_with("error: "), "{text} is taken as {got}"),
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_wrong_with_a_choice_is_said() {
        for (text, expected) in [
            ("", "expected a name, found the end"),
            ("qeue", "did you mean `queue`?"),
            ("zebra", "known: register"),
            ("queue(", "expected `)`, found the end"),
            ("queue(init=3)", "init of queue takes a list such as [1, 2]"),
            ("queue(init=[1, nil])", "without nil, the answer of an empty container"),
            ("queue(max)", "queue has no parameter `max`; expected one of: init"),
            ("register(init=1, init=2)", "init of register is given twice"),
            ("register(init=\"a)", "expected a text that ends with"),
            ("register(init=1) x", "expected the end"),
            ("register(init=[1", "expected a bracket at the end of the value"),
            ("kv(init={1: 2, 1: 3})", "expected each key once"),
            ("map(init={1: 0, :y 1})", "at character 17"),
            ("map(init={x:0})", "expected a text in quotes"),
            ("map(init={x 0})", "expected a text in quotes"),
            ("map(init={:x [0 y]})", "expected a value, found `:x [0 y]})`"),
            ("register(init=x)", "expected a text in quotes"),
            ("map(default=unknown)", "default of map takes a value, found unknown"),
            ("register(init=none)", "written `nil` or `null`"),
            ("register(init=010)", "expected a number"),
            ("register(init=[nil null])", "expected `,` or the bracket"),
            ("queue(init=[1],)", "a parameter behind the comma"),
        ] {
            let shown = shown(text);
            assert!(shown.starts_with("error: ") && shown.contains(expected), "{text}: {shown}");
        }
        let deep = format!("register(init={}", "[".repeat(100_000));
        assert!(shown(&deep).contains("less deeply nested"));
    }

    #[test]
    fn what_is_shown_of_a_choice_is_read_as_the_same_choice() {
        let values = [
            "0",
            "-3",
            "2.5",
            "1/3",
            "\"a\\\"b\"",
            "nil",
            "true",
            ":x",
            "[]",
            "[1, [2]]",
            "{1: {\"y\": 1}}",
            "{:x {\"y\" [nil :z]}}",
        ];
        for value in values {
            let choice = SpecChoice::parse(&format!("register(init={value})")).unwrap();
            assert_eq!(SpecChoice::parse(&choice.to_string()).unwrap(), choice, "{value}");
        }
    }
}
