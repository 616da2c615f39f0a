//! Whether a specification of the user's own is a function of its state.
//!
//! Everything that judges an execution takes for granted that a step from the same state with the
//! same call gives the same answer and the same next state. A model that remembers something
//! outside of its state, looks at the time or draws numbers breaks that, and then any verdict may
//! be wrong. So the calls of an execution are taken through the model again and again, forwards and
//! backwards, and whenever it comes to a state and a call for the second time, it must do as it did
//! the first time. What is found is a fault of the test; finding nothing proves nothing.

use seriatim_history::History;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Arc;

/// How often the calls are gone through in each direction.
const ROUNDS: usize = 2;

/// Looks for a step that is not always the same, on the calls of a history; tells it in words.
pub(crate) type Constancy = Arc<dyn Fn(&History) -> Option<String> + Send + Sync>;

/// What a step did: the answer, and the state after it if there is one.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Taken<A, S> {
    pub answer: A,
    pub after: Option<S>,
}

/// A step that is not always the same, in words.
pub(crate) fn inconstancy<S, C, A>(
    initial: &S,
    calls: &[C],
    step: impl Fn(&S, &C) -> Taken<A, S>,
) -> Option<String>
where
    S: Clone + Eq + Hash + Debug,
    C: Clone + Eq + Hash + Debug,
    A: Clone + PartialEq + Debug,
{
    let mut seen: HashMap<(S, C), Taken<A, S>> = HashMap::new();
    for round in 0..2 * ROUNDS {
        let mut state = initial.clone();
        for place in 0..calls.len() {
            let call = match round < ROUNDS {
                true => &calls[place],
                false => &calls[calls.len() - 1 - place],
            };
            let taken = step(&state, call);
            match seen.entry((state.clone(), call.clone())) {
                Entry::Occupied(before) if *before.get() != taken => {
                    return Some(told(&state, call, before.get(), &taken));
                }
                Entry::Occupied(_) => {}
                Entry::Vacant(place) => _ = place.insert(taken.clone()),
            }
            state = taken.after.unwrap_or(state);
        }
    }
    None
}

fn told<S: PartialEq + Debug, A: PartialEq + Debug>(
    state: &S,
    call: &impl Debug,
    once: &Taken<A, S>,
    again: &Taken<A, S>,
) -> String {
    let (first, second) = match once.answer == again.answer {
        true => (shown(&once.after), shown(&again.after)),
        false => (format!("{:?}", once.answer), format!("{:?}", again.answer)),
    };
    let verb = if once.answer == again.answer { "led to" } else { "gave" };
    format!("in state {state:?} the call {call:?} {verb} {first} once and {second} another time")
}

fn shown<S: Debug>(state: &Option<S>) -> String {
    state.as_ref().map_or("no state".to_owned(), |state| format!("state {state:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn a_step_that_remembers_something_is_told_with_both_answers() {
        let count = Cell::new(0);
        let counts = |(): &(), _: &&str| {
            count.set(count.get() + 1);
            Taken { answer: count.get(), after: Some(()) }
        };
        let told = inconstancy(&(), &["next"], counts).unwrap();
        assert_eq!(told, "in state () the call \"next\" gave 1 once and 2 another time");
        let adds = |sum: &u32, more: &u32| Taken { answer: *sum, after: Some(sum + more) };
        assert_eq!(inconstancy(&0, &[1, 2, 3], adds), None);
    }
}
