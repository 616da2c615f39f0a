//! Our own recorded and generated histories, in every format: each gets the verdict that the
//! manifest states from the monitors; the search, in either direction, says the same or, within its
//! memory, nothing.
//!
//! The manifest says where each history comes from. What was generated is generated again and must
//! be the same; what was converted must convert to the same verdict, which is why it is there.

use seriatim_history::{Format, ReadOptions, read, read_with};
use seriatim_monitor::{Monitors, Options, Strategy, check};
use seriatim_spec::{ChosenReader, Failures, SpecChoice, Verdict};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

struct Row {
    file: String,
    spec: String,
    verdict: String,
    operations: usize,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata")
}

fn manifest() -> Vec<Row> {
    let text = std::fs::read_to_string(folder().join("manifest.tsv")).expect("a manifest");
    let row = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        let [file, spec, verdict, operations, _origin] = fields[..] else {
            panic!("five fields: {line}")
        };
        let operations = operations.parse().expect("a number of operations");
        let (file, spec, verdict) = (file.to_owned(), spec.to_owned(), verdict.to_owned());
        Row { file, spec, verdict, operations }
    };
    text.lines().skip(1).map(row).collect()
}

#[test]
fn every_history_gets_its_verdict_from_every_engine() {
    let (search, monitors) = (Monitors::Skip, Monitors::Use);
    let engines = [
        (monitors, Strategy::DepthFirst),
        (search, Strategy::DepthFirst),
        (search, Strategy::BreadthFirst),
    ];
    let mut open = BTreeSet::new();
    for Row { file, spec, verdict, operations } in manifest() {
        let choice = SpecChoice::parse(&spec).unwrap_or_else(|error| panic!("{spec}: {error}"));
        let reader = ChosenReader { choice, failures: Failures::Drop };
        let mut history = read(folder().join(&file)).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(history.len(), operations, "{file}");
        for (monitors, strategy) in engines {
            let strategies = vec![strategy, Strategy::BreadthFirst];
            let memory = if monitors == search { 16 << 20 } else { 1 << 30 };
            let options = Options { monitors, strategies, memory, ..Options::default() };
            let checked = check(&mut history, &reader, &options);
            let checked = checked.unwrap_or_else(|error| panic!("{error}"));
            if monitors == search && matches!(checked.verdict, Verdict::Unknown(_)) {
                open.insert(file.clone());
                continue;
            }
            assert_eq!(checked.verdict.word(), verdict, "{file} {monitors:?} {strategy:?}");
        }
    }
    // Many pending operations that do not commute: the search alone has not room enough for them.
    assert!(open.len() <= 11, "the search gave up on {open:?}");
}

#[test]
fn the_manifest_names_every_file_and_there_is_no_other() {
    let named: BTreeSet<String> = manifest().into_iter().map(|row| row.file).collect();
    let mut found = BTreeSet::new();
    for folder in std::fs::read_dir(folder()).expect("a folder").flatten() {
        for file in std::fs::read_dir(folder.path()).into_iter().flatten().flatten() {
            let (folder, file) = (folder.file_name(), file.file_name());
            found.insert(format!("{}/{}", folder.to_string_lossy(), file.to_string_lossy()));
        }
    }
    assert_eq!(named, found);
}

#[test]
fn every_format_that_is_read_is_among_them() {
    let ending = |format| match format {
        Format::JsonLines => ".jsonl",
        Format::JsonEvents => ".events.jsonl",
        Format::Edn => ".edn",
        Format::Porcupine => ".porcupine.txt",
        Format::JepsenLog => ".jepsen.log",
        Format::LiMo => ".limo.log",
        Format::PolyLin => ".polylin.log",
        Format::Fptlin => ".fptlin.log",
        Format::Ahorn => ".ahorn.log",
    };
    for (format, name) in Format::ALL {
        let rows = manifest().into_iter().filter(|row| row.file.ends_with(ending(format)));
        let read_as = |row: Row| {
            let options = ReadOptions { format: Some(format), ..ReadOptions::default() };
            let history = read_with(folder().join(&row.file), options);
            assert_eq!(history.expect("a history").len(), row.operations, "{}", row.file);
        };
        assert!(rows.map(read_as).count() > 0, "no history in the format {name}");
    }
}
