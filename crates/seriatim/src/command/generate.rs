//! `seriatim gen`: histories for tests and benchmarks.

use super::amounts::share;
use super::input::format_named;
use super::output::{remark, write_history};
use super::streamed::{Layout, stream};
use super::{Exit, Failure};
use seriatim::SpecChoice;
use seriatim::history::Format;
use seriatim::spec::generate::{Generator, Profile, Repetition, Spread, Violation};

/// Generate a history: linearizable by construction, or with one planted violation
///
/// The same arguments give the same history on every machine.
#[derive(clap::Args)]
pub struct Arguments {
    /// The specification that the history follows
    #[arg(value_name = "SPEC")]
    spec: String,

    /// The number of operations
    #[arg(long, short = 'n', value_name = "NUMBER", default_value_t = 1000)]
    operations: u64,

    /// The number of threads
    #[arg(long, value_name = "NUMBER", default_value_t = 4)]
    threads: u32,

    /// How much operations overlap: 0 not at all, 1 as much as possible
    #[arg(long, value_name = "SHARE", default_value = "0.5", value_parser = share)]
    overlap: f64,

    /// The share of operations that never return
    #[arg(long, value_name = "SHARE", default_value = "0", value_parser = share)]
    pending: f64,

    /// The number of keys, elements or registers, where the object has them
    #[arg(long, value_name = "NUMBER", default_value_t = 10)]
    keys: u64,

    /// Use the first keys far more often than the last (Zipf)
    #[arg(long)]
    skewed: bool,

    /// Draw values from this many instead of making every value distinct
    #[arg(long, value_name = "NUMBER")]
    values: Option<u64>,

    /// How often each method is called, as in push=2,pop=1
    #[arg(long, value_name = "METHOD=SHARE,…", value_delimiter = ',', value_parser = method_share)]
    shares: Vec<(String, f64)>,

    /// How likely it is that an operation that would find the container empty is kept
    #[arg(long, value_name = "SHARE", default_value = "1", value_parser = share)]
    empties: f64,

    /// Plant one violation, at this position of the history
    #[arg(long, value_name = "SHARE", num_args = 0..=1, default_missing_value = "0.5", value_parser = share)]
    violation: Option<f64>,

    /// The seed of the random choices
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    seed: u64,

    /// The format to write
    #[arg(long, value_name = "FORMAT", default_value = "jsonl", value_parser = format_named)]
    to: Format,
}

fn method_share(text: &str) -> Result<(String, f64), String> {
    let expected = "expected a method and its share, as in push=2";
    let (method, share) = text.split_once('=').ok_or(expected)?;
    let share: f64 = share.parse().map_err(|_| expected)?;
    match share.is_finite() && share >= 0.0 {
        true => Ok((method.to_owned(), share)),
        false => Err(expected.to_owned()),
    }
}

/// Carries out `seriatim gen`.
pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let choice = SpecChoice::parse(&arguments.spec)?;
    let generator = Generator::new(&choice, profile(arguments))?;
    if let Some(layout) = Layout::of(arguments.to) {
        let operations = stream(generator, layout)?;
        remark(&format!("{}: {operations} operations", arguments.spec));
        return Ok(Exit::Holds);
    }
    let generated = generator.history()?;
    write_history(&generated.history, arguments.to, None)?;
    remark(&format!("{}: {} operations", arguments.spec, generated.history.len()));
    Ok(Exit::Holds)
}

fn profile(arguments: &Arguments) -> Profile {
    let place = |share: f64| (share * arguments.operations as f64) as u64;
    Profile {
        operations: arguments.operations,
        threads: arguments.threads,
        overlap: arguments.overlap,
        pending: arguments.pending,
        keys: arguments.keys,
        spread: if arguments.skewed { Spread::Skewed } else { Spread::Uniform },
        values: arguments.values.map_or(Repetition::Distinct, Repetition::Among),
        shares: arguments.shares.clone(),
        empties: arguments.empties,
        violation: arguments.violation.map_or(Violation::None, |share| Violation::At(place(share))),
        seed: arguments.seed,
    }
}
