//! The plainest search for an order: a second opinion on a history that an engine calls a
//! violation.
//!
//! It follows the events in time and keeps every *configuration* that is possible so far: which of
//! the operations that are open have taken effect, and the state of the objects. Before an
//! operation returns, configurations in which it has not taken effect try all ways to let open
//! operations take effect, one after another, until it has. If none is left, no order explains the
//! history.
//!
//! **Theorem.** After each event the configurations are exactly those that some order of operations
//! reaches which fits the log so far; so the history up to an event is linearizable exactly if
//! there is one. (By induction over the events: an operation takes effect between its call and its
//! return, and it does no harm to let it wait until some return needs it.) Nothing is taken out,
//! ordered in advance or remembered besides the set itself, and objects are the plain ones of the
//! [replay](super).
//!
//! The work is bounded by a number of configurations, not by time, so that the answer is the same
//! on every machine.

use super::record::Record;
use super::{
    Model, Player, Tables, Visitor, intern_items, intern_parameters, successors, with_model,
};
use crate::{Automaton, Cancel, ChosenReader, Interpretation, Reader, StateId};
use hashbrown::HashSet;
use seriatim_history::{History, InputError, OpId, Time};
use seriatim_limits::checkpoint;
use std::collections::BTreeMap;
use std::hash::Hash;

/// What the second opinion is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refutation {
    /// No order explains the history.
    Confirmed,
    /// Some order does.
    Contradicted,
    /// It would take more configurations than were allowed.
    TooLarge,
}

/// Searches for an order that explains a history, with that many configurations at most.
pub fn refute(
    history: &mut History,
    reader: &dyn Reader,
    effort: usize,
) -> Result<Refutation, InputError> {
    search_over(history, reader, Events(effort))
}

/// A search for an order, over objects of whichever kind.
pub(crate) trait Search: Copy {
    fn run<O: Objects>(self, history: &History, objects: O) -> Refutation;
}

/// Runs a search over the objects of a history: the plain ones of the replay, or the user's own.
pub(crate) fn search_over(
    history: &mut History,
    reader: &dyn Reader,
    search: impl Search,
) -> Result<Refutation, InputError> {
    if let Some(chosen) = reader.chosen() {
        intern_parameters(history, chosen.choice.parameters());
        let over = OverModel { history, reader: chosen, search };
        if let Some(refutation) = with_model(chosen.choice.name(), over) {
            return Ok(refutation);
        }
    }
    let reading = reader.read(history)?;
    let automaton = reading.alphabet.automaton(&Cancel::never());
    Ok(search.run(history, Own { history, reading: &reading, automaton }))
}

struct OverModel<'r, S> {
    history: &'r mut History,
    reader: &'r ChosenReader,
    search: S,
}

impl<S: Search> Visitor for OverModel<'_, S> {
    type Answer = Refutation;

    fn visit<M: Model>(self) -> Refutation {
        intern_items::<M>(self.history);
        let history = &*self.history;
        self.search.run(history, Player::<M>::with_tables(history, self.reader, Tables::Sparse))
    }
}

/// The search along the events.
#[derive(Clone, Copy)]
struct Events(usize);

impl Search for Events {
    fn run<O: Objects>(self, history: &History, objects: O) -> Refutation {
        Sweep { history, objects, open: Vec::new(), left: self.0 }.run()
    }
}

/// Objects whose operations can be tried.
pub(crate) trait Objects {
    /// What one object is like.
    type One: Clone + Eq + Hash;

    fn history(&self) -> &History;

    /// Whether an operation happened, or may have happened.
    fn may_happen(&self, op: OpId) -> bool;

    /// What an object is like after an operation that fits the log; `None`: nothing happened to it
    /// so far.
    fn after_one(&mut self, before: Option<&Self::One>, op: OpId) -> Vec<Self::One>;

    /// The states after an operation that fits the log.
    fn after(&mut self, state: &State<Self::One>, op: OpId) -> Vec<State<Self::One>> {
        let object = self.history().object(op).0;
        let with = |after: Self::One| {
            let mut all = state.clone();
            all.insert(object, after);
            all
        };
        self.after_one(state.get(&object), op).into_iter().map(with).collect()
    }
}

/// The objects that something happened to.
pub(crate) type State<One> = BTreeMap<u32, One>;

