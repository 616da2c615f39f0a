//! `seriatim check`: is this recorded history linearizable?

use super::amounts::positive;
use super::output::{remark, say};
use super::question::{Done, Question};
use super::{Exit, Failure, page};
use clap::ValueEnum;
use seriatim::Verdict;
use seriatim::report::junit::{self, Case};
use seriatim::report::terminal::{Colour, Glyphs, Style};
use seriatim::report::{json, terminal};
use std::io::IsTerminal;
use std::path::PathBuf;
use terminal_size::terminal_size;

/// Say whether recorded histories are linearizable
///
/// A violation comes with the smallest part of the history that shows it, drawn, and with the reason
/// why every order fails. --certify replays the order that was found for a linearizable history.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    question: Question,

    /// Print the report as JSON, one line a history
    #[arg(long, conflicts_with = "quiet")]
    json: bool,

    /// Write the report of a history as a page that any browser opens
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

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
enum When {
    /// If the output is a terminal
    Auto,
    Always,
    Never,
}

/// The width of a report that does not go to a terminal.
const USUAL_WIDTH: usize = 100;

/// What became of a file.
enum Outcome {
    Checked(Box<Done>),
    Unreadable { source: String, problem: String },
}

/// Carries out `seriatim check`.
pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let mut exit = Exit::Holds;
    let mut outcomes = Vec::new();
    let paths = arguments.question.input.paths()?;
    if arguments.html.is_some() && paths.len() > 1 {
        return Err(Failure("--html takes one history; there are several".to_owned()));
    }
    for path in paths {
        let outcome = match arguments.question.answer(&path) {
            Ok(done) => {
                exit = exit.and(done.exit());
                print(arguments, &done)?;
                if let Some(path) = &arguments.html {
                    page::write(&done, path)?;
                }
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
        Outcome::Checked(done) => Case::Checked(done.report(0)),
        Outcome::Unreadable { source, problem } => Case::Unreadable { source, problem },
    });
    cases.collect()
}

fn print(arguments: &Arguments, done: &Done) -> Result<(), Failure> {
    if arguments.quiet {
        return say_in_a_line(done);
    }
    match arguments.json {
        true => say(&json::render(&done.report(0))),
        false => say(&terminal::render(&done.report(0), &style(arguments))),
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
