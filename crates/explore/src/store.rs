//! The states met so far, in one vector of words, in the order in which they were found: breadth-first search needs
//! no other queue. A record is the configuration set (with a mark for states that a better one replaced), the record that
//! it was reached from, and the packed state; an open-addressing table of record positions finds it again.

use crate::configurations::SetId;

/// A state met before: the position of its record.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub struct StateRef(pub u32);

/// No state: the parent of the first one.
pub const NONE: StateRef = StateRef(u32::MAX);

const HEADER: usize = 3;
const DEAD: u32 = 1 << 31;

/// What a record is found by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Index {
    /// By its state: all its records come together.
    State,
    /// By its state and its configuration set.
    StateAndSet,
}

/// The states met so far.
pub struct Store {
    index: Index,
    words: Vec<u32>,
    table: Vec<u32>,
    count: u64,
    dead: u64,
}

impl Store {
    /// No states yet.
    pub fn new(index: Index) -> Store {
        Store { index, words: Vec::new(), table: vec![u32::MAX; 1 << 12], count: 0, dead: 0 }
    }

    fn hash(&self, key: &[u32], set: SetId) -> u64 {
        match self.index {
            Index::State => hash(key, 0),
            Index::StateAndSet => hash(key, set.0),
        }
    }

    /// How many states were stored.
    pub fn len(&self) -> u64 {
        self.count
    }

    /// How many of them are still needed.
    pub fn kept(&self) -> u64 {
        self.count - self.dead
    }

    /// How many bytes they take.
    pub fn bytes(&self) -> usize {
        self.words.len() * 4 + self.table.len() * 4
    }

    /// Whether there is room for more records.
    pub fn has_room(&self) -> bool {
        self.words.len() < u32::MAX as usize - (1 << 16)
    }

    /// The position at which the next record will be written.
    pub fn end(&self) -> u32 {
        self.words.len() as u32
    }

    /// The first state, if there is one.
    pub fn first(&self) -> Option<StateRef> {
        (self.count > 0).then_some(StateRef(0))
    }

    /// The state stored after this one.
    pub fn after(&self, state: StateRef) -> Option<StateRef> {
        let next = state.0 as usize + HEADER + self.key(state).len();
        (next < self.words.len()).then_some(StateRef(next as u32))
    }

    /// The packed state.
    pub fn key(&self, state: StateRef) -> &[u32] {
        let at = state.0 as usize;
        let length = self.words[at + 2] as usize;
        &self.words[at + HEADER..at + HEADER + length]
    }

    /// Its configuration set.
    pub fn set(&self, state: StateRef) -> SetId {
        SetId(self.words[state.0 as usize] & !DEAD)
    }

    /// Where it was reached from.
    pub fn parent(&self, state: StateRef) -> StateRef {
        StateRef(self.words[state.0 as usize + 1])
    }

    /// Whether a better state replaced it.
    pub fn is_dead(&self, state: StateRef) -> bool {
        self.words[state.0 as usize] & DEAD != 0
    }

    /// Marks it as replaced.
    pub fn kill(&mut self, state: StateRef) {
        if !self.is_dead(state) {
            self.words[state.0 as usize] |= DEAD;
            self.dead += 1;
        }
    }

    /// The living records of a packed state (with this set, if records are found by their sets, too).
    pub fn find(&self, key: &[u32], set: SetId, into: &mut Vec<StateRef>) {
        into.clear();
        let mask = self.table.len() - 1;
        let mut at = self.hash(key, set) as usize & mask;
        while self.table[at] != u32::MAX {
            let state = StateRef(self.table[at]);
            if !self.is_dead(state) && self.key(state) == key {
                into.push(state);
            }
            at = (at + 1) & mask;
        }
    }

    /// Stores a state.
    pub fn insert(&mut self, key: &[u32], set: SetId, parent: StateRef) -> StateRef {
        if (self.count as usize + 1) * 5 > self.table.len() * 4 {
            self.grow();
        }
        let state = StateRef(self.words.len() as u32);
        self.words.extend([set.0, parent.0, key.len() as u32]);
        self.words.extend_from_slice(key);
        let hash = self.hash(key, set);
        place(&mut self.table, hash, state);
        self.count += 1;
        state
    }

    fn grow(&mut self) {
        let mut table = vec![u32::MAX; self.table.len() * 2];
        let mut next = self.first();
        while let Some(state) = next {
            place(&mut table, self.hash(self.key(state), self.set(state)), state);
            next = self.after(state);
        }
        self.table = table;
    }
}

fn place(table: &mut [u32], hash: u64, state: StateRef) {
    let mask = table.len() - 1;
    let mut at = hash as usize & mask;
    while table[at] != u32::MAX {
        at = (at + 1) & mask;
    }
    table[at] = state.0;
}

/// A hash of the words: multiply and rotate, then mixed so that the low bits are good.
fn hash(key: &[u32], seed: u32) -> u64 {
    let mut h = 0x9e37_79b9_7f4a_7c15u64 ^ u64::from(seed);
    for word in key {
        h = (h.rotate_left(23) ^ u64::from(*word)).wrapping_mul(0x9fb2_1c65_1e98_df25);
    }
    h ^= h >> 32;
    h = h.wrapping_mul(0xd6e8_feb8_6659_fd93);
    h ^ h >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_states_are_found_until_they_are_killed() {
        let mut store = Store::new(Index::State);
        let all: Vec<StateRef> =
            (0..9_000u32).map(|i| store.insert(&[i, i / 3], SetId(i), NONE)).collect();
        let mut found = Vec::new();
        store.find(&[77, 25], SetId(0), &mut found);
        assert_eq!(found, [all[77]]);
        assert_eq!(store.set(all[77]), SetId(77));
        store.kill(all[77]);
        store.find(&[77, 25], SetId(0), &mut found);
        assert!(found.is_empty());
        assert_eq!((store.len(), store.kept()), (9_000, 8_999));
    }
}
