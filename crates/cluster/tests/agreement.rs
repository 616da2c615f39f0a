//! The workers of a cluster say what the check in memory says, whatever the log.

#[path = "../../scale/tests/agreement/histories.rs"]
mod histories;

use seriatim_cluster::{Cluster, run};
use seriatim_history::{ReadOptions, read_with};
use seriatim_monitor::{Options, check};
use seriatim_scale::run::{Defects, Limits, Log, Plan, Shard};
use seriatim_scale::spill::Scratch;
use seriatim_spec::{ChosenReader, SpecChoice};
use std::path::Path;
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

/// The verdict of three workers.
fn in_cluster(path: &Path, reader: ChosenReader) -> Option<&'static str> {
    let options = Options::default();
    let plan = Plan {
        log: Log::open(&[path.to_owned()], ReadOptions::default(), Defects::Note).ok()?,
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
    let (addresses, lost) = (Vec::new(), Arc::default());
    let cluster = Cluster { addresses, process: 0, threads: 3, patience, lost };
    let mut words = Vec::new();
    let outcome = run(&plan, &cluster, &mut |verdict| {
        words.push(verdict.standing.word());
        Ok(())
    });
    if !outcome.ok()?.problems.is_empty() || words.contains(&"refused") {
        return None;
    }
    Some(if words.contains(&"violation") { "violation" } else { "linearizable" })
}

#[test]
fn workers_agree_with_memory_on_every_object() {
    let count = histories::count(8, 1000);
    for object in histories::objects() {
        let name = format!("cluster-{}-{object}.jsonl", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        for seed in 0..count {
            let log = histories::log(object, seed);
            std::fs::write(&path, &log).unwrap();
            let (memory, cluster) =
                (in_memory(&path, &reader(object, seed)), in_cluster(&path, reader(object, seed)));
            assert_eq!(memory, cluster, "{object} {seed}\n{log}");
        }
    }
}
