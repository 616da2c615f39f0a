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
//!
//! **What would make it unsound**: a state that equals another one from which something else is
//! possible. States are whole models, compared as such (`One`); they are behind a pointer only so that the
//! searches are compiled once.

use super::record::Record;
use super::{
    Model, Player, Tables, Visitor, intern_items, intern_parameters, successors, with_model,
};
use crate::{Automaton, Cancel, ChosenReader, Interpretation, Reader, StateId};
use hashbrown::HashSet;
use seriatim_history::{History, InputError, OpId, Time};
use seriatim_limits::checkpoint;
use std::any::Any;
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

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
    search_over(history, reader, &|history, objects| {
        Sweep { history, objects, open: Vec::new(), left: effort }.run()
    })
}

/// A search for an order. It is compiled once, not for each kind of object.
pub(crate) type Search<'s> = &'s dyn Fn(&History, &mut dyn Objects) -> Refutation;

/// Runs a search over the objects of a history: the plain ones of the replay, or the user's own.
pub(crate) fn search_over(
    history: &mut History,
    reader: &dyn Reader,
    search: Search<'_>,
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
    Ok(search(history, &mut Own { reading: &reading, automaton }))
}

struct OverModel<'r> {
    history: &'r mut History,
    reader: &'r ChosenReader,
    search: Search<'r>,
}

impl Visitor for OverModel<'_> {
    type Answer = Refutation;

    fn visit<M: Model>(self) -> Refutation {
        intern_items::<M>(self.history);
        let history = &*self.history;
        let mut player = Player::<M>::with_tables(history, self.reader, Tables::Sparse);
        (self.search)(history, &mut player)
    }
}

/// Objects whose operations can be tried.
pub(crate) trait Objects {
    /// Whether an operation happened, or may have happened.
    fn may_happen(&self, op: OpId) -> bool;

    /// What an object is like after an operation that fits the log; `None`: nothing happened to it
    /// so far.
    fn after_one(&mut self, before: Option<&One>, op: OpId) -> Vec<One>;
}

/// The states after an operation on object `at` that fits the log.
pub(crate) fn after(objects: &mut dyn Objects, state: &State, op: OpId, at: u32) -> Vec<State> {
    let with = |one| {
        let mut all = state.clone();
        all.insert(at, one);
        all
    };
    objects.after_one(state.get(&at), op).into_iter().map(with).collect()
}

/// The objects that something happened to.
pub(crate) type State = BTreeMap<u32, One>;

/// What one object is like.
#[derive(Clone)]
pub(crate) struct One(Rc<dyn Like>);

/// What is compared only with its own kind.
trait Like: Any {
    fn is(&self, other: &dyn Any) -> bool;
    fn mark(&self, hasher: &mut dyn Hasher);
}

impl<T: Any + Eq + Hash> Like for T {
    fn is(&self, other: &dyn Any) -> bool {
        other.downcast_ref() == Some(self)
    }

    fn mark(&self, mut hasher: &mut dyn Hasher) {
        self.hash(&mut hasher);
    }
}

impl PartialEq for One {
    fn eq(&self, other: &One) -> bool {
        self.0.is(&*other.0)
    }
}

impl Eq for One {}

impl Hash for One {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.0.mark(hasher);
    }
}

impl One {
    fn read<T: Any>(&self) -> &T {
        let state: &dyn Any = &*self.0;
        state.downcast_ref().expect("all states of an object are of one kind")
    }
}

impl<M: Model> Objects for Player<'_, M> {
    fn may_happen(&self, op: OpId) -> bool {
        self.happened(op)
    }

    fn after_one(&mut self, before: Option<&One>, op: OpId) -> Vec<One> {
        let Some(verb) = self.verbs[self.history.method(op).index()] else { return Vec::new() };
        let record: Record<'_> = super::read(self.history, op, self.history.outcome(op));
        // Nothing is played here: what is there is the start.
        let (super::Objects::One(start) | super::Objects::Many(_, start)) = &self.objects;
        let all = successors(before.map_or(start, One::read), verb, &record);
        all.into_iter().map(|state| One(Rc::new(state))).collect()
    }
}

/// Objects of a specification of the user's own.
struct Own<'r> {
    reading: &'r Interpretation,
    automaton: Box<dyn Automaton + 'r>,
}

impl Objects for Own<'_> {
    fn may_happen(&self, op: OpId) -> bool {
        self.reading.class(op).is_some()
    }

    fn after_one(&mut self, before: Option<&One>, op: OpId) -> Vec<One> {
        let Some(class) = self.reading.class(op) else { return Vec::new() };
        let before = before.map_or_else(|| self.automaton.initial(), |state| *state.read());
        let mut next: Vec<StateId> = Vec::new();
        self.automaton.step(before, class, &mut next);
        next.into_iter().map(|state| One(Rc::new(state))).collect()
    }
}

/// What may have happened so far.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Configuration {
    /// The open operations that have taken effect, in ascending order.
    done: Vec<OpId>,
    state: State,
}

impl Configuration {
    fn has(&self, op: OpId) -> bool {
        self.done.binary_search(&op).is_ok()
    }
}

struct Sweep<'h> {
    history: &'h History,
    objects: &'h mut dyn Objects,
    open: Vec<OpId>,
    left: usize,
}

impl Sweep<'_> {
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
    fn settle(&mut self, possible: Vec<Configuration>, due: OpId) -> Option<Vec<Configuration>> {
        let mut settled: HashSet<Configuration> = HashSet::new();
        let mut seen: HashSet<Configuration> = HashSet::new();
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
    fn steps(&mut self, from: &Configuration) -> Vec<Configuration> {
        let mut next = Vec::new();
        for op in self.open.clone() {
            if from.has(op) || self.is_too_early(op, from) {
                continue;
            }
            for state in after(self.objects, &from.state, op, self.history.object(op).0) {
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
    fn is_too_early(&self, op: OpId, from: &Configuration) -> bool {
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
