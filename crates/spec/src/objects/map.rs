//! Map: keys with values; `get`, `put`, `append`, `delete`, `cas`, `contains`, `insert`, `size`.
//!
//! `get` of an absent key returns a default: `nil` for the `map`, the empty text for `kv`, which is
//! the key-value store of Porcupine's logs. Keys are independent of each other, so a history is
//! checked key by key, unless an operation looks at the whole map.
//!
//! A recorded operation names the key apart (`key`) or as the first item of its argument.

use crate::catalogue::Entry;
use crate::machine::{Answer, Effect, Machine};
use crate::parameters::{Parameter, Parameters};
use crate::spec::key_of;
use crate::vocabulary::{
    Decoded, Failure, Failures, Method, Misfit, Recorded, Split, Vocabulary, intern_lists,
    interpret, known_items,
};
use hashbrown::HashSet;
use seriatim_history::{History, Operation, Value, ValueId, Values};
use seriatim_persistent as persistent;
use std::sync::Arc;

/// A map.
#[derive(Clone, Debug)]
pub struct Map {
    /// The values of the history, for messages and for `append`.
    pub values: Arc<Values>,
    /// The entries before the first operation, by key.
    pub init: Vec<(ValueId, ValueId)>,
    /// What `get` of an absent key returns.
    pub default: ValueId,
    /// Whether keys may be checked apart.
    pub split: Split,
}

/// An operation of a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// The value of a key.
    Get(ValueId),
    /// Gives a key a value.
    Put(ValueId, ValueId),
    /// Gives a key a value if it has none.
    Insert(ValueId, ValueId),
    /// Appends a text to the text of a key.
    Append(ValueId, ValueId),
    /// Takes a key's value away; succeeds if it had one.
    Delete(ValueId),
    /// Replaces the first value of a key by the second if it is the key's.
    Cas(ValueId, ValueId, ValueId),
    /// Whether a key has a value.
    Contains(ValueId),
    /// The number of keys that have a value.
    Size,
}

/// The value of a key: one that occurs in the history, or a text that `append` made and that does
/// not. (So equal values are equal.)
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Held {
    /// A value of the history.
    Known(ValueId),
    /// A text that no operation names.
    Text(persistent::Text),
}

/// The entries of a map, by key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Entries {
    /// None.
    Empty,
    /// One, as in every part of a history that is checked key by key.
    One(ValueId, Held),
    /// Several.
    Many(persistent::Entries<ValueId, Held>),
}

const METHODS: &[Method] = &[
    Method {
        names: &["get", "read", "lookup"],
        signature: "(key) -> value",
        meaning: "the key's value, or the default",
    },
    Method {
        names: &["put", "write", "set"],
        signature: "(key, value)",
        meaning: "give the key a value",
    },
    Method {
        names: &["insert", "put-if-absent", "put_if_absent", "putIfAbsent"],
        signature: "(key, value) -> bool",
        meaning: "give the key a value if it has none",
    },
    Method { names: &["append"], signature: "(key, text)", meaning: "append to the key's text" },
    Method {
        names: &["delete", "remove", "erase"],
        signature: "(key) -> bool",
        meaning: "take the value away; true if there was one",
    },
    Method {
        names: &["cas", "compare-and-set", "compare_and_set", "replace"],
        signature: "(key, old, new) -> bool",
        meaning: "replace old by new; fails on another value",
    },
    Method {
        names: &["contains", "contains-key", "containsKey", "has"],
        signature: "(key) -> bool",
        meaning: "whether the key has a value",
    },
    Method::size("how many keys have a value"),
];

const INIT: Parameter = Parameter::map("init", "{}", "the entries at the start");

/// The maps in the catalogue.
pub const ENTRIES: &[Entry] = &[
    Entry {
        name: "map",
        aliases: &["hashmap", "dictionary"],
        meaning: "keys with values; checked key by key where possible",
        parameters: &[
            INIT,
            Parameter::value("default", "nil", "what get of an absent key returns"),
        ],
        methods: METHODS,
        bind: |parameters, history, failures| {
            let map = Map::build(parameters, history, &Value::Nil);
            interpret("map", map, history, failures)
        },
    },
    Entry {
        name: "kv",
        aliases: &["key-value", "kv-store", "kvstore"],
        meaning: "a map of texts in which an absent key reads as the empty text",
        parameters: &[
            INIT,
            Parameter::value("default", "\"\"", "what get of an absent key returns"),
        ],
        methods: METHODS,
        bind: |parameters, history, failures| {
            let map = Map::build(parameters, history, &Value::text(""));
            interpret("kv", map, history, failures)
        },
    },
];

