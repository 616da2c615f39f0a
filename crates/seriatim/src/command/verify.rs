//! `seriatim verify`: is every run of an algorithm linearizable?

use super::amounts::{duration, threads};
use super::input::{constant, text_of};
use super::limits;
use super::lists::Lists;
use super::orderings;
use super::output::{Detail, remark, say, write_and_tell, write_history};
use super::source::Source;
use super::{Exit, Failure};
use clap::ValueEnum;
use seriatim::explore::weak::Wanted;
use seriatim::explore::{
    self, Counterexample, Growth, Guarantee, Limits, MemoryModel, Mode, Options, Outcome,
    Reductions, Replay, Reviewed, Saved, SecondOpinion, Statistics, Synchronise, Verdict,
    ViolationKind, headline as headline_of,
};
use seriatim::history::{Format, path_in_line};
use seriatim::lang::{Program, Span};
use seriatim::lists;
use seriatim::question::judged;
use seriatim::report::run::compositions::{Decided, Finding, one, table};
use seriatim::report::run::{self, Examined, headline};
use seriatim::report::terminal::Style;
use seriatim::spec::answer::Answer;
use seriatim::verify::{self, Engine, Verified};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Decide whether every run of an algorithm is linearizable
///
/// If no engine is named, looks for an incorrect run and for a proof for any number of threads at
/// the same time. The answer is proved, violated (with a run), or unknown (with the reason and with
/// what was covered). An option that only one engine understands selects that engine.
///
/// The engine explore examines every interleaving of some threads, each of which calls methods for
/// ever. Bounds that are not given come from the first `expect explore` line of the file. A
/// violation is shown with a shortest run that leads to it.
#[derive(clap::Args)]
pub struct Arguments {
    /// A .seri file, or the name of an algorithm in the library (`seriatim algorithms`)
    #[arg(value_name = "ALGORITHM")]
    algorithm: String,

    /// Which engine decides: explore (all runs of N threads within bounds), lists (some methods of
    /// a list-based set, on lists of any length) or prove (any number of threads, any heap)
    #[arg(long, value_enum)]
    engine: Option<EngineName>,

    /// Write the proof to this file, for `seriatim certify`
    #[arg(long, value_name = "FILE")]
    certificate: Option<PathBuf>,

    #[command(flatten)]
    lists: Lists,

    /// The number of threads
    #[arg(long, value_name = "NUMBER")]
    threads: Option<u32>,

    /// The number of data values
    #[arg(long, value_name = "NUMBER")]
    values: Option<u32>,

    /// The number of keys
    #[arg(long, value_name = "NUMBER")]
    keys: Option<u32>,

    /// The maximum number of heap nodes alive at once
    #[arg(long, value_name = "NUMBER")]
    nodes: Option<u32>,

    /// The maximum number of nodes that the object may hold in addition to those at the start
    #[arg(long, value_name = "NUMBER")]
    capacity: Option<u32>,

    /// The client in the file that calls the methods [default: any thread calls any method]
    #[arg(long, value_name = "NAME")]
    client: Option<String>,

    /// The memory that the threads share: sc (all see the same), tso (x86) or rc20 (C++20 and Rust
    /// without load buffering) [default: sc, or rc20 if the file asks for weaker orderings]
    #[arg(long, value_name = "MODEL", value_parser = model)]
    model: Option<MemoryModel>,

    /// On weak memory: the maximum number of operations per thread; happens-before is then exact
    #[arg(long, value_name = "NUMBER")]
    operations: Option<u32>,

    /// On weak memory, with --operations: what clients synchronise between their calls: nothing,
    /// everything or anything (all clients) [default: nothing]
    #[arg(long, value_name = "WHAT", value_parser = synchronised)]
    synchronise: Option<Synchronise>,

    /// On weak memory: the maximum number of values of a word that threads can still see
    #[arg(long, value_name = "NUMBER")]
    lag: Option<u32>,

