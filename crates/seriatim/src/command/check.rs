//! `seriatim check`: is this recorded history linearizable?

use super::amounts::positive;
use super::output::{Rendered, remark, say, say_rendered, write_bytes};
use super::progress::Company;
use super::question::{Done, Question, Share};
use super::scale::{self, Scale};
use super::transactions::bank::Invariant;
use super::{Exit, Failure, beside, limits, order, page, transactions};
use clap::ValueEnum;
use seriatim::Verdict;
use seriatim::history::path_in_line;
use seriatim::levels;
use seriatim::limits::{Cancel, Reason, Stopped, stopped};
use seriatim::monitor::Detail;
use seriatim::question::ChosenBy;
use seriatim::report::junit::{self, Case};
use seriatim::report::terminal::{Colour, Glyphs, Style};
use seriatim::report::{json as json_report, terminal};
use seriatim::transactions::Glyphs as LevelGlyphs;
use std::io::IsTerminal;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use terminal_size::terminal_size;

/// Decide whether recorded histories are linearizable
///
/// For a violation, the report draws the smallest part of the history that shows it and says why
/// every order fails. For a linearizable history, the order that was found is replayed by code that
/// is independent of all engines before anything is printed.
#[derive(clap::Args, Default)]
#[cfg_attr(test, derive(Debug))]
pub struct Arguments {
    #[command(flatten)]
    pub(super) question: Question,

    #[command(flatten)]
    scale: Scale,

    /// Ask whether histories of transactions satisfy isolation levels (separated by commas):
    /// strict-serializable, serializable, snapshot-isolation, prefix, causal, read-atomic,
    /// read-committed, read-your-writes, linearizable-per-key, …, or all
    #[arg(long, value_name = "LEVEL", value_parser = levels::asked)]
    level: Option<levels::Asked>,

    /// What an order of the operations has to respect: `process` asks for sequential consistency
    #[arg(long, value_enum, default_value_t, conflicts_with = "level")]
    order: order::Respects,

    /// Print the report as JSON, one line per history
    #[arg(long, conflicts_with = "quiet")]
    pub(super) json: bool,

    /// Write the report on a history as a web page
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Write the results as JUnit XML, for CI
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,

    /// Print one line per history
    #[arg(long, short)]
    pub(super) quiet: bool,

    /// Colours in the report
    #[arg(long, value_enum, default_value_t)]
    color: When,

    /// Draw with ASCII characters only
    #[arg(long)]
    ascii: bool,

