//! A log that is checked from disk gets the verdict and the counterexample that it gets in memory.

use seriatim_history::{Format, History, Horizon, OpId, ReadOptions, read_with, write};
use seriatim_monitor::partition::Partitioning;
use seriatim_monitor::{Options, StopAt, check};
use seriatim_scale::judge::Evidence;
use seriatim_scale::run::{Defects, Limits, Log, Plan, Shard};
use seriatim_scale::spill::Scratch;
use seriatim_scale::split::Splitting;
use seriatim_scale::{JudgedPart, Judgement, Summary, run};
use seriatim_spec::generate::{Generator, Profile, Repetition, Violation};
use seriatim_spec::{ChosenReader, Counterexample, DecidedBy, Failures, SpecChoice, Verdict};
use seriatim_testing::Random;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn file(name: &str, content: &[u8]) -> PathBuf {
    let name = format!("scale-{}-{name}", std::process::id());
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, content).unwrap();
    path
}

fn reader(spec: &str) -> ChosenReader {
    ChosenReader { choice: SpecChoice::parse(spec).unwrap(), failures: Failures::Drop }
}

fn plan(paths: &[PathBuf], spec: &str, memory: usize) -> Plan {
    let options = Options::default();
    Plan {
        log: Log::open(paths, ReadOptions::default(), Defects::End).unwrap(),
        reader: Arc::new(reader(spec)),
        partitioning: options.partitioning,
        monitors: options.monitors,
        strategies: options.strategies,
        limits: Limits {
            memory,
            threads: 2,
            deadline: None,
            scratch: Scratch::new(env!("CARGO_TARGET_TMPDIR")),
        },
        shard: Shard::ALL,
        defects: Defects::End,
        decided: Arc::new([]),
    }
}

fn decide(plan: &Plan) -> (Summary, Vec<JudgedPart>) {
    let mut parts = Vec::new();
    let summary = run(plan, &mut |verdict| {
        parts.push(verdict);
        Ok(ControlFlow::Continue(()))
    });
    parts.sort_by_key(|part| part.first);
    (summary.unwrap(), parts)
}

/// A counterexample by what it holds, without the numbers of operations.
fn shown(history: &History, found: &Counterexample, names: Names) -> Vec<String> {
    let told = |&op: &OpId| {
        let operation = history.operation(op);
        let ret = operation.ret().filter(|&ret| match found.horizon {
            Horizon::Whole => true,
            Horizon::Until(end) => ret <= end,
        });
        let process = match names {
            Names::Recorded => history.process_name(operation.process()).to_string(),
            Names::Invented => String::new(),
        };
        format!("{} {process} {operation} {} {ret:?}", operation.line(), operation.call())
    };
    let mut lines: Vec<String> = found.operations.iter().map(told).collect();
    lines.push(found.explanation.sentence.clone());
    if let Some(context) = &found.context {
        lines.push(context.state.clone());
        lines.extend(context.order.iter().map(told));
    }
    for attempt in &found.explanation.attempts {
        lines.push(attempt.state.clone());
        lines.extend(attempt.order.iter().map(told));
        lines.extend(attempt.stuck.iter().map(|(op, reason)| format!("{} {reason}", told(op))));
    }
    lines
}

/// Whether the log names its processes, or the reader makes names up.
#[derive(Clone, Copy)]
enum Names {
    Recorded,
    Invented,
}

/// Compares the two ways on a file; gives whether there is a violation.
fn compare(path: &Path, spec: &str, memory: usize, names: Names) -> bool {
    let mut history = read_with(path, ReadOptions::default()).unwrap();
    let options = Options { stop_at: StopAt::End, threads: 1, ..Options::default() };
    let whole = check(&mut history, &reader(spec), &options).unwrap();
    let (summary, parts) = decide(&plan(&[path.to_owned()], spec, memory));
    let tally = history.tally();
    assert_eq!(summary.tally, tally, "{}", path.display());
    let first = parts.iter().find_map(|part| match &part.judgement {
        Judgement::Violation(evidence) => Some(evidence),
        Judgement::Linearizable => None,
        other => panic!("{}: {other:?}", path.display()),
    });
    match (&whole.verdict, first.map(|evidence| &**evidence)) {
        (Verdict::Linearizable(_), None) => false,
        (Verdict::Violation(found), Some(Evidence::Shown { history: part, checked, .. })) => {
            let Verdict::Violation(other) = &checked.verdict else { panic!("evidence of nothing") };
            let (a, b) = (shown(&history, found, names), shown(part, other, names));
            assert_eq!(a, b, "{}", path.display());
            true
        }
        (whole, parts) => panic!("{}: {whole:?} in memory, {parts:?} from disk", path.display()),
    }
}

