//! Hash compaction: a search that remembers 64 bits of each state instead of the state, for hunting
//! in spaces that do not fit into memory (Wolper and Leroy, CAV 1993; Stern and Dill, CHARME 1995).
//!
//! *Theorem*: every run that it reports is real. What is dropped is only a state whose hash is that
//! of a state seen before, so the search walks through a part of the space; and the run of a
//! violation is rebuilt step by step and replayed (`replay`) like every other. *Not a theorem*: that
//! nothing was dropped wrongly. So it never says *holds*: a search that comes to its end without a
//! violation answers *unknown*, with the number of states and the chance that some two of them
//! have one hash, which is about `n²/2⁶⁵` if hashes are as good as random.
//!
//! *How*: breadth first, on one core. Only the states of two levels are kept as they are. To find
//! the way back, each of them knows its ancestors: whose how-manieth successor it is. The ancestors
//! form a tree; those that no kept state descends from are thrown away when it has doubled. No
//! antichain: a set of configurations that is not stored cannot be compared, so equal sets only are
//! recognised (by their numbers, which are exact), and there may be more states than otherwise.
//!
//! *Cost*: 8 bytes a state, filled to 7/8 at most, and what the two levels and their ancestors take.
//!
//! *It would be unsound* to say *holds*, to say that all runs of some length were covered, or to
//! report a run that was not replayed.

use crate::codec::length;
use crate::configurations::SetId;
use crate::options::{Mode, Options};
use crate::outcome::{Reason, Statistics, ViolationKind};
use crate::path::Milestone;
use crate::search::{Progress, Search};
use crate::worker::{Halt, Premise, Worker};
use seriatim_lang::machine::State;
use seriatim_limits::Instant;

/// After how many states the limits are looked at.
const ROUND: u64 = 256;
/// From how many ancestors on it is worth to look for those that nobody descends from.
const MANY: usize = 1 << 16;

/// How a hunt ended.
pub enum Ending {
    /// There is nothing left to look at.
    Complete,
    /// The last step after these states goes wrong.
    Violation(Vec<Milestone>, ViolationKind),
    /// It ended early.
    Unknown(Reason),
    /// A reduction relies on something that is not so.
    Unfounded(Premise),
}

/// Why the question cannot be asked.
pub fn refusal(options: &Options, is_weak: bool) -> Option<String> {
    let why = "hash compaction hunts for runs that are not linearizable on sequentially consistent \
               memory: it knows neither linearization points nor progress";
    (is_weak || options.mode != Mode::Refinement).then(|| why.to_owned())
}

/// Looks for a run that goes wrong; what it took is left in `statistics`.
pub fn hunt(
    search: &Search<'_>,
    initial: &State,
    start: SetId,
    statistics: &mut Statistics,
    progress: &mut Progress<'_>,
) -> Ending {
    let mut hunt = Hunt {
        search,
        worker: Worker::new(&search.common),
        prints: Prints::default(),
        ancestors: Ancestors::default(),
        level: vec![],
        next: vec![],
        statistics,
        clock: Instant::now(),
    };
    let ending = hunt.run(initial, start, progress);
    hunt.refresh();
    ending.unwrap_or_else(|(path, halt)| match halt {
        Halt::Violation(kind) => match hunt.way(initial, start, &path) {
            Some(way) => Ending::Violation(way, kind),
            None => Ending::Unknown(Reason::Internal),
        },
        Halt::Unknown(reason) => Ending::Unknown(reason),
        Halt::Unfounded(premise) => Ending::Unfounded(premise),
    })
}

/// The numbers of the successors that lead to a state, and why the search stops there.
type Stopped = (Vec<u32>, Halt);

struct Hunt<'h, 's> {
    search: &'h Search<'s>,
    worker: Worker<'h>,
    prints: Prints,
    ancestors: Ancestors,
    /// The states to be expanded, one after another: ancestor, set, encoding.
    level: Vec<u32>,
    /// Those that were found from them.
    next: Vec<u32>,
    statistics: &'h mut Statistics,
    clock: Instant,
}

impl Hunt<'_, '_> {
    fn run(
        &mut self,
        initial: &State,
        start: SetId,
        progress: &mut Progress<'_>,
    ) -> Result<Ending, Stopped> {
        let set = self.worker.represent(initial, start).map_err(|halt| (vec![], halt))?;
        let key = self.worker.canonical.key.clone();
        self.arrive(NOBODY, 0, set, &key);
        let mut found = Vec::new();
        while !self.next.is_empty() {
            self.level.clear();
            std::mem::swap(&mut self.level, &mut self.next);
            let mut at = 0;
            while at < self.level.len() {
                if self.statistics.expanded.is_multiple_of(ROUND) {
                    self.refresh();
                    progress(self.statistics);
                    if let Some(reason) = self.search.common.options.limits.reached(self.statistics)
                    {
                        return Ok(Ending::Unknown(reason));
                    }
                }
                at = self.expand(at, &mut found)?;
            }
            self.statistics.depth += 1;
            self.tidy();
        }
        Ok(Ending::Complete)
    }

