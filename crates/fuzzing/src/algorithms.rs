//! Algorithms in the language, and certificates about them.

use crate::text;
use seriatim_certify::certificate::end_of;
use seriatim_certify::{Object, certify_within};
use seriatim_lang::{Program, check, fmt, lower, parse};
use std::sync::OnceLock;

/// The longest algorithm that is lowered.
const LONGEST: usize = 4096;

/// Reads an algorithm; the formatter changes nothing that matters, and nothing twice.
pub fn seri(bytes: &[u8]) {
    let Some(source) = text(bytes).filter(|source| source.len() <= LONGEST) else { return };
    if parse(source).is_err() {
        return;
    }
    let formatted = fmt(source);
    if let Err(error) = parse(&formatted) {
        panic!("what was formatted is not read again: {error:?}\n{formatted}");
    }
    assert_eq!(fmt(&formatted), formatted, "formatted twice is not formatted once");
    let (before, after) = (check(source), check(&formatted));
    assert_eq!(before.is_ok(), after.is_ok(), "the formatter changes what an algorithm means");
    if let Ok(program) = before {
        // A program that cannot be lowered for two threads is refused with a reason.
        let _ = lower(&program, 2, None);
    }
}

/// How much work the checker may spend on a certificate.
const WORK: u64 = 20_000;

/// The algorithms of the library that are not linearizable: nothing proves them.
fn broken() -> &'static [(Program, u64)] {
    static PROGRAMS: OnceLock<Vec<(Program, u64)>> = OnceLock::new();
    PROGRAMS.get_or_init(|| {
        let broken = seriatim_algorithms::algorithms().filter(|algorithm| algorithm.is_broken());
        let understood = broken.filter_map(|algorithm| {
            let program = check(algorithm.source).expect("an algorithm of the library");
            let hash = Object::of(&program).ok()?.hash();
            Some((program, hash))
        });
        understood.collect()
    })
}

/// Hands the entries of a certificate to the checker, about an algorithm that is broken and that
/// the first byte chooses. The head and the checksum are as they should be: who forges a
/// certificate can write them.
pub fn certificate(bytes: &[u8]) {
    let Some((&choice, entries)) = bytes.split_first() else { return };
    let Some(entries) = text(entries) else { return };
    let programs = broken();
    let (program, hash) = &programs[usize::from(choice) % programs.len()];
    let body =
        format!("seriatim certificate 1\nprogram forged {hash:016x}\n{}", entries.trim_end());
    let certificate = format!("{body}\n{}\n", end_of(&body));
    assert!(certify_within(program, &certificate, WORK).is_err(), "a broken algorithm is proved");
}
