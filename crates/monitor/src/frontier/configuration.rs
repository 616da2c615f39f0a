//! One way in which everything so far may have happened, and sets of such ways.

use super::path::Path;
use hashbrown::HashMap;
use seriatim_history::{OpId, ValueId};
use seriatim_persistent::Map;
use seriatim_spec::live::{Live, Named};
use std::hash::Hash;

/// The answers that open operations could have given without changing anything, by operation; only
/// some.
type Noted<A> = Vec<(OpId, Answers<A>)>;

/// The answers that an operation could have given, each with the number of changes after which it
/// could first be given. Configurations that come from the same one share them.
#[derive(Clone)]
pub struct Answers<A> {
    after: Map<A, u64>,
    /// The least number of changes.
    first: u64,
    weight: usize,
}

impl<A: Ord + Hash + Clone> Answers<A> {
    /// The answers and how many changes there were before each.
    pub fn iter(&self) -> impl Iterator<Item = (&A, &u64)> {
        self.after.iter()
    }

    fn has(&self, answer: &A) -> bool {
        self.after.get(answer).is_some()
    }
}

/// The open operations that have changed the state, in ascending order, with their answers; `None`
/// where nobody will ever ask.
type Changes<A> = Vec<(OpId, Option<A>)>;

/// One way in which everything so far may have happened.
pub struct Configuration<L: Live> {
    /// The state of the object.
    pub state: L::State,
    /// What has changed it and is open.
    pub changes: Changes<L::Answer>,
    /// What the other open operations could have answered.
    pub noted: Noted<L::Answer>,
    /// How it came about.
    pub path: Path,
}

impl<L: Live> Clone for Configuration<L> {
    fn clone(&self) -> Self {
        let (changes, noted) = (self.changes.clone(), self.noted.clone());
        Configuration { state: self.state.clone(), changes, noted, path: self.path.clone() }
    }
}

impl<L: Live> Configuration<L> {
    /// Nothing has happened.
    pub fn first(state: L::State) -> Self {
        let (changes, noted, path) = (Vec::new(), Vec::new(), Path::default());
        Configuration { state, changes, noted, path }
    }

    pub fn has_changed(&self, op: OpId) -> bool {
        self.changes.binary_search_by_key(&op, |change| change.0).is_ok()
    }

    /// The answers that are noted for an operation.
    pub fn noted(&self, op: OpId) -> Option<&Answers<L::Answer>> {
        let place = self.noted.binary_search_by_key(&op, |noted| noted.0);
        place.ok().map(|place| &self.noted[place].1)
    }

    /// What it costs to remember all that is noted.
    pub fn weight(&self) -> usize {
        self.noted.iter().map(|(_, answers)| answers.weight).sum()
    }

    /// The same without any trace of an operation.
    pub fn without(mut self, op: OpId) -> Self {
        self.changes.retain(|change| change.0 != op);
        self.noted.retain(|noted| noted.0 != op);
        self
    }

    /// The same after an open operation has changed the state and answered.
    pub fn after(&self, op: OpId, answer: L::Answer, state: L::State) -> Self {
        let mut next = self.clone().without(op);
        let place = next.changes.partition_point(|change| change.0 < op);
        next.changes.insert(place, (op, Some(answer)));
        next.state = state;
        next
    }

    pub fn note(&mut self, op: OpId, answer: L::Answer, weight: usize) {
        let first = self.path.changes();
        let place = self.noted.binary_search_by_key(&op, |noted| noted.0).unwrap_or_else(|place| {
            let none = Answers { after: Map::new(), first, weight: 0 };
            self.noted.insert(place, (op, none));
            place
        });
        let answers = &mut self.noted[place].1;
        if !answers.has(&answer) {
            answers.after.insert(answer, first);
            answers.weight += weight;
        }
    }

    /// The first change before which an open operation may still have to be put.
    pub fn first_noted(&self) -> u64 {
        self.noted.iter().map(|(_, answers)| answers.first).min().unwrap_or(u64::MAX)
    }

    /// Tells the values that are named here.
    pub fn mention(&self, live: &L, tell: &mut dyn FnMut(ValueId)) {
        live.mention(Named::State(&self.state), tell);
        let noted = self.noted.iter().flat_map(|(_, answers)| answers.after.keys());
        let given = self.changes.iter().filter_map(|change| change.1.as_ref());
        noted.chain(given).for_each(|answer| live.mention(Named::Answer(answer), tell));
    }
}

/// Whether every answer of the first is also among the second.
fn is_covered<A: Ord + Hash + Clone>(one: &Noted<A>, other: &Noted<A>) -> bool {
    one.iter().all(|(op, answers)| {
        let place = other.binary_search_by_key(op, |noted| noted.0);
        place.is_ok_and(|place| answers.after.is_within(&other[place].1.after))
    })
}

/// What the effects so far have made: the state, and what has changed.
type Effects<L> = (<L as Live>::State, Changes<<L as Live>::Answer>);

/// What a configuration is besides: the answers that are noted, and how it came about.
type Besides<L> = (Noted<<L as Live>::Answer>, Path);

/// Configurations of which none covers another.
pub struct Antichain<L: Live> {
    by_effects: HashMap<Effects<L>, Vec<Besides<L>>>,
    /// How many were ever added.
    pub count: usize,
    /// How much it took to remember them: their effects and what is noted in them.
    pub held: usize,
}

impl<L: Live> Antichain<L> {
    pub fn new() -> Self {
        Antichain { by_effects: HashMap::new(), count: 0, held: 0 }
    }

    /// Adds a configuration; whether it is new and none covers it.
    pub fn add(&mut self, new: &Configuration<L>) -> bool {
        let key = (new.state.clone(), new.changes.clone());
        let others = self.by_effects.entry(key).or_default();
        if others.iter().any(|(other, _)| is_covered(&new.noted, other)) {
            return false;
        }
        others.retain(|(other, _)| !is_covered(other, &new.noted));
        others.push((new.noted.clone(), new.path.clone()));
        self.count += 1;
        self.held += 1 + new.changes.len() + new.noted.len();
        true
    }

    pub fn into_configurations(self) -> Vec<Configuration<L>> {
        let each = self.by_effects.into_iter().flat_map(|((state, changes), all)| {
            let one = move |(noted, path)| Configuration {
                state: state.clone(),
                changes: changes.clone(),
                noted,
                path,
            };
            all.into_iter().map(one)
        });
        each.collect()
    }
}
