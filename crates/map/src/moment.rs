//! Moments of a log, in whatever unit it has them, as whole numbers.
//!
//! A time that falls between two of our numbers is rounded so that the interval grows: calls down,
//! returns up. So no operation precedes another that it did not precede in the log.

use seriatim_history::{Since, Time, Timescale, Unit, Value};

/// How a log writes times.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Notation {
    /// Whole numbers of which only the order counts.
    Ticks,
    /// Numbers of this unit, whole or not, as numbers or as texts.
    Numbers(Unit, Since),
    /// Texts such as 2026-11-16T08:12:18.25Z.
    Iso8601,
}

/// Which way a time is rounded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Round {
    Down,
    Up,
}

impl Notation {
    /// What our numbers count.
    pub fn timescale(self) -> Timescale {
        match self {
            Notation::Ticks => Timescale::default(),
            Notation::Numbers(_, since) => Timescale { unit: Unit::Nanoseconds, since },
            Notation::Iso8601 => Timescale::UNIX_NANOSECONDS,
        }
    }

    /// The moment that a value says; what was expected, otherwise.
    pub fn moment(self, value: &Value, round: Round) -> Result<Time, String> {
        match self {
            Notation::Ticks => whole(value),
            Notation::Numbers(unit, _) => scaled(value, unit, round),
            Notation::Iso8601 => {
                let expected = || format!("a time such as 2026-11-16T08:12:18.25Z, found {value}");
                value.as_str().and_then(|text| iso8601(text, round)).ok_or_else(expected)
            }
        }
    }
}

fn whole(value: &Value) -> Result<Time, String> {
    let number = match value {
        Value::Int(number) => u64::try_from(*number).ok(),
        Value::Number(text) => text.parse().ok(),
        Value::Text(text) => text.trim().parse().ok(),
        _ => None,
    };
    number.filter(|&time| time < Time::MAX).ok_or_else(|| {
        format!("a time, a whole number from 0 on (or a `unit` in the map), found {value}")
    })
}

fn scaled(value: &Value, unit: Unit, round: Round) -> Result<Time, String> {
    let name = unit.name().unwrap_or("ticks");
    let expected = || format!("a time in {name}, a number from 0 on, found {value}");
    let text = match value {
        Value::Int(number) => number.to_string(),
        Value::Number(text) => text.to_string(),
        Value::Text(text) => text.trim().to_owned(),
        _ => return Err(expected()),
    };
    let size = unit.nanoseconds().unwrap_or(1);
    decimal(&text, size, round).ok_or_else(expected)
}

/// A decimal number times a size that is a power of ten, rounded to a whole number.
fn decimal(text: &str, size: u64, round: Round) -> Option<Time> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let is_plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !is_plain(whole) || !is_plain(fraction) || exponent.abs() > 64 {
        return None;
    }
    let digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).map(|byte| byte - b'0').collect();
    // So many digits stand before the point once the number is scaled.
    let places = whole.len() as i64 + exponent + i64::from(size.ilog10());
    let places = usize::try_from(places.max(0)).ok()?;
    let digit = |place: usize| digits.get(place).copied().unwrap_or(0);
    let mut time: Time = 0;
    for place in 0..places {
        time = time.checked_mul(10)?.checked_add(u64::from(digit(place)))?;
    }
    // A negative number of places means that all digits, and zeros before them, stand behind the
    // point.
    let rest = digits.get(places..).unwrap_or_default();
    let has_rest = rest.iter().any(|&digit| digit != 0);
    let up = Time::from(round == Round::Up && has_rest);
    time.checked_add(up).filter(|&time| time < Time::MAX)
}

/// Nanoseconds since the Unix epoch; a time without a zone is taken for UTC.
fn iso8601(text: &str, round: Round) -> Option<Time> {
    let text = text.trim();
    let (date, clock) = text.split_once(['T', 't', ' '])?;
    let number = |text: &str, digits: usize| {
        let plain = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<i64>().ok().filter(|_| plain)
    };
    let mut parts = date.splitn(3, '-');
    let year = number(parts.next()?, 4)?;
    let month = number(parts.next()?, 2).filter(|month| (1..=12).contains(month))?;
    let first = days(year, month, 1);
    let length = days(year + month / 12, month % 12 + 1, 1) - first;
    let day = number(parts.next()?, 2).filter(|day| (1..=length).contains(day))?;
    let (clock, zone) = zoned(clock)?;
    let (clock, fraction) = clock.split_once(['.', ',']).unwrap_or((clock, "0"));
    let fraction = Some(fraction).filter(|f| f.bytes().all(|byte| byte.is_ascii_digit()))?;
    let mut parts = clock.splitn(3, ':');
    let hour = number(parts.next()?, 2).filter(|&hour| hour < 24)?;
    let minute = number(parts.next()?, 2).filter(|&minute| minute < 60)?;
    // A leap second is counted as the first of the next minute, as Unix does.
    let second = number(parts.next()?, 2).filter(|&second| second <= 60)?;
    let seconds = (first + day - 1) * 86_400 + hour * 3_600 + minute * 60 + second - zone;
    let seconds = Time::try_from(seconds).ok()?;
    let nanoseconds = decimal(&format!("0.{fraction}"), 1_000_000_000, round)?;
    seconds.checked_mul(1_000_000_000)?.checked_add(nanoseconds)
}

