//! Values: the arguments and results of operations.
//!
//! A history stores each value in 32 bits, a [`ValueId`]. Integers of up to 31 bits are the id
//! itself; pairs of values and everything else (large integers, strings, lists, …) are interned in
//! the history's [`Values`], so that two values are equal exactly when their ids are. Engines
//! compare ids and never look at a string.

use crate::number;
use crate::outside::is_harmful;
use hashbrown::{HashSet, HashTable};
use std::fmt::{self, Write as _};
use std::hash::{BuildHasher, Hash};

/// A value as a person writes it: what an operation was given or gave back.
///
/// ```
/// use seriatim_history::Value;
/// let pair = Value::list([Value::Int(1), Value::text("a")]);
/// assert_eq!(pair.to_string(), r#"[1, "a"]"#);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Value {
    /// No value: Jepsen's `nil`, JSON's `null`; also "the container was empty".
    Nil,
    /// A boolean.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A number that is not a 64-bit integer, in the one spelling that [`Value::number`] gives it.
    Number(Box<str>),
    /// A string.
    Text(Box<str>),
    /// A name: EDN's `:keyword` or symbol, without the colon.
    Name(Box<str>),
    /// A list.
    List(Box<[Value]>),
    /// A map, its entries sorted.
    Map(Box<[(Value, Value)]>),
}

impl Value {
    /// A string value.
    pub fn text(text: &str) -> Value {
        Value::Text(text.into())
    }

    /// The number that a text says, as JSON and EDN write numbers. However it is written, a number
    /// is one value: `1.0` and `1e0` are the integer 1.
    ///
    /// ```
    /// use seriatim_history::Value;
    /// assert_eq!(Value::number("1e3"), Value::Int(1000));
    /// assert_eq!(Value::number("2.50"), Value::number("5/2"));
    /// ```
    pub fn number(text: &str) -> Value {
        number::canonical(text)
    }

    /// A list value.
    pub fn list(items: impl IntoIterator<Item = Value>) -> Value {
        Value::List(items.into_iter().collect())
    }

    /// A map value; the entries are sorted so that equal maps are equal values.
    pub fn map(entries: impl IntoIterator<Item = (Value, Value)>) -> Value {
        let mut entries: Vec<_> = entries.into_iter().collect();
        entries.sort();
        Value::Map(entries.into())
    }

    /// The integer, if the value is one.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Value::Int(number) => Some(*number),
            _ => None,
        }
    }

    /// The characters of a text or name.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::Text(text) | Value::Name(text) => Some(text),
            _ => None,
        }
    }

    /// The items, if the value is a list.
    pub fn as_list(&self) -> Option<&[Value]> {
        match self {
            Value::List(items) => Some(items),
            _ => None,
        }
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Value::Int(number)
    }
}

impl From<bool> for Value {
    fn from(truth: bool) -> Self {
        Value::Bool(truth)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::text(text)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Nil => f.write_str("nil"),
            Value::Bool(truth) => write!(f, "{truth}"),
            Value::Int(number) => write!(f, "{number}"),
            Value::Number(digits) => f.write_str(digits),
            Value::Text(text) => {
                f.write_str("\"")?;
                text.chars().try_for_each(|character| write_harmless(f, character, "\"\\"))?;
                f.write_str("\"")
            }
            Value::Name(name) => {
                name.chars().try_for_each(|character| write_harmless(f, character, ""))
            }
            Value::List(items) => {
                f.write_str("[")?;
                for (index, item) in items.iter().enumerate() {
                    let separator = if index == 0 { "" } else { ", " };
                    write!(f, "{separator}{item}")?;
                }
                f.write_str("]")
            }
            Value::Map(entries) => {
                f.write_str("{")?;
                for (index, (key, value)) in entries.iter().enumerate() {
                    let separator = if index == 0 { "" } else { ", " };
                    write!(f, "{separator}{key}: {value}")?;
                }
                f.write_str("}")
            }
        }
    }
}

