//! What an object can do wrong, and what is known of a test that failed.

use crate::run::Run;
use crate::scenario::Scenario;
use crate::tracked::Imbalance;
use seriatim_history::History;
use seriatim_spec::Counterexample;
use seriatim_spec::run::Run as Steps;
use std::mem::discriminant;
use std::path::PathBuf;
use std::time::Duration;

/// What an object did wrong.
#[derive(Clone, Debug)]
pub enum Failure {
    /// Its answers fit no order of the calls.
    Violation(Counterexample),
    /// Its answers are not those of the specification although the calls came one after another:
    /// the object, or the specification, is wrong already on one thread.
    Disagreement(Counterexample),
    /// A call panicked, or making or dropping the object did.
    Panic {
        /// The call, or what was done.
        call: String,
        /// What the panic said.
        message: String,
    },
    /// Calls that wait for each other.
    Deadlock {
        /// The calls.
        calls: Vec<String>,
    },
    /// Calls that wait for ever although the specification lets them go on.
    LostWakeUp {
        /// The calls.
        calls: Vec<String>,
    },
    /// Calls that do not end.
    Hang {
        /// The calls.
        calls: Vec<String>,
        /// How long was waited.
        patience: String,
    },
    /// Values that the object never dropped.
    Leak {
        /// How many.
        values: i64,
    },
    /// Values that the object dropped twice.
    DroppedTwice {
        /// How many.
        values: u64,
    },
    /// A final check complained, or the object panicked in it.
    Invariant {
        /// What it said.
        message: String,
    },
    /// No execution could be decided in time, so that nothing is known of the object.
    Undecided {
        /// How many were tried.
        executions: u64,
    },
    /// No call of any execution had an answer that is known, so that nothing could be wrong.
    Unanswered {
        /// How many calls were made.
        calls: u64,
    },
}

impl Failure {
    /// What a violation of the specification is, by the execution that shows it.
    pub(crate) fn disagreement(counterexample: Counterexample, run: &Run) -> Self {
        match run.is_sequential() {
            true => Failure::Disagreement(counterexample),
            false => Failure::Violation(counterexample),
        }
    }

    /// Whether a smaller scenario with that failure shows the same thing.
    pub(crate) fn is_like(&self, smaller: &Failure) -> bool {
        let plainer = matches!((self, smaller), (Failure::Violation(_), Failure::Disagreement(_)));
        plainer || discriminant(self) == discriminant(smaller)
    }

    /// Whether nothing is known of the object.
    pub(crate) fn is_about_nothing(&self) -> bool {
        matches!(self, Failure::Undecided { .. } | Failure::Unanswered { .. })
    }

    /// The counterexample, where the answers are wrong.
    pub fn counterexample(&self) -> Option<&Counterexample> {
        match self {
            Failure::Violation(counterexample) | Failure::Disagreement(counterexample) => {
                Some(counterexample)
            }
            _ => None,
        }
    }

    /// The failure in a word.
    pub fn word(&self) -> &'static str {
        match self {
            Failure::Violation(_) => "violation",
            Failure::Disagreement(_) => "disagreement on one thread",
            Failure::Undecided { .. } => "undecided",
            Failure::Unanswered { .. } => "unanswered",
            Failure::Panic { .. } => "panic",
            Failure::Deadlock { .. } => "deadlock",
            Failure::LostWakeUp { .. } => "lost wake-up",
            Failure::Hang { .. } => "hang",
            Failure::Leak { .. } => "leak",
            Failure::DroppedTwice { .. } => "dropped twice",
            Failure::Invariant { .. } => "final check",
        }
    }

    /// The failure in a sentence.
    pub fn sentence(&self) -> String {
        match self {
            Failure::Violation(counterexample) => {
                format!("not linearizable: {}", counterexample.explanation.sentence)
            }
            Failure::Disagreement(counterexample) => format!(
                "wrong already on one thread: object and specification disagree although the calls came one \
                 after another: {}",
                counterexample.explanation.sentence
            ),
            Failure::Undecided { executions: 0 } => {
                "nothing is known of the object: not one execution ran \
                 within the budget; a larger one may help"
                    .to_owned()
            }
            Failure::Undecided { executions } => format!(
                "nothing is known of the object: not one of {executions} executions could be decided in time; \
                 a specification by name, fewer threads or a larger budget may help"
            ),
            Failure::Unanswered { calls } => format!(
                "almost nothing was tested: not one of {calls} calls has an answer that is known \
                 (`Reply::Unknown`, or a call that waits for ever), so that none could be wrong"
            ),
            Failure::Panic { call, message } => format!("{call} panicked: {message}"),
            Failure::Deadlock { calls } => {
                format!("deadlock: {} wait for ever", calls.join(" and "))
            }
            Failure::LostWakeUp { calls } => format!(
                "lost wake-up: {} wait{} for ever although the specification would let {} go on when \
                 all other calls are done",
                calls.join(" and "),
                if calls.len() == 1 { "s" } else { "" },
                if calls.len() == 1 { "it" } else { "one of them" },
            ),
            Failure::Hang { calls, patience } => {
                format!("hang: {} did not return within {patience}", calls.join(" and "))
            }
            Failure::Leak { values } => format!(
                "leak: {values} values outlived their objects and are still alive, and they become more with \
                 every execution"
            ),
            Failure::DroppedTwice { values } => {
                format!("memory error: {values} values were dropped twice")
            }
            Failure::Invariant { message } => format!("the final check failed: {message}"),
        }
    }
}

impl From<Imbalance> for Failure {
    fn from(imbalance: Imbalance) -> Self {
        match imbalance {
            Imbalance::Leaked(values) => Failure::Leak { values },
            Imbalance::DroppedTwice(values) => Failure::DroppedTwice { values },
        }
    }
}

/// A failing test: the smallest scenario that was found, one execution of it, and how to see it
/// again.
#[derive(Clone, Debug)]
pub struct Failed {
    /// What went wrong.
    pub failure: Failure,
    /// The scenario in one line.
    pub scenario: String,
    /// The number of threads that call something in parallel.
    pub threads: usize,
    /// The number of calls, those of the main thread included.
    pub calls: usize,
    /// The execution as a history.
    pub history: History,
    /// The execution, step by step.
    pub run: Steps,
    /// The text of the file in which all its accesses stand; empty if there is none, or none that
    /// can be read.
    pub source: String,
    /// Where the history was written.
    pub file: Option<PathBuf>,
    /// Where the page was written.
    pub page: Option<PathBuf>,
    /// What to give to [`replay`](crate::Test::replay) or `SERIATIM_REPLAY`.
    pub replay: String,
    /// The number of executions before the failure was found.
    pub executions: u64,
    /// The time before the failure was found.
    pub found_after: Duration,
    /// The time that shrinking took after that.
    pub shrunk_in: Duration,
    /// The report as `check` prints it.
    pub report: String,
}

impl std::fmt::Display for Failed {
    /// The report.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.report)
    }
}

impl std::error::Error for Failed {}

/// The number of threads of a scenario that call something.
pub(crate) fn busy_threads(scenario: &Scenario) -> usize {
    scenario.threads.iter().filter(|calls| !calls.is_empty()).count()
}
