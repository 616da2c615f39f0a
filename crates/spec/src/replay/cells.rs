//! Objects that keep a value in each of their cells: registers, maps, snapshots, transactions.

use super::record::{Record, Said};
use super::table::Table;
use super::{Model, Setup};
use seriatim_history::{Nil, Value, ValueId};
use std::collections::BTreeMap;

/// One value: `register`, `cas-register`, `rmw`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Register {
    value: ValueId,
    /// Whether a read that is recorded as `nil` says nothing.
    nil_says_nothing: bool,
}

verbs! {
    /// What a register does.
    RegisterVerb {
        Read: "read" | "get" | "load" | "r",
        Write: "write" | "put" | "set" | "store" | "w",
        Cas: "cas" | "compare-and-set" | "compare_and_set" | "compareandset" | "compare-and-swap"
            | "compare_exchange",
        Modify: "rmw" | "read_modify_write" | "read-modify-write",
        Swap: "swap" | "exchange" | "get-and-set" | "getandset",
    }
}

impl Model for Register {
    type Verb = RegisterVerb;

    fn start(setup: &Setup<'_>) -> Self {
        let usual = if setup.name == "rmw" { Value::Int(0) } else { Value::Nil };
        let value = setup.value("init", &usual);
        let nil_says_nothing = value != ValueId::NIL && setup.history.nil() == Nil::Unknown;
        Register { value, nil_says_nothing }
    }

    fn observes(verb: RegisterVerb, record: &Record<'_>) -> bool {
        let is_pair = record.values().as_pair(record.arg).is_some();
        verb == RegisterVerb::Cas || (verb == RegisterVerb::Modify && is_pair)
    }

    #[inline]
    fn step(&mut self, verb: RegisterVerb, record: &Record<'_>) -> bool {
        let pair = || record.values().as_pair(record.arg);
        match verb {
            RegisterVerb::Read if self.nil_says_nothing && record.result == ValueId::NIL => true,
            RegisterVerb::Read => record.value().fits(self.value),
            RegisterVerb::Write => {
                self.value = record.arg;
                record.is_done()
            }
            RegisterVerb::Cas | RegisterVerb::Modify if pair().is_some() => {
                let (old, new) = pair().unwrap_or((ValueId::ABSENT, ValueId::ABSENT));
                let is_met = self.value == old;
                if is_met {
                    self.value = new;
                }
                record.success(Said::This(true)).fits(is_met)
            }
            RegisterVerb::Cas => false,
            RegisterVerb::Modify | RegisterVerb::Swap => {
                let old = std::mem::replace(&mut self.value, record.arg);
                record.value().fits(old)
            }
        }
    }
}

/// Keys with values: `map`, `kv`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Map {
    /// [`ValueId::ABSENT`] for a key that has no value, [`MADE`] for one whose value is among
    /// `made`.
    held: Table<Held>,
    /// Texts that appending made and that the history does not name.
    made: BTreeMap<ValueId, String>,
    size: usize,
    default: ValueId,
}

/// The value of a key.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Held(ValueId);

impl Default for Held {
    fn default() -> Self {
        Held(ValueId::ABSENT)
    }
}

/// Stands for a text that no operation names. A history of so many values does not fit in memory.
const MADE: ValueId = ValueId(u32::MAX - 3);

verbs! {
    /// What a map does.
    MapVerb {
        Get: "get" | "read" | "lookup",
        Put: "put" | "write" | "set",
        Insert: "insert" | "put-if-absent" | "put_if_absent" | "putifabsent",
        Append: "append",
        Delete: "delete" | "remove" | "erase",
        Cas: "cas" | "compare-and-set" | "compare_and_set" | "replace",
        Contains: "contains" | "contains-key" | "containskey" | "has",
        Size: "size" | "len" | "length" | "count",
    }
}

impl Map {
    fn holds(&self, key: ValueId) -> Option<ValueId> {
        let held = self.held.get(key).0;
        held.is_present().then_some(held)
    }

    fn put(&mut self, key: ValueId, value: Option<ValueId>) {
        self.size -= usize::from(self.holds(key).is_some());
        self.size += usize::from(value.is_some());
        self.made.remove(&key);
        self.held.set(key, Held(value.unwrap_or(ValueId::ABSENT)));
    }

    /// What `get` returns; never what a log says if the text is one that no operation names.
    fn read(&self, key: ValueId) -> ValueId {
        self.holds(key).unwrap_or(self.default)
    }

