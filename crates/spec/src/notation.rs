//! How a specification and its parameters are written: `queue`, `cas-register(init=0)`,
//! `priority-queue(max)`, `multi-register {:x 0 :y 0}`, `cas-register, init 0`.
//!
//! Values are written as in JSON or EDN: `0`, `"a"`, `nil`, `true`, `[1, 2]`, `{x: 0, y: 0}`;
//! a bare word is a name.

use crate::registry::SpecError;
use seriatim_history::Value;
use std::fmt;

/// Something given to a specification: a parameter with its value, a flag, or a value alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Given {
    pub name: Option<String>,
    pub value: Option<Value>,
}

impl fmt::Display for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.name, &self.value) {
            (Some(name), _) => f.write_str(name),
            (None, Some(value)) => write!(f, "{value}"),
            (None, None) => Ok(()),
        }
    }
}

/// The name and what is given to it.
pub(crate) fn parse(text: &str) -> Result<(String, Vec<Given>), SpecError> {
    let mut reader = Reader { rest: text.trim() };
    let name = reader.word().ok_or_else(|| reader.fail("a name"))?;
    reader.skip_blanks();
    let mut given = Vec::new();
    let closing = reader.eat('(');
    if !closing {
        reader.eat(',');
    }
    loop {
        reader.skip_separators();
        if reader.rest.is_empty() || reader.rest.starts_with(')') {
            break;
        }
        given.push(reader.given()?);
    }
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
    rest: &'t str,
}

const DEEPEST: u32 = 32;

impl Reader<'_> {
    fn fail(&self, expected: &'static str) -> SpecError {
        let found = match self.rest {
            "" => "the end".to_owned(),
            rest => format!("`{rest}`"),
        };
        SpecError::Syntax { expected, found }
    }

    fn skip_blanks(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn skip_separators(&mut self) {
        self.rest = self.rest.trim_start_matches(|c: char| c == ',' || c.is_whitespace());
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

    fn word(&mut self) -> Option<String> {
        let inside = |c: char| c.is_alphanumeric() || "-_.+*/?!".contains(c);
        let end = self.rest.find(|c| !inside(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        (!word.is_empty()).then(|| word.to_owned())
    }

    /// `name=value`, `name: value`, `name value`, `flag`, or a value.
    fn given(&mut self) -> Result<Given, SpecError> {
        let starts_word = |c: char| c.is_alphabetic() || c == '_';
        if !self.rest.starts_with(starts_word) {
            let value = Some(self.value(0)?);
            return Ok(Given { name: None, value });
        }
        let name = self.word();
        self.skip_blanks();
        let assigned = self.eat('=') || self.eat(':');
        self.skip_blanks();
        let follows = !self.rest.is_empty() && !self.rest.starts_with([',', ')']);
        let value = match assigned || follows {
            true => Some(self.value(0)?),
            false => None,
        };
        Ok(Given { name, value })
    }

    fn value(&mut self, depth: u32) -> Result<Value, SpecError> {
        if depth > DEEPEST {
            return Err(self.fail("a value that is less deeply nested"));
        }
        match self.rest.chars().next() {
            Some('"') => self.text(),
            Some('[') => {
                self.eat('[');
                Ok(Value::list(self.until(']', depth)?))
            }
            Some('{') => self.map(depth),
            Some(':') => {
                self.eat(':');
                let name = self.word().ok_or_else(|| self.fail("a name"))?;
                Ok(Value::Name(name.into()))
            }
            _ => {
                let word = self.word().ok_or_else(|| self.fail("a value"))?;
                Ok(atom(&word))
            }
        }
    }

    fn until(&mut self, end: char, depth: u32) -> Result<Vec<Value>, SpecError> {
        let mut items = Vec::new();
        loop {
            self.skip_separators();
            if self.eat(end) {
                return Ok(items);
            }
            items.push(self.value(depth + 1)?);
        }
    }

    fn map(&mut self, depth: u32) -> Result<Value, SpecError> {
        self.eat('{');
        let mut entries = Vec::new();
        loop {
            self.skip_separators();
            if self.eat('}') {
                return Ok(Value::map(entries));
            }
            let key = self.value(depth + 1)?;
            self.skip_blanks();
            // `x: 0` or `:x 0`; `x :y` is a name as value.
            if self.rest.starts_with(": ") || self.rest.starts_with('=') {
                self.rest = &self.rest[1..];
            }
            self.skip_blanks();
            let value = self.value(depth + 1)?;
            if entries.iter().any(|(known, _)| *known == key) {
                return Err(self.fail("each key once"));
            }
            entries.push((key, value));
        }
    }

    fn text(&mut self) -> Result<Value, SpecError> {
        self.eat('"');
        let mut text = String::new();
        let mut chars = self.rest.char_indices();
        while let Some((place, c)) = chars.next() {
            match c {
                '"' => {
                    self.rest = &self.rest[place + 1..];
                    return Ok(Value::text(&text));
                }
                '\\' => match chars.next() {
                    Some((_, 'n')) => text.push('\n'),
                    Some((_, 't')) => text.push('\t'),
                    Some((_, other)) => text.push(other),
                    None => break,
                },
                other => text.push(other),
            }
        }
        Err(self.fail("a text that ends with `\"`"))
    }
}

fn atom(word: &str) -> Value {
    match word {
        "nil" | "null" | "none" => Value::Nil,
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        _ => match word.parse() {
            Ok(number) => Value::Int(number),
            Err(_) => Value::Name(word.into()),
        },
    }
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
        let registers = "multi-register(init={x: 0, y: 0})";
        for text in ["multi-register {:x 0 :y 0}", "multi-register(init={x: 0, y: 0})"] {
            assert_eq!(shown(text), registers, "{text}");
        }
        assert_eq!(shown("kv {\"a\" \"b\"}"), "kv(init={\"a\": \"b\"})");
        assert_eq!(
            shown("map(default=\"\", init={x: 0, :y 1})"),
            "map(default=\"\", init={x: 0, y: 1})"
        );
    }

    #[test]
    fn what_is_wrong_with_a_choice_is_said() {
        for (text, expected) in [
            ("", "expected a name, found the end"),
            ("qeue", "did you mean `queue`?"),
            ("zebra", "known: register"),
            ("queue(", "expected `)`, found the end"),
            ("queue(init=3)", "init of queue takes a list such as [1, 2], found 3"),
            ("queue(max)", "queue has no parameter `max`; expected one of: init"),
            ("register(init=1, init=2)", "init of register is given twice"),
            ("register(init=\"a)", "expected a text that ends with"),
            ("register(init=1) x", "expected the end"),
            ("register(init=[1", "expected a value, found the end"),
            ("kv(init={1: 2, 1: 3})", "expected each key once"),
        ] {
            let shown = shown(text);
            assert!(shown.starts_with("error: ") && shown.contains(expected), "{text}: {shown}");
        }
        let deep = format!("register(init={}", "[".repeat(100_000));
        assert!(shown(&deep).contains("less deeply nested"));
    }
}
