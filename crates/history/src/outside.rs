//! Text that came from outside, as part of a message.
//!
//! Names of operations, processes and files are chosen by whoever wrote a log. As part of a message
//! they must neither begin a new line, which could be taken for a line of ours, nor be obeyed by a
//! terminal, nor be longer than a message can be. Which characters are harmful is said once, by
//! [`is_harmful`], for terminals, pages, XML, JSON and the files that we write.

use crate::value::write_harmless;
use std::borrow::Cow;
use std::fmt;

/// Whether a character is something else than what it looks like: a terminal obeys it, it breaks the
/// line, turns the direction of writing, or cannot be seen.
///
/// ```
/// use seriatim_history::is_harmful;
/// assert!(['\x1b', '\n', '\u{9b}', '\u{2028}', '\u{202e}', '\u{feff}'].into_iter().all(is_harmful));
/// assert!(!"a \"b\" \\ é → 数 e\u{301}".chars().any(is_harmful));
/// ```
pub fn is_harmful(character: char) -> bool {
    if matches!(character, ' '..='~') {
        return false;
    }
    // What the standard library would not print as itself behind a letter: marks that belong to the
    // letter before them are printed.
    let mut bytes = [b'a'; 5];
    let length = 1 + character.encode_utf8(&mut bytes[1..]).len();
    let text = std::str::from_utf8(&bytes[..length]);
    text.is_ok_and(|text| text.escape_debug().nth(2).is_some())
}

/// A text in one line, harmful characters written out.
///
/// ```
/// assert_eq!(seriatim_history::in_line("a\nb\u{1b}"), "a\\u{a}b\\u{1b}");
/// ```
pub fn in_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for character in text.chars() {
        match is_harmful(character) {
            true => line.extend(character.escape_unicode()),
            false => line.push(character),
        }
    }
    line
}

/// JSON with the same meaning and without harmful characters but line breaks: those can only stand
/// in strings, where they can be written in another way.
///
/// ```
/// use seriatim_history::harmless_json;
/// assert_eq!(harmless_json("[\"\u{9b}31m\"]\n"), "[\"\\u009b31m\"]\n");
/// ```
pub fn harmless_json(json: &str) -> Cow<'_, str> {
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~' | b'\n');
    if json.bytes().all(is_plain) {
        return Cow::Borrowed(json);
    }
    let mut text = String::with_capacity(json.len());
    for character in json.chars() {
        match character != '\n' && is_harmful(character) {
            true => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    text.push_str(&format!("\\u{unit:04x}"));
                }
            }
            false => text.push(character),
        }
    }
    Cow::Owned(text)
}

/// The most characters that are shown of one such text: about a line.
const MOST: usize = 120;

/// A text from outside, shown on one line: control characters are written out, and of a long text the
/// middle gives way to its length.
///
/// ```
/// use seriatim_history::Outside;
/// assert_eq!(Outside("push\nall is well").to_string(), "push\\nall is well");
/// assert!(Outside(&"x".repeat(1000)).to_string().ends_with(" (1000 characters)"));
/// ```
#[derive(Clone, Copy)]
pub struct Outside<'t>(pub &'t str);

impl fmt::Display for Outside<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0;
        let place = |character| text.char_indices().nth(character).map(|(at, _)| at);
        let Some(half) = place(MOST).and_then(|_| place(MOST / 2)) else {
            return harmless(f, text);
        };
        let length = text.chars().count();
        let end = text.char_indices().rev().nth(MOST / 2 - 1).map_or(half, |(at, _)| at);
        harmless(f, &text[..half])?;
        f.write_str("…")?;
        harmless(f, &text[end..])?;
        write!(f, " ({length} characters)")
    }
}

fn harmless(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    text.chars().try_for_each(|character| write_harmless(f, character, ""))
}
