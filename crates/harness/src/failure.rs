//! What can be wrong with an object, and the report of it.

use crate::engine::Schedule;
use crate::reply::Reply;
use crate::run::{Called, End, Run};
use crate::scenario::Scenario;
use crate::subject::{Caller, Subject};
use crate::tracked::Imbalance;
use seriatim_history::{History, OpId};
use seriatim_spec::Counterexample;
use seriatim_spec::run::Run as Steps;
use std::fmt::Write;
use std::mem::discriminant;
use std::path::PathBuf;
use std::time::Duration;

/// What an object did wrong.
#[derive(Clone, Debug)]
pub enum Failure {
    /// Its answers fit no order of the calls.
    Violation(Counterexample),
    /// Its answers are not those of the specification although the calls came one after another: the object, or
    /// the specification, is wrong already on one thread.
    Disagreement(Counterexample),
    /// A call panicked.
    Panic {
        /// The call.
        call: String,
        /// What the panic said.
        message: String,
    },
    /// Calls that wait for each other.
    Deadlock {
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
            Failure::Panic { .. } => "panic",
            Failure::Deadlock { .. } => "deadlock",
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
            Failure::Undecided { executions } => format!(
                "nothing is known of the object: not one of {executions} executions could be decided in time; \
                 a specification by name, fewer threads or a larger budget may help"
            ),
            Failure::Panic { call, message } => format!("{call} panicked: {message}"),
            Failure::Deadlock { calls } => {
                format!("deadlock: {} wait for ever", calls.join(" and "))
            }
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

/// A failing test: the smallest scenario that was found, one execution of it, and how to see it again.
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
    /// The text of the file in which all its accesses stand; empty if there is none, or none that can be read.
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

/// Stamps of an explorer count its steps; this many bits below tell events of one step apart.
pub(crate) const STEP_SHIFT: u32 = 8;

/// More accesses than this are not read by anybody.
const ACCESSES: usize = 80;
/// What is inside of a call.
const INDENT: &str = "  ";

/// The calls of an execution in columns, one for each thread, in the order of their stamps, with the accesses that
/// they made; and where these are too many but the schedule is known, with the number of steps that a call had
/// taken when another thread came between.
pub(crate) fn columns(run: &Run, subject: &dyn Subject, schedule: &Schedule) -> String {
    let mut callers: Vec<Caller> = (0..run.threads.len()).map(Caller::Thread).collect();
    if !run.main.is_empty() {
        callers.insert(0, Caller::Main);
    }
    let mut events: Vec<(u64, usize, String)> = Vec::new();
    for (caller, called) in run.calls() {
        let column = callers.iter().position(|&known| known == caller).expect("all are listed");
        events.extend(events_of(called, subject).map(|(stamp, text)| (stamp, column, text)));
    }
    let first = callers.len() - run.threads.len();
    if !run.accesses.is_empty() && run.accesses.len() <= ACCESSES {
        let accesses = run.accesses.iter();
        events.extend(
            accesses
                .map(|access| (access.stamp, first + access.thread, format!("{INDENT}{access}"))),
        );
    } else if let Schedule::Shuttle(stretches) = schedule {
        let interruptions = interruptions(run, stretches).into_iter();
        events.extend(interruptions.map(|(stamp, thread, text)| (stamp, first + thread, text)));
    }
    events.sort_by_key(|&(stamp, ..)| stamp);
    join_quiet_calls(&mut events);
    let title = |caller: &Caller| match caller {
        Caller::Main => "main".to_owned(),
        Caller::Thread(number) => format!("thread {number}"),
    };
    let titles: Vec<String> = callers.iter().map(title).collect();
    table(&titles, events.into_iter().map(|(_, column, text)| (column, text)))
}

/// Where a thread was interrupted inside a call: the stamp, the thread, and the number of steps it took.
fn interruptions(run: &Run, stretches: &[(usize, usize)]) -> Vec<(u64, usize, String)> {
    let mut found = Vec::new();
    let mut before = 0;
    for &(task, steps) in stretches {
        let after = before + steps;
        let end = ((after as u64) << STEP_SHIFT) + (1 << STEP_SHIFT) - 1;
        let open = |called: &&Called| {
            let returned = matches!(called.slot.end, End::Returned(ret, _) if ret <= end);
            called.slot.call <= end && !returned
        };
        // Task 0 is the main thread.
        let thread = task.checked_sub(1).filter(|&thread| thread < run.threads.len());
        if let Some(thread) = thread
            && let Some(called) = run.threads[thread].iter().find(open)
        {
            let begun = (called.slot.call >> STEP_SHIFT) as usize;
            let taken = after - before.max(begun).min(after);
            if taken > 0 {
                let plural = if taken == 1 { "" } else { "s" };
                found.push((end, thread, format!("· {taken} step{plural}")));
            }
        }
        before = after;
    }
    found
}

fn events_of(called: &Called, subject: &dyn Subject) -> impl Iterator<Item = (u64, String)> {
    let text = called.step.text(subject);
    let end = match &called.slot.end {
        End::Returned(ret, Reply::Answer(None)) => Some((*ret, text.clone())),
        End::Returned(ret, reply) => {
            let result = format!("{:?}", crate::model::Answered(reply.clone()));
            Some((*ret, format!("{text} -> {result}")))
        }
        End::Panicked(_) => Some((u64::MAX, format!("{text} panicked"))),
        End::Stuck => Some((u64::MAX, format!("{text} waits for ever"))),
        End::Running => Some((u64::MAX, format!("{text} -> ?"))),
    };
    [(called.slot.call, format!("{text} …"))].into_iter().chain(end)
}

/// A call and the next event need one line only if nothing comes between them.
fn join_quiet_calls(events: &mut Vec<(u64, usize, String)>) {
    let mut index = 0;
    while index + 1 < events.len() {
        let next = &events[index + 1];
        let same = events[index].1 == next.1
            && events[index].2.ends_with('…')
            && !next.2.starts_with(INDENT);
        if same {
            let call = events.remove(index).2;
            if let Some(steps) = events[index].2.strip_prefix('·') {
                events[index].2 = format!("{call}{steps}");
            }
        }
        index += 1;
    }
}

fn table(titles: &[String], cells: impl Iterator<Item = (usize, String)>) -> String {
    let cells: Vec<(usize, String)> = cells.collect();
    let width = |column: usize| {
        let texts = cells.iter().filter(|cell| cell.0 == column).map(|cell| cell.1.chars().count());
        texts.max().unwrap_or(0).max(titles[column].len())
    };
    let widths: Vec<usize> = (0..titles.len()).map(width).collect();
    let mut text = String::new();
    let mut row = |cell: &dyn Fn(usize) -> String| {
        // By hand, for a format string takes no width beyond 65,535.
        let padded = |at: usize| {
            let text = cell(at);
            let missing = widths[at].saturating_sub(text.chars().count());
            text + &" ".repeat(missing)
        };
        let row: Vec<String> = (0..widths.len()).map(padded).collect();
        let _ = writeln!(text, "  | {} |", row.join(" | "));
    };
    row(&|at| titles[at].clone());
    row(&|at| "-".repeat(widths[at]));
    for (column, content) in &cells {
        row(&|at| if at == *column { content.clone() } else { String::new() });
    }
    text
}

/// More calls than this are not repeated in a sentence: the drawing has them.
const LISTED: usize = 12;

/// Why no order is right: the attempts that come closest. What each of them is "after" begins with the context
/// of the counterexample, because its calls have made the state that the attempt starts in.
pub(crate) fn explanation(counterexample: &Counterexample, history: &History) -> String {
    let mut text = String::new();
    let name = |op: &OpId| history.operation(*op).to_string();
    let context: Vec<String> =
        counterexample.context.iter().flat_map(|context| &context.order).map(name).collect();
    let mut told = Vec::new();
    for attempt in counterexample.explanation.attempts.iter().take(3) {
        // Two operations that look alike make two attempts that read alike.
        let start = text.len();
        let order: Vec<String> = attempt.order.iter().map(name).collect();
        let _ = writeln!(text, "  {}", what_came_before(&context, &order));
        let _ = writeln!(text, "    the state is {}", attempt.state);
        for (op, reason) in &attempt.stuck {
            let _ = writeln!(text, "    {} cannot be next: {reason}", name(op));
        }
        let attempt = text.split_off(start);
        if !told.contains(&attempt) {
            text.push_str(&attempt);
            told.push(attempt);
        }
    }
    text
}

fn what_came_before(context: &[String], order: &[String]) -> String {
    match (context.len(), order.len()) {
        (0, 0) => "at the start".to_owned(),
        (0..=LISTED, _) => {
            let all: Vec<&str> = context.iter().chain(order).map(String::as_str).collect();
            format!("after {}", all.join(", "))
        }
        (more, 0) => format!("after the {more} calls that come first"),
        (more, _) => format!("after the {more} calls that come first, then {}", order.join(", ")),
    }
}

/// The number of threads of a scenario that call something.
pub(crate) fn busy_threads(scenario: &Scenario) -> usize {
    scenario.threads.iter().filter(|calls| !calls.is_empty()).count()
}
