//! Spoiled histories through the whole command: an exit code, never a panic.

use super::run::{example, examples, file, folder, seriatim, seriatim_reading, text};
use serde_json::{Value as Json, json};
use seriatim::spec::catalogue;

/// Marsaglia's xorshift: the same garbage in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }
}

const PIECES: [&str; 24] = [
    "{",
    "}",
    "[",
    "]",
    "\"",
    ":",
    ",",
    "\n",
    "null",
    "nil",
    "-1",
    "99999999999999999999",
    "1.5",
    "\u{0}",
    "é",
    "\\u12",
    ":invoke",
    ":info",
    "\"call\":",
    "\"return\":",
    "call",
    "return",
    "0",
    "\t",
];

fn spoiled(bytes: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..1 + dice.below(3) {
        let place = dice.below(bytes.len());
        match dice.below(5) {
            0 => bytes[place] = dice.below(256) as u8,
            1 => bytes.truncate(place.max(1)),
            2 => {
                let end = (place + 1 + dice.below(12)).min(bytes.len());
                if end - place < bytes.len() {
                    bytes.drain(place..end);
                }
            }
            3 => {
                let end = (place + dice.below(80)).min(bytes.len());
                let copy = bytes[place..end].to_vec();
                let there = dice.below(bytes.len());
                bytes.splice(there..there, copy);
            }
            _ => {
                let piece = PIECES[dice.below(PIECES.len())];
                bytes.splice(place..place, piece.bytes());
            }
        }
    }
    bytes
}

#[test]
fn spoiled_histories_never_make_the_command_panic() {
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let folder = folder("garbage");
    let mut originals: Vec<_> = std::fs::read_dir(examples())
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension != "md"))
        .collect();
    originals.sort();
    for original in originals {
        let bytes = std::fs::read(&original).expect("an example");
        let name = original.file_name().and_then(|name| name.to_str()).expect("UTF-8");
        let paths: Vec<String> = (0..60)
            .map(|index| file(&folder, &format!("{index}-{name}"), spoiled(&bytes, &mut dice)))
            .collect();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        for way in [&["check", "--certify", "--time", "1s"][..], &["check", "--json", "--all"]] {
            let ran = seriatim(&[way, &paths].concat());
            let is_ended = matches!(ran.code, Some(0..=3));
            assert!(is_ended && !ran.err.contains("panicked"), "{name}: {}", ran.err);
        }
        for (path, format) in paths.iter().zip(["jsonl", "jsonl-events", "edn"].iter().cycle()) {
            let ran = seriatim(&["convert", path, "--to", format]);
            assert!(matches!(ran.code, Some(0 | 2)), "{path}: {ran:#?}");
        }
    }
}

#[test]
fn spoiled_events_never_make_watch_panic() {
    let mut dice = Dice(0xbf58_476d_1ce4_e5b9);
    for spec in ["queue", "set", "multiset", "register", "counter", "mutex", "log"] {
        let made = seriatim(&["gen", spec, "-n", "60", "--to", "jsonl-events"]).exits(0).out;
        for _ in 0..25 {
            let log = spoiled(made.as_bytes(), &mut dice);
            let ran = seriatim_reading(&log, &["watch", spec]);
            let is_ended = matches!(ran.code, Some(0..=3)) && !ran.err.contains("panicked");
            assert!(is_ended, "{spec}: {} of\n{}", ran.err, String::from_utf8_lossy(&log));
        }
    }
}

#[test]
fn what_a_log_says_never_reaches_the_terminal_as_a_command() {
    let folder = folder("escapes");
    let escape = "\\u001b[31m";
    let row = |op: &str, arg: &str| {
        format!("{{\"process\":0,\"op\":\"{op}\",\"arg\":{arg},\"call\":1,\"return\":2}}\n")
    };
    let logs = [
        row(&format!("wri{escape}te"), "1"),
        row("write", &format!("\"{escape}\"")),
        row("enqueue", &format!("\"{escape}\"")) + "{\"op\":",
    ];
    for (index, log) in logs.iter().enumerate() {
        let path = file(&folder, &format!("log{index}\u{1b}[2J.jsonl"), log);
        for arguments in [
            vec!["check", &path],
            vec!["check", "-q", &path],
            vec!["check", "--spec", "register", &path],
            vec!["check", "--spec", "queue", "-q", &path],
            vec!["watch", "register", &path],
            vec!["merge", &path],
            vec!["certify", &path, &path],
            vec!["verify", &path],
        ] {
            let ran = seriatim(&arguments);
            assert!(!ran.out.contains('\u{1b}') && !ran.err.contains('\u{1b}'), "{ran:?}");
        }
    }
}

