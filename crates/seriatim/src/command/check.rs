//! `seriatim check`: is this recorded history linearizable?

use super::amounts::{bytes, duration};
use super::input::{Against, Input};
use super::progress::ProgressLine;
use super::{Exit, Failure};
use clap::ValueEnum;
use seriatim::monitor::partition::Partitioning;
use seriatim::monitor::{
    DecidedBy, Monitors, PartReport, PartStanding, StopAt, Strategy, refute_partition,
};
use seriatim::report::terminal::{Colour, Glyphs, Style};
use seriatim::report::{PartLine, Report, Standing, States, Statistics, json, junit, terminal};
use seriatim::spec::Reader;
use seriatim::{Checked, ChosenReader, History, Options, Verdict, check, validate};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Say whether recorded histories are linearizable
///
/// A violation comes with the smallest part of the history that shows it, drawn, and with the reason
/// why every order fails. --certify replays the order that was found for a linearizable history.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    input: Input,

    #[command(flatten)]
    against: Against,

    /// Give up after this time (90s, 5m, …) and say how far it came
    #[arg(long, value_name = "TIME", value_parser = duration)]
    time: Option<Duration>,

    /// The memory that the search may use
    #[arg(long, value_name = "BYTES", default_value = "4G", value_parser = bytes)]
    memory: usize,

    /// The number of threads [default: all cores]
    #[arg(long, value_name = "NUMBER")]
    threads: Option<usize>,

    /// Do not split objects by key
    #[arg(long)]
    no_partition: bool,

    /// Try to refute on this history that the object may be split by key
    #[arg(long)]
    check_partition: bool,

    /// Go on after the first violation and decide all parts
    #[arg(long)]
    all: bool,

    /// Who decides
    #[arg(long, value_enum, default_value_t = Engine::Auto)]
    engine: Engine,

    /// Replay the order that was found for a linearizable history, independently of all engines
    #[arg(long)]
    certify: bool,

    /// Print the report as JSON, one document a history
    #[arg(long)]
    json: bool,

    /// Write the results as JUnit XML, for pipelines
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,

    /// Print one line a history
    #[arg(long, short)]
    quiet: bool,

    /// Colours in the report
    #[arg(long, value_enum, default_value_t = When::Auto)]
    color: When,

    /// Draw with ASCII characters only
    #[arg(long)]
    ascii: bool,

    /// The width of the report, in columns [default: the terminal's, else 100]
    #[arg(long, value_name = "COLUMNS")]
    width: Option<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Engine {
    /// Whatever is fastest and exact
    Auto,
    /// The general search, both ways
    Search,
    /// The general search, depth first
    DepthFirst,
    /// The general search, breadth first
    BreadthFirst,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum When {
    /// If the output is a terminal
    Auto,
    Always,
    Never,
}

/// A checked history with what its report needs.
struct Done {
    history: History,
    reader: ChosenReader,
    checked: Checked,
    elapsed: Duration,
    warnings: Vec<String>,
}

/// Carries out `seriatim check`.
pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let mut exit = Exit::Holds;
    let mut done = Vec::new();
    for path in arguments.input.paths()? {
        match check_one(arguments, &path) {
            Ok(one) => {
                exit = exit.and(exit_of(&one.checked.verdict));
                print(arguments, &one);
                if arguments.junit.is_some() {
                    done.push(one);
                }
            }
            Err(Failure(message)) => {
                eprintln!("error: {message}");
                exit = exit.and(Exit::BadInput);
            }
        }
    }
    if let Some(path) = &arguments.junit {
        let names: Vec<String> = done.iter().map(|one| one.reader.name()).collect();
        let reports: Vec<Report<'_>> =
            done.iter().zip(&names).map(|(one, name)| report(one, name)).collect();
        std::fs::write(path, junit::render(&reports))
            .map_err(|error| Failure(format!("{}: {error}", path.display())))?;
    }
    Ok(exit)
}

fn exit_of(verdict: &Verdict) -> Exit {
    match verdict {
        Verdict::Linearizable(_) => Exit::Holds,
        Verdict::Violation(_) => Exit::Violated,
        Verdict::Unknown(_) => Exit::Unknown,
    }
}

