//! The tokens of EDN that are more than a name: numbers and characters.

use crate::Value;

/// The value of a token that begins like a number.
pub(super) fn number(text: &str) -> Option<Value> {
    let text = text.strip_prefix('+').unwrap_or(text);
    if let Some(number) = integer(text) {
        return Some(number);
    }
    let digits = text.strip_prefix('-').unwrap_or(text);
    let all_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let big = digits.strip_suffix('N').unwrap_or(digits);
    // Digits behind a 0 are octal, and such a number would be read as a decimal one.
    let is_big = all_digits(big) && !big.starts_with('0');
    let ratio = digits.split_once('/');
    let is_ratio = ratio.is_some_and(|(over, under)| all_digits(over) && all_digits(under));
    let decimal = digits.strip_suffix('M').unwrap_or(digits);
    let is_decimal = is_decimal(decimal) && !(all_digits(digits) && digits.starts_with('0'));
    (is_big || is_ratio || is_decimal).then(|| Value::number(text))
}

/// Digits, with a fraction or an exponent or both.
fn is_decimal(text: &str) -> bool {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent),
        None => (text, "0"),
    };
    let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    !whole.is_empty()
        && !exponent.is_empty()
        && [whole, fraction, exponent].map(digits) == [true; 3]
}

/// An integer of 64 bits in one of Clojure's notations.
fn integer(text: &str) -> Option<Value> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let digits = digits.strip_suffix('N').unwrap_or(digits);
    let (radix, digits) = match digits.split_once(['r', 'R']) {
        Some((radix, digits)) => (radix.parse().ok().filter(|r| (2..=36).contains(r))?, digits),
        None => match digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
            Some(hex) => (16, hex),
            None if digits.len() > 1 && digits.starts_with('0') => (8, &digits[1..]),
            None => (10, digits),
        },
    };
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        return None;
    }
    let size = i128::from_str_radix(digits, radix).ok()?;
    let number = i64::try_from(if negative { -size } else { size }).ok()?;
    Some(Value::Int(number))
}

/// The name of a character, with its backslash; `token` is what follows the backslash.
pub(super) fn character(token: &str) -> Option<String> {
    let mut chars = token.chars();
    let first = chars.next()?;
    let rest = chars.as_str();
    let named = ["newline", "return", "space", "tab", "formfeed", "backspace"];
    if rest.is_empty() || named.contains(&token) {
        return Some(format!("\\{token}"));
    }
    let c = match first {
        'u' if rest.len() == 4 && rest.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            char::from_u32(u32::from_str_radix(rest, 16).ok()?)?
        }
        'o' if rest.len() <= 3 && rest.bytes().all(|byte| byte.is_ascii_digit()) => {
            char::from_u32(u32::from_str_radix(rest, 8).ok()?)?
        }
        _ => return None,
    };
    Some(match c {
        '\n' => "\\newline".into(),
        '\r' => "\\return".into(),
        ' ' => "\\space".into(),
        '\t' => "\\tab".into(),
        '\u{c}' => "\\formfeed".into(),
        '\u{8}' => "\\backspace".into(),
        c => format!("\\{c}"),
    })
}
