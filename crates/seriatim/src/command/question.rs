//! What is asked about a history, and the answer with all that a report needs.

use super::Exit;
use super::Failure;
use super::amounts::{duration, threads};
use super::input::{Against, Input};
use super::limits;
use super::progress::{Company, ProgressLine};
use super::recorded::Recorded;
use super::scale::Spilled;
use clap::{Args, ValueEnum};
use seriatim::limits::{Cancel, Stopped};
use seriatim::monitor::partition::Partitioning;
use seriatim::monitor::{Detail, Monitors, StopAt, Strategy, refute_partition};
use seriatim::question::Answered;
use seriatim::scale::judge::SharedReader;
use seriatim::spec::{Limit, Reader};
use seriatim::{Failures, History, Options, Verdict};
use std::path::PathBuf;
use std::time::Duration;

/// What to check, against what, and how hard to try.
#[derive(Args)]
#[cfg_attr(test, derive(Debug))]
pub struct Question {
    #[command(flatten)]
    pub input: Input,

    #[command(flatten)]
    pub(super) against: Against,

    #[command(flatten)]
    pub recorded: Recorded,

    /// The number of threads [default: all cores]
    #[arg(long, value_name = "NUMBER", value_parser = threads)]
    pub(super) threads: Option<usize>,

    /// Do not split objects by key
    #[arg(long)]
    no_partition: bool,

    /// Look in this history for evidence that the object must not be split by key
    #[arg(long)]
    check_partition: bool,

    /// Continue after the first violation and decide all parts
    #[arg(long)]
    pub(super) all: bool,

    /// Which engine decides
    #[arg(long, value_enum, default_value_t)]
    engine: Engine,

    /// The time for minimising a counterexample once there is a verdict
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = duration)]
    explain: Duration,

    /// Older scripts say so; every order that is found is replayed anyway
    #[arg(long, hide = true)]
    certify: bool,
}

