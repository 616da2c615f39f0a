//! What the times of a history are measured in, and how they are shown.
//!
//! Moments are whole numbers, and their order is all that a verdict needs. People need more: a
//! violation is looked up in the logs of servers, which have wall-clock times. So a history says
//! what its numbers count and since when, if its source does; otherwise they are shown as they are,
//! without a unit.

use crate::Time;
use std::time::Duration;

/// What the times of a history count, and from where.
///
/// ```
/// use seriatim_history::{Since, Timescale, Unit};
/// let scale = Timescale { unit: Unit::Milliseconds, since: Since::Unix };
/// assert_eq!(scale.moment(1_700_000_000_250), "2023-11-14T22:13:20.250Z");
/// assert_eq!(scale.duration(1250), "1.25 s");
/// assert_eq!(Timescale::default().duration(1250), "1250");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Timescale {
    /// What is counted.
    pub unit: Unit,
    /// When time 0 is.
    pub since: Since,
}

/// What times count.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Unit {
    /// Something of which only the order is known: ticks of a counter, numbers of events.
    #[default]
    Ticks,
    /// Billionths of a second.
    Nanoseconds,
    /// Millionths of a second.
    Microseconds,
    /// Thousandths of a second.
    Milliseconds,
    /// Seconds.
    Seconds,
}

/// When time 0 is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Since {
    /// Some moment, mostly the beginning of the run.
    #[default]
    Start,
    /// 1970-01-01T00:00:00Z.
    Unix,
}

impl Unit {
    /// The units that have a name, with it.
    pub const NAMED: [(Unit, &'static str); 4] = [
        (Unit::Nanoseconds, "ns"),
        (Unit::Microseconds, "us"),
        (Unit::Milliseconds, "ms"),
        (Unit::Seconds, "s"),
    ];

    /// The unit of a name.
    pub fn named(name: &str) -> Option<Unit> {
        Unit::NAMED.iter().find(|(_, known)| *known == name).map(|&(unit, _)| unit)
    }

    /// Its name; ticks have none.
    pub fn name(self) -> Option<&'static str> {
        Unit::NAMED.iter().find(|(unit, _)| *unit == self).map(|&(_, name)| name)
    }

    /// How many nanoseconds one is, where that is known.
    pub fn nanoseconds(self) -> Option<u64> {
        match self {
            Unit::Ticks => None,
            Unit::Nanoseconds => Some(1),
            Unit::Microseconds => Some(1_000),
            Unit::Milliseconds => Some(1_000_000),
            Unit::Seconds => Some(1_000_000_000),
        }
    }
}

impl Timescale {
    /// Nanoseconds since the Unix epoch.
    pub const UNIX_NANOSECONDS: Timescale =
        Timescale { unit: Unit::Nanoseconds, since: Since::Unix };

    /// How many units a duration is, rounded up; `None` where the unit is not known.
    pub fn units_in(self, duration: Duration) -> Option<Time> {
        let unit = u128::from(self.unit.nanoseconds()?);
        Some(duration.as_nanos().div_ceil(unit).try_into().unwrap_or(Time::MAX))
    }

    /// A duration with its unit; the bare number where the unit is not known.
    pub fn duration(self, units: Time) -> String {
        match self.nanoseconds(units) {
            None => units.to_string(),
            Some(nanoseconds) => with_unit(nanoseconds),
        }
    }

    /// A moment: a wall-clock time, a duration since the start, or the bare number.
    pub fn moment(self, time: Time) -> String {
        match (self.nanoseconds(time), self.since) {
            (None, _) => time.to_string(),
            (Some(nanoseconds), Since::Start) => with_unit(nanoseconds),
            (Some(nanoseconds), Since::Unix) => wall_clock(nanoseconds),
        }
    }

    fn nanoseconds(self, units: Time) -> Option<u128> {
        Some(u128::from(units) * u128::from(self.unit.nanoseconds()?))
    }
}

/// A duration in the largest unit of which there is one.
fn with_unit(nanoseconds: u128) -> String {
    let (size, digits, name) = match nanoseconds {
        0..1_000 => return format!("{nanoseconds} ns"),
        1_000..1_000_000 => (1_000, 3, "µs"),
        1_000_000..1_000_000_000 => (1_000_000, 6, "ms"),
        _ => (1_000_000_000, 9, "s"),
    };
    let (whole, rest) = (nanoseconds / size, nanoseconds % size);
    let fraction = format!("{rest:0digits$}");
    match fraction.trim_end_matches('0') {
        "" => format!("{whole} {name}"),
        fraction => format!("{whole}.{fraction} {name}"),
    }
}

/// A moment of the Gregorian calendar in UTC, as ISO 8601 writes it, with as many digits as it has.
fn wall_clock(nanoseconds: u128) -> String {
    let (seconds, rest) = (nanoseconds / 1_000_000_000, nanoseconds % 1_000_000_000);
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = date(days);
    let fraction = match rest {
        0 => String::new(),
        rest if rest % 1_000_000 == 0 => format!(".{:03}", rest / 1_000_000),
        rest if rest % 1_000 == 0 => format!(".{:06}", rest / 1_000),
        rest => format!(".{rest:09}"),
    };
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}Z")
}

/// The date so many days after 1970-01-01.
///
/// Years are counted from March, so that the leap day is the last of its year; an era of 400 years
/// has 146,097 days.
fn date(days: u128) -> (u128, u128, u128) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (era * 400 + year_of_era + u128::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_follows_the_one_before_it() {
        let is_leap = |year: u128| {
            (year.is_multiple_of(4) && !year.is_multiple_of(100)) || year.is_multiple_of(400)
        };
        let lengths = |year| {
            [31, if is_leap(year) { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        };
        let (mut year, mut month, mut day) = (1970, 1, 1);
        for days in 0..200_000 {
            assert_eq!(date(days), (year, month, day));
            day += 1;
            if day > lengths(year)[month as usize - 1] {
                (month, day) = (month + 1, 1);
            }
            if month > 12 {
                (year, month) = (year + 1, 1);
            }
        }
    }

    #[test]
    fn durations_are_shown_whole_with_their_unit() {
        let scale = |unit| Timescale { unit, since: Since::Start };
        assert_eq!(scale(Unit::Nanoseconds).duration(999), "999 ns");
        assert_eq!(scale(Unit::Nanoseconds).duration(1_500), "1.5 µs");
        assert_eq!(scale(Unit::Microseconds).duration(20_001), "20.001 ms");
        assert_eq!(scale(Unit::Seconds).duration(Time::MAX), format!("{} s", Time::MAX));
        assert_eq!(scale(Unit::Seconds).units_in(Duration::from_millis(5)), Some(1));
        assert_eq!(scale(Unit::Ticks).units_in(Duration::from_millis(5)), None);
    }
}