fn generated(spec: &str, seed: u64, operations: u64) -> History {
    let profile = Profile {
        operations,
        threads: 2 + (seed % 4) as u32,
        overlap: 0.7,
        pending: if seed.is_multiple_of(3) { 0.02 } else { 0.0 },
        keys: 1 + seed % 40,
        values: if seed.is_multiple_of(5) { Repetition::Among(4) } else { Repetition::Distinct },
        violation: match seed % 2 {
            0 => Violation::At(operations / 2),
            _ => Violation::None,
        },
        seed,
        ..Profile::default()
    };
    let choice = SpecChoice::parse(spec).unwrap();
    Generator::new(&choice, profile).unwrap().history().unwrap().history
}

/// The lines of a text behind its first, shuffled.
fn shuffled(text: &[u8], seed: u64) -> Vec<u8> {
    let text = std::str::from_utf8(text).unwrap();
    let (header, body) = text.split_once('\n').unwrap();
    let mut lines: Vec<&str> = body.lines().collect();
    let mut state = seed;
    for index in (1..lines.len()).rev() {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        lines.swap(index, (state >> 33) as usize % (index + 1));
    }
    format!("{header}\n{}\n", lines.join("\n")).into_bytes()
}

#[test]
fn verdicts_and_counterexamples_are_those_of_the_history_in_memory() {
    let specs = ["map", "kv", "set", "multiset", "register", "queue", "stack", "counter"];
    let mut violations = 0;
    for seed in 0..48 {
        let spec = specs[seed as usize % specs.len()];
        let history = generated(spec, seed / 8 * 7 + seed % 8, 600);
        let mut formats = vec![Format::JsonLines, Format::JsonEvents, Format::Edn];
        if spec == "set" || spec == "queue" {
            formats.extend([Format::PolyLin, Format::LiMo]);
        }
        for format in formats {
            let mut text = Vec::new();
            let written = write(&history, format, &mut text);
            if written.is_err() {
                continue;
            }
            let names = match format {
                Format::PolyLin => Names::Invented,
                _ => Names::Recorded,
            };
            let path = file(&format!("{seed}-{format}"), &text);
            violations += usize::from(compare(&path, spec, 1 << 30, names));
            if format == Format::JsonLines {
                let path = file(&format!("{seed}-shuffled"), &shuffled(&text, seed));
                compare(&path, spec, 1 << 30, names);
            }
        }
    }
    assert!(violations > 40, "only {violations} violations");
}

#[test]
fn buckets_that_are_too_large_are_spread_again() {
    for violation in [Violation::None, Violation::At(7_000)] {
        let profile = Profile { operations: 20_000, keys: 3_000, violation, ..Profile::default() };
        let choice = SpecChoice::parse("map").unwrap();
        let history = Generator::new(&choice, profile).unwrap().history().unwrap().history;
        let mut text = Vec::new();
        write(&history, Format::JsonLines, &mut text).unwrap();
        let path = file("spread", &text);
        // A bucket may have 3 KiB; the first level has more than 5 in each.
        let is_violated = compare(&path, "map", 48 << 10, Names::Recorded);
        assert_eq!(is_violated, violation != Violation::None);
    }
}

