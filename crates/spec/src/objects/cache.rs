//! Cache: a map that may forget. Which entries it gives up, and when, is its own affair.
//!
//! **What that means.** An entry may go at any moment, and nobody sees it go: a key that had a value
//! may be found without one. What has gone stays away until it is put again, a value that was
//! replaced never comes back, and nothing is found that was not put there. A cache that never
//! forgets is right, and so is one that keeps nothing. How many entries fit is not said: a bound on
//! their number would tie the keys together, and the caches that one meets keep it only roughly.
//!
//! **Why it is enough to forget when somebody looks.** From a state with an entry everything is
//! possible that is possible without it, as it may go at the next look. So an entry is given up only
//! by the operation that misses it; the states that this leaves out are not missed.
//!
//! Keys are independent of each other, so a history is checked key by key, unless `clear` is used.

use super::entries::{Entries, held, key_and_value, only_key, shown, with};
use crate::catalogue::Entry;
use crate::machine::{Answer, Effect, Flow, Machine, unexplained_value};
use crate::parameters::Parameters;
use crate::spec::{Next, key_of};
use crate::vocabulary::{
    Decoded, Failure, Failures, Method, Misfit, Recorded, Split, Vocabulary, intern_lists,
    interpret,
};
use seriatim_history::{History, Operation, ValueId, Values};
use std::sync::Arc;

/// A cache.
#[derive(Clone, Debug)]
pub struct Cache {
    /// The values of the history, for messages.
    pub values: Arc<Values>,
    /// Whether keys may be checked apart.
    pub split: Split,
}

/// An operation of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// The value of a key.
    Get(ValueId),
    /// Gives a key a value.
    Put(ValueId, ValueId),
    /// The value of a key, which gets this one if it has none.
    GetOrInsert(ValueId, ValueId),
    /// Takes a key's value away and returns it.
    Take(ValueId),
    /// Whether a key has a value.
    Contains(ValueId),
    /// Takes everything away.
    Clear,
}

/// The entries that may be there.
type Held = Entries<ValueId>;

const METHODS: &[Method] = &[
    Method {
        names: &["get", "read", "lookup"],
        signature: "(key) -> value",
        meaning: "the key's value; nil if it has none, or has it no more",
    },
    Method {
        names: &["put", "set", "insert", "write"],
        signature: "(key, value)",
        meaning: "give the key a value",
    },
    Method {
        names: &["get_or_insert", "get_with", "or_insert", "get-or-insert", "getOrInsert"],
        signature: "(key, value) -> value",
        meaning: "the key's value, which is this one if it had none",
    },
    Method {
        names: &["take", "remove", "delete", "invalidate"],
        signature: "(key) -> value",
        meaning: "take the value away and return it; nil if there was none",
    },
    Method {
        names: &["contains", "contains_key", "containsKey", "has"],
        signature: "(key) -> bool",
        meaning: "whether the key has a value",
    },
    Method {
        names: &["clear", "invalidate_all", "purge"],
        signature: "()",
        meaning: "take everything away",
    },
];

/// The cache in the catalogue.
pub const ENTRY: Entry = Entry {
    name: "cache",
    aliases: &["lru", "lru-cache"],
    meaning: "a map whose entries may go at any time; checked key by key where possible",
    parameters: &[],
    methods: METHODS,
    bind: |parameters, history, failures| {
        let cache = Cache::build(parameters, history);
        interpret("cache", cache, history, failures)
    },
};

impl Cache {
    /// A cache, which is empty at the start.
    pub fn build(_: &Parameters, history: &mut History) -> Self {
        intern_lists(history, 1);
        let split = Split::unless_used(history, &METHODS[5..]);
        let values = history.values().clone();
        Cache { values, split }
    }
}

impl Machine for Cache {
    type State = Held;
    type Op = Op;

    fn values(&self) -> &Values {
        &self.values
    }

    fn go_on_with(&mut self, values: Arc<Values>) {
        self.values = values;
    }

    fn start(&self) -> Held {
        Held::default()
    }

    /// What happens if nothing is given up; [`effects`](Machine::effects) has the rest.
    fn run(&self, state: &Held, op: &Op) -> Option<Effect<Held>> {
        self.effects(state, op).into_iter().next()
    }

    fn effects(&self, state: &Held, op: &Op) -> Vec<Effect<Held>> {
        let same = |answer| Effect { answer, after: None };
        let after = |answer, after| Effect { answer, after: Some(after) };
        let without = |answer, key| match held(state, key) {
            Some(_) => after(answer, with(state, key, None)),
            None => same(answer),
        };
        match *op {
            Op::Put(key, value) => vec![after(Answer::Done, with(state, key, Some(value)))],
            Op::Clear => vec![after(Answer::Done, Held::default())],
            Op::Get(key) => {
                let found = held(state, key).map(|value| same(Answer::Value(value)));
                found.into_iter().chain([without(Answer::Empty, key)]).collect()
            }
            Op::Contains(key) => {
                let found = held(state, key).map(|_| same(Answer::Yes));
                found.into_iter().chain([without(Answer::No, key)]).collect()
            }
            Op::Take(key) => {
                let taken = held(state, key).map(|value| without(Answer::Value(value), key));
                taken.into_iter().chain([without(Answer::Empty, key)]).collect()
            }
            Op::GetOrInsert(key, value) => {
                let found = held(state, key).filter(|&found| found != value);
                let found = found.map(|found| same(Answer::Value(found)));
                let inserted = match held(state, key) == Some(value) {
                    true => same(Answer::Value(value)),
                    false => after(Answer::Value(value), with(state, key, Some(value))),
                };
                found.into_iter().chain([inserted]).collect()
            }
        }
    }

