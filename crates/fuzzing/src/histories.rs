//! Histories in every format. The first byte chooses it; the rest is the file.

use crate::heard::is_heard_too;
use seriatim_history::{Format, History, ReadOptions, WriteError, read_from, write};

/// Reads a history; what was read is heard operation by operation, and told again.
pub fn history(bytes: &[u8]) {
    let Some((&choice, file)) = bytes.split_first() else { return };
    let format = Format::ALL.get(usize::from(choice >> 1)).map(|(format, _)| *format);
    let options = ReadOptions { format, independent: choice & 1 == 1 };
    if let Ok(history) = read_from(file, "fuzzed", options) {
        is_heard_too(&options, file, &history);
        is_told_again(&history);
    }
}

/// What is written in any format that can say it is read as the same history.
pub fn is_told_again(history: &History) {
    let told = written(history, Format::JsonLines).expect("our own format says everything");
    for format in [Format::JsonLines, Format::JsonEvents, Format::Edn] {
        let Some(bytes) = written(history, format) else { continue };
        let options = ReadOptions { format: Some(format), independent: false };
        let again = read_from(&bytes[..], "again", options)
            .unwrap_or_else(|error| panic!("{format} is not read again: {error}"));
        assert_eq!(again.len(), history.len(), "{format}");
        if format == Format::JsonLines {
            let twice = written(&again, format).expect("what was read can be written");
            assert_eq!(text(&told), text(&twice), "a history is not the same when written twice");
        }
    }
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("our formats are UTF-8")
}

/// A history in a format that can say it.
fn written(history: &History, format: Format) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    match write(history, format, &mut bytes) {
        Ok(()) => Some(bytes),
        Err(WriteError::Io(error)) => panic!("memory cannot be written: {error}"),
        Err(_) => None,
    }
}
