//! Text to tokens. Comments (`//` to the end of the line) are kept as tokens of their own kind so
//! that the formatter can put them back; the parser never sees them.

use crate::front::span::Span;

/// What sort of token it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TokenKind {
    /// A name or a keyword.
    Word,
    /// A decimal number.
    Int,
    /// A text in quotation marks.
    Text,
    /// A loop label: `'retry`.
    Label,
    /// An operator or a bracket.
    Punct,
    /// A comment.
    Comment,
    /// A character that begins no token.
    Bad,
    /// The end of the file.
    End,
}

/// A token with its text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Token<'a> {
    /// Its sort.
    pub kind: TokenKind,
    /// Its text.
    pub text: &'a str,
    /// Where it stands.
    pub span: Span,
    /// How many line breaks stand between the token before it and this one.
    pub breaks: u32,
}

/// The operators and brackets, longest first.
const PUNCTS: [&str; 39] = [
    "..=", "->", "=>", "==", "!=", "<=", ">=", "&&", "||", "++", "..", "::", "(", ")", "[", "]",
    "{", "}", "<", ">", "=", "+", "-", "*", "/", "%", "!", "?", ":", ";", ",", ".", "@", "_", "|",
    "&", "#", "$", "^",
];

/// All tokens of a text, the last one being [`TokenKind::End`].
pub fn tokens(source: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let mut at = 0;
    let mut breaks = 0;
    while at < source.len() {
        let rest = &source[at..];
        let first = rest.chars().next().unwrap_or(' ');
        if first.is_whitespace() {
            breaks += u32::from(first == '\n');
            at += first.len_utf8();
            continue;
        }
        let (kind, length) = scan(rest, first);
        let span = Span::new(at, at + length);
        found.push(Token { kind, text: &rest[..length], span, breaks });
        breaks = 0;
        at += length;
    }
    let span = Span::new(source.len(), source.len());
    found.push(Token { kind: TokenKind::End, text: "", span, breaks });
    found
}

fn scan(rest: &str, first: char) -> (TokenKind, usize) {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let run = |from: usize| rest[from..].find(|c| !is_name(c)).map_or(rest.len(), |n| n + from);
    if rest.starts_with("//") {
        return (TokenKind::Comment, rest.find('\n').unwrap_or(rest.len()));
    }
    if first.is_ascii_digit() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        return (TokenKind::Int, digits);
    }
    if first == '"'
        && let Some(length) = quoted(rest)
    {
        return (TokenKind::Text, length);
    }
    if first == '\'' && rest[1..].starts_with(|c: char| c.is_ascii_alphabetic()) {
        return (TokenKind::Label, run(1));
    }
    let named = first.is_ascii_alphabetic() || (first == '_' && run(0) > 1);
    if named {
        return (TokenKind::Word, run(0));
    }
    match PUNCTS.iter().find(|p| rest.starts_with(**p)) {
        Some(punct) => (TokenKind::Punct, punct.len()),
        None => (TokenKind::Bad, first.len_utf8()),
    }
}

/// How long a text in quotation marks is, if it ends on its line.
fn quoted(rest: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, letter) in rest.char_indices().skip(1) {
        match letter {
            '\n' => return None,
            '"' if !escaped => return Some(at + 1),
            _ => escaped = letter == '\\' && !escaped,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_line_breaks_are_kept() {
        let found = tokens("a // note\n\n'b 12..=3");
        let texts: Vec<_> = found.iter().map(|t| t.text).collect();
        assert_eq!(texts, ["a", "// note", "'b", "12", "..=", "3", ""]);
        assert_eq!(found[2].breaks, 2);
    }

    #[test]
    fn a_stray_character_is_a_token_of_its_own() {
        assert_eq!(tokens("é").first().map(|t| t.kind), Some(TokenKind::Bad));
    }

    #[test]
    fn a_text_ends_at_its_quotation_mark_and_on_its_line() {
        let found = tokens(r#"x == "a \"b\" // c" + 1"#);
        let texts: Vec<_> = found.iter().map(|t| t.text).collect();
        assert_eq!(texts, ["x", "==", r#""a \"b\" // c""#, "+", "1", ""]);
        assert_eq!(tokens("\"open\n\"")[0].kind, TokenKind::Bad);
    }
}
