//! `seriatim convert`: from one format to another.

use super::input::{Input, format_named};
use super::{Exit, Failure};
use seriatim::history::{Format, write};
use std::fs::File;
use std::io::{BufWriter, Write};
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
    match &arguments.output {
        Some(output) => {
            let file = File::create(output)
                .map_err(|error| Failure(format!("{}: {error}", output.display())))?;
            let mut out = BufWriter::new(file);
            write(&history, arguments.to, &mut out)?;
            out.flush()?;
        }
        None => {
            let mut out = BufWriter::new(std::io::stdout().lock());
            write(&history, arguments.to, &mut out)?;
            out.flush()?;
        }
    }
    eprintln!("{} operations", history.len());
    Ok(Exit::Holds)
}
