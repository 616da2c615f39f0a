//! From what was recorded to what has to be ordered: who read from whom, and what no order
//! explains.
//!
//! **Committed** are the transactions that say so, and those of unknown outcome that somebody read
//! from. An unknown one that nobody read from is left out: if a level holds with it, it holds
//! without it (nobody misses its writes, its own reads are not known, and it never returned), and
//! that is one of its possible fates. It would be unsound to leave out one that is read.
//!
//! A session's order binds an unknown transaction to those before it. Those after it are not bound:
//! it may take effect long after its client has gone on.
//!
//! **Reads-from.** A read names its writer by the value. Where several transactions wrote the
//! value, those that no level lets be read (aborted, overwritten by themselves, the reader itself)
//! are not candidates; if more than one is left, the read is *ambiguous*, and a [`Choice`] per such
//! read says which writer is meant, or that the read is to be ignored.
//!
//! **Lists.** Every read of a list, the reader's own appends included, is a prefix of the final
//! list: so the longest read fixes the order of the versions it holds, and appends that it does not
//! hold come after it. A list one of whose elements was appended twice and read is ambiguous as a
//! whole.
//!
//! **Counters.** An increment is a write that nobody reads from; what reads of counters say is left
//! to `counter.rs`.
//!
//! **Flaws** are the anomalies that need no order: no choice of orders can explain them.

use crate::level::Level;
use crate::mutation::{Mutant, is_on};
use crate::transaction::{KeyId, Kind, Op, Outcome, Transaction, Transactions, TxnId};
use hashbrown::HashMap;
use seriatim_history::{Time, ValueId};
use seriatim_limits::InOrder;
use seriatim_limits::checkpoint;

/// A version of a key: the value that one transaction left there. The first ones are the initial
/// versions, by key.
pub type Version = u32;

/// A committed transaction; 0 is the one that wrote the initial versions.
pub type Node = u32;

/// A transaction that has to be ordered.
#[derive(Clone, Debug)]
pub struct Txn {
    /// Which one it is; `None` for the initial one.
    pub id: Option<TxnId>,
    /// Who ran it.
    pub session: u32,
    /// When it was called.
    pub call: Time,
    /// When it returned; `Time::MAX` if that is not known.
    pub ret: Time,
    /// Whether the rest of its session comes after it: not if nobody knows when it ended.
    pub precedes_session: bool,
    /// The version that the first external read of each key saw.
    pub reads: Vec<(KeyId, Version)>,
    /// All external reads in program order, where they are more than `reads`.
    repeated: Option<Box<[(KeyId, Version)]>>,
    /// The version that it left of each key it wrote.
    pub writes: Vec<(KeyId, Version)>,
}

impl Txn {
    /// All external reads, in program order.
    pub fn program(&self) -> &[(KeyId, Version)] {
        self.repeated.as_deref().unwrap_or(&self.reads)
    }

    /// Whether it wrote a key.
    pub fn writes_to(&self, key: KeyId) -> bool {
        self.writes.iter().any(|write| write.0 == key)
    }
}

/// What is known of a version.
#[derive(Clone, Debug)]
pub struct VersionInfo {
    /// Who wrote it.
    pub writer: Node,
    /// Of which key it is.
    pub key: KeyId,
    /// Who read it.
    pub readers: Vec<Node>,
}

/// An anomaly that needs no order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FlawKind {
    /// A read of what nobody wrote.
    Unwritten,
    /// A read of what an aborted transaction wrote (G1a).
    AbortedRead,
    /// A read of what its writer itself overwrote (G1b).
    IntermediateRead,
    /// A read of what the reader wrote only later.
    FutureRead,
    /// A read that is not what the transaction itself wrote before.
    Internal,
    /// Two reads of a key, without a write between, that differ.
    NonRepeatable,
    /// Two reads of a list neither of which continues the other.
    IncompatibleOrder,
    /// A list that holds an element twice which was appended once.
    DuplicateElement,
    /// A list that does not hold a transaction's appends whole, side by side and in order.
    BrokenAppends,
}

