//! What an expression is worth for a record.
//!
//! A path that leads nowhere is *missing*. Comparisons with `==`, `!=` and `in` take that for a
//! value that is like no other, since they ask what a record looks like; everything else wants to
//! be told (`x?`, `x ?? y`, `has(x)`) that something may be missing, or it is an error that names
//! the path.

use crate::expression::{Comparison, Expression, Function, Sign};
use seriatim_history::{Value, json_value};
use std::cmp::Ordering;

/// Why an expression has no value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Lack {
    /// The record has nothing there.
    Missing(String),
    /// What is there cannot be used so.
    Wrong(String),
}

/// `None`: missing, and allowed to be.
pub(crate) type Outcome = Result<Option<Value>, Lack>;

/// What names mean.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'s> {
    pub record: &'s Value,
    /// The expressions that the map gives names to, each of which may use those before it.
    pub named: &'s [(String, Expression)],
    /// The variable of a list that is being built, and what is around it.
    pub local: Option<&'s Local<'s>>,
}

pub(crate) struct Local<'s> {
    name: &'s str,
    value: &'s Value,
    outer: Option<&'s Local<'s>>,
}

impl Scope<'_> {
    /// The value of an expression.
    pub fn value(&self, expression: &Expression) -> Outcome {
        match expression {
            Expression::Literal(value) => Ok(Some(value.clone())),
            Expression::Record => Ok(Some(self.record.clone())),
            Expression::Name(name) => self.name(name),
            Expression::Field { inner, name, path } => {
                let Some(inner) = self.value(inner)? else { return Ok(None) };
                field(&inner, name, path).map(Some)
            }
            Expression::Index { inner, index, path } => {
                let Some(inner) = self.value(inner)? else { return Ok(None) };
                item(&inner, &self.present(index)?, path).map(Some)
            }
            Expression::Optional(inner) => match self.value(inner) {
                Err(Lack::Missing(_)) => Ok(None),
                other => other,
            },
            Expression::Else(left, right) => match self.value(left) {
                Ok(None) | Err(Lack::Missing(_)) => self.value(right),
                other => other,
            },
            Expression::Not(inner) => Ok(Some(Value::Bool(!self.truth(inner)?))),
            Expression::And(left, right) => {
                Ok(Some(Value::Bool(self.truth(left)? && self.truth(right)?)))
            }
            Expression::Or(left, right) => {
                Ok(Some(Value::Bool(self.truth(left)? || self.truth(right)?)))
            }
            Expression::Compare(sign, left, right) => {
                self.compare(*sign, left, right).map(|truth| Some(Value::Bool(truth)))
            }
            Expression::Sum(sign, left, right) => self.sum(*sign, left, right).map(Some),
            Expression::If(condition, then, otherwise) => match self.truth(condition)? {
                true => self.value(then),
                false => self.value(otherwise),
            },
            Expression::List(items) => {
                let items: Result<Vec<Value>, Lack> =
                    items.iter().map(|item| self.present(item)).collect();
                Ok(Some(Value::list(items?)))
            }
            Expression::Each { item, name, list } => self.each(item, name, list),
            Expression::Call(function, arguments) => self.call(*function, arguments),
        }
    }

    /// A value that must be there.
    pub fn present(&self, expression: &Expression) -> Result<Value, Lack> {
        self.value(expression)?.ok_or_else(|| Lack::Missing("a value that is missing".to_owned()))
    }

    /// A boolean.
    pub fn truth(&self, expression: &Expression) -> Result<bool, Lack> {
        match self.present(expression)? {
            Value::Bool(truth) => Ok(truth),
            other => Err(wrong("true or false", &other)),
        }
    }

    fn name(&self, name: &str) -> Outcome {
        let mut local = self.local;
        while let Some(variable) = local {
            if variable.name == name {
                return Ok(Some(variable.value.clone()));
            }
            local = variable.outer;
        }
        match self.named.iter().position(|(known, _)| known == name) {
            // It sees only what was named before it, so it ends.
            Some(place) => {
                let scope = Scope { named: &self.named[..place], local: None, ..*self };
                scope.value(&self.named[place].1)
            }
            None => field(self.record, name, name).map(Some),
        }
    }

    /// A value that is compared: missing ones are like no other.
    fn compared(&self, expression: &Expression) -> Outcome {
        match self.value(expression) {
            Err(Lack::Missing(_)) => Ok(None),
            other => other,
        }
    }

    /// A comparison within a condition that fails only because of large and small letters: what is
    /// compared, the text that is wanted and the one that is there.
    pub fn near_miss(&self, condition: &Expression) -> Option<(String, String, String)> {
        match condition {
            Expression::And(left, right) | Expression::Or(left, right) => {
                self.near_miss(left).or_else(|| self.near_miss(right))
            }
            Expression::Not(inner) => self.near_miss(inner),
            Expression::Compare(Comparison::Equal | Comparison::In, left, right) => {
                let found = self.compared(left).ok()??;
                let found = found.as_str()?;
                let wanted = self.compared(right).ok()??;
                let wanted = match &wanted {
                    Value::List(items) => items.to_vec(),
                    other => vec![other.clone()],
                };
                let is_near =
                    |wanted: &&str| *wanted != found && wanted.eq_ignore_ascii_case(found);
                let near = wanted.iter().filter_map(Value::as_str).find(is_near)?;
                Some((path_of(left), near.to_owned(), found.to_owned()))
            }
            _ => None,
        }
    }

    fn compare(
        &self,
        sign: Comparison,
        left: &Expression,
        right: &Expression,
    ) -> Result<bool, Lack> {
        let holds = |ordering: Ordering| match sign {
            Comparison::Less => ordering.is_lt(),
            Comparison::LessOrEqual => ordering.is_le(),
            Comparison::Greater => ordering.is_gt(),
            _ => ordering.is_ge(),
        };
        match sign {
            Comparison::Equal | Comparison::Different => {
                let (left, right) = (self.compared(left)?, self.compared(right)?);
                let is_same =
                    matches!((&left, &right), (Some(left), Some(right)) if same(left, right));
                Ok(is_same == (sign == Comparison::Equal))
            }
            Comparison::In => {
                let left = self.compared(left)?;
                let list = self.present(right)?;
                let items = list.as_list().ok_or_else(|| wrong("a list after `in`", &list))?;
                Ok(left.is_some_and(|left| items.iter().any(|item| same(item, &left))))
            }
            _ => {
                let (left, right) = (self.present(left)?, self.present(right)?);
                match (&left, &right) {
                    (Value::Int(left), Value::Int(right)) => Ok(holds(left.cmp(right))),
                    _ => match (left.as_str(), right.as_str()) {
                        (Some(left), Some(right)) => Ok(holds(left.cmp(right))),
                        _ => Err(Lack::Wrong(format!(
                            "two whole numbers or two texts to compare, found {left} and {right}"
                        ))),
                    },
                }
            }
        }
    }

    fn sum(&self, sign: Sign, left: &Expression, right: &Expression) -> Result<Value, Lack> {
        let (left, right) = (self.present(left)?, self.present(right)?);
        let (Value::Int(a), Value::Int(b)) = (&left, &right) else {
            return Err(Lack::Wrong(format!("two whole numbers, found {left} and {right}")));
        };
        let sum = match sign {
            Sign::Plus => a.checked_add(*b),
            Sign::Minus => a.checked_sub(*b),
        };
        sum.map(Value::Int).ok_or_else(|| Lack::Wrong(format!("a sum of 64 bits of {a} and {b}")))
    }

    fn each(&self, item: &Expression, name: &str, list: &Expression) -> Outcome {
        let Some(list) = self.value(list)? else { return Ok(None) };
        let items = match &list {
            // Go writes an empty slice as null.
            Value::Nil => &[],
            Value::List(items) => &items[..],
            other => return Err(wrong("a list after `in`", other)),
        };
        let one = |value: &Value| {
            let local = Local { name, value, outer: self.local };
            Scope { local: Some(&local), ..*self }.present(item)
        };
        let items: Result<Vec<Value>, Lack> = items.iter().map(one).collect();
        Ok(Some(Value::list(items?)))
    }

    fn call(&self, function: Function, arguments: &[Expression]) -> Outcome {
        if function == Function::Has {
            return Ok(Some(Value::Bool(self.compared(&arguments[0])?.is_some())));
        }
        let mut values = Vec::with_capacity(arguments.len());
        for argument in arguments {
            match self.value(argument)? {
                Some(value) => values.push(value),
                None => return Ok(None),
            }
        }
        let texts = || values.iter().map(text_of).collect::<Result<Vec<&str>, Lack>>();
        let value = match function {
            Function::Has => Value::Bool(true),
            Function::Number => number(&values[0])?,
            Function::Text => Value::text(&values.iter().map(shown).collect::<String>()),
            Function::Len => length(&values[0])?,
            Function::Lower => Value::text(&text_of(&values[0])?.to_lowercase()),
            Function::Split => {
                let texts = texts()?;
                if texts[1].is_empty() {
                    return Err(Lack::Wrong("a separator that is not empty".to_owned()));
                }
                Value::list(texts[0].split(texts[1]).map(Value::text))
            }
            Function::Between => return between(&texts()?).map(Some),
            Function::StartsWith => Value::Bool(texts()?[0].starts_with(texts()?[1])),
            Function::EndsWith => Value::Bool(texts()?[0].ends_with(texts()?[1])),
            Function::Contains => match &values[0] {
                Value::List(items) => Value::Bool(items.iter().any(|item| same(item, &values[1]))),
                _ => Value::Bool(texts()?[0].contains(texts()?[1])),
            },
            Function::Variant => variant(&values[0])?,
            Function::Zip => zipped(&values[0], &values[1])?,
            Function::Flat => flat(&values[0])?,
            Function::Json => {
                let text = text_of(&values[0])?;
                json_value(text).map_err(|_| Lack::Wrong(format!("a JSON text, found `{text}`")))?
            }
        };
        Ok(Some(value))
    }
}

