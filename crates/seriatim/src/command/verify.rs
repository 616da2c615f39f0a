//! `seriatim verify`: is every run of an algorithm linearizable?

use super::amounts::{bytes, duration};
use super::input::constant;
use super::lists::{self, Lists};
use super::output::{Detail, remark, say, say_answer, write_history};
use super::source::Source;
use super::{Exit, Failure, portfolio, prove};
use clap::ValueEnum;
use seriatim::explore::{
    self, Counterexample, Limits, Mode, Options, Outcome, Reductions, Replay, Reviewed, Saved,
    SecondOpinion, Statistics, Verdict, ViolationKind, headline as headline_of,
};
use seriatim::history::Format;
use seriatim::lang::Program;
use seriatim::report::run::{self, Examined, headline};
use seriatim::spec::answer::Answer;
use seriatim::{ChosenReader, Failures, SpecChoice, check};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Say whether every run of an algorithm is linearizable
///
/// Without an engine named: looks for a run that goes wrong, then for a proof for any number of threads, and
/// says what is known: proved, violated with a run, or unknown with the reason and with what was covered.
/// An option that only one engine has asks that engine.
///
/// The engine explore takes every interleaving of some threads, each of which calls methods for ever. Bounds
/// that are not given come from the first `expect explore` line of the file. A violation comes with the
/// shortest run that shows it.
#[derive(clap::Args)]
pub struct Arguments {
    /// A .seri file, or a name of the library (`seriatim algorithms`)
    #[arg(value_name = "ALGORITHM")]
    algorithm: String,

    /// Who decides: explore (all runs of N threads within bounds), lists (these methods of a
    /// list-based set, on lists of any length) or prove (any number of threads, any heap)
    #[arg(long, value_enum)]
    engine: Option<Engine>,

    /// Write the proof to this file, for `seriatim certify`
    #[arg(long, value_name = "FILE")]
    pub certificate: Option<PathBuf>,

    #[command(flatten)]
    pub lists: Lists,

    /// The number of threads
    #[arg(long, value_name = "NUMBER")]
    threads: Option<u32>,

    /// The number of data values
    #[arg(long, value_name = "NUMBER")]
    values: Option<u32>,

    /// The number of keys
    #[arg(long, value_name = "NUMBER")]
    keys: Option<u32>,

    /// The most heap nodes alive at once
    #[arg(long, value_name = "NUMBER")]
    nodes: Option<u32>,

    /// The most nodes that the object may hold beyond those at the start
    #[arg(long, value_name = "NUMBER")]
    capacity: Option<u32>,

    /// The client of the file that calls the methods [default: any thread calls any method]
    #[arg(long, value_name = "NAME")]
    client: Option<String>,

    /// A constant of the file, as in K=4
    #[arg(long = "set", value_name = "NAME=NUMBER", value_parser = constant)]
    constants: Vec<(String, i32)>,

    /// Check the linearization points that the file annotates
    #[arg(long)]
    points: bool,

    /// Decide lock-freedom instead of linearizability
    #[arg(long, conflicts_with = "points")]
    progress: bool,

    /// Count states as PAT does: no reductions but what its models have built in
    #[arg(long)]
    compat: bool,

    /// Do without a reduction
    #[arg(long, value_enum, value_name = "REDUCTION")]
    without: Vec<Reduction>,

    /// Raise the bounds step by step until this time is over, and say what was covered
    #[arg(long, value_name = "TIME", value_parser = duration)]
    budget: Option<Duration>,

    /// Give up after this time
    #[arg(long, value_name = "TIME", value_parser = duration)]
    time: Option<Duration>,

    /// The memory for states
    #[arg(long, value_name = "BYTES", default_value = "8G", value_parser = bytes)]
    memory: usize,

    /// The number of workers that search [default: all cores]
    #[arg(long, value_name = "NUMBER")]
    jobs: Option<usize>,

    /// Write the history of a violation to this file, as JSON Lines
    #[arg(long, value_name = "FILE")]
    history: Option<PathBuf>,

    /// Write the run of a violation to this file, for --replay
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,

    /// Write the report as a page for a browser: the claims, the run with pictures of memory, the source
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Print the report as JSON
    #[arg(long)]
    json: bool,

    /// Write the claims as JUnit XML
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,

    /// Take the steps of a saved run once more
    #[arg(long, value_name = "FILE", conflicts_with_all = ["save", "html", "history"])]
    replay: Option<PathBuf>,

