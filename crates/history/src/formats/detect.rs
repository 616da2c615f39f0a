//! Which format a text is in, from its first bytes.
//!
//! The first line that is neither blank nor a comment decides; each format begins in its own way.
//! Where two fit, the caller must name one: nothing is guessed.

use super::jepsen_log::has_level;
use super::polylin::{OBJECTS, header_name};
use super::{Format, fptlin, limo};
use crate::Problem;

/// How many bytes detection looks at.
pub(super) const ENOUGH: usize = 64 << 10;

/// The format of a text that begins with these bytes; `None` when there is nothing but blanks.
pub(super) fn detect(prefix: &[u8]) -> Result<Option<Format>, Problem> {
    let text = skip_blanks(prefix);
    let Some(&first) = text.first() else {
        return Ok(None);
    };
    let line = first_line(text);
    match first {
        b'{' => after_brace(text).map(Some),
        b'[' if is_limo_event(line) => Ok(Some(Format::LiMo)),
        b'[' | b'(' if begins_edn(skip_blanks(&text[1..])) => Ok(Some(Format::Edn)),
        b';' | b'^' => Ok(Some(Format::Edn)),
        b'#' if begins_edn(text) => Ok(Some(Format::Edn)),
        b'#' => after_hash(text).map(Some),
        b'0'..=b'9' | b'-' if is_ahorn_event(line) => Ok(Some(Format::Ahorn)),
        _ if has_level(line) => Ok(Some(Format::JepsenLog)),
        _ => Err(unknown(line)),
    }
}

fn unknown(line: &[u8]) -> Problem {
    let shown: String = String::from_utf8_lossy(&line[..line.len().min(200)])
        .chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .take(60)
        .collect();
    Problem::UnknownFormat { found: format!("`{shown}`") }
}

fn ambiguous(candidates: &[Format]) -> Problem {
    let names: Vec<String> = candidates.iter().map(Format::to_string).collect();
    Problem::AmbiguousFormat { candidates: names.join(", ") }
}

fn skip_blanks(text: &[u8]) -> &[u8] {
    let blank = |byte: &u8| byte.is_ascii_whitespace() || *byte == b',';
    let begin = text.iter().position(|byte| !blank(byte));
    &text[begin.unwrap_or(text.len())..]
}

fn first_line(text: &[u8]) -> &[u8] {
    let end = memchr::memchr(b'\n', text).unwrap_or(text.len());
    text[..end].trim_ascii()
}

/// `{` begins an object of JSON or a map of EDN: the first key tells.
fn after_brace(text: &[u8]) -> Result<Format, Problem> {
    match skip_blanks(&text[1..]).first() {
        Some(b'"') => Ok(Format::JsonLines),
        Some(b':' | b';' | b'#') => Ok(Format::Edn),
        Some(b'}') | None => Err(ambiguous(&[Format::JsonLines, Format::Edn])),
        _ => Err(unknown(first_line(text))),
    }
}

/// Whether a form of an EDN history begins here: a map, a tag, a comment, or the end of a list.
fn begins_edn(text: &[u8]) -> bool {
    match text {
        [b'{', rest @ ..] => {
            let rest = skip_blanks(rest);
            matches!(rest.first(), Some(b':' | b'}' | b';' | b'#'))
        }
        [b'#', second, ..] => second.is_ascii_alphabetic() || matches!(second, b'_' | b':' | b'^'),
        [b';' | b'^' | b']' | b')', ..] => true,
        _ => false,
    }
}

fn is_limo_event(line: &[u8]) -> bool {
    let inner = line.strip_prefix(b"[").unwrap_or_default();
    let end = memchr::memchr(b']', inner);
    end.is_some_and(|end| {
        let number = inner[..end].trim_ascii();
        let rest = inner[end + 1..].trim_ascii();
        let verb = rest.starts_with(b"call") || rest.starts_with(b"return");
        !number.is_empty() && number.iter().all(u8::is_ascii_digit) && verb
    })
}

