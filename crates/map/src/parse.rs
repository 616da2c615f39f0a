//! From the text of an expression to the expression.

use crate::expression::{Comparison, Expression, Function, Sign};
use seriatim_history::{Value, json_value};

/// Words that name no field.
pub(crate) const WORDS: [&str; 12] =
    ["if", "then", "else", "and", "or", "not", "in", "for", "true", "false", "nil", "null"];

/// How deep expressions may nest: what is deeper was not written by a person.
const DEEPEST: usize = 64;

/// How long an expression may be; so no chain of operators is too deep for the stack.
const LONGEST: usize = 4096;

/// The expression of a text; what is wrong with it, otherwise.
pub(crate) fn parse(text: &str) -> Result<Expression, String> {
    if text.len() > LONGEST {
        return Err(format!("expected an expression of at most {LONGEST} bytes"));
    }
    let mut parser = Parser { text, at: 0, depth: 0 };
    let expression = parser.expression()?;
    match parser.peek() {
        None => Ok(expression),
        Some(_) => Err(parser.expected("an operator or the end")),
    }
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
}

impl<'t> Parser<'t> {
    /// The next character that is not a blank.
    fn peek(&mut self) -> Option<char> {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        self.text[self.at..].chars().next()
    }

    fn expected(&mut self, expected: &str) -> String {
        self.peek();
        match &self.text[self.at..] {
            "" => format!("expected {expected}, found the end of `{}`", self.text),
            rest => format!("expected {expected}, found `{rest}`"),
        }
    }

    /// Takes a sign if it comes next.
    fn takes(&mut self, sign: &str) -> bool {
        self.peek();
        let found = self.text[self.at..].starts_with(sign);
        self.at += if found { sign.len() } else { 0 };
        found
    }

    fn take(&mut self, sign: &str) -> Result<(), String> {
        if self.takes(sign) { Ok(()) } else { Err(self.expected(&format!("`{sign}`"))) }
    }

