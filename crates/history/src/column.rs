//! A column of unsigned numbers that is only as wide as its largest number needs.
//!
//! A history keeps each attribute of its operations in one column. Most attributes are small (a
//! process below 256, a method below 10) or absent throughout (no object, no key), and a history of
//! ten million operations should not pay eight bytes for each of them. A column starts with no
//! width at all (every number is zero) and widens to 1, 2, 4 or 8 bytes when a larger number
//! arrives. Widening copies the column, at most four times in its life. Numbers that ascend one by
//! one, as the lines of most logs do, have no width either.

/// A growable column of `u64` numbers stored in the least of 0, 1, 2, 4 or 8 bytes each.
///
/// ```
/// use seriatim_history::Column;
/// let mut column = Column::default();
/// column.extend([0, 0, 7, 300]);
/// assert_eq!(column.get(3), 300);
/// assert_eq!(column.bytes_per_entry(), 2);
/// ```
#[derive(Clone, Debug)]
pub struct Column(Width);

#[derive(Clone, Debug)]
enum Width {
    /// Zeros; or, if the first is another number, numbers that ascend from it one by one.
    None {
        first: u64,
        len: usize,
    },
    One(Vec<u8>),
    Two(Vec<u16>),
    Four(Vec<u32>),
    Eight(Vec<u64>),
}

impl Default for Column {
    fn default() -> Self {
        Column(Width::None { first: 0, len: 0 })
    }
}

impl Column {
    /// How many numbers the column holds.
    pub fn len(&self) -> usize {
        match &self.0 {
            Width::None { len, .. } => *len,
            Width::One(v) => v.len(),
            Width::Two(v) => v.len(),
            Width::Four(v) => v.len(),
            Width::Eight(v) => v.len(),
        }
    }

    /// Whether the column holds no number.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes that one number takes: 0, 1, 2, 4 or 8.
    pub fn bytes_per_entry(&self) -> usize {
        match &self.0 {
            Width::None { .. } => 0,
            Width::One(_) => 1,
            Width::Two(_) => 2,
            Width::Four(_) => 4,
            Width::Eight(_) => 8,
        }
    }

    /// The heap memory in use, in bytes (spare capacity not counted).
    pub fn bytes(&self) -> usize {
        self.len() * self.bytes_per_entry()
    }

    /// The number at `index`. Panics when there is none.
    #[inline(always)]
    pub fn get(&self, index: usize) -> u64 {
        match &self.0 {
            Width::None { first, len } => {
                assert!(index < *len, "index {index} out of a column of {len}");
                without_width(*first, index)
            }
            Width::One(v) => u64::from(v[index]),
            Width::Two(v) => u64::from(v[index]),
            Width::Four(v) => u64::from(v[index]),
            Width::Eight(v) => v[index],
        }
    }

    /// Appends a number, widening the column when it does not fit.
    #[inline(always)]
    pub fn push(&mut self, value: u64) {
        match &mut self.0 {
            Width::None { first, len } if goes_on(*first, *len, value) => *len += 1,
            Width::One(v) if value <= u64::from(u8::MAX) => v.push(value as u8),
            Width::Two(v) if value <= u64::from(u16::MAX) => v.push(value as u16),
            Width::Four(v) if value <= u64::from(u32::MAX) => v.push(value as u32),
            Width::Eight(v) => v.push(value),
            _ => self.push_wider(value),
        }
    }

    #[cold]
    fn push_wider(&mut self, value: u64) {
        self.widen_for(value);
        self.push(value);
    }

    /// Replaces the number at `index`, widening the column when it does not fit.
    #[inline]
    pub fn set(&mut self, index: usize, value: u64) {
        match &mut self.0 {
            Width::None { first: 0, len } if value == 0 => assert!(index < *len),
            Width::One(v) if value <= u64::from(u8::MAX) => v[index] = value as u8,
            Width::Two(v) if value <= u64::from(u16::MAX) => v[index] = value as u16,
            Width::Four(v) if value <= u64::from(u32::MAX) => v[index] = value as u32,
            Width::Eight(v) => v[index] = value,
            _ => self.set_wider(index, value),
        }
    }

    #[cold]
    fn set_wider(&mut self, index: usize, value: u64) {
        self.widen_for(value);
        self.set(index, value);
    }

    /// Appends many numbers at once, widening the column at most once.
    pub fn append<T: Copy + Into<u64>>(&mut self, values: &[T]) {
        if self.goes_on_with(values) {
            return;
        }
        let most = values.iter().fold(0, |most, &value| most | value.into());
        if !self.holds(most) {
            self.widen_for(most);
        }
        match &mut self.0 {
            Width::None { len, .. } => *len += values.len(),
            Width::One(v) => v.extend(values.iter().map(|&value| value.into() as u8)),
            Width::Two(v) => v.extend(values.iter().map(|&value| value.into() as u16)),
            Width::Four(v) => v.extend(values.iter().map(|&value| value.into() as u32)),
            Width::Eight(v) => v.extend(values.iter().map(|&value| value.into())),
        }
    }

