//! Numbers grouped by a small key, in the order in which they came: a bucket sort.

/// For each key, the numbers that came with it.
pub(in crate::fast) struct Buckets {
    /// By key, where its numbers end.
    ends: Vec<u32>,
    numbers: Vec<u32>,
}

impl Buckets {
    /// Groups `(key, number)` pairs; keys are below `keys`.
    pub fn new(keys: usize, pairs: impl Iterator<Item = (u32, u32)> + Clone) -> Self {
        Buckets::reusing(Vec::new(), keys, pairs)
    }

    /// The same with room that an earlier one has left.
    pub fn reusing(
        mut ends: Vec<u32>,
        keys: usize,
        pairs: impl Iterator<Item = (u32, u32)> + Clone,
    ) -> Self {
        ends.clear();
        ends.resize(keys + 1, 0);
        for (key, _) in pairs.clone() {
            ends[key as usize + 1] += 1;
        }
        for key in 1..ends.len() {
            ends[key] += ends[key - 1];
        }
        let mut numbers = vec![0; ends[keys] as usize];
        for (key, number) in pairs {
            // The start of a key moves on to its end, which is the start of the next.
            let place = &mut ends[key as usize];
            numbers[*place as usize] = number;
            *place += 1;
        }
        Buckets { ends, numbers }
    }

    /// The numbers of a key, in the order in which they came.
    #[inline]
    pub fn of(&self, key: usize) -> &[u32] {
        let from = match key {
            0 => 0,
            _ => self.ends[key - 1],
        };
        &self.numbers[from as usize..self.ends[key] as usize]
    }

    /// All numbers, sorted by key.
    pub fn into_numbers(self) -> Vec<u32> {
        self.numbers
    }

    /// All numbers, sorted by key, and room for another one.
    pub fn into_parts(self) -> (Vec<u32>, Vec<u32>) {
        (self.numbers, self.ends)
    }
}
