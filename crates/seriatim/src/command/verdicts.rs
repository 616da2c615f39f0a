//! Verdict files: what they say, and `seriatim merge`, which puts those of all shards together.

use super::check::source_of;
use super::output::{remark, say, write_bytes};
use super::{Exit, Failure, limits};
use serde_json::Value;
use seriatim::history::{Outside, in_line, path_in_line};
use seriatim::report::{SCREEN, middle};
use seriatim::scale::merge::{Merged, merge};
use seriatim::scale::verdicts::{Contents, Known, Word};
use std::path::{Path, PathBuf};

/// Combine the verdict files of all shards of a log
///
/// The files must be about the same log, specification and options, and every shard must be there
/// and complete. The exit code is that of the whole log: 0 linearizable, 1 not linearizable, 2
/// something could not be read, 3 unknown.
#[derive(clap::Args)]
pub struct Arguments {
    /// Verdict files, as `check --verdicts` writes them
    #[arg(required = true, value_name = "VERDICTS")]
    files: Vec<PathBuf>,

    /// Write all verdicts to a file, sorted: the same bytes however the log was divided
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Carries out `seriatim merge`.
pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    limits::prepare(&source_of(&arguments.files));
    let merged = merge(&arguments.files)?;
    if let Some(path) = &arguments.output {
        write_bytes(path, merged.text())?;
    }
    tell(&merged)
}

/// How many parts are told of.
const MOST: usize = 10;

/// Prints the verdict on a log.
pub fn tell(merged: &Merged) -> Result<Exit, Failure> {
    let (word, exit) = match merged.word() {
        Word::Linearizable => ("LINEARIZABLE", Exit::Holds),
        Word::Violation => ("VIOLATION", Exit::Violated),
        Word::Unknown => ("UNKNOWN", Exit::Unknown),
        Word::Refused => ("UNREADABLE", Exit::BadInput),
    };
    let names: Vec<String> = merged.about.files.iter().map(|(name, _)| in_line(name)).collect();
    let names = match &names[..] {
        [first, _, _, ..] => format!("{first} and {} more files", names.len() - 1),
        few => few.join(", "),
    };
    let count = |word| merged.with(word).count();
    let mut text = format!("{word}  {names} as {}\n", in_line(&merged.about.spec));
    text.push_str(&format!(
        "  {} operations in {} parts: {} linearizable, {} violated, {} open, {} unreadable\n",
        merged.operations(),
        merged.parts.len(),
        count(Word::Linearizable),
        count(Word::Violation),
        count(Word::Unknown),
        count(Word::Refused),
    ));
    for word in [Word::Violation, Word::Refused, Word::Unknown] {
        merged.with(word).take(MOST).for_each(|known| text.push_str(&told(known)));
        if count(word) > MOST {
            text.push_str(&format!("  and {} more\n", count(word) - MOST));
        }
    }
    say(&text)?;
    complain(&merged.problems);
    if merged.parts.is_empty() {
        remark("warning: there was no operation: nothing was checked");
    }
    Ok(exit)
}

/// Prints what a verdict file says of its shard.
pub fn tell_one(path: &Path) -> Result<Exit, Failure> {
    let contents = Contents::read(path)?;
    if contents.about.shard.count == 1 {
        return tell(&merge(&[path.to_owned()])?);
    }
    let has = |word| contents.parts.values().filter(|known| known.word == word).count();
    let (index, count) = (contents.about.shard.index, contents.about.shard.count);
    let mut text = format!(
        "shard {index}/{count}: {} parts: {} linearizable, {} violated, {} open, {} unreadable; verdicts \
         in {}\n",
        contents.parts.len(),
        has(Word::Linearizable),
        has(Word::Violation),
        has(Word::Unknown),
        has(Word::Refused),
        path_in_line(path)
    );
    let violations = contents.parts.values().filter(|known| known.word == Word::Violation);
    violations.take(MOST).for_each(|known| text.push_str(&told(known)));
    say(&text)?;
    complain(&contents.problems);
    Ok(match (has(Word::Violation), has(Word::Refused) + contents.problems.len()) {
        (_, 1..) => Exit::BadInput,
        (1.., 0) => Exit::Violated,
        (0, 0) if has(Word::Unknown) > 0 => Exit::Unknown,
        (0, 0) => Exit::Holds,
    })
}

fn complain(problems: &[String]) {
    for problem in problems {
        remark(&format!("error: {}", in_line(problem)));
    }
    if !problems.is_empty() {
        remark(
            "error: the log could not be read whole: parts with operations in those files stay open, and \
             nothing is proved",
        );
    }
}

/// A part in words, with the operations of its counterexample. Whoever wrote the file writes no line
/// of ours.
fn told(known: &Known) -> String {
    let line: Value = serde_json::from_str(&known.line).unwrap_or_default();
    let word = line["verdict"].as_str().unwrap_or_default();
    let label = if known.label.is_empty() { "the log" } else { &known.label };
    let shown = |text: &str| in_line(&middle(text, SCREEN));
    let (label, word) = (shown(label), shown(word));
    let mut text = format!("\n  {label} ({} operations): {word}", known.operations);
    if let Some(reason) = line["reason"].as_str() {
        text.push_str(&format!(": {}", shown(reason)));
    }
    text.push('\n');
    let found = &line["counterexample"];
    if let Some(sentence) = found["explanation"]["sentence"].as_str() {
        text.push_str(&format!("    {}\n", shown(sentence)));
    }
    for operation in found["operations"].as_array().into_iter().flatten() {
        let get = |name: &str| match &operation[name] {
            Value::String(text) => Outside(text).to_string(),
            Value::Null => String::new(),
            other => Outside(&other.to_string()).to_string(),
        };
        let ret = match operation["return"].as_u64() {
            Some(ret) => ret.to_string(),
            None => "never".to_owned(),
        };
        text.push_str(&match get("text").is_empty() {
            true => format!("    {}:{}\n", get("file"), get("line")),
            false => format!(
                "    {}:{}  process {}  {}  [{}, {ret}]\n",
                get("file"),
                get("line"),
                get("process"),
                get("text"),
                get("call")
            ),
        });
    }
    text
}