    /// Print the verdict only
    #[arg(long, short)]
    pub quiet: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Engine {
    Explore,
    Lists,
    Prove,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Reduction {
    DeadRegisters,
    DeadFields,
    Fusion,
    LockMovers,
    LockNesting,
    HeapSymmetry,
    ThreadSymmetry,
    ValueSymmetry,
    Retries,
    Frozen,
    Antichain,
}

/// What is asked about: the text, the program, and the constants that were overridden.
pub struct Question<'q> {
    /// The text.
    pub source: &'q Source,
    /// The program.
    pub program: &'q Program,
    /// The constants.
    pub constants: &'q BTreeMap<String, i32>,
}

/// Carries out `seriatim verify`.
pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let source = Source::find(&arguments.algorithm)?;
    if let Some(path) = &arguments.replay {
        return replay(&source, path);
    }
    let (options, mut constants) = starting_bounds(&source)?;
    constants.extend(arguments.constants.iter().cloned());
    let program = source.program(&constants)?;
    let options = chosen(arguments, options);
    let engine = arguments.chosen_engine();
    if arguments.certificate.is_some() && matches!(engine, Some(Engine::Explore | Engine::Lists)) {
        return Err(Failure("--certificate: only a proof has one (--engine prove)".to_owned()));
    }
    let question = Question { source: &source, program: &program, constants: &constants };
    match engine {
        Some(Engine::Lists) => {
            return lists::run(arguments, &question);
        }
        Some(Engine::Prove) => return prove::run(arguments, &question, options),
        None => return portfolio::run(arguments, &question, options),
        Some(Engine::Explore) => {}
    }
    match arguments.budget {
        Some(budget) => grow(arguments, &question, &options, budget),
        None => {
            let outcome = explore_once(arguments, &source, &program, &options)?;
            tell(arguments, &question, &outcome)
        }
    }
}

impl Arguments {
    /// How much is told.
    pub fn detail(&self) -> Detail {
        if self.quiet || self.json { Detail::Verdict } else { Detail::Claims }
    }

    /// The engine that is named, or the one that an option belongs to; none for all of them.
    fn chosen_engine(&self) -> Option<Engine> {
        let bounds = [self.threads, self.values, self.keys, self.nodes, self.capacity];
        let bounded = bounds.iter().any(Option::is_some) || self.client.is_some();
        let manner = self.points || self.progress || self.compat || !self.without.is_empty();
        let explores = bounded || manner || self.budget.is_some();
        let of_options = match (explores, self.lists.is_asked()) {
            (true, _) => Some(Engine::Explore),
            (false, true) => Some(Engine::Lists),
            (false, false) => None,
        };
        self.engine.or(of_options)
    }
}

/// The bounds that the file itself names first.
fn starting_bounds(source: &Source) -> Result<(Options, BTreeMap<String, i32>), Failure> {
    Ok(explore::starting_bounds(&source.program(&BTreeMap::new())?))
}

