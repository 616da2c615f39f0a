//! A second checker, in Python and from the page on the format alone, says the same as this one: of
//! certificates of the library, and of damaged and forged ones.
//!
//! Lines are left out or repeated, words are exchanged for others of the certificate, certificates
//! are relabelled for broken variants; the sums are right. Skipped where there is no Python.

use crate::common::{body, long, program, proved, sealed};
use seriatim_certify::{Object, certify, steps_text};
use seriatim_lang::Program;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Proofs that Python checks in a moment, each with a broken program for which it is relabelled.
const PROVED: [(&str, &str); 8] = [
    ("coarse_queue", "broken/two_lock_queue_one_lock"),
    ("coarse_stack", "broken/treiber_pop_twice"),
    ("two_lock_queue", "broken/two_lock_queue_early_unlock"),
    ("spin_stack", "broken/spin_stack_early_release"),
    ("michael_scott", "broken/michael_scott_stale_empty"),
    ("treiber_peek", "broken/treiber_peek_second"),
    ("coarse_set", "broken/named_set_wrong_answer"),
    ("lock_coupling_map", "broken/lock_coupling_map_overwrites"),
];

fn python() -> Option<&'static str> {
    let runs = |name: &&str| {
        let version = Command::new(name).arg("--version").output();
        version.is_ok_and(|output| output.status.success())
    };
    ["python3", "python"].into_iter().find(runs)
}

/// What the second checker says of certificates: accepted, rejected or unreadable.
fn second(python: &str, folder: &Path, program: &Program, certificates: &[String]) -> Vec<String> {
    let steps = folder.join("steps");
    std::fs::write(&steps, steps_text(program).expect("in the class")).unwrap();
    let paths: Vec<PathBuf> = (0..certificates.len()).map(|i| folder.join(i.to_string())).collect();
    for (path, text) in paths.iter().zip(certificates) {
        std::fs::write(path, text).unwrap();
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/check_certificate.py");
    let output = Command::new(python).arg(script).arg(steps).args(paths).output().unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(complaint.is_empty(), "{complaint}");
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

/// Numbers that look random and are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) as usize % end
    }
}

/// A certificate with one line left out, repeated, or with a word changed for another one of the
/// same place in another line.
fn damaged(lines: &[String], numbers: &mut Numbers) -> String {
    let mut lines = lines.to_vec();
    let at = 2 + numbers.below(lines.len() - 2);
    match numbers.below(4) {
        0 => drop(lines.remove(at)),
        _ => {
            let other = lines[2 + numbers.below(lines.len() - 2)].clone();
            let mut words: Vec<&str> = lines[at].split(' ').collect();
            let place = numbers.below(words.len());
            let others: Vec<&str> = other.split(' ').collect();
            words[place] = others[place.min(others.len() - 1)];
            lines[at] = words.join(" ");
        }
    }
    sealed(&lines)
}

#[test]
fn a_second_checker_says_the_same() {
    let Some(python) = python() else {
        return seriatim_testing::skipped("python", "there is no Python for the second checker");
    };
    let folder = std::env::temp_dir().join(format!("seriatim-second-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (mut accepted, mut refused) = (0, 0);
    for (name, broken) in PROVED {
        let program = program(name);
        let text = proved(&program).expect("it is proved");
        let lines = body(&text);
        let mut numbers = Numbers(lines.len() as u64);
        // Python takes its time: the short run tries few forgeries of what is large.
        let edits = if long() { 1_000 } else { (3_000 / lines.len()).clamp(3, 25) };
        let mut certificates = vec![text.clone()];
        certificates.extend((0..edits).map(|_| damaged(&lines, &mut numbers)));
        let said = second(python, &folder, &program, &certificates);
        assert_eq!(said.len(), certificates.len(), "{name}: {said:?}");
        for (certificate, said) in certificates.iter().zip(&said) {
            let first = certify(&program, certificate);
            assert_eq!(first.is_ok(), said.starts_with("accepted"), "{name}: {first:?}, {said}");
            *(if first.is_ok() { &mut accepted } else { &mut refused }) += 1;
        }
        assert!(said[0].starts_with("accepted"), "{name}: {}", said[0]);
        let broken = crate::common::program(broken);
        let hash = Object::of(&broken).map(|object| format!("{:016x}", object.hash()));
        if let Ok(hash) = hash {
            let mut lines = lines.clone();
            lines[1] = format!("program {name} {hash}");
            let said = second(python, &folder, &broken, &[sealed(&lines)]);
            assert!(!said[0].starts_with("accepted"), "{name} as a broken one: {}", said[0]);
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(accepted >= PROVED.len() && refused > 30, "{accepted} accepted, {refused} refused");
}
