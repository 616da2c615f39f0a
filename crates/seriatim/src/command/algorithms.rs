//! `seriatim algorithms`, `fmt` and `show`: looking at algorithms.

use super::input::text_of;
use super::output::{remark, say, write_bytes};
use super::source::Source;
use super::{Exit, Failure};
use seriatim::history::path_in_line;
use seriatim::lang::{fmt, lower, show};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// List the algorithms of the library, or print one
#[derive(clap::Args)]
pub struct List {
    /// Print the source of this algorithm
    #[arg(value_name = "NAME")]
    name: Option<String>,
}

/// Format algorithm files in place
#[derive(clap::Args)]
pub struct Format {
    /// The files
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Change nothing; exit with code 1 if a file is not formatted
    #[arg(long)]
    check: bool,
}

/// Show an algorithm as the engines see it: its atomic steps
#[derive(clap::Args)]
pub struct Show {
    /// A .seri file, or the name of an algorithm in the library
    #[arg(value_name = "ALGORITHM")]
    algorithm: String,

    /// List the atomic steps (the default)
    #[arg(long)]
    steps: bool,

    /// Draw the control flow for Graphviz instead
    #[arg(long, conflicts_with = "steps")]
    dot: bool,

    /// Write the steps in words, for checkers of certificates in other languages
    #[arg(long, conflicts_with_all = ["steps", "dot"])]
    words: bool,
}

/// Carries out `seriatim algorithms`.
pub fn list(arguments: &List) -> Result<Exit, Failure> {
    match &arguments.name {
        Some(name) => say(&Source::find(name)?.text)?,
        None => {
            for algorithm in seriatim::algorithms() {
                say(&format!("{:<44} {}\n", algorithm.name, algorithm.summary()))?;
            }
        }
    }
    Ok(Exit::Holds)
}

/// Carries out `seriatim fmt`.
pub fn format_files(arguments: &Format) -> Result<Exit, Failure> {
    let mut exit = Exit::Holds;
    for path in &arguments.files {
        let text = text_of(path)?;
        let source = Source { name: path_in_line(path), text };
        seriatim::lang::parse(&source.text).map_err(|error| source.complain(&error))?;
        let formatted = fmt(&source.text);
        if formatted == source.text {
            continue;
        }
        if arguments.check {
            remark(&format!("{} is not formatted", path_in_line(path)));
            exit = Exit::Violated;
        } else {
            write_bytes(path, formatted)?;
        }
    }
    Ok(exit)
}

/// Carries out `seriatim show`.
pub fn show_steps(arguments: &Show) -> Result<Exit, Failure> {
    let source = Source::find(&arguments.algorithm)?;
    let program = source.program(&BTreeMap::new())?;
    if arguments.words {
        let failed = |why| Failure(format!("{}: no certificate in words: {why}", source.name));
        say(&seriatim::certify::steps_text(&program).map_err(failed)?)?;
        return Ok(Exit::Holds);
    }
    let steps = lower(&program, 2, None).map_err(|error| source.complain(&error))?;
    say(&if arguments.dot { show::dot(&steps) } else { show::listing(&steps) })?;
    Ok(Exit::Holds)
}
