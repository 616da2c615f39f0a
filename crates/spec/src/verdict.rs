//! What an engine may say of a history, in the one form that every engine uses and every report
//! draws.

use seriatim_history::{Horizon, OpId};
use seriatim_limits::Reason;
use std::fmt;

/// Whether a history is linearizable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is, and here is an order that shows it and that was replayed.
    Linearizable(Replayed),
    /// It is not, and here is a small part of it that shows it.
    Violation(Counterexample),
    /// Nobody knows, and here is why and how far it was decided.
    Unknown(Unknown),
}

impl Verdict {
    /// The exit code of the command for this verdict: 0 holds, 1 violated, 3 unknown.
    pub fn exit_code(&self) -> u8 {
        match self {
            Verdict::Linearizable(_) => 0,
            Verdict::Violation(_) => 1,
            Verdict::Unknown(_) => 3,
        }
    }

    /// The verdict in one word: `linearizable`, `violation`, `unknown`.
    pub fn word(&self) -> &'static str {
        match self {
            Verdict::Linearizable(_) => "linearizable",
            Verdict::Violation(_) => "violation",
            Verdict::Unknown(_) => "unknown",
        }
    }
}

/// What an engine says of a history, before anybody has checked it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// It is linearizable in this order.
    Linearizable(Witness),
    /// It is not, and here is a small part of it that shows it.
    Violation(Counterexample),
}

impl Claim {
    /// The claim in one word: `linearizable`, `violation`.
    pub fn word(&self) -> &'static str {
        match self {
            Claim::Linearizable(_) => "linearizable",
            Claim::Violation(_) => "violation",
        }
    }
}

/// A witness that was replayed. Only the replay makes one, so a history that is called linearizable
/// without having been replayed does not compile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replayed {
    witness: Witness,
}

impl Replayed {
    pub(crate) fn new(witness: Witness) -> Self {
        Replayed { witness }
    }

    /// What a file of verdicts stands for: whoever wrote it has replayed each part by itself, and
    /// kept no order of the whole.
    pub fn on_record() -> Self {
        Replayed::new(Witness::default())
    }
}

impl std::ops::Deref for Replayed {
    type Target = Witness;

    fn deref(&self) -> &Witness {
        &self.witness
    }
}

/// An order in which the operations could have happened one after another.
///
/// It holds every completed operation once, and those pending ones that took effect. An engine
/// makes it; nobody has to believe it before the [`replay`](crate::replay()) accepted it.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Witness {
    /// The operations in the order of their linearization points.
    pub order: Vec<OpId>,
}

/// A part of a history that is not linearizable by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counterexample {
    /// The operations of the part, in call order.
    pub operations: Vec<OpId>,
    /// How far the part reaches: what returns after the horizon counts as pending.
    pub horizon: Horizon,
    /// What comes before the part and is left out, if anything.
    pub context: Option<Context>,
    /// Why no order explains it.
    pub explanation: Explanation,
}

/// The operations before a counterexample, when it starts in the middle of a history.
///
/// The engine showed that nothing is lost by taking these operations first, in this order: if the
/// history were linearizable, it would be in an order that begins like this.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Context {
    /// The operations left out, in that order.
    pub order: Vec<OpId>,
    /// The state in which they leave the object.
    pub state: String,
}

/// Why no order of some operations is right.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Explanation {
    /// The sentence that a person reads first.
    pub sentence: String,
    /// The longest partial orders, each with the step at which it fails.
    pub attempts: Vec<Attempt>,
}

impl Explanation {
    /// An explanation that needs no attempts.
    pub fn because(sentence: impl Into<String>) -> Self {
        Explanation { sentence: sentence.into(), attempts: Vec::new() }
    }
}

/// A partial order that cannot be continued.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// The operations that could be placed, in order.
    pub order: Vec<OpId>,
    /// The state of the object after them.
    pub state: String,
    /// The operations that would have to come next, each with the reason why it cannot.
    pub stuck: Vec<(OpId, String)>,
}

/// What ran out before there was an answer, and what is known nevertheless.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// What ran out.
    pub limit: Limit,
    /// How much is known to be linearizable: the number of events (calls and returns) of the
    /// longest prefix for which an order was found, over all parts that are open.
    pub linearizable_events: usize,
    /// Parts (keys, objects) decided so far, all linearizable.
    pub decided: Vec<String>,
    /// Parts still open.
    pub open: Vec<String>,
    /// What the checker found wrong with an engine's answer. It is a defect of Seriatim and asks
    /// for a report.
    pub defect: Option<String>,
}

/// What may run out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The time limit was reached.
    Time,
    /// The memory limit was reached.
    Memory,
    /// Somebody asked to stop.
    Cancelled,
    /// Nothing: an engine gave an answer, and its checker rejected it. See [`Unknown::defect`].
    Defect,
    /// Processes are tied at more instants of the clock than there were tries.
    Ties,
    /// What was found is a violation, but some processes' logs are missing, which may explain it.
    Incomplete,
}

impl From<Reason> for Limit {
    fn from(reason: Reason) -> Limit {
        match reason {
            Reason::Time => Limit::Time,
            Reason::Memory => Limit::Memory,
            Reason::Interrupted => Limit::Cancelled,
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Limit::Time => "the time limit was reached",
            Limit::Memory => "the memory limit was reached",
            Limit::Cancelled => "the check was cancelled",
            Limit::Defect => "an answer was found, but its checker rejects it",
            Limit::Ties => "the clock is too coarse to tell in which order processes went on",
            Limit::Incomplete => "logs are missing that may explain what nothing else does",
        })
    }
}
