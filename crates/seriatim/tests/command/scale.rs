//! Logs that are checked from disk, in shards, and put together again.

use super::run::{example, file, folder, seriatim, seriatim_reading, text};
use super::schema::Schema;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;
use seriatim::SpecChoice;
use seriatim::history::{Format, write};
use seriatim::spec::generate::{Generator, Profile, Violation};
use std::io::Write;
use std::path::Path;

/// A log of a map with one violation among 40 keys.
fn map_log(folder: &Path, more: &[&str]) -> String {
    let shape = ["gen", "map", "-n", "3000", "--keys", "40", "--violation", "0.4"];
    let made = seriatim(&[&shape[..], more].concat()).exits(0);
    file(folder, "map.jsonl", made.out)
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).expect("a file")
}

#[test]
fn a_streamed_history_is_the_one_that_is_collected() {
    for (format, name) in [(Format::JsonLines, "jsonl"), (Format::JsonEvents, "jsonl-events")] {
        for spec in ["map", "queue", "multi-register", "mutex"] {
            let profile = Profile {
                operations: 400,
                pending: if spec == "mutex" { 0.0 } else { 0.05 },
                violation: Violation::At(200),
                seed: 7,
                ..Profile::default()
            };
            let arguments = ["--to", name, "-n", "400", "--violation", "--seed", "7", "--pending"];
            let pending = if spec == "mutex" { "0" } else { "5%" };
            let made = seriatim(&[&["gen", spec], &arguments[..], &[pending]].concat()).exits(0);
            let choice = SpecChoice::parse(spec).expect("a specification");
            let generator = Generator::new(&choice, profile).expect("a generator");
            let history = generator.history().expect("a history").history;
            let mut expected = Vec::new();
            write(&history, format, &mut expected).expect("a text");
            assert_eq!(made.out.as_bytes(), expected, "{spec} as {name}");
        }
    }
}

#[test]
fn standard_input_that_does_not_fit_in_memory_is_checked_from_disk() {
    let shape = ["gen", "map", "-n", "300000", "--keys", "4000", "--violation", "0.9"];
    let log = seriatim(&shape).exits(0).out;
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(log.as_bytes()).expect("memory");
    let packed = packed.finish().expect("memory");
    let temporary = text(&folder("stdin"));
    let limited = ["check", "--spec", "map", "-", "--memory", "12M", "--temp", &temporary];
    for input in [log.as_bytes(), &packed] {
        let ran = seriatim_reading(input, &limited).exits(1);
        ran.says("VIOLATION  <stdin>").says("checked from disk");
    }
    // Whoever must not use the disk says how far it came.
    let in_memory = [&limited[..], &["--spill", "never"]].concat();
    seriatim_reading(log.as_bytes(), &in_memory).exits(3).says("the memory limit was reached");
    assert_eq!(std::fs::read_dir(&temporary).expect("a folder").count(), 0);
}

#[test]
fn a_log_is_checked_from_disk_as_in_memory() {
    let folder = folder("spilled");
    let log = map_log(&folder, &[]);
    let whole = seriatim(&["check", &log, "--spill", "never"]).exits(1).out;
    let spilled = seriatim(&["check", &log, "--spill", "always", "--all"]).exits(1);
    let reason = |text: &str| {
        let start = text.find("process 0").expect("a drawing");
        let end = text.find("no fast monitor").unwrap_or(text.len());
        text[start..end].trim_end().to_owned()
    };
    assert!(reason(&spilled.out).contains(&reason(&whole)), "{whole}\n{}", spilled.out);
    spilled.says("3003 operations in 40 parts, checked from disk");
    seriatim(&["check", &log, "--spill", "always", "-q"])
        .exits(1)
        .says("violation (3003 operations)");
    let json = seriatim(&["check", &log, "--spill", "always", "--json", "--all"]).exits(1).out;
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["spilled"]["parts"], 40);
    Schema::load().validate(&json).unwrap_or_else(|problem| panic!("{problem}: {json}"));
    assert_eq!(json["verdict"], "violation");
    let good = example("queue.jsonl");
    seriatim(&["check", &good, "--spill", "always", "--spec", "queue"])
        .exits(0)
        .says("LINEARIZABLE");
    seriatim(&["check", &good, "--spill", "always", "--temp", "no/such/folder", "--spec", "queue"])
        .exits(0);
    // What does not fit in the buffers needs the folder.
    let long = seriatim(&["gen", "map", "-n", "60000", "--keys", "4"]).exits(0).out;
    let long = file(&folder, "long.jsonl", long);
    seriatim(&["check", &long, "--spill", "always", "--temp", "no/such/folder"])
        .exits(2)
        .complains("no/such/folder: cannot use temporary files");
    let nameless = file(&folder, "nameless.jsonl", read(&log).split_once('\n').expect("lines").1);
    seriatim(&["check", &nameless, "--spill", "always"]).exits(2).complains("--spec");
}

