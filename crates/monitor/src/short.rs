//! Short recordings, decided before a history is made of them.
//!
//! *Theorem* (Wing & Gong 1993): a history is linearizable iff some operation that no other one
//! precedes may happen first, and what is left is linearizable from the state that it leaves. Hence
//! the search below, which remembers the dead ends that it has met (Lowe 2017). Two steps need a
//! reason. An operation that changes nothing and may happen now may as well happen now: taken out
//! of any order and put first, it is still preceded by nobody and leaves all others as they were.
//! A pending one that changes nothing may be left out, since nobody saw it.
//!
//! Side conditions: at most [`LONGEST`] operations, numbered by their calls, at different moments.
//! The search only says *yes*, with an order that [`replay_timed`] has accepted; it allocates that
//! order, and what it remembers of dead ends. Where it finds no order or takes long, the history is
//! made and checked as every other one, which also says why there is none.

use crate::options::{Monitors, Options};
use hashbrown::HashSet;
use seriatim_history::{OpId, Time};
use seriatim_spec::{
    Checked, DecidedBy, PartStanding, PartVerdict, Spec, Strategy, Timed, Verdict, Witness,
    replay_timed,
};

/// The most operations: as many as a set of them has bits.
pub const LONGEST: usize = u128::BITS as usize;

/// How many steps of the object may be tried; whatever needs more is worth a better search.
const STEPS: usize = 1 << 12;

/// The verdict on a recording, if it is short, is found linearizable, and the caller has not asked
/// for another engine.
pub fn check<S: Spec>(
    spec: &S,
    operations: &[Timed<S::Op, S::Ret>],
    options: &Options<'_>,
) -> Option<Checked> {
    let is_wanted = options.monitors == Monitors::Use
        && options.strategies.contains(&Strategy::DepthFirst)
        && options.cancel.is_none_or(|cancel| cancel.reason().is_none());
    if !is_wanted || operations.len() > LONGEST {
        return None;
    }
    let order = Search::new(spec, operations).run()?;
    let replayed = replay_timed(spec, operations, Witness { order }).ok()?;
    let part = PartVerdict {
        label: String::new(),
        operations: operations.len(),
        standing: PartStanding::Linearizable,
        decided_by: DecidedBy::Search(Strategy::DepthFirst),
        fell_back: None,
    };
    Some(Checked { parts: vec![part], ..Checked::new(Verdict::Linearizable(replayed)) })
}

struct Search<'s, S: Spec> {
    spec: &'s S,
    operations: &'s [Timed<S::Op, S::Ret>],
    /// Those that returned, as a set of bits.
    completed: u128,
    /// What had happened, and the state, from which there is no way on.
    dead_ends: HashSet<(u128, S::State)>,
    order: Vec<OpId>,
    steps_left: usize,
}

impl<'s, S: Spec> Search<'s, S> {
    fn new(spec: &'s S, operations: &'s [Timed<S::Op, S::Ret>]) -> Self {
        let bit = |(at, operation): (usize, &Timed<S::Op, S::Ret>)| {
            u128::from(operation.returned.is_some()) << at
        };
        Search {
            spec,
            operations,
            completed: operations.iter().enumerate().map(bit).fold(0, |all, bit| all | bit),
            dead_ends: HashSet::new(),
            order: Vec::with_capacity(operations.len()),
            steps_left: STEPS,
        }
    }

    fn run(mut self) -> Option<Vec<OpId>> {
        let initial = self.spec.initial();
        self.goes_on(0, &initial).then_some(self.order)
    }

    /// Whether there is an order of what has not happened yet; it is appended.
    fn goes_on(&mut self, happened: u128, state: &S::State) -> bool {
        if self.completed & !happened == 0 {
            return true;
        }
        let all = u128::MAX >> (LONGEST - self.operations.len());
        let mut left = all & !happened;
        let mut first_return = Time::MAX;
        while left != 0 {
            let at = left.trailing_zeros() as usize;
            let operations = self.operations;
            let operation = &operations[at];
            // From here on all are preceded by one that has not happened.
            if operation.call > first_return {
                break;
            }
            left &= left - 1;
            let returned = operation.returned.as_ref();
            first_return = first_return.min(returned.map_or(Time::MAX, |(time, _)| *time));
            let changes_nothing = self.spec.is_read_only(&operation.op, operation.result());
            if changes_nothing && returned.is_none() {
                continue;
            }
            if self.steps_left == 0 {
                return false;
            }
            self.steps_left -= 1;
            let mut is_possible = false;
            for next in self.spec.step(state, &operation.op, operation.result()) {
                is_possible = true;
                if self.leads_on(happened | 1 << at, next, OpId::from(at)) {
                    return true;
                }
            }
            if is_possible && changes_nothing {
                break;
            }
        }
        false
    }

    /// The same after an operation that leads to a state.
    fn leads_on(&mut self, happened: u128, state: S::State, op: OpId) -> bool {
        let configuration = (happened, state);
        if self.dead_ends.contains(&configuration) {
            return false;
        }
        self.order.push(op);
        if self.goes_on(happened, &configuration.1) {
            return true;
        }
        self.order.pop();
        self.dead_ends.insert(configuration);
        false
    }
}
