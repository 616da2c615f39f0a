//! Random numbers for tests (xorshift).

/// The state of the generator; never zero.
pub struct Random(pub u64);

impl Random {
    /// A number below `count`.
    pub fn below(&mut self, count: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % count
    }
}
