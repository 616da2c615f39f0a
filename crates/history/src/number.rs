//! Numbers by what they are worth, however they are written and however large they are.
//!
//! `1`, `1.0`, `1e0`, `1N` and `2/2` are one number, and so one value: [`canonical`] gives every
//! number one spelling, so that values of a history are equal exactly when their numbers are.
//! Nothing is rounded: a number is its decimal digits times a power of ten, or a fraction that no
//! decimal is worth. What would make this wrong: two spellings of one number that survive, so each
//! of the forms has a side condition below that makes it the only one.

use crate::Value;
use std::cmp::Ordering;

/// A number that is exactly known.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Exact {
    /// Digits times a power of ten. The digits neither begin nor end with 0; none at all is zero.
    Decimal { negative: bool, digits: Vec<u8>, exponent: i64 },
    /// A fraction in lowest terms whose denominator has a factor besides 2 and 5.
    Ratio { negative: bool, over: Vec<u8>, under: Vec<u8> },
}

/// The value of a number as it is written; [`Value::Number`] as it stands where it is none that can
/// be told exactly (`##NaN`, an exponent of twenty digits).
pub(crate) fn canonical(text: &str) -> Value {
    match Exact::parse(text) {
        Some(exact) => exact.value(),
        None => Value::Number(text.into()),
    }
}

/// How two numbers compare; `None` where one of them is not a number or cannot be told.
pub(crate) fn compare(a: &Value, b: &Value) -> Option<Ordering> {
    if let (Value::Int(a), Value::Int(b)) = (a, b) {
        return Some(a.cmp(b));
    }
    match (infinity(a), infinity(b)) {
        (0, 0) => Some(Exact::of(a)?.cmp(&Exact::of(b)?)),
        // The other one must be a number all the same.
        (0, _) => Exact::of(a).map(|_| 0.cmp(&infinity(b))),
        (_, 0) => Exact::of(b).map(|_| infinity(a).cmp(&0)),
        (a, b) => Some(a.cmp(&b)),
    }
}

/// 1 for EDN's `##Inf`, -1 for `##-Inf`, 0 for everything else.
fn infinity(value: &Value) -> i8 {
    match value {
        Value::Number(text) if &**text == "##Inf" => 1,
        Value::Number(text) if &**text == "##-Inf" => -1,
        _ => 0,
    }
}

/// How many zeros are written out before a power of ten is.
const MOST_ZEROS: i64 = 40;
const FEWEST_PLACES: i64 = -MOST_ZEROS;

impl Exact {
    fn of(value: &Value) -> Option<Exact> {
        match value {
            Value::Int(number) => Exact::parse(&number.to_string()),
            Value::Number(text) => Exact::parse(text),
            _ => None,
        }
    }

