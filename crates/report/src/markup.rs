//! Text that comes from outside, in HTML and in XML: the one function by which it gets there.

use seriatim_history::is_harmful;

/// Text that may stand in an element or in a quoted attribute: none of `& < > " '` is left as it
/// is, and what XML forbids becomes U+FFFD.
///
/// ```
/// assert_eq!(seriatim_report::markup::escaped("a < b & 'c'"), "a &lt; b &amp; &#39;c&#39;");
/// ```
pub fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\n' | '\t' => safe.push(character),
            '\0'..='\x1f' | '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            _ if is_harmful(character) => safe.extend(character.escape_unicode()),
            _ => safe.push(character),
        }
    }
    safe
}
