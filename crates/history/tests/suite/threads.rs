//! A history is the same, to the last id, however many threads read it; and so is an error.

use seriatim_history::{Format, History, ReadOptions, read_on, write};
use std::path::PathBuf;

fn file(name: &str, text: &[u8]) -> PathBuf {
    let path = std::env::temp_dir().join(format!("seriatim-{}-{name}.jsonl", std::process::id()));
    std::fs::write(&path, text).unwrap();
    path
}

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (self.0 >> 33) % limit
    }
}

/// Lines of every kind, long enough to be cut into many chunks.
fn log(seed: u64, is_of_events: bool) -> Vec<String> {
    let mut random = Random(seed);
    let mut lines = vec![r#"{"seriatim":1,"spec":"map","unit":"ns"}"#.to_owned()];
    for index in 0..60_000u64 {
        let (process, key) = (random.below(5), random.below(2000));
        let value = match random.below(6) {
            0 => format!("\"text {}\"", random.below(3000)),
            1 => format!("[{},{}]", random.below(50), random.below(50)),
            2 => format!("[\"a{}\",{{\"#name\":\"n{}\"}},1.5]", random.below(40), random.below(9)),
            3 => format!("{}", 1u64 << (30 + random.below(30))),
            4 => "\"caf\u{e9} \\u0041\"".to_owned(),
            _ => format!("{}", random.below(1000)),
        };
        let at = 10 * index;
        match is_of_events {
            true => {
                let time =
                    if random.below(2) == 0 { format!(",\"time\":{at}") } else { String::new() };
                lines.push(format!(r#"{{"process":{process},"type":"call","op":"put","key":{key},"arg":{value}{time}}}"#));
                lines.push(format!(
                    r#"{{"process":{process},"type":"return","result":null,"arg":{value}{time}}}"#
                ));
            }
            false => {
                let note = if random.below(50) == 0 { ", \"note\": \"odd\"" } else { "" };
                let failed = if random.below(60) == 0 { ",\"failed\":true" } else { "" };
                let (op, ret) = (["put", "get", "insert"][random.below(3) as usize], at + 4);
                lines.push(format!(
                    r#"{{"result":{value},"process":"p{process}","op":"{op}","key":{key},"arg":{value},"call":{at},"return":{ret}{failed}{note}}}"#
                ));
            }
        }
        if random.below(500) == 0 {
            lines.push(
                ["", "  ", r#"{"annotation":"x","start":7}"#][random.below(3) as usize].to_owned(),
            );
        }
    }
    lines
}

/// What tells two histories apart.
fn told(history: &History) -> (Vec<u8>, Vec<[u32; 6]>, usize) {
    let mut text = Vec::new();
    write(history, Format::JsonLines, &mut text).unwrap();
    let ids = history.operations().map(|op| {
        let id = op.id;
        [
            history.arg(id).0,
            history.result(id).0,
            history.key(id).0,
            op.process().0,
            history.method(id).0,
            op.line() as u32,
        ]
    });
    (text, ids.collect(), history.values().bytes())
}

#[test]
fn a_history_does_not_depend_on_the_number_of_threads() {
    for (seed, is_of_events) in [(1, false), (2, false), (3, true)] {
        let path = file(&format!("whole-{seed}"), log(seed, is_of_events).join("\n").as_bytes());
        let read = |threads| told(&read_on(&path, ReadOptions::default(), threads).unwrap());
        let expected = read(1);
        for threads in [2, 3, 8] {
            assert!(read(threads) == expected, "seed {seed}, {threads} threads");
        }
        std::fs::remove_file(path).unwrap();
    }
}

#[test]
fn an_error_does_not_depend_on_the_number_of_threads() {
    let mut random = Random(5);
    for round in 0..12 {
        let mut lines = log(round + 10, round % 3 == 0);
        for _ in 0..2 {
            let place = random.below(lines.len() as u64) as usize;
            let wrong = [
                "{",
                "{\"process\":1}",
                "nonsense",
                "{\"seriatim\":1}",
                "{\"process\":0,\"op\":\"x\",\"call\":9,\"return\":1}",
            ];
            lines[place] = wrong[random.below(5) as usize].to_owned();
        }
        let mut bytes = lines.join("\r\n").into_bytes();
        if round % 4 == 1 {
            let place = random.below(bytes.len() as u64) as usize;
            bytes[place] = 0xff;
        }
        let path = file(&format!("wrong-{round}"), &bytes);
        let read =
            |threads| read_on(&path, ReadOptions::default(), threads).unwrap_err().to_string();
        let expected = read(1);
        for threads in [2, 5] {
            assert_eq!(read(threads), expected, "round {round}, {threads} threads");
        }
        std::fs::remove_file(path).unwrap();
    }
}
