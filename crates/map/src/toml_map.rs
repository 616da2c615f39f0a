//! A map, and how it is read from its file.
//!
//! Every field is known or an error; every expression is parsed when the map is read, so that a
//! mistake in a rule is told even if no record comes to it.

use crate::error::MapError;
use crate::expression::Expression;
use crate::moment;
use crate::parse::{WORDS, parse};
use crate::rule::{Condition, Kind, Part, Parts, Rule};
use seriatim_history::{Echo, Nil, Notation, Since, Unit};
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// What the records of a log mean.
#[derive(Clone, Debug)]
pub struct Map {
    pub(crate) source: String,
    pub(crate) about: String,
    pub(crate) notation: Option<Notation>,
    pub(crate) columns: Vec<String>,
    pub(crate) records: Option<Expression>,
    pub(crate) spec: Option<String>,
    pub(crate) times: moment::Notation,
    pub(crate) order: Order,
    pub(crate) busy: Busy,
    pub(crate) keys: Keys,
    pub(crate) nil: Nil,
    pub(crate) echo: Echo,
    pub(crate) named: Vec<(String, Expression)>,
    pub(crate) rules: Vec<Rule>,
}

/// What orders the events of a log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Order {
    /// Their order in the file.
    Records,
    /// Their times.
    Time,
}

/// What it means that a process calls while its call is open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Busy {
    /// The log is wrong.
    Error,
    /// Nobody knows what became of the open call.
    TimedOut,
}

/// What arguments and results tell of keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Keys {
    /// Nothing by themselves.
    Plain,
    /// Each is `[key, value]`, and each key is an object of its own.
    Independent,
}

impl Map {
    /// The map of a text; `source` is its name in messages.
    pub fn parse(source: &str, text: &str) -> Result<Map, MapError> {
        let reader = TomlReader { source, text };
        let table = DeTable::parse(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            reader.error(at, error.message().to_owned())
        })?;
        reader.map(table.get_ref())
    }

    /// The same map for a log of Jepsen's independent keys: every argument and every result is
    /// `[key, value]`, and each key is an object of its own. In a map's file: `keys =
    /// "independent"`.
    #[must_use]
    pub fn independent(self) -> Map {
        Map { keys: Keys::Independent, ..self }
    }

    /// Whether each key is an object of its own.
    pub fn is_independent(&self) -> bool {
        self.keys == Keys::Independent
    }

    /// The specification that it names.
    pub fn spec(&self) -> Option<&str> {
        self.spec.as_deref()
    }

    /// What it is for, in a line.
    pub fn about(&self) -> &str {
        &self.about
    }
}

/// The fields of a map that are no parts of records.
const FIELDS: [&str; 14] = [
    "about", "format", "columns", "records", "spec", "unit", "since", "order", "busy", "keys",
    "nil", "echo", "let", "rule",
];

struct TomlReader<'t> {
    source: &'t str,
    text: &'t str,
}