    /// The width of the report in columns [default: that of the terminal, or 100]
    #[arg(long, value_name = "COLUMNS", value_parser = positive)]
    width: Option<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
#[cfg_attr(test, derive(Debug))]
enum When {
    /// If the output is a terminal
    #[default]
    Auto,
    Always,
    Never,
}

/// The width of a report that does not go to a terminal.
const USUAL_WIDTH: usize = 100;

/// The answer to a log, if there was time and memory for one.
type Decided = Result<Result<Done, Failure>, Stopped>;

/// What became of a file.
enum Outcome {
    Checked(Box<Done>),
    Unreadable { source: String, problem: String },
}

impl Outcome {
    /// A log that was left before there was a verdict.
    fn stopped(source: String, stopped: Stopped) -> Result<Outcome, Failure> {
        limits::tell_of(&source, stopped)?;
        let problem = limits::how_far(stopped);
        Ok(Outcome::Unreadable { source, problem })
    }
}

/// Carries out `seriatim check`.
pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let mut exit = Exit::Holds;
    let mut outcomes = Vec::new();
    let paths = arguments.question.input.paths()?;
    if let Some(asked) = &arguments.level {
        return arguments.ask_level(asked, &paths);
    }
    let bank = arguments.question.spec().and_then(Invariant::named);
    if let Some(invariant) = bank {
        return arguments.ask_bank(invariant?, &paths);
    }
    if arguments.order != order::Respects::RealTime {
        return arguments.ask_order(&paths);
    }
    if arguments.html.is_some() && paths.len() > 1 {
        return Err(Failure("--html takes one history; there are several".to_owned()));
    }
    if let Some(file) = &arguments.scale.verdicts {
        arguments.refuse("--verdicts", &["--json", "--html", "--junit"])?;
        if arguments.question.is_mapped() || arguments.question.needs_all(&paths) {
            let reason = "--verdicts goes neither with --map nor with --skew; `seriatim convert --map` writes a log that it takes";
            return Err(Failure(reason.to_owned()));
        }
        if paths.len() > 1 && !arguments.scale.one_log {
            let reason = "--verdicts takes one log; if the files are one, say so with --one-log";
            return Err(Failure(reason.to_owned()));
        }
        limits::prepare(&source_of(&paths));
        return scale::with_verdicts(&arguments.question, &arguments.scale, &paths, file);
    }
    let is_stdin = paths == [Path::new("-")];
    let may_spill = arguments.scale.may_spill(&paths) || is_stdin;
    let is_named = arguments.question.spec_beforehand().is_some();
    let logs = arguments.logs(paths);
    if !is_named && may_spill && !logs.iter().any(|log| arguments.question.needs_all(log)) {
        limits::note_that_spec_helps();
    }
    arguments.decide_all(&logs, |log, decided| {
        let source = source_of(log);
        let outcome = match decided {
            Err(limit) => {
                exit = exit.and(Exit::Unknown);
                Outcome::stopped(source, limit)?
            }
            Ok(Ok(done)) => {
                exit = exit.and(done.exit());
                limits::prepare_verdict(&source, done.answered.checked.verdict.word(), exit);
                Cancel::undisturbed(|| arguments.show(&done))?;
                Outcome::Checked(Box::new(done))
            }
            Ok(Err(Failure(problem))) => {
                remark(&format!("error: {problem}"));
                exit = exit.and(Exit::BadInput);
                Outcome::Unreadable { source, problem }
            }
        };
        limits::note(exit);
        if arguments.junit.is_some() {
            outcomes.push(outcome);
        }
        Ok(())
    })?;
    if let Some(path) = &arguments.junit {
        write_bytes(path, junit::render(&cases(&outcomes)))?;
    }
    Ok(exit)
}

impl Arguments {
    /// How it answers.
    pub fn form(&self) -> limits::Form {
        if self.json { limits::Form::Json } else { limits::Form::Text }
    }

    /// Refuses options that say nothing where this is asked: whoever gives one waits for what it does.
    fn refuse(&self, beside: &str, options: &[&str]) -> Result<(), Failure> {
        let given = [
            ("--verdicts", self.scale.verdicts.is_some()),
            ("--one-log", self.scale.one_log),
            ("--format", self.question.input.format.is_some()),
            ("--skew", self.question.recorded.skew.is_some()),
            ("--order", self.order != order::Respects::RealTime),
            ("--json", self.json),
            ("--html", self.html.is_some()),
            ("--junit", self.junit.is_some()),
        ];
        let is_refused = |(name, is_given): &(&str, bool)| *is_given && options.contains(name);
        match given.into_iter().find(is_refused) {
            Some((name, _)) => Err(Failure(format!("{name} does not go with {beside}"))),
            None => Ok(()),
        }
    }

    /// Asks about the invariant of a bank.
    fn ask_bank(&self, invariant: Invariant, paths: &[PathBuf]) -> Result<Exit, Failure> {
        let options = ["--verdicts", "--one-log", "--skew", "--order", "--html"];
        self.refuse("--spec bank", &options)?;
        let print = match (self.json, self.quiet) {
            (true, _) => order::Print::Json,
            (_, true) => order::Print::Line,
            _ => order::Print::Report,
        };
        invariant.check(&self.question.input, paths, (print, self.junit.as_deref()))
    }