impl<M: Model> Objects for Player<'_, M> {
    type One = M;

    fn history(&self) -> &History {
        self.history
    }

    fn may_happen(&self, op: OpId) -> bool {
        self.happened(op)
    }

    fn after_one(&mut self, before: Option<&M>, op: OpId) -> Vec<M> {
        let Some(verb) = self.verbs[self.history.method(op).index()] else { return Vec::new() };
        let record: Record<'_> = super::read(self.history, op, self.history.outcome(op));
        // Nothing is played here: what is there is the start.
        let (super::Objects::One(start) | super::Objects::Many(_, start)) = &self.objects;
        successors(before.unwrap_or(start), verb, &record)
    }
}

/// Objects of a specification of the user's own.
struct Own<'r> {
    history: &'r History,
    reading: &'r Interpretation,
    automaton: Box<dyn Automaton + 'r>,
}

impl Objects for Own<'_> {
    type One = StateId;

    fn history(&self) -> &History {
        self.history
    }

    fn may_happen(&self, op: OpId) -> bool {
        self.reading.class(op).is_some()
    }

    fn after_one(&mut self, before: Option<&StateId>, op: OpId) -> Vec<StateId> {
        let Some(class) = self.reading.class(op) else { return Vec::new() };
        let before = before.copied().unwrap_or_else(|| self.automaton.initial());
        let mut next = Vec::new();
        self.automaton.step(before, class, &mut next);
        next
    }
}

/// What may have happened so far.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Configuration<One> {
    /// The open operations that have taken effect, in ascending order.
    done: Vec<OpId>,
    state: State<One>,
}

impl<One> Configuration<One> {
    fn has(&self, op: OpId) -> bool {
        self.done.binary_search(&op).is_ok()
    }
}

struct Sweep<'h, O: Objects> {
    history: &'h History,
    objects: O,
    open: Vec<OpId>,
    left: usize,
}

impl<O: Objects> Sweep<'_, O> {
    fn run(mut self) -> Refutation {
        let mut possible = vec![Configuration { done: Vec::new(), state: State::new() }];
        for (_, is_return, op) in self.events() {
            if !is_return {
                self.open.push(op);
                continue;
            }
            let Some(next) = self.settle(possible, op) else { return Refutation::TooLarge };
            if next.is_empty() {
                return Refutation::Confirmed;
            }
            self.open.retain(|&other| other != op);
            possible = next;
        }
        Refutation::Contradicted
    }

    /// Calls and returns in the order of time. At one moment all calls come first: operations that
    /// touch overlap.
    fn events(&self) -> Vec<(Time, bool, OpId)> {
        let ops = (0..self.history.len()).map(OpId::from);
        let ops = ops.filter(|&op| self.objects.may_happen(op));
        let mut events: Vec<(Time, bool, OpId)> = Vec::new();
        for op in ops {
            events.push((self.history.call(op), false, op));
            events.extend(self.history.ret(op).map(|ret| (ret, true, op)));
        }
        events.sort_unstable();
        events
    }

    /// The configurations in which an operation has taken effect, which then is over; `None` if
    /// there were too many.
    fn settle(
        &mut self,
        possible: Vec<Configuration<O::One>>,
        due: OpId,
    ) -> Option<Vec<Configuration<O::One>>> {
        let mut settled: HashSet<Configuration<O::One>> = HashSet::new();
        let mut seen: HashSet<Configuration<O::One>> = HashSet::new();
        let mut waiting = possible;
        while let Some(mut configuration) = waiting.pop() {
            checkpoint();
            if configuration.has(due) {
                configuration.done.retain(|&other| other != due);
                settled.insert(configuration);
                continue;
            }
            if !seen.insert(configuration.clone()) {
                continue;
            }
            for next in self.steps(&configuration) {
                self.left = self.left.checked_sub(1)?;
                waiting.push(next);
            }
        }
        Some(settled.into_iter().collect())
    }

    /// The configurations after one more open operation has taken effect.
    fn steps(&mut self, from: &Configuration<O::One>) -> Vec<Configuration<O::One>> {
        let mut next = Vec::new();
        for op in self.open.clone() {
            if from.has(op) || self.is_too_early(op, from) {
                continue;
            }
            for state in self.objects.after(&from.state, op) {
                checkpoint();
                let mut done = from.done.clone();
                done.push(op);
                done.sort_unstable();
                next.push(Configuration { done, state });
            }
        }
        next
    }

    /// Whether an earlier operation of the same process, which returned at the very moment of this
    /// one's call, has not taken effect yet.
    fn is_too_early(&self, op: OpId, from: &Configuration<O::One>) -> bool {
        let history = self.history;
        history.names_processes()
            && self.open.iter().any(|&other| {
                other < op
                    && history.ret(other).is_some_and(|ret| ret <= history.call(op))
                    && history.process(other) == history.process(op)
                    && !from.has(other)
            })
    }
}
