//! A recorded history of transactions.
//!
//! A transaction belongs to a session (a client), did some reads and writes in program order, and
//! committed, aborted, or nobody knows. Keys are registers (a write replaces the value), lists (an
//! append adds an element at the end) or counters (an increment adds a number); a key is one of
//! these. Predicates (`select where`) are not modelled: nothing is said about phantoms.
//!
//! The order of a session is the order in which its transactions stand here. Times are optional;
//! without them the levels that speak of real time cannot be asked.

use hashbrown::HashMap;
use seriatim_history::{Time, Value, ValueId, Values};
use std::sync::Arc;

macro_rules! index {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub struct $name(pub u32);

        impl $name {
            /// The position that this index names.
            #[inline]
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

index! {
    /// A transaction: its position in the history.
    TxnId
}
index! {
    /// A key of the store.
    KeyId
}
index! {
    /// A session: one client's transactions, one after another.
    SessionId
}

/// One read or write of a transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Op {
    /// A register was read and held this value.
    Read(KeyId, ValueId),
    /// A list was read and held these elements.
    ReadList(KeyId, Box<[ValueId]>),
    /// A register was set.
    Write(KeyId, ValueId),
    /// An element was added at the end of a list.
    Append(KeyId, ValueId),
    /// A counter was read and held this.
    ReadCounter(KeyId, i64),
    /// This was added to a counter.
    Increment(KeyId, i64),
}

impl Op {
    /// The key that it acts on.
    pub fn key(&self) -> KeyId {
        match *self {
            Op::Read(key, _) | Op::ReadList(key, _) | Op::Write(key, _) | Op::Append(key, _) => key,
            Op::ReadCounter(key, _) | Op::Increment(key, _) => key,
        }
    }

    /// The same in a history of its key alone.
    fn alone(&self) -> Op {
        let only = KeyId(0);
        match self {
            Op::Read(_, value) => Op::Read(only, *value),
            Op::ReadList(_, items) => Op::ReadList(only, items.clone()),
            Op::Write(_, value) => Op::Write(only, *value),
            Op::Append(_, value) => Op::Append(only, *value),
            Op::ReadCounter(_, value) => Op::ReadCounter(only, *value),
            Op::Increment(_, by) => Op::Increment(only, *by),
        }
    }

    /// The key whose content it changes, if it changes one.
    pub fn changes(&self) -> Option<KeyId> {
        match *self {
            Op::Write(key, _) | Op::Append(key, _) | Op::Increment(key, _) => Some(key),
            Op::Read(..) | Op::ReadList(..) | Op::ReadCounter(..) => None,
        }
    }

    /// The value that it writes, by which a read may name it, if it writes one.
    pub fn written(&self) -> Option<(KeyId, ValueId)> {
        match *self {
            Op::Write(key, value) | Op::Append(key, value) => Some((key, value)),
            Op::Read(..) | Op::ReadList(..) | Op::ReadCounter(..) | Op::Increment(..) => None,
        }
    }
}

/// How a transaction ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It committed.
    Committed,
    /// It aborted: none of its writes may be seen.
    Aborted,
    /// Nobody knows. If one of its writes is seen, it committed; what it read is not known.
    Unknown,
}

/// One transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Transaction {
    /// Who ran it.
    pub session: SessionId,
    /// When it was called; 0 when that is not known.
    pub call: Time,
    /// When it returned; `None` when that is not known.
    pub ret: Option<Time>,
    /// How it ended.
    pub outcome: Outcome,
    /// What it did, in program order.
    pub ops: Vec<Op>,
    /// The line of the source that records it; 0 when unknown.
    pub line: u64,
}

/// What a key is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A write replaces the value.
    Register,
    /// An append adds an element.
    List,
    /// An increment adds a number.
    Counter,
}

/// Whether moments are recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Clock {
    /// Calls and returns have times that can be compared.
    Recorded,
    /// Only the order of each session is known.
    Absent,
}

