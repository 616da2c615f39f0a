//! A recorded history of transactions.
//!
//! A transaction belongs to a session (a client), did some reads and writes in program order, and
//! committed, aborted, or nobody knows. Keys are registers (a write replaces the value), lists (an
//! append adds an element at the end) or counters (an increment adds a number); a key is one of
//! these. Predicates (`select where`) are not modelled: nothing is said about phantoms.
//!
//! The order of a session is the order in which its transactions stand here. Times are optional;
//! without them the levels that speak of real time cannot be asked.

use hashbrown::{HashMap, HashSet};
use seriatim_history::{InputError, Time, Value, ValueId, Values};
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
    list: Vec<Transaction>,
    keys: Arc<[(Value, Kind)]>,
    /// Shared by the parts of a history.
    names: Arc<Names>,
    initial: ValueId,
    clock: Clock,
    /// Whether some keys are the elements of sets.
    has_sets: bool,
}

#[derive(Debug)]
struct Names {
    sessions: Vec<Value>,
    values: Values,
    source: String,
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

/// Puts a history together.
///
/// ```
/// use seriatim_transactions::{Builder, Level, Op, Outcome, Standing, Transaction, check};
/// use seriatim_history::Value;
///
/// let mut builder = Builder::new("example");
/// let (x, alice) = (builder.key(&Value::text("x")), builder.session(&Value::text("alice")));
/// let one = builder.values().intern_int(1);
/// let txn = |ops, call| Transaction {
///     session: alice,
///     call,
///     ret: Some(call + 1),
///     outcome: Outcome::Committed,
///     ops,
///     line: 0,
/// };
/// builder.add(txn(vec![Op::Write(x, one)], 1));
/// builder.add(txn(vec![Op::Read(x, one)], 3));
/// let history = builder.finish()?;
/// let answer = check(&history, Level::StrictSerializable, &Default::default())?;
/// assert!(matches!(answer.standing, Standing::Satisfied(_)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Builder {
    list: Vec<Transaction>,
    keys: Interned,
    sessions: Interned,
    values: Values,
    initial: ValueId,
    clock: Clock,
    source: String,
    /// The keys that elements are added to, in any order: sets.
    sets: HashSet<KeyId>,
    /// The keys that elements are appended to.
    lists: HashSet<KeyId>,
}

#[derive(Default, Debug)]
struct Interned {
    names: Vec<Value>,
    index: HashMap<Value, u32>,
}

impl Interned {
    fn id(&mut self, name: &Value) -> u32 {
        if let Some(&id) = self.index.get(name) {
            return id;
        }
        let id = self.names.len() as u32;
        self.names.push(name.clone());
        self.index.insert(name.clone(), id);
        id
    }

    /// Makes names of texts that are words, so that they are shown without quotes: JSON has no
    /// other names. A word that is a name already stays a text.
    fn show_words_plainly(&mut self) {
        for name in &mut self.names {
            let Value::Text(text) = name else { continue };
            let word = Value::Name(text.clone());
            if is_word(text) && !self.index.contains_key(&word) {
                *name = word;
            }
        }
    }
}

fn is_word(text: &str) -> bool {
    let is_inner = |c: char| c.is_alphanumeric() || "_-./:".contains(c);
    let is_start = text.starts_with(|c: char| c.is_alphabetic() || c == '_');
    is_start && text.chars().all(is_inner) && !["nil", "null", "true", "false"].contains(&text)
}

impl Builder {
    /// An empty history of this source. Registers hold `nil` at first.
    pub fn new(source: &str) -> Self {
        Builder {
            list: Vec::new(),
            keys: Interned::default(),
            sessions: Interned::default(),
            values: Values::default(),
            initial: ValueId::NIL,
            clock: Clock::Recorded,
            source: source.to_owned(),
            sets: HashSet::new(),
            lists: HashSet::new(),
        }
    }

    /// The values, to intern one.
    pub fn values(&mut self) -> &mut Values {
        &mut self.values
    }

    /// A key, new or old.
    pub fn key(&mut self, name: &Value) -> KeyId {
        KeyId(self.keys.id(name))
    }

