//! Each process does one thing after another, also within an instant and from part to part.
//!
//! Where a process calls at the very instant at which it returned, it takes a *turn*, and the first
//! operation comes before the second although their intervals touch. Two operations of one part
//! keep their turn when the part is looked at by itself. A turn that *crosses* from part to part is
//! lost.
//!
//! **Theorem.** If at no instant two processes take turns that cross, the history is linearizable
//! iff each part is. *Proof.* Place the operations of each part at moments within their intervals,
//! in the order that was found for the part. Parts only have to be interleaved where moments are
//! equal, and the only constraints between parts there are the turns of one process: a chain. The
//! order of each part agrees with the chain, since the part knows the order of this process's
//! operations in it. A cycle of parts' orders and the chain would have to go up the chain for ever;
//! so there is none. (An operation that the process gave up, and left pending, ends its chain:
//! nothing of the process comes after it, and a cycle would go up all the same.)
//!
//! **Side condition**, checked by [`Turns::take`]: with two processes it fails. Let one go from `a`
//! to `b` and another from `c` to `d` at one instant, `a` and `d` in one part and `b` and `c` in
//! the other: `d` before `a` and `b` before `c` is right for each part and impossible for both.
//! Such a log must not be split. [`Turns`] sees all of a log in the order of calls; the cluster,
//! whose readers see a share each, puts the [`Step`]s of each process together.

use crate::record::StreamedOperation;
use crate::split::PartHash;
use seriatim_history::{Outcome, Problem, Time, Value};
use std::collections::HashMap;

/// Where the processes of a log of operations are, as far as it has been read in the order of
/// calls.
#[derive(Default)]
pub struct Turns {
    /// The latest call.
    now: Time,
    /// The process that takes a crossing turn at this instant, if one does.
    crossing: Option<Value>,
    last: HashMap<Value, Step>,
}

/// An operation of a process, as far as turns depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// When it was called.
    pub call: Time,
    /// When it returned; `None` if it never did: then the process is over with it.
    pub ret: Option<Time>,
    /// Its line.
    pub line: u64,
    /// Its part, if it counts at all.
    pub part: Option<PartHash>,
}

/// What is wrong with the order of a log.
#[derive(Debug)]
pub enum Disorder {
    /// An operation is called before one that was read earlier.
    Unsorted,
    /// A process does two things at a time.
    Busy(Problem),
    /// Two processes take turns from part to part at one instant.
    Crossing,
}

impl Turns {
    /// Takes the next operation, with its part if it counts at all.
    pub fn take(
        &mut self,
        told: &StreamedOperation<'_>,
        part: Option<PartHash>,
    ) -> Result<(), Disorder> {
        self.advance(told.caller, Step::of(told, part))
    }

    fn advance(&mut self, caller: Option<&Value>, next: Step) -> Result<(), Disorder> {
        if next.call < self.now {
            return Err(Disorder::Unsorted);
        }
        if next.call > self.now {
            (self.now, self.crossing) = (next.call, None);
        }
        let Some(caller) = caller else { return Ok(()) };
        let Some(last) = self.last.get_mut(caller) else {
            self.last.insert(caller.clone(), next);
            return Ok(());
        };
        let touches = last.follow(next).map_err(|busy| Disorder::Busy(busy.of(caller)))?;
        match &self.crossing {
            _ if touches != Touches::OfTwoParts => Ok(()),
            Some(other) if other != caller => Err(Disorder::Crossing),
            Some(_) => Ok(()),
            None => {
                self.crossing = Some(caller.clone());
                Ok(())
            }
        }
    }
}

/// Whether a process takes a turn from one operation to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touches {
    /// No: time passes in between.
    No,
    /// Yes, and both belong to one part, or one of them to none.
    InOnePart,
    /// Yes, from part to part.
    OfTwoParts,
}

/// A process calls while an operation of its own is open, of this line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Busy(u64);

impl Busy {
    /// The problem, for people.
    pub fn of(self, process: &Value) -> Problem {
        Problem::ProcessBusy { process: process.to_string(), open_since: self.0 }
    }
}

