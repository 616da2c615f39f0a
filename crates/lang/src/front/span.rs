//! Where in the source text a thing stands: byte offsets, half open.

/// A range of bytes of the source text.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The range from `start` to `end`.
    pub fn new(start: usize, end: usize) -> Self {
        Span { start: start as u32, end: end as u32 }
    }

    /// The smallest range that covers both.
    pub fn to(self, other: Span) -> Span {
        Span { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// The text of this range; empty where the range lies outside.
    pub fn text(self, source: &str) -> &str {
        source.get(self.start as usize..self.end as usize).unwrap_or("")
    }

    /// The one-based line on which the range begins.
    pub fn line(self, source: &str) -> usize {
        let end = (self.start as usize).min(source.len());
        source.as_bytes()[..end].iter().filter(|b| **b == b'\n').count() + 1
    }
}