/// Writes a character as itself, or with the escapes of JSON if it is one of `special`, or if a
/// terminal would obey it or a reader not see it: values come from logs of strangers.
pub(crate) fn write_harmless(
    f: &mut fmt::Formatter<'_>,
    character: char,
    special: &str,
) -> fmt::Result {
    match character {
        '\n' => f.write_str("\\n"),
        '\r' => f.write_str("\\r"),
        '\t' => f.write_str("\\t"),
        _ if special.contains(character) => write!(f, "\\{character}"),
        '\'' | '"' | '\\' => f.write_char(character),
        _ if is_harmful(character) => {
            let mut units = [0; 2];
            let units = character.encode_utf16(&mut units);
            units.iter().try_for_each(|unit| write!(f, "\\u{unit:04x}"))
        }
        _ => f.write_char(character),
    }
}

/// A value of one history, in 32 bits. Ids of the same [`Values`] are equal exactly when the
/// values are.
///
/// The last bit set marks an integer of 31 bits (zigzag, so that small negative numbers stay
/// small); otherwise the bit before it tells a pair from an entry of the table.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ValueId(pub u32);

impl ValueId {
    /// No value at all: an operation without argument, an unknown result.
    pub const ABSENT: ValueId = ValueId(0);
    /// [`Value::Nil`].
    pub const NIL: ValueId = ValueId(1 << 2);
    /// `false`.
    pub const FALSE: ValueId = ValueId(2 << 2);
    /// `true`.
    pub const TRUE: ValueId = ValueId(3 << 2);

    /// Whether there is a value.
    #[inline]
    pub fn is_present(self) -> bool {
        self != ValueId::ABSENT
    }

    /// The id of a small integer, if the integer is small enough to be its own id.
    #[inline]
    pub fn inline_int(number: i64) -> Option<ValueId> {
        let zigzag = ((number << 1) ^ (number >> 63)) as u64;
        (zigzag < 1 << 31).then_some(ValueId((zigzag as u32) << 1 | 1))
    }

    /// The small integer that this id is, if it is one.
    #[inline]
    pub fn as_inline_int(self) -> Option<i64> {
        let zigzag = i64::from(self.0 >> 1);
        (self.0 & 1 == 1).then_some((zigzag >> 1) ^ -(zigzag & 1))
    }

    /// The boolean that this id is, if it is one.
    #[inline]
    pub fn as_bool(self) -> Option<bool> {
        match self {
            ValueId::TRUE => Some(true),
            ValueId::FALSE => Some(false),
            _ => None,
        }
    }

    fn entry(self) -> Option<usize> {
        (self.0 & 3 == 0).then_some((self.0 >> 2) as usize)
    }

    fn pair(self) -> Option<usize> {
        (self.0 & 3 == 2).then_some((self.0 >> 2) as usize)
    }
}

impl From<bool> for ValueId {
    fn from(truth: bool) -> Self {
        if truth { ValueId::TRUE } else { ValueId::FALSE }
    }
}

/// How many values there were at some time.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    entries: usize,
    pairs: usize,
}

/// The interned values of a history.
///
/// ```
/// use seriatim_history::{Value, Values};
/// let mut values = Values::default();
/// let seven = values.intern(&Value::Int(7));
/// let word = values.intern(&Value::text("seven"));
/// assert_eq!(values.intern_text("seven"), word);
/// assert_eq!(values.get(seven), Value::Int(7));
/// ```
#[derive(Clone, Debug)]
pub struct Values {
    entries: Vec<Value>,
    entry_index: HashTable<u32>,
    pairs: Vec<(ValueId, ValueId)>,
    pair_index: HashTable<u32>,
    /// Places of entries and of pairs that were forgotten, to be given to others.
    free_entries: Vec<u32>,
    free_pairs: Vec<u32>,
    /// How long the texts are that are longer than [`SHORT`].
    long: HashSet<usize>,
    hasher: hashbrown::DefaultHashBuilder,
}

/// A text that is not longer is looked for wherever it may be.
const SHORT: usize = 256;

impl Default for Values {
    fn default() -> Self {
        let constants: [Value; CONSTANTS] = [Value::Nil, Value::Nil, false.into(), true.into()];
        Values {
            entries: constants.into(),
            entry_index: HashTable::new(),
            pairs: Vec::new(),
            pair_index: HashTable::new(),
            free_entries: Vec::new(),
            free_pairs: Vec::new(),
            long: HashSet::new(),
            hasher: hashbrown::DefaultHashBuilder::default(),
        }
    }
}