    /// The number that a text of JSON or EDN says.
    fn parse(text: &str) -> Option<Exact> {
        let text = text.strip_prefix('+').unwrap_or(text);
        let (negative, size) = match text.strip_prefix('-') {
            Some(size) => (true, size),
            None => (false, text),
        };
        if let Some((over, under)) = size.split_once('/') {
            return Exact::ratio(negative, plain(over)?, plain(under)?);
        }
        let size = size.strip_suffix(['N', 'M']).unwrap_or(size);
        let (mantissa, exponent) = match size.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent),
            None => (size, "0"),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let power = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        if whole.is_empty()
            || power.is_empty()
            || ![whole, fraction, power].map(is_digits)[..].iter().all(|is| *is)
        {
            return None;
        }
        let digits: Vec<u8> =
            whole.bytes().chain(fraction.bytes()).map(|byte| byte - b'0').collect();
        if digits.iter().all(|digit| *digit == 0) {
            return Some(Exact::zero());
        }
        let exponent: i64 = exponent.parse().ok()?;
        let exponent = exponent.checked_sub(i64::try_from(fraction.len()).ok()?)?;
        Exact::decimal(negative, digits, exponent)
    }

    fn zero() -> Exact {
        Exact::Decimal { negative: false, digits: Vec::new(), exponent: 0 }
    }

    /// A decimal without zeros at either end of its digits.
    fn decimal(negative: bool, digits: Vec<u8>, exponent: i64) -> Option<Exact> {
        let first = digits.iter().position(|digit| *digit != 0);
        let Some(first) = first else { return Some(Exact::zero()) };
        let last = digits.iter().rposition(|digit| *digit != 0).unwrap_or(first);
        let dropped = i64::try_from(digits.len() - 1 - last).ok()?;
        let digits = digits[first..=last].to_vec();
        let exponent = exponent.checked_add(dropped)?;
        // The place of the first digit must be a number too, since numbers are compared by it.
        exponent.checked_add(i64::try_from(digits.len()).ok()?)?;
        Some(Exact::Decimal { negative, digits, exponent })
    }

    /// A fraction in lowest terms, or the decimal that it is worth.
    fn ratio(negative: bool, over: Vec<u8>, under: Vec<u8>) -> Option<Exact> {
        if under.is_empty() {
            return None;
        }
        let common = gcd(over.clone(), under.clone());
        let (over, under) = (divide(&over, &common).0, divide(&under, &common).0);
        let (mut digits, mut rest) = (over.clone(), under.clone());
        let mut exponent = 0;
        for (factor, other) in [(2, 5), (5, 2)] {
            while let (quotient, left) = divide(&rest, &[factor])
                && left.is_empty()
            {
                rest = quotient;
                digits = times(&digits, &[other]);
                exponent -= 1;
            }
        }
        match rest[..] {
            [1] => Exact::decimal(negative, digits, exponent),
            _ => Some(Exact::Ratio { negative, over, under }),
        }
    }

    fn value(&self) -> Value {
        let (negative, digits, exponent) = match self {
            Exact::Ratio { negative, over, under } => {
                let sign = if *negative { "-" } else { "" };
                return Value::Number(format!("{sign}{}/{}", shown(over), shown(under)).into());
            }
            Exact::Decimal { negative, digits, exponent } => (*negative, digits, *exponent),
        };
        let sign = if negative { "-" } else { "" };
        let shown = shown(digits);
        let text = match exponent {
            _ if digits.is_empty() => "0".to_owned(),
            0..=MOST_ZEROS => format!("{sign}{shown}{}", "0".repeat(exponent as usize)),
            _ if exponent < 0 && exponent.unsigned_abs() < shown.len() as u64 => {
                let (whole, fraction) =
                    shown.split_at(shown.len() - exponent.unsigned_abs() as usize);
                format!("{sign}{whole}.{fraction}")
            }
            FEWEST_PLACES..0 => {
                let zeros = "0".repeat(exponent.unsigned_abs() as usize - shown.len());
                format!("{sign}0.{zeros}{shown}")
            }
            _ => format!("{sign}{shown}e{exponent}"),
        };
        match text.parse() {
            Ok(number) => Value::Int(number),
            Err(_) => Value::Number(text.into()),
        }
    }

    /// -1, 0 or 1.
    fn sign(&self) -> i8 {
        match self {
            Exact::Decimal { digits, .. } if digits.is_empty() => 0,
            Exact::Decimal { negative: true, .. } | Exact::Ratio { negative: true, .. } => -1,
            _ => 1,
        }
    }

    fn cmp(&self, other: &Exact) -> Ordering {
        match self.sign().cmp(&other.sign()) {
            Ordering::Equal if self.sign() < 0 => other.cmp_size(self),
            Ordering::Equal => self.cmp_size(other),
            different => different,
        }
    }

    /// Compares without the signs.
    fn cmp_size(&self, other: &Exact) -> Ordering {
        use Exact::{Decimal, Ratio};
        match (self, other) {
            (Decimal { digits: a, exponent: x, .. }, Decimal { digits: b, exponent: y, .. }) => {
                // Both begin with a digit that is not 0: the one that begins higher is larger.
                let place = |digits: &[u8], exponent: i64| exponent + digits.len() as i64;
                (place(a, *x), a).cmp(&(place(b, *y), b))
            }
            (Ratio { over, under, .. }, Ratio { over: over_b, under: under_b, .. }) => {
                let (a, b) = (times(over, under_b), times(over_b, under));
                (a.len(), a).cmp(&(b.len(), b))
            }
            (Ratio { over, under, .. }, Decimal { digits, exponent, .. }) => {
                cmp_ratio((over, under), digits, *exponent)
            }
            (Decimal { digits, exponent, .. }, Ratio { over, under, .. }) => {
                cmp_ratio((over, under), digits, *exponent).reverse()
            }
        }
    }
}

