//! Amounts on the command line: `90s`, `5m`, `4G`, `50%`, `8`.

use crate::question::MOST_THREADS;
use std::time::Duration;

/// A duration: a number with `ns`, `us`, `ms`, `s`, `m` or `h`; seconds without.
pub fn duration(text: &str) -> Result<Duration, String> {
    let expected = "a duration such as 500ms, 90s, 5m or 2h";
    let short = [("ns", 1e-9), ("us", 1e-6), ("µs", 1e-6), ("ms", 1e-3)];
    let long = [("s", 1.0), ("m", 60.0), ("h", 3600.0), ("", 1.0)];
    let units: Vec<(&str, f64)> = short.into_iter().chain(long).collect();
    let seconds = scaled(text, &units).ok_or(format!("expected {expected}"))?;
    Duration::try_from_secs_f64(seconds).map_err(|_| format!("expected {expected}"))
}

/// An amount of memory in bytes: a number with `K`, `M`, `G` or `T` (of 1024).
pub fn bytes(text: &str) -> Result<usize, String> {
    let kilo = 1024.0_f64;
    let text = text.trim_end_matches(['b', 'B']).trim_end_matches('i');
    let units =
        [("K", kilo), ("M", kilo * kilo), ("G", kilo.powi(3)), ("T", kilo.powi(4)), ("", 1.0)];
    scaled(text, &units)
        .filter(|&bytes| bytes >= 1.0)
        .map(|bytes| bytes as usize)
        .ok_or("expected an amount of memory such as 500M or 4G".to_owned())
}

/// A number of things of which there is at least one.
pub fn positive(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|&number| number > 0);
    number.ok_or("expected a whole number from 1 on".to_owned())
}

/// A number of threads: at least one, and no more than a process can have.
pub fn threads(text: &str) -> Result<usize, String> {
    positive(text).map(|number| number.min(MOST_THREADS))
}

/// A share: a number from 0 to 1, or a percentage.
pub fn share(text: &str) -> Result<f64, String> {
    scaled(text, &[("%", 0.01), ("", 1.0)])
        .filter(|share| (0.0..=1.0).contains(share))
        .ok_or("expected a share such as 0.1 or 10%".to_owned())
}

fn scaled(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let (number, factor) = units.iter().find_map(|&(unit, factor)| {
        let end = text.len().checked_sub(unit.len())?;
        let fits = text.is_char_boundary(end) && text[end..].eq_ignore_ascii_case(unit);
        fits.then(|| (&text[..end], factor))
    })?;
    let number: f64 = number.trim().parse().ok()?;
    (number.is_finite() && number >= 0.0).then_some(number * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_with_their_units() {
        assert_eq!(duration("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("1.5m"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(duration("40us"), Ok(Duration::from_micros(40)));
        assert_eq!(duration("7µs"), Ok(Duration::from_micros(7)));
        assert_eq!(duration("15ns"), Ok(Duration::from_nanos(15)));
        assert_eq!(duration("3"), Ok(Duration::from_secs(3)));
        assert_eq!(bytes("2K"), Ok(2048));
        assert_eq!(bytes("1GiB"), Ok(1 << 30));
        assert_eq!(share("10%"), Ok(0.1));
        assert_eq!(positive("2"), Ok(2));
        assert!(positive("0").is_err());
        assert_eq!((threads("3"), threads("100000")), (Ok(3), Ok(MOST_THREADS)));
        for nonsense in ["", "-1s", "s", "1x", "NaN", "inf", "1e999h", "é"] {
            assert!(duration(nonsense).is_err(), "{nonsense}");
            assert!(bytes(nonsense).is_err(), "{nonsense}");
            assert!(positive(nonsense).is_err(), "{nonsense}");
        }
    }
}
