//! No input makes a reader panic or hang, and every error names a line of the input: mutated good
//! texts, soups of tokens and random bytes, from fixed seeds, through every reader and through
//! detection. What is read at all survives being written as JSON Lines.

use seriatim_history::{Format, InputError, ReadOptions, read_from, write};
use seriatim_testing::Random;

/// A good text of each format.
const SEEDS: [(Format, &str); 11] = [
    (
        Format::JsonLines,
        "{\"seriatim\":1,\"spec\":\"queue\"}\n{\"process\":0,\"op\":\"enqueue\",\"arg\":7,\"call\":10,\"return\":12}\n\
         {\"process\":\"b\",\"op\":\"put\",\"object\":\"m\",\"key\":\"k\\u00e9\\n\",\"arg\":[1,{\"a\":-1.5e3}],\"call\":9,\"return\":11,\"failed\":true}\n\
         {\"annotation\":\"cut\",\"group\":\"n\",\"start\":1,\"end\":3,\"colour\":\"red\"}\n{\"process\":3,\"op\":\"dequeue\",\"call\":13,\"id\":4,\"note\":null}\n",
    ),
    (
        Format::JsonEvents,
        "{\"process\":0,\"type\":\"call\",\"op\":\"cas\",\"arg\":[1,2],\"time\":10}\n{\"annotation\":\"x\"}\n\
         {\"process\":1,\"type\":\"call\",\"op\":\"read\",\"note\":\"n\"}\n{\"process\":0,\"type\":\"fail\",\"time\":20}\n\
         {\"process\":1,\"type\":\"info\"}\n{\"process\":1,\"type\":\"call\",\"op\":\"read\"}\n{\"process\":1,\"type\":\"return\",\"result\":{\"#name\":\"x\"}}\n",
    ),
    (
        Format::Edn,
        "[{:process 0, :type :invoke, :f :write, :value [3 \"a\\n\" :k], :time 5, :index 0}\n\
         #jepsen.history.Op{:index 1 :time 6 :type :invoke :process 1 :f :cas :value #{3 4 \\a}}\n\
         {:process :nemesis :type :info :f :start :value #:x{:a 1/2}} #_(1 2)\n\
         {:process 0, :type :ok, :f :write, :value ##NaN} ; comment\n{:process 1, :type :fail, :f :cas, :value 1.5M, :error ^{:a 1} [nil]}]",
    ),
    (
        Format::Porcupine,
        "{:process 9, :type :invoke, :f :append, :key \"0\", :value \"x 9 0 y\"}\n{:process 9, :type :ok, :f :append, :key \"0\", :value \"x 9 0 y\"}\n",
    ),
    (
        Format::JepsenLog,
        "INFO  jepsen.util - 0\t:invoke\t:cas\t[1 2]\nWARN jepsen.core - x\n\tat y\nINFO  jepsen.util - 0\t:info\t:cas\t:timed-out\n\
         INFO  jepsen.util - :nemesis :info :start \"cut\"\n",
    ),
    (
        Format::LiMo,
        "# c\n# @object atomic-stack\n[1] call push(a)\n[2] call pop\n[1] return\n[2] return a\n[3] call pop(?<0,1>)\n[3] return\n[1] call push 7\n",
    ),
    (Format::PolyLin, "# queue\nenq 1 1 2\npeek 1 3 4\ndeq 1 5 6\ndeq -1 7 8\n"),
    (
        Format::PolyLin,
        "# set\ninsert 1 1 1 2\ncontains 2 0 18446744073709551614 18446744073709551614\n",
    ),
    (Format::Fptlin, "# set\n0 1 5 INSERT 1 1\n1 2 6 REMOVE 1 0\n"),
    (Format::Fptlin, "# rmw\n0 1 5 READ_MODIFY_WRITE 0 1\n"),
    (Format::Ahorn, "2 invokes add 23\n0 invokes contains 3\n2 returns true\n0 returns false\n"),
];