    /// Say for each ordering in the file whether it is needed on rc20 and what goes wrong with a
    /// weaker one, and give one minimum for all of them together
    #[arg(long, conflicts_with_all = [
        "junit", "save", "replay", "history", "budget", "points", "progress", "model",
    ])]
    weaken: bool,

    /// With --weaken: look for every choice of orderings that holds and of which none can be
    /// weaker, not for one
    #[arg(long, requires = "weaken")]
    all_minimal: bool,

    /// Set a constant of the file, as in K=4
    #[arg(long = "set", value_name = "NAME=NUMBER", value_parser = constant)]
    constants: Vec<(String, i32)>,

    /// Check the linearization points annotated in the file
    #[arg(long)]
    points: bool,

    /// Decide a guarantee of progress instead of linearizability: lock-free, obstruction-free,
    /// livelock-free or starvation-free (the last two under weak fairness) [default: lock-free]
    #[arg(long, value_name = "GUARANTEE", value_parser = guarantee, conflicts_with = "points",
        num_args = 0..=1, require_equals = true, default_missing_value = "lock-free")]
    progress: Option<Guarantee>,

    /// Count states as PAT does, without reductions
    #[arg(long)]
    compat: bool,

    /// Switch off a reduction
    #[arg(long, value_enum, value_name = "REDUCTION")]
    without: Vec<Reduction>,

    /// Hunt for a wrong run with 8 bytes of memory per state (hash compaction): what is found is
    /// real, but a state may be missed, so the answer is never that all runs are right
    #[arg(long, conflicts_with_all = ["points", "progress", "compat", "budget", "weaken"])]
    hash_compaction: bool,

    /// Raise the bounds step by step until this time is up, and report what was covered
    #[arg(long, value_name = "TIME", value_parser = duration)]
    budget: Option<Duration>,

    /// The number of workers [default: all cores]
    #[arg(long, value_name = "NUMBER", value_parser = threads)]
    jobs: Option<usize>,

    /// Write the history of a violation to this file, as JSON Lines
    #[arg(long, value_name = "FILE")]
    history: Option<PathBuf>,

    /// Save the run of a violation to this file, for --replay
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,

    /// Write the report as a web page: the claims, the run with drawings of memory, the source
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Print the report as JSON
    #[arg(long)]
    json: bool,

    /// Write the claims as JUnit XML
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,

    /// Repeat the steps of a saved run
    #[arg(long, value_name = "FILE", conflicts_with_all = ["save", "html", "history"])]
    replay: Option<PathBuf>,

    /// Print only the verdict
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum EngineName {
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
    #[value(alias = "retries")]
    PureIterations,
    #[value(alias = "frozen")]
    FinalFields,
    Antichain,
}

/// What is asked about: the text, the program, and the constants that were overridden.
struct Question<'q> {
    source: &'q Source,
    program: &'q Program,
    constants: &'q BTreeMap<String, i32>,
}

/// Carries out `seriatim verify`.
pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    limits::prepare(&arguments.algorithm);
    let source = Source::find(&arguments.algorithm)?;
    if let Some(path) = &arguments.replay {
        return replay(&source, path);
    }
    let (start, mut constants) = explore::starting_bounds(&source.program(&BTreeMap::new())?);
    constants.extend(arguments.constants.iter().cloned());
    let program = source.program(&constants)?;
    if arguments.weaken {
        let asked = orderings::Asked {
            wanted: if arguments.all_minimal { Wanted::All } else { Wanted::One },
            is_json: arguments.json,
            page: arguments.html.as_deref(),
        };
        return orderings::run(&asked, &source, &program, &arguments.bounds(start));
    }
    let engine = arguments.engine(&program)?;
    if arguments.certificate.is_some() && !matches!(engine, Engine::Auto | Engine::Prove) {
        return Err(Failure("--certificate: only a proof has one (--engine prove)".to_owned()));
    }
    let line = Line::new();
    let observer = |statistics: &Statistics| line.show(statistics);
    let bounds = arguments.bounds(start);
    let options = verify::Options { engine, bounds, observer: Some(&observer) };
    let verified = verify::verify(&program, &options);
    line.clear();
    let verified = verified.map_err(|error| refused(&source, &error))?;
    let question = Question { source: &source, program: &program, constants: &constants };
    tell(arguments, &question, &verified)
}

/// Why nothing is decided; a refusal that is about no place shows none.
fn refused(source: &Source, error: &verify::Error) -> Failure {
    match error {
        verify::Error::Program(diagnostic) => source.complain(diagnostic),
        verify::Error::NoList(refusal) if refusal.span != Span::default() => {
            source.complain(&refusal.diagnostic())
        }
        _ => Failure(error.to_string()),
    }
}