    /// Asks about an isolation level instead of linearizability.
    fn ask_level(&self, asked: &levels::Asked, paths: &[PathBuf]) -> Result<Exit, Failure> {
        self.refuse("--level", &["--verdicts", "--one-log", "--format", "--skew"])?;
        let style = style(self);
        let print = match (self.json, self.quiet, style.glyphs) {
            (true, _, _) => transactions::Print::Json,
            (_, true, _) => transactions::Print::Line,
            (_, _, Glyphs::Ascii) => transactions::Print::Report(LevelGlyphs::Ascii),
            (_, _, Glyphs::Unicode) => transactions::Print::Report(LevelGlyphs::Unicode),
        };
        let spec = self.question.spec();
        let time = self.question.options().time;
        let request = transactions::Request {
            asked,
            spec,
            time,
            input: &self.question.input,
            print,
            html: self.html.as_deref(),
            junit: self.junit.as_deref(),
        };
        transactions::run(&request, paths)
    }

    /// Asks for an order that need not respect real time.
    fn ask_order(&self, paths: &[PathBuf]) -> Result<Exit, Failure> {
        self.refuse("--order", &["--verdicts", "--one-log", "--skew"])?;
        if self.html.is_some() && paths.len() > 1 {
            return Err(Failure("--html takes one history; there are several".to_owned()));
        }
        let print = match (self.json, self.quiet) {
            (true, _) => order::Print::Json,
            (_, true) => order::Print::Line,
            _ => order::Print::Report,
        };
        let request = order::Request {
            question: &self.question,
            respects: self.order,
            print,
            html: self.html.as_deref(),
            junit: self.junit.as_deref(),
        };
        order::run(&request, paths)
    }

    /// Shows what was found, wherever that is wanted.
    fn show(&self, done: &Done) -> Result<(), Failure> {
        print(self, done)?;
        match &self.html {
            Some(path) => page::write(done, path),
            None => Ok(()),
        }
    }

    /// The files of each log.
    fn logs(&self, paths: Vec<PathBuf>) -> Vec<Vec<PathBuf>> {
        match self.scale.one_log {
            true => vec![paths],
            false => paths.into_iter().map(|path| vec![path]).collect(),
        }
    }

    /// One line per history needs no counterexample, unless another report shows it.
    fn detail(&self) -> Detail {
        match self.quiet && self.html.is_none() && self.junit.is_none() {
            true => Detail::Plain,
            false => Detail::Minimal,
        }
    }

    /// Decides all logs and tells what became of them, in order. Small ones that stand side by side
    /// are answered at the same time.
    fn decide_all(
        &self,
        logs: &[Vec<PathBuf>],
        mut tell: impl FnMut(&[PathBuf], Decided) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let threads = self.question.options().threads;
        let is_small = |log: &Vec<PathBuf>| self.is_small_beside(log, threads);
        for group in logs.chunk_by(|a, b| is_small(a) && is_small(b)) {
            let workers = threads.min(group.len());
            let Some(workers) = NonZero::new(workers).filter(|workers| workers.get() > 1) else {
                for log in group {
                    limits::prepare(&source_of(log));
                    tell(log, self.decided(log))?;
                }
                continue;
            };
            let each = Share { threads: Some(threads / workers), company: Company::Others };
            let work = beside::Work {
                beside: |place: usize| {
                    let answer = || self.question.answer(&group[place], self.detail(), each);
                    let answer = Cancel::of_process().during(answer);
                    (stopped() != Some(Reason::Memory)).then_some(answer)
                },
                alone: |place: usize| self.decided(&group[place]),
                awaited: |place: usize| limits::prepare(&source_of(&group[place])),
            };
            beside::answer(group.len(), workers, &work, |place, decided| {
                tell(&group[place], decided)
            })?;
        }
        Ok(())
    }

    /// Whether a log may be answered while others are: it can be read again, and as many as there
    /// are threads fit in memory.
    fn is_small_beside(&self, log: &[PathBuf], threads: usize) -> bool {
        let [path] = log else { return false };
        let memory = self.question.memory() / threads;
        let is_read_as_it_is = !self.question.is_mapped() && !self.question.needs_all(log);
        is_read_as_it_is && threads > 1 && self.scale.is_small(path, memory)
    }

