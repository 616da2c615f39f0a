//! Sorted map: integers as keys, each with a value, and the entries at both ends.
//!
//! Every operation that replaces or takes a value returns the one that was there; `nil` says that
//! there was none, so that `nil` is no value. An entry is the list of its key and its value. Since
//! `first`, `last` and `range` look at the whole map, a history is not split by keys.

use super::deque::End;
use super::entries::{self, Entries, held, with};
use crate::catalogue::Entry;
use crate::machine::{Answer, Effect, Flow, Machine, unexplained_value};
use crate::parameters::Parameters;
use crate::vocabulary::{
    Decoded, Failure, Failures, Method, Misfit, Recorded, Vocabulary, intern_lists, interpret,
    known_items,
};
use seriatim_history::{History, Operation, ValueId, Values};
use std::sync::Arc;

/// A sorted map.
#[derive(Clone, Debug)]
pub struct SortedMap {
    /// The values of the history, for messages.
    pub values: Arc<Values>,
}

/// A key, in the order of its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// The number.
    pub number: i64,
    /// Its name among the values of the history.
    pub id: ValueId,
}

/// An operation of a sorted map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// The value of a key.
    Get(Key),
    /// Gives a key a value; returns the one before.
    Put(Key, ValueId),
    /// Gives a key another value if it has one; returns the one before.
    Update(Key, ValueId),
    /// Gives a key a value if it has none; returns the one that it has then.
    GetOrInsert(Key, ValueId),
    /// Takes a key's value away and returns it.
    Take(Key),
    /// Whether a key has a value.
    Contains(Key),
    /// The entry at an end: in front is the least key, at the back the greatest.
    See(End),
    /// Takes the entry at an end away.
    Pop(End),
    /// The entries whose keys are from one number to another, both included.
    Range(i64, i64),
    /// The number of entries.
    Size,
    /// Whether there is no entry.
    IsEmpty,
}

/// The entries.
type Held = Entries<Key>;

const METHODS: &[Method] = &[
    Method {
        names: &["get", "read", "lookup"],
        signature: "(key) -> value",
        meaning: "the key's value, nil if it has none",
    },
    Method {
        names: &["put", "insert", "set", "write", "swap"],
        signature: "(key, value) -> value",
        meaning: "give the key a value; the one before, nil if there was none",
    },
    Method {
        names: &["update", "replace"],
        signature: "(key, value) -> value",
        meaning: "the same, but only if the key has a value",
    },
    Method {
        names: &["get_or_insert", "or_insert", "get-or-insert", "getOrInsert"],
        signature: "(key, value) -> value",
        meaning: "give the key a value if it has none; the one that it has then",
    },
    Method {
        names: &["take", "remove", "delete"],
        signature: "(key) -> value",
        meaning: "take the value away and return it; nil if there was none",
    },
    Method {
        names: &["contains", "contains_key", "containsKey", "has"],
        signature: "(key) -> bool",
        meaning: "whether the key has a value",
    },
    Method {
        names: &["first", "front"],
        signature: "() -> [key, value]",
        meaning: "the entry with the least key; nil when empty",
    },
    Method {
        names: &["last", "back"],
        signature: "() -> [key, value]",
        meaning: "the entry with the greatest key; nil when empty",
    },
    Method {
        names: &["pop_first", "pop-first", "pop_front", "popFirst"],
        signature: "() -> [key, value]",
        meaning: "take the entry with the least key; nil when empty",
    },
    Method {
        names: &["pop_last", "pop-last", "pop_back", "popLast"],
        signature: "() -> [key, value]",
        meaning: "take the entry with the greatest key; nil when empty",
    },
    Method {
        names: &["range", "entries", "scan"],
        signature: "([from, to]) -> list",
        meaning: "the entries with keys from one number to another, both included",
    },
    Method::size("how many entries there are"),
    Method::IS_EMPTY,
];

/// The sorted map in the catalogue.
pub const ENTRY: Entry = Entry {
    name: "sorted-map",
    aliases: &["ordered-map", "btree-map", "skip-map"],
    meaning: "integers with values, in order; what is replaced or taken is returned",
    parameters: &[],
    methods: METHODS,
    bind: |parameters, history, failures| {
        let map = SortedMap::build(parameters, history);
        interpret("sorted-map", map, history, failures)
    },
};

