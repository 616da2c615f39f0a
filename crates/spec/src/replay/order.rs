//! Whether an order holds the right operations and respects real time and the processes' order, or
//! only what is asked of it.

use seriatim_history::{History, OpId, Outcome, Time};
use std::fmt;

/// What an order of operations has to respect, besides the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Order {
    /// Real time: linearizability.
    #[default]
    RealTime,
    /// The order of each process: sequential consistency (Lamport 1979).
    Process,
    /// Nothing.
    Nothing,
}

/// Why a witness is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Invalid {
    /// A completed operation is not in the order.
    Missing(OpId),
    /// An operation is in the order twice.
    Repeated(OpId),
    /// The order names an operation that is not in the history, or that did not happen.
    Foreign(OpId),
    /// The first is placed before the second, which returned before the first was called.
    AgainstTime(OpId, OpId),
    /// The first is placed before the second, which its process did before it.
    OutOfTurn(OpId, OpId),
    /// The specification does not allow the operation at this position of the order.
    Illegal {
        /// The position, counted from 0.
        position: usize,
        /// The operation.
        op: OpId,
        /// Why it is impossible there.
        reason: String,
    },
}

impl Invalid {
    /// The operation at which the order fails.
    pub fn culprit(&self) -> OpId {
        match *self {
            Invalid::Missing(op) | Invalid::Repeated(op) | Invalid::Foreign(op) => op,
            Invalid::AgainstTime(op, _) | Invalid::OutOfTurn(op, _) => op,
            Invalid::Illegal { op, .. } => op,
        }
    }

    /// The same with other names for the operations.
    pub fn renamed(self, name: impl Fn(OpId) -> OpId) -> Self {
        match self {
            Invalid::Missing(op) => Invalid::Missing(name(op)),
            Invalid::Repeated(op) => Invalid::Repeated(name(op)),
            Invalid::Foreign(op) => Invalid::Foreign(name(op)),
            Invalid::AgainstTime(a, b) => Invalid::AgainstTime(name(a), name(b)),
            Invalid::OutOfTurn(a, b) => Invalid::OutOfTurn(name(a), name(b)),
            Invalid::Illegal { position, op, reason } => {
                Invalid::Illegal { position, op: name(op), reason }
            }
        }
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Invalid::Missing(op) => write!(f, "completed operation {} is missing", op.0),
            Invalid::Repeated(op) => write!(f, "operation {} is placed twice", op.0),
            Invalid::Foreign(op) => write!(f, "operation {} did not happen", op.0),
            Invalid::AgainstTime(early, late) => write!(
                f,
                "operation {} is placed before {}, which had returned before it was called",
                early.0, late.0
            ),
            Invalid::OutOfTurn(early, late) => write!(
                f,
                "operation {} is placed before {}, which the same process did first",
                early.0, late.0
            ),
            Invalid::Illegal { position, op, reason } => {
                write!(f, "operation {} is impossible at position {position}: {reason}", op.0)
            }
        }
    }
}

impl std::error::Error for Invalid {}

/// Follows an order and keeps what decides whether the next operation may stand there.
///
/// Operations a and b are out of order if a stands before b and b returned before a was called; so
/// it is enough to compare b's return with the latest call that stands before it. At one and the
/// same moment, operations of different processes overlap; those of one process happened in its
/// order.
pub struct Sequencer<'h> {
    history: &'h History,
    order: Order,
    placed: Vec<bool>,
    completed: usize,
    latest: (Time, OpId),
    /// For each process the latest call that was placed; empty where the log names no processes.
    latest_of: Vec<(Time, OpId)>,
}

impl<'h> Sequencer<'h> {
    /// Nothing placed yet.
    pub fn new(history: &'h History, order: Order) -> Self {
        let processes = if history.names_processes() { history.process_count() } else { 0 };
        Sequencer {
            history,
            order,
            placed: vec![false; history.len()],
            completed: 0,
            latest: (0, OpId(0)),
            latest_of: vec![(0, OpId(0)); processes],
        }
    }

    /// Places the next operation, which must be one of the history.
    #[inline]
    pub fn place(&mut self, op: OpId) -> Result<(), Invalid> {
        if std::mem::replace(&mut self.placed[op.index()], true) {
            return Err(Invalid::Repeated(op));
        }
        let call = self.history.call(op);
        let ret = self.history.ret(op);
        self.completed += usize::from(ret.is_some());
        if self.order == Order::RealTime && ret.is_some_and(|ret| ret < self.latest.0) {
            return Err(Invalid::AgainstTime(self.latest.1, op));
        }
        self.latest = self.latest.max((call, op));
        if !self.latest_of.is_empty() && self.order != Order::Nothing {
            let latest = &mut self.latest_of[self.history.process(op).index()];
            if ret.is_some_and(|ret| ret <= latest.0) && op < latest.1 {
                return Err(Invalid::OutOfTurn(latest.1, op));
            }
            *latest = (*latest).max((call, op));
        }
        Ok(())
    }

    /// Checks at the end that every operation that completed was placed.
    pub fn is_complete(&self, happened: impl Fn(OpId) -> bool) -> Result<(), Invalid> {
        let tally = self.history.tally();
        if tally.failed == 0 && self.completed == tally.ok {
            return Ok(());
        }
        let is_missing = |op: &OpId| {
            let completed = self.history.outcome(*op) != Outcome::Pending;
            completed && !self.placed[op.index()] && happened(*op)
        };
        let missing = (0..self.history.len()).map(OpId::from).find(is_missing);
        missing.map_or(Ok(()), |op| Err(Invalid::Missing(op)))
    }
}