impl FlawKind {
    /// Whether the anomaly is forbidden at a level.
    pub fn violates(self, level: Level) -> bool {
        let is_weak = matches!(level, Level::ReadCommitted | Level::ReadCommittedAdya)
            || level.is_session_guarantee();
        !(self == FlawKind::NonRepeatable && is_weak)
    }
}

/// An anomaly that needs no order, and where it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Flaw {
    /// What it is.
    pub kind: FlawKind,
    /// The key.
    pub key: KeyId,
    /// The reader, and whoever else shows it.
    pub txns: Vec<TxnId>,
}

impl Flaw {
    /// The transactions that show it, with all whose writes they read from the key.
    pub fn core(&self, history: &Transactions) -> Vec<TxnId> {
        let mut read: hashbrown::HashSet<ValueId> = hashbrown::HashSet::new();
        for op in self.txns.iter().flat_map(|&id| &history.get(id).ops) {
            match op {
                Op::Read(key, value) if *key == self.key => _ = read.insert(*value),
                Op::ReadList(key, items) if *key == self.key => read.extend(items.iter()),
                _ => {}
            }
        }
        let writes_one = |txn: &Transaction| {
            let mut written = txn.ops.iter().filter_map(Op::written);
            written.any(|(key, value)| key == self.key && read.contains(&value))
        };
        let all = (0..history.len() as u32).map(TxnId);
        all.filter(|id| self.txns.contains(id) || writes_one(history.get(*id))).collect()
    }
}

/// What to make of an ambiguous read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Choice {
    /// It says nothing.
    Ignore,
    /// It read from this one of its candidates.
    Candidate(usize),
}

/// A history that is ready to be ordered.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The transactions to order; the first stands for the initial state.
    pub txns: Vec<Txn>,
    /// The versions; the first ones are initial, by key.
    pub versions: Vec<VersionInfo>,
    /// Pairs of versions of a key whose order is known: lists, and read-modify-writes.
    pub known: Vec<(Version, Version)>,
    /// Anomalies that need no order.
    pub flaws: Vec<Flaw>,
    /// The number of candidates of each ambiguous register read, in the order of the record.
    pub ambiguous: Vec<usize>,
    /// The lists whose elements were appended twice: nothing was made of their reads.
    pub unclear_lists: Vec<KeyId>,
    /// For each list key: the reader of its longest read.
    pub longest: HashMap<KeyId, TxnId>,
}

impl Prepared {
    /// The number of keys.
    pub fn key_count(&self) -> usize {
        self.txns[0].writes.len()
    }

    /// Who wrote a version.
    pub fn writer(&self, version: Version) -> Node {
        self.versions[version as usize].writer
    }

    /// Whom a transaction read each key from, in program order.
    pub fn sources(&self, txn: usize) -> impl Iterator<Item = (KeyId, Node)> + '_ {
        let reads = self.txns[txn].program().iter();
        reads.map(|&(key, version)| (key, self.writer(version)))
    }

    /// The edges that every order of commits has to contain: each transaction comes after those
    /// that it read from and after the one that `before` names, and the known order of lists holds.
    pub fn known_edges(&self, before: impl Fn(usize) -> Node) -> Vec<[Node; 2]> {
        let mut edges = Vec::with_capacity(2 * self.txns.len());
        let mut first: Vec<Node> = Vec::new();
        for txn in 1..self.txns.len() {
            first.clear();
            first.extend(self.sources(txn).map(|source| source.1));
            first.push(before(txn));
            first.put_in_order();
            first.dedup();
            edges.extend(first.iter().map(|&first| [first, txn as Node]));
        }
        let known = self.known.iter();
        let known = known.map(|&(earlier, later)| [self.writer(earlier), self.writer(later)]);
        edges.extend(known.filter(|[first, then]| first != then));
        edges
    }

    /// Whether everything recorded was made use of.
    pub fn is_complete(&self) -> bool {
        self.ambiguous.is_empty() && self.unclear_lists.is_empty()
    }
}

