//! `seriatim check`: is this recorded history linearizable?

use super::amounts::{bytes, duration, positive};
use super::input::{Against, Input};
use super::output::{remark, say};
use super::progress::ProgressLine;
use super::{Exit, Failure};
use clap::ValueEnum;
use seriatim::monitor::partition::Partitioning;
use seriatim::monitor::{
    DecidedBy, Monitors, PartReport, PartStanding, StopAt, Strategy, refute_partition,
};
use seriatim::report::junit::{self, Case};
use seriatim::report::terminal::{Colour, Glyphs, Style};
use seriatim::report::{PartLine, Report, Standing, States, Statistics, json, terminal};
use seriatim::spec::Reader;
use seriatim::{Checked, ChosenReader, Failures, History, Options, Verdict, check, validate};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use terminal_size::terminal_size;

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
    #[arg(long, value_name = "NUMBER", value_parser = positive)]
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

    /// Print the report as JSON, one line a history
    #[arg(long, conflicts_with = "quiet")]
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
    #[arg(long, value_name = "COLUMNS", value_parser = positive)]
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

/// The width of a report that does not go to a terminal.
const USUAL_WIDTH: usize = 100;

/// A checked history with what its report needs.
struct Done {
    history: History,
    reader: ChosenReader,
    name: String,
    checked: Checked,
    elapsed: Duration,
    /// What else was checked, and held.
    notes: Vec<String>,
    /// What the reader of the report should know before believing it.
    warnings: Vec<String>,
}

/// What became of a file.
enum Outcome {
    Checked(Box<Done>),
    Unreadable { source: String, problem: String },
}

/// Carries out `seriatim check`.
pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let mut exit = Exit::Holds;
    let mut outcomes = Vec::new();
    for path in arguments.input.paths()? {
        let outcome = match check_one(arguments, &path) {
            Ok(done) => {
                exit = exit.and(exit_of(&done.checked.verdict));
                print(arguments, &done)?;
                Outcome::Checked(Box::new(done))
            }
            Err(Failure(problem)) => {
                remark(&format!("error: {problem}"));
                exit = exit.and(Exit::BadInput);
                Outcome::Unreadable { source: path.display().to_string(), problem }
            }
        };
        if arguments.junit.is_some() {
            outcomes.push(outcome);
        }
    }
    if let Some(path) = &arguments.junit {
        std::fs::write(path, junit::render(&cases(&outcomes)))
            .map_err(|error| Failure(format!("{}: cannot write: {error}", path.display())))?;
    }
    Ok(exit)
}

fn cases(outcomes: &[Outcome]) -> Vec<Case<'_>> {
    let cases = outcomes.iter().map(|outcome| match outcome {
        Outcome::Checked(done) => Case::Checked(report(done)),
        Outcome::Unreadable { source, problem } => Case::Unreadable { source, problem },
    });
    cases.collect()
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
    let options = Options { observer: Some(&observer), ..options(arguments) };
    let start = Instant::now();
    let checked = check(&mut history, &reader, &options)?;
    let elapsed = start.elapsed();
    progress.clear();
    let notes = examine(arguments, &mut history, &reader, &checked)?;
    let warnings = vacuous(&mut history, &reader)?.into_iter().collect();
    let name = reader.name();
    Ok(Done { history, reader, name, checked, elapsed, notes, warnings })
}

/// Why the verdict says nothing, if so.
fn vacuous(history: &mut History, reader: &ChosenReader) -> Result<Option<String>, Failure> {
    let warning = history.tally().vacuous().map(str::to_owned);
    if warning.is_none() || reader.failures == Failures::Drop {
        return Ok(warning);
    }
    // Failures may be observations: then something was checked after all.
    let reading = reader.read(history)?;
    let is_observed = reading.operations().any(|op| history.ret(op).is_some());
    Ok(warning.filter(|_| !is_observed))
}

fn options(arguments: &Arguments) -> Options<'static> {
    let defaults = Options::default();
    Options {
        time: arguments.time,
        memory: arguments.memory,
        threads: arguments.threads.unwrap_or(defaults.threads),
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
        ..defaults
    }
}

/// The further checks that the user asked for; gives what held.
fn examine(
    arguments: &Arguments,
    history: &mut History,
    reader: &ChosenReader,
    checked: &Checked,
) -> Result<Vec<String>, Failure> {
    let mut notes = Vec::new();
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
        notes.push("partition: no two operations on different keys were found to interfere".into());
    }
    if let (true, Verdict::Linearizable(witness)) = (arguments.certify, &checked.verdict) {
        let reading = reader.read(history)?;
        validate(history, &reading, witness).map_err(|error| {
            let source = history.source();
            Failure(format!(
                "{source}: the witness does not hold, which is a defect of Seriatim: {error}"
            ))
        })?;
        notes.push("certified: the replayer accepts the witness".into());
    }
    Ok(notes)
}

fn report(done: &Done) -> Report<'_> {
    let Done { history, reader, name, checked, elapsed, notes, warnings } = done;
    let mut report = Report::new(history, name, &checked.verdict);
    report.parts = checked.parts.iter().map(part_line).collect();
    report.statistics = Statistics {
        elapsed: Some(*elapsed),
        configurations: checked.configurations as u64,
        memory: checked.memory as u64,
    };
    report.notes.clone_from(notes);
    report.warnings.clone_from(warnings);
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

fn print(arguments: &Arguments, done: &Done) -> Result<(), Failure> {
    if arguments.quiet {
        return say_in_a_line(done);
    }
    match arguments.json {
        true => say(&json::render(&report(done))),
        false => say(&terminal::render(&report(done), &style(arguments))),
    }
}

fn say_in_a_line(done: &Done) -> Result<(), Failure> {
    let Done { history, checked, warnings, .. } = done;
    let source = history.source();
    for warning in warnings {
        remark(&format!("warning: {source}: {warning}"));
    }
    let limit = match &checked.verdict {
        Verdict::Unknown(unknown) => format!("; {}", unknown.limit),
        _ => String::new(),
    };
    let (word, number) = (checked.verdict.word(), history.len());
    say(&format!("{source}: {word} ({number} operations{limit})\n"))
}

fn style(arguments: &Arguments) -> Style {
    let is_terminal = std::io::stdout().is_terminal();
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let is_coloured = match arguments.color {
        When::Auto => is_terminal && !no_color,
        When::Always => true,
        When::Never => false,
    };
    let size = is_terminal.then(terminal_size).flatten();
    let columns = size.map(|(width, _)| usize::from(width.0));
    Style {
        width: arguments.width.or(columns).unwrap_or(USUAL_WIDTH),
        glyphs: if arguments.ascii { Glyphs::Ascii } else { Glyphs::Unicode },
        colour: if is_coloured { Colour::Ansi } else { Colour::Never },
    }
}
