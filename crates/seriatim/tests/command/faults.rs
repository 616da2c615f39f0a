//! The n-th call of the system fails, for every n: no verdict becomes another one.
//!
//! `fails.c` is put before the C library of the command and lets one call to open, read, write,
//! sync or allocate fail. What the command may do then: give the right verdict, because it could do
//! without; say what failed (exit code 2); say that it does not know (3). If the system refuses
//! memory, it may also be ended by a signal: the runtime aborts, and the C library may crash. What
//! it must not do: panic, give another verdict, or leave half a file under the name that was asked
//! for.
#![cfg(target_os = "linux")]

use super::run::{command, file, folder, seriatim, text};
use seriatim_testing::{long, skipped};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The library that lets calls fail; `None` where there is no C compiler.
fn failing(folder: &Path) -> Option<PathBuf> {
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    if Command::new(&compiler).arg("--version").output().is_err() {
        skipped("c", &format!("there is no {compiler} here"));
        return None;
    }
    let library = folder.join("fails.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/command/fails.c");
    let ran = Command::new(compiler)
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC", "-o"])
        .arg(&library)
        .arg(source)
        .arg("-ldl")
        .output()
        .expect("the compiler runs");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    Some(library)
}

/// A run in which calls fail.
struct Case {
    arguments: Vec<String>,
    /// The exit code if nothing fails.
    code: i32,
    /// Words that would be wrong on standard output, whatever fails.
    never: &'static str,
    /// The file that it writes, if it writes one.
    written: Option<PathBuf>,
}

/// Logs, algorithms and files of every kind, small enough to try every call.
fn cases(folder: &Path) -> Vec<Case> {
    let shape = ["-n", "40", "--keys", "3", "--seed", "1"];
    let made = |object: &str, more: &[&str]| {
        let words = [&["gen", object], &shape[..], more].concat();
        file(folder, &format!("{object}{}.jsonl", more.len()), seriatim(&words).exits(0).out)
    };
    let (right, wrong) = (made("map", &[]), made("map", &["--violation"]));
    let path = |name: &str| Some(folder.join(name));
    let case = |words: &[&str], code, never, written: Option<PathBuf>| {
        let mut arguments: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        arguments.extend(written.iter().map(|path| text(path)));
        Case { arguments, code, never, written }
    };
    let disk = ["--spec", "map", "--spill", "always", "--temp", &text(folder), "--threads", "1"];
    let from_disk = |log| [&["check", log][..], &disk].concat();
    let verdicts = |log| [&from_disk(log)[..], &["--verdicts"]].concat();
    vec![
        case(&["check", &wrong, "--threads", "1"], 1, "LINEARIZABLE", None),
        case(&["check", &right, "--threads", "1"], 0, "VIOLATION", None),
        case(&from_disk(&wrong), 1, "LINEARIZABLE", None),
        case(&from_disk(&right), 0, "VIOLATION", None),
        case(&verdicts(&wrong), 1, "LINEARIZABLE", path("wrong.verdicts")),
        case(&["check", &wrong, "--threads", "1", "--html"], 1, "LINEARIZABLE", path("page.html")),
        case(&["convert", "--to", "edn", &right, "--output"], 0, "error", path("right.edn")),
        case(&["watch", "map", &made("map", &["--to", "jsonl-events"])], 0, "VIOLATION", None),
        case(&["verify", "broken/cas_counter_lost_update", "--jobs", "1"], 1, "PROVED", None),
    ]
}

/// How many runs ended with each exit code; `None` for those that a signal ended.
type Ends = BTreeMap<Option<i32>, u32>;

/// Runs a case with a call that fails, and counts how it ended; whether that call came.
fn run(
    case: &Case,
    library: &Path,
    (kind, at): (&str, u64),
    whole: Option<&[u8]>,
    ends: &mut Ends,
) -> bool {
    let note = library.with_extension("note");
    let _ = std::fs::remove_file(&note);
    let words: Vec<&str> = case.arguments.iter().map(|word| &word[..]).collect();
    let output = command(&words)
        .env("LD_PRELOAD", library)
        // The trace of an abort takes longer than all the rest.
        .env("RUST_BACKTRACE", "0")
        .envs([("FAIL_KIND", kind), ("FAIL_AT", &at.to_string())])
        .env("FAIL_NOTE", &note)
        .output()
        .expect("the binary runs");
    let about = format!("{kind} {at} of {words:?}: {output:?}");
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    match output.status.code() {
        Some(code) => assert!(code == case.code || matches!(code, 2 | 3), "{about}"),
        None => assert!(kind == "allocate", "{about}"),
    }
    // The standard library panics where a thread cannot be started: that is told as a defect (3).
    let is_calm = !err.contains("panicked") || err.contains("failed to spawn thread");
    assert!(is_calm && !out.contains(case.never), "{about}");
    if let Some(path) = &case.written {
        is_whole(path, whole, &words, case.code, &about);
    }
    let came = note.exists();
    if came {
        *ends.entry(output.status.code()).or_default() += 1;
    }
    came
}

/// What was written is whole or is not there; a verdict file is gone on with.
fn is_whole(path: &Path, whole: Option<&[u8]>, words: &[&str], code: i32, about: &str) {
    if path.extension().is_some_and(|extension| extension == "verdicts") {
        let next = seriatim(words);
        assert_eq!(next.code, Some(code), "{about}\nthen {next:?}");
    } else if let (Ok(found), Some(whole)) = (std::fs::read(path), whole) {
        assert!(found == whole, "half a file is left: {about}");
    }
    let _ = std::fs::remove_file(path);
}

#[test]
fn whatever_call_fails_no_verdict_becomes_another_one() {
    let folder = folder("faults");
    let Some(library) = failing(&folder) else { return };
    let mut failed = 0;
    for case in cases(&folder) {
        let words: Vec<&str> = case.arguments.iter().map(|word| &word[..]).collect();
        seriatim(&words).exits(case.code);
        // The page tells how long the check took: only what is the same every time is compared.
        let whole = case.written.as_ref().and_then(|path| std::fs::read(path).ok());
        let whole = whole.filter(|whole| !whole.starts_with(b"<!"));
        if let Some(path) = &case.written {
            std::fs::remove_file(path).expect("it was written");
        }
        for kind in ["open", "read", "write", "sync", "allocate"] {
            // Every call where there are few, and every so many-th unless there is time.
            let step = |at: u64| if long() || at < 12 { 1 } else { at / 4 };
            let (mut at, mut ends) = (0, Ends::new());
            while run(&case, &library, (kind, at), whole.as_deref(), &mut ends) {
                at += step(at);
            }
            println!("{kind} of {words:?}: {ends:?}");
            failed += ends.values().sum::<u32>();
        }
    }
    println!("{failed} calls failed");
    assert!(failed > 200, "only {failed} calls failed: is the library used at all?");
}