impl Arguments {
    /// How it answers.
    pub fn form(&self) -> limits::Form {
        if self.json { limits::Form::Json } else { limits::Form::Text }
    }

    /// How much is told.
    fn detail(&self) -> Detail {
        if self.quiet || self.json { Detail::Verdict } else { Detail::Claims }
    }

    /// The command that shows the run again: that replays it, where it is saved; else this one,
    /// which finds a shortest run again.
    fn again(&self, name: &str) -> String {
        match &self.save {
            Some(path) => {
                let words = ["seriatim", "verify", name, "--replay", &path.to_string_lossy()];
                words.map(quoted).join(" ")
            }
            None => {
                let words = std::env::args().skip(1).map(|word| quoted(&word));
                ["seriatim".to_owned()].into_iter().chain(words).collect::<Vec<_>>().join(" ")
            }
        }
    }

    /// The engine that is named, or the one that an option belongs to; else all of them.
    fn engine(&self, program: &Program) -> Result<Engine, Failure> {
        let bounds = [self.threads, self.values, self.keys, self.nodes, self.capacity];
        let weak = self.model.is_some() || self.operations.is_some() || self.lag.is_some();
        let weak = weak || self.synchronise.is_some();
        let bounded = bounds.iter().any(Option::is_some) || self.client.is_some() || weak;
        let manner =
            self.points || self.progress.is_some() || self.compat || !self.without.is_empty();
        let explores = bounded || manner || self.budget.is_some() || self.hash_compaction;
        Ok(match (self.engine, explores, self.lists.is_asked()) {
            (Some(EngineName::Explore), ..) | (None, true, _) => {
                Engine::Explore { budget: self.budget }
            }
            (Some(EngineName::Lists), ..) | (None, false, true) => {
                Engine::Lists(self.lists.question(program)?)
            }
            (Some(EngineName::Prove), ..) => Engine::Prove,
            (None, false, false) => Engine::Auto,
        })
    }

    /// The bounds that are given, and those of the file for the others.
    fn bounds(&self, start: Options) -> Options {
        let mut reductions = if self.compat { Reductions::COMPAT } else { Reductions::ALL };
        self.without.iter().for_each(|reduction| *reduction.switch(&mut reductions) = false);
        let mode = match (self.progress, self.points, self.compat) {
            (Some(guarantee), ..) => Mode::Progress(guarantee),
            (_, true, _) => Mode::Points,
            (_, _, true) => Mode::Compat,
            _ => Mode::Refinement,
        };
        Options {
            threads: self.threads.unwrap_or(start.threads),
            values: self.values.unwrap_or(start.values),
            keys: self.keys.unwrap_or(start.keys),
            nodes: self.nodes.or(start.nodes),
            capacity: self.capacity.or(start.capacity),
            client: self.client.clone().or(start.client),
            memory: self.model.or(start.memory),
            operations: self.operations.or(start.operations),
            synchronise: self.synchronise.or(start.synchronise),
            lag: self.lag.or(start.lag),
            mode,
            reductions,
            hash_compaction: self.hash_compaction,
            limits: Limits { time: limits::time_left(), memory: limits::memory(), states: None },
            jobs: self.jobs.unwrap_or_else(cores),
            second_opinion: SecondOpinion::FULL,
        }
    }
}

impl Reduction {
    /// The switch of the reduction.
    fn switch(self, reductions: &mut Reductions) -> &mut bool {
        match self {
            Reduction::DeadRegisters => &mut reductions.dead_registers,
            Reduction::DeadFields => &mut reductions.dead_fields,
            Reduction::Fusion => &mut reductions.fusion,
            Reduction::LockMovers => &mut reductions.lock_movers,
            Reduction::LockNesting => &mut reductions.lock_nesting,
            Reduction::HeapSymmetry => &mut reductions.heap_symmetry,
            Reduction::ThreadSymmetry => &mut reductions.thread_symmetry,
            Reduction::ValueSymmetry => &mut reductions.value_symmetry,
            Reduction::PureIterations => &mut reductions.pure_iterations,
            Reduction::FinalFields => &mut reductions.final_fields,
            Reduction::Antichain => &mut reductions.antichain,
        }
    }
}