#[test]
fn whoever_named_a_file_writes_no_line_of_a_report() {
    const FORGED: &str = "all.jsonl: linearizable (5 operations)";
    let folder = folder("names");
    let log = file(
        &folder,
        &format!("a\n{FORGED}\u{1b}[2K"),
        std::fs::read(example("queue-overtaken.jsonl")).expect("an example"),
    );
    let events = seriatim(&["convert", "--to", "jsonl-events", &log]).exits(0).out;
    let events = file(&folder, &format!("e\n{FORGED}"), events);
    let verdicts = text(&folder.join("verdicts"));
    let disk = ["check", "--spec", "queue", "--spill", "always", &log];
    let algorithm = seriatim(&["algorithms", "broken/cas_counter_lost_update"]).exits(0).out;
    let algorithm = file(&folder, &format!("l\n{FORGED}.seri"), algorithm);
    let saved = text(&folder.join(format!("s\n{FORGED}")));
    let map = file(&folder, &format!("m\n{FORGED}"), "nothing");
    let asked: [&[&str]; 20] = [
        &["view", &log],
        &["check", &log],
        &["check", "-q", &log],
        &["check", "-q", "--order", "process", "--spec", "queue", &log],
        &["check", "--memory", "1", &log],
        &disk,
        &[&disk[..], &["--verdicts", &verdicts]].concat(),
        &["merge", &verdicts],
        &["convert", "--to", "edn", &log],
        &["watch", "queue", &events],
        &["verify", &log],
        &["merge", &log, &log],
        &["map", &map],
        &["check", "--map", &map, &log],
        &["import", "--spec", "stack", &log],
        &["certify", "treiber", &log],
        &["fmt", "--check", &algorithm],
        &["verify", &algorithm, "--engine", "explore", "--save", &saved],
        &["verify", &algorithm, "--engine", "explore", "--replay", &saved],
        &["verify", &algorithm, "--engine", "explore", "--certificate", &saved],
    ];
    for words in asked {
        let ran = seriatim(words);
        let lines = ran.out.lines().chain(ran.err.lines());
        let forged = lines.filter(|line| line.starts_with("all.jsonl")).count();
        assert!(forged == 0 && !format!("{}{}", ran.out, ran.err).contains('\u{1b}'), "{ran:?}");
    }
}

#[test]
fn whoever_named_an_operation_or_a_process_writes_no_line_either() {
    const FORGED: &str = "\nall.jsonl: linearizable (5 operations)";
    let folder = folder("operations");
    let long = "x".repeat(1 << 17);
    for name in [FORGED, &long] {
        let log: String = [(name, "0"), ("write", name), (name, name)]
            .iter()
            .map(|(op, process)| {
                json!({"op": op, "process": process, "arg": 1, "call": 0, "return": 1}).to_string()
                    + "\n"
            })
            .collect();
        let events: String = [("call", name), ("return", name)]
            .iter()
            .map(|(kind, op)| json!({"type": kind, "process": op, "op": op}).to_string() + "\n")
            .collect();
        let log = file(&folder, "log.jsonl", log);
        let map = file(
            &folder,
            "map.toml",
            "[[rule]]\nis = \"operation\"\nprocess = 'process'\nop = 'op'\narg = 'arg'\ncall = 'call'\nreturn = 'return'\n",
        );
        let mut asked = vec![
            seriatim(&["check", &log]),
            seriatim(&["check", "--level", "all", "--spec", "register", &log]),
            seriatim(&["map", &map, "--try", &log]),
            seriatim(&["map", "--try", &log]),
            seriatim(&["check", "--spec", "bank", &log]),
        ];
        for spec in catalogue().map(|entry| entry.name).chain(["etcd"]) {
            asked.push(seriatim(&["check", "--spec", spec, &log]));
            asked.push(seriatim_reading(events.as_bytes(), &["watch", spec]));
        }
        for ran in asked {
            let forged = ran.out.lines().chain(ran.err.lines());
            let is_forged = |line: &str| line.starts_with("all.jsonl");
            assert!(!forged.clone().any(is_forged), "{ran:?}");
            assert!(
                ran.out.len() + ran.err.len() < 20_000,
                "{} bytes",
                ran.out.len() + ran.err.len()
            );
        }
    }
}

/// Whether a text holds what a terminal obeys, what breaks a line that is not ours, or what turns
/// the direction of writing.
fn is_harmful(text: &str) -> bool {
    let turns = |c| matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars().any(|c| c != '\n' && c != '\t' && (c.is_control() || turns(c)))
}

