//! Entries, each a key with a value, in the order of their keys: what a sorted map and a cache hold.
//! `nil` is no value: it says that there is none.

use super::map::arguments;
use crate::vocabulary::{Misfit, Recorded};
use seriatim_history::{ValueId, Values};
use seriatim_persistent as persistent;
use std::fmt::Display;
use std::hash::Hash;

/// The entries.
pub type Entries<K> = persistent::Entries<K, ValueId>;

/// The value of a key.
pub(super) fn held<K: Ord + Copy>(entries: &Entries<K>, key: K) -> Option<ValueId> {
    entries.get(&key).copied()
}

/// The entries after a key got a value, or lost it.
pub(super) fn with<K: Ord + Copy + Hash>(
    entries: &Entries<K>,
    key: K,
    value: Option<ValueId>,
) -> Entries<K> {
    match value {
        Some(value) => entries.with(key, value),
        None => entries.without(&key),
    }
}

/// The entries as a person reads them: `{1: a, 2: b}`.
pub(super) fn shown<K: Copy, D: Display>(
    entries: &Entries<K>,
    values: &Values,
    name: impl Fn(K) -> D,
) -> String {
    let show = |(&key, &value): (&K, &ValueId)| format!("{}: {}", name(key), values.get(value));
    format!("{{{}}}", entries.iter().map(show).collect::<Vec<String>>().join(", "))
}

/// The key of an operation that is given nothing else.
pub(super) fn only_key(recorded: Recorded<'_>) -> Result<ValueId, Misfit> {
    arguments(recorded, 0).map(|(key, _)| key)
}

/// The key of an operation and the value that it is given besides.
pub(super) fn key_and_value(recorded: Recorded<'_>) -> Result<(ValueId, ValueId), Misfit> {
    match arguments(recorded, 1)? {
        (key, rest) if rest[0] != ValueId::NIL => Ok((key, rest[0])),
        _ => Misfit::expected("a value other than nil, which says that there is none"),
    }
}