impl Values {
    /// The id of a value, new or old.
    pub fn intern(&mut self, value: &Value) -> ValueId {
        match value {
            Value::Nil => ValueId::NIL,
            Value::Bool(truth) => ValueId::from(*truth),
            Value::Int(number) => self.intern_int(*number),
            Value::List(items) if items.len() == 2 => {
                let first = self.intern(&items[0]);
                let second = self.intern(&items[1]);
                self.intern_pair(first, second)
            }
            _ => self.intern_entry(value, |entry| entry == value, || value.clone()),
        }
    }

    /// The id of an integer.
    #[inline]
    pub fn intern_int(&mut self, number: i64) -> ValueId {
        ValueId::inline_int(number).unwrap_or_else(|| {
            let value = Value::Int(number);
            self.intern_entry(&value, |entry| *entry == value, || value.clone())
        })
    }

    /// The id of a string; allocates only when the string is new.
    pub fn intern_text(&mut self, text: &str) -> ValueId {
        let same = |entry: &Value| matches!(entry, Value::Text(known) if **known == *text);
        self.intern_entry(Hashed::Text(text), same, || Value::text(text))
    }

    /// The id of the list of two values.
    pub fn intern_pair(&mut self, first: ValueId, second: ValueId) -> ValueId {
        let hash = self.hasher.hash_one((first, second));
        let pairs = &self.pairs;
        let found = self.pair_index.find(hash, |&i| pairs[i as usize] == (first, second));
        if let Some(&index) = found {
            return ValueId(index << 2 | 2);
        }
        let index = place(&mut self.pairs, &mut self.free_pairs, (first, second));
        let (pairs, hasher) = (&self.pairs, &self.hasher);
        self.pair_index.insert_unique(hash, index, |&i| hasher.hash_one(pairs[i as usize]));
        ValueId(index << 2 | 2)
    }

    /// Takes over all values of another table, in the order in which they came to it; how they are
    /// called here.
    pub(crate) fn adopt(&mut self, other: &Values) -> Renaming {
        let first = CONSTANTS;
        let constants = (0..first as u32).map(|index| ValueId(index << 2));
        let entries =
            constants.chain(other.entries[first..].iter().map(|value| self.intern(value)));
        let mut renaming = Renaming { entries: entries.collect(), pairs: Vec::new() };
        for &(first, second) in &other.pairs {
            let pair = self.intern_pair(renaming.of(first), renaming.of(second));
            renaming.pairs.push(pair);
        }
        renaming
    }

    /// The id that a value has, if it was interned.
    pub fn find(&self, value: &Value) -> Option<ValueId> {
        match value {
            Value::Nil => Some(ValueId::NIL),
            Value::Bool(truth) => Some(ValueId::from(*truth)),
            Value::Int(number) if ValueId::inline_int(*number).is_some() => {
                ValueId::inline_int(*number)
            }
            Value::List(items) if items.len() == 2 => {
                let pair = (self.find(&items[0])?, self.find(&items[1])?);
                let hash = self.hasher.hash_one(pair);
                let index = self.pair_index.find(hash, |&i| self.pairs[i as usize] == pair)?;
                Some(ValueId(index << 2 | 2))
            }
            _ => {
                let hash = self.hash_of(value);
                let index = self.entry_index.find(hash, |&i| self.entries[i as usize] == *value)?;
                Some(ValueId(index << 2))
            }
        }
    }

    /// Whether a text of so many bytes may have been interned. Who makes a long text piece by piece
    /// need not look for each that is on the way.
    pub fn may_have_text_of(&self, bytes: usize) -> bool {
        bytes <= SHORT || self.long.contains(&bytes)
    }

    /// The value of an id; [`Value::Nil`] for [`ValueId::ABSENT`].
    pub fn get(&self, id: ValueId) -> Value {
        if let Some(number) = id.as_inline_int() {
            return Value::Int(number);
        }
        match id.pair() {
            Some(index) => {
                let (first, second) = self.pairs[index];
                Value::list([self.get(first), self.get(second)])
            }
            None => self.entries[(id.0 >> 2) as usize].clone(),
        }
    }