impl Entries {
    fn iter(&self) -> impl Iterator<Item = (&ValueId, &Held)> {
        let (one, many) = match self {
            Entries::Empty => (None, None),
            Entries::One(key, held) => (Some((key, held)), None),
            Entries::Many(entries) => (None, Some(entries)),
        };
        one.into_iter().chain(many.into_iter().flat_map(|entries| entries.iter()))
    }

    /// The value of a key.
    pub fn get(&self, key: ValueId) -> Option<&Held> {
        match self {
            Entries::Empty => None,
            Entries::One(only, held) => (*only == key).then_some(held),
            Entries::Many(entries) => entries.get(&key),
        }
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        match self {
            Entries::Empty => 0,
            Entries::One(..) => 1,
            Entries::Many(entries) => entries.len(),
        }
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The entries with a key's value replaced; `None` takes it away.
    pub fn with(&self, key: ValueId, held: Option<Held>) -> Entries {
        match (self, held) {
            (Entries::Empty, Some(held)) => Entries::One(key, held),
            (Entries::One(only, _), Some(held)) if *only == key => Entries::One(key, held),
            (Entries::One(only, _), None) if *only == key => Entries::Empty,
            (Entries::One(only, other), Some(held)) => {
                Entries::of([(*only, other.clone()), (key, held)].into_iter().collect())
            }
            (Entries::Many(entries), Some(held)) => Entries::of(entries.with(key, held)),
            (Entries::Many(entries), None) => Entries::of(entries.without(&key)),
            (Entries::Empty | Entries::One(..), None) => self.clone(),
        }
    }

    fn of(entries: persistent::Entries<ValueId, Held>) -> Entries {
        match (entries.len(), entries.first()) {
            (1, Some((&key, held))) => Entries::One(key, held.clone()),
            (0, _) => Entries::Empty,
            _ => Entries::Many(entries),
        }
    }
}

impl Map {
    /// The map that the parameters describe.
    pub fn build(parameters: &Parameters, history: &mut History, default: &Value) -> Self {
        intern_lists(history, 1);
        let init = parameters.entries("init", history);
        let default = parameters.value("default").unwrap_or(default);
        let default = history.intern(default);
        let split = Split::unless_used(history, &METHODS[7..]);
        let values = history.values().clone();
        Map { values, init, default, split }
    }

    fn value(&self, state: &Entries, key: ValueId) -> Held {
        let held = state.get(key).cloned();
        held.unwrap_or(Held::Known(self.default))
    }

    fn appended(&self, state: &Entries, key: ValueId, suffix: ValueId) -> Option<Held> {
        let base = match self.value(state, key) {
            Held::Known(ValueId::NIL) if state.get(key).is_none() => "".into(),
            Held::Known(id) => self.values.as_str(id)?.into(),
            Held::Text(text) => text,
        };
        let text = base.with(self.values.as_str(suffix)?);
        let known = match self.values.may_have_text_of(text.len()) {
            true => self.values.find(&Value::text(&text.to_string())),
            false => None,
        };
        Some(known.map_or(Held::Text(text), Held::Known))
    }

    /// Whether what a key holds is a value. A text that nobody had named when it was made may be
    /// named later, in a history that goes on.
    fn is(&self, held: &Held, value: ValueId) -> bool {
        match held {
            Held::Known(known) => *known == value,
            Held::Text(text) => self.values.as_str(value).is_some_and(|named| text.is(named)),
        }
    }

    fn show_held(&self, held: &Held) -> String {
        match held {
            Held::Known(id) => self.values.get(*id).to_string(),
            Held::Text(text) => format!("{text:?}"),
        }
    }
}

impl Machine for Map {
    type State = Entries;
    type Op = Op;

    fn values(&self) -> &Values {
        &self.values
    }

    fn go_on_with(&mut self, values: Arc<Values>) {
        self.values = values;
    }

    fn start(&self) -> Entries {
        let known = |&(key, value): &(ValueId, ValueId)| (key, Held::Known(value));
        Entries::of(self.init.iter().map(known).collect())
    }