/// A history of transactions.
#[derive(Clone, Debug)]
pub struct Transactions {
    pub(super) list: Vec<Transaction>,
    pub(super) keys: Arc<[(Value, Kind)]>,
    /// Shared by the parts of a history.
    pub(super) names: Arc<Names>,
    pub(super) initial: ValueId,
    pub(super) clock: Clock,
    /// Whether some keys are the elements of sets.
    pub(super) has_sets: bool,
}

#[derive(Debug)]
pub(super) struct Names {
    pub(super) sessions: Vec<Value>,
    pub(super) values: Values,
    pub(super) source: String,
}

impl Transactions {
    /// All transactions, in the order of the record.
    pub fn list(&self) -> &[Transaction] {
        &self.list
    }

    /// One of them.
    pub fn get(&self, id: TxnId) -> &Transaction {
        &self.list[id.index()]
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The number of keys.
    pub fn key_count(&self) -> usize {
        self.keys.len()
    }

    /// A key's name.
    pub fn key_name(&self, key: KeyId) -> &Value {
        &self.keys[key.index()].0
    }

    /// What a key is.
    pub fn kind(&self, key: KeyId) -> Kind {
        self.keys[key.index()].1
    }

    /// A session's name.
    pub fn session_name(&self, session: SessionId) -> &Value {
        &self.names.sessions[session.index()]
    }

    /// The number of sessions.
    pub fn session_count(&self) -> usize {
        self.names.sessions.len()
    }

    /// What a register holds before the first write.
    pub fn initial(&self) -> ValueId {
        self.initial
    }

    /// Whether moments are recorded.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Whether some keys are the elements of sets.
    pub(crate) fn has_sets(&self) -> bool {
        self.has_sets
    }

    /// Whether a counter was read.
    pub fn reads_counters(&self) -> bool {
        let reads = |op: &Op| matches!(op, Op::ReadCounter(..));
        self.keys.iter().any(|key| key.1 == Kind::Counter)
            && self.list.iter().any(|txn| txn.ops.iter().any(reads))
    }

    /// Where the history comes from.
    pub fn source(&self) -> &str {
        &self.names.source
    }

    /// A value.
    pub fn value(&self, value: ValueId) -> Value {
        self.names.values.get(value)
    }

    /// How much there is: `3 transactions, 1 key, 2 sessions`.
    pub fn size_text(&self) -> String {
        let counted = |count: usize, noun: &str| match count {
            1 => format!("1 {noun}"),
            _ => format!("{count} {noun}s"),
        };
        let (keys, sessions) = (self.key_count(), self.session_count());
        format!(
            "{}, {}, {}",
            counted(self.len(), "transaction"),
            counted(keys, "key"),
            counted(sessions, "session")
        )
    }

    /// An operation as text: `r(x)=3`, `w(x,4)`, `append(l,5)`, `r(l)=[5]`.
    pub fn op_text(&self, op: &Op) -> String {
        let name = self.key_name(op.key());
        match op {
            Op::Read(_, value) => format!("r({name})={}", self.value(*value)),
            Op::Write(_, value) => format!("w({name},{})", self.value(*value)),
            Op::Append(_, value) => format!("append({name},{})", self.value(*value)),
            Op::ReadCounter(_, value) => format!("r({name})={value}"),
            Op::Increment(_, by) => format!("inc({name},{by})"),
            Op::ReadList(_, items) => {
                let items: Vec<String> = items.iter().map(|&v| self.value(v).to_string()).collect();
                format!("r({name})=[{}]", items.join(" "))
            }
        }
    }

    /// The part of this history that some transactions form: of their reads only what they wrote
    /// stays (and reads of the initial state).
    ///
    /// If the whole history satisfies a level, so does every part: restrict the order that shows
    /// it. A read that stays had its writer as the last one, and fewer writers do not change that.
    /// So a violation of a part is a violation of the whole. Of a value that several wrote, all
    /// writers must stay: else the read would be pinned to one that it may not have seen. A read of
    /// a counter stays if all who increment it do.
    pub fn part(&self, keep: &[TxnId], writers: &Writers) -> Transactions {
        let mut is_kept = vec![false; self.list.len()];
        keep.iter().for_each(|id| is_kept[id.index()] = true);
        let stays = |key: KeyId, value: ValueId| match writers.of(key, value) {
            // Nobody wrote it: it is the initial value, or an anomaly by itself.
            [] => true,
            some => some.iter().all(|id| is_kept[id.index()]),
        };
        let counts = |key: KeyId| writers.increments(key).iter().all(|id| is_kept[id.index()]);
        let list = keep.iter().map(|&id| restricted(self.get(id), stays, counts)).collect();
        self.with(list)
    }

    /// What happened to each key, as a history of that key alone: of every transaction the
    /// operations on it. With the transactions' places in this history.
    pub(crate) fn by_key(&self) -> Vec<(Transactions, Vec<TxnId>)> {
        let mut keys: Vec<(Vec<Transaction>, Vec<TxnId>)> = Vec::new();
        keys.resize_with(self.keys.len(), Default::default);
        for (index, txn) in self.list.iter().enumerate() {
            let id = TxnId(index as u32);
            for op in &txn.ops {
                let (list, ids) = &mut keys[op.key().index()];
                if ids.last() != Some(&id) {
                    ids.push(id);
                    list.push(Transaction { ops: Vec::new(), ..*txn });
                }
                list.last_mut().expect("one was pushed").ops.push(op.alone());
            }
        }
        let projection = |(key, (list, ids)): (usize, (Vec<Transaction>, Vec<TxnId>))| {
            let only = Arc::from([self.keys[key].clone()]);
            (Transactions { keys: only, ..self.with(list) }, ids)
        };
        keys.into_iter().enumerate().map(projection).collect()
    }

    /// The same as if no moments had been recorded.
    #[must_use]
    pub fn without_times(&self) -> Transactions {
        let untimed = |txn: &Transaction| Transaction { call: 0, ret: None, ..txn.clone() };
        let list = self.list.iter().map(untimed).collect();
        Transactions { clock: Clock::Absent, ..self.with(list) }
    }

    /// The same keys, sessions and values with other transactions.
    pub(crate) fn with(&self, list: Vec<Transaction>) -> Transactions {
        Transactions {
            list,
            keys: Arc::clone(&self.keys),
            names: Arc::clone(&self.names),
            initial: self.initial,
            clock: self.clock,
            has_sets: self.has_sets,
        }
    }
}

/// A transaction without the reads of values that do not stay, and of counters that do not count.
pub(crate) fn restricted(
    txn: &Transaction,
    stays: impl Fn(KeyId, ValueId) -> bool,
    counts: impl Fn(KeyId) -> bool,
) -> Transaction {
    let op = |op: &Op| match op {
        Op::Read(key, value) => stays(*key, *value).then(|| op.clone()),
        Op::ReadList(key, items) => {
            let items = items.iter().copied().filter(|&item| stays(*key, item)).collect();
            Some(Op::ReadList(*key, items))
        }
        Op::ReadCounter(key, _) => counts(*key).then(|| op.clone()),
        _ => Some(op.clone()),
    };
    Transaction { ops: txn.ops.iter().filter_map(op).collect(), ..txn.clone() }
}

/// Who writes which value, and who increments which counter.
pub struct Writers {
    of_values: HashMap<(KeyId, ValueId), Vec<TxnId>>,
    of_counters: HashMap<KeyId, Vec<TxnId>>,
}

impl Writers {
    /// The writers of every value of a history.
    pub fn new(history: &Transactions) -> Self {
        let mut writers = Writers { of_values: HashMap::new(), of_counters: HashMap::new() };
        for (index, txn) in history.list.iter().enumerate() {
            let id = TxnId(index as u32);
            for op in &txn.ops {
                if let Some(written) = op.written() {
                    writers.of_values.entry(written).or_default().push(id);
                } else if let Op::Increment(key, _) = op {
                    writers.of_counters.entry(*key).or_default().push(id);
                }
            }
        }
        writers
    }

    /// The transactions that write a value to a key.
    pub fn of(&self, key: KeyId, value: ValueId) -> &[TxnId] {
        self.of_values.get(&(key, value)).map_or(&[], Vec::as_slice)
    }

    /// The transactions that increment a counter.
    pub fn increments(&self, counter: KeyId) -> &[TxnId] {
        self.of_counters.get(&counter).map_or(&[], Vec::as_slice)
    }
}