type Entry<'t, 'i> = (&'t str, Range<usize>, &'t Spanned<DeValue<'i>>);

impl TomlReader<'_> {
    fn error(&self, at: usize, message: String) -> MapError {
        let before = self.text.as_bytes().get(..at).unwrap_or_default();
        let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
        MapError { source: self.source.to_owned(), line, message }
    }

    /// The entries of a table in the order of the text.
    fn entries<'t, 'i>(&self, table: &'t DeTable<'i>) -> Vec<Entry<'t, 'i>> {
        let mut entries: Vec<Entry<'t, 'i>> =
            table.iter().map(|(key, value)| (&**key.get_ref(), key.span(), value)).collect();
        entries.sort_by_key(|(_, span, _)| span.start);
        entries
    }

    fn map(&self, table: &DeTable<'_>) -> Result<Map, MapError> {
        let mut map = Map {
            source: self.source.to_owned(),
            about: String::new(),
            notation: None,
            columns: Vec::new(),
            records: None,
            spec: None,
            times: moment::Notation::Ticks,
            order: Order::Records,
            busy: Busy::Error,
            keys: Keys::Plain,
            nil: Nil::Value,
            echo: Echo::Result,
            named: Vec::new(),
            rules: Vec::new(),
        };
        let mut defaults = Parts::default();
        let (mut unit, mut since) = (None, None);
        let mut rules: Vec<&Spanned<DeValue<'_>>> = Vec::new();
        for (name, span, value) in self.entries(table) {
            match name {
                "about" => map.about = self.text_of(name, value)?.to_owned(),
                "format" => {
                    let formats = [
                        ("json", Notation::Json),
                        ("edn", Notation::Edn),
                        ("csv", Notation::Table(b',')),
                        ("tsv", Notation::Table(b'\t')),
                    ];
                    map.notation = Some(self.one_of(name, value, &formats)?);
                }
                "columns" => map.columns = self.texts(name, value)?,
                "records" => map.records = Some(self.expression(name, value)?.0),
                "spec" => map.spec = Some(self.text_of(name, value)?.to_owned()),
                "unit" => {
                    let mut units: Vec<(&str, Option<Unit>)> =
                        Unit::NAMED.iter().map(|&(unit, name)| (name, Some(unit))).collect();
                    units.push(("iso8601", None));
                    unit = Some(self.one_of(name, value, &units)?);
                }
                "since" => {
                    let sinces = [("start", Since::Start), ("unix", Since::Unix)];
                    since = Some((span.start, self.one_of(name, value, &sinces)?));
                }
                "order" => {
                    let orders = [("records", Order::Records), ("time", Order::Time)];
                    map.order = self.one_of(name, value, &orders)?;
                }
                "busy" => {
                    let meanings = [("error", Busy::Error), ("timed-out", Busy::TimedOut)];
                    map.busy = self.one_of(name, value, &meanings)?;
                }
                "keys" => {
                    let meanings = [("plain", Keys::Plain), ("independent", Keys::Independent)];
                    map.keys = self.one_of(name, value, &meanings)?;
                }
                "nil" => {
                    map.nil = self.one_of(
                        name,
                        value,
                        &[("value", Nil::Value), ("unknown", Nil::Unknown)],
                    )?;
                }
                "echo" => {
                    let meanings = [("result", Echo::Result), ("argument", Echo::Argument)];
                    map.echo = self.one_of(name, value, &meanings)?;
                }
                "let" => map.named = self.named(value)?,
                "rule" => match value.get_ref() {
                    DeValue::Array(items) => rules = items.iter().collect(),
                    _ => return Err(self.error(span.start, "expected rules as [[rule]]".into())),
                },
                part => match Part::named(part) {
                    Some(part) => {
                        defaults[part as usize] = Some(self.expression(name, value)?.0);
                    }
                    None => return Err(self.unknown_field(name, span.start, &FIELDS)),
                },
            }
        }
        map.times = match (unit, since) {
            (None, None) => moment::Notation::Ticks,
            (None, Some((at, _))) => {
                return Err(self.error(at, "expected a `unit` beside `since`".into()));
            }
            (Some(Some(unit)), since) => {
                moment::Notation::Numbers(unit, since.map_or(Since::Start, |(_, since)| since))
            }
            (Some(None), None) => moment::Notation::Iso8601,
            (Some(None), Some((at, _))) => {
                return Err(self.error(at, "expected no `since`: such times say since when".into()));
            }
        };
        for rule in rules {
            map.rules.push(self.rule(rule, &defaults)?);
        }
        self.check(&map)?;
        Ok(map)
    }

    fn rule(&self, value: &Spanned<DeValue<'_>>, defaults: &Parts) -> Result<Rule, MapError> {
        let begin = value.span().start;
        let DeValue::Table(table) = value.get_ref() else {
            return Err(self.error(begin, "expected a rule as a table, [[rule]]".into()));
        };
        let entries = self.entries(table);
        let Some((_, _, is)) = entries.iter().find(|(name, ..)| *name == "is") else {
            let names = Kind::ALL.map(|(name, _)| name).join(", ");
            return Err(self.error(begin, format!("expected `is` in the rule, one of: {names}")));
        };
        let kind = self.one_of("is", is, &Kind::ALL)?;
        let line = self.error(begin, String::new()).line;
        let mut rule = Rule { line, kind, when: None, parts: Parts::default() };
        for (place, &(_, part)) in Part::ALL.iter().enumerate() {
            if kind.may_have(part) {
                rule.parts[place].clone_from(&defaults[place]);
            }
        }
        for (name, span, value) in entries {
            match (name, Part::named(name)) {
                ("is", _) => {}
                ("when", _) => {
                    let (expression, text) = self.expression(name, value)?;
                    rule.when = Some(Condition { expression, text });
                }
                (_, Some(part)) if kind.may_have(part) => {
                    rule.parts[part as usize] = Some(self.expression(name, value)?.0);
                }
                (_, Some(_)) => {
                    let message =
                        format!("expected no `{name}` in a rule that is `{}`", kind.name());
                    return Err(self.error(span.start, message));
                }
                (_, None) => return Err(self.unknown_field(name, span.start, &["is", "when"])),
            }
        }
        for &part in kind.needs() {
            if rule.parts[part as usize].is_none() {
                let message =
                    format!("expected `{}` in a rule that is `{}`", part.name(), kind.name());
                return Err(self.error(begin, message));
            }
        }
        let is_event = matches!(kind, Kind::Call | Kind::End(_));
        let has = |part: Part| rule.parts[part as usize].is_some();
        if is_event && !has(Part::Process) && !has(Part::Id) {
            let message = format!("expected `process` or `id` in a rule that is `{}`", kind.name());
            return Err(self.error(begin, message));
        }
        Ok(rule)
    }

    /// What concerns several rules.
    fn check(&self, map: &Map) -> Result<(), MapError> {
        let at = |line: usize, message: &str| MapError {
            source: self.source.to_owned(),
            line,
            message: message.to_owned(),
        };
        if map.rules.is_empty() {
            return Err(at(1, "expected at least one [[rule]]"));
        }
        let mut otherwise = map.rules.iter().filter(|rule| rule.when.is_none());
        if let (Some(first), Some(second)) = (otherwise.next(), otherwise.next()) {
            let message = format!(
                "the rules of lines {} and {} are both without `when`: no record is for one of them alone",
                first.line, second.line
            );
            return Err(at(second.line, &message));
        }
        for (place, rule) in map.rules.iter().enumerate() {
            let same = |other: &&Rule| match (&rule.when, &other.when) {
                (Some(one), Some(other)) => one.expression == other.expression,
                _ => false,
            };
            if let Some(first) = map.rules[..place].iter().find(same) {
                let message =
                    format!("ambiguous: the rule of line {} has the same `when`", first.line);
                return Err(at(rule.line, &message));
            }
        }
        let is_whole = |rule: &&Rule| matches!(rule.kind, Kind::Operation(_));
        let is_event = |rule: &&Rule| matches!(rule.kind, Kind::Call | Kind::End(_));
        let has_events = map.rules.iter().any(|rule| is_event(&rule));
        match map.rules.iter().find(is_whole) {
            Some(_) if map.order == Order::Time => {}
            Some(rule) if has_events => {
                return Err(at(
                    rule.line,
                    "whole operations beside calls and returns need `order = \"time\"`",
                ));
            }
            _ => {}
        }
        if map.order == Order::Time {
            let untimed = |rule: &&Rule| {
                let is_timed = rule.parts[Part::Time as usize].is_some();
                matches!(
                    rule.kind,
                    Kind::Call
                        | Kind::End(
                            seriatim_history::Outcome::Ok | seriatim_history::Outcome::Failed
                        )
                ) && !is_timed
            };
            if let Some(rule) = map.rules.iter().find(untimed) {
                return Err(at(rule.line, "expected `time`, since `order = \"time\"`"));
            }
        }
        Ok(())
    }

    fn unknown_field(&self, name: &str, at: usize, others: &[&str]) -> MapError {
        let parts = Part::ALL.iter().map(|(name, _)| *name);
        let names: Vec<&str> = others.iter().copied().chain(parts).collect();
        self.error(at, format!("unknown field `{name}`; expected one of: {}", names.join(", ")))
    }

    fn text_of<'v>(
        &self,
        name: &str,
        value: &'v Spanned<DeValue<'_>>,
    ) -> Result<&'v str, MapError> {
        let wrong = || self.error(value.span().start, format!("expected a text as `{name}`"));
        value.get_ref().as_str().ok_or_else(wrong)
    }

    fn texts(&self, name: &str, value: &Spanned<DeValue<'_>>) -> Result<Vec<String>, MapError> {
        let wrong =
            || self.error(value.span().start, format!("expected a list of texts as `{name}`"));
        let DeValue::Array(items) = value.get_ref() else { return Err(wrong()) };
        items
            .iter()
            .map(|item| item.get_ref().as_str().map(str::to_owned).ok_or_else(wrong))
            .collect()
    }

    fn one_of<T: Copy>(
        &self,
        name: &str,
        value: &Spanned<DeValue<'_>>,
        known: &[(&str, T)],
    ) -> Result<T, MapError> {
        let text = self.text_of(name, value)?;
        let found = known.iter().find(|(known, _)| *known == text);
        found.map(|&(_, meaning)| meaning).ok_or_else(|| {
            let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
            let message =
                format!("expected one of {} as `{name}`, found `{text}`", names.join(", "));
            self.error(value.span().start, message)
        })
    }

    fn expression(
        &self,
        name: &str,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<(Expression, String), MapError> {
        let text = self.text_of(name, value)?;
        let expression = parse(text)
            .map_err(|message| self.error(value.span().start, format!("{name}: {message}")))?;
        Ok((expression, text.to_owned()))
    }

    fn named(&self, value: &Spanned<DeValue<'_>>) -> Result<Vec<(String, Expression)>, MapError> {
        let DeValue::Table(table) = value.get_ref() else {
            return Err(self.error(value.span().start, "expected names as [let]".into()));
        };
        let entries = self.entries(table);
        entries
            .into_iter()
            .map(|(name, span, value)| match WORDS.contains(&name) {
                true => Err(self.error(
                    span.start,
                    format!("expected another name than `{name}`, a word of expressions"),
                )),
                false => Ok((name.to_owned(), self.expression(name, value)?.0)),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistake_in_a_map_is_told_with_its_line() {
        let rule = "[[rule]]\nis = 'operation'\nop = '\"x\"'\ncall = 'c'\nreturn = 'r'\n";
        for (text, line, said) in [
            ("", 1, "at least one [[rule]]"),
            ("fromat = 'json'", 1, "unknown field `fromat`"),
            ("format = 'xml'", 1, "json, edn, csv, tsv"),
            ("x = ", 1, ""),
            ("since = 'unix'", 1, "a `unit` beside"),
            ("[let]\nthen = 'x'", 2, "another name than `then`"),
            ("[[rule]]\nop = 'x'", 1, "expected `is`"),
            ("[[rule]]\nis = 'cal'", 2, "call, return"),
            ("[[rule]]\nis = 'call'\nprocess = 'p'", 1, "expected `op`"),
            ("[[rule]]\nis = 'call'\nop = 'f'", 1, "`process` or `id`"),
            ("[[rule]]\nis = 'skip'\nop = 'f'", 3, "expected no `op`"),
            ("[[rule]]\nis = 'skip'\nwhen = 'a ='", 3, "when: expected"),
            (
                "[[rule]]\nis = 'skip'\nwhen = 'a'\n[[rule]]\nis = 'skip'\nwhen = ' a'",
                4,
                "ambiguous",
            ),
            ("[[rule]]\nis = 'skip'\n[[rule]]\nis = 'skip'", 3, "both without `when`"),
            (
                "order = 'time'\nprocess = 'p'\n[[rule]]\nis = 'call'\nop = 'f'",
                3,
                "expected `time`",
            ),
        ] {
            let error = Map::parse("m.toml", text).unwrap_err();
            assert_eq!(error.line, line, "{text}: {error}");
            assert!(error.message.contains(said), "{text}: {error}");
        }
        let mixed = format!("{rule}when = 'a'\n[[rule]]\nis = 'call'\nprocess = 'p'\nop = 'f'\n");
        assert!(Map::parse("m", &mixed).unwrap_err().message.contains("order = \"time\""));
        assert!(Map::parse("m", rule).is_ok());
    }
}