    fn run(&self, state: &Entries, op: &Op) -> Option<Effect<Entries>> {
        let put = |answer, key, value| Effect::change(answer, state.with(key, Some(value)));
        match *op {
            Op::Get(key) => Effect::none(match self.value(state, key) {
                Held::Known(value) => Answer::Value(value),
                Held::Text(text) => Answer::Text(text),
            }),
            Op::Put(key, value) => put(Answer::Done, key, Held::Known(value)),
            Op::Insert(key, value) if state.get(key).is_none() => {
                put(Answer::Yes, key, Held::Known(value))
            }
            Op::Insert(..) => Effect::none(Answer::No),
            Op::Append(key, suffix) => put(Answer::Done, key, self.appended(state, key, suffix)?),
            Op::Delete(key) if state.get(key).is_some() => {
                Effect::change(Answer::Yes, state.with(key, None))
            }
            Op::Delete(_) => Effect::none(Answer::No),
            Op::Cas(key, old, new) if self.is(&self.value(state, key), old) => {
                put(Answer::Yes, key, Held::Known(new))
            }
            Op::Cas(..) => Effect::none(Answer::No),
            Op::Contains(key) => Effect::none(Answer::from_truth(state.get(key).is_some())),
            Op::Size => Effect::none(Answer::Number(state.len() as i64)),
        }
    }

    fn agrees(&self, _: &Op, recorded: &Answer, answer: &Answer) -> bool {
        match (recorded, answer) {
            (Answer::Unrecorded, _) => true,
            (Answer::Value(seen), Answer::Text(text)) => {
                self.values.as_str(*seen).is_some_and(|seen| text.is(seen))
            }
            (recorded, answer) => recorded == answer,
        }
    }

    fn leaves_unchanged(&self, op: &Op, answer: Option<&Answer>) -> bool {
        match *op {
            Op::Get(_) | Op::Contains(_) | Op::Size => true,
            Op::Put(..) | Op::Append(..) => false,
            // An absent key that reads as the default becomes present by a cas from the default.
            Op::Cas(_, old, new) if old == new && old != self.default => true,
            Op::Insert(..) | Op::Delete(_) | Op::Cas(..) => answer == Some(&Answer::No),
        }
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
        let reads = |op| self.leaves_unchanged(op, None);
        match (named(a), named(b)) {
            (Some(x), Some(y)) if x != y => true,
            _ => (reads(a) && reads(b)) || (matches!(a, Op::Put(..)) && a == b),
        }
    }

    /// Texts only grow by `append`: what a `get` will see begins with what is there.
    fn rules_out(&self, state: &Entries, op: &Op, answer: Option<&Answer>) -> bool {
        let (Op::Get(key), Some(Answer::Value(seen))) = (op, answer) else { return false };
        let Some(seen) = self.values.as_str(*seen) else { return false };
        match self.value(state, *key) {
            Held::Known(id) => self.values.as_str(id).is_some_and(|held| !seen.starts_with(held)),
            Held::Text(text) => !text.begins(seen),
        }
    }

    fn undoes(&self, op: &Op) -> bool {
        !matches!(op, Op::Get(_) | Op::Append(..) | Op::Contains(_))
    }

    fn verb(&self, op: &Op) -> String {
        let show = |value: ValueId| self.values.get(value);
        match *op {
            Op::Get(key) => format!("get {} as", show(key)),
            Op::Put(key, value) => format!("put {} to {}", show(key), show(value)),
            Op::Insert(key, _) => format!("insert {}", show(key)),
            Op::Append(key, text) => format!("append {} to {}", show(text), show(key)),
            Op::Delete(key) => format!("delete {}", show(key)),
            Op::Cas(key, old, new) => {
                format!("cas {} from {} to {}", show(key), show(old), show(new))
            }
            Op::Contains(key) => format!("contains {}", show(key)),
            Op::Size => "size".to_owned(),
        }
    }

    fn fact(&self, state: &Entries, op: &Op) -> String {
        let Some(key) = named(op) else {
            return format!("the map has {} keys", state.len());
        };
        let shown = self.values.get(key);
        match state.get(key) {
            Some(held) => format!("the value of {shown} is {}", self.show_held(held)),
            None => format!("{shown} is absent"),
        }
    }

    fn describe(&self, state: &Entries) -> String {
        let entries: Vec<String> = state
            .iter()
            .map(|(&key, held)| format!("{}: {}", self.values.get(key), self.show_held(held)))
            .collect();
        format!("{{{}}}", entries.join(", "))
    }

