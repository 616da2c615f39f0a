//! How a terminal report looks: width, glyphs, colours.

use crate::text;
use seriatim_history::is_harmful;

/// How to draw on a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// The columns to use; at least 40 are taken.
    pub width: usize,
    /// The characters to draw with.
    pub glyphs: Glyphs,
    /// Whether to colour. No meaning is carried by colour alone.
    pub colour: Colour,
}

/// The characters to draw with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Glyphs {
    /// Box drawing.
    Unicode,
    /// ASCII only, also in the names and values of the history.
    Ascii,
}

/// Whether to colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// Text only.
    Never,
    /// ANSI escape sequences.
    Ansi,
}

impl Style {
    /// Unicode without colours.
    pub fn plain(width: usize) -> Self {
        Style { width, glyphs: Glyphs::Unicode, colour: Colour::Never }
    }

    pub(super) fn columns(&self) -> usize {
        self.width.max(40)
    }

    /// A text in a paint.
    pub(super) fn paint(&self, paint: Paint, text: &str) -> String {
        match (self.colour, paint.code()) {
            (Colour::Ansi, Some(code)) if !text.is_empty() => format!("\x1b[{code}m{text}\x1b[0m"),
            _ => text.to_owned(),
        }
    }

    /// A name or value of the history, as it may be printed: without control characters, and in
    /// ASCII if that was asked for.
    pub(crate) fn clean(&self, text: &str) -> String {
        let mut clean = String::with_capacity(text.len());
        for character in text.chars() {
            let is_foreign = self.glyphs == Glyphs::Ascii && !character.is_ascii();
            match character {
                '…' if is_foreign => clean.push('~'),
                '→' if is_foreign => clean.push_str("->"),
                _ if is_foreign || is_harmful(character) => {
                    clean.extend(character.escape_unicode());
                }
                _ => clean.push(character),
            }
        }
        clean
    }

    /// A name or value of the history in at most so many columns.
    pub(super) fn fitted(&self, text: &str, columns: usize) -> String {
        let fitted = text::shortened(&self.clean(text), columns);
        // The ellipsis, in ASCII.
        self.clean(&fitted)
    }

    /// The Unicode or the ASCII form of something that we draw.
    pub(crate) fn pick<T>(&self, unicode: T, ascii: T) -> T {
        match self.glyphs {
            Glyphs::Unicode => unicode,
            Glyphs::Ascii => ascii,
        }
    }

    pub(super) fn arrow(&self) -> &'static str {
        self.pick("→", "->")
    }
}

/// What a piece of text is, for its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) enum Paint {
    #[default]
    Plain,
    Strong,
    Faint,
    Good,
    Bad,
    Open,
    Around,
}

impl Paint {
    fn code(self) -> Option<&'static str> {
        match self {
            Paint::Plain => None,
            Paint::Strong => Some("1"),
            Paint::Faint => Some("2"),
            Paint::Good => Some("1;32"),
            Paint::Bad => Some("1;31"),
            Paint::Open => Some("33"),
            Paint::Around => Some("35"),
        }
    }
}
