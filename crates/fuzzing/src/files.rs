//! Small files and notations: saved runs, verdict files, hosts, specifications, values.

use crate::text;
use seriatim_algorithms::{Algorithm, algorithms};
use seriatim_cluster::hosts::{self, Reach};
use seriatim_explore::{Replay, Saved, ViolationKind, replay};
use seriatim_history::{Value, edn_value, json_value, write_value};
use seriatim_lang::{Program, check};
use seriatim_scale::verdicts::{Contents, Medium};
use seriatim_spec::SpecChoice;
use std::io::{self, BufRead};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::OnceLock;

/// Reads a saved run; written and read again it is the same, and no run of a correct algorithm
/// shows that it is not linearizable.
pub fn saved_run(bytes: &[u8]) {
    let Some(Ok(saved)) = text(bytes).map(Saved::parse) else { return };
    let written = saved.text();
    let again = Saved::parse(&written).expect("what was written is read");
    assert_eq!(again.text(), written);
    for (name, program, is_broken) in library() {
        if program.name != saved.object {
            continue;
        }
        if let Ok(Replay::Fails(found)) = replay(program, &saved.options, &saved.moves) {
            let is_wrong = matches!(found.kind, ViolationKind::NotLinearizable);
            assert!(!is_wrong || *is_broken, "{name} is not linearizable:\n{written}");
        }
    }
}

/// The algorithms of the library, with their own constants, and whether each is broken.
fn library() -> &'static [(&'static str, Program, bool)] {
    static LIBRARY: OnceLock<Vec<(&str, Program, bool)>> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let read = |algorithm: Algorithm| {
            let program = check(algorithm.source).expect("an algorithm of the library");
            (algorithm.name, program, algorithm.is_broken())
        };
        algorithms().map(read).collect()
    })
}

/// Reads a file of hosts: what may be reached on this machine may be reached by any network, and
/// the addresses by themselves are such a file.
pub fn hosts(bytes: &[u8]) {
    let Some(text) = text(bytes).filter(|text| !text.lines().any(asks_for_a_name)) else { return };
    let network = hosts::parse(text, Reach::Network);
    if let Ok(addresses) = hosts::parse(text, Reach::Loopback) {
        assert_eq!(network.as_ref(), Ok(&addresses));
    }
    if let Ok(addresses) = network {
        assert_eq!(hosts::parse(&addresses.join("\n"), Reach::Network), Ok(addresses));
    }
}

/// Whether a line has to be looked up: a fuzzer must not ask the network.
fn asks_for_a_name(line: &str) -> bool {
    let line = line.trim();
    let has_port = || line.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    line.parse::<SocketAddr>().is_err() && !line.starts_with('#') && has_port()
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
