//! Objects that keep entries in order or may lose them, and a place that is filled once: sorted map,
//! cache, once-cell.

use super::cells::Map;
use super::lines::size_verb;
use super::record::{Record, Said};
use super::{Model, Setup};
use seriatim_history::{Outcome, Value, ValueId, Values};
use std::collections::BTreeMap;

/// A value that was there, or none.
fn found(record: &Record<'_>) -> Said<Option<ValueId>> {
    match (record.ended, record.result) {
        (Outcome::Pending, _) | (_, ValueId::ABSENT) => Said::Nothing,
        (_, ValueId::NIL) => Said::This(None),
        (_, value) => Said::This(Some(value)),
    }
}

/// Integers with values, in order.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct SortedMap(BTreeMap<i64, ValueId>);

/// What a sorted map does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum SortedVerb {
    Get,
    Put,
    Update,
    GetOrInsert,
    Take,
    Contains,
    First,
    Last,
    PopFirst,
    PopLast,
    Range,
    Size,
    IsEmpty,
}

/// An entry as a log has it.
fn entry(values: &Values, key: i64, value: ValueId) -> Value {
    Value::list([Value::Int(key), values.get(value)])
}

impl SortedMap {
    /// Whether the log shows this entry, or that there is none.
    fn is_shown(shown: Option<(i64, ValueId)>, record: &Record<'_>) -> bool {
        let (values, said) = (record.values(), found(record));
        match (said, shown) {
            (Said::Nothing, _) | (Said::This(None), None) => true,
            (Said::This(Some(told)), Some((key, value))) => {
                values.get(told) == entry(values, key, value)
            }
            _ => false,
        }
    }

    /// Whether the log shows the entries of a range.
    fn is_range(&self, record: &Record<'_>) -> bool {
        let values = record.values();
        let Some((from, to)) = values.as_pair(record.arg) else { return false };
        let (Some(from), Some(to)) = (values.as_int(from), values.as_int(to)) else { return false };
        let inside = self.0.iter().filter(|&(key, _)| from <= *key && *key <= to);
        record.list().fits(inside.map(|(&key, &value)| entry(values, key, value)).collect())
    }

    /// What is done with one key.
    fn at_key(&mut self, verb: SortedVerb, record: &Record<'_>) -> bool {
        use SortedVerb::*;
        let wanted = usize::from(matches!(verb, Put | Update | GetOrInsert));
        let Some((key, rest)) = Map::arguments(record, wanted) else { return false };
        let Some(key) = record.values().as_int(key) else { return false };
        let before = self.0.get(&key).copied();
        match (verb, &rest[..]) {
            (Contains, _) => return record.truth().fits(before.is_some()),
            (Take, _) => _ = self.0.remove(&key),
            (Put, &[value]) => _ = self.0.insert(key, value),
            (Update, &[value]) if before.is_some() => _ = self.0.insert(key, value),
            (GetOrInsert, &[value]) => {
                let held = *self.0.entry(key).or_insert(value);
                return found(record).fits(Some(held));
            }
            _ => {}
        }
        found(record).fits(before)
    }
}

impl Model for SortedMap {
    type Verb = SortedVerb;

    fn start(_: &Setup<'_>) -> Self {
        SortedMap(BTreeMap::new())
    }

    fn verb(name: &str) -> Option<SortedVerb> {
        use SortedVerb::*;
        Some(match name {
            "get" | "read" | "lookup" => Get,
            "put" | "insert" | "set" | "write" | "swap" => Put,
            "update" | "replace" => Update,
            "get_or_insert" | "or_insert" | "get-or-insert" | "getorinsert" => GetOrInsert,
            "take" | "remove" | "delete" => Take,
            "contains" | "contains_key" | "containskey" | "has" => Contains,
            "first" | "front" => First,
            "last" | "back" => Last,
            "pop_first" | "pop-first" | "pop_front" | "popfirst" => PopFirst,
            "pop_last" | "pop-last" | "pop_back" | "poplast" => PopLast,
            "range" | "entries" | "scan" => Range,
            _ => return size_verb(name, Size, IsEmpty),
        })
    }

    fn step(&mut self, verb: SortedVerb, record: &Record<'_>) -> bool {
        let copied = |(key, value): (&i64, &ValueId)| (*key, *value);
        match verb {
            SortedVerb::First => SortedMap::is_shown(self.0.first_key_value().map(copied), record),
            SortedVerb::Last => SortedMap::is_shown(self.0.last_key_value().map(copied), record),
            SortedVerb::PopFirst => SortedMap::is_shown(self.0.pop_first(), record),
            SortedVerb::PopLast => SortedMap::is_shown(self.0.pop_last(), record),
            SortedVerb::Range => self.is_range(record),
            SortedVerb::Size => record.number().fits(self.0.len() as i64),
            SortedVerb::IsEmpty => record.truth().fits(self.0.is_empty()),
            _ => self.at_key(verb, record),
        }
    }
}