/// The operations of a log as somebody else would write them: whole, or as a call and a return, one
/// process after the other.
fn in_other_words(log: &str, is_whole: bool) -> String {
    let lines = log.lines().map(|line| serde_json::from_str(line).expect("JSON"));
    let operations = lines.filter(|line: &serde_json::Value| line.get("op").is_some());
    let record = |mut of: serde_json::Value| {
        let mut taken = |name: &str| of.as_object_mut().and_then(|of| of.remove(name));
        let (end, result) = (taken("return"), taken("result"));
        let mut other = if is_whole { json!({ "whole": of }) } else { json!({ "called": of }) };
        let (mut told, mut returned) = (String::new(), json!({ "by": of["process"] }));
        let last = if is_whole { &mut other } else { &mut returned };
        end.iter().for_each(|end| last["end"] = end.clone());
        result.iter().for_each(|result| last["got"] = result.clone());
        told.push_str(&format!("{other}\n"));
        if !is_whole && end.is_some() {
            told.push_str(&format!("{}\n", json!({ "returned": returned })));
        }
        told
    };
    operations.map(record).collect()
}

const WHOLE: &str =
    "spec = 'map'\nunit = 'ms'\n[[rule]]\nis = 'operation'\nop = 'whole.op'\nkey = 'whole.key'
process = 'whole.process'\narg = 'whole.arg?'\nresult = 'got?'\ncall = 'whole.call'
return = 'end?'\n[[rule]]\nwhen = 'has(fault)'\nis = 'skip'\n";

const IN_TWO: &str = "spec = 'map'\norder = 'time'\n[[rule]]\nis = 'call'\nwhen = 'has(called)'
process = 'called.process'\nop = 'called.op'\nkey = 'called.key'\narg = 'called.arg?'
time = 'called.call'\n[[rule]]\nis = 'return'\nwhen = 'has(returned)'\nprocess = 'returned.by'
result = 'returned.got?'\ntime = 'returned.end'\n[[rule]]\nwhen = 'has(fault)'\nis = 'skip'\n";

#[test]
fn a_log_that_a_map_reads_is_checked_from_disk_as_in_memory() {
    let folder = folder("mapped");
    let right = ["gen", "map", "-n", "12000", "--keys", "400", "--pending", "1%"];
    let wrong = [&right[..], &["--violation", "0.9"]].concat();
    for (code, made) in [(0, &right[..]), (1, &wrong)] {
        let made = seriatim(made).exits(0).out;
        for (map, is_whole) in [(WHOLE, true), (IN_TWO, false)] {
            let log = in_other_words(&made, is_whole);
            let (map, path) = (file(&folder, "m.toml", map), file(&folder, "log.jsonl", &log));
            let asked = ["check", "--map", &map, &path, "--spill"];
            let whole = seriatim(&[&asked[..], &["never"]].concat()).exits(code);
            let spilled = seriatim(&[&asked[..], &["always"]].concat()).exits(code);
            let spilled = spilled.says("parts, checked from disk");
            let drawn = |text: &str| {
                let lines = text.lines().skip_while(|line| !line.starts_with("  process"));
                lines
                    .take_while(|line| !line.contains("Why:"))
                    .map(str::to_owned)
                    .collect::<Vec<_>>()
            };
            assert_eq!(drawn(&whole.out), drawn(&spilled.out), "{}\n{}", whole.out, spilled.out);
        }
    }
}

#[test]
fn a_mapped_log_that_does_not_fit_in_memory_goes_to_the_disk_by_itself() {
    let made = ["gen", "map", "-n", "300000", "--keys", "4000", "--violation", "0.9"];
    let log = in_other_words(&seriatim(&made).exits(0).out, true);
    let map = file(&folder("mapped-large"), "m.toml", WHOLE);
    let limited = ["check", "--map", &map, "-", "--memory", "12M"];
    let ran = seriatim_reading(log.as_bytes(), &limited).exits(1);
    ran.says("checked from disk").complains("no record is for the rule `has(fault)`");
}