/// Compares a fraction with digits times a power of ten.
fn cmp_ratio((over, under): (&[u8], &[u8]), digits: &[u8], exponent: i64) -> Ordering {
    // The fraction lies between the powers of ten of `most - 2` and `most`; so must a decimal that
    // is to be compared digit by digit.
    let most = over.len() as i64 - under.len() as i64 + 1;
    let place = exponent + digits.len() as i64;
    if digits.is_empty() || place <= most - 2 {
        return Ordering::Greater;
    }
    if place > most {
        return Ordering::Less;
    }
    let mut left = over.to_vec();
    let mut right = times(under, digits);
    let longer = if exponent < 0 { &mut left } else { &mut right };
    longer.resize(longer.len() + exponent.unsigned_abs() as usize, 0);
    (left.len(), left).cmp(&(right.len(), right))
}

fn shown(digits: &[u8]) -> String {
    digits.iter().map(|digit| char::from(b'0' + digit)).collect()
}

/// The digits of a whole number, without zeros in front; none at all is zero.
fn plain(text: &str) -> Option<Vec<u8>> {
    let is_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let digits = text.trim_start_matches('0').bytes().map(|byte| byte - b'0');
    is_digits.then(|| digits.collect())
}

fn gcd(mut a: Vec<u8>, mut b: Vec<u8>) -> Vec<u8> {
    while !b.is_empty() {
        (a, b) = (b.clone(), divide(&a, &b).1);
    }
    a
}

/// The quotient and the rest of two numbers by their digits, as one divides on paper.
fn divide(a: &[u8], b: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let (mut quotient, mut rest) = (Vec::new(), Vec::new());
    for &digit in a {
        if digit != 0 || !rest.is_empty() {
            rest.push(digit);
        }
        let mut times = 0;
        while (rest.len(), &rest[..]) >= (b.len(), b) {
            rest = minus(&rest, b);
            times += 1;
        }
        if times != 0 || !quotient.is_empty() {
            quotient.push(times);
        }
    }
    (quotient, rest)
}

/// The difference of two numbers by their digits; the first is not the smaller one.
fn minus(a: &[u8], b: &[u8]) -> Vec<u8> {
    let mut digits = a.to_vec();
    let mut borrowed = 0;
    for (place, digit) in digits.iter_mut().rev().enumerate() {
        let taken = b.len().checked_sub(place + 1).map_or(0, |at| b[at]) + borrowed;
        borrowed = u8::from(*digit < taken);
        *digit = *digit + 10 * borrowed - taken;
    }
    digits.into_iter().skip_while(|digit| *digit == 0).collect()
}

