//! The states of the object along the orders that a verdict shows.
//!
//! A person believes an order when they see what each step does. The states are found by replaying
//! the specification over an order that an engine gave: each step leads to the set of states that are
//! possible after it, and all of them are shown. Cost: one step of the specification an operation, up
//! to a limit. Nothing is decided here: where the specification does not allow a step, the states end.

use hashbrown::HashMap;
use seriatim_history::{History, OpId, ValueId};
use seriatim_spec::{Cancel, Counterexample, Interpretation, Reader, StateId, Verdict};

/// What the object looks like after each step of a verdict's orders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct States {
    /// For a witness: the state after each of its first steps, of the part that the step acts on.
    pub witness: Vec<String>,
    /// For each attempt of a counterexample: the state after each step.
    pub attempts: Vec<Vec<String>>,
}

/// At most as much text as one state is shown with, in bytes.
const LONGEST: usize = 400;

impl States {
    /// Replays a verdict's orders; of a witness the first `steps` steps.
    pub fn replay(
        history: &History,
        reader: &dyn Reader,
        verdict: &Verdict,
        steps: usize,
    ) -> States {
        match verdict {
            Verdict::Linearizable(witness) => {
                let order = &witness.order[..witness.order.len().min(steps)];
                let mut history = history.clone();
                let reading = reader.read(&mut history);
                let states = reading.map(|reading| walk(&history, &reading, order));
                States { witness: states.unwrap_or_default(), attempts: Vec::new() }
            }
            Verdict::Violation(counterexample) => {
                States { witness: Vec::new(), attempts: attempts(history, reader, counterexample) }
            }
            Verdict::Unknown(_) => States::default(),
        }
    }
}

fn attempts(
    history: &History,
    reader: &dyn Reader,
    counterexample: &Counterexample,
) -> Vec<Vec<String>> {
    let context = counterexample.context.iter().flat_map(|context| &context.order).copied();
    let mut operations: Vec<OpId> =
        context.clone().chain(counterexample.operations.iter().copied()).collect();
    operations.sort_unstable();
    operations.dedup();
    // What returns after the horizon is pending here, as it was for the engine.
    let mut part = history.restricted(&operations, counterexample.horizon);
    let Ok(reading) = reader.read(&mut part) else { return Vec::new() };
    let place = |op: OpId| operations.binary_search(&op).ok().map(OpId::from);
    let skipped = context.clone().count();
    let attempts = counterexample.explanation.attempts.iter().map(|attempt| {
        let order: Vec<OpId> =
            context.clone().chain(attempt.order.iter().copied()).filter_map(place).collect();
        let states = walk(&part, &reading, &order);
        states.into_iter().skip(skipped).collect()
    });
    attempts.collect()
}

/// The state after each step, of the object (and key, where all operations have one) that it acts on.
fn walk(history: &History, reading: &Interpretation, order: &[OpId]) -> Vec<String> {
    let alphabet = &reading.alphabet;
    let key_of = |op: OpId| reading.class(op).and_then(|class| alphabet.key(class));
    let is_split = order.iter().all(|&op| key_of(op).is_some());
    let mut automaton = alphabet.automaton(&Cancel::never());
    let initial = automaton.initial();
    let mut parts: HashMap<(ValueId, Option<u64>), Vec<StateId>> = HashMap::new();
    let mut shown = Vec::with_capacity(order.len());
    for &op in order {
        let Some(class) = reading.class(op) else { break };
        let part = (history.object(op), key_of(op).filter(|_| is_split));
        let before = parts.entry(part).or_insert_with(|| vec![initial]);
        let mut after = Vec::new();
        before.iter().for_each(|&state| automaton.step(state, class, &mut after));
        after.sort_unstable();
        after.dedup();
        if after.is_empty() {
            break;
        }
        let states: Vec<String> = after.iter().map(|&state| automaton.show(state)).collect();
        shown.push(crate::text::shortened(&states.join(" or "), LONGEST));
        *before = after;
    }
    shown
}
