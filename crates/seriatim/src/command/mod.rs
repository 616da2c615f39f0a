//! The command line: what the user asks for, handed to the library, and the answer printed.

mod algorithms;
mod amounts;
mod asked;
mod beside;
mod certify;
mod check;
#[cfg(feature = "cluster")]
mod cluster;
mod convert;
mod generate;
mod import;
mod input;
mod internal;
mod limits;
mod lists;
mod manual;
mod map;
mod order;
mod orderings;
mod output;
mod page;
mod plain;
mod progress;
mod question;
mod recorded;
mod scale;
mod source;
mod specs;
mod streamed;
mod transactions;
mod verdicts;
mod verify;
mod view;
mod watch;

use asked::Asked;
use clap::{CommandFactory, Parser, Subcommand};
use seriatim::spec::answer::Answer;
use std::ffi::OsString;
use std::time::Instant;

/// Is a concurrent object linearizable?
///
/// An object is linearizable if its operations, however they overlap in time, could have happened
/// one after another in an order that respects real time.
///
/// Exit codes: 0 linearizable, 1 not linearizable, 2 bad input or usage, 3 unknown (a limit was
/// reached). With several files, the first of 1, 2, 3 that applies to any of them.
#[derive(Parser)]
#[command(name = "seriatim", version, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,

    #[command(flatten)]
    limits: limits::Limits,
}

#[derive(Subcommand)]
enum Command {
    Check(Asked<check::Arguments>),
    Convert(Asked<convert::Arguments>),
    Gen(Asked<generate::Arguments>),
    Merge(Asked<verdicts::Arguments>),
    Specs(Asked<specs::Arguments>),
    View(Asked<view::Arguments>),
    Verify(Asked<verify::Arguments>),
    Certify(Asked<certify::Arguments>),
    Algorithms(Asked<algorithms::List>),
    Fmt(Asked<algorithms::Format>),
    Show(Asked<algorithms::Show>),
    Watch(Asked<watch::Arguments>),
    Completions(Asked<manual::Completions>),
    Man(Asked<manual::Manual>),
    Map(Asked<map::Arguments>),
    Import(Asked<import::Arguments>),
}

impl Command {
    /// How it answers.
    fn form(&self) -> limits::Form {
        match self {
            Command::Check(arguments) => arguments.form(),
            Command::Verify(arguments) => arguments.form(),
            Command::Convert(_) | Command::Gen(_) | Command::Import(_) => limits::Form::Beside,
            _ => limits::Form::Text,
        }
    }
}

/// The outcome of a command, by its exit code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Exit {
    Holds = 0,
    Violated = 1,
    BadInput = 2,
    Unknown = 3,
}

impl Exit {
    /// The outcome for an answer.
    fn of(answer: &Answer) -> Exit {
        Exit::coded(answer.exit_code())
    }

    /// The outcome that has an exit code.
    fn coded(code: u8) -> Exit {
        match code {
            0 => Exit::Holds,
            1 => Exit::Violated,
            _ => Exit::Unknown,
        }
    }

    /// The exit of two things together: a violation outranks bad input, that an unknown.
    fn and(self, other: Exit) -> Exit {
        let rank = |exit| match exit {
            Exit::Holds => 0,
            Exit::Unknown => 1,
            Exit::BadInput => 2,
            Exit::Violated => 3,
        };
        if rank(self) >= rank(other) { self } else { other }
    }
}

/// Something that keeps a command from being carried out, said for the user.
struct Failure(String);

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Failure(error.to_string())
    }
}

/// Carries out a command line, whose first word is the name of the program, and gives the exit
/// code. Time is counted from `start`.
pub fn run(words: impl IntoIterator<Item = OsString>, start: Instant) -> u8 {
    let words: Vec<OsString> = words.into_iter().collect();
    let Arguments { command, limits } = plain::read(&words).unwrap_or_else(|| asked::parse(words));
    let exit = internal::guarded(|| {
        // Within: it adds to the hook that tells of defects.
        #[cfg(feature = "parquet")]
        seriatim::parquet::install();
        let outcome = limits
            .install(start, command.form())
            .and_then(|()| limits::within(|| carry_out(&command)).unwrap_or_else(limits::tell));
        outcome.unwrap_or_else(|Failure(message)| {
            output::remark(&format!("error: {message}"));
            Exit::BadInput
        })
    });
    exit as u8
}

fn carry_out(command: &Command) -> Result<Exit, Failure> {
    match command {
        Command::Check(arguments) => check::run(arguments),
        Command::Convert(arguments) => convert::run(arguments),
        Command::Gen(arguments) => generate::run(arguments),
        Command::Merge(arguments) => verdicts::run(arguments),
        Command::Specs(arguments) => specs::run(arguments),
        Command::Verify(arguments) => verify::run(arguments),
        Command::Certify(arguments) => certify::run(arguments),
        Command::Algorithms(arguments) => algorithms::list(arguments),
        Command::Fmt(arguments) => algorithms::format_files(arguments),
        Command::Show(arguments) => algorithms::show_steps(arguments),
        Command::View(arguments) => view::run(arguments),
        Command::Watch(arguments) => watch::run(arguments),
        Command::Completions(arguments) => manual::completions(arguments, Arguments::command()),
        Command::Map(arguments) => map::run(arguments),
        Command::Import(arguments) => import::run(arguments),
        Command::Man(arguments) => manual::manual(arguments, Arguments::command()),
    }
}