    /// A session, new or old.
    pub fn session(&mut self, name: &Value) -> SessionId {
        SessionId(self.sessions.id(name))
    }

    /// Says what registers hold before the first write.
    pub fn initial(&mut self, value: ValueId) {
        self.initial = value;
    }

    /// An append to a list.
    pub fn append(&mut self, list: KeyId, value: ValueId) -> Op {
        self.lists.insert(list);
        Op::Append(list, value)
    }

    /// An addition to a set. In the history that comes of it, each element of a set is a register
    /// by itself that holds `true` or nothing, and a read of the set reads all of them: elements do
    /// not notice each other, so that is the same.
    pub fn add_to_set(&mut self, set: KeyId, element: ValueId) -> Op {
        self.sets.insert(set);
        Op::Append(set, element)
    }

    /// Says that no moments are recorded.
    pub fn without_times(&mut self) {
        self.clock = Clock::Absent;
    }

    /// Adds a transaction, after the earlier ones of its session.
    pub fn add(&mut self, txn: Transaction) {
        self.list.push(txn);
    }

    /// The history.
    ///
    /// # Errors
    /// If a key is used both as a list and as a register.
    pub fn finish(mut self) -> Result<Transactions, InputError> {
        self.keys.show_words_plainly();
        self.sessions.show_words_plainly();
        if let Some(&both) = self.sets.intersection(&self.lists).min() {
            let uses = |txn: &&Transaction| txn.ops.iter().any(|op| op.key() == both);
            let line = self.list.iter().find(uses).map_or(0, |txn| txn.line);
            let found = format!("both of key {}", self.keys.names[both.index()]);
            return Err(InputError::syntax(&self.source, line, "additions or appends", &found));
        }
        self.split_sets()?;
        let kinds = self.kinds();
        self.normalise(&kinds)?;
        let keys = self.keys.names.into_iter().zip(kinds).collect();
        let (sessions, values, source) = (self.sessions.names, self.values, self.source);
        Ok(Transactions {
            list: self.list,
            keys,
            names: Arc::new(Names { sessions, values, source }),
            initial: self.initial,
            clock: self.clock,
            has_sets: !self.sets.is_empty(),
        })
    }

    /// Makes a register of every element of a set.
    fn split_sets(&mut self) -> Result<(), InputError> {
        if self.sets.is_empty() {
            return Ok(());
        }
        let mut elements: HashMap<KeyId, Vec<(ValueId, KeyId)>> = HashMap::new();
        let mut known: HashMap<(KeyId, ValueId), KeyId> = HashMap::new();
        let mut list = std::mem::take(&mut self.list);
        for op in list.iter().flat_map(|txn| &txn.ops).filter(|op| self.sets.contains(&op.key())) {
            let values: &[ValueId] = match op {
                Op::Append(_, value) => std::slice::from_ref(value),
                Op::ReadList(_, items) => items,
                _ => &[],
            };
            for &value in values {
                known.entry((op.key(), value)).or_insert_with(|| {
                    let set = &self.keys.names[op.key().index()];
                    let name = format!("{set}∋{}", self.values.get(value));
                    let element = KeyId(self.keys.id(&Value::Name(name.into())));
                    elements.entry(op.key()).or_default().push((value, element));
                    element
                });
            }
        }
        let is_in = self.values.intern(&Value::Bool(true));
        for txn in &mut list {
            let mut ops = Vec::with_capacity(txn.ops.len());
            for op in std::mem::take(&mut txn.ops) {
                let Some(elements) = elements.get(&op.key()) else {
                    ops.push(op);
                    continue;
                };
                match &op {
                    Op::Append(set, added) => {
                        ops.push(Op::Write(known[&(*set, *added)], is_in));
                    }
                    Op::ReadList(_, items) => {
                        // All elements are read at once. Levels that tell earlier reads of a
                        // transaction from later ones must not notice an order among them: an
                        // element that is missing says nothing of those that come after it.
                        let seen: HashSet<ValueId> = items.iter().copied().collect();
                        let (mut there, mut missing) = (Vec::new(), Vec::new());
                        for &(value, key) in elements {
                            match seen.contains(&value) {
                                true => there.push(Op::Read(key, is_in)),
                                false => missing.push(Op::Read(key, ValueId::NIL)),
                            }
                        }
                        ops.append(&mut missing);
                        ops.append(&mut there);
                    }
                    Op::Read(_, ValueId::NIL) => {
                        ops.extend(elements.iter().map(|e| Op::Read(e.1, ValueId::NIL)));
                    }
                    _ => {
                        let name = &self.keys.names[op.key().index()];
                        let found = format!("something else of key {name}");
                        let expected =
                            "an addition or a read of all elements, since the key is a set";
                        return Err(InputError::syntax(&self.source, txn.line, expected, &found));
                    }
                }
            }
            txn.ops = ops;
        }
        self.list = list;
        Ok(())
    }