    /// Appends a text; false if there is none to append to.
    fn append(&mut self, key: ValueId, suffix: ValueId, record: &Record<'_>) -> bool {
        let values = record.values();
        let Some(suffix) = values.as_str(suffix) else { return false };
        let base = match (self.holds(key), self.read(key)) {
            (None, ValueId::NIL) => Some(String::new()),
            (Some(MADE), _) => self.made.remove(&key),
            (_, value) => values.as_str(value).map(str::to_owned),
        };
        let Some(mut text) = base else { return false };
        text.push_str(suffix);
        let named = values.may_have_text_of(text.len()).then(|| values.find(&Value::text(&text)));
        match named.flatten() {
            Some(known) => self.put(key, Some(known)),
            None => {
                self.put(key, Some(MADE));
                self.made.insert(key, text);
            }
        }
        true
    }

    /// The key and the other arguments.
    pub(super) fn arguments(record: &Record<'_>, wanted: usize) -> Option<(ValueId, Vec<ValueId>)> {
        let values = record.values();
        let key = record.key();
        let pair = values.as_pair(record.arg);
        let list = || {
            let items = record.items(record.arg).unwrap_or_default();
            items.iter().map(|item| values.find(item)).collect::<Option<Vec<ValueId>>>()
        };
        match (key.is_present(), wanted, pair) {
            (true, 0, _) => Some((key, Vec::new())),
            (true, 1, _) => Some((key, vec![record.arg])),
            (true, _, Some((old, new))) => Some((key, vec![old, new])),
            (false, 0, Some((key, ValueId::NIL))) => Some((key, Vec::new())),
            (false, 0, _) => Some((record.arg, Vec::new())),
            (false, 1, Some((key, value))) => Some((key, vec![value])),
            (false, 2, _) => match list()?[..] {
                [key, old, new] => Some((key, vec![old, new])),
                _ => None,
            },
            _ => None,
        }
    }
}

impl Model for Map {
    type Verb = MapVerb;

    fn start(setup: &Setup<'_>) -> Self {
        let usual = if setup.name == "kv" { Value::text("") } else { Value::Nil };
        let default = setup.value("default", &usual);
        let held = Table::with_room(setup.room);
        let mut map = Map { held, made: BTreeMap::new(), size: 0, default };
        for (key, value) in setup.entries("init") {
            map.put(key, Some(value));
        }
        map
    }

    fn names_items(verb: MapVerb) -> bool {
        verb == MapVerb::Cas
    }

    fn observes(verb: MapVerb, _: &Record<'_>) -> bool {
        matches!(verb, MapVerb::Insert | MapVerb::Delete | MapVerb::Cas)
    }

    #[inline]
    fn step(&mut self, verb: MapVerb, record: &Record<'_>) -> bool {
        let wanted = match verb {
            MapVerb::Size => return record.number().fits(self.size as i64),
            MapVerb::Get | MapVerb::Delete | MapVerb::Contains => 0,
            MapVerb::Put | MapVerb::Insert | MapVerb::Append => 1,
            MapVerb::Cas => 2,
        };
        let Some((key, rest)) = Map::arguments(record, wanted) else { return false };
        let is_there = self.holds(key).is_some();
        match (verb, &rest[..]) {
            (MapVerb::Get, _) => record.value().fits(self.read(key)),
            (MapVerb::Contains, _) => record.truth().fits(is_there),
            (MapVerb::Delete, _) => {
                self.put(key, None);
                record.success(Said::Nothing).fits(is_there)
            }
            (MapVerb::Put, &[value]) => {
                self.put(key, Some(value));
                record.is_done()
            }
            (MapVerb::Insert, &[value]) => {
                if !is_there {
                    self.put(key, Some(value));
                }
                record.success(Said::Nothing).fits(!is_there)
            }
            (MapVerb::Append, &[suffix]) => self.append(key, suffix, record) && record.is_done(),
            (MapVerb::Cas, &[old, new]) => {
                let is_met = self.read(key) == old;
                if is_met {
                    self.put(key, Some(new));
                }
                record.success(Said::This(true)).fits(is_met)
            }
            _ => false,
        }
    }
}

/// Segments that are updated one by one and scanned all at once.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Snapshot(Vec<ValueId>);

verbs! {
    /// What a snapshot does.
    SnapshotVerb {
        Update: "update" | "write",
        Read: "read" | "get",
        Scan: "scan" | "snapshot" | "read_all" | "read-all",
    }
}

/// More segments than anybody has.
const MOST_SEGMENTS: usize = 1 << 16;

