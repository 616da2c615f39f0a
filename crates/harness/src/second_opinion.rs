//! The second opinion on a violation, before an object is blamed for it: every order of the
//! operations, tried one after another, on a reading of the history of its own.
//!
//! An operation may come next if no other one that is left returned before it was called;
//! operations that never returned may be left at the end. What was tried (the operations left, the
//! state) is not tried again, which loses nothing. No monitor, no reduction, no splitting by keys.
//! Where the operations are too many for that, the general search decides once more without the
//! monitors, in the direction that it otherwise tries second.

use seriatim_history::{History, InputError, OpId, Outcome};
use seriatim_monitor::{Monitors, Options, Strategy, check};
use seriatim_spec::{Automaton, Cancel, ClassId, Reader, StateId, Verdict};
use std::collections::HashSet;
use std::time::Duration;

/// More operations than this are for the general search.
const FEW: usize = 24;
/// More configurations than this as well.
const MANY: usize = 200_000;
/// The patience of the general search.
const PATIENCE: Duration = Duration::from_secs(10);

/// What the second opinion is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Opinion {
    /// No order explains the history.
    Violation,
    /// One does.
    Linearizable,
    /// It could not be told in time.
    None,
}

/// Judges a history that is said to be a violation.
pub(crate) fn second_opinion(
    history: &mut History,
    reader: &dyn Reader,
) -> Result<Opinion, InputError> {
    if let Some(opinion) = every_order(history, reader)? {
        return Ok(opinion);
    }
    let strategies = vec![Strategy::BreadthFirst];
    let (time, monitors) = (Some(PATIENCE), Monitors::Skip);
    let options = Options { time, threads: 1, monitors, strategies, ..Options::default() };
    Ok(match check(history, reader, &options)?.verdict {
        Verdict::Violation(_) => Opinion::Violation,
        Verdict::Linearizable(_) => Opinion::Linearizable,
        Verdict::Unknown(_) => Opinion::None,
    })
}

/// Tries every order, if that is feasible.
fn every_order(history: &mut History, reader: &dyn Reader) -> Result<Option<Opinion>, InputError> {
    let reading = reader.read(history)?;
    let operations: Vec<(OpId, ClassId)> =
        reading.operations().filter_map(|op| Some((op, reading.class(op)?))).collect();
    if operations.len() > FEW {
        return Ok(None);
    }
    let cancel = Cancel::never();
    let mut automaton = reading.alphabet.automaton(&cancel);
    let initial = automaton.initial();
    let everything = (1_u32 << operations.len()) - 1;
    let mut orders = Orders {
        history,
        operations: &operations,
        automaton: &mut *automaton,
        tried: HashSet::new(),
    };
    Ok(orders.exists(everything, initial).map(|exists| match exists {
        true => Opinion::Linearizable,
        false => Opinion::Violation,
    }))
}

struct Orders<'o> {
    history: &'o History,
    operations: &'o [(OpId, ClassId)],
    automaton: &'o mut dyn Automaton,
    tried: HashSet<(u32, StateId)>,
}

impl Orders<'_> {
    /// Whether the operations that are left have an order from a state; `None` if that is too much.
    fn exists(&mut self, left: u32, state: StateId) -> Option<bool> {
        let places = || (0..self.operations.len()).filter(|place| left & 1 << place != 0);
        let (history, operations) = (self.history, self.operations);
        if places().all(|place| history.outcome(operations[place].0) == Outcome::Pending) {
            return Some(true);
        }
        if !self.tried.insert((left, state)) {
            return Some(false);
        }
        if self.tried.len() > MANY {
            return None;
        }
        for place in places().collect::<Vec<_>>() {
            let (op, class) = operations[place];
            let too_early = |&other: &usize| {
                history.ret(operations[other].0).is_some_and(|ret| ret < history.call(op))
            };
            let remaining = (0..operations.len()).filter(|other| left & 1 << other != 0);
            if remaining.into_iter().any(|other| too_early(&other)) {
                continue;
            }
            let mut next = Vec::new();
            self.automaton.step(state, class, &mut next);
            for after in next {
                if self.exists(left & !(1 << place), after)? {
                    return Some(true);
                }
            }
        }
        Some(false)
    }
}
