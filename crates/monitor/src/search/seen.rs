//! The configurations met so far, of which only the least uses of pending operations are kept.

use super::mask::Mask;
use super::part::Rank;
use super::space::Configuration;
use super::used::{UseId, Uses};
use crate::sabotage::{Sabotage, is_broken};
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use seriatim_spec::StateId;

/// For each (frontier, state, linearized) the least uses met, none of which dominates another.
pub struct Seen<M> {
    least: HashMap<(Rank, StateId, M), Least>,
    mask_bytes: usize,
    others: usize,
}

/// A set of uses, almost always of one.
enum Least {
    One(UseId),
    Several(Vec<UseId>),
}

impl<M> Default for Seen<M> {
    fn default() -> Self {
        Seen { least: HashMap::new(), mask_bytes: 0, others: 0 }
    }
}

impl<M: Mask> Seen<M> {
    /// Notes a configuration; false if it, or one that makes it redundant, was noted before.
    pub fn insert(&mut self, configuration: &Configuration<M>, uses: &Uses) -> bool {
        let used = configuration.used;
        self.mask_bytes = configuration.linearized.heap_bytes();
        match self.least.entry(key(configuration)) {
            Entry::Vacant(new) => {
                new.insert(Least::One(used));
                true
            }
            Entry::Occupied(mut known) => {
                let before = known.get().as_slice().len();
                let is_new = known.get_mut().insert(used, uses);
                self.others += known.get().as_slice().len().saturating_sub(before);
                is_new
            }
        }
    }

    /// Whether a noted configuration has not become redundant since.
    pub fn is_least(&self, configuration: &Configuration<M>) -> bool {
        let least = self.least.get(&key(configuration));
        least.is_some_and(|least| least.as_slice().contains(&configuration.used))
    }

    /// The number of configurations.
    pub fn len(&self) -> usize {
        self.least.len() + self.others
    }

    /// An estimate of the memory in use, in bytes.
    pub fn bytes(&self) -> usize {
        let entry = size_of::<((Rank, StateId, M), Least)>() + 1;
        self.least.capacity() * entry * 8 / 7 + self.least.len() * self.mask_bytes + self.others * 8
    }
}

/// What makes two configurations the same, but for the uses of pending operations.
fn key<M: Mask>(configuration: &Configuration<M>) -> (Rank, StateId, M) {
    let Configuration { frontier, state, linearized, .. } = configuration;
    let state = if is_broken(Sabotage::WrongKey) { StateId(0) } else { *state };
    (*frontier, state, linearized.clone())
}

impl Least {
    fn as_slice(&self) -> &[UseId] {
        match self {
            Least::One(only) => std::slice::from_ref(only),
            Least::Several(all) => all,
        }
    }

    fn insert(&mut self, used: UseId, uses: &Uses) -> bool {
        if self.as_slice().iter().any(|&known| uses.dominates(known, used)) {
            return false;
        }
        match self {
            Least::One(only) if uses.dominates(used, *only) => *only = used,
            Least::One(only) => *self = Least::Several(vec![*only, used]),
            Least::Several(all) => {
                all.retain(|&known| !uses.dominates(used, known));
                all.push(used);
            }
        }
        true
    }
}
