//! Text that came from outside, as part of a message.
//!
//! Names of operations, processes and files are chosen by whoever wrote a log. As part of a message
//! they must neither begin a new line, which could be taken for a line of ours, nor be obeyed by a
//! terminal, nor be longer than a message can be.

use crate::value::write_harmless;
use std::fmt;

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
