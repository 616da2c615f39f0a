//! Tables that give equal things equal small numbers.

use rustc_hash::{FxHashMap, FxHasher};
use std::hash::{Hash, Hasher};

/// Numbers things of one type.
#[derive(Debug)]
pub struct Interner<T> {
    items: Vec<T>,
    numbers: FxHashMap<T, u32>,
}

impl<T> Default for Interner<T> {
    fn default() -> Self {
        Interner { items: Vec::new(), numbers: FxHashMap::default() }
    }
}

impl<T: Clone + Eq + Hash> Interner<T> {
    /// The number of a thing.
    pub fn intern(&mut self, item: T) -> u32 {
        if let Some(number) = self.numbers.get(&item) {
            return *number;
        }
        self.items.push(item.clone());
        let number = self.items.len() as u32 - 1;
        self.numbers.insert(item, number);
        number
    }

    /// The thing of this number.
    pub fn get(&self, number: u32) -> &T {
        &self.items[number as usize]
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.items.len()
    }
}

/// Numbers slices; all slices lie in one vector.
#[derive(Debug)]
pub struct SliceInterner<T> {
    data: Vec<T>,
    ends: Vec<usize>,
    table: Vec<u32>,
}

impl<T> Default for SliceInterner<T> {
    fn default() -> Self {
        SliceInterner { data: Vec::new(), ends: Vec::new(), table: vec![u32::MAX; 64] }
    }
}

impl<T: Copy + Eq + Hash> SliceInterner<T> {
    /// The number of a slice that is known.
    pub fn find(&self, slice: &[T]) -> Option<u32> {
        self.place(slice).ok()
    }

    /// The number of a slice.
    pub fn intern(&mut self, slice: &[T]) -> u32 {
        if (self.ends.len() + 1) * 4 > self.table.len() * 3 {
            self.grow();
        }
        let at = match self.place(slice) {
            Ok(number) => return number,
            Err(at) => at,
        };
        let number = self.ends.len() as u32;
        self.table[at] = number;
        self.data.extend_from_slice(slice);
        self.ends.push(self.data.len());
        number
    }

    /// The number of a slice, or its place in the table.
    fn place(&self, slice: &[T]) -> Result<u32, usize> {
        let mask = self.table.len() - 1;
        let mut at = hash(slice) as usize & mask;
        loop {
            match self.table[at] {
                u32::MAX => return Err(at),
                number if self.get(number) == slice => return Ok(number),
                _ => at = (at + 1) & mask,
            }
        }
    }

    /// The slice of this number.
    pub fn get(&self, number: u32) -> &[T] {
        let number = number as usize;
        let start = if number == 0 { 0 } else { self.ends[number - 1] };
        &self.data[start..self.ends[number]]
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// How many bytes they take.
    pub fn bytes(&self) -> usize {
        self.data.capacity() * size_of::<T>() + self.ends.capacity() * 8 + self.table.len() * 4
    }

    fn grow(&mut self) {
        let size = self.table.len() * 2;
        let mut table = vec![u32::MAX; size];
        for number in 0..self.ends.len() as u32 {
            let mut at = hash(self.get(number)) as usize & (size - 1);
            while table[at] != u32::MAX {
                at = (at + 1) & (size - 1);
            }
            table[at] = number;
        }
        self.table = table;
    }
}

fn hash<T: Hash>(slice: &[T]) -> u64 {
    let mut hasher = FxHasher::default();
    slice.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_slices_have_equal_numbers() {
        let mut table = SliceInterner::default();
        let numbers: Vec<u32> = (0..500u32).map(|i| table.intern(&[i % 100, 0])).collect();
        assert_eq!(numbers[3], numbers[103]);
        assert_ne!(numbers[3], numbers[4]);
        assert_eq!(table.len(), 100);
        assert_eq!(table.get(numbers[42]), [42, 0]);
    }
}
