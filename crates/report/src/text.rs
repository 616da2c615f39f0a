//! Words and numbers, as all reports write them.

use seriatim_history::{History, ProcessId, Value};
use std::borrow::Cow;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// A number with separators: `1,204`.
pub fn grouped(number: impl TryInto<u64>) -> String {
    let digits = number.try_into().unwrap_or(u64::MAX).to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number with its noun: `1 operation`, `1,204 operations`.
pub fn count(number: usize, noun: &str) -> String {
    match (number, noun.strip_suffix("ss")) {
        (1, _) => format!("1 {noun}"),
        (_, Some(stem)) => format!("{} {stem}sses", grouped(number)),
        (_, None) => format!("{} {noun}s", grouped(number)),
    }
}

/// A duration with a unit that fits: `850 µs`, `12 ms`, `3.4 s`.
pub fn duration(duration: std::time::Duration) -> String {
    match duration.as_micros() {
        micros @ 0..1_000 => format!("{micros} µs"),
        micros @ 1_000..1_000_000 => format!("{} ms", micros / 1_000),
        _ => format!("{:.1} s", duration.as_secs_f64()),
    }
}

/// The noun with its article: `a queue`, `an or-set`.
pub fn with_article(noun: &str) -> String {
    let article =
        if noun.starts_with(|first: char| "aeiouAEIOU".contains(first)) { "an" } else { "a" };
    format!("{article} {noun}")
}

/// A process, as a person calls it: `process 3`, or its own name.
pub fn process(history: &History, process: ProcessId) -> String {
    match history.process_name(process) {
        Value::Int(number) => format!("process {number}"),
        Value::Text(name) | Value::Name(name) => middle(name, NAME).into_owned(),
        other => middle(&other.to_string(), NAME).into_owned(),
    }
}

/// The columns that a text takes on a terminal.
pub fn columns(text: &str) -> usize {
    text.width()
}

/// The columns that a character takes on a terminal.
pub fn columns_of(character: char) -> usize {
    character.width().unwrap_or(0)
}

/// A text of at most `limit` columns: its end gives way to an ellipsis.
pub fn shortened(text: &str, limit: usize) -> String {
    if columns(text) <= limit {
        return text.to_owned();
    }
    let mut short = String::new();
    let mut width = 0;
    for character in text.chars() {
        width += columns_of(character);
        if width + 1 > limit {
            break;
        }
        short.push(character);
    }
    short.push('…');
    short
}

/// The most characters of one value, state or reason that a report shows: about a screen. In JSON,
/// what operations were called with and what they returned is whole.
pub const SCREEN: usize = 1_600;
/// The most characters of a call or a result in a name of an operation.
pub const NAME: usize = 80;

/// A text of about `limit` characters: if it is longer, its middle gives way to its length. Cost:
/// one look at each character, however often what is left is shown.
pub fn middle(text: &str, limit: usize) -> Cow<'_, str> {
    // A text has at most as many characters as bytes.
    if text.len() <= limit {
        return Cow::Borrowed(text);
    }
    let length = text.chars().count();
    if length <= limit {
        return Cow::Borrowed(text);
    }
    let place =
        |character: usize| text.char_indices().nth(character).map_or(text.len(), |(at, _)| at);
    let (head, tail) = (&text[..place(limit / 2)], &text[place(length - limit / 3)..]);
    Cow::Owned(format!("{head}… {} characters …{tail}", grouped(length as u64)))
}

/// Breaks a text into lines of at most `width` columns, between words where it can.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let width = width.max(8);
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is a line");
        if line.is_empty() {
            line.push_str(word);
        } else if columns(line) + 1 + columns(word) <= width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
        while columns(lines.last().expect("there is a line")) > width {
            let long = lines.pop().expect("there is a line");
            let (head, tail) = long.split_at(cut(&long, width));
            lines.push(head.to_owned());
            lines.push(tail.to_owned());
        }
    }
    lines
}

/// The place at which a text reaches a width.
fn cut(text: &str, width: usize) -> usize {
    let mut seen = 0;
    for (place, character) in text.char_indices() {
        seen += columns_of(character);
        if seen > width {
            return place.max(1);
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_thousands() {
        let texts: Vec<String> = [0u64, 999, 1_000, 1_234_567].into_iter().map(grouped).collect();
        assert_eq!(texts, ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(count(2, "process"), "2 processes");
        assert_eq!(count(1, "operation"), "1 operation");
    }

    #[test]
    fn no_wrapped_line_is_wider_than_asked_and_nothing_is_lost() {
        let text =
            "every order fails because averyveryverylongwordthatdoesnotfit 字字字字字字字字 is";
        for width in 8..60 {
            let lines = wrapped(text, width);
            assert!(lines.iter().all(|line| columns(line) <= width), "{lines:?}");
            let bare = |text: &str| text.split_whitespace().collect::<String>();
            assert_eq!(bare(&lines.concat()), bare(text));
        }
    }

    #[test]
    fn the_middle_of_a_long_text_gives_way_to_its_length() {
        assert_eq!(middle("abcdef", 6), "abcdef");
        assert_eq!(middle("字字字字字字", 6), "字字字字字字", "characters count, not bytes");
        let long = format!("a{}z", "é".repeat(1_000_000));
        let short = middle(&long, 12);
        assert_eq!(short, "aééééé… 1,000,002 characters …éééz");
    }

    #[test]
    fn a_shortened_text_fits() {
        assert_eq!(shortened("abcdef", 4), "abc…");
        assert_eq!(shortened("abcd", 4), "abcd");
        assert_eq!(shortened("字字字", 4), "字…");
    }
}
