//! Each process does one thing after another, also within an instant and from part to part.
//!
//! Where a process calls at the very instant at which it returned, it takes a *turn*, and the first
//! operation comes before the second although their intervals touch. Two operations of one part keep
//! their turn when the part is looked at by itself. A turn that *crosses* from part to part is lost.
//!
//! **Theorem.** If at no instant two processes take turns that cross, the history is linearizable iff
//! each part is. *Proof.* Place the operations of each part at moments within their intervals, in the
//! order that was found for the part. Parts only have to be interleaved where moments are equal, and the
//! only constraints between parts there are the turns of one process: a chain. The order of each part
//! agrees with the chain, since the part knows the order of this process's operations in it. A cycle of
//! parts' orders and the chain would have to go up the chain for ever; so there is none.
//!
//! **Side condition**, checked by [`Turns::take`]: with two processes it fails. Let one go from `a` to `b` and
//! another from `c` to `d` at one instant, `a` and `d` in one part and `b` and `c` in the other: `d` before `a`
//! and `b` before `c` is right for each part and impossible for both. Such a log must not be split.

use crate::record::StreamedOperation;
use crate::split::PartHash;
use seriatim_history::{Outcome, Problem, Time, Value};
use std::collections::HashMap;

/// Where the processes of a log of operations are, as far as it has been read in the order of calls.
#[derive(Default)]
pub struct Turns {
    /// The latest call.
    now: Time,
    /// The process that takes a crossing turn at this instant, if one does.
    crossing: Option<Value>,
    last: HashMap<Value, Last>,
}

/// The last operation of a process.
#[derive(Clone, Copy)]
struct Last {
    call: Time,
    /// `None` if it never returned: then the process is over with it.
    ret: Option<Time>,
    line: u64,
    /// The part of the latest operation that has one.
    part: Option<PartHash>,
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
        let call = told.interval.call;
        let ret = told.interval.ret.filter(|_| told.outcome != Outcome::Pending);
        self.advance(told.caller, Last { call, ret, line: told.line, part })
    }

    fn advance(&mut self, caller: Option<&Value>, next: Last) -> Result<(), Disorder> {
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
        let Some(touches) = last.follow(next) else {
            let (process, open_since) = (caller.to_string(), last.line);
            return Err(Disorder::Busy(Problem::ProcessBusy { process, open_since }));
        };
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
#[derive(Clone, Copy, PartialEq, Eq)]
enum Touches {
    No,
    InOnePart,
    OfTwoParts,
}

impl Last {
    /// Goes on to the next operation; `None` if the last one is still open.
    fn follow(&mut self, next: Last) -> Option<Touches> {
        let is_turn = self.ret == Some(next.call);
        // Lines come in any order: one that takes no time was first though it is read later.
        let was_first = self.call == next.call && next.ret == Some(next.call) && !is_turn;
        let is_open = self.ret.is_some_and(|ret| ret > next.call);
        if is_open && !was_first {
            return None;
        }
        let touches = match (is_turn || (was_first && is_open), self.part, next.part) {
            (false, ..) => Touches::No,
            (true, Some(before), Some(after)) if before != after => Touches::OfTwoParts,
            (true, ..) => Touches::InOnePart,
        };
        let part = match touches {
            // An operation that counts for nothing hands the turn on.
            Touches::No => next.part,
            _ => next.part.or(self.part),
        };
        *self = match is_open {
            true => Last { part, ..*self },
            false => Last { part, ..next },
        };
        Some(touches)
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
            let next = Last { call, ret: Some(ret), line: 1, part };
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
