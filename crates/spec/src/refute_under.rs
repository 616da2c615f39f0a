//! The plainest search for an order that need not respect real time: a second opinion on a history
//! that an engine calls a violation even so.
//!
//! It tries everything: from each set of operations that have taken effect and each state that they
//! can leave, every operation that may come next. Under [`Order::Process`] an operation comes after
//! all those that its process completed before it; under [`Order::Skewed`] also after all that
//! returned before it was called; under [`Order::Nothing`] it may come at any time. If no set that holds all completed operations is ever reached, no order explains the
//! history.
//!
//! Nothing is split, neither by key nor by object: sequential consistency is not a local property
//! (Herlihy and Wing 1990, section 3.3).

use crate::Reader;
use crate::replay::{Order, Refutation, State, Tried, after, refute, search_over};
use seriatim_history::{History, InputError, OpId, Outcome};
use seriatim_limits::checkpoint;
use std::collections::HashSet;

/// Searches for an order that explains a history, with that many configurations at most.
pub fn refute_under(
    history: &mut History,
    reader: &dyn Reader,
    order: Order,
    effort: usize,
) -> Result<Refutation, InputError> {
    match order {
        Order::RealTime => refute(history, reader, effort),
        _ => search_over(history, reader, &|history, objects| {
            Everything { history, objects, order }.search(effort)
        }),
    }
}

/// The search over sets of operations.
struct Everything<'h> {
    history: &'h History,
    objects: &'h mut dyn Tried,
    order: Order,
}

impl Everything<'_> {
    fn search(self, effort: usize) -> Refutation {
        let ops = (0..self.history.len()).map(OpId::from);
        let ops: Vec<OpId> = ops.filter(|&op| self.objects.may_happen(op)).collect();
        let start = (vec![false; self.history.len()], State::new());
        let mut seen = HashSet::from([start.clone()]);
        let mut waiting = vec![start];
        while let Some((done, state)) = waiting.pop() {
            if ops.iter().all(|&op| done[op.index()] || !self.is_completed(op)) {
                return Refutation::Contradicted;
            }
            for &op in &ops {
                if done[op.index()] || !self.is_next(op, &ops, &done) {
                    continue;
                }
                let mut done = done.clone();
                done[op.index()] = true;
                for state in after(self.objects, &state, op, self.history.object(op).0) {
                    checkpoint();
                    if seen.len() >= effort {
                        return Refutation::TooLarge;
                    }
                    let next = (done.clone(), state);
                    if seen.insert(next.clone()) {
                        waiting.push(next);
                    }
                }
            }
        }
        Refutation::Confirmed
    }

    fn is_completed(&self, op: OpId) -> bool {
        self.history.outcome(op) != Outcome::Pending
    }

    /// Whether all that has to come before an operation is done.
    fn is_next(&self, op: OpId, ops: &[OpId], done: &[bool]) -> bool {
        let history = self.history;
        let is_over = |other: OpId| history.ret(other).is_some_and(|ret| ret < history.call(op));
        let is_before = |other: OpId| {
            let of_process = other < op && history.process(other) == history.process(op);
            self.is_completed(other) && of_process || self.order == Order::Skewed && is_over(other)
        };
        match self.order {
            Order::Nothing => true,
            _ => ops.iter().all(|&other| !is_before(other) || done[other.index()]),
        }
    }
}
