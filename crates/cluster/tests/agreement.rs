//! The workers of a cluster say what the check in memory says, whatever the log.

#[path = "../../scale/tests/agreement/histories.rs"]
mod histories;

use seriatim_cluster::{Cluster, Secret, run};
use seriatim_history::{ReadOptions, read_with};
use seriatim_monitor::{Options, check};
use seriatim_scale::run::{Defects, Limits, Log, Plan, Shard};
use seriatim_scale::spill::Scratch;
use seriatim_spec::{ChosenReader, SpecChoice};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

fn reader(object: &str, seed: u64) -> ChosenReader {
    let choice = SpecChoice::parse(object).unwrap();
    ChosenReader { choice, failures: histories::failures(seed) }
}

/// The verdict in memory, in a word; `None` if the log is refused.
fn in_memory(path: &Path, reader: &ChosenReader) -> Option<&'static str> {
    let mut history = read_with(path, ReadOptions::default()).ok()?;
    let checked = check(&mut history, reader, &Options::default()).ok()?;
    Some(checked.verdict.word())
}

/// The verdict of three workers on the files of a log.
fn in_cluster(paths: &[PathBuf], reader: ChosenReader) -> Option<&'static str> {
    let options = Options::default();
    let plan = Plan {
        log: Log::open(paths, ReadOptions::default(), Defects::Note).ok()?,
        reader: Arc::new(reader),
        partitioning: options.partitioning,
        monitors: options.monitors,
        strategies: options.strategies,
        limits: Limits {
            memory: 1 << 26,
            threads: 1,
            deadline: None,
            scratch: Scratch::new(env!("CARGO_TARGET_TMPDIR")),
        },
        shard: Shard::ALL,
        defects: Defects::Note,
        decided: Arc::new([]),
    };
    let patience = Duration::from_secs(60);
    let cluster = Cluster {
        addresses: Vec::new(),
        process: 0,
        threads: 3,
        patience,
        secret: Secret::none(),
        question: String::new(),
        lost: Arc::default(),
    };
    let mut words = Vec::new();
    let outcome = run(&plan, &cluster, &mut |verdict| {
        words.push(verdict.judgement.word());
        Ok(())
    });
    if !outcome.ok()?.problems.is_empty() || words.contains(&"refused") {
        return None;
    }
    let strongest = ["violation", "unknown"].into_iter().find(|word| words.contains(word));
    Some(strongest.unwrap_or("linearizable"))
}

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("cluster-{}-{name}", std::process::id()))
}

#[test]
fn workers_agree_with_memory_on_every_object() {
    let count = histories::count(8, 1000);
    for object in histories::objects() {
        let path = file(&format!("{object}.jsonl"));
        for seed in 0..count {
            let log = histories::log(object, seed);
            std::fs::write(&path, &log).unwrap();
            let memory = in_memory(&path, &reader(object, seed));
            let cluster = in_cluster(std::slice::from_ref(&path), reader(object, seed));
            assert_eq!(memory, cluster, "{object} {seed}\n{log}");
        }
    }
}

#[test]
fn workers_agree_with_memory_where_processes_go_from_key_to_key_within_an_instant() {
    let path = file("crossing.jsonl");
    let dealt: Vec<PathBuf> = (0..3).map(|number| file(&format!("dealt-{number}.jsonl"))).collect();
    let mut words = BTreeMap::new();
    for seed in 0..histories::count(60, 20_000) {
        let log = histories::crossing_log(seed);
        std::fs::write(&path, &log).unwrap();
        let memory = in_memory(&path, &reader("map", 1));
        *words.entry(memory).or_insert(0) += 1;
        let cluster = in_cluster(std::slice::from_ref(&path), reader("map", 1));
        assert_eq!(memory, cluster, "{seed}\n{log}");
        // The same operations, dealt to three files.
        let mut dice = histories::Dice(seed);
        let mut texts = [const { String::new() }; 3];
        for line in log.lines() {
            texts[dice.below(3) as usize] += &format!("{line}\n");
        }
        for (path, text) in dealt.iter().zip(&texts) {
            std::fs::write(path, text).unwrap();
        }
        // Lines have other numbers then, which order what one process does within an instant.
        let whole: String = texts.concat();
        std::fs::write(&path, &whole).unwrap();
        let memory = in_memory(&path, &reader("map", 1));
        assert_eq!(memory, in_cluster(&dealt, reader("map", 1)), "{seed} dealt\n{texts:?}");
    }
    println!("{words:?}");
    let seen = |word| words.contains_key(&Some(word));
    assert!(seen("violation") && seen("linearizable"), "only {words:?}");
}