impl Step {
    /// The step that an operation is.
    pub fn of(told: &StreamedOperation<'_>, part: Option<PartHash>) -> Self {
        let ret = told.interval.ret.filter(|_| told.outcome != Outcome::Pending);
        Step { call: told.interval.call, ret, line: told.line, part }
    }

    /// Goes on to the next operation of the process, which is not called earlier than this one. One
    /// that is pending was given up: what comes next follows the last that returned.
    pub fn follow(&mut self, next: Step) -> Result<Touches, Busy> {
        let Some(ret) = self.ret else {
            *self = next;
            return Ok(Touches::No);
        };
        let is_turn = ret == next.call;
        // Lines come in any order: one that takes no time, or was given up, may have been first
        // though it is read later.
        let is_brief = next.ret.is_none_or(|ret| ret == next.call);
        let was_first = ret > next.call && self.call == next.call && is_brief;
        if ret > next.call && !was_first {
            return Err(Busy(self.line));
        }
        let touches = match (is_turn || was_first, self.part, next.part) {
            (false, ..) => Touches::No,
            (true, Some(before), Some(after)) if before != after => Touches::OfTwoParts,
            (true, ..) => Touches::InOnePart,
        };
        let part = match touches {
            // An operation that counts for nothing hands the turn on.
            Touches::No => next.part,
            _ => next.part.or(self.part),
        };
        *self = match was_first || next.ret.is_none() {
            true => Step { part: self.part.or(part), ..*self },
            false => Step { part, ..next },
        };
        Ok(touches)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What becomes of operations `(process, call, return, part)`; part 0 is none.
    fn read(operations: &[(i64, Time, Time, u64)]) -> Result<(), Disorder> {
        let mut turns = Turns::default();
        operations.iter().try_for_each(|&(process, call, ret, part)| {
            let part = (part > 0).then_some(PartHash(part));
            let next = Step { call, ret: Some(ret), line: 1, part };
            turns.advance(Some(&Value::Int(process)), next)
        })
    }

    #[test]
    fn only_two_processes_that_cross_at_one_instant_forbid_to_split() {
        let other = [(1, 1, 2, 8), (1, 2, 3, 7)];
        let with = |mine: [(i64, Time, Time, u64); 2]| {
            let mut all = [mine, other].concat();
            all.sort_by_key(|operation| operation.1);
            read(&all)
        };
        assert!(matches!(with([(0, 1, 2, 7), (0, 2, 3, 8)]), Err(Disorder::Crossing)));
        with([(0, 1, 2, 7), (0, 2, 3, 7)]).expect("a turn within a part");
        with([(0, 1, 2, 7), (0, 3, 3, 8)]).expect("no turn");
        read(&[(0, 1, 2, 7), (0, 2, 2, 8), (0, 2, 3, 7)]).expect("one process");
    }

    #[test]
    fn an_operation_that_counts_for_nothing_hands_the_turn_on() {
        let all = [(0, 1, 2, 7), (1, 1, 2, 8), (0, 2, 2, 0), (0, 2, 3, 8), (1, 2, 3, 7)];
        assert!(matches!(read(&all), Err(Disorder::Crossing)));
    }

    #[test]
    fn of_operations_that_are_called_together_those_that_take_no_time_may_be_read_last() {
        read(&[(0, 1, 2, 7), (0, 1, 1, 7), (0, 1, 1, 7), (0, 2, 3, 7)]).expect("one at a time");
        assert!(matches!(read(&[(0, 1, 2, 7), (0, 1, 2, 7)]), Err(Disorder::Busy(_))));
        assert!(matches!(read(&[(0, 1, 3, 7), (0, 2, 2, 7)]), Err(Disorder::Busy(_))));
        let all = [(0, 1, 2, 7), (1, 1, 2, 8), (0, 1, 1, 8), (1, 1, 1, 7)];
        assert!(matches!(read(&all), Err(Disorder::Crossing)));
    }
}
