//! Bits in a row: states are stored with as many bits as each part needs.

/// Writes numbers of given widths into words of 32 bits.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Packer {
    words: Vec<u32>,
    current: u64,
    filled: u32,
}

impl Packer {
    /// Forgets everything written.
    pub fn clear(&mut self) {
        self.words.clear();
        (self.current, self.filled) = (0, 0);
    }

    /// Writes the lowest `width` bits (at most 32) of a number.
    #[inline]
    pub fn put(&mut self, number: u32, width: u32) {
        self.current |= u64::from(number) << self.filled;
        self.filled += width;
        if self.filled >= 32 {
            self.words.push(self.current as u32);
            self.current >>= 32;
            self.filled -= 32;
        }
    }

    /// The words that are complete so far.
    pub fn written(&self) -> &[u32] {
        &self.words
    }

    /// The words, the last one filled up with zeros.
    pub fn finish(&mut self) -> &mut [u32] {
        if self.filled > 0 {
            self.words.push(self.current as u32);
            (self.current, self.filled) = (0, 0);
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
        numbers.iter().for_each(|(n, w)| packer.put(*n, *w));
        let words = packer.finish().to_vec();
        let mut unpacker = Unpacker::new(&words);
        for (number, width) in numbers {
            assert_eq!(unpacker.take(width), number);
        }
        assert_eq!([width(1), width(2), width(3), width(4), width(5)], [0, 1, 2, 2, 3]);
    }
}
