//! What a check of a history gives: the verdict, what is known of each part, and what stands behind
//! it.

use crate::verdict::Verdict;

/// What a check found.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The verdict on the whole history.
    pub verdict: Verdict,
    /// What is known of each part.
    pub parts: Vec<PartVerdict>,
    /// The number of configurations that the general search met.
    pub configurations: usize,
    /// The peak of the searches' memory by their own estimate, in bytes.
    pub memory: usize,
    /// What a checker found wrong with an engine's answer. It is a defect of Seriatim; no verdict
    /// rests on that answer.
    pub defect: Option<String>,
    /// What stands behind a violation besides the engine that found it.
    pub confirmation: Option<Confirmation>,
    /// What the counterexample of a violation does without, and why that is fair.
    pub left_out: LeftOut,
}

impl Checked {
    /// A verdict that says nothing about how it came about.
    ///
    /// ```
    /// use seriatim_spec::{Checked, Replayed, Verdict};
    /// let checked = Checked::new(Verdict::Linearizable(Replayed::on_record()));
    /// assert!(checked.parts.is_empty());
    /// ```
    pub fn new(verdict: Verdict) -> Checked {
        Checked {
            verdict,
            parts: Vec::new(),
            configurations: 0,
            memory: 0,
            defect: None,
            confirmation: None,
            left_out: LeftOut::default(),
        }
    }
}

/// What is known of one part of a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartVerdict {
    /// The key or object; empty where nothing was split.
    pub label: String,
    /// The number of operations.
    pub operations: usize,
    /// What is known.
    pub standing: PartStanding,
    /// Who found out.
    pub decided_by: DecidedBy,
    /// Why no fast monitor did, if that was to be expected.
    pub fell_back: Option<String>,
}

/// A part of a history that is violated, with operations of it that no order explains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViolatedPart {
    /// The key or object.
    pub label: String,
    /// The core, in the operations of the whole history.
    pub operations: Vec<seriatim_history::OpId>,
    /// Why no order explains it, in a sentence.
    pub why: String,
}

impl ViolatedPart {
    /// The most parts that are listed.
    pub const MOST: usize = 50;
}

/// What is known of one part, in a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PartStanding {
    /// It is linearizable.
    Linearizable,
    /// It is not.
    Violation,
    /// Nobody knows, or nobody looked.
    Open,
}

impl PartStanding {
    /// The word: `linearizable`, `violation`, `open`.
    pub fn word(self) -> &'static str {
        match self {
            PartStanding::Linearizable => "linearizable",
            PartStanding::Violation => "violation",
            PartStanding::Open => "open",
        }
    }
}

/// Who decided a part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DecidedBy {
    /// A look at the operations alone: a result that nothing can explain.
    Inspection,
    /// A fast monitor, by name.
    Monitor(&'static str),
    /// The general search in one of its directions.
    Search(Strategy),
    /// Nobody yet.
    Nobody,
}

/// The direction of a search.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Strategy {
    /// Wing & Gong's search with memory.
    DepthFirst,
    /// Just-in-time linearization.
    BreadthFirst,
}

/// What the second opinion on a violation rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirmation {
    /// The plain search refutes all that was recorded of the part up to the moment at which it went
    /// wrong.
    Whole,
    /// The plain search refutes the counterexample, with its context.
    Core,
    /// Another engine refutes the counterexample, with its context.
    Engine(&'static str),
    /// Nobody could: it is too large.
    None,
}

/// How many operations a counterexample does without, by the reason why that is fair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct LeftOut {
    /// Not needed by the theorem of the monitor that found the violation.
    pub by_monitor: usize,
    /// Called after the history has gone wrong.
    pub later: usize,
    /// Of values that do not matter, where the object treats values alike.
    pub values: usize,
    /// Changed nothing.
    pub read_only: usize,
    /// Came first without loss; the state that they left is given.
    pub context: usize,
}
