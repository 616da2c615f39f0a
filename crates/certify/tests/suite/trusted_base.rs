//! What has to be believed of a certificate that is accepted, counted: the book gives the figures.

use std::path::{Path, PathBuf};

/// What the checker uses of the language: reading and checking programs, lowering them to steps,
/// the meaning of specifications. Neither the machine nor the analyses of the explorer.
const OF_LANG: &[&str] = &[
    "front/ast.rs",
    "front/check.rs",
    "front/check",
    "front/diagnostic.rs",
    "front/lexer.rs",
    "front/mod.rs",
    "front/parse.rs",
    "front/parse",
    "front/program.rs",
    "front/range.rs",
    "front/span.rs",
    "front/types.rs",
    "front/walk.rs",
    "steps.rs",
    "steps/lower.rs",
    "steps/lower",
    "analysis/flow.rs",
    "analysis/fused.rs",
    "analysis/pauses.rs",
    "spec.rs",
    "spec",
    "machine/choices.rs",
];

/// The words behind `seriatim_lang::` in the checker, all of which are in these files. (`machine`
/// for the bounds of a specification's values; `show` prints steps for people.)
const NAMES: &[&str] = &[
    "Program",
    "ast",
    "check",
    "choices",
    "lower",
    "machine::Bounds",
    "program",
    "range",
    "show",
    "spec",
    "steps",
    "types",
    "{Program, lower}",
];

fn files(path: &Path) -> Vec<PathBuf> {
    match path.is_dir() {
        false => vec![path.to_owned()],
        true => {
            let entries = std::fs::read_dir(path).unwrap();
            entries.flat_map(|entry| files(&entry.unwrap().path())).collect()
        }
    }
}

/// The lines with code: no comments, no blank lines, no tests.
fn code_lines(path: &Path) -> usize {
    let text = std::fs::read_to_string(path).unwrap();
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    code.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//")).count()
}

fn sum(paths: impl Iterator<Item = PathBuf>) -> usize {
    paths.flat_map(|path| files(&path)).map(|path| code_lines(&path)).sum()
}

#[test]
fn what_has_to_be_believed_does_not_grow_unnoticed() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let own = sum([here.join("src")].into_iter());
    let lang = sum(OF_LANG.iter().map(|name| here.join("../lang/src").join(name)));
    println!("{own} lines of certify, {lang} of lang");
    assert!(own < 6_400 && lang < 6_100, "{own} lines of certify, {lang} of lang");
    assert!(own > 4_000 && lang > 4_000, "the checker is somewhere else now");
}

#[test]
fn the_checker_uses_nothing_else_of_the_language() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for path in files(&here) {
        let text = std::fs::read_to_string(&path).unwrap();
        for used in text.split("seriatim_lang::").skip(1) {
            let is_known = NAMES.iter().any(|name| used.starts_with(name));
            assert!(is_known, "{}: seriatim_lang::{:.30}", path.display(), used);
        }
    }
}
