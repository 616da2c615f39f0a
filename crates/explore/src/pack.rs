//! Bits in a row: states are stored with as many bits as each part needs.

/// Writes numbers of given widths into words of 32 bits.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Packer {
    words: Vec<u32>,
    rest: Rest,
}

/// The bits that do not make a word yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Rest {
    current: u64,
    filled: u32,
}

/// Someone who writes. It has the last bits at hand: most numbers complete no word.
pub struct Writer<'p> {
    packer: &'p mut Packer,
    rest: Rest,
}

impl Writer<'_> {
    /// Writes the lowest `width` bits (at most 32) of a number.
    #[inline(always)]
    pub fn put(&mut self, number: u32, width: u32) {
        let Rest { current, filled } = &mut self.rest;
        *current |= u64::from(number) << *filled;
        *filled += width;
        if *filled >= 32 {
            self.packer.words.push(*current as u32);
            *current >>= 32;
            *filled -= 32;
        }
    }

    /// Leaves the last bits to whoever writes next.
    #[inline(always)]
    pub fn end(self) {
        self.packer.rest = self.rest;
    }
}

impl Packer {
    /// Forgets everything written.
    pub fn clear(&mut self) {
        self.words.clear();
        self.rest = Rest::default();
    }

    /// Goes on writing, up to [`Writer::end`].
    #[inline(always)]
    pub fn writer(&mut self) -> Writer<'_> {
        let rest = self.rest;
        Writer { packer: self, rest }
    }

    /// The words that are complete so far.
    pub fn written(&self) -> &[u32] {
        &self.words
    }

    /// The words, the last one filled up with zeros.
    pub fn finish(&mut self) -> &mut [u32] {
        if self.rest.filled > 0 {
            self.words.push(self.rest.current as u32);
            self.rest = Rest::default();
        }
        &mut self.words
    }
}

/// Reads what a [`Packer`] wrote.
pub struct Unpacker<'a> {
    words: std::slice::Iter<'a, u32>,
    current: u64,
    filled: u32,
}

impl<'a> Unpacker<'a> {
    /// Reads from the beginning.
    pub fn new(words: &'a [u32]) -> Self {
        Unpacker { words: words.iter(), current: 0, filled: 0 }
    }

    /// The next number of this width.
    #[inline]
    pub fn take(&mut self, width: u32) -> u32 {
        if self.filled < width {
            let next = self.words.next().copied().unwrap_or(0);
            self.current |= u64::from(next) << self.filled;
            self.filled += 32;
        }
        let number = self.current & ((1 << width) - 1);
        self.current >>= width;
        self.filled -= width;
        number as u32
    }
}

/// How many bits it takes to tell `count` things apart.
pub fn width(count: u32) -> u32 {
    u32::BITS - count.saturating_sub(1).leading_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_comes_out_again() {
        let numbers = [(5, 3), (0, 0), (1, 1), (0xffff_ffff, 32), (77, 9), (2, 2), (123_456, 20)];
        let mut packer = Packer::default();
        let (first, second) = numbers.split_at(3);
        for part in [first, second] {
            let mut writer = packer.writer();
            part.iter().for_each(|(n, w)| writer.put(*n, *w));
            writer.end();
        }
        let words = packer.finish().to_vec();
        let mut unpacker = Unpacker::new(&words);
        for (number, width) in numbers {
            assert_eq!(unpacker.take(width), number);
        }
        assert_eq!([width(1), width(2), width(3), width(4), width(5)], [0, 1, 2, 2, 3]);
    }
}
