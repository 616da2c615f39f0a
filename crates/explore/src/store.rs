//! The states met so far. They are spread over shards by their hash, so that workers can fill them
//! side by side; within a shard they lie in one vector of words in the order in which they were
//! found, and that order is the queue of the breadth-first search. A record is the configuration
//! set (with a mark for states that a better one replaced) and the packed state, whose first word
//! says how long it is; an open-addressing table of positions finds it again. How a state was
//! reached is not stored: the rare run that must be shown is searched for once more (`path`).
//!
//! An entry of the table is a position of 26 bits and six bits of the hash, so that entries of
//! other states are hardly ever followed; hence the table may be nearly full. It grows by a
//! quarter, and so that any size will do, a hash is mapped to a place by multiplication instead of
//! a mask.

use crate::codec::length;
use crate::configurations::SetId;

/// How many shards there are, whatever the number of workers: the order of states must not depend
/// on it.
pub const SHARDS: usize = 64;

/// A state met before.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub struct StateRef {
    /// In which shard.
    pub shard: u32,
    /// The position of its record.
    pub at: u32,
}

impl StateRef {
    /// Behind all states.
    pub const LAST: StateRef = StateRef { shard: u32::MAX, at: u32::MAX };
}

const HEADER: usize = 1;
const DEAD: u32 = 1 << 31;
const NOTHING: u32 = u32::MAX;
/// The bits of a position; the others of an entry are a print of the hash.
const POSITION: u32 = (1 << 26) - 1;

/// Some of the states.
pub struct Shard {
    words: Vec<u32>,
    table: Vec<u32>,
    count: u64,
    dead: u64,
    /// The next record to expand.
    pub next: u32,
    /// Where the level that is being expanded ends.
    pub level_end: u32,
}

impl Default for Shard {
    fn default() -> Self {
        Shard { words: vec![], table: vec![NOTHING; 16], count: 0, dead: 0, next: 0, level_end: 0 }
    }
}

/// A number that a configuration set adds to the hash of a state, if states are found by their
/// sets, too.
pub type Seed<'a> = &'a mut dyn FnMut(SetId) -> u32;

impl Shard {
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
        self.words.capacity() * 4 + self.table.len() * 4
    }

    /// Whether there is room for more records.
    pub fn has_room(&self) -> bool {
        self.words.len() < POSITION as usize - (1 << 16)
    }

    /// The position at which the next record will be written.
    pub fn end(&self) -> u32 {
        self.words.len() as u32
    }

    /// The record after this one.
    pub fn after(&self, at: u32) -> u32 {
        at + (HEADER + length(self.words[at as usize + HEADER])) as u32
    }

    /// The packed state.
    pub fn key(&self, at: u32) -> &[u32] {
        let start = at as usize + HEADER;
        &self.words[start..start + length(self.words[start])]
    }

    /// Its configuration set.
    pub fn set(&self, at: u32) -> SetId {
        SetId(self.words[at as usize] & !DEAD)
    }

    /// Whether a better state replaced it.
    pub fn is_dead(&self, at: u32) -> bool {
        self.words[at as usize] & DEAD != 0
    }

    /// Marks it as replaced.
    pub fn kill(&mut self, at: u32) {
        if !self.is_dead(at) {
            self.words[at as usize] |= DEAD;
            self.dead += 1;
        }
    }

    /// The living records of a packed state with this hash.
    pub fn find(&self, key: &[u32], hash: u32, into: &mut Vec<u32>) {
        into.clear();
        let mut place = first_place(&self.table, hash);
        while self.table[place] != NOTHING {
            let entry = self.table[place];
            let at = entry & POSITION;
            if entry == entry_of(hash, at)
                && self.words[at as usize + HEADER] == key[0]
                && !self.is_dead(at)
                && self.key(at) == key
            {
                into.push(at);
            }
            place = next_place(&self.table, place);
        }
    }

    /// Stores a state.
    pub fn insert(&mut self, key: &[u32], set: SetId, hash: u32, seed: Seed<'_>) {
        if (self.count as usize + 1) * 8 > self.table.len() * 7 {
            self.grow(seed);
        }
        let at = self.words.len() as u32;
        if self.words.capacity() - self.words.len() < key.len() + HEADER {
            let more = (self.words.len() / 16).max(key.len() + HEADER);
            self.words.reserve_exact(more);
        }
        self.words.push(set.0);
        self.words.extend_from_slice(key);
        place(&mut self.table, hash, at);
        self.count += 1;
    }

    fn grow(&mut self, seed: Seed<'_>) {
        let mut table = vec![NOTHING; self.table.len() / 4 * 5];
        let mut at = 0;
        while at < self.end() {
            place(&mut table, hash(self.key(at), seed(self.set(at))) as u32, at);
            at = self.after(at);
        }
        self.table = table;
    }
}

fn place(table: &mut [u32], hash: u32, at: u32) {
    let mut place = first_place(table, hash);
    while table[place] != NOTHING {
        place = next_place(table, place);
    }
    table[place] = entry_of(hash, at);
}

fn entry_of(hash: u32, at: u32) -> u32 {
    hash << POSITION.count_ones() | at
}

fn first_place(table: &[u32], hash: u32) -> usize {
    ((u64::from(hash) * table.len() as u64) >> 32) as usize
}

fn next_place(table: &[u32], place: usize) -> usize {
    if place + 1 == table.len() { 0 } else { place + 1 }
}

/// The shard of a packed state, by its hash without a seed.
pub fn shard_of(hash: u64) -> usize {
    (hash >> 58) as usize
}

/// A hash of the words: multiply and rotate, then mixed so that all bits are good.
pub fn hash(key: &[u32], seed: u32) -> u64 {
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
        let mut shard = Shard::default();
        let key = |i: u32| [2 | i << 8, i / 3];
        let mut places = Vec::new();
        for i in 0..9_000u32 {
            places.push(shard.end());
            shard.insert(&key(i), SetId(i), hash(&key(i), 0) as u32, &mut |_| 0);
        }
        let mut found = Vec::new();
        let wanted = key(77);
        shard.find(&wanted, hash(&wanted, 0) as u32, &mut found);
        assert_eq!(found, [places[77]]);
        assert_eq!(shard.set(places[77]), SetId(77));
        shard.kill(places[77]);
        shard.find(&wanted, hash(&wanted, 0) as u32, &mut found);
        assert!(found.is_empty());
        assert_eq!((shard.len(), shard.kept()), (9_000, 8_999));
    }
}