    /// Expands the state at a place of the level; returns the place of the next one.
    fn expand(&mut self, at: usize, found: &mut Vec<u32>) -> Result<usize, Stopped> {
        let (ancestor, set) = (self.level[at], SetId(self.level[at + 1]));
        let end = at + 2 + length(self.level[at + 2]);
        let common = &self.search.common;
        let mut from = State::default();
        common.codec.decode(common.subject, &self.level[at + 2..end], &mut from);
        found.clear();
        let result = self.worker.expand(&from, set, &mut |key, orbit| {
            found.push(orbit[0].1.0);
            found.extend_from_slice(key);
        });
        result.map_err(|halt| (self.ancestors.numbers(ancestor), halt))?;
        self.statistics.expanded += 1;
        let (mut place, mut number) = (0, 0);
        while place < found.len() {
            let key = &found[place + 1..place + 1 + length(found[place + 1])];
            self.arrive(ancestor, number, SetId(found[place]), key);
            place += 1 + key.len();
            number += 1;
        }
        Ok(end)
    }

    /// Keeps a state unless its hash is known: the successor of this number of a state.
    fn arrive(&mut self, parent: u32, number: u32, set: SetId, key: &[u32]) {
        if self.prints.insert(print(key, set)) {
            self.next.push(self.ancestors.add(parent, number));
            self.next.push(set.0);
            self.next.extend_from_slice(key);
        }
    }

    /// Forgets ancestors of whom no state to be expanded descends.
    fn tidy(&mut self) {
        if !self.ancestors.are_many() {
            return;
        }
        let mut places = Vec::new();
        let mut at = 0;
        while at < self.next.len() {
            places.push(at);
            at += 2 + length(self.next[at + 2]);
        }
        let kept: Vec<u32> = places.iter().map(|place| self.next[*place]).collect();
        let renumbered = self.ancestors.keep(&kept);
        places.into_iter().zip(renumbered).for_each(|(place, new)| self.next[place] = new);
    }

    /// The states on the way that successors of these numbers make, from the start.
    fn way(&self, initial: &State, start: SetId, numbers: &[u32]) -> Option<Vec<Milestone>> {
        let common = &self.search.common;
        let mut worker = Worker::new(common);
        let set = worker.represent(initial, start).ok()?;
        let mut way = vec![Milestone { key: worker.canonical.key.clone(), set }];
        let mut from = State::default();
        // The first state is the successor of nobody.
        for number in &numbers[1..] {
            let last = way.last()?;
            common.codec.decode(common.subject, &last.key, &mut from);
            let (mut count, mut found) = (0, None);
            let result = worker.expand(&from, last.set, &mut |key, orbit| {
                if count == *number {
                    found = Some(Milestone { key: key.to_vec(), set: orbit[0].1 });
                }
                count += 1;
            });
            result.ok()?;
            way.push(found?);
        }
        Some(way)
    }

    fn refresh(&mut self) {
        let statistics = &mut *self.statistics;
        statistics.stored = self.prints.count;
        statistics.kept = self.prints.count;
        statistics.transitions = self.worker.counts.transitions;
        statistics.nodes = self.worker.counts.nodes;
        statistics.cuts = self.worker.counts.cuts;
        statistics.waiting = self.prints.count - statistics.expanded;
        let levels = (self.level.capacity() + self.next.capacity()) * 4;
        let bytes = self.prints.bytes() + levels + self.ancestors.bytes();
        statistics.state_bytes = bytes as u64;
        statistics.sets = self.search.common.configurations.len() as u64;
        statistics.set_bytes = self.search.common.configurations.bytes() as u64;
        statistics.memo_bytes = self.worker.bytes() as u64;
        statistics.time = self.clock.elapsed();
    }
}

