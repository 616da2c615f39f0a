//! `seriatim convert`: from one format to another.

use super::input::{Input, format_named};
#[cfg(feature = "parquet")]
use super::output::write_with;
use super::output::{remark, write_history};
use super::{Exit, Failure, limits};
use seriatim::history::{Format, name_of};
use std::path::PathBuf;

/// Write a history in another format
///
/// Formats that can be written: jsonl (one operation per line), jsonl-events (one event per line),
/// edn, porcupine, limo, polylin; parquet in a command built with that feature. A history that the
/// format cannot express is refused.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    input: Input,

    /// The files form one log: whole operations with comparable times, or what a map reads
    #[arg(long)]
    one_log: bool,

    /// The format to write
    #[arg(long, value_name = "FORMAT", default_value = "jsonl", value_parser = target_named)]
    to: Target,

    /// The file to write [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// What can be written.
#[derive(Clone, Copy)]
enum Target {
    Text(Format),
    #[cfg(feature = "parquet")]
    Parquet,
}

fn target_named(name: &str) -> Result<Target, String> {
    match name {
        #[cfg(feature = "parquet")]
        "parquet" => Ok(Target::Parquet),
        #[cfg(not(feature = "parquet"))]
        "parquet" => Err("this command was built without the feature `parquet`".to_owned()),
        _ => format_named(name).map(Target::Text),
    }
}

/// Carries out `seriatim convert`.
pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let paths = arguments.input.paths()?;
    if paths.len() != 1 && !arguments.one_log {
        return Err(Failure(format!(
            "expected one history to convert, found {} files; if they are one log, say so with --one-log",
            paths.len()
        )));
    }
    let names: Vec<String> = paths.iter().map(|path| name_of(path)).collect();
    limits::prepare(&names.join(", "));
    let history = arguments.input.read_joined(&names.join(", "), &paths)?;
    let output = arguments.output.as_deref();
    match arguments.to {
        Target::Text(format) => write_history(&history, format, output)?,
        #[cfg(feature = "parquet")]
        Target::Parquet => write_with(&history, output, seriatim::parquet::write)?,
    }
    remark(&format!("{}: {} operations", history.source(), history.len()));
    Ok(Exit::Holds)
}
