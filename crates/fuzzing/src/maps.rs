//! Maps, and logs that are read by one.

use crate::heard::is_heard_too;
use crate::histories::is_told_again;
use crate::text;
use seriatim_history::{Format, write};
use seriatim_map::{ByMap, Map, Unmatched};

/// What stands between a map and the log that it is for.
const BETWEEN: &str = "\n---\n";

/// The longest map with its log.
const LONGEST: usize = 1 << 14;

/// Reads a map and a log by it. What is read without leaving anything out is read as the same
/// history if something may be left out, is heard operation by operation, and is told again in our
/// own format.
pub fn map(bytes: &[u8]) {
    let Some(text) = text(bytes).filter(|text| text.len() <= LONGEST) else { return };
    let (map, log) = text.split_once(BETWEEN).unwrap_or((text, ""));
    let Ok(map) = Map::parse("fuzzed.toml", map) else { return };
    let Ok(strict) = map.read(log.as_bytes(), "fuzzed", Unmatched::Refuse) else { return };
    assert_eq!(strict.skipped, 0, "a record was left out");
    let lenient = map.read(log.as_bytes(), "fuzzed", Unmatched::Skip);
    let lenient = lenient.expect("who may leave out may read all");
    assert_eq!(lenient.skipped, 0, "a record was left out that a rule is for");
    assert_eq!(strict.rules, lenient.rules, "rules are for the same records");
    let told = [&strict, &lenient].map(|mapped| {
        let mut bytes = Vec::new();
        write(&mapped.history, Format::JsonLines, &mut bytes).expect("our format says everything");
        bytes
    });
    assert_eq!(told[0], told[1], "another history if something may be left out");
    is_heard_too(&ByMap { map, unmatched: Unmatched::Refuse }, log.as_bytes(), &strict.history);
    is_told_again(&strict.history);
}