/// Prepares a history. Ambiguous reads follow `choices` in order, and say nothing past its end.
pub fn prepare(history: &Transactions, choices: &[Choice]) -> Prepared {
    let mut preparation = Preparation::new(history, choices);
    preparation.find_writers();
    preparation.find_lists();
    for index in 0..history.len() {
        checkpoint();
        preparation.resolve_reads(TxnId(index as u32));
    }
    preparation.judge_lists();
    preparation.assemble()
}

/// Who wrote a value.
#[derive(Clone, Copy)]
struct Source {
    txn: TxnId,
    /// Whether it is what the transaction left of the key.
    is_final: bool,
}

/// Where an external read comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum From {
    Initial,
    Txn(TxnId),
}

/// An external read whose writer is known.
struct Resolved {
    key: KeyId,
    from: From,
    is_first: bool,
}

/// The longest read of a list.
struct Longest<'h> {
    items: &'h [ValueId],
    reader: TxnId,
}

struct Preparation<'h> {
    history: &'h Transactions,
    choices: &'h [Choice],
    writers: HashMap<(KeyId, ValueId), Source>,
    /// The values written by several transactions, or several times by one.
    repeated: HashMap<(KeyId, ValueId), Vec<Source>>,
    longest: HashMap<KeyId, Longest<'h>>,
    unclear: Vec<KeyId>,
    reads: Vec<Vec<Resolved>>,
    is_committed: Vec<bool>,
    ambiguous: Vec<usize>,
    flaws: Vec<Flaw>,
}

impl<'h> Preparation<'h> {
    fn new(history: &'h Transactions, choices: &'h [Choice]) -> Self {
        let committed = |txn: &Transaction| txn.outcome == Outcome::Committed;
        let ops = history.list().iter().flat_map(|txn| &txn.ops);
        let values = ops.filter(|op| op.written().is_some()).count();
        Preparation {
            history,
            choices,
            writers: HashMap::with_capacity(values),
            repeated: HashMap::new(),
            longest: HashMap::new(),
            unclear: Vec::new(),
            reads: history.list().iter().map(|_| Vec::new()).collect(),
            is_committed: history.list().iter().map(committed).collect(),
            ambiguous: Vec::new(),
            flaws: Vec::new(),
        }
    }

    fn flaw(&mut self, kind: FlawKind, key: KeyId, txns: &[TxnId]) {
        self.flaws.push(Flaw { kind, key, txns: txns.to_vec() });
    }

    fn find_writers(&mut self) {
        // The transaction that overwrites a key last is met first when its operations are walked
        // backwards: `left[key]` tells which transaction was met there.
        let mut left = vec![u32::MAX; self.history.key_count()];
        for (index, txn) in self.history.list().iter().enumerate() {
            checkpoint();
            for (key, value) in txn.ops.iter().rev().filter_map(Op::written) {
                let is_final = left[key.index()] != index as u32;
                left[key.index()] = index as u32;
                let source = Source { txn: TxnId(index as u32), is_final };
                if let Some(first) = self.writers.insert((key, value), source) {
                    // The first one stays the entry; all of them are candidates.
                    self.writers.insert((key, value), first);
                    let sources = self.repeated.entry((key, value)).or_insert_with(|| vec![first]);
                    sources.push(source);
                }
            }
        }
    }

    fn find_lists(&mut self) {
        for (index, txn) in self.history.list().iter().enumerate() {
            if txn.outcome != Outcome::Committed {
                continue;
            }
            for op in &txn.ops {
                let Op::ReadList(key, items) = op else { continue };
                let reader = TxnId(index as u32);
                let longest = self.longest.entry(*key).or_insert(Longest { items, reader });
                if items.len() > longest.items.len() {
                    *longest = Longest { items, reader };
                }
            }
        }
        if self.repeated.is_empty() {
            return;
        }
        for op in self.history.list().iter().flat_map(|txn| &txn.ops) {
            let Op::ReadList(key, items) = op else { continue };
            let is_repeated = |&item: &ValueId| self.repeated.contains_key(&(*key, item));
            if !self.unclear.contains(key) && items.iter().any(is_repeated) {
                self.unclear.push(*key);
            }
        }
        self.longest.retain(|key, _| !self.unclear.contains(key));
    }

