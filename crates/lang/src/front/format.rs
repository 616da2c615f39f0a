//! The formatter: one indentation, one spacing. Lines stay where the author broke them and comments
//! stay where they stand; only white space changes, so the tokens of a file are the same before and
//! after.

use crate::front::lexer::{Token, TokenKind, tokens};

/// Words after which a bracket or a sign begins something new.
const OPENERS: [&str; 22] = [
    "if", "while", "return", "in", "let", "assume", "await", "assert", "else", "or", "repeat",
    "method", "fn", "new", "loop", "choose", "atomic", "client", "expect", "help", "int", "for",
];

/// How the brace of a set is remembered.
const SET: &str = "set";

/// The text with uniform indentation and spacing.
pub fn format(source: &str) -> String {
    let all = tokens(source);
    let mut out = String::new();
    let mut brackets: Vec<&str> = Vec::new();
    let mut generics = 0u32;
    for (index, token) in all.iter().enumerate() {
        if token.kind == TokenKind::End {
            break;
        }
        let closes = matches!(token.text, ")" | "]" | "}") && token.kind == TokenKind::Punct;
        let closed = if closes { brackets.pop() } else { None };
        let before = index.checked_sub(1).map(|i| &all[i]);
        let in_set = closed == Some(SET)
            || before.is_some_and(|b| b.text == "{") && brackets.last() == Some(&SET);
        match before {
            None => {}
            Some(_) if token.breaks > 0 => {
                out.push_str(if token.breaks > 1 { "\n\n" } else { "\n" });
                out.extend(std::iter::repeat_n("  ", depth(brackets.len(), token)));
            }
            Some(before) if token.kind == TokenKind::Comment => {
                let gap = token.span.start - before.span.end;
                out.extend(std::iter::repeat_n(' ', gap.max(1) as usize));
            }
            Some(before) => {
                let earlier = index.checked_sub(2).map(|i| &all[i]);
                let apart = if in_set {
                    must_part(before, token)
                } else {
                    spaced(earlier, before, token, generics)
                };
                if apart {
                    out.push(' ');
                }
            }
        }
        out.push_str(token.text.trim_end());
        if matches!(token.text, "(" | "[" | "{") && token.kind == TokenKind::Punct {
            let set = token.text == "{" && before.is_some_and(precedes_set);
            brackets.push(if set { SET } else { token.text });
        }
        let generic = before.is_some_and(|b| matches!(b.text, "seq" | "set" | "map"));
        generics += u32::from(token.text == "<" && generic);
        generics -= u32::from(token.text == ">" && generics > 0);
    }
    if !out.is_empty() {
        out.push('\n');
    }
    out
}

/// How deep a line is indented: one that continues an expression deeper than its block, the `or` of
/// a choice like the line that opened the block.
fn depth(block: usize, first: &Token<'_>) -> usize {
    match (first.kind, first.text) {
        (TokenKind::Punct, "||" | "&&" | "++") => block + 2,
        (TokenKind::Word, "or") => block.saturating_sub(1),
        _ => block,
    }
}

/// Whether a brace after this token opens a set and not a block.
fn precedes_set(token: &Token<'_>) -> bool {
    matches!(token.text, "+" | "-" | "=" | "==" | "!=" | "in" | "return" | "(" | ",")
}

/// Whether a token ends an operand, so that what follows it is an infix or a postfix.
fn ends_operand(token: &Token<'_>) -> bool {
    match token.kind {
        TokenKind::Word => !OPENERS.contains(&token.text),
        TokenKind::Int | TokenKind::Text => true,
        _ => matches!(token.text, ")" | "]" | "}" | "?" | "_"),
    }
}

fn is_sign(earlier: Option<&Token<'_>>, sign: &Token<'_>) -> bool {
    let prefix = matches!(sign.text, "-" | "+") && sign.kind == TokenKind::Punct;
    prefix && !earlier.is_some_and(ends_operand)
}

fn spaced(
    earlier: Option<&Token<'_>>,
    before: &Token<'_>,
    token: &Token<'_>,
    generics: u32,
) -> bool {
    if before.kind == TokenKind::Bad || token.kind == TokenKind::Bad {
        return token.span.start > before.span.end;
    }
    let (a, b) = (before.text, token.text);
    if b == ":" && earlier.is_some_and(|e| e.text == "object") {
        return true;
    }
    let tight_after =
        matches!(a, "(" | "[" | "." | ".." | "!" | "@" | "::") || is_sign(earlier, before);
    let tight_before = matches!(b, ")" | "]" | "," | ";" | "." | ".." | "?" | ":" | "::");
    if (a, b) == ("{", "}") || tight_after || tight_before {
        return must_part(before, token);
    }
    let tight = match b {
        "(" | "[" => ends_operand(before) || a == "<" && generics > 0,
        "<" => matches!(a, "seq" | "set" | "map"),
        ">" => generics > 0,
        _ => a == "<" && generics > 0,
    };
    !tight || must_part(before, token)
}

/// Whether two tokens would run together into another one.
fn must_part(before: &Token<'_>, token: &Token<'_>) -> bool {
    let joined = format!("{}{}", before.text, token.text);
    tokens(&joined).first().is_none_or(|t| t.text != before.text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(source: &str) -> Vec<String> {
        tokens(source).iter().map(|t| t.text.trim_end().to_string()).collect()
    }

    #[test]
    fn spacing_and_indentation_are_uniform() {
        let messy =
            "method  f( k:key )->bool{\nlet x=- 1 // why\n\n\n  if !( x<k ){return  a[ 0 ..]}\n}";
        let neat = "method f(k: key) -> bool {\n  let x = -1 // why\n\n  if !(x < k) { return a[0..] }\n}\n";
        assert_eq!(format(messy), neat);
    }

    #[test]
    fn colons_of_objects_negative_bounds_continued_conditions_and_choices_have_their_spacing() {
        let neat = "object a : set\n\nvar b: int -1..4 = 0\n\nfn c() {\n  return x\n      || y\n  choose {\n    d()\n  or\n    e()\n  }\n}\n";
        assert_eq!(format(neat), neat);
        assert_eq!(format(&neat.replace(" : ", ":").replace("int -1", "int - 1")), neat);
    }

    #[test]
    fn formatting_keeps_the_tokens_and_is_stable() {
        for source in [include_str!("prelude.seri"), "a - -b .. = & & -inf seq < value >", "é( ["]
        {
            let once = format(source);
            assert_eq!(texts(&once), texts(source));
            assert_eq!(format(&once), once);
        }
    }
}