impl SortedMap {
    /// A map, which is empty at the start.
    pub fn build(_: &Parameters, history: &mut History) -> Self {
        intern_lists(history, 2);
        SortedMap { values: history.values().clone() }
    }

    fn shown(&self, state: &Held, key: Key) -> String {
        match held(state, key) {
            Some(value) => format!("the value of {} is {}", key.number, self.values.get(value)),
            None => format!("{} is absent", key.number),
        }
    }
}

/// The entry at an end.
fn at(entries: &Held, end: End) -> Option<(Key, ValueId)> {
    let entry = match end {
        End::Front => entries.first(),
        End::Back => entries.last(),
    };
    entry.map(|(&key, &value)| (key, value))
}

/// Entries as one list: key, value, key, value.
fn listed(entries: impl IntoIterator<Item = (Key, ValueId)>) -> Answer {
    Answer::Items(entries.into_iter().flat_map(|(key, value)| [key.id, value]).collect())
}

impl Machine for SortedMap {
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

    fn run(&self, state: &Held, op: &Op) -> Option<Effect<Held>> {
        match *op {
            Op::Get(key) => Effect::none(Answer::from_option(held(state, key))),
            Op::Put(key, value) => {
                let before = Answer::from_option(held(state, key));
                Effect::change(before, with(state, key, Some(value)))
            }
            Op::Update(key, value) => match held(state, key) {
                Some(before) => {
                    Effect::change(Answer::Value(before), with(state, key, Some(value)))
                }
                None => Effect::none(Answer::Empty),
            },
            Op::GetOrInsert(key, value) => match held(state, key) {
                Some(held) => Effect::none(Answer::Value(held)),
                None => Effect::change(Answer::Value(value), with(state, key, Some(value))),
            },
            Op::Take(key) => match held(state, key) {
                Some(held) => Effect::change(Answer::Value(held), with(state, key, None)),
                None => Effect::none(Answer::Empty),
            },
            Op::Contains(key) => Effect::none(Answer::from_truth(held(state, key).is_some())),
            Op::See(end) => Effect::none(at(state, end).map_or(Answer::Empty, |e| listed([e]))),
            Op::Pop(end) => match at(state, end) {
                Some(entry) => Effect::change(listed([entry]), with(state, entry.0, None)),
                None => Effect::none(Answer::Empty),
            },
            Op::Range(from, to) => {
                let first = Key { number: from, id: ValueId(0) };
                let last = Key { number: to, id: ValueId(u32::MAX) };
                let inside = state.range(&first, &last);
                Effect::none(listed(inside.map(|(&key, &value)| (key, value))))
            }
            Op::Size => Effect::none(Answer::Number(state.len() as i64)),
            Op::IsEmpty => Effect::none(Answer::from_truth(state.is_empty())),
        }
    }

    fn leaves_unchanged(&self, op: &Op, answer: Option<&Answer>) -> bool {
        let was = |value| answer == Some(&Answer::Value(value));
        match *op {
            Op::Put(_, value) => was(value),
            Op::Update(_, value) => was(value) || answer == Some(&Answer::Empty),
            // Another value than its own was there before.
            Op::GetOrInsert(_, value) => answer.is_some() && !was(value),
            Op::Take(_) | Op::Pop(_) => answer == Some(&Answer::Empty),
            Op::Get(_) | Op::Contains(_) | Op::See(_) | Op::Range(..) => true,
            Op::Size | Op::IsEmpty => true,
        }
    }

    fn swaps(&self, a: &Op, b: &Op) -> bool {
        let reads = |op| self.leaves_unchanged(op, None);
        match (named(a), named(b)) {
            (Some(x), Some(y)) if x != y => true,
            _ => reads(a) && reads(b),
        }
    }

    fn verb(&self, op: &Op) -> String {
        let show = |value: ValueId| self.values.get(value);
        match *op {
            Op::Get(key) => format!("get {} as", key.number),
            Op::Put(key, value) => format!("put {} to {} from", key.number, show(value)),
            Op::Update(key, value) => format!("update {} to {} from", key.number, show(value)),
            Op::GetOrInsert(key, value) => {
                format!("get or insert {} for {} as", show(value), key.number)
            }
            Op::Take(key) => format!("take {} as", key.number),
            Op::Contains(key) => format!("contains {}", key.number),
            Op::See(End::Front) => "first".to_owned(),
            Op::See(End::Back) => "last".to_owned(),
            Op::Pop(End::Front) => "pop_first".to_owned(),
            Op::Pop(End::Back) => "pop_last".to_owned(),
            Op::Range(from, to) => format!("range from {from} to {to}"),
            Op::Size => "size".to_owned(),
            Op::IsEmpty => "is_empty".to_owned(),
        }
    }