    /// The two parts of a value that is a list of two, without building the list.
    #[inline]
    pub fn as_pair(&self, id: ValueId) -> Option<(ValueId, ValueId)> {
        id.pair().map(|index| self.pairs[index])
    }

    /// The key and the value of a list `[key value]`, which may be tagged, as Jepsen's tuples are.
    pub fn as_keyed_pair(&self, id: ValueId) -> Option<(ValueId, ValueId)> {
        let (first, second) = self.as_pair(id)?;
        match self.as_str(first).is_some_and(|tag| tag.starts_with('#')) {
            true => self.as_pair(second),
            false => Some((first, second)),
        }
    }

    /// The characters of a text or name.
    pub fn as_str(&self, id: ValueId) -> Option<&str> {
        id.entry().and_then(|index| self.entries[index].as_str())
    }

    /// The integer, if the value is one.
    pub fn as_int(&self, id: ValueId) -> Option<i64> {
        id.as_inline_int().or_else(|| id.entry().and_then(|index| self.entries[index].as_int()))
    }

    /// The number of values that are no ids of their own.
    #[inline]
    pub fn interned(&self) -> usize {
        let free = self.free_entries.len() + self.free_pairs.len();
        self.entries.len() + self.pairs.len() - free
    }

    /// How many values there are, for [`keep_only`](Values::keep_only).
    pub fn mark(&self) -> Mark {
        Mark { entries: self.entries.len(), pairs: self.pairs.len() }
    }

    /// Forgets all values but those before a mark, the given ones, and those that they consist of.
    /// The ids of the others may mean other values from now on.
    ///
    /// ```
    /// use seriatim_history::{Value, Values};
    /// let mut values = Values::default();
    /// let mark = values.mark();
    /// let [kept, forgotten] = ["kept", "forgotten"].map(|text| values.intern_text(text));
    /// values.keep_only(mark, [kept]);
    /// assert_eq!(values.get(kept), Value::text("kept"));
    /// assert_eq!(values.intern_text("new"), forgotten);
    /// ```
    pub fn keep_only(&mut self, mark: Mark, kept: impl IntoIterator<Item = ValueId>) {
        let mut entry_stays = vec![false; self.entries.len()];
        let mut pair_stays = vec![false; self.pairs.len()];
        entry_stays[..mark.entries].fill(true);
        pair_stays[..mark.pairs].fill(true);
        let mut waiting: Vec<ValueId> = kept.into_iter().collect();
        while let Some(id) = waiting.pop() {
            if let Some(stays) = id.entry().and_then(|index| entry_stays.get_mut(index)) {
                *stays = true;
            } else if let Some(index) = id.pair().filter(|&index| index < pair_stays.len())
                && !std::mem::replace(&mut pair_stays[index], true)
            {
                waiting.extend([self.pairs[index].0, self.pairs[index].1]);
            }
        }
        self.entry_index.retain(|&mut index| entry_stays[index as usize]);
        self.pair_index.retain(|&mut index| pair_stays[index as usize]);
        self.free_entries = places_of(&entry_stays);
        self.free_pairs = places_of(&pair_stays);
        for &index in &self.free_entries {
            self.entries[index as usize] = Value::Nil;
        }
    }

    /// An estimate of the heap memory in use, in bytes.
    pub fn bytes(&self) -> usize {
        let texts: usize = self.entries.iter().map(|v| v.as_str().map_or(0, str::len)).sum();
        self.entries.len() * (size_of::<Value>() + 5) + texts + self.pairs.len() * 13
    }

    fn hash_of(&self, value: &Value) -> u64 {
        match value {
            Value::Text(text) => self.hasher.hash_one(Hashed::Text(text)),
            other => self.hasher.hash_one(Hashed::Other(other)),
        }
    }

    fn intern_entry<'v>(
        &mut self,
        value: impl Into<Hashed<'v>>,
        same: impl Fn(&Value) -> bool,
        make: impl FnOnce() -> Value,
    ) -> ValueId {
        let hash = self.hasher.hash_one(value.into());
        let found = self.entry_index.find(hash, |&i| same(&self.entries[i as usize]));
        if let Some(&index) = found {
            return ValueId(index << 2);
        }
        let value = make();
        if let Value::Text(text) = &value
            && text.len() > SHORT
        {
            self.long.insert(text.len());
        }
        let index = place(&mut self.entries, &mut self.free_entries, value);
        let (entries, hasher) = (&self.entries, &self.hasher);
        self.entry_index
            .insert_unique(hash, index, |&i| hasher.hash_one(Hashed::from(&entries[i as usize])));
        ValueId(index << 2)
    }
}