fn chosen(arguments: &Arguments, start: Options) -> Options {
    let mut reductions = if arguments.compat { Reductions::COMPAT } else { Reductions::ALL };
    for reduction in &arguments.without {
        let switch = match reduction {
            Reduction::DeadRegisters => &mut reductions.dead_registers,
            Reduction::DeadFields => &mut reductions.dead_fields,
            Reduction::Fusion => &mut reductions.fusion,
            Reduction::LockMovers => &mut reductions.lock_movers,
            Reduction::LockNesting => &mut reductions.lock_nesting,
            Reduction::HeapSymmetry => &mut reductions.heap_symmetry,
            Reduction::ThreadSymmetry => &mut reductions.thread_symmetry,
            Reduction::ValueSymmetry => &mut reductions.value_symmetry,
            Reduction::Retries => &mut reductions.retries,
            Reduction::Frozen => &mut reductions.frozen,
            Reduction::Antichain => &mut reductions.antichain,
        };
        *switch = false;
    }
    Options {
        threads: arguments.threads.unwrap_or(start.threads),
        values: arguments.values.unwrap_or(start.values),
        keys: arguments.keys.unwrap_or(start.keys),
        nodes: arguments.nodes.or(start.nodes),
        capacity: arguments.capacity.or(start.capacity),
        client: arguments.client.clone().or(start.client),
        mode: if arguments.compat { Mode::Compat } else { Mode::Refinement },
        reductions,
        limits: Limits { time: arguments.time, memory: arguments.memory, states: None },
        jobs: arguments.jobs.unwrap_or_else(cores),
        second_opinion: SecondOpinion::FULL,
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

/// Explores within bounds, as the arguments say.
pub fn explore_once(
    arguments: &Arguments,
    source: &Source,
    program: &Program,
    options: &Options,
) -> Result<Outcome, Failure> {
    let outcome = if arguments.progress {
        explore::run_progress(program, options)
    } else if arguments.points {
        explore::run_points(program, options)
    } else {
        let line = Line::new();
        let outcome = explore::run_with(program, options, &mut |statistics| line.show(statistics));
        line.clear();
        outcome
    };
    outcome.map_err(|diagnostic| source.complain(&diagnostic))
}

/// Raises the bounds in turn until the time is over, a run goes wrong, or memory runs out.
fn grow(
    arguments: &Arguments,
    question: &Question<'_>,
    options: &Options,
    budget: Duration,
) -> Result<Exit, Failure> {
    let line = Line::new();
    let growth = explore::grow(question.program, options, budget, &mut |s| line.show(s));
    line.clear();
    let growth = growth.map_err(|diagnostic| question.source.complain(&diagnostic))?;
    for outcome in growth.covered.iter().filter(|_| !arguments.quiet) {
        say(&headline("covered", &outcome.answer()))?;
    }
    let name = &question.source.name;
    match (growth.covered.last(), &growth.last) {
        (_, Some(last)) if matches!(last.verdict, Verdict::Violation(_)) => {
            tell(arguments, question, last)
        }
        (None, Some(last)) => tell(arguments, question, last),
        (Some(covered), last) => {
            let rest = match last {
                Some(open) => format!("not finished: {}", open.bounds),
                None => "there is nothing to raise".to_owned(),
            };
            say(&format!("{name}: {rest}\n"))?;
            tell(arguments, question, covered)
        }
        (None, None) => Ok(Exit::Unknown),
    }
}

/// Takes the steps of a saved run once more.
fn replay(source: &Source, path: &Path) -> Result<Exit, Failure> {
    let failed = |what: String| Failure(format!("{}: {what}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
    let saved = Saved::parse(&text)
        .map_err(|bad| failed(format!("line {}: expected {}", bad.line, bad.expected)))?;
    let program = source.program(&saved.consts)?;
    if saved.object != program.name {
        let (of, not) = (&saved.object, &program.name);
        return Err(failed(format!("it is a run of another algorithm: of `{of}`, not of `{not}`")));
    }
    let result = explore::replay(&program, &saved.options, &saved.moves)
        .map_err(|diagnostic| source.complain(&diagnostic))?;
    match result {
        Replay::Fails(counterexample) => {
            let shown = run::terminal::render(&counterexample.run(), &headline_of(&counterexample));
            say(&format!("{}: the run goes wrong\n\n{shown}", source.name))?;
            Ok(Exit::Violated)
        }
        Replay::Passes => {
            say(&format!("{}: the run is all right\n", source.name))?;
            Ok(Exit::Holds)
        }
        Replay::Stuck(number) => Err(failed(format!(
            "move {} of the run cannot be made: it was found for another form of the algorithm",
            number + 1
        ))),
    }
}

/// Prints the outcome of an exploration.
pub fn tell(
    arguments: &Arguments,
    question: &Question<'_>,
    outcome: &Outcome,
) -> Result<Exit, Failure> {
    tell_all(arguments, question, &outcome.answer(), Some(outcome))
}

/// Prints an answer, and the run of an exploration that contradicts one of its claims.
pub fn tell_all(
    arguments: &Arguments,
    question: &Question<'_>,
    answer: &Answer,
    outcome: Option<&Outcome>,
) -> Result<Exit, Failure> {
    report(arguments, question, answer)?;
    if let Some(outcome) = outcome.filter(|outcome| matches!(outcome.verdict, Verdict::Holds)) {
        remark(&reviewed(&outcome.statistics.reviewed));
    }
    if let Some(outcome) = outcome
        && let Verdict::Violation(counterexample) = &outcome.verdict
    {
        keep(arguments, question, outcome, counterexample)?;
        cross_check(arguments, question.program, counterexample)?;
    }
    Ok(Exit::of(answer))
}

/// What a second opinion is based on, as words.
fn reviewed(reviewed: &Reviewed) -> String {
    let Reviewed { runs, steps, compared, whole, time } = reviewed;
    let basis = match whole {
        Some(states) => format!("all {states} states without reductions"),
        None => format!("{runs} random runs without reductions"),
    };
    let seconds = time.as_secs_f64();
    format!("second opinion: {basis}, {steps} steps, {compared} states compared, {seconds:.2} s")
}

/// Prints what is known, in the form that was asked for, and writes the files that were.
pub fn report(
    arguments: &Arguments,
    question: &Question<'_>,
    answer: &Answer,
) -> Result<(), Failure> {
    let spec = question.program.spec.as_ref().map_or("", |spec| &spec.name);
    let (name, source) = (&question.source.name[..], &question.program.source[..]);
    let examined = Examined { name, spec, source, answer };
    if let Some(path) = &arguments.html {
        write_file(path, run::html::render(&examined))?;
    }
    if let Some(path) = &arguments.junit {
        write_file(path, run::junit::render(&examined))?;
    }
    if arguments.json {
        return say(&run::json::render(&examined));
    }
    say_answer(name, answer, arguments.detail())?;
    match examined.run() {
        Some((run, how)) if arguments.detail() == Detail::Claims => {
            say(&format!("\n{}", run::terminal::render(run, how)))
        }
        _ => Ok(()),
    }
}

fn write_file(path: &Path, text: String) -> Result<(), Failure> {
    let failed = |error| Failure(format!("{}: cannot write: {error}", path.display()));
    std::fs::write(path, text).map_err(failed)?;
    remark(&format!("the report is in {}", path.display()));
    Ok(())
}

/// Writes the run of a violation to the files that were asked for.
fn keep(
    arguments: &Arguments,
    question: &Question<'_>,
    outcome: &Outcome,
    counterexample: &Counterexample,
) -> Result<(), Failure> {
    let name = &question.source.name;
    if let Some(path) = &arguments.save {
        let constants = question.constants;
        let saved = Saved::of(question.program, &outcome.options, constants, counterexample);
        let failed = |error| Failure(format!("{}: cannot write: {error}", path.display()));
        std::fs::write(path, saved.text()).map_err(failed)?;
        remark(&format!("the run is in {}", path.display()));
        remark(&format!("replay it with: seriatim verify {name} --replay {}", path.display()));
    }
    Ok(())
}

/// Has the history of a violation checked by the engine for recorded histories, and writes it.
fn cross_check(
    arguments: &Arguments,
    program: &Program,
    counterexample: &Counterexample,
) -> Result<(), Failure> {
    let mut history = counterexample.run().history("counterexample")?;
    if let Some(path) = &arguments.history {
        write_history(&history, Format::JsonEvents, Some(path))?;
        remark(&format!("the history is in {}", path.display()));
    }
    let spec = program.spec.as_ref().map(|spec| spec.name.replace('_', "-"));
    let choice = spec.and_then(|spec| SpecChoice::parse(&spec).ok());
    if let (ViolationKind::NotLinearizable, Some(choice)) = (counterexample.kind, choice) {
        let reader = ChosenReader { choice, failures: Failures::Drop };
        if let Ok(checked) = check(&mut history, &reader, &seriatim::Options::default()) {
            remark(&format!("seriatim check says of this history: {}", checked.verdict.word()));
        }
    }
    Ok(())
}

/// The line that tells how a long exploration goes, on a terminal.
struct Line {
    is_on: bool,
    start: Instant,
    /// The most states that waited so far: once fewer than half of them wait, an estimate makes sense.
    most: Cell<u64>,
}

impl Line {
    fn new() -> Self {
        Line { is_on: std::io::stderr().is_terminal(), start: Instant::now(), most: Cell::new(0) }
    }

    fn show(&self, statistics: &Statistics) {
        let seconds = self.start.elapsed().as_secs_f64();
        if !self.is_on || seconds < 1.0 {
            return;
        }
        let Statistics { kept, depth, state_bytes, set_bytes, memo_bytes, waiting, .. } =
            statistics;
        let rate = *kept as f64 / seconds / 1000.0;
        let memory = (state_bytes + set_bytes + memo_bytes) >> 20;
        self.most.set(self.most.get().max(*waiting));
        let falling = *waiting * 2 < self.most.get();
        let estimate = match falling {
            true => format!(", about {:.0} s to go", *waiting as f64 / rate / 1000.0),
            false => String::new(),
        };
        eprint!(
            "\r\x1b[2K{seconds:.0} s: {kept} states ({rate:.0}k/s), {waiting} waiting, depth {depth}, \
             {memory} MiB{estimate}"
        );
    }

    fn clear(&self) {
        if self.is_on {
            eprint!("\r\x1b[2K");
        }
    }
}