/// The product of two numbers by their digits, the highest first, without zeros in front.
fn times(a: &[u8], b: &[u8]) -> Vec<u8> {
    let mut sums = vec![0u32; a.len() + b.len()];
    for (i, x) in a.iter().rev().enumerate() {
        let mut carry = 0;
        for (j, y) in b.iter().rev().enumerate() {
            let sum = sums[i + j] + u32::from(*x) * u32::from(*y) + carry;
            (sums[i + j], carry) = (sum % 10, sum / 10);
        }
        sums[i + b.len()] += carry;
    }
    let product = sums.into_iter().rev().skip_while(|digit| *digit == 0);
    product.map(|digit| digit as u8).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The spellings of `over / 10^under`, as JSON and EDN have them.
    fn spellings(over: i64, under: u32) -> Vec<String> {
        let sign = if over < 0 { "-" } else { "" };
        let size = over.unsigned_abs();
        let scale = 10u64.pow(under);
        let point =
            format!("{sign}{}.{:0width$}", size / scale, size % scale, width = under as usize);
        let plain = if under == 0 { format!("{over}") } else { point };
        let dotted = if under == 0 { format!("{plain}.0") } else { format!("{plain}00") };
        vec![
            format!("{plain}M"),
            dotted,
            format!("{sign}{size}e-{under}"),
            format!("{sign}{size}000E-{}", under + 3),
            format!(
                "{sign}0.{size:05}e+{}",
                5i64.max(size.to_string().len() as i64) - i64::from(under)
            ),
            format!("{over}/{scale}"),
            format!("{}/{}", i128::from(over) * 6, scale * 6),
            plain,
        ]
    }

    #[test]
    fn every_spelling_of_a_number_is_one_value_and_all_compare_as_numbers() {
        // The oracle is arithmetic on numerators over one denominator, 10^4: no text, no f64.
        let sizes = [0, 1, 2, 9, 10, 11, 25, 99, 100, 101, 2500, 9999, 10_000, 123_456, 1_000_000];
        let mut numbers: Vec<(i64, String)> = Vec::new();
        for size in sizes {
            for under in 0..=4 {
                for over in [size, -size] {
                    let worth = over * 10i64.pow(4 - under);
                    numbers.extend(spellings(over, under).into_iter().map(|text| (worth, text)));
                }
            }
        }
        for (worth, text) in &numbers {
            let value = canonical(text);
            for (other_worth, other_text) in numbers.iter().step_by(7) {
                let other = canonical(other_text);
                assert_eq!(value == other, worth == other_worth, "{text} = {other_text}");
                let order = Some(worth.cmp(other_worth));
                assert_eq!(compare(&value, &other), order, "{text} ? {other_text}");
            }
        }
    }

    #[test]
    fn a_fraction_has_one_spelling_whatever_the_size() {
        let big = "9".repeat(60);
        let third = format!("{big}/2{}7", "9".repeat(59));
        assert_eq!(canonical(&third), canonical("1/3"));
        assert_eq!(canonical(&format!("{big}00/{big}")), Value::Int(100));
        assert_eq!(canonical(&format!("{big}/{big}{}", "0".repeat(2))), canonical("0.01"));
        let prime = "170141183460469231731687303715884105727";
        let (over, under) = (format!("{prime}000"), format!("{prime}{prime}000"));
        assert_eq!(
            canonical(&format!("{over}/{under}")),
            canonical(&format!("{prime}/{prime}{prime}"))
        );
        let (small, large) = (format!("{big}/{big}1"), format!("{big}/{big}0"));
        assert_eq!(compare(&canonical(&small), &canonical(&large)), Some(Ordering::Less));
        assert_eq!(compare(&canonical(&small), &canonical("0.1")), Some(Ordering::Less));
        assert_eq!(compare(&canonical(&small), &canonical("0.09")), Some(Ordering::Greater));
        assert_eq!(canonical(&format!("{big}/0")), Value::Number(format!("{big}/0").into()));
        assert_eq!(canonical(&format!("0/{big}")), Value::Int(0));
    }

    #[test]
    fn nothing_is_rounded_whatever_the_size() {
        let ascending = [
            "##-Inf",
            "-1e400000000",
            "-18446744073709551616",
            "-9223372036854775809",
            "-9223372036854775808",
            "-1/3",
            "-0.33333333333333333333333333333333333333333333",
            "-1e-400000000",
            "0",
            "1e-400000000",
            "1/170141183460469231731687303715884105727",
            "0.33333333333333333333333333333333333333333333",
            "1/3",
            "0.33333333333333333333333333333333333333333334",
            "2/3",
            "9007199254740992",
            "9007199254740992.5",
            "9007199254740993",
            "9223372036854775807",
            "9223372036854775808",
            "18446744073709551615",
            "18446744073709551616",
            "170141183460469231731687303715884105727/2",
            "1e39",
            "100000000000000000000000000000000000000000000000001",
            "1e400000000",
            "##Inf",
        ];
        for (i, a) in ascending.iter().enumerate() {
            for (j, b) in ascending.iter().enumerate() {
                assert_eq!(compare(&canonical(a), &canonical(b)), Some(i.cmp(&j)), "{a} ? {b}");
            }
            let value = canonical(a);
            assert_eq!(canonical(&value.to_string()), value, "{a} has a second spelling");
        }
        assert_eq!(canonical("-0.0"), Value::Int(0));
        assert_eq!(canonical("0e99999999999999999999"), Value::Int(0));
        assert_eq!(canonical("1e3"), Value::Int(1000));
        let unknown = canonical("1e99999999999999999999");
        assert_eq!(compare(&unknown, &Value::Int(1)), None);
        assert_eq!(compare(&canonical("##NaN"), &Value::Int(1)), None);
        assert_eq!(compare(&Value::text("1"), &Value::Int(1)), None);
    }
}