/// As it is asked where no option says otherwise.
impl Default for Question {
    fn default() -> Self {
        Question {
            input: Input::default(),
            against: Against::default(),
            recorded: Recorded::default(),
            threads: None,
            no_partition: false,
            check_partition: false,
            all: false,
            engine: Engine::default(),
            explain: Duration::from_secs(2),
            certify: false,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
#[cfg_attr(test, derive(Debug))]
enum Engine {
    /// The fastest exact engine: a monitor where there is one, otherwise the search
    #[default]
    Auto,
    /// The general search in both directions
    Search,
    /// The general search, depth first
    DepthFirst,
    /// The general search, breadth first
    BreadthFirst,
}

/// What of the machine the check of a log may take.
#[derive(Clone, Copy)]
pub struct Share {
    /// The number of threads, if not all.
    pub threads: Option<usize>,
    /// Whether other logs are checked at the same time.
    pub company: Company,
}

impl Share {
    /// All of it.
    pub const ALL: Share = Share { threads: None, company: Company::Nobody };
}

/// What the command found out about a log.
pub struct Done {
    /// The answer; of a log that was checked from disk, about the part that is told.
    pub answered: Answered,
    /// What there is to say of a log that was checked from disk.
    pub spilled: Option<Spilled>,
}

impl Question {
    /// Checks a log.
    pub fn answer(&self, log: &[PathBuf], detail: Detail, share: Share) -> Result<Done, Failure> {
        let threads = share.threads.unwrap_or(self.options().threads);
        let mut history = self.input.read_log(log, threads)?;
        let mut notes = self.recorded.allow_for(&mut history)?;
        let progress = ProgressLine::new(share.company);
        let observer = |standing| progress.show(standing);
        let options = Options { observer: Some(&observer), detail, threads, ..self.options() };
        let answered = self.against.question(options).answer(history);
        progress.clear();
        let mut answered = answered?;
        notes.append(&mut answered.notes);
        let examined = || self.examine(&mut answered.history, &*answered.reader);
        notes.extend(match Cancel::of_process().during(examined) {
            Ok(examined) => examined?,
            Err(Stopped(reason)) => vec![format!("partition: not all of it was tried; {reason}")],
        });
        answered.notes = notes;
        Ok(Done { answered, spilled: None })
    }

    /// The specification that a history is held against: named by the user or the history.
    pub fn reader(&self, history: &History) -> Result<SharedReader, Failure> {
        match self.against.spec.as_deref().or(history.spec()) {
            Some(name) => self.against.named_reader(Some(name)),
            None => Err(Failure(format!(
                "{}: expected a specification, in the file or with --spec",
                history.source()
            ))),
        }
    }

    /// The specification for a log that says this of itself.
    pub fn shared_reader(&self, named: Option<&str>) -> Result<SharedReader, Failure> {
        self.against.named_reader(named)
    }

    /// The specification that is named, if any.
    pub fn spec(&self) -> Option<&str> {
        self.against.spec.as_deref()
    }

    /// The specification that is known before the log is read: named by the user or by the map.
    pub fn spec_beforehand(&self) -> Option<&str> {
        self.spec().or(self.input.mapping.spec())
    }

    /// The memory that may be used, in bytes.
    pub fn memory(&self) -> usize {
        limits::memory()
    }

    /// Whether the number of threads is given.
    #[cfg(feature = "cluster")]
    pub fn names_threads(&self) -> bool {
        self.threads.is_some()
    }

    /// Whether the first violation ends the check.
    pub fn stops_at_first(&self) -> bool {
        !self.all
    }

    /// What decides what a verdict means, for verdict files.
    pub fn in_words(&self) -> String {
        let failures = match self.against.failures {
            Failures::Drop => "drop",
            Failures::Observe => "observe",
        };
        let parts = if self.no_partition { "object" } else { "key" };
        let values = if self.input.independent { "independent" } else { "plain" };
        let engine = match self.engine {
            Engine::Auto => "auto",
            Engine::Search => "search",
            Engine::DepthFirst => "depth-first",
            Engine::BreadthFirst => "breadth-first",
        };
        let format = match self.input.format {
            Some(format) => format.to_string(),
            None => "told".to_owned(),
        };
        let more = self.against.in_words();
        format!(
            "failures={failures} parts={parts} values={values} engine={engine} format={format}{more}"
        )
    }

    /// Whether a log has to be in memory as a whole. Widened operations of one process keep their
    /// order, also from part to part; and of several files that a map reads as one log, a call may
    /// stand in one and its end in another.
    pub fn needs_all(&self, log: &[PathBuf]) -> bool {
        self.recorded.skew.is_some() || self.is_mapped() && log.len() > 1
    }

    /// Whether a map says what the records mean.
    pub fn is_mapped(&self) -> bool {
        self.input.mapping.map.is_some()
    }

    /// Refuses what can only be done with the whole history in memory.
    pub fn refuse_what_needs_all(&self) -> Result<(), Failure> {
        match self.check_partition {
            true => Err(Failure(
                "--check-partition needs the whole history in memory; expected --spill never, or a \
                 smaller log"
                    .to_owned(),
            )),
            false => Ok(()),
        }
    }

    /// The options of the check.
    pub fn options(&self) -> Options<'static> {
        let defaults = self.threads.map_or_else(Options::default, Options::on);
        Options {
            time: limits::time_left(),
            memory: limits::memory(),
            partitioning: match self.no_partition {
                true => Partitioning::ByObject,
                false => Partitioning::ByKey,
            },
            stop_at: if self.all { StopAt::End } else { StopAt::FirstViolation },
            monitors: match self.engine {
                Engine::Auto => Monitors::Use,
                _ => Monitors::Skip,
            },
            strategies: match self.engine {
                Engine::Auto | Engine::Search => vec![Strategy::DepthFirst, Strategy::BreadthFirst],
                Engine::DepthFirst => vec![Strategy::DepthFirst],
                Engine::BreadthFirst => vec![Strategy::BreadthFirst],
            },
            explain: self.explain,
            ..defaults
        }
    }

    /// The further checks that the user asked for; gives what held.
    fn examine(&self, history: &mut History, reader: &dyn Reader) -> Result<Vec<String>, Failure> {
        let mut notes = Vec::new();
        if self.check_partition {
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
            notes.push(
                "partition: no two operations on different keys were found to interfere".into(),
            );
        }
        Ok(notes)
    }
}

impl Done {
    /// Where the operations come from.
    pub fn source(&self) -> &str {
        self.spilled.as_ref().map_or(self.answered.history.source(), |spilled| &spilled.source)
    }

    /// How many there are.
    pub fn operations(&self) -> u64 {
        self.spilled
            .as_ref()
            .map_or(self.answered.history.len() as u64, |spilled| spilled.operations)
    }

    /// Whether there was not enough memory to read the log or to replay its order: not a search that
    /// ran out of it in one part, which it would do from disk as well.
    pub fn is_without_memory(&self) -> bool {
        match &self.answered.checked.verdict {
            Verdict::Unknown(unknown) => {
                unknown.limit == Limit::Memory && self.answered.checked.configurations == 0
            }
            _ => false,
        }
    }

    /// What the command comes to.
    pub fn exit(&self) -> Exit {
        match self.answered.checked.verdict {
            Verdict::Linearizable(_) => Exit::Holds,
            Verdict::Violation(_) => Exit::Violated,
            Verdict::Unknown(_) => Exit::Unknown,
        }
    }
}
