//! Small files and notations: saved runs, verdict files, specifications, values.

use crate::text;
use seriatim_explore::Saved;
use seriatim_history::{Value, edn_value, json_value, write_value};
use seriatim_scale::verdicts::{Contents, Medium};
use seriatim_spec::SpecChoice;
use std::io::{self, BufRead};
use std::path::Path;

/// Reads a saved run; written and read again it is the same.
pub fn saved_run(bytes: &[u8]) {
    let Some(Ok(saved)) = text(bytes).map(Saved::parse) else { return };
    let written = saved.text();
    let again = Saved::parse(&written).expect("what was written is read");
    assert_eq!(again.text(), written);
}

/// Reads the notation of a specification; written and read again it is the same.
pub fn specification(bytes: &[u8]) {
    let Some(Ok(choice)) = text(bytes).map(SpecChoice::parse) else { return };
    let written = choice.to_string();
    match SpecChoice::parse(&written) {
        Ok(again) => assert_eq!(again.to_string(), written),
        Err(error) => panic!("{written} is not read again: {error}"),
    }
}

/// Reads a value; written as JSON and read again it is the same.
pub fn value(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    for value in [json_value(text), edn_value(text)].into_iter().flatten() {
        let written = written(&value);
        let again = json_value(&written).expect("what was written is read");
        assert_eq!(self::written(&again), written);
    }
}

fn written(value: &Value) -> String {
    let mut bytes = Vec::new();
    write_value(&mut bytes, value).expect("memory can be written");
    String::from_utf8(bytes).expect("UTF-8")
}

/// A verdict file in memory, which is only read.
struct Bytes<'b>(&'b [u8]);

impl Medium for Bytes<'_> {
    fn reader(&mut self) -> io::Result<Box<dyn BufRead + '_>> {
        Ok(Box::new(self.0))
    }

    fn append(&mut self, _: &[u8]) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn truncate(&mut self, _: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads a verdict file: it is refused, or every line of it bears its checksum.
pub fn verdict_file(bytes: &[u8]) {
    if let Ok(contents) = Contents::read_from(&mut Bytes(bytes), Path::new("fuzzed")) {
        let decided = contents.decided();
        assert!(decided.is_sorted(), "parts that are decided are looked up");
    }
}
