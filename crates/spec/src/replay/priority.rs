//! Which of two values leaves a priority queue first: numbers by size whatever their form, texts by
//! their characters, lists item by item.

use seriatim_history::{History, OpId, Value, ValueId, Values};
use std::cmp::Ordering;
use std::collections::HashMap;
use std::rc::Rc;

/// The priorities of the values of a history; the greatest leaves first.
#[derive(Clone)]
pub struct Priorities {
    is_max: bool,
    /// Where some value is not an integer of 64 bits: the place of each among all. Values that
    /// compare as equal share a place.
    places: Option<Rc<HashMap<ValueId, i64>>>,
}

impl Priorities {
    /// The priorities of what a history inserts and of what is there at the start.
    pub fn of(history: &History, init: &[ValueId], is_max: bool) -> Self {
        let values = history.values();
        let named = || (0..history.len()).map(|op| history.arg(OpId::from(op)));
        let named = || named().chain(init.iter().copied()).filter(|id| id.is_present());
        if named().all(|id| values.as_int(id).is_some()) {
            return Priorities { is_max, places: None };
        }
        let mut all: Vec<ValueId> = named().collect();
        all.sort_unstable();
        all.dedup();
        let mut all: Vec<(Value, ValueId)> =
            all.into_iter().map(|id| (values.get(id), id)).collect();
        all.sort_by(|a, b| compare(&a.0, &b.0));
        let groups = all.chunk_by(|a, b| compare(&a.0, &b.0) == Ordering::Equal);
        let placed = groups
            .enumerate()
            .flat_map(|(place, group)| group.iter().map(move |&(_, id)| (id, place as i64)));
        Priorities { is_max, places: Some(Rc::new(placed.collect())) }
    }

    /// The priority of a value; `None` for one that nothing ever inserts.
    #[inline]
    pub fn of_value(&self, values: &Values, id: ValueId) -> Option<i64> {
        let ascending = match &self.places {
            None => values.as_int(id)?,
            Some(places) => *places.get(&id)?,
        };
        // `!` turns the order round and has no overflow.
        Some(if self.is_max { ascending } else { !ascending })
    }
}

/// The order of two values.
pub fn compare(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::List(a), Value::List(b)) => {
            let items = a.iter().zip(b.iter()).map(|(a, b)| compare(a, b));
            items.chain([a.len().cmp(&b.len())]).find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
        }
        _ => match (Number::of(a), Number::of(b)) {
            (Some(a), Some(b)) => a.cmp(&b),
            _ => rank(a).cmp(&rank(b)).then_with(|| a.cmp(b)),
        },
    }
}

/// The order of the sorts of values.
fn rank(value: &Value) -> u8 {
    match value {
        Value::Nil => 0,
        Value::Bool(_) => 1,
        Value::Int(_) | Value::Number(_) => 2,
        Value::Text(_) => 3,
        Value::Name(_) => 4,
        Value::List(_) => 5,
        Value::Map(_) => 6,
    }
}

/// A number: one decimal over another, the lower one positive; or beyond all of them.
enum Number {
    Least,
    Fraction { over: Decimal, under: Decimal },
    Greatest,
}

impl Number {
    fn of(value: &Value) -> Option<Number> {
        let text = match value {
            Value::Int(number) => number.to_string(),
            Value::Number(text) => text.to_string(),
            _ => return None,
        };
        match &*text {
            "##-Inf" => return Some(Number::Least),
            "##Inf" => return Some(Number::Greatest),
            _ => {}
        }
        let (over, under) = text.split_once('/').unwrap_or((&text, "1"));
        let (over, under) = (Decimal::parse(over)?, Decimal::parse(under)?);
        (under.sign() > 0).then_some(Number::Fraction { over, under })
    }

    fn cmp(&self, other: &Number) -> Ordering {
        let size = |number: &Number| match number {
            Number::Least => -1,
            Number::Fraction { .. } => 0,
            Number::Greatest => 1,
        };
        match (self, other) {
            (Number::Fraction { over: a, under: b }, Number::Fraction { over: c, under: d }) => {
                a.times(d).cmp(&c.times(b))
            }
            _ => size(self).cmp(&size(other)),
        }
    }
}

