//! What an exploration found.

use crate::options::{Options, Reductions};
use seriatim_lang::Span;
use seriatim_lang::machine::Fault;
use seriatim_lang::spec::Datum;
use std::time::Duration;

/// The result of an exploration.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The answer.
    pub verdict: Verdict,
    /// What it took.
    pub statistics: Statistics,
    /// The bounds that the answer is for, as words.
    pub bounds: String,
    /// The bounds that the answer is for.
    pub options: Options,
}

/// The answer of an exploration.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// Every run within the bounds is linearizable, and no run has an error.
    Holds,
    /// A run goes wrong.
    Violation(Box<Counterexample>),
    /// The search ended early.
    Unknown(Reason),
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Time ran out.
    Time,
    /// Memory ran out.
    Memory,
    /// The limit on states was reached.
    States,
    /// A state has too many nodes: a bound on nodes is needed.
    Nodes,
    /// The specification itself is wrong.
    Specification(String),
    /// The question cannot be asked like this.
    Unsupported(String),
}

/// A run that goes wrong.
#[derive(Clone, Debug)]
pub struct Counterexample {
    /// How it goes wrong.
    pub kind: ViolationKind,
    /// The steps.
    pub steps: Vec<TraceStep>,
    /// The calls and returns in the order in which they happened.
    pub history: Vec<Event>,
    /// For a run that contradicts its linearization points: whether the annotation is at fault, if that is known.
    pub blame: Option<Blame>,
    /// Who moves when, to be replayed.
    pub moves: Vec<Move>,
    /// The reductions that were on: they say how many accesses are a step.
    pub reductions: Reductions,
}

/// One move of a saved run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// Which thread.
    pub thread: usize,
    /// What it chose.
    pub choices: Vec<u32>,
    /// Whether it only calls, and then waits.
    pub waits: bool,
}

/// How a run goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViolationKind {
    /// No order of the operations explains their results.
    NotLinearizable,
    /// The results contradict the linearization points that the algorithm names.
    WrongPoint,
    /// No thread can go on.
    Deadlock,
    /// A step is an error.
    Fault(Fault),
    /// A thread waits for another one, so the object is not lock-free.
    Waits,
    /// The last steps can be repeated for ever and no operation returns.
    NoProgress {
        /// How many of the last steps.
        repeats: usize,
    },
}

/// Who is at fault when linearization points fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blame {
    /// Without points the algorithm is linearizable within the same bounds.
    Annotation,
    /// It is not linearizable at all.
    Algorithm,
}

/// One step of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceStep {
    /// Which thread.
    pub thread: usize,
    /// Where in the source its shared access stands.
    pub span: Option<Span>,
    /// What it does, as text; several lines if it makes several accesses.
    pub text: Vec<String>,
    /// What memory looks like after it, if it changed something that others see.
    pub picture: Vec<String>,
}

/// A call or a return.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A thread calls a method.
    Call {
        /// Which thread.
        thread: usize,
        /// Which method.
        method: String,
        /// The arguments.
        args: Vec<Datum>,
    },
    /// A thread returns from the method that it called.
    Return {
        /// Which thread.
        thread: usize,
        /// Which method.
        method: String,
        /// The result; the empty tuple if the method has none.
        result: Datum,
    },
}

/// What an exploration took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Product states stored.
    pub stored: u64,
    /// Product states that no better one replaced.
    pub kept: u64,
    /// Product states expanded.
    pub expanded: u64,
    /// Product states that wait to be expanded, roughly.
    pub waiting: u64,
    /// Steps taken.
    pub transitions: u64,
    /// Different configuration sets.
    pub sets: u64,
    /// Most nodes alive at once.
    pub nodes: u32,
    /// Bytes for states and their table.
    pub state_bytes: u64,
    /// Bytes for configuration sets.
    pub set_bytes: u64,
    /// Bytes for what the workers remember about them.
    pub memo_bytes: u64,
    /// Length of the longest shortest run.
    pub depth: u32,
    /// Whether a bound on nodes or capacity cut off a run.
    pub bounded: bool,
    /// How long it took.
    pub time: Duration,
}