/// Every place of a log at which its writer chooses a text, every form in which we answer, every
/// kind of character that is more than a character: what is JSON stays JSON, and nothing is obeyed.
#[test]
fn no_output_holds_a_character_that_is_obeyed() {
    let folder = folder("harmful");
    let page = text(&folder.join("page.html"));
    let junit = text(&folder.join("junit.xml"));
    for harmful in ["\u{1b}[2J", "\u{9b}2J", "\u{7f}", "\u{202e}", "\u{2028}", "\nall.jsonl: fine"]
    {
        let write = |process: &str, key: &str, value: &str, object: &str| {
            json!({"process": process, "op": "put", "key": key, "arg": value, "object": object,
                "note": harmful, "call": 0, "return": 1})
        };
        let read = |process: &str, key: &str, value: &str, object: &str| {
            json!({"process": process, "op": "get", "key": key, "result": value, "object": object,
                "note": harmful, "call": 2, "return": 3})
        };
        for place in 0..4 {
            let mut texts = ["p", "k", "v", "o"].map(str::to_owned);
            texts[place] += harmful;
            let [process, key, value, object] = &texts;
            let wrong = format!("{value}!");
            let log = format!(
                "{}\n{}\n",
                write(process, key, value, object),
                read(process, key, &wrong, object)
            );
            let log = file(&folder, &format!("log{place}{}", harmful.replace('/', "")), log);
            let verdicts = text(&folder.join(format!("verdicts{place}{}", harmful.len())));
            let _ = std::fs::remove_file(&verdicts);
            let map = ["check", "--spec", "map", &log];
            let with = |more: &[&str]| seriatim(&[&map[..], more].concat());
            let in_json = [
                with(&["--json"]),
                with(&["--json", "--spill", "always"]),
                with(&["--json", "--order", "process"]),
                with(&["--json", "--level", "all"]),
                with(&["--json", "--memory", "1"]),
                seriatim(&["convert", "--to", "jsonl", &log]),
                seriatim(&["convert", "--to", "jsonl-events", &log]),
            ];
            for ran in &in_json {
                for line in ran.out.lines() {
                    let parsed = serde_json::from_str::<serde_json::Value>(line);
                    assert!(parsed.is_ok(), "{harmful:?}: {line}");
                }
            }
            let events = &in_json[6].out;
            let ran = [
                with(&["--html", &page, "--junit", &junit]),
                with(&["--quiet", "--spill", "always"]),
                with(&["--verdicts", &verdicts]),
                seriatim(&["merge", &verdicts]),
                seriatim(&["convert", "--to", "edn", &log]),
                seriatim(&["convert", "--to", "limo", &log]),
                seriatim_reading(events.as_bytes(), &["watch", "map"]),
                seriatim(&["map", "--try", &log]),
            ];
            for ran in ran.iter().chain(&in_json) {
                let all = format!("{}{}", ran.out, ran.err);
                assert!(!is_harmful(&all), "{harmful:?}: {ran:?}");
                assert!(!all.lines().any(|line| line.starts_with("all.jsonl")), "{ran:?}");
                assert!(matches!(ran.code, Some(0..=3)), "{ran:?}");
            }
            for written in [&page, &junit] {
                let written = std::fs::read_to_string(written).expect("a report");
                assert!(!is_harmful(&written), "{harmful:?}");
            }
        }
    }
}

#[test]
fn a_header_that_names_a_strange_specification_is_told_of_in_a_line() {
    let folder = folder("headers");
    for spec in ["x\nall.jsonl: fine", &format!("register(init={})", "[".repeat(50_000))] {
        let log = format!(
            "{}\n{}\n",
            json!({"seriatim": 1, "spec": spec}),
            json!({"process": 0, "op": "write", "arg": 1, "call": 0, "return": 1})
        );
        let log = file(&folder, "log.jsonl", log);
        for words in [&["check", &log][..], &["convert", "--to", "polylin", &log]] {
            let ran = seriatim(words).exits(2);
            assert!(ran.err.lines().count() == 1 && ran.err.len() < 1000, "{ran:?}");
        }
    }
}

/// Of a value of a megabyte a report for people shows about a screen, whatever was asked.
#[test]
fn no_report_for_people_shows_a_megabyte() {
    let folder = folder("megabyte");
    let (value, page) = ("v".repeat(1 << 20), text(&folder.join("page.html")));
    let log = format!(
        "{}\n{}\n",
        json!({"process": &value, "op": "write", "arg": &value, "call": 0, "return": 1}),
        json!({"process": &value, "op": "read", "result": format!("{value}!"), "call": 2, "return": 3}),
    );
    let log = file(&folder, "log.jsonl", log);
    let asked: [&[&str]; 5] =
        [&[], &["--all"], &["--spill", "always"], &["--order", "process"], &["--level", "all"]];
    for more in asked {
        let check = ["check", "--spec", "register", &log];
        let told = seriatim(&[&check, more].concat()).exits(1);
        assert!(told.out.len() + told.err.len() < 200_000, "{more:?}: {}", told.out.len());
        if more != ["--spill", "always"] {
            seriatim(&[&check, more, &["--html", &page]].concat()).exits(1);
            let written = std::fs::metadata(&page).expect("a page").len();
            assert!(written < 3 << 20, "{more:?}: {written} bytes");
        }
    }
}

