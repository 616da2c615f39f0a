//! Puts a history of transactions together, and finds out what its keys are.
//!
//! It would be wrong to take two keys for one because they are shown alike: keys are told apart by
//! their values, and the registers that stand for the elements of a set have no name to be found by.

use crate::transaction::{Clock, KeyId, Kind, Names, Op, SessionId, Transaction, Transactions};
use hashbrown::{HashMap, HashSet};
use seriatim_history::{InputError, Value, ValueId, Values};
use std::sync::Arc;

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
    pub(super) list: Vec<Transaction>,
    pub(super) keys: Interned,
    sessions: Interned,
    pub(super) values: Values,
    pub(super) initial: ValueId,
    clock: Clock,
    pub(super) source: String,
    /// The keys that elements are added to, in any order: sets.
    pub(super) sets: HashSet<KeyId>,
    /// The keys that elements are appended to.
    lists: HashSet<KeyId>,
}

/// Numbers for names.
#[derive(Default, Debug)]
pub(super) struct Interned {
    pub(super) names: Vec<Value>,
    index: HashMap<Value, u32>,
}

impl Interned {
    fn id(&mut self, name: &Value) -> u32 {
        if let Some(&id) = self.index.get(name) {
            return id;
        }
        let id = self.fresh(name.clone());
        self.index.insert(name.clone(), id);
        id
    }

    /// A number that no name leads to: only for showing does it have one, which may be another's too.
    pub(super) fn fresh(&mut self, shown: Value) -> u32 {
        self.names.push(shown);
        self.names.len() as u32 - 1
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
