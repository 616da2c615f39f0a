//! `seriatim import`: an object written in Rust, as an algorithm.

use super::input::text_of;
use super::output::{remark, say, write_and_tell};
use super::source::Source;
use super::{Exit, Failure};
use seriatim::history::path_in_line;
use seriatim_import::{Options, import};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Turn a lock-free object written in Rust into an algorithm, with its memory orderings
///
/// The file must contain one object: a struct with atomics, a constructor `new()`, and methods that
/// take `&self`. `verify` explores the result, and `verify --weaken` says which orderings are
/// needed. What cannot be imported is refused with its line.
#[derive(clap::Args)]
pub struct Arguments {
    /// The Rust source
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// The specification that the object is to refine, such as `stack`, `queue` or `counter`
    #[arg(long, value_name = "SPEC")]
    spec: String,

    /// A type of numbers that stands for opaque data, such as `u32`; a generic `T` does so anyway
    #[arg(long, value_name = "TYPE")]
    value: Option<String>,

    /// The methods that each thread may call, if not all may call all: `push,pop|steal`. The last ones
    /// are for all remaining threads
    #[arg(long, value_name = "ROLES")]
    roles: Option<String>,

    /// The file to write [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Carries out `seriatim import`.
pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let file = path_in_line(&arguments.file);
    let rust = text_of(&arguments.file)?;
    let roles = arguments.roles.as_deref().map(roles).unwrap_or_default();
    let options = Options { value: arguments.value.clone(), roles };
    let text = import(&rust, &file, &arguments.spec, &options)
        .map_err(|error| Failure(format!("{file}:{error}")))?;
    // What the language refuses must not be found out only later.
    Source { name: format!("what {file} becomes"), text: text.clone() }.program(&BTreeMap::new())?;
    for line in text.lines().filter_map(|line| line.strip_prefix("// Left out, ")) {
        remark(&format!("left out, {line}"));
    }
    match &arguments.output {
        Some(output) => write_and_tell(output, &text, "algorithm")?,
        None => say(&text)?,
    }
    Ok(Exit::Holds)
}

fn roles(text: &str) -> Vec<Vec<String>> {
    let names = |role: &str| role.split(',').map(|name| name.trim().to_owned()).collect();
    text.split('|').map(names).collect()
}