    /// Appends numbers that ascend one by one, if those before them do.
    fn goes_on_with<T: Copy + Into<u64>>(&mut self, values: &[T]) -> bool {
        let (Width::None { first, len }, [new, _, ..]) = (&mut self.0, values) else {
            return false;
        };
        let begin = if *len == 0 { (*new).into() } else { *first };
        let mut places = values.iter().zip(*len..);
        if begin == 0 || !places.all(|(&value, at)| goes_on(begin, at, value.into())) {
            return false;
        }
        (*first, *len) = (begin, *len + values.len());
        true
    }

    /// Appends zeros.
    pub fn append_zeros(&mut self, count: usize) {
        if matches!(self.0, Width::None { first: 1.., .. }) {
            self.widen_for(0);
        }
        match &mut self.0 {
            Width::None { len, .. } => *len += count,
            Width::One(v) => v.resize(v.len() + count, 0),
            Width::Two(v) => v.resize(v.len() + count, 0),
            Width::Four(v) => v.resize(v.len() + count, 0),
            Width::Eight(v) => v.resize(v.len() + count, 0),
        }
    }

    /// Copies the numbers from `start` on, as many as `out` has room for: `out[0]` is the number at
    /// `start`. Panics when there are not enough.
    #[inline]
    pub fn read<T: Taken>(&self, start: usize, out: &mut [T]) {
        fn copy<S: Copy + Into<u64>, T: Taken>(values: &[S], out: &mut [T]) {
            for (place, &value) in out.iter_mut().zip(values) {
                *place = T::taken(value.into());
            }
        }
        let range = start..start + out.len();
        match &self.0 {
            Width::None { first, len } => {
                assert!(range.end <= *len, "{range:?} out of a column of {len}");
                match first {
                    0 => out.fill(T::taken(0)),
                    _ => out
                        .iter_mut()
                        .zip(first + start as u64..)
                        .for_each(|(place, number)| *place = T::taken(number)),
                }
            }
            Width::One(v) => copy(&v[range], out),
            Width::Two(v) => copy(&v[range], out),
            Width::Four(v) => copy(&v[range], out),
            Width::Eight(v) => copy(&v[range], out),
        }
    }

    /// How many of the numbers are zero.
    pub fn zeros(&self) -> usize {
        fn count<T: Default + PartialEq>(values: &[T]) -> usize {
            values.iter().filter(|&value| *value == T::default()).count()
        }
        match &self.0 {
            Width::None { first, len } => {
                if *first == 0 {
                    *len
                } else {
                    0
                }
            }
            Width::One(v) => count(v),
            Width::Two(v) => count(v),
            Width::Four(v) => count(v),
            Width::Eight(v) => count(v),
        }
    }

    /// Whether the column is wide enough for a number.
    #[inline]
    fn holds(&self, value: u64) -> bool {
        if let Width::None { first: 1.., .. } = self.0 {
            return false;
        }
        let bits = 8 * self.bytes_per_entry() as u32;
        value.checked_shr(bits).unwrap_or(0) == 0
    }

    /// The numbers, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = u64> + '_ {
        (0..self.len()).map(|index| self.get(index))
    }

    /// The column with its numbers in the order that `order` names: entry `i` of the result is
    /// entry `order[i]` of this one.
    pub fn permuted(&self, order: &[u32]) -> Column {
        fn pick<T: Copy>(values: &[T], order: &[u32]) -> Vec<T> {
            order.iter().map(|&index| values[index as usize]).collect()
        }
        Column(match &self.0 {
            Width::None { first: 0, .. } => Width::None { first: 0, len: order.len() },
            Width::None { .. } => {
                return order.iter().map(|&index| self.get(index as usize)).collect();
            }
            Width::One(v) => Width::One(pick(v, order)),
            Width::Two(v) => Width::Two(pick(v, order)),
            Width::Four(v) => Width::Four(pick(v, order)),
            Width::Eight(v) => Width::Eight(pick(v, order)),
        })
    }

    /// Gives back the spare capacity.
    pub fn shrink_to_fit(&mut self) {
        match &mut self.0 {
            Width::None { .. } => {}
            Width::One(v) => v.shrink_to_fit(),
            Width::Two(v) => v.shrink_to_fit(),
            Width::Four(v) => v.shrink_to_fit(),
            Width::Eight(v) => v.shrink_to_fit(),
        }
    }

    #[cold]
    fn widen_for(&mut self, value: u64) {
        // Of numbers that have a width, those that are there fit into it.
        let value = match self.0 {
            Width::None { first: first @ 1.., len } => value | (first + (len as u64 - 1)),
            _ => value,
        };
        self.0 = if value <= u64::from(u8::MAX) {
            Width::One(self.iter().map(|v| v as u8).collect())
        } else if value <= u64::from(u16::MAX) {
            Width::Two(self.iter().map(|v| v as u16).collect())
        } else if value <= u64::from(u32::MAX) {
            Width::Four(self.iter().map(|v| v as u32).collect())
        } else {
            Width::Eight(self.iter().collect())
        };
    }
}