const TOKENS: [&str; 60] = [
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    "\"",
    "\\",
    "#",
    "#_",
    "#{",
    "##",
    "^",
    ";",
    ":",
    ",",
    "'",
    "\n",
    "\r\n",
    " ",
    "\t",
    "0",
    "1",
    "-1",
    "18446744073709551615",
    "1e999",
    "1.5",
    "1/3",
    "nil",
    "null",
    "true",
    "false",
    "\"process\"",
    "\"op\"",
    "\"call\"",
    "\"return\"",
    "\"type\"",
    "\"arg\"",
    "\"a\"",
    ":process",
    ":type",
    ":invoke",
    ":ok",
    ":info",
    ":f",
    ":value",
    ":time",
    "INFO ",
    "jepsen.util - ",
    "# @object stack\n",
    "# stack\n",
    "# set\n",
    "[1] call push(1)\n",
    "[1] return\n",
    "push 1 1 2\n",
    "0 1 2 PUSH 1\n",
    "1 invokes add 1\n",
    "1 returns true\n",
    "\u{feff}",
    "ü",
];

fn mutated(random: &mut Random, text: &str) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..1 + random.index(2) * random.index(4) {
        let at = random.index(bytes.len() + 1);
        let end = (at + random.index(12)).min(bytes.len());
        match random.index(7) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..end)),
            2 => bytes.insert(at, random.next() as u8),
            3 => drop(bytes.splice(at..at, random.pick(&TOKENS).bytes())),
            4 => drop(bytes.splice(at..end, random.pick(&TOKENS).bytes())),
            5 => {
                let piece = bytes[at..end].to_vec();
                let place = random.index(bytes.len() + 1);
                drop(bytes.splice(place..place, piece));
            }
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << random.index(8);
                }
            }
        }
    }
    bytes
}

/// Reads the bytes in a format, or in the one detected. An error must name a line that is there.
fn attempt(bytes: &[u8], format: Option<Format>) -> Option<InputError> {
    let options = ReadOptions { format, independent: bytes.len().is_multiple_of(5) };
    let lines = bytes.iter().filter(|&&byte| byte == b'\n').count() as u64 + 1;
    match read_from(bytes, "fuzz", options) {
        Err(error) => {
            let shown = error.to_string();
            let text = String::from_utf8_lossy(bytes);
            assert!((1..=lines).contains(&error.line), "{shown}\nof {text:?} as {format:?}");
            assert!(shown.len() < 2_000, "{shown}");
            Some(error)
        }
        Ok(history) => {
            let mut written = Vec::new();
            write(&history, Format::JsonLines, &mut written).unwrap();
            let again = read_from(&written[..], "again", ReadOptions::default());
            let again = again.unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(again.tally(), history.tally());
            None
        }
    }
}

#[test]
fn mutated_texts_are_read_or_refused() {
    let (mut read, mut refused) = (0, 0);
    for seed in 0..120_000 {
        let random = &mut Random(seed);
        let (format, text) = *random.pick(&SEEDS);
        let bytes = mutated(random, text);
        let named = (!random.one_in(4)).then_some(format);
        match attempt(&bytes, named) {
            Some(_) => refused += 1,
            None => read += 1,
        }
    }
    assert!(read > 10_000 && refused > 50_000, "{read} read, {refused} refused");
}

#[test]
fn soups_of_tokens_are_read_or_refused() {
    for seed in 0..120_000 {
        let random = &mut Random(seed);
        let tokens: String = (0..random.index(30)).map(|_| *random.pick(&TOKENS)).collect();
        let (format, _) = *random.pick(&SEEDS);
        attempt(tokens.as_bytes(), (!random.one_in(3)).then_some(format));
    }
}

#[test]
fn random_bytes_are_read_or_refused() {
    for seed in 0..60_000 {
        let random = &mut Random(seed);
        let bytes: Vec<u8> = (0..random.index(80)).map(|_| random.next() as u8).collect();
        let (format, _) = *random.pick(&SEEDS);
        attempt(&bytes, (!random.one_in(3)).then_some(format));
    }
}

#[test]
fn the_seeds_are_good() {
    for (format, text) in SEEDS {
        let options = ReadOptions { format: Some(format), independent: false };
        read_from(text.as_bytes(), "seed", options).unwrap_or_else(|error| panic!("{error}"));
        read_from(text.as_bytes(), "seed", ReadOptions::default()).unwrap();
    }
}