fn check_one(arguments: &Arguments, path: &Path) -> Result<Done, Failure> {
    let mut history = arguments.input.read(path)?;
    let reader = arguments.against.reader(&history)?;
    let progress = ProgressLine::new();
    let observer = |standing| progress.show(standing);
    let mut options = Options { observer: Some(&observer), ..options(arguments) };
    options.threads = arguments.threads.unwrap_or(options.threads).max(1);
    let start = Instant::now();
    let checked = check(&mut history, &reader, &options)?;
    let elapsed = start.elapsed();
    progress.clear();
    let warnings = examine(arguments, &mut history, &reader, &checked)?;
    Ok(Done { history, reader, checked, elapsed, warnings })
}

fn options(arguments: &Arguments) -> Options<'static> {
    Options {
        time: arguments.time,
        memory: arguments.memory,
        partitioning: match arguments.no_partition {
            true => Partitioning::ByObject,
            false => Partitioning::ByKey,
        },
        stop_at: if arguments.all { StopAt::End } else { StopAt::FirstViolation },
        monitors: match arguments.engine {
            Engine::Auto => Monitors::Use,
            _ => Monitors::Skip,
        },
        strategies: match arguments.engine {
            Engine::Auto | Engine::Search => vec![Strategy::DepthFirst, Strategy::BreadthFirst],
            Engine::DepthFirst => vec![Strategy::DepthFirst],
            Engine::BreadthFirst => vec![Strategy::BreadthFirst],
        },
        ..Options::default()
    }
}

/// The further checks that the user asked for; gives what the reader of the report should know.
fn examine(
    arguments: &Arguments,
    history: &mut History,
    reader: &ChosenReader,
    checked: &Checked,
) -> Result<Vec<String>, Failure> {
    let mut warnings = Vec::new();
    if arguments.check_partition {
        let reading = reader.read(history)?;
        if let Some(refutation) = refute_partition(&reading) {
            return Err(Failure(format!(
                "{}: {} must not be split by key: {} and {} are not independent in state {}",
                history.source(),
                reader.name(),
                history.operation(refutation.first),
                history.operation(refutation.second),
                refutation.state
            )));
        }
    }
    if let (true, Verdict::Linearizable(witness)) = (arguments.certify, &checked.verdict) {
        let reading = reader.read(history)?;
        validate(history, &reading, witness).map_err(|error| {
            Failure(format!("the witness does not hold, which is a defect of Seriatim: {error}"))
        })?;
        warnings.push("certified: the replayer accepts the witness".to_owned());
    }
    Ok(warnings)
}

fn report<'r>(done: &'r Done, spec: &'r str) -> Report<'r> {
    let Done { history, reader, checked, elapsed, warnings } = done;
    let mut report = Report::new(history, spec, &checked.verdict);
    report.parts = checked.parts.iter().map(part_line).collect();
    report.statistics = Statistics {
        elapsed: Some(*elapsed),
        configurations: checked.configurations as u64,
        memory: checked.memory as u64,
    };
    report.warnings.extend(warnings.iter().cloned());
    if matches!(checked.verdict, Verdict::Violation(_)) {
        report.states = States::replay(history, reader, &checked.verdict, 0);
    }
    report
}

fn part_line(part: &PartReport) -> PartLine {
    PartLine {
        label: part.label.clone(),
        operations: part.operations,
        standing: match part.standing {
            PartStanding::Linearizable => Standing::Linearizable,
            PartStanding::Violation => Standing::Violation,
            PartStanding::Open => Standing::Open,
        },
        decided_by: match part.decided_by {
            DecidedBy::Monitor(name) => name.to_owned(),
            DecidedBy::Inspection => "a look at the operations".to_owned(),
            DecidedBy::Search(Strategy::DepthFirst) => "depth-first search".to_owned(),
            DecidedBy::Search(Strategy::BreadthFirst) => "breadth-first search".to_owned(),
            DecidedBy::Nobody => String::new(),
        },
    }
}

fn print(arguments: &Arguments, done: &Done) {
    let spec = done.reader.name();
    if arguments.quiet {
        println!("{}: {}", done.history.source(), done.checked.verdict.word());
        return;
    }
    let report = report(done, &spec);
    match arguments.json {
        true => println!("{}", json::render(&report)),
        false => print!("{}", terminal::render(&report, &style(arguments))),
    }
}

fn style(arguments: &Arguments) -> Style {
    let is_terminal = std::io::stdout().is_terminal();
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let is_coloured = match arguments.color {
        When::Auto => is_terminal && !no_color,
        When::Always => true,
        When::Never => false,
    };
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    Style {
        width: arguments.width.or(columns).unwrap_or(100),
        glyphs: if arguments.ascii { Glyphs::Ascii } else { Glyphs::Unicode },
        colour: if is_coloured { Colour::Ansi } else { Colour::Never },
    }
}