    fn fact(&self, state: &Held, op: &Op) -> String {
        match named(op) {
            Some(key) => self.shown(state, key),
            None => format!("the map is {}", self.describe(state)),
        }
    }

    fn describe(&self, state: &Held) -> String {
        entries::shown(state, &self.values, |key| key.number)
    }

    fn unexplained(&self, operations: &[(&Op, Option<&Answer>)]) -> Option<(usize, String)> {
        unexplained_value([], operations, |op, ret| match (op, ret) {
            (Op::Get(_) | Op::Take(_), Some(Answer::Value(value))) => Some(Flow::Shows(*value)),
            (Op::Put(_, value) | Op::Update(_, value) | Op::GetOrInsert(_, value), _) => {
                Some(Flow::Brings(*value))
            }
            _ => None,
        })
    }

    fn heap(&self, state: &Held) -> usize {
        state.own_bytes()
    }
}

fn named(op: &Op) -> Option<Key> {
    match *op {
        Op::Get(key) | Op::Take(key) | Op::Contains(key) => Some(key),
        Op::Put(key, _) | Op::Update(key, _) | Op::GetOrInsert(key, _) => Some(key),
        Op::See(_) | Op::Pop(_) | Op::Range(..) | Op::Size | Op::IsEmpty => None,
    }
}

fn number(recorded: Recorded<'_>, id: ValueId) -> Result<Key, Misfit> {
    match recorded.values().as_int(id) {
        Some(number) => Ok(Key { number, id }),
        None => Misfit::expected("an integer as key"),
    }
}

/// An entry, or `nil`.
fn entry(recorded: Recorded<'_>) -> Result<Answer, Misfit> {
    match recorded.found()? {
        Answer::Value(list) => match recorded.values().as_pair(list) {
            Some((key, value)) => Ok(Answer::Items([key, value].into())),
            None => Misfit::expected("a list of key and value as result, or nil if there is none"),
        },
        answer => Ok(answer),
    }
}

/// A list of entries.
fn listed_entries(recorded: Recorded<'_>) -> Result<Answer, Misfit> {
    let Answer::Items(items) = recorded.list()? else { return Ok(Answer::Unrecorded) };
    let pairs = items.iter().map(|&item| known_items(recorded.values(), item));
    let pairs = pairs.map(|pair| pair.filter(|pair| pair.len() == 2)).collect::<Option<Vec<_>>>();
    match pairs {
        Some(pairs) => Ok(Answer::Items(pairs.into_iter().flatten().collect())),
        None => Misfit::expected("a list of entries as result, each a list of key and value"),
    }
}

impl Vocabulary for SortedMap {
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
        let only_key = || number(recorded, entries::only_key(recorded)?);
        let value = |op: fn(Key, ValueId) -> Op, answer| {
            let (key, value) = entries::key_and_value(recorded)?;
            settle(op(number(recorded, key)?, value), answer)
        };
        match recorded.method(METHODS)? {
            "get" => settle(Op::Get(only_key()?), recorded.found()),
            "put" => value(Op::Put, recorded.found()),
            "update" => value(Op::Update, recorded.found()),
            "get_or_insert" => value(Op::GetOrInsert, recorded.kept()),
            "take" => settle(Op::Take(only_key()?), recorded.found()),
            "contains" => settle(Op::Contains(only_key()?), recorded.truth()),
            "first" => settle(Op::See(End::Front), entry(recorded)),
            "last" => settle(Op::See(End::Back), entry(recorded)),
            "pop_first" => settle(Op::Pop(End::Front), entry(recorded)),
            "pop_last" => settle(Op::Pop(End::Back), entry(recorded)),
            "range" => {
                let (from, to) = recorded.pair()?;
                let (from, to) = (number(recorded, from)?, number(recorded, to)?);
                settle(Op::Range(from.number, to.number), listed_entries(recorded))
            }
            "size" => settle(Op::Size, recorded.number()),
            _ => settle(Op::IsEmpty, recorded.truth()),
        }
    }
}
