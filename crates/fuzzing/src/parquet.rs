//! Histories as Parquet files.

use bytes::Bytes;
use seriatim_history::{Format, History, ReadOptions, read_from, write};
use seriatim_parquet::Lines;

/// The longest file: the library allocates by what a file says of itself.
const LONGEST: usize = 1 << 16;

/// Reads a Parquet file, or one that is made of a history in our own format. What was read and
/// written again is the same.
pub fn parquet(bytes: &[u8]) {
    seriatim_parquet::install();
    if bytes.len() > LONGEST {
        return;
    }
    let history = match bytes.starts_with(b"PAR1") {
        true => read(bytes.to_vec()),
        false => read_from(bytes, "fuzzed", lines()).ok(),
    };
    let Some(history) = history else { return };
    let mut file = Vec::new();
    if seriatim_parquet::write(&history, &mut file).is_err() {
        return;
    }
    let again = read(file).expect("what was written is read");
    assert_eq!(told(&history), told(&again), "a history is not the same as a Parquet file");
}

fn lines() -> ReadOptions {
    ReadOptions { format: Some(Format::JsonLines), independent: false }
}

fn read(file: Vec<u8>) -> Option<History> {
    read_from(Lines::of(Bytes::from(file)).ok()?, "fuzzed", lines()).ok()
}

fn told(history: &History) -> String {
    let mut bytes = Vec::new();
    write(history, Format::JsonLines, &mut bytes).expect("our format says everything");
    String::from_utf8(bytes).expect("UTF-8")
}