    /// The answer to a log. One that turns out not to fit in memory is checked from disk, if its
    /// specification is known: then it never has to be in memory as a whole.
    fn decided(&self, log: &[PathBuf]) -> Decided {
        let goes_to_disk = !self.question.needs_all(log);
        let is_named = self.question.spec_beforehand().is_some();
        if log == [Path::new("-")] && is_named && goes_to_disk {
            self.scale.keep_stdin();
        }
        let answer = limits::within(|| self.answer(log));
        let is_full = match &answer {
            Err(Stopped(reason)) => *reason == Reason::Memory,
            Ok(Ok(done)) => done.spilled.is_none() && done.is_without_memory(),
            Ok(Err(_)) => false,
        };
        if !is_full || !goes_to_disk || !self.scale.may_spill(log) {
            return answer;
        }
        if limits::within(|| scale::is_specified(&self.question, log)) != Ok(true) {
            return answer;
        }
        drop(answer);
        limits::within(|| scale::answer(&self.question, &self.scale, log))
    }

    fn is_spilled(&self, path: &Path) -> bool {
        self.scale.is_spilled(path, self.question.spec_beforehand(), self.question.memory())
    }

    fn answer(&self, log: &[PathBuf]) -> Result<Done, Failure> {
        match log {
            _ if self.question.needs_all(log) => {
                self.question.answer(log, self.detail(), Share::ALL)
            }
            [path] if !self.is_spilled(path) => {
                self.question.answer(log, self.detail(), Share::ALL)
            }
            log => scale::answer(&self.question, &self.scale, log),
        }
    }
}

/// The name of a log, of one file or several, in messages.
pub(super) fn source_of(log: &[PathBuf]) -> String {
    log.iter().map(|path| path_in_line(path)).collect::<Vec<_>>().join(", ")
}

fn cases(outcomes: &[Outcome]) -> Vec<Case<'_>> {
    let cases = outcomes.iter().map(|outcome| match outcome {
        Outcome::Checked(done) => Case::Checked(Box::new(done.answered.report(0))),
        Outcome::Unreadable { source, problem } => Case::Unreadable { source, problem },
    });
    cases.collect()
}

fn print(arguments: &Arguments, done: &Done) -> Result<(), Failure> {
    if arguments.quiet {
        return say_in_a_line(done);
    }
    let report = || terminal::render(&done.answered.report(0), &style(arguments));
    match (arguments.json, &done.spilled) {
        (true, None) => say_rendered(&Rendered(json_report::render(&done.answered.report(0)))),
        (true, Some(spilled)) => {
            say_rendered(&Rendered(spilled.json(&json_report::render(&done.answered.report(0)))))
        }
        (false, None) => say_rendered(&Rendered(report())),
        (false, Some(spilled)) => {
            let is_drawn = spilled.violations > 0 && spilled.sentence.is_none();
            let drawing = if is_drawn { format!("\n{}", report()) } else { String::new() };
            warn(done);
            say(&spilled.text(done))?;
            say_rendered(&Rendered(drawing))
        }
    }
}

fn warn(done: &Done) {
    for warning in &done.answered.warnings {
        remark(&format!("warning: {}: {warning}", done.source()));
    }
}

fn say_in_a_line(done: &Done) -> Result<(), Failure> {
    let checked = &done.answered.checked;
    warn(done);
    let limit = match &checked.verdict {
        Verdict::Unknown(unknown) => format!("; {}", unknown.limit),
        _ => String::new(),
    };
    let guessed = match done.answered.by {
        ChosenBy::Name => String::new(),
        ChosenBy::Agreement => format!(" as {}", done.answered.name),
    };
    let (word, number, source) = (checked.verdict.word(), done.operations(), done.source());
    say(&format!("{source}: {word}{guessed} ({number} operations{limit})\n"))
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