/// The items of two lists in pairs.
fn zipped(left: &Value, right: &Value) -> Result<Value, Lack> {
    match (left, right) {
        (Value::List(a), Value::List(b)) if a.len() == b.len() => {
            let pair = |(a, b): (&Value, &Value)| Value::List(vec![a.clone(), b.clone()].into());
            Ok(Value::List(a.iter().zip(b.iter()).map(pair).collect()))
        }
        (Value::List(a), Value::List(b)) => Err(Lack::Wrong(format!(
            "two lists with as many items, found {} and {}",
            a.len(),
            b.len()
        ))),
        (Value::List(_), other) | (other, _) => {
            Err(Lack::Wrong(format!("two lists, found `{other}`")))
        }
    }
}

/// The items of some lists, in one list.
fn flat(lists: &Value) -> Result<Value, Lack> {
    let items = |list: &Value| match list.as_list() {
        Some(items) => Ok(items.to_vec()),
        None => Err(wrong("a list of lists, with an item that is one", list)),
    };
    let lists = lists.as_list().ok_or_else(|| wrong("a list of lists", lists))?;
    let items: Vec<Vec<Value>> = lists.iter().map(items).collect::<Result<_, _>>()?;
    Ok(Value::list(items.concat()))
}

/// How a path is written.
fn path_of(expression: &Expression) -> String {
    match expression {
        Expression::Name(name) => name.clone(),
        Expression::Field { path, .. } | Expression::Index { path, .. } => path.clone(),
        Expression::Optional(inner) => path_of(inner),
        _ => "it".to_owned(),
    }
}