    fn successors(&self, state: &Held, op: &Op, recorded: Option<&Answer>) -> Next<Held> {
        let fits = |effect: &Effect<Held>| {
            recorded.is_none_or(|recorded| self.agrees(op, recorded, &effect.answer))
        };
        let mut next: Vec<Held> = Vec::new();
        for effect in self.effects(state, op).into_iter().filter(fits) {
            let after = effect.after.unwrap_or_else(|| state.clone());
            if !next.contains(&after) {
                next.push(after);
            }
        }
        match next.len() {
            0 => Next::None,
            1 => next.pop().map_or(Next::None, Next::One),
            _ => Next::Many(next),
        }
    }

    fn leaves_unchanged(&self, op: &Op, answer: Option<&Answer>) -> bool {
        match (*op, answer) {
            (Op::Get(_), Some(Answer::Value(_))) | (Op::Contains(_), Some(Answer::Yes)) => true,
            (Op::GetOrInsert(_, value), Some(Answer::Value(found))) => *found != value,
            _ => false,
        }
    }

    /// What takes no more away than may go of itself.
    fn is_dispensable(&self, op: &Op) -> bool {
        matches!(op, Op::Get(_) | Op::Contains(_) | Op::Take(_) | Op::Clear)
    }

    fn part(&self, op: &Op) -> Option<u64> {
        match (self.split, named(op)) {
            (Split::Parts, Some(key)) => Some(key_of(&key)),
            _ => None,
        }
    }

    fn part_name(&self, op: &Op) -> Option<String> {
        named(op).map(|key| format!("key {}", self.values.get(key)))
    }

    fn swaps(&self, a: &Op, b: &Op) -> bool {
        matches!((named(a), named(b)), (Some(x), Some(y)) if x != y)
    }

    fn verb(&self, op: &Op) -> String {
        let show = |value: ValueId| self.values.get(value);
        match *op {
            Op::Get(key) => format!("get {} as", show(key)),
            Op::Put(key, value) => format!("put {} to {}", show(key), show(value)),
            Op::GetOrInsert(key, value) => {
                format!("get or insert {} for {} as", show(value), show(key))
            }
            Op::Take(key) => format!("take {} as", show(key)),
            Op::Contains(key) => format!("contains {}", show(key)),
            Op::Clear => "clear".to_owned(),
        }
    }

    fn fact(&self, state: &Held, op: &Op) -> String {
        let Some(key) = named(op) else {
            return format!("the cache is {}", self.describe(state));
        };
        let name = self.values.get(key);
        match held(state, key) {
            Some(value) => format!("the value of {name} is {} or gone", self.values.get(value)),
            None => format!("{name} is absent"),
        }
    }

    fn describe(&self, state: &Held) -> String {
        shown(state, &self.values, |key| self.values.get(key))
    }

    fn unexplained(&self, operations: &[(&Op, Option<&Answer>)]) -> Option<(usize, String)> {
        unexplained_value([], operations, |op, ret| match (op, ret) {
            (Op::Put(_, value) | Op::GetOrInsert(_, value), _) => Some(Flow::Brings(*value)),
            (_, Some(Answer::Value(value))) => Some(Flow::Shows(*value)),
            _ => None,
        })
    }

    fn heap(&self, state: &Held) -> usize {
        state.own_bytes()
    }
}

fn named(op: &Op) -> Option<ValueId> {
    match *op {
        Op::Get(key) | Op::Take(key) | Op::Contains(key) => Some(key),
        Op::Put(key, _) | Op::GetOrInsert(key, _) => Some(key),
        Op::Clear => None,
    }
}

impl Vocabulary for Cache {
    fn takes_key(&self) -> bool {
        true
    }

    fn methods(&self) -> &'static [Method] {
        METHODS
    }

    fn decode(
        &self,
        operation: Operation<'_>,
        failures: Failures,
    ) -> Result<Decoded<Op, Answer>, Misfit> {
        let recorded = Recorded { operation, failures };
        let settle = |op, answer| recorded.settle(op, Failure::Silent, answer);
        match recorded.method(METHODS)? {
            "get" => settle(Op::Get(only_key(recorded)?), recorded.found()),
            "put" => {
                let (key, value) = key_and_value(recorded)?;
                settle(Op::Put(key, value), recorded.done())
            }
            "get_or_insert" => {
                let (key, value) = key_and_value(recorded)?;
                settle(Op::GetOrInsert(key, value), recorded.kept())
            }
            "take" => settle(Op::Take(only_key(recorded)?), recorded.found()),
            "contains" => settle(Op::Contains(only_key(recorded)?), recorded.truth()),
            _ => settle(Op::Clear, recorded.done()),
        }
    }
}
