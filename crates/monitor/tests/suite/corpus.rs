//! Every history of the corpus: the verdict that other tools gave, the right number of operations,
//! both directions of the search, the fast monitors, witnesses replayed.
//!
//! The corpus is data of other projects and not part of this one: it is looked for in the folder
//! that `SERIATIM_CORPUS` names, else in `corpus` beside the repository.

use seriatim_history::{History, read};
use seriatim_monitor::{DecidedBy, Detail, Monitors, Options, Strategy, check};
use seriatim_spec::{ChosenReader, Failures, Reader, SpecChoice, Verdict, validate};
use seriatim_testing::corpus;
use std::path::{Path, PathBuf};

struct Entry {
    file: PathBuf,
    spec: String,
    is_linearizable: bool,
}

fn manifest(folder: &Path) -> Vec<Entry> {
    let text = std::fs::read_to_string(folder.join("manifest.tsv")).expect("a readable manifest");
    let entry = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        let is_linearizable = fields[3] == "linearizable";
        Entry { file: folder.join(fields[0]), spec: fields[2].to_owned(), is_linearizable }
    };
    text.lines().skip(1).filter(|line| !line.is_empty()).map(entry).collect()
}

/// How many calls a file records, by a look at its lines that shares nothing with the parsers.
fn calls(file: &Path) -> usize {
    let text = std::fs::read_to_string(file).expect("a readable history");
    let client = |line: &&str| !line.contains(":nemesis");
    match file.extension().and_then(|e| e.to_str()) {
        Some("hist") => text.matches("] call ").count(),
        _ if text.contains("# @object") => text.matches("] call ").count(),
        _ => text.lines().filter(client).map(|line| line.matches(":invoke").count()).sum(),
    }
}

fn verdict(history: &mut History, reader: &ChosenReader, strategy: Strategy) -> Verdict {
    let strategies = vec![strategy, Strategy::BreadthFirst];
    let options = Options {
        strategies,
        detail: Detail::Plain,
        monitors: Monitors::Skip,
        ..Options::default()
    };
    check(history, reader, &options).expect("the specification fits").verdict
}

#[test]
fn every_history_of_the_corpus_gets_its_verdict() {
    let Some(folder) = corpus() else { return };
    let entries = manifest(&folder);
    assert!(entries.len() > 600, "the manifest names {} histories", entries.len());
    for Entry { file, spec, is_linearizable } in &entries {
        let choice = SpecChoice::parse(spec).unwrap_or_else(|error| panic!("{spec}: {error}"));
        let mut history = read(file).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(history.len(), calls(file), "operations of {}", file.display());
        for failures in [Failures::Drop] {
            let reader = ChosenReader { choice: choice.clone(), failures };
            for strategy in [Strategy::DepthFirst, Strategy::BreadthFirst] {
                let verdict = verdict(&mut history, &reader, strategy);
                let expected = if *is_linearizable { "linearizable" } else { "violation" };
                assert_eq!(verdict.word(), expected, "{} {strategy:?}", file.display());
                if let Verdict::Linearizable(witness) = verdict {
                    let reading = reader.read(&mut history).expect("reads as before");
                    validate(&history, &reading, &witness).expect("a right witness");
                }
            }
        }
    }
    println!("{} histories of the corpus decided", entries.len());
}

#[test]
fn the_monitors_give_every_history_of_the_corpus_its_verdict() {
    let Some(folder) = corpus() else { return };
    let (mut by_monitor, mut by_search) = (0, 0);
    for Entry { file, spec, is_linearizable } in manifest(&folder) {
        let choice = SpecChoice::parse(&spec).unwrap_or_else(|error| panic!("{spec}: {error}"));
        let reader = ChosenReader { choice, failures: Failures::Drop };
        let mut history = read(&file).unwrap_or_else(|error| panic!("{error}"));
        let checked = check(&mut history, &reader, &Options::default());
        let checked = checked.unwrap_or_else(|error| panic!("{error}"));
        let expected = if is_linearizable { "linearizable" } else { "violation" };
        assert_eq!(checked.verdict.word(), expected, "{}", file.display());
        for part in &checked.parts {
            match part.decided_by {
                DecidedBy::Monitor(_) => by_monitor += 1,
                DecidedBy::Search(_) => {
                    let reason = part.fell_back.as_deref().unwrap_or("");
                    assert!(!reason.is_empty(), "{}: no reason", file.display());
                    by_search += 1;
                }
                DecidedBy::Inspection | DecidedBy::Nobody => {}
            }
        }
        if let Verdict::Linearizable(witness) = checked.verdict {
            let reading = reader.read(&mut history).expect("reads as before");
            validate(&history, &reading, &witness).expect("a right witness");
        }
    }
    println!("{by_monitor} parts decided by monitors, {by_search} by the search");
    assert!(by_monitor > 500, "{by_monitor} parts decided by monitors");
}