/// Whether two values are the same; a name of EDN is the text of its letters.
fn same(left: &Value, right: &Value) -> bool {
    match (left.as_str(), right.as_str()) {
        (Some(left), Some(right)) => left == right,
        _ => left == right,
    }
}

fn wrong(expected: &str, found: &Value) -> Lack {
    Lack::Wrong(format!("{expected}, found {found}"))
}

fn field(value: &Value, name: &str, path: &str) -> Result<Value, Lack> {
    match value {
        Value::Map(entries) => {
            let found = entries.iter().find(|(key, _)| key.as_str() == Some(name));
            found
                .map(|(_, value)| value.clone())
                .ok_or_else(|| Lack::Missing(format!("the field `{path}`")))
        }
        other => Err(Lack::Missing(format!("the field `{path}`: {other} has no fields"))),
    }
}

fn item(value: &Value, index: &Value, path: &str) -> Result<Value, Lack> {
    let missing = || Lack::Missing(format!("the item `{path}`"));
    match (value, index) {
        (_, Value::Text(name) | Value::Name(name)) => field(value, name, path),
        (Value::List(items), Value::Int(place)) => {
            // From the end, if it is negative.
            let count = items.len() as i64;
            let place = if *place < 0 { place.checked_add(count) } else { Some(*place) };
            let place = place.and_then(|place| usize::try_from(place).ok());
            place.and_then(|place| items.get(place)).cloned().ok_or_else(missing)
        }
        (Value::List(_), other) => Err(wrong("a whole number or a text as index", other)),
        _ => Err(missing()),
    }
}

fn text_of(value: &Value) -> Result<&str, Lack> {
    value.as_str().ok_or_else(|| wrong("a text", value))
}

fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn number(value: &Value) -> Result<Value, Lack> {
    match value {
        Value::Int(_) | Value::Number(_) => Ok(value.clone()),
        other => {
            let text = text_of(other)?.trim();
            match json_value(text) {
                Ok(number @ (Value::Int(_) | Value::Number(_))) => Ok(number),
                _ => Err(wrong("a number", other)),
            }
        }
    }
}

