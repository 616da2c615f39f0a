//! Objects that keep entries in order or may lose them, and a place that is filled once: sorted map,
//! cache, once-cell.

use super::cells::Map;
use super::record::{Record, Said};
use super::{Model, Setup};
use seriatim_history::{Value, ValueId, Values};
use std::collections::BTreeMap;

verbs! {
    /// What is done with entries.
    EntryVerb {
        Get: "get" | "read" | "lookup",
        Put: "put" | "insert" | "set" | "write" | "swap",
        Update: "update" | "replace",
        GetOrInsert: "get_or_insert" | "get_with" | "or_insert" | "get-or-insert" | "getorinsert",
        Take: "take" | "remove" | "delete" | "invalidate",
        Contains: "contains" | "contains_key" | "containskey" | "has",
        First: "first" | "front",
        Last: "last" | "back",
        PopFirst: "pop_first" | "pop-first" | "pop_front" | "popfirst",
        PopLast: "pop_last" | "pop-last" | "pop_back" | "poplast",
        Range: "range" | "entries" | "scan",
        Clear: "clear" | "invalidate_all" | "purge",
        Size: "size" | "len" | "length" | "count",
        IsEmpty: "is_empty" | "is-empty" | "isempty" | "empty",
    }
}

impl EntryVerb {
    /// The key and the value that it is given.
    fn given(self, record: &Record<'_>) -> Option<(ValueId, Option<ValueId>)> {
        let wanted = matches!(self, EntryVerb::Put | EntryVerb::Update | EntryVerb::GetOrInsert);
        let (key, rest) = Map::arguments(record, usize::from(wanted))?;
        Some((key, rest.first().copied()))
    }

    /// What is done with one key; the value that was there before, or is then.
    fn act<K: Ord>(
        self,
        entries: &mut BTreeMap<K, ValueId>,
        key: K,
        value: Option<ValueId>,
    ) -> Option<ValueId> {
        match (self, value) {
            (EntryVerb::Take, _) => entries.remove(&key),
            (EntryVerb::Put, Some(value)) => entries.insert(key, value),
            (EntryVerb::Update, Some(value)) => {
                entries.get_mut(&key).map(|held| std::mem::replace(held, value))
            }
            (EntryVerb::GetOrInsert, Some(value)) => Some(*entries.entry(key).or_insert(value)),
            _ => entries.get(&key).copied(),
        }
    }
}

/// Integers with values, in order.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct SortedMap(BTreeMap<i64, ValueId>);

/// An entry as a log has it.
fn entry(values: &Values, key: i64, value: ValueId) -> Value {
    Value::list([Value::Int(key), values.get(value)])
}

/// Whether the log shows this entry, or that there is none.
fn is_shown(shown: Option<(i64, ValueId)>, record: &Record<'_>) -> bool {
    let values = record.values();
    match (record.found(), shown) {
        (Said::Nothing, _) | (Said::This(None), None) => true,
        (Said::This(Some(told)), Some((key, value))) => {
            values.get(told) == entry(values, key, value)
        }
        _ => false,
    }
}

impl SortedMap {
    /// Whether the log shows the entries of a range.
    fn is_range(&self, record: &Record<'_>) -> bool {
        let values = record.values();
        let Some((from, to)) = values.as_pair(record.arg) else { return false };
        let (Some(from), Some(to)) = (values.as_int(from), values.as_int(to)) else { return false };
        let inside = self.0.iter().filter(|&(key, _)| from <= *key && *key <= to);
        record.list().fits(inside.map(|(&key, &value)| entry(values, key, value)).collect())
    }

    /// What is done with one key.
    fn at_key(&mut self, verb: EntryVerb, record: &Record<'_>) -> bool {
        let Some((key, value)) = verb.given(record) else { return false };
        let Some(key) = record.values().as_int(key) else { return false };
        let held = verb.act(&mut self.0, key, value);
        match verb {
            EntryVerb::Contains => record.truth().fits(held.is_some()),
            _ => record.found().fits(held),
        }
    }
}