    /// Finds the writers of what a transaction read.
    fn resolve_reads(&mut self, id: TxnId) {
        let history = self.history;
        let txn = history.get(id);
        if txn.outcome != Outcome::Committed {
            return;
        }
        for (position, op) in txn.ops.iter().enumerate() {
            match op {
                Op::Read(key, value) => self.read_register(id, position, *key, *value),
                Op::ReadList(key, items) if !self.unclear.contains(key) => {
                    self.read_list(id, position, *key, items);
                }
                _ => {}
            }
        }
    }

    fn read_register(&mut self, id: TxnId, position: usize, key: KeyId, value: ValueId) {
        let before = &self.history.get(id).ops[..position];
        let own = before.iter().rev().filter_map(Op::written).find(|write| write.0 == key);
        if let Some((_, written)) = own {
            if written != value {
                self.flaw(FlawKind::Internal, key, &[id]);
            }
            return;
        }
        match self.candidates(id, key, value) {
            Err((kind, other)) => {
                let txns: Vec<TxnId> = [id].into_iter().chain(other.filter(|&t| t != id)).collect();
                self.flaw(kind, key, &txns);
            }
            Ok(candidates) => {
                if let Some(from) = self.choose(&candidates) {
                    self.resolved(id, key, from);
                }
            }
        }
    }

    /// Whom a read of a register may have read from; if nobody, why.
    fn candidates(
        &self,
        reader: TxnId,
        key: KeyId,
        value: ValueId,
    ) -> Result<Vec<From>, (FlawKind, Option<TxnId>)> {
        let mut found = Vec::new();
        let mut refused = (FlawKind::Unwritten, None);
        if value == self.history.initial() {
            found.push(From::Initial);
        }
        let sources = match self.repeated.get(&(key, value)) {
            Some(sources) => sources.as_slice(),
            None => self.writers.get(&(key, value)).map_or(&[][..], std::slice::from_ref),
        };
        for source in sources {
            let why = if source.txn == reader {
                FlawKind::FutureRead
            } else if self.history.get(source.txn).outcome == Outcome::Aborted
                && !is_on(Mutant::AbortedReadsPass)
            {
                FlawKind::AbortedRead
            } else if !source.is_final && !is_on(Mutant::IntermediateReadsPass) {
                FlawKind::IntermediateRead
            } else {
                let from = From::Txn(source.txn);
                if !found.contains(&from) {
                    found.push(from);
                }
                continue;
            };
            refused = (why, Some(source.txn));
        }
        if found.is_empty() { Err(refused) } else { Ok(found) }
    }

    fn choose(&mut self, candidates: &[From]) -> Option<From> {
        if let [only] = candidates {
            return Some(*only);
        }
        let choice = self.choices.get(self.ambiguous.len()).copied();
        self.ambiguous.push(candidates.len());
        match choice.unwrap_or(Choice::Ignore) {
            Choice::Ignore => None,
            Choice::Candidate(index) => Some(candidates[index]),
        }
    }

    /// Notes an external read; two that differ are an anomaly.
    fn resolved(&mut self, id: TxnId, key: KeyId, from: From) {
        let first = self.reads[id.index()].iter().find(|read| read.key == key);
        let first = first.map(|read| read.from);
        if first.is_some_and(|first| first != from) {
            self.flaw(FlawKind::NonRepeatable, key, &[id]);
        }
        if let From::Txn(writer) = from {
            self.is_committed[writer.index()] |= !is_on(Mutant::UnknownNeverCommits);
        }
        self.reads[id.index()].push(Resolved { key, from, is_first: first.is_none() });
    }