fn length(value: &Value) -> Result<Value, Lack> {
    let length = match value {
        Value::List(items) => items.len(),
        Value::Map(entries) => entries.len(),
        Value::Nil => 0,
        other => text_of(other)?.chars().count(),
    };
    Ok(Value::Int(length as i64))
}

/// What stands in a text behind the first piece and before the second.
fn between(texts: &[&str]) -> Result<Value, Lack> {
    let behind = texts[0].split_once(texts[1]).map(|(_, behind)| behind);
    let found = behind.and_then(|behind| match texts[2] {
        "" => Some(behind),
        end => behind.split_once(end).map(|(found, _)| found),
    });
    found.map(Value::text).ok_or_else(|| {
        let [whole, from, to] = [texts[0], texts[1], texts[2]];
        Lack::Missing(format!("something between `{from}` and `{to}` in `{whole}`"))
    })
}

/// Which case of a sum type a value is, as serde writes them: a text, or a map with one entry.
fn variant(value: &Value) -> Result<Value, Lack> {
    match value {
        Value::Text(_) | Value::Name(_) => Ok(value.clone()),
        Value::Map(entries) if entries.len() == 1 => Ok(entries[0].0.clone()),
        other => Err(wrong("a text or a map with one entry", other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parse;

    fn value(record: &str, expression: &str) -> Result<String, String> {
        let record = json_value(record).unwrap();
        let named = [("double".to_owned(), parse("a + a").unwrap())];
        let scope = Scope { record: &record, named: &named, local: None };
        match scope.value(&parse(expression).unwrap()) {
            Ok(Some(value)) => Ok(value.to_string()),
            Ok(None) => Ok("missing".to_owned()),
            Err(Lack::Missing(text) | Lack::Wrong(text)) => Err(text),
        }
    }

    #[test]
    fn expressions_are_worth_what_the_book_says() {
        let record = r#"{"a": 2, "b": {"c": [1, "x"], "odd name": true}, "t": "put k=7;", "e": {"Ok": 3}, "n": null}"#;
        for (expression, expected) in [
            ("a", "2"),
            ("b.c[1]", "\"x\""),
            ("b.c[-1]", "\"x\""),
            ("$[\"b\"][\"odd name\"]", "true"),
            ("b.d?", "missing"),
            ("b.d?.e.f", "missing"),
            ("b.d ?? 5", "5"),
            ("has(b.d)", "false"),
            ("has(n)", "true"),
            ("n == nil", "true"),
            ("b.d == nil", "false"),
            ("b.d != 1", "true"),
            ("a == 2 and not (a > 3) or false", "true"),
            ("a in [1, 2]", "true"),
            ("b.d in [1]", "false"),
            ("a + 1 - 4", "-1"),
            ("double", "4"),
            ("if a >= 2 then \"big\" else \"small\"", "\"big\""),
            ("[a, [b.c[0]]]", "[2, [1]]"),
            ("[[x, a] for x in b.c]", "[[1, 2], [\"x\", 2]]"),
            ("[x for x in n]", "[]"),
            ("number(between(t, \"k=\", \";\"))", "7"),
            ("text(a, \"-\", t)", "\"2-put k=7;\""),
            ("split(\"a,b\", \",\")", "[\"a\", \"b\"]"),
            ("variant(e)", "\"Ok\""),
            ("variant(t)", "\"put k=7;\""),
            ("json(\"[1]\")[0]", "1"),
            ("len(b.c) + len(n)", "2"),
            ("lower(\"AB\") == \"ab\" and starts_with(t, \"put\") and ends_with(t, \";\")", "true"),
            ("contains(b.c, \"x\") and contains(t, \"=\")", "true"),
        ] {
            assert_eq!(value(record, expression).as_deref(), Ok(expected), "{expression}");
        }
        for (expression, said) in [
            ("b.d", "the field `b.d`"),
            ("a.b.c", "the field `a.b`: 2 has no fields"),
            ("b.c[2]", "the item `b.c[2]`"),
            ("a and true", "true or false, found 2"),
            ("a < t", "two whole numbers or two texts"),
            ("a + t", "two whole numbers"),
            ("number(t)", "a number, found"),
            ("variant(b)", "a map with one entry"),
            ("[b.d?]", "missing"),
            ("9223372036854775807 + 1", "64 bits"),
        ] {
            let error = value(record, expression).unwrap_err();
            assert!(error.contains(said), "{expression}: {error}");
        }
    }
}
