//! Tokens to syntax tree, by recursive descent; expressions by precedence climbing. Stops at the
//! first error. Nesting is bounded, so that no input can exhaust the stack.

mod expressions;
mod items;
mod statements;

use crate::front::ast::{Expr, ExprId, ExprKind, File, Name};
use crate::front::diagnostic::Diagnostic;
use crate::front::lexer::{Token, TokenKind, tokens};
use crate::front::span::Span;

/// Words that cannot be used as names.
const KEYWORDS: [&str; 38] = [
    "object", "struct", "enum", "const", "var", "thread", "method", "fn", "spec", "client",
    "expect", "let", "if", "else", "while", "loop", "repeat", "break", "continue", "return", "new",
    "atomic", "choose", "or", "assume", "assert", "true", "false", "null", "empty", "none", "self",
    "any", "in", "inf", "init", "await", "for",
];

/// How deep expressions and blocks may nest.
const MAX_DEPTH: u32 = 60;

type Parsed<T> = Result<T, Diagnostic>;

/// Parses a whole file.
pub fn parse(source: &str) -> Result<File, Diagnostic> {
    let all = tokens(source);
    let mut parser = Parser { tokens: Vec::new(), at: 0, next_id: 0, depth: 0 };
    let mut breaks = 0;
    for mut token in all {
        breaks += token.breaks;
        if token.kind != TokenKind::Comment {
            token.breaks = breaks;
            breaks = 0;
            parser.tokens.push(token);
        }
    }
    parser.file()
}

struct Parser<'a> {
    tokens: Vec<Token<'a>>,
    at: usize,
    next_id: u32,
    depth: u32,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Token<'a> {
        self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    fn peek_after(&self, ahead: usize) -> Token<'a> {
        self.tokens[(self.at + ahead).min(self.tokens.len() - 1)]
    }

    fn bump(&mut self) -> Token<'a> {
        let token = self.peek();
        self.at += 1;
        token
    }

    fn previous_span(&self) -> Span {
        self.tokens[self.at.saturating_sub(1).min(self.tokens.len() - 1)].span
    }

    fn is(&self, text: &str) -> bool {
        let token = self.peek();
        token.text == text && matches!(token.kind, TokenKind::Punct | TokenKind::Word)
    }

    fn eat(&mut self, text: &str) -> bool {
        let found = self.is(text);
        if found {
            self.at += 1;
        }
        found
    }

    fn expect(&mut self, text: &str) -> Parsed<Span> {
        if self.is(text) {
            return Ok(self.bump().span);
        }
        Err(self.unexpected(&format!("`{text}`")))
    }

    fn unexpected(&self, wanted: &str) -> Diagnostic {
        let token = self.peek();
        let found = match token.kind {
            TokenKind::End => "the end of the file".to_string(),
            _ => format!("`{}`", token.text),
        };
        Diagnostic::new(token.span, format!("expected {wanted}, found {found}"))
            .label(format!("expected {wanted}"))
    }

    fn name(&mut self, what: &str) -> Parsed<Name> {
        let token = self.peek();
        if token.kind != TokenKind::Word {
            return Err(self.unexpected(what));
        }
        if KEYWORDS.contains(&token.text) {
            return Err(self
                .unexpected(what)
                .hint(format!("`{}` is a word of the language; choose another name", token.text)));
        }
        self.at += 1;
        Ok(Name { text: token.text.to_string(), span: token.span })
    }

    fn fresh(&mut self) -> ExprId {
        self.next_id += 1;
        ExprId(self.next_id - 1)
    }

    fn make(&mut self, kind: ExprKind, span: Span) -> Expr {
        Expr { kind, span, id: self.fresh() }
    }

    /// Runs `inner` one level deeper, or refuses when the nesting is too deep.
    fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MAX_DEPTH {
            let at = self.peek().span;
            return Err(Diagnostic::new(at, "this is nested too deeply")
                .hint("split it with `let` or a helper `fn`"));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    /// A list in brackets, separated by commas; a comma at the end is allowed.
    fn list<T>(
        &mut self,
        close: &str,
        mut item: impl FnMut(&mut Self) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        let mut found = Vec::new();
        while !self.is(close) {
            found.push(item(self)?);
            if !self.eat(",") {
                break;
            }
        }
        self.expect(close)?;
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::front::program::Builtin;
    use std::collections::BTreeSet;

    const GRAMMAR: &str =
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../editors/seri.tmLanguage.json"));

    /// The words of the patterns of a scope, in the editors' grammar.
    fn words(scope: &str) -> BTreeSet<&'static str> {
        let lines: Vec<&str> = GRAMMAR.lines().collect();
        let mut found = BTreeSet::new();
        for (at, line) in lines.iter().enumerate().filter(|(_, l)| l.contains("\"match\"")) {
            let around = lines[at.saturating_sub(1)..(at + 3).min(lines.len())].join(" ");
            if around.contains(scope) {
                found.extend(
                    line.replace("\\\\b", " ")
                        .leak()
                        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_'),
                );
            }
        }
        found
    }

    #[test]
    fn editors_know_every_word_of_the_language() {
        let known: BTreeSet<&str> =
            ["keyword.", "constant.language", "invalid.", "storage.type", "support.function"]
                .into_iter()
                .flat_map(words)
                .collect();
        for word in KEYWORDS.into_iter().chain(["rest", "help", "plain", "version", "sparse"]) {
            assert!(known.contains(word), "{word}");
        }
        for word in ["bool", "int", "value", "key", "tid", "lock", "seq", "set", "map"] {
            assert!(words("storage.type").contains(word), "{word}");
        }
        let functions = words("support.function");
        let builtins = ["cas", "swap", "fetch_add", "ll", "sc", "lock", "unlock", "free", "len"];
        let ordered = ["load", "store", "fence", "recycle", "hash"];
        for word in builtins.into_iter().chain(ordered).chain(["min", "max", "remove"]) {
            assert!(Builtin::named(word).is_some() && functions.contains(word), "{word}");
        }
        for ordering in crate::steps::Ordering::ALL {
            assert!(words("constant.language").contains(ordering.text()), "{}", ordering.text());
        }
        assert!(GRAMMAR.contains("@lin"));
    }
}
