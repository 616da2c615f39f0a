//! `seriatim convert`: from one format to another.

use super::input::{Input, format_named};
use super::output::{remark, write_history};
use super::{Exit, Failure};
use seriatim::history::Format;
use std::path::PathBuf;

/// Write a history in another format
///
/// Formats that can be written: jsonl (one operation a line), jsonl-events (one event a line), edn,
/// porcupine, limo, polylin. What a format cannot express is refused, not dropped.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    input: Input,

    /// The format to write
    #[arg(long, value_name = "FORMAT", default_value = "jsonl", value_parser = format_named)]
    to: Format,

    /// The file to write [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Carries out `seriatim convert`.
pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let paths = arguments.input.paths()?;
    let [path] = &paths[..] else {
        return Err(Failure(format!("expected one history to convert, found {}", paths.len())));
    };
    let history = arguments.input.read(path)?;
    write_history(&history, arguments.to, arguments.output.as_deref())?;
    remark(&format!("{}: {} operations", history.source(), history.len()));
    Ok(Exit::Holds)
}
