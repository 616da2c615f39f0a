//! Disk, shards, merged verdict files and parts that are watched say what the check in memory says.
//!
//! Ten thousand logs of every object with `SERIATIM_LONG=1`.

mod histories;

use seriatim_history::{History, OpId, ReadOptions, read_with};
use seriatim_monitor::{Options, StopAt, check};
use seriatim_scale::judge::Evidence;
use seriatim_scale::merge::merge_contents;
use seriatim_scale::run::{Defects, Limits, Log, Plan, Shard};
use seriatim_scale::spill::Scratch;
use seriatim_scale::verdicts::{About, Contents, Line, Medium, Word, Writer};
use seriatim_scale::{JudgedPart, Judgement, run};
use seriatim_spec::{ChosenReader, Counterexample, DecidedBy, SpecChoice, Verdict};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What the check in memory says.
enum Whole {
    Linearizable,
    Violation(Box<History>, Counterexample),
    Refused,
    Unknown,
}

/// What is checked, and against what.
struct Case {
    object: &'static str,
    seed: u64,
    path: PathBuf,
    log: String,
}

impl Case {
    /// A log of an object, in a file of the test that asks.
    fn new(test: &str, object: &'static str, seed: u64) -> Self {
        let name = format!("agreement-{}-{test}-{object}.jsonl", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let log = histories::log(object, seed);
        std::fs::write(&path, &log).unwrap();
        Case { object, seed, path, log }
    }

    /// A log of a coarse clock.
    fn crossing(seed: u64) -> Self {
        Case::of_map("crossing", seed, histories::crossing_log(seed))
    }

    fn of_map(test: &str, seed: u64, log: String) -> Self {
        let name = format!("agreement-{}-{test}.jsonl", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::write(&path, &log).unwrap();
        Case { object: "map", seed, path, log }
    }

    /// Whether each key by itself is linearizable.
    fn is_right_by_key(&self) -> bool {
        (0..2).all(|key| {
            let is_of_key = |line: &&str| line.contains(&format!("\"key\":{key}"));
            let lines = self.log.lines().filter(is_of_key).map(|line| format!("{line}\n"));
            let part = Case::of_map("crossing-key", self.seed, lines.collect());
            matches!(part.in_memory(), Whole::Linearizable)
        })
    }

    fn reader(&self) -> ChosenReader {
        let choice = SpecChoice::parse(self.object).unwrap();
        ChosenReader { choice, failures: histories::failures(self.seed) }
    }

    fn in_memory(&self) -> Whole {
        let Ok(mut history) = read_with(&self.path, ReadOptions::default()) else {
            return Whole::Refused;
        };
        let options = Options { stop_at: StopAt::End, threads: 1, ..Options::default() };
        match check(&mut history, &self.reader(), &options) {
            Err(_) => Whole::Refused,
            Ok(checked) => match checked.verdict {
                Verdict::Linearizable(_) => Whole::Linearizable,
                Verdict::Violation(found) => Whole::Violation(Box::new(history), found),
                Verdict::Unknown(_) => Whole::Unknown,
            },
        }
    }

    fn plan(&self, memory: usize, shard: Shard) -> Option<Plan> {
        let options = Options::default();
        let paths = std::slice::from_ref(&self.path);
        Some(Plan {
            log: Log::open(paths, ReadOptions::default(), Defects::End).ok()?,
            reader: Arc::new(self.reader()),
            partitioning: options.partitioning,
            monitors: options.monitors,
            strategies: options.strategies,
            limits: Limits {
                memory,
                threads: 1,
                deadline: None,
                scratch: Scratch::new(env!("CARGO_TARGET_TMPDIR")),
            },
            shard,
            defects: Defects::End,
            decided: Arc::new([]),
        })
    }

    /// The verdicts on all parts; `None` if the log is refused.
    fn parts_on_disk(&self, memory: usize, shard: Shard) -> Option<Vec<JudgedPart>> {
        let mut parts = Vec::new();
        let told = run(&self.plan(memory, shard)?, &mut |verdict| {
            parts.push(verdict);
            Ok(ControlFlow::Continue(()))
        });
        told.ok()?;
        let is_refused = |part: &JudgedPart| matches!(part.judgement, Judgement::Refused(_));
        (!parts.iter().any(is_refused)).then_some(parts)
    }

    /// The verdict of shards whose verdict files are merged.
    fn merged(&self, count: u32) -> Word {
        let plan = self.plan(1 << 26, Shard::ALL).unwrap();
        let mut all = Vec::new();
        for index in 0..count {
            let shard = Shard { index, count };
            let (spec, path) = (self.object, Path::new("verdicts"));
            let about = About::new(&plan.log.files, spec, "", shard).unwrap();
            let mut writer = Writer::on(Memory::default(), path, &about).unwrap();
            for part in self.parts_on_disk(1 << 26, shard).unwrap() {
                writer.append(&Line::of(&part, &plan.log.files, spec)).unwrap();
            }
            let mut written = writer.finish(&[]).unwrap();
            let contents = Contents::read_from(&mut written, path).unwrap();
            all.push((PathBuf::from(format!("v{index}")), contents));
        }
        merge_contents(all).unwrap().word()
    }
}

impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}\n{}", self.object, self.seed, self.log)
    }
}

/// A verdict file that is only in memory.
#[derive(Default)]
struct Memory(Vec<u8>);

