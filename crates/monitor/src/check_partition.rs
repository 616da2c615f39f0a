//! Trying to refute that a specification may be partitioned.
//!
//! P-compositionality is the specification's promise: operations on different keys are independent.
//! A wrong promise gives wrong verdicts, so it can be put to the test on a history at hand. From
//! states that the history passes through, pairs of its operations on different keys are taken in
//! both orders: both must be possible or impossible alike and lead to the same states. Finding no
//! counterexample proves nothing; finding one disproves the promise.

use seriatim_history::OpId;
use seriatim_limits::InOrder;
use seriatim_limits::checkpoint;
use seriatim_spec::{Automaton, Cancel, ClassId, Interpretation, StateId};

/// Two operations on different keys that are not independent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refutation {
    /// The first operation.
    pub first: OpId,
    /// The second operation.
    pub second: OpId,
    /// The state in which their order matters.
    pub state: String,
}

/// How many states of the history's way are looked at.
const STATES: usize = 2_000;
/// How many operations around a state are paired.
const WINDOW: usize = 12;

/// Looks for two operations whose keys differ and that do not commute.
pub fn refute_partition(reading: &Interpretation) -> Option<Refutation> {
    let operations: Vec<OpId> = reading.operations().collect();
    let mut automaton = reading.alphabet.automaton(&Cancel::never());
    let mut state = automaton.initial();
    let stride = operations.len().div_ceil(STATES).max(1);
    for (index, &op) in operations.iter().enumerate() {
        checkpoint();
        if index % stride == 0 {
            let window = &operations[index..(index + WINDOW).min(operations.len())];
            if let Some(pair) = refuted_pair(reading, &mut *automaton, state, window) {
                let state = automaton.show(state);
                return Some(Refutation { first: pair.0, second: pair.1, state });
            }
        }
        let class = class_of(reading, op);
        if let Some(next) = successors(&mut *automaton, &[state], class).first() {
            state = *next;
        }
    }
    None
}

fn refuted_pair(
    reading: &Interpretation,
    automaton: &mut dyn Automaton,
    state: StateId,
    window: &[OpId],
) -> Option<(OpId, OpId)> {
    for (place, &a) in window.iter().enumerate() {
        for &b in &window[place + 1..] {
            checkpoint();
            let (x, y) = (class_of(reading, a), class_of(reading, b));
            let keys = (reading.alphabet.key(x), reading.alphabet.key(y));
            let differ = matches!(keys, (Some(x), Some(y)) if x != y);
            if differ && !are_independent(automaton, state, x, y) {
                return Some((a, b));
            }
        }
    }
    None
}

/// Whether two classes do not influence each other in a state.
fn are_independent(automaton: &mut dyn Automaton, state: StateId, x: ClassId, y: ClassId) -> bool {
    let after_x = successors(automaton, &[state], x);
    let after_y = successors(automaton, &[state], y);
    let x_then_y = successors(automaton, &after_x, y);
    let y_then_x = successors(automaton, &after_y, x);
    let both_possible = !after_x.is_empty() && !after_y.is_empty();
    x_then_y == y_then_x && both_possible != x_then_y.is_empty()
}

/// The states to which a class leads from some states, sorted.
fn successors(automaton: &mut dyn Automaton, states: &[StateId], class: ClassId) -> Vec<StateId> {
    let mut next = Vec::new();
    for &state in states {
        automaton.step(state, class, &mut next);
    }
    next.put_in_order();
    next.dedup();
    next
}

fn class_of(reading: &Interpretation, op: OpId) -> ClassId {
    reading.class(op).expect("only operations that happened")
}