/// A guarantee of progress by its name.
fn guarantee(name: &str) -> Result<Guarantee, String> {
    let names = "lock-free, obstruction-free, livelock-free or starvation-free";
    Guarantee::named(name).ok_or_else(|| names.to_owned())
}

/// A memory model by its name.
fn model(name: &str) -> Result<MemoryModel, String> {
    MemoryModel::named(name).ok_or_else(|| "sc, tso or rc20".to_owned())
}

/// What clients synchronise.
fn synchronised(what: &str) -> Result<Synchronise, String> {
    Synchronise::named(what).ok_or_else(|| "nothing, everything or anything".to_owned())
}

/// A word as a shell takes it, on one line.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./=:,+@%".contains(c);
    if word.chars().any(char::is_control) {
        let escaped = |c: char| match c {
            '\\' | '\'' => format!("\\{c}"),
            _ if c.is_control() => format!("\\u{:04x}", u32::from(c)),
            _ => c.to_string(),
        };
        return format!("$'{}'", word.chars().map(escaped).collect::<String>());
    }
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

/// Takes the steps of a saved run once more.
fn replay(source: &Source, path: &Path) -> Result<Exit, Failure> {
    let failed = |what: String| Failure(format!("{}: {what}", path_in_line(path)));
    let text = text_of(path)?;
    let saved = Saved::parse(&text)
        .map_err(|bad| failed(format!("line {}: expected {}", bad.line, bad.expected)))?;
    let program = source.program(&saved.consts)?;
    if saved.object != program.name {
        let (of, not) = (&saved.object, &program.name);
        return Err(failed(format!("it is a run of another algorithm: of `{of}`, not of `{not}`")));
    }
    let result = saved.replay(&program).map_err(|diagnostic| source.complain(&diagnostic))?;
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

/// Prints what is known, and writes the files that were asked for.
fn tell(
    arguments: &Arguments,
    question: &Question<'_>,
    verified: &Verified,
) -> Result<Exit, Failure> {
    if let (Some(path), Some(certificate)) = (&arguments.certificate, &verified.certificate) {
        write_and_tell(path, certificate, "certificate")?;
    }
    let claims = arguments.detail() == Detail::Claims;
    if let Some(growth) = verified.growth.as_ref().filter(|_| claims) {
        tell_growth(question, growth)?;
    }
    let found = verified.explored.as_ref().and_then(violation);
    let recorded = verified.recorded(question.program);
    let judged = recorded.as_ref().map(judged);
    let replay = arguments.again(&question.source.name);
    let mut examined = question.examined(&verified.answer);
    examined.judged = judged.as_ref();
    examined.stuck = verified.stuck.as_deref();
    examined.replay = Some(&*replay).filter(|_| examined.run().is_some());
    match &verified.compositions[..] {
        [_, _, ..] if !arguments.json => {
            write_reports(arguments, &examined)?;
            let decided: Vec<Decided> = verified.compositions.iter().map(decided).collect();
            say(&table(&decided))?;
        }
        compositions => {
            report(arguments, &examined)?;
            if let [only] = compositions
                && claims
            {
                say(&one(&decided(only)))?;
            }
        }
    }
    if let Some(outcome) = &verified.explored {
        tell_exploration(arguments, question, outcome)?;
    }
    // Engine and monitors share nothing: whoever reads this should see them agree.
    let is_shown = found.is_some() || verified.compositions.len() == 1;
    let is_about_order = found.is_none_or(|found| found.kind == ViolationKind::NotLinearizable);
    if let Some(verdict) = recorded.map(|recorded| recorded.verdict)
        && is_shown
        && is_about_order
    {
        remark(&format!("`seriatim check` on this history: {}", verdict.word()));
    }
    Ok(Exit::of(&verified.answer))
}

/// What was decided of a composition, for the report.
fn decided(outcome: &lists::Outcome) -> Decided {
    let finding = |verdict: &lists::Verdict| Finding {
        word: verdict.word(),
        why: match verdict {
            lists::Verdict::Unknown(reason) => Some(reason.text()),
            _ => None,
        },
    };
    Decided {
        composition: outcome.composition.to_string(),
        elements: finding(&outcome.elements),
        list: outcome.list.as_ref().map(finding),
        states: outcome.states,
        steps: outcome.transitions,
        cases: outcome.cases,
    }
}

/// Prints what growing bounds covered.
fn tell_growth(question: &Question<'_>, growth: &Growth) -> Result<(), Failure> {
    for outcome in &growth.covered {
        say(&headline("covered", &outcome.answer()))?;
    }
    let rest = match &growth.last {
        Some(last) if matches!(last.verdict, Verdict::Violation(_)) => return Ok(()),
        Some(_) if growth.covered.is_empty() => return Ok(()),
        Some(open) => format!("not finished: {}", open.bounds),
        None => "there is nothing to raise".to_owned(),
    };
    say(&format!("{}: {rest}\n", question.source.name))
}

/// What else there is to say of an exploration: its second opinion, and the run that it found as a
/// file and as a history.
fn tell_exploration(
    arguments: &Arguments,
    question: &Question<'_>,
    outcome: &Outcome,
) -> Result<(), Failure> {
    match &outcome.verdict {
        Verdict::Holds => remark(&reviewed(&outcome.statistics.reviewed)),
        Verdict::Violation(counterexample) => {
            keep(arguments, question, outcome, counterexample)?;
            write_run_history(arguments, counterexample)?;
        }
        Verdict::Unknown(_) => {}
    }
    Ok(())
}

/// What a second opinion is based on, as words.
fn reviewed(reviewed: &Reviewed) -> String {
    let Reviewed { runs, steps, compared, whole, time } = reviewed;
    let basis = match whole {
        Some(states) => format!("all {states} states without reductions"),
        None if *runs == 0 => "the first states without reductions".to_owned(),
        None => format!("{runs} random runs without reductions"),
    };
    let seconds = time.as_secs_f64();
    format!("second opinion: {basis}, {steps} steps, {compared} states compared, {seconds:.2} s")
}

impl<'q> Question<'q> {
    /// What the report is about.
    fn examined(&self, answer: &'q Answer) -> Examined<'q> {
        let spec = self.program.spec.as_ref().map_or("", |spec| &spec.name);
        Examined::new(&self.source.name, spec, &self.program.source, answer)
    }
}

/// Prints what is known in the form that was asked for, and writes the reports that were.
fn report(arguments: &Arguments, examined: &Examined<'_>) -> Result<(), Failure> {
    write_reports(arguments, examined)?;
    if arguments.json {
        return say(&run::json::render(examined));
    }
    match arguments.detail() {
        Detail::Verdict => say(&headline(examined.name, examined.answer)),
        Detail::Claims => say(&run::terminal::report(examined, &Style::plain(WIDTH))),
    }
}

/// The columns of a report about a run.
const WIDTH: usize = 100;

/// Writes the reports to the files that were asked for.
fn write_reports(arguments: &Arguments, examined: &Examined<'_>) -> Result<(), Failure> {
    if let Some(path) = &arguments.html {
        write_and_tell(path, &run::html::render(examined), "report")?;
    }
    if let Some(path) = &arguments.junit {
        write_and_tell(path, &run::junit::render(examined), "report")?;
    }
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
        write_and_tell(path, &saved.text(), "run")?;
        remark(&format!("replay it with: seriatim verify {name} --replay {}", path_in_line(path)));
    }
    Ok(())
}

/// Writes the history of a violation.
fn write_run_history(arguments: &Arguments, found: &Counterexample) -> Result<(), Failure> {
    if let Some(path) = &arguments.history {
        let history = found.run().history("counterexample")?;
        write_history(&history, Format::JsonEvents, Some(path))?;
        remark(&format!("the history is in {}", path_in_line(path)));
    }
    Ok(())
}

/// The run that an exploration found.
fn violation(outcome: &Outcome) -> Option<&Counterexample> {
    match &outcome.verdict {
        Verdict::Violation(found) => Some(found),
        Verdict::Holds | Verdict::Unknown(_) => None,
    }
}

/// The line that tells how a long exploration goes, on a terminal.
struct Line {
    is_on: bool,
    start: Instant,
    /// The most states that waited so far: once fewer than half of them wait, an estimate makes
    /// sense.
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