impl Model for SortedMap {
    type Verb = EntryVerb;

    fn start(_: &Setup<'_>) -> Self {
        SortedMap(BTreeMap::new())
    }

    fn step(&mut self, verb: EntryVerb, record: &Record<'_>) -> bool {
        let copied = |(key, value): (&i64, &ValueId)| (*key, *value);
        match verb {
            EntryVerb::First => is_shown(self.0.first_key_value().map(copied), record),
            EntryVerb::Last => is_shown(self.0.last_key_value().map(copied), record),
            EntryVerb::PopFirst => is_shown(self.0.pop_first(), record),
            EntryVerb::PopLast => is_shown(self.0.pop_last(), record),
            EntryVerb::Range => self.is_range(record),
            EntryVerb::Size => record.number().fits(self.0.len() as i64),
            EntryVerb::IsEmpty => record.truth().fits(self.0.is_empty()),
            EntryVerb::Clear => false,
            _ => self.at_key(verb, record),
        }
    }
}

/// A map whose entries may go at any time. They go when somebody misses them: from a state with an
/// entry all is possible that is without it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Cache(BTreeMap<ValueId, ValueId>);

impl Model for Cache {
    type Verb = EntryVerb;

    fn start(_: &Setup<'_>) -> Self {
        Cache(BTreeMap::new())
    }

    fn step(&mut self, verb: EntryVerb, record: &Record<'_>) -> bool {
        if verb == EntryVerb::Clear {
            self.0.clear();
            return record.is_done();
        }
        let Some((key, value)) = verb.given(record) else { return false };
        // Whoever finds nothing, or what it brings itself, misses what was there.
        let nothing = match verb {
            EntryVerb::Contains => ValueId::FALSE,
            _ => ValueId::NIL,
        };
        if record.result == nothing || Some(record.result) == value {
            self.0.remove(&key);
        }
        let held = verb.act(&mut self.0, key, value);
        match verb {
            EntryVerb::Put => record.is_done(),
            EntryVerb::Contains => record.truth().fits(held.is_some()),
            _ => record.found().fits(held),
        }
    }

    /// Where the log does not say what was found, it may have been there or not.
    fn choices(&self, verb: EntryVerb, record: &Record<'_>) -> Option<Vec<Self>> {
        let says_nothing = match verb {
            EntryVerb::Contains => record.truth() == Said::Nothing,
            EntryVerb::Get | EntryVerb::GetOrInsert => record.found() == Said::Nothing,
            _ => false,
        };
        let (key, value) = verb.given(record).filter(|_| says_nothing)?;
        let (mut kept, mut gone) = (self.clone(), self.clone());
        gone.0.remove(&key);
        verb.act(&mut kept.0, key, value);
        verb.act(&mut gone.0, key, value);
        Some(vec![kept, gone])
    }
}

/// A place that is filled once.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct OnceCell(Option<ValueId>);

verbs! {
    /// What a once-cell does.
    OnceVerb {
        Get: "get" | "read" | "load",
        Set: "set" | "init" | "try_insert",
        GetOrInit: "get_or_init" | "get_or_insert" | "get-or-init" | "getorinit" | "call_once",
    }
}

impl Model for OnceCell {
    type Verb = OnceVerb;

    fn start(_: &Setup<'_>) -> Self {
        OnceCell(None)
    }

    fn observes(verb: OnceVerb, _: &Record<'_>) -> bool {
        verb == OnceVerb::Set
    }

    fn step(&mut self, verb: OnceVerb, record: &Record<'_>) -> bool {
        let is_empty = self.0.is_none();
        if verb != OnceVerb::Get {
            self.0.get_or_insert(record.arg);
        }
        match verb {
            OnceVerb::Set => record.success(Said::Nothing).fits(is_empty),
            OnceVerb::Get | OnceVerb::GetOrInit => record.found().fits(self.0),
        }
    }
}