#[test]
fn several_files_of_operations_are_one_log() {
    for seed in [4, 6, 9] {
        let history = generated("map", seed, 900);
        let mut text = Vec::new();
        write(&history, Format::JsonLines, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let (header, body) = text.split_once('\n').unwrap();
        let mut files = vec![format!("{header}\n"); 3];
        for (index, line) in body.lines().enumerate() {
            files[(index * 7 + index / 5) % 3] += &format!("{line}\n");
        }
        let paths: Vec<PathBuf> = files
            .iter()
            .enumerate()
            .map(|(index, text)| file(&format!("several-{seed}-{index}"), text.as_bytes()))
            .collect();
        let alone = file(&format!("alone-{seed}"), text.as_bytes());
        let (_, together) = decide(&plan(&paths, "map", 1 << 30));
        let (_, alone) = decide(&plan(&[alone], "map", 1 << 30));
        let words = |parts: &[JudgedPart]| {
            let word = |part: &JudgedPart| {
                (part.hash, part.label.clone(), part.operations, part.judgement.word())
            };
            parts.iter().map(word).collect::<Vec<_>>()
        };
        assert_eq!(words(&together), words(&alone));
    }
}

/// Operations of a coarse clock, spread over files of which each has lines of the same numbers and
/// operations of the same processes. What a `put` puts tells its file.
fn spread_over_files(seed: u64) -> [String; 3] {
    let mut dice = Random(seed ^ 0x0F11E5);
    let mut files = [const { String::new() }; 3];
    let mut put: Vec<u64> = Vec::new();
    for process in 0..3 {
        let mut now = 0;
        for _ in 0..3 {
            let ret = now + dice.below(2);
            let file = dice.index(3);
            let what = match (dice.index(2), put.is_empty()) {
                (0, false) => format!("\"op\":\"get\",\"result\":{}", put[dice.index(put.len())]),
                _ => {
                    put.push(1000 * file as u64 + put.len() as u64);
                    format!("\"op\":\"put\",\"arg\":{}", put[put.len() - 1])
                }
            };
            let head = format!("\"process\":{process},\"key\":0,\"call\":{now},\"return\":{ret}");
            files[file] += &format!("{{{head},{what}}}\n");
            now = ret;
        }
    }
    files
}

/// Each reader of a long log begins with what stands before the first operation: the header once,
/// also where its own lines begin among the remarks before it.
#[test]
fn a_header_behind_remarks_is_read_once_by_every_reader() {
    let remarks: String =
        (0..200).map(|at| format!("{{\"annotation\":\"remark {at}\",\"start\":{at}}}\n")).collect();
    let header = "{\"seriatim\":1,\"nil\":\"unknown\"}\n";
    let row = |at: u64, told: &str| format!("{{{told},\"key\":1,\"call\":{at},\"return\":{at}}}\n");
    let right = row(1, "\"op\":\"put\",\"arg\":7") + &row(2, "\"op\":\"get\",\"result\":7");
    let wrong = row(3, "\"op\":\"get\",\"result\":8");
    for (name, operations, is_wrong) in
        [("right", right.clone(), false), ("wrong", right + &wrong, true)]
    {
        let path = file(name, [remarks.as_str(), header, &operations].concat().as_bytes());
        let (_, parts) = decide(&plan(&[path], "map", 1 << 20));
        let violated = |part: &JudgedPart| matches!(part.judgement, Judgement::Violation(_));
        assert_eq!(parts.iter().any(violated), is_wrong, "{name}");
    }
}

#[test]
fn operations_keep_their_files_where_ties_are_settled_and_operations_numbered_anew() {
    let (mut compared, mut settled) = (0, 0);
    for seed in 0..400 {
        let paths: Vec<PathBuf> = spread_over_files(seed)
            .iter()
            .enumerate()
            .map(|(index, text)| file(&format!("spread-{index}"), text.as_bytes()))
            .collect();
        let (_, parts) = decide(&plan(&paths, "map", 1 << 30));
        for part in parts {
            let Judgement::Violation(evidence) = part.judgement else { continue };
            let Evidence::Shown { history, files, checked } = *evidence else {
                panic!("a part that fits in memory is shown")
            };
            for (operation, file) in history.operations().zip(&files) {
                if let Some(value) = history.values().as_int(operation.arg()) {
                    assert_eq!(value / 1000, i64::from(*file), "seed {seed}: {operation}");
                    compared += 1;
                }
            }
            assert_eq!(files.len(), history.len());
            let Verdict::Violation(found) = &checked.verdict else { panic!("evidence of nothing") };
            settled += usize::from(found.explanation.sentence.contains("the last of them"));
        }
    }
    assert!(compared > 500 && settled > 5, "{compared} compared, {settled} with settled ties");
}

#[test]
fn an_operation_on_the_whole_object_forbids_splitting_by_key() {
    let text = b"{\"seriatim\":1,\"spec\":\"map\"}\n\
        {\"process\":0,\"op\":\"put\",\"key\":1,\"arg\":5,\"call\":1,\"return\":2}\n\
        {\"process\":0,\"op\":\"put\",\"key\":2,\"arg\":5,\"call\":3,\"return\":4}\n\
        {\"process\":0,\"op\":\"size\",\"result\":1,\"call\":5,\"return\":6}\n";
    let path = file("size", text);
    let (summary, parts) = decide(&plan(std::slice::from_ref(&path), "map", 1 << 30));
    assert_eq!((summary.splitting, parts.len()), (Splitting::ByObject, 1));
    assert!(compare(&path, "map", 1 << 30, Names::Recorded));
}

#[test]
fn a_giant_key_is_watched_and_what_cannot_be_watched_stays_open() {
    let history = |violation| {
        let profile = Profile {
            operations: 60_000,
            keys: 1,
            shares: vec![("get".into(), 1.0), ("put".into(), 1.0)],
            violation,
            ..Profile::default()
        };
        // The other methods of a map are not drawn.
        let mut shares = profile.shares.clone();
        shares.extend(["insert", "delete", "cas"].map(|name| (name.to_owned(), 0.0)));
        let profile = Profile { shares, ..profile };
        let choice = SpecChoice::parse("map").unwrap();
        Generator::new(&choice, profile).unwrap().history().unwrap().history
    };
    for (violation, word) in
        [(Violation::None, "linearizable"), (Violation::At(30_000), "violation")]
    {
        let mut text = Vec::new();
        write(&history(violation), Format::JsonLines, &mut text).unwrap();
        let path = file(&format!("giant-{word}"), &text);
        let (_, parts) = decide(&plan(&[path], "map", 2 << 20));
        assert_eq!(parts.len(), 1);
        let by = DecidedBy::Monitor("online monitor");
        assert_eq!((parts[0].judgement.word(), parts[0].decided_by), (word, by));
    }
    let choice = SpecChoice::parse("deque").unwrap();
    let profile = Profile { operations: 60_000, ..Profile::default() };
    let deque = Generator::new(&choice, profile).unwrap().history().unwrap().history;
    let mut text = Vec::new();
    write(&deque, Format::JsonEvents, &mut text).unwrap();
    let (_, parts) = decide(&plan(&[file("deque", &text)], "deque", 2 << 20));
    let Judgement::Unknown(reason) = &parts[0].judgement else { panic!("{parts:?}") };
    assert!(reason.contains("60000 operations of one part do not fit in memory"), "{reason}");
}

#[test]
fn what_does_not_fit_in_memory_is_called_linearizable_only_with_an_order_that_was_replayed() {
    for (object, overlap) in [("register", 0.8), ("set", 0.2), ("counter", 0.8), ("mutex", 0.5)] {
        let profile = Profile { operations: 30_000, overlap, ..Profile::default() };
        let choice = SpecChoice::parse(object).unwrap();
        let history = Generator::new(&choice, profile).unwrap().history().unwrap().history;
        let mut text = Vec::new();
        write(&history, Format::JsonLines, &mut text).unwrap();
        let path = file(&format!("replayed-{object}"), &text);
        let plan = Plan { partitioning: Partitioning::ByObject, ..plan(&[path], object, 4 << 20) };
        let (_, parts) = decide(&plan);
        assert_eq!(parts.len(), 1);
        assert_eq!(parts[0].judgement.word(), "linearizable", "{object}: {:?}", parts[0].judgement);
    }
    // The order in which a long queue was filled shows only when it is emptied, far behind the
    // window.
    let profile = Profile { operations: 30_000, ..Profile::default() };
    let choice = SpecChoice::parse("queue").unwrap();
    let queue = Generator::new(&choice, profile).unwrap().history().unwrap().history;
    let mut text = Vec::new();
    write(&queue, Format::JsonLines, &mut text).unwrap();
    let (_, parts) = decide(&plan(&[file("replayed-queue", &text)], "queue", 1 << 20));
    let Judgement::Unknown(reason) = &parts[0].judgement else { panic!("{parts:?}") };
    assert!(reason.contains("found nothing wrong, but no order could be replayed"), "{reason}");
}

#[test]
fn what_is_wrong_in_memory_is_wrong_from_disk() {
    let cases = [
        "{\"process\":0,\"op\":\"put\",\"key\":1,\"arg\":5,\"call\":1,\"return\":9}\n\
         {\"process\":0,\"op\":\"put\",\"key\":2,\"arg\":5,\"call\":3,\"return\":4}\n",
        "{\"process\":0,\"op\":\"put\",\"key\":1,\"arg\":5,\"call\":3,\"return\":4}\n\
         {\"process\":0,\"op\":\"put\",\"key\":2,\"arg\":5,\"call\":1,\"return\":9}\n",
        "{\"process\":0,\"op\":\"put\",\"key\":1,\"arg\":5,\"call\":1,\"return\":2}\n{\"proc\n",
        "{\"process\":0,\"op\":\"push\",\"arg\":5,\"call\":1,\"return\":2}\n",
        "{\"process\":0,\"op\":\"put\",\"key\":1,\"call\":1,\"return\":2}\n",
        "{\"process\":0,\"type\":\"return\"}\n",
    ];
    for (index, text) in cases.iter().enumerate() {
        let path = file(&format!("wrong-{index}"), text.as_bytes());
        let in_memory = read_with(&path, ReadOptions::default())
            .and_then(|mut history| check(&mut history, &reader("map"), &Options::default()))
            .unwrap_err();
        let log = Log::open(std::slice::from_ref(&path), ReadOptions::default(), Defects::End);
        let from_disk = match log {
            Err(error) => error.to_string(),
            Ok(_) => {
                let plan = plan(&[path], "map", 1 << 30);
                run(&plan, &mut |_| Ok(ControlFlow::Continue(()))).unwrap_err().to_string()
            }
        };
        assert_eq!(from_disk, in_memory.to_string());
    }
}

/// Every history of two processes that each do two things and touch at one instant, on two keys.
fn touching(shape: [(u64, u64); 2]) -> impl Iterator<Item = String> {
    let deeds = ["x\",\"op\":\"get\",\"result\":1", "x\",\"op\":\"put\",\"arg\":1"];
    let deeds: Vec<String> =
        ["x", "y"].iter().flat_map(|key| deeds.map(|deed| deed.replacen('x', key, 1))).collect();
    (0..deeds.len().pow(4)).map(move |number| {
        let line = |place: usize| {
            let deed = &deeds[number / deeds.len().pow(place as u32) % deeds.len()];
            let (call, ret) = shape[place % 2];
            format!(
                "{{\"process\":{},\"key\":\"{deed},\"call\":{call},\"return\":{ret}}}\n",
                place / 2
            )
        };
        (0..4).map(line).collect()
    })
}

#[test]
fn turns_from_part_to_part_within_an_instant_count_from_disk_as_in_memory() {
    let mut violations = 0;
    // The second shape is read in another order than it happened.
    for shape in [[(1, 2), (2, 3)], [(2, 3), (2, 2)]] {
        for text in touching(shape) {
            let path = file("turns.jsonl", text.as_bytes());
            let mut history = read_with(&path, ReadOptions::default()).unwrap();
            let whole = check(&mut history, &reader("map"), &Options::default()).unwrap();
            let (_, parts) = decide(&plan(std::slice::from_ref(&path), "map", 64 << 20));
            let is_wrong =
                parts.iter().any(|part| matches!(part.judgement, Judgement::Violation(_)));
            assert_eq!(is_wrong, matches!(whole.verdict, Verdict::Violation(_)), "{text}");
            violations += u32::from(is_wrong);
        }
    }
    assert!(violations > 100, "{violations}");
}
