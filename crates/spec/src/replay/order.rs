//! Whether an order holds the right operations and respects real time and the processes' order, or
//! only what is asked of it.

use crate::Invalid;
use seriatim_history::{History, OpId, Outcome, Time};

/// What an order of operations has to respect, besides the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Order {
    /// Real time: linearizability.
    #[default]
    RealTime,
    /// Real time as far as clocks that differ tell it, and the order of each process, which has one
    /// clock ([`History::keeps_turns`]).
    Skewed,
    /// The order of each process: sequential consistency (Lamport 1979).
    Process,
    /// Nothing.
    Nothing,
}

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
        let is_named = match order {
            Order::Skewed => history.keeps_turns(),
            _ => history.names_processes(),
        };
        let processes = if is_named { history.process_count() } else { 0 };
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
        if matches!(self.order, Order::RealTime | Order::Skewed)
            && ret.is_some_and(|ret| ret < self.latest.0)
        {
            return Err(Invalid::AgainstTime(self.latest.1, op));
        }
        self.latest = self.latest.max((call, op));
        if !self.latest_of.is_empty() && self.order != Order::Nothing {
            let latest = &mut self.latest_of[self.history.process(op).index()];
            let is_over = |ret: Time| ret <= latest.0 || self.order == Order::Skewed;
            if ret.is_some_and(is_over) && op < latest.1 {
                return Err(Invalid::OutOfTurn(latest.1, op));
            }
            *latest = match self.order {
                Order::Skewed => (call, latest.1.max(op)),
                _ => (*latest).max((call, op)),
            };
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