impl Snapshot {
    /// The segment of an index. Segments that no operation has updated yet hold `nil`.
    fn segment(&mut self, index: ValueId, record: &Record<'_>) -> Option<&mut ValueId> {
        let index = usize::try_from(record.values().as_int(index)?).ok()?;
        if index >= MOST_SEGMENTS {
            return None;
        }
        if index >= self.0.len() {
            self.0.resize(index + 1, ValueId::NIL);
        }
        self.0.get_mut(index)
    }
}

impl Model for Snapshot {
    type Verb = SnapshotVerb;

    fn start(setup: &Setup<'_>) -> Self {
        Snapshot(setup.items("init"))
    }

    fn step(&mut self, verb: SnapshotVerb, record: &Record<'_>) -> bool {
        let key = record.key();
        let place = match (key.is_present(), record.values().as_pair(record.arg)) {
            (true, _) => (key, record.arg),
            (false, Some(pair)) => pair,
            (false, None) => (record.arg, ValueId::ABSENT),
        };
        match verb {
            SnapshotVerb::Update => match self.segment(place.0, record) {
                Some(segment) => {
                    *segment = place.1;
                    record.is_done()
                }
                None => false,
            },
            SnapshotVerb::Read => {
                self.segment(place.0, record).is_some_and(|held| record.value().fits(*held))
            }
            SnapshotVerb::Scan => match record.list() {
                Said::Nothing => true,
                Said::Nonsense => false,
                Said::This(list) => {
                    let held = self.0.iter().copied().chain(std::iter::repeat(ValueId::NIL));
                    let same = |(item, held)| record.values().find(item) == Some(held);
                    list.len() >= self.0.len() && list.iter().zip(held).all(same)
                }
            },
        }
    }
}

/// Registers that are read and written in transactions.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct MultiRegister {
    /// What is not `nil`.
    held: BTreeMap<Value, Value>,
    /// Whether a read that is recorded as `nil` saw `nil`.
    is_strict: bool,
}

verbs! {
    /// What the registers do.
    Transaction {
        Happen: "txn" | "transaction" | "read" | "write" | "read-write",
    }
}

impl MultiRegister {
    fn set(&mut self, register: Value, value: Value) {
        match value {
            Value::Nil => _ = self.held.remove(&register),
            value => _ = self.held.insert(register, value),
        }
    }
}

impl Model for MultiRegister {
    type Verb = Transaction;

    fn start(setup: &Setup<'_>) -> Self {
        let mut registers = MultiRegister {
            held: BTreeMap::new(),
            is_strict: setup.flag("strict") || setup.history.nil() == Nil::Value,
        };
        let values = setup.history.values();
        for (register, value) in setup.entries("init") {
            registers.set(values.get(register), values.get(value));
        }
        registers
    }

    fn step(&mut self, _: Transaction, record: &Record<'_>) -> bool {
        let Some(micros) = record.items(record.arg) else { return false };
        let told = match record.list() {
            Said::Nothing => None,
            Said::This(told) if told.len() == micros.len() => Some(told),
            _ => return false,
        };
        for (place, micro) in micros.iter().enumerate() {
            let said = told.as_ref().and_then(|told| Micro::of(&told[place]));
            let Some(micro) = Micro::of(micro) else { return false };
            let is_same = said.as_ref().is_none_or(|said| micro.is_echoed_by(said));
            if !is_same || (told.is_some() && said.is_none()) {
                return false;
            }
            match micro.is_write {
                true => self.set(micro.register, micro.value),
                false => {
                    let held = self.held.get(&micro.register).unwrap_or(&Value::Nil);
                    let seen = said.map(|said| said.value);
                    let seen = seen.filter(|seen| self.is_strict || *seen != Value::Nil);
                    if seen.is_some_and(|seen| seen != *held) {
                        return false;
                    }
                }
            }
        }
        true
    }
}

/// One read or write of a transaction.
struct Micro {
    is_write: bool,
    register: Value,
    value: Value,
}

impl Micro {
    fn of(value: &Value) -> Option<Micro> {
        let (f, register, value) = match value.as_list()? {
            [f, register, value] => (f, register, value),
            [f, register] => (f, register, &Value::Nil),
            _ => return None,
        };
        let is_write = match f.as_str()? {
            "r" | "read" => false,
            "w" | "write" => true,
            _ => return None,
        };
        Some(Micro { is_write, register: register.clone(), value: value.clone() })
    }

    /// Whether a result names the same register, and for a write the same value.
    fn is_echoed_by(&self, said: &Micro) -> bool {
        self.is_write == said.is_write
            && self.register == said.register
            && (!self.is_write || self.value == said.value)
    }
}