    fn unexplained(&self, operations: &[(&Op, Option<&Answer>)]) -> Option<(usize, String)> {
        let mut brought: HashSet<(ValueId, ValueId)> = self.init.iter().copied().collect();
        let mut appended: HashSet<ValueId> = HashSet::new();
        for (op, ret) in operations {
            match (**op, ret) {
                (Op::Put(key, value), _) => _ = brought.insert((key, value)),
                (Op::Insert(key, value) | Op::Cas(key, _, value), ret)
                    if *ret != Some(&Answer::No) =>
                {
                    brought.insert((key, value));
                }
                (Op::Append(key, _), _) => _ = appended.insert(key),
                _ => {}
            }
        }
        let known = |key, value| {
            value == self.default || appended.contains(&key) || brought.contains(&(key, value))
        };
        let shown = |(op, ret): &(&Op, Option<&Answer>)| match (**op, ret) {
            (Op::Get(key), Some(Answer::Value(value))) => !known(key, *value),
            (Op::Cas(key, old, _), Some(Answer::Yes)) => !known(key, old),
            _ => false,
        };
        let position = operations.iter().position(shown)?;
        let reason = "it shows a value that the key never had".to_owned();
        Some((position, reason))
    }

    fn heap(&self, state: &Entries) -> usize {
        match state {
            Entries::One(_, Held::Text(text)) => text.own_bytes(),
            // All texts but one are shared with the state before.
            Entries::Many(entries) => entries.own_bytes(),
            Entries::Empty | Entries::One(_, Held::Known(_)) => 0,
        }
    }
}

fn named(op: &Op) -> Option<ValueId> {
    match *op {
        Op::Get(key) | Op::Delete(key) | Op::Contains(key) => Some(key),
        Op::Put(key, _) | Op::Insert(key, _) | Op::Append(key, _) | Op::Cas(key, ..) => Some(key),
        Op::Size => None,
    }
}

/// The key of an operation and its other arguments.
pub(super) fn arguments(
    recorded: Recorded<'_>,
    wanted: usize,
) -> Result<(ValueId, Vec<ValueId>), Misfit> {
    let (key, arg) = (recorded.operation.key(), recorded.operation.arg());
    let listed = |id| known_items(recorded.values(), id).map(Vec::from);
    let (key, rest) = match (key.is_present(), wanted) {
        // A read that repeats its unknown value (`nil`) has no argument besides the key.
        (true, 0) => (key, Vec::new()),
        (true, 1) => (key, vec![recorded.arg()?]),
        (true, _) => (key, listed(arg).unwrap_or_default()),
        (false, 0) => match recorded.values().as_pair(arg) {
            Some((key, ValueId::NIL)) => (key, Vec::new()),
            _ => (recorded.arg()?, Vec::new()),
        },
        (false, _) => match listed(arg) {
            Some(mut items) if !items.is_empty() => (items.remove(0), items),
            _ => return Misfit::expected(format!("a key and {wanted} more as argument")),
        },
    };
    match rest.len() == wanted {
        true => Ok((key, rest)),
        false => Misfit::expected(format!("a key and {wanted} more as argument")),
    }
}

/// A text argument, which `append` needs.
fn text(recorded: Recorded<'_>, id: ValueId) -> Result<ValueId, Misfit> {
    match recorded.values().as_str(id) {
        Some(_) => Ok(id),
        None => Misfit::expected("a text to append"),
    }
}

impl Vocabulary for Map {
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
        let only_key = || arguments(recorded, 0).map(|(key, _)| key);
        let with_value = || arguments(recorded, 1).map(|(key, rest)| (key, rest[0]));
        let refused = Failure::Speaks(Answer::No);
        match recorded.method(METHODS)? {
            "get" => recorded.settle(Op::Get(only_key()?), Failure::Silent, recorded.read()),
            "put" => {
                let (key, value) = with_value()?;
                recorded.settle(Op::Put(key, value), Failure::Silent, recorded.done())
            }
            "insert" => {
                let (key, value) = with_value()?;
                let answer = recorded.success(Answer::Unrecorded);
                recorded.settle(Op::Insert(key, value), refused, answer)
            }
            "append" => {
                let (key, suffix) = with_value()?;
                let op = Op::Append(key, text(recorded, suffix)?);
                recorded.settle(op, Failure::Silent, recorded.done())
            }
            "delete" => {
                let answer = recorded.success(Answer::Unrecorded);
                recorded.settle(Op::Delete(only_key()?), refused, answer)
            }
            "cas" => {
                let (key, rest) = arguments(recorded, 2)?;
                let answer = recorded.success(Answer::Yes);
                let op = Op::Cas(key, rest[0], rest[1]);
                recorded.settle(op, Failure::Speaks(Answer::No), answer)
            }
            "contains" => {
                recorded.settle(Op::Contains(only_key()?), Failure::Silent, recorded.truth())
            }
            _ => recorded.settle(Op::Size, Failure::Silent, recorded.number()),
        }
    }
}