#[test]
fn shards_are_merged_to_the_verdicts_of_one_run() {
    let folder = folder("shards");
    let log = map_log(&folder, &[]);
    let path = |name: &str| text(&folder.join(name));
    let (all, merged_all, merged) = (path("all"), path("merged-all"), path("merged"));
    let shards: Vec<String> = (0..3).map(|index| path(&format!("v{index}"))).collect();
    seriatim(&["check", &log, "--verdicts", &all]).exits(1).says("VIOLATION");
    let mut violated = 0;
    for (index, file) in shards.iter().enumerate() {
        let shard = format!("{index}/3");
        let ran = seriatim(&["check", &log, "--shard", &shard, "--verdicts", file]);
        violated += ran.code.expect("an exit code");
    }
    assert_eq!(violated, 1, "one shard has the violation");
    seriatim(&["merge", &all, "-o", &merged_all]).exits(1);
    let arguments = ["merge", &shards[2], &shards[0], &shards[1], "-o", &merged];
    seriatim(&arguments).exits(1).says("40 parts: 39 linearizable, 1 violated").says("process");
    assert_eq!(read(&merged), read(&merged_all));
    seriatim(&["merge", &shards[0], &shards[1]])
        .exits(2)
        .complains("other shards are missing: 2/3");
    seriatim(&["merge", &shards[0], &all]).exits(2).complains("of 1 here, of 3 there");
    seriatim(&["merge", &shards[0], &shards[0]]).exits(2).complains("the same shard");
    let other = map_log(&super::run::folder("shards-other"), &["--seed", "3"]);
    let refused = seriatim(&["check", &other, "--shard", "0/3", "--verdicts", &shards[0]]).exits(2);
    refused.complains("holds verdicts on something else (the log:");
    let options = ["--failures", "observe", "--verdicts", &all];
    seriatim(&[&["check", &log], &options[..]].concat()).exits(2).complains("the options");
    seriatim(&["merge", &log])
        .exits(2)
        .complains("line 1: expected the first line of a verdict file");
    seriatim(&["check", &log, "--shard", "3/3", "--verdicts", &all]).exits(2);
}

#[test]
fn a_run_that_was_killed_goes_on_where_its_file_ends() {
    let folder = folder("resumed");
    let log = map_log(&folder, &[]);
    let (path, merged) = (text(&folder.join("v")), text(&folder.join("merged")));
    let run = || seriatim(&["check", &log, "--verdicts", &path]).exits(1);
    run();
    seriatim(&["merge", &path, "-o", &merged]).exits(1);
    let (undisturbed, expected) = (read(&path), read(&merged));
    let verdicts = |text: &str| text.matches("\"hash\":").count();
    // Cut everywhere: between lines, within lines, within the first one.
    for cut in [0, 1, 40, 300, 1000, undisturbed.len() / 2, undisturbed.len() - 30] {
        std::fs::write(&path, &undisturbed[..cut]).expect("a file");
        let kept = undisturbed[..cut].split_inclusive('\n').filter(|l| l.ends_with('\n')).count();
        if cut > 0 && kept > 0 {
            seriatim(&["merge", &path]).exits(2).complains("is not complete");
        }
        run();
        let resumed = read(&path);
        assert_eq!(verdicts(&resumed), 40, "nothing twice, nothing forgotten");
        let whole: usize = undisturbed.split_inclusive('\n').take(kept).map(str::len).sum();
        assert_eq!(resumed[..whole], undisturbed[..whole]);
        seriatim(&["merge", &path, "-o", &merged]).exits(1);
        assert_eq!(read(&merged), expected);
    }
    // A complete file is not touched.
    let before = read(&path);
    run();
    assert_eq!(read(&path), before);
}

