//! The order of values where a specification has one: priorities.
//!
//! Numbers compare as numbers, whatever their size and form; texts compare as texts, names as
//! names, booleans with false first, lists item by item. Values of different sorts have no order:
//! whoever needs one must refuse them.

use crate::{Value, number};
use std::cmp::Ordering;

/// What sort of value it is, as far as order goes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Nil,
    Bool,
    Number,
    /// A number that cannot be compared: EDN's `##NaN`.
    Unordered,
    Text,
    Name,
    List,
    Map,
}

impl Kind {
    fn of(value: &Value) -> Kind {
        match value {
            Value::Nil => Kind::Nil,
            Value::Bool(_) => Kind::Bool,
            Value::Int(_) => Kind::Number,
            Value::Number(_) => match number::compare(value, &Value::Int(0)) {
                Some(_) => Kind::Number,
                None => Kind::Unordered,
            },
            Value::Text(_) => Kind::Text,
            Value::Name(_) => Kind::Name,
            Value::List(_) => Kind::List,
            Value::Map(_) => Kind::Map,
        }
    }

    fn is_ordered(self) -> bool {
        matches!(self, Kind::Bool | Kind::Number | Kind::Text | Kind::Name)
    }
}

impl Value {
    /// How two values compare; `None` where there is no order between them.
    ///
    /// ```
    /// use seriatim_history::Value;
    /// use std::cmp::Ordering;
    /// assert_eq!(Value::number("2.5").compare(&Value::Int(3)), Some(Ordering::Less));
    /// assert_eq!(Value::text("2").compare(&Value::Int(3)), None);
    /// ```
    pub fn compare(&self, other: &Value) -> Option<Ordering> {
        if self == other {
            return Some(Ordering::Equal);
        }
        if let (Value::List(a), Value::List(b)) = (self, other) {
            let different = a.iter().zip(b).find(|(x, y)| x != y);
            return different.map_or(Some(a.len().cmp(&b.len())), |(x, y)| x.compare(y));
        }
        let kind = Kind::of(self);
        (kind == Kind::of(other) && kind.is_ordered()).then(|| self.arrange(other))
    }

    /// An order of all values that puts those that [`compare`](Value::compare) as they do, and
    /// others by their sorts: for sorting. If any two of sorted values have no order, two
    /// neighbours have none.
    pub fn arrange(&self, other: &Value) -> Ordering {
        if let (Value::List(a), Value::List(b)) = (self, other) {
            let different = a.iter().zip(b).find(|(x, y)| x != y);
            return different.map_or(a.len().cmp(&b.len()), |(x, y)| x.arrange(y));
        }
        match Kind::of(self).cmp(&Kind::of(other)) {
            Ordering::Equal => number::compare(self, other).unwrap_or_else(|| self.cmp(other)),
            different => different,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorted_values_have_an_order_exactly_if_neighbours_have() {
        let int = Value::Int;
        let list = |items: &[Value]| Value::list(items.iter().cloned());
        let samples = [
            int(1),
            int(-3),
            Value::number("0.5"),
            Value::number("##NaN"),
            Value::number("##Inf"),
            Value::text("a"),
            Value::Name("a".into()),
            Value::Bool(true),
            Value::Nil,
            list(&[]),
            list(&[int(1)]),
            list(&[int(1), int(2)]),
            list(&[int(1), Value::text("a")]),
            list(&[Value::number("1.5"), Value::text("a")]),
        ];
        // Every three of them, and every six of some: what the neighbours say is what all pairs
        // say.
        let count = samples.len();
        for mask in 0u32..1 << count {
            let few = mask.count_ones() <= 3 || (mask.count_ones() == 6 && mask % 7 == 0);
            if !few {
                continue;
            }
            let mut chosen: Vec<&Value> =
                (0..count).filter(|i| mask >> i & 1 == 1).map(|i| &samples[i]).collect();
            chosen.sort_by(|a, b| a.arrange(b));
            let neighbours = chosen.windows(2).all(|two| two[0].compare(two[1]).is_some());
            let all = chosen.iter().all(|a| chosen.iter().all(|b| a.compare(b).is_some()));
            assert_eq!(neighbours, all, "{chosen:?}");
            if all {
                assert!(
                    chosen.windows(2).all(|two| two[0].compare(two[1]) == Some(Ordering::Less))
                );
            }
        }
    }
}