/// The ids of a table's values in another one.
pub(crate) struct Renaming {
    entries: Vec<ValueId>,
    pairs: Vec<ValueId>,
}

impl Renaming {
    /// The id in the other table.
    #[inline]
    pub fn of(&self, id: ValueId) -> ValueId {
        if id.0 & 1 == 1 || id == ValueId::ABSENT {
            return id;
        }
        let known = if id.0 & 2 == 2 { &self.pairs } else { &self.entries };
        known[(id.0 >> 2) as usize]
    }
}

/// What is hashed for an entry: a text by its characters alone, so that a borrowed string finds
/// its owned twin.
#[derive(Hash)]
enum Hashed<'v> {
    Text(&'v str),
    Other(&'v Value),
}

impl<'v> From<&'v Value> for Hashed<'v> {
    fn from(value: &'v Value) -> Self {
        match value {
            Value::Text(text) => Hashed::Text(text),
            other => Hashed::Other(other),
        }
    }
}

/// How many first entries are the constants of [`ValueId`]; entry 0 stands for [`ValueId::ABSENT`].
const CONSTANTS: usize = 4;

/// Puts something where something was forgotten, or behind all others.
#[inline]
fn place<T>(all: &mut Vec<T>, free: &mut Vec<u32>, new: T) -> u32 {
    match free.pop() {
        Some(index) => {
            all[index as usize] = new;
            index
        }
        None => {
            let index = index_of_new(all.len());
            all.push(new);
            index
        }
    }
}

/// The places of what does not stay.
fn places_of(stays: &[bool]) -> Vec<u32> {
    let gone = |&index: &u32| !stays[index as usize];
    (0..stays.len() as u32).filter(gone).collect()
}

fn index_of_new(len: usize) -> u32 {
    assert!(len < 1 << 30, "a history holds at most 2^30 distinct values of one kind");
    len as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples() -> Vec<Value> {
        let ints = [0, 1, -1, 5, 1 << 29, 1 << 30, (1 << 30) - 1, -(1 << 30), i64::MAX, i64::MIN];
        let mut samples: Vec<Value> = ints.into_iter().map(Value::Int).collect();
        samples.extend([Value::Nil, Value::Bool(true), Value::Bool(false)]);
        samples.extend([Value::text(""), Value::text("5"), Value::Name("5".into())]);
        samples.push(Value::Number("1.5".into()));
        samples.push(Value::list([]));
        samples.push(Value::list([Value::Int(1)]));
        samples.push(Value::list([Value::Int(1), Value::text("x")]));
        samples.push(Value::list([Value::Int(1), Value::Int(2), Value::Int(3)]));
        samples.push(Value::list([Value::list([Value::Nil, Value::Nil]), Value::Nil]));
        samples.push(Value::map([(Value::Int(1), Value::Int(2))]));
        samples
    }

    #[test]
    fn ids_are_equal_exactly_when_values_are() {
        let mut values = Values::default();
        let samples = samples();
        let ids: Vec<ValueId> = samples.iter().map(|value| values.intern(value)).collect();
        for (value, &id) in samples.iter().zip(&ids) {
            assert!(id.is_present());
            assert_eq!(values.get(id), *value);
            assert_eq!(values.intern(value), id);
            assert_eq!(values.find(value), Some(id));
        }
        for (i, a) in ids.iter().enumerate() {
            assert!(ids[..i].iter().all(|b| a != b), "{} has the id of another", samples[i]);
        }
    }

    #[test]
    fn an_unknown_value_is_not_found() {
        let values = Values::default();
        for value in samples() {
            let builtin = matches!(value, Value::Nil | Value::Bool(_));
            let small = value.as_int().is_some_and(|i| ValueId::inline_int(i).is_some());
            assert_eq!(values.find(&value).is_some(), builtin || small, "{value}");
        }
    }
}