/// The hash of a product state. The hash of the store only has to be fast, for states are compared
/// there; this one is all that is left of a state, so every word is mixed into all bits before the
/// next one.
fn print(key: &[u32], set: SetId) -> u64 {
    key.iter().fold(u64::from(set.0) + 1, |hash, word| {
        let mixed = (hash ^ u64::from(*word)).wrapping_mul(0x9fb2_1c65_1e98_df25);
        let mixed = (mixed ^ mixed >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
        mixed ^ mixed >> 29
    })
}

/// The hashes of the states seen so far, in an open-addressing table that grows by a quarter.
struct Prints {
    table: Vec<u64>,
    count: u64,
}

impl Default for Prints {
    fn default() -> Self {
        Prints { table: vec![NOTHING; 64], count: 0 }
    }
}

/// An empty place; the hash 0 is taken for 1.
const NOTHING: u64 = 0;

impl Prints {
    /// Whether a hash is new; from now on it is known.
    fn insert(&mut self, print: u64) -> bool {
        let print = print.max(1);
        if (self.count as usize + 1) * 8 > self.table.len() * 7 {
            let larger = vec![NOTHING; self.table.len() / 4 * 5];
            let old = std::mem::replace(&mut self.table, larger);
            old.into_iter().filter(|print| *print != NOTHING).for_each(|print| {
                place(&mut self.table, print);
            });
        }
        let is_new = place(&mut self.table, print);
        self.count += u64::from(is_new);
        is_new
    }

    fn bytes(&self) -> usize {
        self.table.len() * 8
    }
}

/// Puts a hash into a table; `false` if it is there.
fn place(table: &mut [u64], print: u64) -> bool {
    let mut at = ((u128::from(print) * table.len() as u128) >> 64) as usize;
    while table[at] != NOTHING {
        if table[at] == print {
            return false;
        }
        at = if at + 1 == table.len() { 0 } else { at + 1 };
    }
    table[at] = print;
    true
}

const NOBODY: u32 = u32::MAX;

/// The tree of the ways to the states that are kept: for each state on one of them, its parent and
/// the number of the successor that it is. Parents come before their children.
#[derive(Default)]
struct Ancestors {
    all: Vec<(u32, u32)>,
    /// How many were left when those that nobody descends from were last thrown away.
    left: usize,
}

impl Ancestors {
    fn add(&mut self, parent: u32, number: u32) -> u32 {
        self.all.push((parent, number));
        self.all.len() as u32 - 1
    }

    /// The numbers of the successors from the start to a state.
    fn numbers(&self, mut state: u32) -> Vec<u32> {
        let mut numbers = Vec::new();
        while state != NOBODY {
            let (parent, number) = self.all[state as usize];
            numbers.push(number);
            state = parent;
        }
        numbers.reverse();
        numbers
    }

    fn are_many(&self) -> bool {
        self.all.len() >= MANY && self.all.len() >= 2 * self.left
    }

    /// Keeps these states and whom they descend from; returns their new places.
    fn keep(&mut self, states: &[u32]) -> Vec<u32> {
        let mut places = vec![NOBODY; self.all.len()];
        states.iter().for_each(|state| places[*state as usize] = 0);
        for (state, (parent, _)) in self.all.iter().enumerate().rev() {
            if places[state] != NOBODY && *parent != NOBODY {
                places[*parent as usize] = 0;
            }
        }
        let mut kept = Vec::new();
        for (state, (parent, number)) in self.all.iter().enumerate() {
            if places[state] != NOBODY {
                places[state] = kept.len() as u32;
                let parent = if *parent == NOBODY { NOBODY } else { places[*parent as usize] };
                kept.push((parent, *number));
            }
        }
        self.left = kept.len();
        self.all = kept;
        states.iter().map(|state| places[*state as usize]).collect()
    }

    fn bytes(&self) -> usize {
        self.all.capacity() * size_of::<(u32, u32)>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_hash_is_new_once() {
        // Sets and words that differ in few bits, as those of neighbouring states do.
        let mut prints = Prints::default();
        let print = |i: u32| print(&[3 | ((i / 100) << 23), i % 10], SetId(i / 10 % 10));
        assert!((0..10_000).all(|i| prints.insert(print(i))));
        assert!(!(0..10_000).any(|i| prints.insert(print(i))));
        assert_eq!(prints.count, 10_000);
        assert!(prints.bytes() < 10_000 * 13, "{}", prints.bytes());
    }

    #[test]
    fn ways_stay_when_others_are_thrown_away() {
        let mut tree = Ancestors::default();
        let mut states = vec![tree.add(NOBODY, 0)];
        for i in 1..500u32 {
            let parent = states[(i as usize - 1) / 3];
            states.push(tree.add(parent, i % 3));
        }
        let wanted = [states[41], states[140], states[499], states[300]];
        let ways = wanted.map(|state| tree.numbers(state));
        let places = tree.keep(&wanted);
        assert!(tree.all.len() < 30, "{}", tree.all.len());
        let again: Vec<Vec<u32>> = places.iter().map(|place| tree.numbers(*place)).collect();
        assert_eq!(again, ways);
    }
}
