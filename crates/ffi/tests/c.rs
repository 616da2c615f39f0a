//! The interface as C sees it: programs in `tests/c`, compiled against the header and linked with
//! the library.

use seriatim::Options;
use seriatim::history::{ReadOptions, read_with};
use seriatim::question::{Question, Specified};
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Compiles a program; `None` where there is no C compiler.
fn compiled(name: &str) -> Option<PathBuf> {
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    if Command::new(&compiler).arg("--version").output().is_err() {
        seriatim_testing::skipped("c", &format!("there is no {compiler} here"));
        return None;
    }
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    // Tests lie where the library is.
    let test = std::env::current_exe().expect("the test knows where it is");
    let library = test.parent().expect("it is in a folder");
    let program = library.join(format!("c_{name}"));
    let ran = Command::new(compiler)
        .args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-g", "-I"])
        .arg(here.join("include"))
        .arg(here.join(format!("tests/c/{name}.c")))
        .args([format!("-L{}", library.display()), format!("-Wl,-rpath,{}", library.display())])
        .args(["-lseriatim_ffi", "-o"])
        .arg(&program)
        .output()
        .expect("the compiler runs");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    Some(program)
}

/// Runs a program with the library that it was linked with. Where cargo says that libraries are, an
/// older one may lie from a build that was no test.
fn running(program: PathBuf) -> Command {
    let mut command = Command::new(program);
    command.env_remove("LD_LIBRARY_PATH");
    command
}

/// The histories of the repository, each with its specification.
fn histories() -> Vec<(Option<String>, PathBuf)> {
    let manifest = std::fs::read_to_string(root().join("testdata/manifest.tsv")).unwrap();
    let mut all: Vec<_> = manifest
        .lines()
        .skip(1)
        .map(|line| {
            let mut fields = line.split('\t');
            let (file, spec) = (fields.next().unwrap(), fields.next().unwrap());
            (Some(spec.to_owned()), root().join("testdata").join(file))
        })
        .collect();
    for entry in std::fs::read_dir(root().join("examples/histories")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension != "md") {
            all.push((None, path));
        }
    }
    assert!(all.len() > 100, "only {} histories", all.len());
    all
}

/// A report less the time that it took.
fn timeless(json: &str) -> String {
    let (before, rest) = json.split_once("\"elapsed_seconds\":").expect("a report has statistics");
    let (_, after) = rest.split_once(',').expect("and more of them");
    format!("{before}{after}")
}

#[test]
fn every_history_has_the_same_report_in_c_and_in_rust() {
    let Some(program) = compiled("histories") else { return };
    let histories = histories();
    let mut command = running(program);
    for (spec, path) in &histories {
        command.arg(spec.as_deref().unwrap_or("-")).arg(path);
    }
    let ran = command.output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let out = String::from_utf8(ran.stdout).unwrap();
    let lines: Vec<&str> = out.lines().filter(|line| !line.is_empty()).collect();
    assert_eq!(lines.len(), 2 * histories.len());
    for ((spec, path), told) in histories.iter().zip(lines.chunks(2)) {
        let history = read_with(path, ReadOptions::default()).unwrap();
        let question = Question {
            spec: spec.as_deref().map_or(Specified::ByHistory, Specified::Name),
            options: Options { threads: 1, ..Options::default() },
            ..Question::default()
        };
        let answered = question.answer(history).unwrap();
        let expected = timeless(&format!("{} {}", answered.exit_code(), answered.json().trim()));
        assert_eq!(timeless(told[0]), expected, "{}", path.display());
        assert_eq!(timeless(told[1]), expected, "{}", path.display());
    }
}

#[test]
fn models_and_calls_that_make_no_sense_never_yield_a_verdict() {
    let Some(program) = compiled("models") else { return };
    let ran = running(program).output().unwrap();
    let out = String::from_utf8_lossy(&ran.stdout);
    assert!(
        ran.status.success() && out.ends_with("all is well\n"),
        "{out}{}",
        String::from_utf8_lossy(&ran.stderr)
    );
}

#[test]
fn the_header_is_what_cbindgen_makes() {
    let here = env!("CARGO_MANIFEST_DIR");
    let made = Command::new("cbindgen")
        .args(["--quiet", "--config", "cbindgen.toml"])
        .current_dir(here)
        .output();
    let Ok(made) = made else {
        return seriatim_testing::skipped("cbindgen", "cargo install cbindgen");
    };
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let header = std::fs::read_to_string(Path::new(here).join("include/seriatim.h")).unwrap();
    let made = String::from_utf8(made.stdout).unwrap();
    assert!(
        header == made,
        "in crates/ffi: cbindgen --config cbindgen.toml --output include/seriatim.h"
    );
}
