//! Calls that wait for ever although the specification would let them go on.
//!
//! A call that may wait does so rightly as long as its specification has no step for it: `acquire`
//! while there is no permit. When nothing else can happen any more, the object is in a state that
//! the other calls explain; if in every such state each call that still waits could take its step,
//! nobody woke them. One of them that has to wait is enough: an object may be fair, and let others
//! wait behind it (a reader behind a writer that waits, one permit behind two). Whether an operation waits at all in a specification shows in the states that
//! were looked at: one that always has a step there (a `dequeue` that would return nothing) waits
//! for reasons that the specification does not know, and nothing is said of it.

use seriatim_history::{History, InputError, OpId, Outcome};
use seriatim_spec::{Automaton, Cancel, ClassId, Reader, StateId};
use std::collections::HashSet;

/// More operations than this are not looked at, nor more configurations.
const FEW: usize = 24;
const MANY: usize = 200_000;

/// What is known of the calls that wait at the end of an execution.
#[derive(Default)]
pub(crate) struct Waiting {
    /// Those that have to wait in some state that was looked at.
    pub waited: Vec<OpId>,
    /// Whether in some state at the end one of them has to wait.
    pub rightly: bool,
}

/// Looks at the calls that wait at the end of a history; `None` if that is too much.
pub(crate) fn waiting(
    history: &mut History,
    reader: &dyn Reader,
    stuck: &[OpId],
) -> Result<Option<Waiting>, InputError> {
    let reading = reader.read(history)?;
    let class = |op: OpId| reading.class(op).map(|class| (op, class));
    let (stuck, others): (Vec<_>, Vec<_>) =
        reading.operations().filter_map(class).partition(|(op, _)| stuck.contains(op));
    if stuck.is_empty() || stuck.len() + others.len() > FEW {
        return Ok(None);
    }
    // A call that waits may have done its part already, but that is believed only if the answers
    // of the others cannot be explained otherwise.
    for effects in 0..=stuck.len() as u32 {
        let mut seen = Waiting::default();
        let mut explained = false;
        for subset in (0_u32..1 << stuck.len()).filter(|subset| subset.count_ones() == effects) {
            let is_in = |place: usize| subset & 1 << place != 0;
            let took = stuck.iter().enumerate().filter(|(place, _)| is_in(*place));
            let operations: Vec<_> = others.iter().chain(took.map(|(_, op)| op)).copied().collect();
            let waits = stuck.iter().enumerate().filter(|(place, _)| !is_in(*place));
            let waits: Vec<_> = waits.map(|(_, op)| *op).collect();
            let must = others.len() as u32;
            let cancel = Cancel::never();
            let mut automaton = reading.alphabet.automaton(&cancel);
            let initial = automaton.initial();
            let everything = (1_u32 << operations.len()) - 1;
            let mut orders = Orders {
                history,
                operations: &operations,
                waits: &waits,
                must: (1_u32 << must) - 1,
                automaton: &mut *automaton,
                tried: HashSet::new(),
                explained: false,
                seen: &mut seen,
            };
            if orders.look(everything, initial).is_none() {
                return Ok(None);
            }
            explained |= orders.explained;
        }
        if explained {
            return Ok(Some(seen));
        }
    }
    Ok(None)
}

struct Orders<'o> {
    history: &'o History,
    operations: &'o [(OpId, ClassId)],
    /// The calls that still wait at the end.
    waits: &'o [(OpId, ClassId)],
    /// The operations that are not calls that wait.
    must: u32,
    automaton: &'o mut dyn Automaton,
    tried: HashSet<(u32, StateId)>,
    explained: bool,
    seen: &'o mut Waiting,
}

impl Orders<'_> {
    /// Looks at every state that the operations that are left can lead to; `None` if there are too
    /// many.
    fn look(&mut self, left: u32, state: StateId) -> Option<()> {
        if !self.tried.insert((left, state)) {
            return Some(());
        }
        if self.tried.len() > MANY {
            return None;
        }
        let disabled = self.disabled(state);
        let (history, operations) = (self.history, self.operations);
        let is_left = |place: &usize| left & 1 << place != 0;
        let may_stay = |place: usize| {
            self.must & 1 << place != 0 && history.outcome(operations[place].0) == Outcome::Pending
        };
        if (0..operations.len()).filter(is_left).all(may_stay) {
            self.explained = true;
            self.seen.rightly |= disabled > 0 || self.waits.is_empty();
        }
        for place in (0..operations.len()).filter(is_left) {
            let (op, class) = operations[place];
            let too_early = |other: usize| {
                history.ret(operations[other].0).is_some_and(|ret| ret < history.call(op))
            };
            if (0..operations.len()).filter(is_left).any(too_early) {
                continue;
            }
            let mut next = Vec::new();
            self.automaton.step(state, class, &mut next);
            for after in next {
                self.look(left & !(1 << place), after)?;
            }
        }
        Some(())
    }

    /// The number of calls that have to wait in a state.
    fn disabled(&mut self, state: StateId) -> usize {
        let mut count = 0;
        for &(op, class) in self.waits {
            let mut next = Vec::new();
            self.automaton.step(state, class, &mut next);
            if next.is_empty() {
                count += 1;
                if !self.seen.waited.contains(&op) {
                    self.seen.waited.push(op);
                }
            }
        }
        count
    }
}
