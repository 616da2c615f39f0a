//! Whatever the text, the front end answers with a program or an error, and an error can be shown.

use seriatim_lang::guarded::guarded_reads;
use seriatim_lang::liveness::Liveness;
use seriatim_lang::lock_order::LockOrder;
use seriatim_lang::scalarset::threads_are_alike;
use seriatim_lang::{check, fmt, lower, lower_points, show};
use seriatim_testing::Random;

const WORDS: &[&str] = &[
    "object",
    "struct",
    "var",
    "thread",
    "method",
    "fn",
    "let",
    "if",
    "else",
    "while",
    "loop",
    "break",
    "continue",
    "return",
    "new",
    "atomic",
    "choose",
    "or",
    "assume",
    "assert",
    "spec",
    "client",
    "expect",
    "enum",
    "const",
    "true",
    "null",
    "self",
    "any",
    "in",
    "int",
    "value",
    "key",
    "bool",
    "tid",
    "lock",
    "seq",
    "set",
    "x",
    "y",
    "Node",
    "cas",
    "swap",
    "0",
    "1",
    "99999999999",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    "<",
    ">",
    "=",
    "==",
    "+",
    "-",
    "*",
    "?",
    ":",
    ";",
    ",",
    ".",
    "..",
    "@",
    "lin",
    "'a",
    "->",
    "++",
    "&&",
    "!",
    "\n",
    "é",
    "inf",
    "repeat",
    "rest",
];

fn algorithms() -> Vec<String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../algorithms");
    let files = std::fs::read_dir(folder).expect("the algorithms are there");
    let paths = files.filter_map(|f| f.ok().map(|f| f.path()));
    let seri = paths.filter(|p| p.extension().is_some_and(|e| e == "seri"));
    seri.filter_map(|p| std::fs::read_to_string(p).ok()).collect()
}

fn digest(source: &str) {
    let once = fmt(source);
    assert_eq!(fmt(&once), once, "formatting is not stable");
    match check(source) {
        Ok(program) => match lower(&program, 2, None).and(lower_points(&program, 2, None)) {
            Ok(steps) => {
                drop((show::listing(&steps), show::dot(&steps)));
                let liveness = Liveness::of(&steps);
                drop((guarded_reads(&steps, &liveness), LockOrder::of(&steps, &liveness)));
                assert!(steps.uses_tids || threads_are_alike(&steps));
            }
            Err(error) => drop(error.render(source, "x.seri")),
        },
        Err(error) => drop(error.render(source, "x.seri")),
    }
}

#[test]
fn random_words_never_panic() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for _ in 0..6_000 {
        let count = 1 + random.index(40);
        let words: Vec<_> = (0..count).map(|_| WORDS[random.index(WORDS.len())]).collect();
        digest(&words.join(" "));
    }
}

#[test]
fn mutated_algorithms_never_panic() {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let files = algorithms();
    assert!(!files.is_empty());
    for round in 0..3_000 {
        let mut words: Vec<String> = files[round % files.len()]
            .split_inclusive(char::is_whitespace)
            .map(String::from)
            .collect();
        for _ in 0..1 + random.index(4) {
            let at = random.index(words.len());
            match random.index(4) {
                0 => drop(words.remove(at)),
                1 => words[at] = format!("{} ", WORDS[random.index(WORDS.len())]),
                2 => {
                    let other = random.index(words.len());
                    words.swap(at, other);
                }
                _ => words.insert(at, format!("{} ", WORDS[random.index(WORDS.len())])),
            }
        }
        digest(&words.concat());
    }
}

#[test]
fn deep_nesting_is_refused_and_not_a_crash() {
    for (open, close) in
        [("(", ")"), ("[", "]"), ("{", "}"), ("!", ""), ("if x { ", "}"), ("-", "")]
    {
        let text = format!("method m() {{ x = {}1{} }}", open.repeat(50_000), close.repeat(50_000));
        assert!(check(&text).is_err());
    }
    assert!(check(&"method m() { loop ".repeat(9_000)).is_err());
    assert!(check(&format!("var x: value{} = null", "?".repeat(90_000))).is_err());
    assert!(check(&format!("method m() {{ x = 1 {} }}", "+ 1 ".repeat(90_000))).is_err());
}
