//! The states of the object along the orders that a verdict shows.
//!
//! A person believes an order when they see what each step does. The states are found by replaying
//! the specification over an order that an engine gave: each step leads to the set of states that
//! are possible after it, and all of them are shown. Cost: one step of the specification an
//! operation, up to a limit. Nothing is decided here: where the specification does not allow a
//! step, the states end.

use hashbrown::HashMap;
use seriatim_history::{History, OpId, ValueId};
use seriatim_spec::{Automaton, Cancel, Counterexample, Interpretation, Reader, StateId, Verdict};

/// What the object looks like after each step of a verdict's orders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct States {
    /// For a witness: the state after each of its first steps, of the part that the step acts on.
    pub witness: Vec<String>,
    /// For each attempt of a counterexample: the state after each step; empty for all but the last
    /// few hundred.
    pub attempts: Vec<Vec<String>>,
}

/// The longest text that one state is shown with, in columns.
const LONGEST: usize = 400;
/// The steps at the end of an attempt whose states are shown.
const LAST: usize = 500;
/// The text that the states of one order may take together, in bytes.
const BUDGET: usize = 1 << 18;

impl States {
    /// Replays a verdict's orders; of a witness the first `steps` steps, or fewer where the states
    /// are long. Some thousand steps are plenty for a page.
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
                let states = reading.map(|reading| walk(&history, &reading, order, 0));
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
        let states = walk(&part, &reading, &order, order.len().saturating_sub(LAST).max(skipped));
        states.into_iter().skip(skipped).collect()
    });
    attempts.collect()
}

/// The state after each step, of the object (and key, where all operations have one) that it acts
/// on; empty for the steps before `first`.
fn walk(history: &History, reading: &Interpretation, order: &[OpId], first: usize) -> Vec<String> {
    let alphabet = &reading.alphabet;
    let key_of = |op: OpId| reading.class(op).and_then(|class| alphabet.key(class));
    let is_split = order.iter().all(|&op| key_of(op).is_some());
    let mut automaton = alphabet.automaton(&Cancel::never());
    let initial = automaton.initial();
    let mut parts: HashMap<(ValueId, Option<u64>), Vec<StateId>> = HashMap::new();
    let mut shown = Vec::with_capacity(order.len());
    let mut bytes = 0;
    for (step, &op) in order.iter().enumerate() {
        let Some(class) = reading.class(op) else { break };
        let part = (history.object(op), key_of(op).filter(|_| is_split));
        let before = parts.entry(part).or_insert_with(|| vec![initial]);
        let mut after = Vec::new();
        before.iter().for_each(|&state| automaton.step(state, class, &mut after));
        after.sort_unstable();
        after.dedup();
        if after.is_empty() || bytes > BUDGET {
            break;
        }
        let text = match step < first {
            true => String::new(),
            false => shown_states(automaton.as_ref(), &after),
        };
        bytes += text.len();
        shown.push(text);
        *before = after;
    }
    shown
}

fn shown_states(automaton: &dyn Automaton, states: &[StateId]) -> String {
    let texts: Vec<String> = states.iter().map(|&state| automaton.show(state)).collect();
    crate::text::middle(&texts.join(" or "), LONGEST).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use seriatim_history::{Builder, Call, Horizon, Interval, Return};
    use seriatim_spec::{
        Attempt, ChosenReader, Context, Explanation, Failures, SpecChoice, Witness,
    };

    fn reader() -> ChosenReader {
        let choice = SpecChoice::parse("queue").unwrap();
        ChosenReader { choice, failures: Failures::default() }
    }

    /// A queue into which 0, 1, 2, … are put, one after another.
    fn enqueues(count: u64) -> History {
        let mut builder = Builder::new("");
        let process = builder.process(&1.into());
        let method = builder.method("enq");
        for index in 0..count {
            let arg = builder.values().intern_int(index as i64);
            let interval = Interval { call: index * 2, ret: Some(index * 2 + 1) };
            let call = Call::new(method).arg(arg);
            builder.operation(1, Some(process), call, interval, Return::ok()).unwrap();
        }
        builder.finish().unwrap()
    }

    fn order(range: std::ops::Range<usize>) -> Vec<OpId> {
        range.map(OpId::from).collect()
    }

    #[test]
    fn a_witness_has_the_states_of_its_first_steps() {
        let mut history = enqueues(4);
        let witness = Witness { order: order(0..4) };
        let replayed = seriatim_spec::replay(&mut history, &reader(), witness).unwrap().unwrap();
        let states = States::replay(&history, &reader(), &Verdict::Linearizable(replayed), 3);
        assert_eq!(states.witness, ["[0]", "[0, 1]", "[0, 1, 2]"]);
    }

    #[test]
    fn an_attempt_goes_on_where_its_context_ends_and_shows_its_last_states() {
        let history = enqueues(LAST as u64 + 10);
        let attempt =
            Attempt { order: order(2..history.len()), state: String::new(), stuck: vec![] };
        let short = Attempt { order: order(2..4), ..attempt.clone() };
        let verdict = Verdict::Violation(Counterexample {
            operations: order(2..history.len()),
            horizon: Horizon::Whole,
            context: Some(Context { order: order(0..2), state: "[0, 1]".into() }),
            explanation: Explanation { sentence: String::new(), attempts: vec![attempt, short] },
        });
        let states = States::replay(&history, &reader(), &verdict, 0);
        assert_eq!(states.attempts[1], ["[0, 1, 2]", "[0, 1, 2, 3]"]);
        let long = &states.attempts[0];
        assert_eq!(long.len(), LAST + 8);
        let first_shown = long.iter().position(|state| !state.is_empty());
        assert_eq!(first_shown, Some(8), "only the last states are shown");
        assert!(long[8].starts_with("[0, 1, 2, 3, 4, 5, 6"), "{}", long[8]);
    }
}