/// A map whose entries may go at any time. They go when somebody misses them: from a state with an
/// entry all is possible that is without it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Cache(BTreeMap<ValueId, ValueId>);

/// What a cache does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum CacheVerb {
    Get,
    Put,
    GetOrInsert,
    Take,
    Contains,
    Clear,
}

impl Cache {
    /// Whether the log does not say what was found.
    fn is_silent(verb: CacheVerb, record: &Record<'_>) -> bool {
        record.ended == Outcome::Pending
            || record.result == ValueId::ABSENT
            || verb == CacheVerb::Contains && record.result == ValueId::NIL
    }
}

impl Model for Cache {
    type Verb = CacheVerb;

    fn start(_: &Setup<'_>) -> Self {
        Cache(BTreeMap::new())
    }

    fn verb(name: &str) -> Option<CacheVerb> {
        Some(match name {
            "get" | "read" | "lookup" => CacheVerb::Get,
            "put" | "set" | "insert" | "write" => CacheVerb::Put,
            "get_or_insert" | "get_with" | "or_insert" | "get-or-insert" | "getorinsert" => {
                CacheVerb::GetOrInsert
            }
            "take" | "remove" | "delete" | "invalidate" => CacheVerb::Take,
            "contains" | "contains_key" | "containskey" | "has" => CacheVerb::Contains,
            "clear" | "invalidate_all" | "purge" => CacheVerb::Clear,
            _ => return None,
        })
    }

    fn step(&mut self, verb: CacheVerb, record: &Record<'_>) -> bool {
        if verb == CacheVerb::Clear {
            self.0.clear();
            return record.is_done();
        }
        let wanted = usize::from(matches!(verb, CacheVerb::Put | CacheVerb::GetOrInsert));
        let Some((key, rest)) = Map::arguments(record, wanted) else { return false };
        let told = match (verb, record.result) {
            (CacheVerb::Contains, ValueId::TRUE) => self.0.get(&key).copied(),
            (CacheVerb::Contains, _) => None,
            _ => Some(record.result).filter(|&value| value != ValueId::NIL),
        };
        let is_held = told.is_some() && self.0.get(&key).copied() == told;
        match (verb, &rest[..]) {
            (CacheVerb::Put, &[value]) => {
                self.0.insert(key, value);
                record.is_done()
            }
            (CacheVerb::GetOrInsert, &[value]) => {
                let is_own = told == Some(value);
                if is_own {
                    self.0.insert(key, value);
                }
                is_own || is_held
            }
            (CacheVerb::Take, _) => {
                let gone = self.0.remove(&key);
                Cache::is_silent(verb, record) || told.is_none() || gone == told
            }
            _ if is_held => true,
            // It is missed, so that it is gone.
            _ => {
                self.0.remove(&key);
                told.is_none() && record.result != ValueId::TRUE
            }
        }
    }

    fn choices(&self, verb: CacheVerb, record: &Record<'_>) -> Option<Vec<Self>> {
        let looks = matches!(verb, CacheVerb::Get | CacheVerb::Contains);
        if !Cache::is_silent(verb, record) || !(looks || verb == CacheVerb::GetOrInsert) {
            return None;
        }
        let (key, rest) = Map::arguments(record, usize::from(!looks))?;
        let mut other = self.clone();
        match rest.first() {
            Some(&value) => _ = other.0.insert(key, value),
            None => _ = other.0.remove(&key),
        }
        let kept = self.0.contains_key(&key).then(|| self.clone());
        Some(kept.into_iter().chain([other]).collect())
    }
}

/// A place that is filled once.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct OnceCell(Option<ValueId>);

/// What a once-cell does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum OnceVerb {
    Get,
    Set,
    GetOrInit,
}

impl Model for OnceCell {
    type Verb = OnceVerb;

    fn start(_: &Setup<'_>) -> Self {
        OnceCell(None)
    }

    fn verb(name: &str) -> Option<OnceVerb> {
        Some(match name {
            "get" | "read" | "load" => OnceVerb::Get,
            "set" | "init" | "try_insert" => OnceVerb::Set,
            "get_or_init" | "get_or_insert" | "get-or-init" | "getorinit" | "call_once" => {
                OnceVerb::GetOrInit
            }
            _ => return None,
        })
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
            OnceVerb::Get | OnceVerb::GetOrInit => found(record).fits(self.0),
        }
    }
}
