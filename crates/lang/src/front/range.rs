//! Ranges of whole numbers, and whether the program states them.
//!
//! `int` without bounds is *any whole number* to a proof, and has a default range on the machine.
//! `int LOW..HIGH` is bounded for everybody, also where its bounds happen to be those of the
//! default range. So a range carries where it comes from, and nobody may tell one from the other by
//! its bounds. What is calculated from a number without bounds has none either, whatever interval
//! the calculation gives: a value of such a type fits a stated range only after a check.

/// The range of `int` without bounds in an algorithm.
const PLAIN: (i32, i32) = (-128, 127);
/// The range of `int` without bounds in a specification.
const WIDE: (i32, i32) = (i32::MIN / 4, i32::MAX / 4);

/// Where a range comes from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Origin {
    /// The text states it, or it is that of constants and of calculations with such.
    Stated,
    /// The text says `int`, or it was calculated from such a number.
    Default,
}

/// Whole numbers between two bounds, both included.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Range {
    /// The least number.
    pub low: i32,
    /// The greatest number.
    pub high: i32,
    /// Where the bounds come from.
    pub origin: Origin,
}

impl Range {
    /// A range that the text states.
    pub const fn stated(low: i32, high: i32) -> Range {
        Range { low, high, origin: Origin::Stated }
    }

    /// The range of `int` in an algorithm.
    pub const fn plain() -> Range {
        Range { low: PLAIN.0, high: PLAIN.1, origin: Origin::Default }
    }

    /// The range of `int` in a specification.
    pub const fn wide() -> Range {
        Range { low: WIDE.0, high: WIDE.1, origin: Origin::Default }
    }

    /// Whether nobody stated bounds: a proof takes such a number for any whole number.
    pub fn is_default(self) -> bool {
        self.origin == Origin::Default
    }

    /// Whether a number lies in the range.
    pub fn contains(self, number: i32) -> bool {
        (self.low..=self.high).contains(&number)
    }

    /// How many numbers there are, beyond any that can be counted if there are too many.
    pub fn count(self) -> u32 {
        (i64::from(self.high) - i64::from(self.low) + 1).clamp(0, u32::MAX.into()) as u32
    }

    /// Whether every number of this range lies in another one, whatever becomes of default ranges.
    pub fn is_within(self, other: Range) -> bool {
        let default = self.is_default() && !other.is_default();
        !default && other.low <= self.low && self.high <= other.high
    }

    /// The least range with the numbers of both.
    pub fn join(self, other: Range) -> Range {
        Range {
            low: self.low.min(other.low),
            high: self.high.max(other.high),
            origin: self.origin_with(other),
        }
    }

    /// The range of a calculation with numbers of both, whose corners are these.
    pub fn calculated(self, other: Range, f: fn(i32, i32) -> i32) -> Range {
        let corners = [
            f(self.low, other.low),
            f(self.low, other.high),
            f(self.high, other.low),
            f(self.high, other.high),
        ];
        let (low, high) = corners.iter().fold((i32::MAX, i32::MIN), |(low, high), corner| {
            (low.min(*corner), high.max(*corner))
        });
        Range { low, high, origin: self.origin_with(other) }
    }

    /// The numbers of the range with the other sign.
    pub fn negated(self) -> Range {
        Range { low: self.high.saturating_neg(), high: self.low.saturating_neg(), ..self }
    }

    /// Where a range comes from that rests on both.
    pub fn origin_with(self, other: Range) -> Origin {
        match self.is_default() || other.is_default() {
            true => Origin::Default,
            false => Origin::Stated,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stated_bounds_are_bounds_even_if_they_are_those_of_the_default_range() {
        let (plain, wide) = (Range::plain(), Range::wide());
        for default in [plain, wide] {
            let stated = Range::stated(default.low, default.high);
            assert_ne!(stated, default);
            assert!(stated.is_within(default) && !default.is_within(stated));
            assert!(default.join(stated).is_default() && stated.join(default).is_default());
            assert!(default.negated().is_default() && !stated.negated().is_default());
        }
        let sum = plain.calculated(Range::stated(1, 1), i32::saturating_add);
        assert_eq!((sum.low, sum.high), (-127, 128));
        assert!(sum.is_default() && !sum.is_within(Range::stated(-1000, 1000)));
        assert!(plain.is_within(wide) && !wide.is_within(plain));
    }
}