    /// A key is a counter if it is incremented, a list if it is appended to, or if it is read as a
    /// list and never set. In a history with counters, a key that is only read, and always as 0, is
    /// one that nobody has incremented yet.
    fn kinds(&mut self) -> Vec<Kind> {
        let zero = self.values.intern_int(0);
        let mut set = vec![false; self.keys.names.len()];
        let mut listed = set.clone();
        let mut appended = set.clone();
        let mut counted = set.clone();
        let mut is_zero = vec![true; set.len()];
        for op in self.list.iter().flat_map(|txn| &txn.ops) {
            match op {
                Op::Write(key, _) => set[key.index()] = true,
                Op::Append(key, _) => appended[key.index()] = true,
                Op::ReadList(key, _) => listed[key.index()] = true,
                Op::Increment(key, _) | Op::ReadCounter(key, _) => counted[key.index()] = true,
                Op::Read(key, value) => is_zero[key.index()] &= *value == zero,
            }
        }
        if counted.contains(&true) {
            for key in 0..set.len() {
                counted[key] |= is_zero[key] && !set[key] && !appended[key] && !listed[key];
            }
        }
        let kind = |key: usize| match appended[key] || (listed[key] && !set[key]) {
            _ if counted[key] => Kind::Counter,
            true => Kind::List,
            false => Kind::Register,
        };
        (0..set.len()).map(kind).collect()
    }

    /// Reads say what the kind of their key makes of them: `nil` of a list is the empty list, `nil`
    /// of a counter is 0, a list in a register is one value.
    fn normalise(&mut self, kinds: &[Kind]) -> Result<(), InputError> {
        let names = &self.keys.names;
        for txn in &mut self.list {
            for op in &mut txn.ops {
                let name = &names[op.key().index()];
                let misfit = |expected: &str, found: &str| {
                    let found = format!("{found} of key {name}");
                    Err(InputError::syntax(&self.source, txn.line, expected, &found))
                };
                match (kinds[op.key().index()], &*op) {
                    (Kind::List, Op::Write(..)) => {
                        return misfit("an append or a read, since the key is a list", "a write");
                    }
                    (Kind::List, Op::Read(key, ValueId::NIL)) => {
                        *op = Op::ReadList(*key, Box::new([]));
                    }
                    (Kind::List, Op::Read(..)) => {
                        return misfit(
                            "a list, since the key is appended to or read as one",
                            "a read of one value",
                        );
                    }
                    (Kind::Counter, Op::Read(key, ValueId::NIL)) => *op = Op::ReadCounter(*key, 0),
                    (Kind::Counter, Op::Read(key, value)) => match self.values.get(*value) {
                        Value::Int(number) => *op = Op::ReadCounter(*key, number),
                        other => {
                            let found = format!("a read of {other}");
                            return misfit("a whole number, since the key is incremented", &found);
                        }
                    },
                    (Kind::Counter, Op::Write(..) | Op::Append(..) | Op::ReadList(..)) => {
                        let expected =
                            "an increment or a read of a number, since the key is a counter";
                        return misfit(expected, "something else");
                    }
                    (Kind::Register, Op::ReadList(key, items)) => {
                        let items = items.iter().map(|&item| self.values.get(item));
                        let value = Value::list(items.collect::<Vec<_>>());
                        *op = Op::Read(*key, self.values.intern(&value));
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }
}
