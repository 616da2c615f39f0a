//! A row of small numbers, one for each word of memory. A state has dozens of them and is copied at
//! every step, so that a row of few numbers lies where its owner does, without memory of its own.

use std::ops::{Deref, DerefMut};

/// So many numbers need no memory of their own.
const FEW: usize = 20;

/// Numbers, one for each word.
#[derive(Clone, Debug)]
pub enum Row {
    /// So many of these.
    Few(u8, [u16; FEW]),
    /// All of these.
    Many(Vec<u16>),
}

impl Default for Row {
    fn default() -> Self {
        Row::Few(0, [0; FEW])
    }
}

impl Row {
    /// So many zeros.
    pub fn zeros(len: usize) -> Row {
        match len {
            0..=FEW => Row::Few(len as u8, [0; FEW]),
            _ => Row::Many(vec![0; len]),
        }
    }

    /// Adds a number at the end.
    pub fn push(&mut self, number: u16) {
        match self {
            Row::Few(len, few) if usize::from(*len) < FEW => {
                few[usize::from(*len)] = number;
                *len += 1;
            }
            Row::Few(_, few) => *self = Row::Many([&few[..], &[number]].concat()),
            Row::Many(many) => many.push(number),
        }
    }

    /// Keeps the numbers of these words; those beyond the end are kept.
    pub fn keep(&mut self, kept: &[bool]) {
        let is_kept = |at: usize| kept.get(at).copied().unwrap_or(true);
        match self {
            Row::Few(len, few) => {
                let mut to = 0;
                for at in (0..usize::from(*len)).filter(|at| is_kept(*at)) {
                    few[to] = few[at];
                    to += 1;
                }
                *len = to as u8;
            }
            Row::Many(many) => {
                let mut words = 0..;
                many.retain(|_| words.next().is_none_or(is_kept));
            }
        }
    }
}

impl Deref for Row {
    type Target = [u16];

    fn deref(&self) -> &[u16] {
        match self {
            Row::Few(len, few) => &few[..usize::from(*len)],
            Row::Many(many) => many,
        }
    }
}

impl DerefMut for Row {
    fn deref_mut(&mut self) -> &mut [u16] {
        match self {
            Row::Few(len, few) => &mut few[..usize::from(*len)],
            Row::Many(many) => many,
        }
    }
}

impl PartialEq for Row {
    fn eq(&self, other: &Row) -> bool {
        **self == **other
    }
}

impl Eq for Row {}

impl Extend<u16> for Row {
    fn extend<I: IntoIterator<Item = u16>>(&mut self, numbers: I) {
        numbers.into_iter().for_each(|number| self.push(number));
    }
}

impl FromIterator<u16> for Row {
    fn from_iter<I: IntoIterator<Item = u16>>(numbers: I) -> Row {
        let mut row = Row::default();
        row.extend(numbers);
        row
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_a_vector_whatever_its_length() {
        for len in 0..3 * FEW {
            let numbers = || (0..len as u16).map(|number| number * 7);
            let mut row: Row = numbers().collect();
            let mut vector: Vec<u16> = numbers().collect();
            assert_eq!((*row).to_vec(), vector);
            let kept: Vec<bool> = (0..len / 2).map(|at| at % 3 != 1).collect();
            row.keep(&kept);
            let mut words = kept.iter();
            vector.retain(|_| *words.next().unwrap_or(&true));
            assert_eq!((*row).to_vec(), vector);
            assert_eq!((*Row::zeros(len)).to_vec(), vec![0; len]);
        }
    }
}
