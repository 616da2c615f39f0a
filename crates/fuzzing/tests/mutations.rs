//! Inputs near those that are kept, by chance: what a fuzzer does without looking at coverage,
//! wherever there is no fuzzer.

use seriatim_fuzzing::TARGETS;
use seriatim_testing::{Random, long};
use std::panic::catch_unwind;
use std::path::Path;

/// What readers look for: more is reached by these than by random bytes.
const WORDS: [&str; 32] = [
    "\n",
    " ",
    "\"",
    "\\",
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    ":",
    ",",
    "|",
    "#",
    "null",
    "nil",
    "true",
    "-1",
    "0",
    "1e999",
    "18446744073709551616",
    "\u{1b}[31m",
    "\u{202e}",
    "<script>",
    "\\ud800",
    "empty",
    "#0",
    "#1",
    "view",
    "effect",
    ":ok",
    "return",
];

/// A kept input with some changes.
fn mutated(inputs: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut bytes = random.pick(inputs).clone();
    for _ in 0..1 + random.below(4) {
        let at = random.index(bytes.len() + 1);
        let end = (at + random.index(12)).min(bytes.len());
        match random.below(6) {
            0 => drop(bytes.splice(at..end, random.pick(&WORDS).bytes())),
            1 => drop(bytes.splice(at..at, random.pick(&WORDS).bytes())),
            2 => drop(bytes.drain(at..end)),
            3 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
            4 if at < bytes.len() => bytes[at] = random.below(256) as u8,
            _ => splice(&mut bytes, at, inputs, random),
        }
    }
    bytes
}

/// Puts a piece of another input somewhere.
fn splice(bytes: &mut Vec<u8>, at: usize, inputs: &[Vec<u8>], random: &mut Random) {
    let other = random.pick(inputs);
    let begin = random.index(other.len() + 1);
    let end = (begin + random.index(80)).min(other.len());
    drop(bytes.splice(at..at, other[begin..end].iter().copied()));
}

#[test]
fn inputs_near_those_that_are_kept_are_handled() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let only = std::env::var("SERIATIM_TARGET").ok();
    let count = if long() { 100_000 } else { 150 };
    for (name, target) in TARGETS {
        if only.as_deref().is_some_and(|only| only != name) {
            continue;
        }
        let kept = std::fs::read_dir(corpus.join(name)).expect("a corpus of each target");
        let mut paths: Vec<_> = kept.map(|input| input.expect("a file").path()).collect();
        paths.sort();
        let inputs: Vec<Vec<u8>> =
            paths.iter().map(|path| std::fs::read(path).expect("an input")).collect();
        let mut random = Random(
            std::env::var("SERIATIM_SEED").map_or(3, |seed| seed.parse().expect("a number")),
        );
        for _ in 0..count {
            let bytes = mutated(&inputs, &mut random);
            if catch_unwind(|| target(&bytes)).is_err() {
                let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("fuzzed-{name}"));
                std::fs::write(&path, &bytes).expect("a file");
                panic!("{name} fails; the input is in {}", path.display());
            }
        }
        println!("{name}: {count} inputs");
    }
}