    /// The word that comes next, without taking it.
    fn word(&mut self) -> &'t str {
        self.peek();
        let rest = &self.text[self.at..];
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        let end = rest.find(|c: char| !is_part(c)).unwrap_or(rest.len());
        match rest.starts_with(|c: char| c.is_ascii_digit()) {
            true => "",
            false => &rest[..end],
        }
    }

    fn takes_word(&mut self, word: &str) -> bool {
        let found = self.word() == word;
        self.at += if found { word.len() } else { 0 };
        found
    }

    /// A name of a field or variable.
    fn name(&mut self, what: &str) -> Result<String, String> {
        let word = self.word();
        if word.is_empty() {
            return Err(self.expected(what));
        }
        self.at += word.len();
        Ok(word.to_owned())
    }

    fn expression(&mut self) -> Result<Expression, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(format!("expected an expression that nests at most {DEEPEST} deep"));
        }
        let expression = match self.takes_word("if") {
            true => {
                let condition = self.expression()?;
                let then = self.after("then")?;
                let otherwise = self.after("else")?;
                Expression::If(Box::new(condition), Box::new(then), Box::new(otherwise))
            }
            false => self.disjunction()?,
        };
        self.depth -= 1;
        Ok(expression)
    }

    fn after(&mut self, word: &str) -> Result<Expression, String> {
        match self.takes_word(word) {
            true => self.expression(),
            false => Err(self.expected(&format!("`{word}`"))),
        }
    }

    fn disjunction(&mut self) -> Result<Expression, String> {
        let mut left = self.conjunction()?;
        while self.takes_word("or") {
            left = Expression::Or(Box::new(left), Box::new(self.conjunction()?));
        }
        Ok(left)
    }

    fn conjunction(&mut self) -> Result<Expression, String> {
        let mut left = self.negation()?;
        while self.takes_word("and") {
            left = Expression::And(Box::new(left), Box::new(self.negation()?));
        }
        Ok(left)
    }

    fn negation(&mut self) -> Result<Expression, String> {
        let mut negated = false;
        while self.takes_word("not") {
            negated = !negated;
        }
        let inner = self.comparison()?;
        Ok(if negated { Expression::Not(Box::new(inner)) } else { inner })
    }

    fn comparison(&mut self) -> Result<Expression, String> {
        let left = self.alternative()?;
        let signs = [
            ("==", Comparison::Equal),
            ("!=", Comparison::Different),
            ("<=", Comparison::LessOrEqual),
            (">=", Comparison::GreaterOrEqual),
            ("<", Comparison::Less),
            (">", Comparison::Greater),
        ];
        let sign = signs.into_iter().find(|(sign, _)| self.takes(sign)).map(|(_, sign)| sign);
        let sign = match sign {
            None if self.takes_word("in") => Comparison::In,
            None => return Ok(left),
            Some(sign) => sign,
        };
        Ok(Expression::Compare(sign, Box::new(left), Box::new(self.alternative()?)))
    }

    fn alternative(&mut self) -> Result<Expression, String> {
        let left = self.sum()?;
        match self.takes("??") {
            true => Ok(Expression::Else(Box::new(left), Box::new(self.alternative()?))),
            false => Ok(left),
        }
    }

    fn sum(&mut self) -> Result<Expression, String> {
        let mut left = self.postfix()?;
        loop {
            let sign = if self.takes("+") {
                Sign::Plus
            } else if self.takes("-") {
                Sign::Minus
            } else {
                return Ok(left);
            };
            left = Expression::Sum(sign, Box::new(left), Box::new(self.postfix()?));
        }
    }

    fn postfix(&mut self) -> Result<Expression, String> {
        self.peek();
        let begin = self.at;
        let mut inner = self.primary()?;
        loop {
            let is_question = self.peek() == Some('?') && !self.text[self.at..].starts_with("??");
            if is_question {
                self.at += 1;
                inner = Expression::Optional(Box::new(inner));
            } else if self.takes(".") {
                let name = self.name("a field's name after `.`")?;
                let path = self.text[begin..self.at].to_owned();
                inner = Expression::Field { inner: Box::new(inner), name, path };
            } else if self.takes("[") {
                let index = Box::new(self.expression()?);
                self.take("]")?;
                let path = self.text[begin..self.at].to_owned();
                inner = Expression::Index { inner: Box::new(inner), index, path };
            } else {
                return Ok(inner);
            }
        }
    }

    fn primary(&mut self) -> Result<Expression, String> {
        match self.peek() {
            Some('"') => self.text_literal(),
            Some('$') => {
                self.at += 1;
                Ok(Expression::Record)
            }
            Some('(') => {
                self.at += 1;
                let inner = self.expression()?;
                self.take(")")?;
                Ok(inner)
            }
            Some('[') => {
                self.at += 1;
                self.list()
            }
            Some('-' | '0'..='9') => self.number(),
            _ => self.named(),
        }
    }

    fn text_literal(&mut self) -> Result<Expression, String> {
        let rest = &self.text[self.at..];
        let mut escaped = false;
        let end = rest.char_indices().skip(1).find(|&(_, c)| {
            let ends = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        });
        let Some((end, _)) = end else {
            return Err(format!("expected `\"` at the end of the text in `{}`", self.text));
        };
        let literal = &rest[..=end];
        let value = json_value(literal)
            .map_err(|_| format!("expected a text as JSON writes it, found `{literal}`"))?;
        self.at += literal.len();
        Ok(Expression::Literal(value))
    }

    fn number(&mut self) -> Result<Expression, String> {
        let rest = &self.text[self.at..];
        let is_part = |c: char| c.is_ascii_digit() || c == '.';
        let end = rest.char_indices().skip(1).find(|&(_, c)| !is_part(c));
        let literal = &rest[..end.map_or(rest.len(), |(end, _)| end)];
        match json_value(literal) {
            Ok(value @ (Value::Int(_) | Value::Number(_))) => {
                self.at += literal.len();
                Ok(Expression::Literal(value))
            }
            _ => Err(self.expected("a number")),
        }
    }

    /// The rest of a list behind its bracket.
    fn list(&mut self) -> Result<Expression, String> {
        if self.takes("]") {
            return Ok(Expression::List(Vec::new()));
        }
        let first = self.expression()?;
        if self.takes_word("for") {
            let name = self.name("a name after `for`")?;
            if !self.takes_word("in") {
                return Err(self.expected("`in`"));
            }
            let list = Box::new(self.expression()?);
            self.take("]")?;
            return Ok(Expression::Each { item: Box::new(first), name, list });
        }
        let mut items = vec![first];
        while self.takes(",") {
            items.push(self.expression()?);
        }
        self.take("]")?;
        Ok(Expression::List(items))
    }

    /// A field, a variable, a function or one of the constants.
    fn named(&mut self) -> Result<Expression, String> {
        let what = "a field, a text in quotes, a number or `(`";
        let word = self.word();
        match word {
            "true" | "false" | "nil" | "null" => {
                self.at += word.len();
                let value = match word {
                    "true" => Value::Bool(true),
                    "false" => Value::Bool(false),
                    _ => Value::Nil,
                };
                return Ok(Expression::Literal(value));
            }
            word if WORDS.contains(&word) => return Err(self.expected(what)),
            _ => {}
        }
        let name = self.name(what)?;
        if !self.takes("(") {
            return Ok(Expression::Name(name));
        }
        let known = Function::ALL.iter().find(|(known, ..)| *known == name);
        let Some(&(_, function, least, most)) = known else {
            let names = Function::ALL.map(|(name, ..)| name).join(", ");
            return Err(format!("there is no function `{name}`; expected one of: {names}"));
        };
        let mut arguments = Vec::new();
        while !self.takes(")") {
            if !arguments.is_empty() {
                self.take(",")?;
            }
            arguments.push(self.expression()?);
        }
        match (least..=most).contains(&arguments.len()) {
            true => Ok(Expression::Call(function, arguments)),
            false => Err(format!("{name} takes {least} arguments, found {}", arguments.len())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seriatim_testing::Random;

    #[test]
    fn what_is_no_expression_says_where_it_stops_being_one() {
        for (text, said) in [
            ("", "found the end"),
            ("a.", "a field's name after `.`"),
            ("a ==", "a field, a text"),
            ("a b", "an operator or the end"),
            ("\"x", "the end of the text"),
            ("sin(x)", "no function `sin`"),
            ("split(x)", "takes 2"),
            ("if a then b", "`else`"),
            ("[a for b]", "`in`"),
            ("in", "a field, a text"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
        assert!(parse(&"(".repeat(10_000)).is_err());
        assert!(parse(&"not ".repeat(10_000)).is_err());
    }

    #[test]
    fn no_text_makes_the_parser_panic() {
        let pieces = [
            "a", ".", "[", "]", "(", ")", "\"", "x\"", "1", "-", "?", "??", "==", " ", "for", "in",
            "é", "$", ",", "\\", "if ", "not ",
        ];
        let mut random = Random(17);
        for _ in 0..20_000 {
            let text: String = (0..random.below(12)).map(|_| *random.pick(&pieces)).collect();
            let _ = parse(&text);
        }
    }
}