/// The number at a place of a column without width.
#[inline]
fn without_width(first: u64, index: usize) -> u64 {
    if first == 0 { 0 } else { first + index as u64 }
}

/// Whether a number goes on with a column of a length without width.
#[inline]
fn goes_on(first: u64, len: usize, value: u64) -> bool {
    match first {
        0 => value == 0,
        _ => first.checked_add(len as u64) == Some(value),
    }
}

impl Extend<u64> for Column {
    fn extend<I: IntoIterator<Item = u64>>(&mut self, values: I) {
        for value in values {
            self.push(value);
        }
    }
}

impl FromIterator<u64> for Column {
    fn from_iter<I: IntoIterator<Item = u64>>(values: I) -> Self {
        let mut column = Column::default();
        column.extend(values);
        column
    }
}

/// A number that [`Column::read`] can give: `u64`, or `u32` where the numbers are known to be
/// small.
pub trait Taken: Copy {
    /// The number, cut to its width.
    fn taken(number: u64) -> Self;
}

impl Taken for u64 {
    #[inline]
    fn taken(number: u64) -> u64 {
        number
    }
}

impl Taken for u32 {
    #[inline]
    fn taken(number: u64) -> u32 {
        number as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_a_vector_whatever_widths_it_went_through() {
        let limits = [0, 1, 255, 256, 65_535, 65_536, u64::from(u32::MAX), 1 << 32, u64::MAX];
        for first in limits {
            for second in limits {
                let numbers = vec![0, first, second, 3, first];
                let mut column: Column = numbers.iter().copied().collect();
                assert_eq!(column.iter().collect::<Vec<_>>(), numbers);
                column.set(0, second);
                assert_eq!(column.get(0), second);
                let turned = column.permuted(&[4, 3, 2, 1, 0]);
                assert_eq!(turned.iter().collect::<Vec<_>>(), [first, 3, second, first, second]);
            }
        }
    }

    #[test]
    fn many_numbers_at_once_are_what_one_at_a_time_are() {
        let limits = [0, 1, 255, 256, 65_535, 65_536, u64::from(u32::MAX), 1 << 32, u64::MAX];
        for first in limits {
            for second in limits {
                let numbers = [first, 0, second, 7];
                let mut column = Column::default();
                column.append(&numbers[..1]);
                column.append_zeros(1);
                column.append(&numbers[2..]);
                assert_eq!(column.iter().collect::<Vec<_>>(), numbers);
                let one_by_one: Column = numbers.iter().copied().collect();
                assert_eq!(column.bytes_per_entry(), one_by_one.bytes_per_entry());
                let mut read = [0u64; 3];
                column.read(1, &mut read);
                assert_eq!(read, numbers[1..]);
                assert_eq!(column.zeros(), numbers.iter().filter(|&&n| n == 0).count());
            }
        }
    }

    #[test]
    fn a_column_of_zeros_takes_no_memory_nor_one_of_steps() {
        let column: Column = std::iter::repeat_n(0, 1000).collect();
        assert_eq!((column.len(), column.bytes()), (1000, 0));
        let mut column = Column::default();
        (0..10u64).for_each(|batch| {
            column.append(&(7 + 100 * batch..107 + 100 * batch).collect::<Vec<_>>())
        });
        column.push(1007);
        assert_eq!((column.len(), column.bytes(), column.get(1000)), (1001, 0, 1007));
    }

    /// Steps, broken in every way, are a vector.
    #[test]
    fn numbers_that_ascend_for_a_while_are_a_vector() {
        for first in [0, 1, 250, 65_530, u64::from(u32::MAX) - 4, u64::MAX - 12] {
            for next in [0, 1, first + 5, first + 6, 300, u64::MAX] {
                for way in 0..4 {
                    let mut numbers: Vec<u64> = (first..first + 6).collect();
                    let mut column = Column::default();
                    column.append(&numbers);
                    match way {
                        0 => column.push(next),
                        1 => column.append(&[next, next]),
                        2 => column.append_zeros(2),
                        _ => column.set(2, next),
                    }
                    match way {
                        0 => numbers.push(next),
                        1 => numbers.extend([next, next]),
                        2 => numbers.extend([0, 0]),
                        _ => numbers[2] = next,
                    }
                    assert_eq!(column.iter().collect::<Vec<_>>(), numbers);
                    let mut read = vec![0u64; numbers.len() - 1];
                    column.read(1, &mut read);
                    assert_eq!(read, numbers[1..]);
                    assert_eq!(column.zeros(), numbers.iter().filter(|&&n| n == 0).count());
                    let turned = column.permuted(&[5, 0, 3]);
                    let picked = [numbers[5], numbers[0], numbers[3]];
                    assert_eq!(turned.iter().collect::<Vec<_>>(), picked);
                }
            }
        }
    }
}