impl Medium for Memory {
    fn reader(&mut self) -> io::Result<Box<dyn BufRead + '_>> {
        Ok(Box::new(&self.0[..]))
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    fn truncate(&mut self, bytes: u64) -> io::Result<()> {
        self.0.truncate(bytes as usize);
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The lines of the operations of a counterexample.
fn lines(history: &History, operations: &[OpId]) -> Vec<u64> {
    operations.iter().map(|&op| history.operation(op).line()).collect()
}

/// Whether the part that memory convicts is one that the disk convicts.
fn same_part(history: &History, found: &Counterexample, parts: &[JudgedPart]) -> bool {
    let convicted = lines(history, &found.operations);
    parts.iter().any(|part| match &part.judgement {
        Judgement::Violation(evidence) => match &**evidence {
            Evidence::Shown { history, .. } => {
                let all: Vec<u64> =
                    history.operations().map(|operation| operation.line()).collect();
                convicted.iter().all(|line| all.contains(line))
            }
            Evidence::Sentence { .. } => true,
        },
        _ => false,
    })
}

fn words(parts: &[JudgedPart]) -> BTreeMap<u64, &'static str> {
    parts.iter().map(|part| (part.hash.0, part.judgement.word())).collect()
}

/// Compares a log from disk with the same in memory; gives the word that both say.
fn compare(case: &Case) -> &'static str {
    let whole = case.in_memory();
    let parts = case.parts_on_disk(1 << 26, Shard::ALL);
    let (word, parts) = match (&whole, parts) {
        (Whole::Refused, None) => return "refused",
        // An order was found that the replay does not accept; there is nothing to compare with.
        (Whole::Unknown, _) => return "unknown",
        (Whole::Linearizable, Some(parts)) => ("linearizable", parts),
        (Whole::Violation(history, found), Some(parts)) => {
            // Where the log leaves the order of calls open, each order may convict another part.
            let is_open = found.explanation.sentence.contains("the last of them");
            assert!(is_open || same_part(history, found, &parts), "{case}another part");
            ("violation", parts)
        }
        (Whole::Refused, Some(parts)) => panic!("{case}refused in memory, {parts:?} from disk"),
        (_, None) => panic!("{case}refused from disk, not in memory"),
    };
    let is_violated = parts.iter().any(|part| part.judgement.word() == "violation");
    assert_eq!(is_violated, word == "violation", "{case}{parts:?}");
    if case.seed.is_multiple_of(4) {
        let expected = if is_violated { Word::Violation } else { Word::Linearizable };
        assert_eq!(case.merged(3), expected, "{case}merged from shards");
        let shards = (0..3).map(|index| Shard { index, count: 3 });
        let apart: Vec<JudgedPart> =
            shards.flat_map(|shard| case.parts_on_disk(1 << 26, shard).unwrap()).collect();
        assert_eq!(words(&apart), words(&parts), "{case}");
    }
    word
}

/// Compares a log whose parts are watched because they do not fit in memory; `None` if none was
/// decided so.
fn compare_watched(case: &Case, memory: usize) -> Option<()> {
    let parts = case.parts_on_disk(memory, Shard::ALL)?;
    let is_watched = |part: &&JudgedPart| {
        ["online monitor", "check of windows"].map(DecidedBy::Monitor).contains(&part.decided_by)
    };
    parts.iter().find(is_watched)?;
    let has = |word: &str| parts.iter().any(|part| part.judgement.word() == word);
    match (case.in_memory(), has("violation"), has("unknown")) {
        (Whole::Violation(..), true, _) | (Whole::Linearizable, false, _) => Some(()),
        (Whole::Violation(..), false, true) => None,
        (Whole::Violation(..), false, false) => panic!("{case}linearizable from disk: {parts:?}"),
        (Whole::Linearizable, true, _) => panic!("{case}violated from disk: {parts:?}"),
        (Whole::Unknown, ..) => None,
        (Whole::Refused, ..) => panic!("{case}refused in memory, from disk {parts:?}"),
    }
}

#[test]
fn disk_shards_and_merged_files_agree_with_memory_on_every_object() {
    let mut words_seen: BTreeSet<&str> = BTreeSet::new();
    for object in histories::objects() {
        let mut seen: BTreeMap<&str, u64> = BTreeMap::new();
        for seed in 0..histories::count(25, 10_000) {
            *seen.entry(compare(&Case::new("disk", object, seed))).or_default() += 1;
        }
        println!("{object}: {seen:?}");
        let unknown = seen.get("unknown").copied().unwrap_or(0);
        assert!(unknown * 10 < histories::count(25, 10_000), "{object}: {unknown} unknown");
        words_seen.extend(seen.keys());
    }
    let all = ["linearizable", "refused", "violation"];
    assert!(all.iter().all(|word| words_seen.contains(word)), "only {words_seen:?}");
}

#[test]
fn parts_that_are_watched_agree_with_memory() {
    let mut watched = 0;
    for object in histories::objects() {
        let before = watched;
        for seed in 0..histories::count(20, 10_000) {
            let case = Case::new("watched", object, seed);
            let memories = [900, 2000, 4000];
            watched += memories.iter().filter_map(|&memory| compare_watched(&case, memory)).count();
        }
        println!("{object}: {} watched", watched - before);
    }
    assert!(watched > 10, "only {watched} parts were watched");
}

#[test]
fn disk_and_shards_agree_with_memory_where_processes_go_from_key_to_key_within_an_instant() {
    let mut only_together = 0;
    for seed in 0..histories::count(300, 100_000) {
        let case = Case::crossing(seed);
        let is_violated = compare(&case) == "violation";
        only_together += u64::from(is_violated && case.is_right_by_key());
    }
    println!("{only_together} logs are wrong though each key is right");
    assert!(only_together > 0, "no log is wrong only as a whole");
}