    fn read_list(&mut self, id: TxnId, position: usize, key: KeyId, items: &[ValueId]) {
        let before = &self.history.get(id).ops[..position];
        let own = before.iter().filter_map(Op::written).filter(|write| write.0 == key);
        let own: Vec<ValueId> = own.map(|write| write.1).collect();
        if !items.ends_with(&own) {
            return self.flaw(FlawKind::Internal, key, &[id]);
        }
        let longest = &self.longest[&key];
        if !longest.items.starts_with(items) {
            let txns = [id, longest.reader];
            return self.flaw(FlawKind::IncompatibleOrder, key, &txns);
        }
        let base = &items[..items.len() - own.len()];
        let from = match base.last() {
            None => From::Initial,
            Some(&last) => match self.writers.get(&(key, last)) {
                // A flaw of the longest read, which is judged by itself.
                None => return,
                Some(source) if source.txn == id => {
                    return self.flaw(FlawKind::FutureRead, key, &[id]);
                }
                Some(source) if !source.is_final => {
                    let txns = [id, source.txn];
                    return self.flaw(FlawKind::IntermediateRead, key, &txns);
                }
                Some(source) => From::Txn(source.txn),
            },
        };
        self.resolved(id, key, from);
    }

    /// Looks at the longest read of each list: every element once, written by somebody who did not
    /// abort, and every transaction's appends whole.
    fn judge_lists(&mut self) {
        let mut keys: Vec<KeyId> = self.longest.keys().copied().collect();
        keys.put_in_order();
        for key in keys {
            let Longest { items, reader } = self.longest[&key];
            let mut seen = hashbrown::HashSet::new();
            let mut writers: Vec<TxnId> = Vec::new();
            for &item in items {
                if !seen.insert(item) {
                    let writer = self.writers.get(&(key, item)).map(|source| source.txn);
                    let txns: Vec<TxnId> = [reader].into_iter().chain(writer).collect();
                    self.flaw(FlawKind::DuplicateElement, key, &dedup(txns));
                    continue;
                }
                let Some(source) = self.writers.get(&(key, item)) else {
                    self.flaw(FlawKind::Unwritten, key, &[reader]);
                    continue;
                };
                let writer = source.txn;
                if self.history.get(writer).outcome == Outcome::Aborted {
                    self.flaw(FlawKind::AbortedRead, key, &[reader, writer]);
                    continue;
                }
                self.is_committed[writer.index()] = true;
                if writers.last() != Some(&writer) {
                    writers.push(writer);
                }
            }
            self.judge_appends(key, &writers);
        }
    }

    /// Every transaction's appends to a list stand side by side and in order; only the last one's
    /// may be cut off, where it read them itself before it was through.
    fn judge_appends(&mut self, key: KeyId, writers: &[TxnId]) {
        let Longest { items, reader } = self.longest[&key];
        let mut rest = items;
        for (index, &writer) in writers.iter().enumerate() {
            let appends: Vec<ValueId> = self.appends(writer, key);
            let is_last = index + 1 == writers.len();
            if rest.starts_with(&appends) || is_on(Mutant::TornAppendsPass) {
                rest = &rest[appends.len().min(rest.len())..];
            } else if is_last && appends.starts_with(rest) && writer == reader {
                return;
            } else {
                let next = writers.get(index + 1).copied();
                let txns = [reader, writer].into_iter().chain(next).collect();
                return self.flaw(FlawKind::BrokenAppends, key, &dedup(txns));
            }
        }
    }

    fn appends(&self, txn: TxnId, key: KeyId) -> Vec<ValueId> {
        let ops = self.history.get(txn).ops.iter().filter_map(Op::written);
        ops.filter(|write| write.0 == key).map(|write| write.1).collect()
    }

    fn assemble(self) -> Prepared {
        let keys = self.history.key_count() as u32;
        let mut txns = vec![initial_txn(keys)];
        let initial = |key| VersionInfo { writer: 0, key: KeyId(key), readers: Vec::new() };
        let mut versions: Vec<VersionInfo> = (0..keys).map(initial).collect();
        let mut nodes = vec![0 as Node; self.history.len()];
        for (index, txn) in self.history.list().iter().enumerate() {
            checkpoint();
            if self.is_committed[index] {
                nodes[index] = txns.len() as Node;
                txns.push(ordered(txn, TxnId(index as u32), txns.len() as Node, &mut versions));
            }
        }
        self.link_reads(&nodes, &mut txns, &mut versions);
        let mut known = self.list_order(&nodes, &txns, &versions);
        for txn in &txns[1..] {
            for &(key, seen) in &txn.reads {
                known.extend(written_version(txn, key).map(|version| (seen, version)));
            }
        }
        Prepared {
            txns,
            versions,
            known,
            flaws: self.flaws,
            ambiguous: self.ambiguous,
            unclear_lists: self.unclear,
            longest: self.longest.iter().map(|(&key, longest)| (key, longest.reader)).collect(),
        }
    }