#[test]
fn a_verdict_file_that_was_changed_is_refused_by_merge_and_by_the_next_run() {
    let folder = folder("changed");
    let log = map_log(&folder, &[]);
    let path = text(&folder.join("v"));
    seriatim(&["check", &log, "--verdicts", &path]).exits(1);
    let whole = read(&path);
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    let at = |word: &str| lines.iter().position(|line| line.contains(word)).expect("a line");
    let (violated, end) = (at("\"verdict\":\"violation\""), lines.len() - 1);
    let without = [&lines[..violated], &lines[violated + 1..]].concat().concat();
    let twice = [&lines[..end], &lines[violated..violated + 1], &lines[end..]].concat().concat();
    let forged = lines[violated].replacen("violation", "linearizable", 1);
    let cases = [
        (without, format!("line {end}: ")),
        (twice, format!("line {}: the verdict of line {} again", end + 1, violated + 1)),
        (format!("{whole}{forged}"), format!("line {}: the line is not as", end + 2)),
        (format!("{whole}{}", lines[violated]), format!("line {}: the part was decided", end + 2)),
        (whole.replacen("violation", "linearizable", 1), format!("line {}: ", violated + 1)),
        (whole.replacen("\"parts\":40", "\"parts\":39", 1), format!("line {}: ", end + 1)),
        (whole.replacen("\"spec\":\"map\"", "\"spec\":\"kv\"", 1), "line 1: ".to_owned()),
        (whole.replacen("\"verdict\":", "\"verdict\"", 1), "line 2: expected a whole".to_owned()),
    ];
    for (changed, problem) in cases {
        std::fs::write(&path, &changed).expect("a file");
        seriatim(&["merge", &path]).exits(2).complains(&problem);
        seriatim(&["check", &log, "--verdicts", &path]).exits(2).complains(&problem);
        assert_eq!(read(&path), changed, "what is refused is left as it is");
    }
}

#[test]
fn verdicts_are_not_kept_for_a_log_or_a_specification_that_was_changed() {
    let folder = folder("stale");
    let log = map_log(&folder, &[]);
    let path = text(&folder.join("v"));
    seriatim(&["check", &log, "--verdicts", &path]).exits(1);
    // One digit in the middle, where samples would miss it.
    let mut bytes = read(&log).into_bytes();
    let middle =
        bytes.len() / 2 + bytes[bytes.len() / 2..].iter().position(|&b| b == b'"').expect("a name");
    bytes[middle + 1] ^= 1;
    std::fs::write(&log, bytes).expect("a file");
    let changed = seriatim(&["check", &log, "--verdicts", &path]).exits(2);
    changed.complains("holds verdicts on something else (the log:");
}

#[test]
fn a_damaged_file_is_named_and_leaves_the_other_keys_alone() {
    let folder = folder("damaged");
    let log = read(&map_log(&folder, &[]));
    let (header, body) = log.split_once('\n').expect("lines");
    let mut parts = vec![format!("{header}\n"); 4];
    for line in body.lines() {
        let key = line.split("\"key\":").nth(1).and_then(|rest| rest.split(',').next());
        let key: usize = key.and_then(|key| key.parse().ok()).expect("a key");
        parts[key % 4] += &format!("{line}\n");
    }
    let cut = parts[2].len() / 2;
    parts[2].insert_str(cut, "\u{1}garbage\u{2}");
    let damaged_line = parts[2][..cut].matches('\n').count() + 1;
    let names: Vec<String> =
        parts.iter().enumerate().map(|(i, part)| file(&folder, &format!("p{i}"), part)).collect();
    let names: Vec<&str> = names.iter().map(|name| &name[..]).collect();
    let verdicts = text(&folder.join("v"));
    let more = ["--one-log", "--verdicts", &verdicts];
    let ran = seriatim(&[&["check"], &names[..], &more[..]].concat()).exits(2);
    let ran = ran.complains(&format!("p2:{damaged_line}: expected"));
    ran.says("40 parts").says("10 open");
    // Without --one-log and verdicts the files are histories of their own.
    seriatim(&[&["check", "-q"], &names[..]].concat()).complains(&format!("p2:{damaged_line}:"));
    let together = ["--one-log", "--spec", "map"];
    seriatim(&[&["check"], &names[..2], &together[..]].concat()).says("in 20 parts");
    let events = seriatim(&["convert", names[0], "--to", "jsonl-events"]).exits(0).out;
    let events = file(&folder, "events", events);
    seriatim(&["check", &events, names[1], "--one-log"]).exits(2).complains("a log of events");
}

#[cfg(unix)]
#[test]
fn what_can_be_read_only_once_is_not_empty_the_second_time() {
    let wrong = std::fs::read(example("queue-overtaken.jsonl")).expect("an example");
    let verdicts = text(&folder("once").join("verdicts"));
    let pipe = ["check", "--spec", "queue", "/dev/stdin"];
    seriatim_reading(&wrong, &pipe).exits(1);
    for more in [["--spill", "always"], ["--verdicts", &verdicts]] {
        let words = [&pipe[..], &more].concat();
        seriatim_reading(&wrong, &words).exits(2).complains("/dev/stdin can be read only once");
    }
    seriatim_reading(&wrong, &["check", "--spec", "queue", "--spill", "always", "-"]).exits(1);
}