fn is_ahorn_event(line: &[u8]) -> bool {
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    matches!(words.nth(1), Some(b"invokes" | b"returns"))
}

/// `# …` is a header of LiMo, PolyLin or fptlin, or a comment of LiMo.
fn after_hash(text: &[u8]) -> Result<Format, Problem> {
    let first = first_line(text);
    let mut lines = text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    if lines.clone().any(|line| limo::object_of_header(line).is_some()) {
        return Ok(Format::LiMo);
    }
    let body = lines.find(|line| !line.is_empty() && !line.starts_with(b"#"));
    let name = header_name(first).and_then(|name| std::str::from_utf8(name).ok());
    let polylin = name.is_some_and(|name| OBJECTS.iter().any(|object| object.name == name));
    let fptlin = name.is_some_and(|name| fptlin::object_names().any(|known| known == name));
    match body {
        Some(line) if is_limo_event(line) => Ok(Format::LiMo),
        Some(line) if fptlin && line[0].is_ascii_digit() => Ok(Format::Fptlin),
        Some(line) if polylin && line[0].is_ascii_alphabetic() => Ok(Format::PolyLin),
        _ if polylin && fptlin => Err(ambiguous(&[Format::PolyLin, Format::Fptlin])),
        _ if polylin => Ok(Format::PolyLin),
        _ if fptlin => Ok(Format::Fptlin),
        _ => Err(unknown(first)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_is_told_by_its_first_lines() {
        let cases = [
            ("{\"process\":0}", Format::JsonLines),
            ("\n \r\n { \"seriatim\": 1}", Format::JsonLines),
            ("{:process 0}", Format::Edn),
            ("[{:process 0}", Format::Edn),
            ("(\n{:process 0}", Format::Edn),
            ("; a comment\n{:process 0}", Format::Edn),
            ("#jepsen.history.Op{:process 0}", Format::Edn),
            ("[#jepsen.history.Op {:process 0}]", Format::Edn),
            ("#_{} {:process 1}", Format::Edn),
            ("[]", Format::Edn),
            ("INFO  jepsen.util - 0\t:invoke\t:read\tnil", Format::JepsenLog),
            ("2015-01-01 12:00:00,1 INFO jepsen.core - hi", Format::JepsenLog),
            ("# @object atomic-stack\n", Format::LiMo),
            ("# stack\n# @object atomic-stack\n", Format::LiMo),
            ("# A comment\n\n [1] call push(1)", Format::LiMo),
            ("[1] call push(1)", Format::LiMo),
            ("# stack\r\npush 1 1 2\r\n", Format::PolyLin),
            ("# stack\n0 1 5 PUSH 1\n", Format::Fptlin),
            ("# pqueue\n", Format::PolyLin),
            ("# rmw\n", Format::Fptlin),
            ("2 invokes add 23", Format::Ahorn),
        ];
        for (text, format) in cases {
            assert_eq!(detect(text.as_bytes()), Ok(Some(format)), "{text}");
        }
        assert_eq!(detect(b" \r\n\t"), Ok(None));
    }

    #[test]
    fn a_text_that_fits_two_formats_names_both() {
        for (text, names) in [("{}", ["jsonl", "edn"]), ("# set\n", ["polylin", "fptlin"])] {
            let problem = detect(text.as_bytes()).unwrap_err().to_string();
            assert!(names.iter().all(|name| problem.contains(name)), "{problem}");
        }
    }

    #[test]
    fn what_no_format_begins_with_is_refused() {
        for text in
            ["hello", "[{\"process\":0}]", "{1 2}", "# a comment", "\u{1}\u{2}", "17", "<xml>"]
        {
            let problem = detect(text.as_bytes()).unwrap_err();
            assert!(matches!(problem, Problem::UnknownFormat { .. }), "{text}: {problem}");
        }
    }
}