    fn link_reads(&self, nodes: &[Node], txns: &mut [Txn], versions: &mut [VersionInfo]) {
        for (index, reads) in self.reads.iter().enumerate() {
            checkpoint();
            let node = nodes[index];
            let mut all = Vec::with_capacity(reads.len());
            for read in reads {
                let version = match read.from {
                    From::Initial => read.key.0,
                    From::Txn(writer) => {
                        let writer = &txns[nodes[writer.index()] as usize];
                        written_version(writer, read.key)
                            .expect("a writer of the key has a version")
                    }
                };
                all.push((read.key, version));
                if read.is_first {
                    txns[node as usize].reads.push((read.key, version));
                    versions[version as usize].readers.push(node);
                }
            }
            let txn = &mut txns[node as usize];
            if all.len() > txn.reads.len() && node != 0 {
                txn.repeated = Some(all.into());
            }
        }
    }

    /// The versions of each list in the order of its longest read, and all others after them.
    fn list_order(
        &self,
        nodes: &[Node],
        txns: &[Txn],
        versions: &[VersionInfo],
    ) -> Vec<(Version, Version)> {
        let mut known = Vec::new();
        let mut is_placed = vec![false; versions.len()];
        let mut last: Vec<Version> = (0..self.history.key_count() as u32).collect();
        for (&key, longest) in &self.longest {
            for &item in longest.items {
                let Some(source) = self.writers.get(&(key, item)) else { continue };
                let writer = &txns[nodes[source.txn.index()] as usize];
                let Some(version) = written_version(writer, key) else { continue };
                if !is_placed[version as usize] && writer.id.is_some() {
                    is_placed[version as usize] = true;
                    known.push((last[key.index()], version));
                    last[key.index()] = version;
                }
            }
        }
        for (version, info) in versions.iter().enumerate().skip(self.history.key_count()) {
            let is_list = self.history.kind(info.key) == Kind::List;
            let floats = is_on(Mutant::UnreadAppendsFloat);
            if is_list && !floats && !is_placed[version] && self.longest.contains_key(&info.key) {
                known.push((last[info.key.index()], version as Version));
            }
        }
        known
    }
}

fn dedup(txns: Vec<TxnId>) -> Vec<TxnId> {
    let mut seen: Vec<TxnId> = Vec::new();
    for txn in txns {
        if !seen.contains(&txn) {
            seen.push(txn);
        }
    }
    seen
}

fn initial_txn(keys: u32) -> Txn {
    Txn {
        id: None,
        session: u32::MAX,
        call: 0,
        ret: 0,
        precedes_session: true,
        reads: Vec::new(),
        repeated: None,
        writes: (0..keys).map(|key| (KeyId(key), key)).collect(),
    }
}

fn ordered(txn: &Transaction, id: TxnId, node: Node, versions: &mut Vec<VersionInfo>) -> Txn {
    let mut writes: Vec<(KeyId, Version)> = Vec::new();
    for key in txn.ops.iter().filter_map(Op::changes) {
        if !writes.iter().any(|write| write.0 == key) {
            writes.push((key, versions.len() as Version));
            versions.push(VersionInfo { writer: node, key, readers: Vec::new() });
        }
    }
    Txn {
        id: Some(id),
        session: txn.session.0,
        call: txn.call,
        ret: match txn.outcome {
            Outcome::Committed => txn.ret.unwrap_or(Time::MAX),
            _ => Time::MAX,
        },
        precedes_session: txn.outcome == Outcome::Committed,
        reads: Vec::new(),
        repeated: None,
        writes,
    }
}

fn written_version(txn: &Txn, key: KeyId) -> Option<Version> {
    txn.writes.iter().find(|write| write.0 == key).map(|write| write.1)
}