/// A number of any size as its sign and the digits after `0.`, times a power of ten.
#[derive(PartialEq, Eq, Debug)]
struct Decimal {
    is_negative: bool,
    /// Without zeros at either end; none for zero.
    digits: Vec<u8>,
    power: i128,
}

impl Decimal {
    /// Reads `-12.50e+3`, and `12N` and `12.5M` as EDN writes them.
    fn parse(text: &str) -> Option<Decimal> {
        let is_negative = text.starts_with('-');
        let text = text.strip_prefix(['-', '+']).unwrap_or(text);
        let text = text.strip_suffix(['N', 'M']).unwrap_or(text);
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, i128::from(exponent.parse::<i64>().ok()?)),
            None => (text, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = [whole, fraction].concat();
        if all.is_empty() || !all.bytes().all(|digit| digit.is_ascii_digit()) {
            return None;
        }
        let zeros = all.bytes().take_while(|&digit| digit == b'0').count();
        let digits = all.trim_matches('0').as_bytes().to_vec();
        let power = (whole.len() as i128 - zeros as i128).checked_add(exponent)?;
        Some(match digits.is_empty() {
            true => Decimal { is_negative: false, digits, power: 0 },
            false => Decimal { is_negative, digits, power },
        })
    }

    fn sign(&self) -> i8 {
        match (self.digits.is_empty(), self.is_negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        }
    }

    /// The product, as it is done on paper.
    fn times(&self, other: &Decimal) -> Decimal {
        let mut places = vec![0u64; self.digits.len() + other.digits.len()];
        for (i, a) in self.digits.iter().enumerate() {
            for (j, b) in other.digits.iter().enumerate() {
                places[i + j + 1] += u64::from(a - b'0') * u64::from(b - b'0');
            }
        }
        let mut carried = 0;
        for place in places.iter_mut().rev() {
            carried += *place;
            *place = carried % 10;
            carried /= 10;
        }
        let zeros = places.iter().take_while(|place| **place == 0).count();
        let digits: String = places.iter().map(u64::to_string).collect();
        let digits = digits.trim_matches('0').as_bytes().to_vec();
        let power = self.power + other.power - zeros as i128;
        Decimal { is_negative: self.is_negative != other.is_negative, digits, power }
    }

    fn cmp(&self, other: &Decimal) -> Ordering {
        let size = || self.power.cmp(&other.power).then_with(|| self.digits.cmp(&other.digits));
        self.sign().cmp(&other.sign()).then_with(|| match self.sign() {
            0 => Ordering::Equal,
            1 => size(),
            _ => size().reverse(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_compare_by_size_whatever_their_form() {
        let ascending = [
            "##-Inf",
            "-1e400",
            "-18446744073709551616",
            "-9223372036854775808",
            "-10",
            "-9.5",
            "-9",
            "-8/3",
            "-7/3",
            "-0.10",
            "-0.01",
            "0",
            "1e-400",
            "0.09",
            "0.1",
            "1/3",
            "0.33333333333333333334",
            "2/3",
            "6/7",
            "99999999999999999999/100000000000000000001",
            "1",
            "2",
            "9.99",
            "10",
            "100.5",
            "9223372036854775807",
            "9223372036854775808",
            "18446744073709551615",
            "1e20",
            "1E+21",
            "12345678901234567890123N",
            "##Inf",
        ];
        let value = |text: &&str| match text.parse() {
            Ok(number) => Value::Int(number),
            Err(_) => Value::Number((*text).into()),
        };
        let ascending: Vec<Value> = ascending.iter().map(value).collect();
        for (i, a) in ascending.iter().enumerate() {
            for (j, b) in ascending.iter().enumerate() {
                assert_eq!(compare(a, b), i.cmp(&j), "{a} and {b}");
            }
        }
        for (a, b) in [
            ("1.0", "1"),
            ("1e1", "10"),
            ("-0.0", "0"),
            ("0.5M", "5e-1"),
            ("007", "7"),
            ("2/6", "1/3"),
        ] {
            let (a, b) = (Value::Number(a.into()), Value::Number(b.into()));
            assert_eq!(compare(&a, &b), Ordering::Equal, "{a} and {b}");
        }
    }
}
