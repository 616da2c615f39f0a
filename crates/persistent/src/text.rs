//! A text that grows at its end.
//!
//! It is kept as pieces of [`PIECE`] bytes and a rest that is shorter, so that equal texts have
//! equal pieces however they came about. Appending copies the rest and shares the pieces: it costs
//! what is appended and O(log n). Texts that come from the same one are compared along what they do
//! not share.

use crate::{Deque, hash_of};
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// How many bytes a piece has. Characters may lie in two of them.
const PIECE: usize = 128;

/// A text whose copies, and what is made of it by appending, share what they have in common.
///
/// ```
/// use seriatim_persistent::Text;
/// let text = Text::from("seria");
/// let longer = text.with("tim");
/// assert!(longer.is("seriatim") && text.is("seria"));
/// assert_eq!(longer, Text::from("seriatim"));
/// ```
#[derive(Clone)]
pub struct Text(Arc<Held>);

struct Held {
    pieces: Deque<Arc<[u8]>>,
    /// Shorter than a piece.
    rest: Box<[u8]>,
    hash: u64,
}

impl Text {
    fn of(pieces: Deque<Arc<[u8]>>, rest: Box<[u8]>) -> Self {
        let hash = hash_of(&(&pieces, &rest));
        Text(Arc::new(Held { pieces, rest, hash }))
    }

    /// How many bytes it has.
    pub fn len(&self) -> usize {
        self.0.pieces.len() * PIECE + self.0.rest.len()
    }

    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The text with another one behind it.
    #[must_use]
    pub fn with(&self, suffix: &str) -> Self {
        let end = [&*self.0.rest, suffix.as_bytes()].concat();
        let (whole, rest) = end.as_chunks::<PIECE>();
        let pieces = match whole.is_empty() {
            true => self.0.pieces.clone(),
            // Piece by piece a short line would be copied for each.
            false if whole.len() > self.0.pieces.len() => {
                self.0.pieces.iter().cloned().chain(whole.iter().map(piece)).collect()
            }
            false => {
                let pieces = self.0.pieces.clone();
                whole.iter().fold(pieces, |pieces, whole| pieces.with_back(piece(whole)))
            }
        };
        Text::of(pieces, rest.into())
    }

    /// Whether it is this one.
    pub fn is(&self, text: &str) -> bool {
        self.len() == text.len() && self.begins(text)
    }

    /// Whether a text begins with it.
    pub fn begins(&self, text: &str) -> bool {
        let mut left = text.as_bytes();
        self.parts().all(|part| match left.strip_prefix(part) {
            Some(behind) => {
                left = behind;
                true
            }
            None => false,
        })
    }

    /// An estimate of the memory that it does not share with the text that it was made from.
    pub fn own_bytes(&self) -> usize {
        size_of::<Held>() + self.0.rest.len() + 2 * size_of::<usize>()
    }

    fn parts(&self) -> impl Iterator<Item = &[u8]> {
        self.0.pieces.iter().map(|piece| &**piece).chain([&*self.0.rest])
    }
}

fn piece(bytes: &[u8; PIECE]) -> Arc<[u8]> {
    bytes.as_slice().into()
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        let (whole, rest) = text.as_bytes().as_chunks::<PIECE>();
        Text::of(whole.iter().map(piece).collect(), rest.into())
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        let (one, other) = (&self.0, &other.0);
        Arc::ptr_eq(one, other)
            || (one.hash == other.hash && one.rest == other.rest && one.pieces == other.pieces)
    }
}

impl Eq for Text {}

/// Shorter ones first, and else an order that is the same in every run.
impl Ord for Text {
    fn cmp(&self, other: &Self) -> Ordering {
        let rank = |text: &Text| (text.len(), text.0.hash);
        match rank(self).cmp(&rank(other)) {
            Ordering::Equal if self == other => Ordering::Equal,
            Ordering::Equal => self.parts().cmp(other.parts()),
            order => order,
        }
    }
}

impl PartialOrd for Text {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Hash for Text {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0.hash);
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes: Vec<u8> = self.parts().flatten().copied().collect();
        f.write_str(&String::from_utf8_lossy(&bytes))
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Characters of one to four bytes, long suffixes and short ones.
    #[test]
    fn a_text_is_what_was_appended_however_it_was() {
        let mut random = 1_u64;
        let mut next = |below: usize| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> 33) as usize % below
        };
        for most in [3, 40, 3 * PIECE, 600 * PIECE] {
            let (mut text, mut plain) = (Text::from(""), String::new());
            for _ in 0..200 {
                let suffix =
                    ["a", "\u{e9}", "\u{2260}", "\u{1f600}"][next(4)].repeat(next(most) / 2);
                let before = (text.clone(), plain.clone());
                text = text.with(&suffix);
                plain += &suffix;
                let fresh = Text::from(&*plain);
                assert!(text.is(&plain) && text.to_string() == plain && text.len() == plain.len());
                assert_eq!((&text, hash_of(&text)), (&fresh, hash_of(&fresh)));
                assert_eq!(text.cmp(&fresh), Ordering::Equal);
                assert!(before.0.is(&before.1) && before.0.begins(&plain));
                assert_eq!(text.begins(&before.1), suffix.is_empty());
                let other = plain.chars().rev().collect::<String>();
                assert_eq!(text == Text::from(&*other), plain == other);
                assert_eq!(text.is(&other), plain == other);
                assert_eq!(text.cmp(&Text::from(&*other)) == Ordering::Equal, plain == other);
            }
        }
    }
}