/// Reports name a value again and again: in every operation that saw it, in the state, in the
/// reason, for every isolation level. Those for people show about a screen of it each time, and JSON
/// has it whole once for each time that the log has it.
#[test]
fn no_report_is_longer_than_the_log_with_its_long_values() {
    let folder = folder("long-values");
    let long = |n: u64| format!("{}{n}", "v".repeat(200_000));
    let op = |n: u64, op: &str, key: Option<String>, arg: Json, result: Json| {
        let mut line = json!({"process": n, "op": op, "call": 2 * n, "return": 2 * n + 1});
        for (field, value) in [("key", json!(key)), ("arg", arg), ("result", result)] {
            if !value.is_null() {
                line[field] = value;
            }
        }
        format!("{line}\n")
    };
    let written = |n: u64| json!([["w", long(9), long(n)]]);
    let appended = |n: u64| json!([["append", long(9), long(n)]]);
    let logs: [(&str, &[&str], Vec<String>); 7] = [
        (
            "map",
            &[],
            vec![
                op(0, "put", Some(long(9)), json!(long(0)), Json::Null),
                op(1, "put", Some(long(9)), json!(long(1)), Json::Null),
                op(2, "get", Some(long(9)), Json::Null, json!(long(0))),
            ],
        ),
        (
            "set",
            &[],
            vec![
                op(0, "add", None, json!(long(0)), json!(true)),
                op(1, "read", None, Json::Null, json!([long(0), long(1)])),
            ],
        ),
        (
            "deque",
            &[],
            vec![
                op(0, "push_back", None, json!(long(0)), Json::Null),
                op(1, "push_back", None, json!(long(1)), Json::Null),
                op(2, "pop_front", None, Json::Null, json!(long(1))),
            ],
        ),
        (
            "multi-register",
            &[],
            vec![
                op(0, "txn", None, written(0), written(0)),
                op(1, "txn", None, written(1), written(1)),
                op(2, "txn", None, json!([["r", long(9), null]]), json!([["r", long(9), long(0)]])),
            ],
        ),
        (
            "transactions",
            &["--level", "all"],
            vec![
                op(0, "txn", None, appended(0), appended(0)),
                op(1, "txn", None, appended(1), appended(1)),
                op(
                    2,
                    "txn",
                    None,
                    json!([["r", long(9), null]]),
                    json!([["r", long(9), [long(1), long(0)]]]),
                ),
            ],
        ),
        (
            "register",
            &["--order", "none"],
            vec![
                op(0, "write", None, json!(long(0)), Json::Null),
                op(1, "read", None, Json::Null, json!(long(1))),
            ],
        ),
        (
            "bank",
            &[],
            vec![
                op(0, "read", None, Json::Null, json!({long(0): 1})),
                op(1, "read", None, Json::Null, json!({long(0): 2})),
            ],
        ),
    ];
    for (spec, more, lines) in logs {
        let log = file(&folder, "log.jsonl", lines.concat());
        let size = lines.concat().len();
        let check = [&["check", "--spec", spec, &log], more].concat();
        let told = seriatim(&check).exits(1);
        assert!(told.out.len() + told.err.len() < 100_000, "{spec}: {}", told.out.len());
        let told = seriatim(&[&check[..], &["--json"]].concat()).exits(1);
        assert!(told.out.len() < size + 100_000, "{spec}: {} of {size}", told.out.len());
        if spec == "map" {
            let verdicts = text(&folder.join("verdicts"));
            let told = seriatim(&[&check[..], &["--verdicts", &verdicts]].concat()).exits(1);
            assert!(told.out.len() + told.err.len() < 100_000, "{}", told.out.len());
        }
        // A bank has no page.
        let outputs = if spec == "bank" { &["--junit"][..] } else { &["--junit", "--html"] };
        for output in outputs {
            let written = text(&folder.join("o"));
            seriatim(&[&check[..], &[output, &written]].concat()).exits(1);
            let written = std::fs::metadata(&written).expect("a report").len();
            assert!(written < 400_000, "{spec}, {output}: {written} bytes");
        }
    }
}
