//! What has to be believed of a certificate that is accepted, counted: the book gives the figures.

use std::path::{Path, PathBuf};

/// What has to be believed, as the rows of the book's table name it, and the files of it. Of the
/// language: reading and checking programs, lowering them to steps, the meaning of specifications;
/// neither the machine nor the analyses of the explorer, nor what is read off specifications for
/// logs.
const ROWS: &[(&str, &[&str])] = &[
    (
        "| `lang`: tokens, syntax, types",
        &[
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
        ],
    ),
    (
        "| `lang`: lowering to steps",
        &[
            "steps.rs",
            "steps/lower.rs",
            "steps/lower",
            "analysis/flow.rs",
            "analysis/fused.rs",
            "analysis/pauses.rs",
        ],
    ),
    (
        "| `lang`: the meaning of specifications",
        &["spec.rs", "spec/code.rs", "spec/evaluate.rs", "spec/values.rs", "machine/choices.rs"],
    ),
];

/// What the checker needs besides for records, cells and numbers.
const BEYOND_LISTS: &[&str] = &[
    "record.rs",
    "help.rs",
    "cell.rs",
    "meaning.rs",
    "counter.rs",
    "number.rs",
    "number_spec.rs",
    "names.rs",
];

/// What the checker needs besides for programs that others stand for.
const STAND_INS: &[&str] = &["reduce.rs", "reduce"];

/// What decides nothing: drawings, the steps as text, and what makes certificates shorter before they
/// are checked.
const FOR_PEOPLE: &[&str] = &["draw.rs", "needs.rs", "steps_text.rs", "trim.rs"];

/// The words behind `seriatim_lang::` in the checker, all of which are in these files. (`machine`
/// for the bounds of a specification's values; `show` prints steps for people.)
const NAMES: &[&str] = &[
    "Program",
    "ast",
    "check",
    "choices",
    "flow",
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

/// The figure of a row of the book's table.
fn told(book: &str, row: &str) -> usize {
    let line = book.lines().find(|line| line.starts_with(row));
    let line = line.unwrap_or_else(|| panic!("the book has no row {row}"));
    let figure = line.trim_end_matches(['|', ' ']).rsplit('|').next().unwrap();
    figure.trim().replace(',', "").parse().unwrap_or_else(|_| panic!("no figure: {line}"))
}

#[test]
fn the_book_tells_how_much_has_to_be_believed() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let book = std::fs::read_to_string(here.join("../../docs/evidence.md")).unwrap();
    let own = |names: &[&str]| sum(names.iter().map(|name| here.join("src").join(name)));
    let beyond = own(BEYOND_LISTS);
    let stand_ins = own(STAND_INS);
    let lists = sum([here.join("src")].into_iter()) - beyond - stand_ins - own(FOR_PEOPLE);
    let mut counted = vec![
        ("| `certify`: for lists", lists),
        ("| `certify`: in addition, for records", beyond),
        ("| `certify`: in addition, for programs", stand_ins),
    ];
    for (row, names) in ROWS {
        counted.push((row, sum(names.iter().map(|name| here.join("../lang/src").join(name)))));
    }
    for (row, count) in counted {
        let told = told(&book, row);
        assert!(told.abs_diff(count) <= 100, "{row}: {count} lines, the book says {told}");
    }
}

#[test]
fn what_decides_nothing_is_not_used_by_what_decides() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let decides = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        !FOR_PEOPLE.contains(&name) && name != "lib.rs"
    };
    for path in files(&here).into_iter().filter(decides) {
        let text = std::fs::read_to_string(&path).unwrap();
        for module in FOR_PEOPLE.iter().map(|name| name.trim_end_matches("rs").replace('.', "::")) {
            let used = text.contains(&format!("crate::{module}"));
            assert!(!used, "{} uses {module}", path.display());
        }
    }
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
