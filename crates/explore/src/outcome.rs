//! What an exploration found.

use crate::bounds::bounds;
use crate::options::{Guarantee, Options, Reductions};
use crate::second_opinion::Reviewed;
use crate::subject::Subject;
use seriatim_lang::Program;
use seriatim_lang::machine::{Cut, Fault};
use seriatim_lang::spec::Datum;
use seriatim_spec::run::{Memory, Step};
use std::time::Duration;

/// The result of an exploration.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The answer.
    pub verdict: Verdict,
    /// What it took.
    pub statistics: Statistics,
    /// How many threads there were.
    pub threads: u32,
    /// The bounds that the answer is for, as words.
    pub bounds: String,
    /// The bounds that the answer is for.
    pub options: Options,
}

impl Outcome {
    /// What was found out about a subject.
    pub(crate) fn new(
        program: &Program,
        options: &Options,
        subject: &Subject,
        verdict: Verdict,
        statistics: Statistics,
    ) -> Outcome {
        let steps = &subject.machine.steps;
        Outcome {
            verdict,
            statistics,
            threads: steps.threads.len() as u32,
            bounds: bounds(program, options, Some(steps)),
            options: options.clone(),
        }
    }
}

/// The answer of an exploration, all properties together; [`Outcome::answer`] tells them apart.
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
    /// Somebody asked to stop.
    Interrupted,
    /// The limit on states was reached.
    States,
    /// A state has too many nodes: a bound on nodes is needed.
    Nodes,
    /// A word has too many values that threads can still see: a bound on them is needed.
    Lag,
    /// The specification itself is wrong.
    Specification(String),
    /// The question cannot be asked like this.
    Unsupported(String),
    /// Nothing goes wrong in the states that were seen, but only 64 bits of each were remembered, so
    /// that some may have been missed.
    HashCompaction,
    /// The explorer itself failed.
    Internal,
    /// A second opinion contradicts the search: the explorer is wrong.
    Disagreement(String),
}

/// A run that goes wrong.
#[derive(Clone, Debug)]
pub struct Counterexample {
    /// How it goes wrong.
    pub kind: ViolationKind,
    /// Memory before the first step.
    pub initial: Memory,
    /// The steps.
    pub steps: Vec<Step>,
    /// The calls and returns in the order in which they happened.
    pub history: Vec<Event>,
    /// For a run that contradicts its linearization points: whether the annotation is at fault, if
    /// that is known.
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
    /// No thread can go on, though the specification could.
    Deadlock,
    /// A step is an error.
    Fault(Fault),
    /// A thread waits, and would wait for ever if the others stopped.
    Waits(Guarantee),
    /// The last steps can be repeated for ever, and operations that should return do not.
    NoProgress {
        /// What is not guaranteed.
        guarantee: Guarantee,
        /// How many of the last steps; none if all those threads that must go on wait.
        repeats: usize,
        /// The threads whose operations never return, as a mask.
        starved: u32,
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

/// Which bounds cut off a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cuts {
    /// The one on nodes alive.
    pub nodes: bool,
    /// The one on nodes added.
    pub capacity: bool,
    /// The numbers that are represented, where the program declares no bounds.
    pub numbers: bool,
    /// There was no datum to choose.
    pub data: bool,
    /// The one on values of a word that threads can still see.
    pub lag: bool,
}

impl Cuts {
    /// Takes in a run that was cut.
    pub fn add(&mut self, cut: Cut) {
        match cut {
            Cut::Nodes => self.nodes = true,
            Cut::Capacity => self.capacity = true,
            Cut::Numbers => self.numbers = true,
            Cut::Data => self.data = true,
        }
    }

    /// Takes in what others cut.
    pub fn join(&mut self, other: Cuts) {
        self.nodes |= other.nodes;
        self.capacity |= other.capacity;
        self.numbers |= other.numbers;
        self.data |= other.data;
        self.lag |= other.lag;
    }
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
    /// Which bounds cut off a run.
    pub cuts: Cuts,
    /// How long it took.
    pub time: Duration,
    /// What the second opinion is based on, if the answer is *holds*.
    pub reviewed: Reviewed,
}

impl From<seriatim_spec::Reason> for Reason {
    fn from(reason: seriatim_spec::Reason) -> Reason {
        match reason {
            seriatim_spec::Reason::Time => Reason::Time,
            seriatim_spec::Reason::Memory => Reason::Memory,
            seriatim_spec::Reason::Interrupted => Reason::Interrupted,
        }
    }
}
