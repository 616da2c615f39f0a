//! The specification: which results and final sets some linearization explains.
//!
//! A configuration is the membership of the arguments and, for each operation, whether it has taken
//! effect and with which result. After the calls and returns so far, the set of all configurations
//! that explain them is kept, closed under letting pending operations take effect. A return filters
//! the set; an empty set is a violation: exactly then does no linearization explain the results.
//! Elements that are no argument of an operation are untouched by every linearization, so
//! membership of the arguments is all of the specification's state that matters.

use crate::class::Effect;
use rustc_hash::FxHashMap;

const WAITING: u32 = 0;
const DONE: u32 = 3;
/// Where the operations' bits begin, after the members.
const OPERATIONS: u32 = 8;

/// An operation of the composition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// The thread that calls it.
    pub thread: usize,
    /// The method, by its place in the program.
    pub method: u32,
    /// What it does to the set.
    pub effect: Effect,
    /// The rank of its argument.
    pub rank: u32,
}

/// Interned sets of configurations.
#[derive(Clone, Debug)]
pub struct Monitor {
    operations: Vec<Operation>,
    sets: Vec<Vec<u32>>,
    numbers: FxHashMap<Vec<u32>, u32>,
}

impl Monitor {
    /// A monitor for these operations.
    pub fn new(operations: Vec<Operation>) -> Monitor {
        Monitor { operations, sets: vec![], numbers: FxHashMap::default() }
    }

    /// The set before any call; `members` has a bit for each argument.
    pub fn initial(&mut self, members: u32) -> u32 {
        self.intern(vec![members])
    }

    /// The set after a call; `pending` has a bit for each operation that has been called and not
    /// returned.
    pub fn call(&mut self, set: u32, pending: u32) -> u32 {
        let mut found = self.sets[set as usize].clone();
        let mut at = 0;
        while at < found.len() {
            for op in (0..self.operations.len()).filter(|op| pending >> op & 1 == 1) {
                if let Some(next) = self.effect(found[at], op)
                    && !found.contains(&next)
                {
                    found.push(next);
                }
            }
            at += 1;
        }
        self.intern(found)
    }

    /// The set after an operation returned; `None` if no configuration explains it.
    pub fn give_back(&mut self, set: u32, op: usize, result: bool) -> Option<u32> {
        let shift = OPERATIONS + 2 * op as u32;
        let agrees = |c: &&u32| **c >> shift & 3 == 1 + u32::from(result);
        let left = self.sets[set as usize].iter().filter(agrees);
        let left: Vec<u32> = left.map(|c| c | DONE << shift).collect();
        (!left.is_empty()).then(|| self.intern(left))
    }

    /// Whether some configuration has exactly these members.
    pub fn explains(&self, set: u32, members: u32) -> bool {
        self.sets[set as usize].iter().any(|c| c & ((1 << OPERATIONS) - 1) == members)
    }

    fn effect(&self, configuration: u32, op: usize) -> Option<u32> {
        let shift = OPERATIONS + 2 * op as u32;
        if configuration >> shift & 3 != WAITING {
            return None;
        }
        let operation = &self.operations[op];
        let bit = 1 << operation.rank;
        let (after, result) = apply(operation.effect, configuration & bit != 0);
        let members = if after { configuration | bit } else { configuration & !bit };
        Some(members | (1 + u32::from(result)) << shift)
    }

    fn intern(&mut self, mut set: Vec<u32>) -> u32 {
        set.sort_unstable();
        if let Some(number) = self.numbers.get(&set) {
            return *number;
        }
        let number = self.sets.len() as u32;
        self.numbers.insert(set.clone(), number);
        self.sets.push(set);
        number
    }
}

/// What a method does to the membership of its key, and its result.
pub fn apply(effect: Effect, member: bool) -> (bool, bool) {
    match effect {
        Effect::Add => (true, !member),
        Effect::Remove => (false, member),
        Effect::Contains => (member, member),
    }
}