/// The time of day and how many seconds its zone is before UTC.
fn zoned(clock: &str) -> Option<(&str, i64)> {
    if let Some(clock) = clock.strip_suffix(['Z', 'z']) {
        return Some((clock, 0));
    }
    let Some(place) = clock.rfind(['+', '-']) else { return Some((clock, 0)) };
    let (clock, zone) = clock.split_at(place);
    let sign = if zone.starts_with('-') { -1 } else { 1 };
    let two = |digits: &str, below: i64| {
        let plain = digits.len() == 2 && digits.bytes().all(|byte| byte.is_ascii_digit());
        digits.parse::<i64>().ok().filter(|&number| plain && number < below)
    };
    let (hours, minutes) = zone[1..].split_at_checked(2)?;
    let minutes = minutes.strip_prefix(':').unwrap_or(minutes);
    let minutes = if zone.len() == 3 { "00" } else { minutes };
    Some((clock, sign * (two(hours, 24)? * 3_600 + two(minutes, 60)? * 60)))
}

/// Days from 1970-01-01 to a date, years counted from March.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_exact_and_rounded_outwards() {
        let seconds = Notation::Numbers(Unit::Seconds, Since::Start);
        for (value, round, expected) in [
            (Value::number("1.5"), Round::Down, 1_500_000_000),
            (Value::number("1699999999.123456789"), Round::Down, 1_699_999_999_123_456_789),
            (Value::number("0.0000000015"), Round::Down, 1),
            (Value::number("0.0000000015"), Round::Up, 2),
            (Value::number("1e-12"), Round::Down, 0),
            (Value::number("1e-12"), Round::Up, 1),
            (Value::number("1.5e3"), Round::Down, 1_500_000_000_000),
            (Value::text(" 2 "), Round::Up, 2_000_000_000),
        ] {
            assert_eq!(seconds.moment(&value, round), Ok(expected), "{value}");
        }
        for wrong in [
            Value::Int(-1),
            Value::text("soon"),
            Value::Nil,
            Value::number("1e60"),
            Value::number("##NaN"),
        ] {
            assert!(seconds.moment(&wrong, Round::Up).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_wall_clock_time_is_what_it_is_shown_as() {
        for (text, shown) in [
            ("2026-11-16T08:12:18.25Z", "2026-11-16T08:12:18.250Z"),
            ("2026-11-16 09:12:18,250+01:00", "2026-11-16T08:12:18.250Z"),
            ("2024-02-29T23:59:59-0030", "2024-03-01T00:29:59Z"),
            ("2000-03-01T00:00:00", "2000-03-01T00:00:00Z"),
            ("2026-12-31T23:59:60+00", "2027-01-01T00:00:00Z"),
        ] {
            let moment = Notation::Iso8601.moment(&Value::text(text), Round::Down).unwrap();
            assert_eq!(Timescale::UNIX_NANOSECONDS.moment(moment), shown);
        }
        for wrong in [
            "2026-13-01T00:00:00Z",
            "2026-11-16",
            "08:12:18",
            "2026-11-16T8:12:18Z",
            "1960-01-01T00:00:00Z",
            "2026-11-16T08:12:18+é1",
            "2026-02-29T00:00:00Z",
            "1900-02-29T00:00:00Z",
            "2026-11-31T00:00:00Z",
            "2026-11-16T08:12:18.25e3Z",
            "2026-11-16T08:12:18+24:00",
            "2026-11-16T08:12:18+01:60",
            "2026-11-16T08:12:18+0:100",
            "2026-11-16T08:12:18+01:",
            "2026-11-16T08:12:18+",
            "",
        ] {
            assert!(Notation::Iso8601.moment(&Value::text(wrong), Round::Down).is_err(), "{wrong}");
        }
    }
}
