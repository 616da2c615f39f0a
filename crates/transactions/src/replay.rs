//! Checking a witness against the history as it was recorded, by plain simulation.
//!
//! Nothing here is shared with the engines: no reads-from, no versions, no graph. Values are
//! compared with values. What is checked for each level is its definition:
//!
//! - serial levels: each transaction runs on the state that those before it left;
//! - snapshot isolation and prefix consistency: each reads the state at its begin, and its writes
//!   appear at its commit; under snapshot isolation no two writers of a key overlap;
//! - causal, read atomic and read committed (Biswas and Enea 2019): if a transaction reads key k
//!   from w, and another writer x of k is in its causal past (or its session or read directly; or
//!   read earlier in program order), x commits before w;
//! - the session guarantees: see each check;
//! - everywhere: all that committed is there once, nothing that aborted; sessions and real time
//!   where the level demands them; and a list that was read is a prefix of the final list.
//!
//! A causal past is never built: for each transaction and key, the latest commit of a writer in the
//! past is enough, and these maxima are joined along sessions and reads.

use crate::level::{Demand, Level};
use crate::transaction::{KeyId, Kind, Op, Outcome, Transaction, Transactions, TxnId};
use crate::witness::{Moment, Witness};
use hashbrown::HashMap;
use seriatim_history::{Time, ValueId};
use seriatim_limits::InOrder;
use seriatim_limits::checkpoint;

/// Why a witness shows nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Rejection {
    /// A committed transaction is missing, or one is there twice or should not be there.
    Roll(TxnId),
    /// A read does not see what it saw.
    Read(TxnId),
    /// Two writers of a key overlap.
    Overlap(TxnId),
    /// The order of a session is not kept.
    Session(TxnId),
    /// Real time is not kept.
    RealTime(TxnId),
    /// A read of a list is no prefix of the final list.
    List(TxnId),
    /// A value that was read was left by several transactions: an order of commits does not say
    /// whom it was read from.
    Untraceable(TxnId),
    /// The witness is not of the form that the level needs.
    Form,
}

impl std::fmt::Display for Rejection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (TxnId(txn), what) = match self {
            Rejection::Roll(txn) => (txn, "is missing, there twice, or should not be there"),
            Rejection::Read(txn) => (txn, "reads what it would not see"),
            Rejection::Overlap(txn) => (txn, "overlaps another writer of a key"),
            Rejection::Session(txn) => (txn, "breaks the order of its session"),
            Rejection::RealTime(txn) => (txn, "breaks real time"),
            Rejection::List(txn) => (txn, "reads a list that is no prefix of the final one"),
            Rejection::Untraceable(txn) => (txn, "reads a value that several transactions left"),
            Rejection::Form => return f.write_str("the witness does not fit the level"),
        };
        write!(f, "transaction {txn} {what}")
    }
}

impl std::error::Error for Rejection {}

/// Checks that a witness shows a level.
pub fn replay(history: &Transactions, level: Level, witness: &Witness) -> Result<(), Rejection> {
    match (level, witness) {
        (
            Level::StrictSerializable | Level::StrongSessionSerializable | Level::Serializable,
            Witness::Serial(order),
        ) => {
            let both = |&txn: &TxnId| [(txn, Moment::Begin), (txn, Moment::Commit)];
            let events: Vec<_> = order.iter().flat_map(both).collect();
            Simulation::new(history, level).run(&events)
        }
        (
            Level::StrongSnapshotIsolation
            | Level::StrongSessionSnapshotIsolation
            | Level::SnapshotIsolation
            | Level::Prefix,
            Witness::Events(events),
        ) => Simulation::new(history, level).run(events),
        (level, Witness::Commits(order)) if level.orders_commits() => {
            Axioms::new(history, order)?.check(level)
        }
        _ => Err(Rejection::Form),
    }
}

/// What a key holds.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Content {
    One(ValueId),
    Many(Vec<ValueId>),
    Sum(i128),
}

fn initial_contents(history: &Transactions) -> Vec<Content> {
    let content = |key: u32| match history.kind(KeyId(key)) {
        Kind::Register => Content::One(history.initial()),
        Kind::List => Content::Many(Vec::new()),
        Kind::Counter => Content::Sum(0),
    };
    (0..history.key_count() as u32).map(content).collect()
}

/// Applies a write.
fn apply(contents: &mut [Content], op: &Op) {
    match (op, &mut contents[op.key().index()]) {
        (Op::Write(_, value), content) => *content = Content::One(*value),
        (Op::Append(_, value), Content::Many(items)) => items.push(*value),
        (Op::Append(_, value), content) => *content = Content::Many(vec![*value]),
        (Op::Increment(_, by), Content::Sum(sum)) => *sum += i128::from(*by),
        (Op::Increment(_, by), content) => *content = Content::Sum(i128::from(*by)),
        (Op::Read(..) | Op::ReadList(..) | Op::ReadCounter(..), _) => {}
    }
}

/// Whether the reads of a transaction see what they saw, its own writes on top of a state.
fn reads_agree(contents: &[Content], txn: &Transaction) -> bool {
    let agrees = |(position, op): (usize, &Op)| {
        let own = txn.ops[..position].iter().filter(|before| before.key() == op.key());
        match op {
            Op::Read(key, value) => {
                let written = own.filter_map(Op::written).next_back().map(|write| write.1);
                match (written, &contents[key.index()]) {
                    (Some(written), _) => written == *value,
                    (None, content) => *content == Content::One(*value),
                }
            }
            Op::ReadList(key, items) => {
                let Content::Many(base) = &contents[key.index()] else { return false };
                let Some(rest) = items.strip_prefix(base.as_slice()) else { return false };
                rest.iter().copied().eq(own.filter_map(Op::written).map(|write| write.1))
            }
            Op::ReadCounter(key, value) => {
                let Content::Sum(base) = contents[key.index()] else { return false };
                let added = own.map(|before| match before {
                    Op::Increment(_, by) => i128::from(*by),
                    _ => 0,
                });
                base + added.sum::<i128>() == i128::from(*value)
            }
            Op::Write(..) | Op::Append(..) | Op::Increment(..) => true,
        }
    };
    txn.ops.iter().enumerate().all(agrees)
}

/// Whether every committed transaction is there once, no aborted one, and no other twice.
fn check_roll(history: &Transactions, order: &[TxnId]) -> Result<(), Rejection> {
    let mut times = vec![0u32; history.len()];
    for txn in order {
        *times.get_mut(txn.index()).ok_or(Rejection::Roll(*txn))? += 1;
    }
    for (index, txn) in history.list().iter().enumerate() {
        let is_right = match txn.outcome {
            Outcome::Committed => times[index] == 1,
            Outcome::Unknown => times[index] <= 1,
            Outcome::Aborted => times[index] == 0,
        };
        if !is_right {
            return Err(Rejection::Roll(TxnId(index as u32)));
        }
    }
    Ok(())
}

/// Lists that were read are prefixes of the final lists.
fn check_lists(history: &Transactions, order: &[TxnId], last: &[Content]) -> Result<(), Rejection> {
    for &id in order {
        let txn = history.get(id);
        for op in txn.ops.iter().filter(|_| txn.outcome == Outcome::Committed) {
            let Op::ReadList(key, items) = op else { continue };
            let Content::Many(all) = &last[key.index()] else { return Err(Rejection::List(id)) };
            if !all.starts_with(items) {
                return Err(Rejection::List(id));
            }
        }
    }
    Ok(())
}

/// Begins and commits, one after another.
struct Simulation<'h> {
    history: &'h Transactions,
    level: Level,
    contents: Vec<Content>,
    /// The keys that a transaction writes which has begun and not committed.
    is_open: Vec<bool>,
    has_begun: Vec<bool>,
    /// The latest transaction of each session that has begun.
    latest: Vec<Option<TxnId>>,
    latest_call: Time,
}

impl<'h> Simulation<'h> {
    fn new(history: &'h Transactions, level: Level) -> Self {
        Simulation {
            history,
            level,
            contents: initial_contents(history),
            is_open: vec![false; history.key_count()],
            has_begun: vec![false; history.len()],
            latest: vec![None; history.session_count()],
            latest_call: 0,
        }
    }

    fn run(mut self, events: &[(TxnId, Moment)]) -> Result<(), Rejection> {
        let commits = events.iter().filter(|event| event.1 == Moment::Commit);
        let order: Vec<TxnId> = commits.map(|event| event.0).collect();
        check_roll(self.history, &order)?;
        if events.len() != 2 * order.len() {
            return Err(Rejection::Form);
        }
        for &(id, moment) in events {
            checkpoint();
            match moment {
                Moment::Begin => self.begin(id)?,
                Moment::Commit => self.commit(id)?,
            }
        }
        check_lists(self.history, &order, &self.contents)
    }

    fn begin(&mut self, id: TxnId) -> Result<(), Rejection> {
        let txn = self.history.get(id);
        if std::mem::replace(&mut self.has_begun[id.index()], true) {
            return Err(Rejection::Roll(id));
        }
        if txn.outcome == Outcome::Committed && !reads_agree(&self.contents, txn) {
            return Err(Rejection::Read(id));
        }
        if self.level != Level::Prefix {
            self.open_keys(id)?;
        }
        let latest = &mut self.latest[txn.session.index()];
        *latest = (*latest).max(Some(id));
        self.latest_call = self.latest_call.max(txn.call);
        Ok(())
    }

    fn open_keys(&mut self, id: TxnId) -> Result<(), Rejection> {
        let mut own: Vec<KeyId> = Vec::new();
        for key in self.history.get(id).ops.iter().filter_map(Op::changes) {
            if own.contains(&key) {
                continue;
            }
            own.push(key);
            if std::mem::replace(&mut self.is_open[key.index()], true) {
                return Err(Rejection::Overlap(id));
            }
        }
        Ok(())
    }

    fn commit(&mut self, id: TxnId) -> Result<(), Rejection> {
        let txn = self.history.get(id);
        if !self.has_begun[id.index()] {
            return Err(Rejection::Roll(id));
        }
        for op in txn.ops.iter().filter(|op| op.changes().is_some()) {
            apply(&mut self.contents, op);
            self.is_open[op.key().index()] = false;
        }
        // One of unknown outcome may take effect long after its client has gone on.
        let has_returned = txn.outcome == Outcome::Committed;
        // A later one of the session has begun before this one committed.
        let is_out_of_session = has_returned && self.latest[txn.session.index()] > Some(id);
        if is_out_of_session && self.level.demand() != Demand::Nothing {
            return Err(Rejection::Session(id));
        }
        // One that was called after this one returned has begun before this one committed.
        let is_late = has_returned && txn.ret.is_some_and(|ret| ret < self.latest_call);
        if is_late && self.level.demand() == Demand::RealTime {
            return Err(Rejection::RealTime(id));
        }
        Ok(())
    }
}

/// An external read: its key, and the place in the commit order of whom it read from (0: nobody).
type External = (KeyId, u32);

/// Who left which value, by place in the commit order.
struct Left {
    one: HashMap<(KeyId, ValueId), u32>,
    /// All of them, where there are several.
    more: HashMap<(KeyId, ValueId), Vec<u32>>,
}

impl Left {
    fn with_capacity(values: usize) -> Self {
        Left { one: HashMap::with_capacity(values), more: HashMap::new() }
    }

    fn insert(&mut self, write: (KeyId, ValueId), place: u32) {
        if let Some(first) = self.one.insert(write, place) {
            self.more.entry(write).or_insert_with(|| vec![first]).push(place);
        }
    }

    /// Whom somebody at a place may have read a value from; not from itself.
    fn sources(&self, write: (KeyId, ValueId), reader: u32) -> &[u32] {
        match (self.more.get(&write), self.one.get(&write)) {
            (Some(both), _) if both.len() == 2 && both[0] == reader => &both[1..],
            (Some(both), _) if both.len() == 2 && both[1] == reader => &both[..1],
            (Some(all), _) => all,
            (None, Some(one)) => std::slice::from_ref(one),
            (None, None) => &[],
        }
    }
}

/// A commit order, and who read from whom.
struct Axioms<'h> {
    history: &'h Transactions,
    order: &'h [TxnId],
    /// The external reads of each transaction of the order, in program order.
    reads: Vec<Vec<External>>,
    /// The keys that each transaction of the order writes.
    writes: Vec<Vec<KeyId>>,
    /// For each key, the places of those who appended the elements of the final list.
    appenders: Vec<Vec<u32>>,
}

impl<'h> Axioms<'h> {
    /// Fails where a read has no writer among those that committed before, or is not repeated.
    fn new(history: &'h Transactions, order: &'h [TxnId]) -> Result<Self, Rejection> {
        check_roll(history, order)?;
        let mut contents = initial_contents(history);
        let all = order.iter().flat_map(|&id| &history.get(id).ops);
        let mut left = Left::with_capacity(all.filter(|op| op.written().is_some()).count());
        let mut writes = Vec::with_capacity(order.len());
        let mut appenders = vec![Vec::new(); history.key_count()];
        for (place, &id) in order.iter().enumerate() {
            checkpoint();
            let ops = &history.get(id).ops;
            let written = ops.iter().filter_map(Op::written);
            let mut last: Vec<(KeyId, ValueId)> = Vec::new();
            for (key, value) in written {
                match last.iter_mut().find(|write| write.0 == key) {
                    Some(write) => write.1 = value,
                    None => last.push((key, value)),
                }
            }
            for &write in &last {
                left.insert(write, place as u32 + 1);
            }
            for op in ops {
                apply(&mut contents, op);
                if let Op::Append(list, _) = op {
                    appenders[list.index()].push(place as u32 + 1);
                }
            }
            let mut changed: Vec<KeyId> = ops.iter().filter_map(Op::changes).collect();
            changed.put_in_order();
            changed.dedup();
            writes.push(changed);
        }
        check_lists(history, order, &contents)?;
        let mut axioms = Axioms { history, order, reads: Vec::new(), writes, appenders };
        for (place, &id) in order.iter().enumerate() {
            let reads = axioms.external_reads(id, place as u32 + 1, &left)?;
            axioms.reads.push(reads);
        }
        Ok(axioms)
    }

    /// Who left a list with so many elements of the final one, 0 if it was there at first; `None`
    /// if nobody did, since the next element is of the same transaction.
    fn appender(&self, list: KeyId, elements: usize) -> Option<u32> {
        let all = &self.appenders[list.index()];
        let Some(last) = elements.checked_sub(1) else { return Some(0) };
        all.get(last).copied().filter(|from| all.get(elements) != Some(from))
    }

    fn external_reads(
        &self,
        id: TxnId,
        place: u32,
        left: &Left,
    ) -> Result<Vec<External>, Rejection> {
        let txn = self.history.get(id);
        let mut reads = Vec::new();
        for (position, op) in txn.ops.iter().enumerate() {
            if txn.outcome != Outcome::Committed {
                break;
            }
            let before = txn.ops[..position].iter().filter(|before| before.key() == op.key());
            let own: Vec<ValueId> = before.filter_map(Op::written).map(|write| write.1).collect();
            let (key, from) = match op {
                Op::Read(_, value) if !own.is_empty() => {
                    if own.last() != Some(value) {
                        return Err(Rejection::Read(id));
                    }
                    continue;
                }
                Op::Read(key, value) => {
                    let is_initial = *value == self.history.initial();
                    if is_initial && left.one.contains_key(&(*key, *value)) {
                        return Err(Rejection::Untraceable(id));
                    }
                    let from = match left.sources((*key, *value), place) {
                        _ if is_initial => 0,
                        [] => return Err(Rejection::Read(id)),
                        [from] => *from,
                        _ => return Err(Rejection::Untraceable(id)),
                    };
                    (*key, from)
                }
                Op::ReadList(key, items) => {
                    let base = items.strip_suffix(own.as_slice()).ok_or(Rejection::Read(id))?;
                    (*key, self.appender(*key, base.len()).ok_or(Rejection::Read(id))?)
                }
                // An order of commits does not say which increments a read saw.
                Op::ReadCounter(..) => return Err(Rejection::Untraceable(id)),
                Op::Write(..) | Op::Append(..) | Op::Increment(..) => continue,
            };
            if from >= place {
                return Err(Rejection::Read(id));
            }
            reads.push((key, from));
        }
        Ok(reads)
    }

    fn check(&self, level: Level) -> Result<(), Rejection> {
        if level.demand() == Demand::Sessions {
            self.check_sessions()?;
        }
        match level {
            Level::ReadCommitted => self.check_program_order(),
            Level::ReadAtomic => self.check_direct_past(),
            Level::Causal => self.check_causal_past(),
            Level::ReadYourWrites => self.check_own_writes(),
            Level::MonotonicReads => self.check_earlier_reads(),
            Level::MonotonicWrites => self.check_order_of_writes(),
            Level::WritesFollowReads => self.check_reads_before_writes(),
            _ => Ok(()),
        }
    }

    fn check_sessions(&self) -> Result<(), Rejection> {
        let mut latest: Vec<Option<TxnId>> = vec![None; self.history.session_count()];
        for &id in self.order {
            let txn = self.history.get(id);
            let latest = &mut latest[txn.session.index()];
            if txn.outcome == Outcome::Committed && *latest > Some(id) {
                return Err(Rejection::Session(id));
            }
            *latest = (*latest).max(Some(id));
        }
        Ok(())
    }

    /// The transactions of the order in the order of their sessions, each with its place.
    fn by_session(&self) -> Vec<(&Transaction, u32)> {
        let mut all: Vec<(TxnId, u32)> =
            self.order.iter().enumerate().map(|(index, &id)| (id, index as u32 + 1)).collect();
        all.put_in_order();
        all.into_iter().map(|(id, place)| (self.history.get(id), place)).collect()
    }

    fn rejected(&self, place: u32) -> Rejection {
        Rejection::Session(self.order[place as usize - 1])
    }

    /// Whatever a session wrote to a key, its later reads see that or something later.
    fn check_own_writes(&self) -> Result<(), Rejection> {
        let mut own: HashMap<(u32, KeyId), u32> = HashMap::new();
        for (txn, place) in self.by_session() {
            for &(key, from) in &self.reads[place as usize - 1] {
                if own.get(&(txn.session.0, key)).is_some_and(|&own| own > from) {
                    return Err(self.rejected(place));
                }
            }
            let is_bound = txn.outcome == Outcome::Committed;
            for &key in self.writes[place as usize - 1].iter().filter(|_| is_bound) {
                let latest = own.entry((txn.session.0, key)).or_default();
                *latest = place.max(*latest);
            }
        }
        Ok(())
    }

    /// Whatever a session read from, its later reads see that or something later.
    fn check_earlier_reads(&self) -> Result<(), Rejection> {
        let mut seen: HashMap<(u32, KeyId), u32> = HashMap::new();
        for (txn, place) in self.by_session() {
            for &(key, from) in &self.reads[place as usize - 1] {
                if seen.get(&(txn.session.0, key)).is_some_and(|&seen| seen > from) {
                    return Err(self.rejected(place));
                }
                let written = from.checked_sub(1).map(|index| &self.writes[index as usize]);
                for &key in written.into_iter().flatten() {
                    let latest = seen.entry((txn.session.0, key)).or_default();
                    *latest = from.max(*latest);
                }
            }
        }
        Ok(())
    }

    /// The writers of a session commit in its order.
    fn check_order_of_writes(&self) -> Result<(), Rejection> {
        let mut latest = vec![0; self.history.session_count()];
        for (txn, place) in self.by_session() {
            if self.writes[place as usize - 1].is_empty() {
                continue;
            }
            let latest = &mut latest[txn.session.index()];
            if place < *latest {
                return Err(self.rejected(place));
            }
            if txn.outcome == Outcome::Committed {
                *latest = place;
            }
        }
        Ok(())
    }

    /// A writer commits after all that its session had read from.
    fn check_reads_before_writes(&self) -> Result<(), Rejection> {
        let mut latest = vec![0; self.history.session_count()];
        for (txn, place) in self.by_session() {
            let latest = &mut latest[txn.session.index()];
            let sources = self.reads[place as usize - 1].iter().map(|read| read.1);
            *latest = sources.fold(*latest, u32::max);
            if !self.writes[place as usize - 1].is_empty() && place <= *latest {
                return Err(self.rejected(place));
            }
        }
        Ok(())
    }

    fn writes(&self, place: u32, key: KeyId) -> bool {
        place > 0 && self.writes[place as usize - 1].contains(&key)
    }

    /// If an earlier read saw x and x writes this key, this read sees x or a later one.
    fn check_program_order(&self) -> Result<(), Rejection> {
        for (reads, &id) in self.reads.iter().zip(self.order) {
            for (index, &(key, from)) in reads.iter().enumerate() {
                let is_missed = |&(_, other): &External| other > from && self.writes(other, key);
                if reads[..index].iter().any(is_missed) {
                    return Err(Rejection::Read(id));
                }
            }
        }
        Ok(())
    }

    /// If the session or a read brings x and x writes this key, this read sees x or a later one.
    fn check_direct_past(&self) -> Result<(), Rejection> {
        let mut by_session: HashMap<(u32, KeyId), u32> = HashMap::new();
        for (index, &id) in self.order.iter().enumerate() {
            let session = self.history.get(id).session.0;
            for &(key, from) in &self.reads[index] {
                let is_missed = |&(_, other): &External| other > from && self.writes(other, key);
                let own = by_session.get(&(session, key)).copied().unwrap_or(0);
                if own > from || self.reads[index].iter().any(is_missed) {
                    return Err(Rejection::Read(id));
                }
            }
            let is_bound = self.history.get(id).outcome == Outcome::Committed;
            for &key in self.writes[index].iter().filter(|_| is_bound) {
                by_session.insert((session, key), index as u32 + 1);
            }
        }
        Ok(())
    }

    /// If the causal past brings x and x writes this key, this read sees x or a later one.
    fn check_causal_past(&self) -> Result<(), Rejection> {
        let keys = self.history.key_count();
        if 2 * self.history.session_count() < keys && self.has_returned() {
            return self.check_causal_sessions();
        }
        let width = KEYS_AT_ONCE.min(keys.max(1));
        let before = self.session_predecessors();
        let mut past = Pasts { rows: vec![0u32; (self.order.len() + 1) * width], width, before };
        let mut blocks = (0..keys).step_by(width);
        blocks.try_for_each(|first| self.check_causal_keys(first, &mut past))
    }

    /// Whether every transaction of the order is known to have ended.
    fn has_returned(&self) -> bool {
        self.order.iter().all(|&id| self.history.get(id).outcome == Outcome::Committed)
    }

    /// The same with fewer sessions than keys: of each session, the place of the last transaction
    /// in the past. (A session's transactions stand in its order.)
    fn check_causal_sessions(&self) -> Result<(), Rejection> {
        let sessions = self.history.session_count();
        let before = self.session_predecessors();
        let session = |place: u32| {
            let id = self.order[place as usize - 1];
            self.history.get(id).session.index()
        };
        let mut writers: HashMap<KeyId, Vec<Vec<u32>>> = HashMap::new();
        let mut pasts = vec![0u32; (self.order.len() + 1) * sessions];
        for (index, &id) in self.order.iter().enumerate() {
            checkpoint();
            let place = index as u32 + 1;
            let (earlier, past) = pasts.split_at_mut(place as usize * sessions);
            let past = &mut past[..sessions];
            let sources = self.reads[index].iter().map(|read| read.1);
            for from in sources.chain([before[place as usize]]).filter(|&from| from > 0) {
                let theirs = &earlier[from as usize * sessions..][..sessions];
                past.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine = (*mine).max(*theirs));
                let own = &mut past[session(from)];
                *own = (*own).max(from);
            }
            for &(key, from) in &self.reads[index] {
                let Some(writers) = writers.get(&key) else { continue };
                let is_missed = |(writers, &known): (&Vec<u32>, &u32)| {
                    let end = writers.partition_point(|&writer| writer <= known);
                    writers[..end].last().is_some_and(|&writer| writer > from)
                };
                if writers.iter().zip(past.iter()).any(is_missed) {
                    return Err(Rejection::Read(id));
                }
            }
            for &key in &self.writes[index] {
                let writers = writers.entry(key).or_insert_with(|| vec![Vec::new(); sessions]);
                writers[session(place)].push(place);
            }
        }
        Ok(())
    }

    /// The place of the last one before each in its session that is known to have ended; 0 if none.
    fn session_predecessors(&self) -> Vec<u32> {
        let mut places = vec![0u32; self.history.len()];
        for (index, id) in self.order.iter().enumerate() {
            places[id.index()] = index as u32 + 1;
        }
        let mut last = vec![0u32; self.history.session_count()];
        let mut before = vec![0u32; self.order.len() + 1];
        for (index, txn) in self.history.list().iter().enumerate() {
            let last = &mut last[txn.session.index()];
            before[places[index] as usize] = *last;
            if txn.outcome == Outcome::Committed {
                *last = places[index];
            }
        }
        before
    }

    /// The same for some keys only.
    fn check_causal_keys(&self, first: usize, past: &mut Pasts) -> Result<(), Rejection> {
        let width = past.width;
        let mine = |key: KeyId| key.index().checked_sub(first).filter(|&column| column < width);
        for (index, &id) in self.order.iter().enumerate() {
            checkpoint();
            let place = index + 1;
            let (before, row) = past.rows.split_at_mut(place * width);
            let row = &mut row[..width];
            row.fill(0);
            let session = past.before[place];
            for from in self.reads[index].iter().map(|read| read.1).chain([session]) {
                let start = from as usize * width;
                let other = &before[start..start + width];
                row.iter_mut().zip(other).for_each(|(mine, theirs)| *mine = (*mine).max(*theirs));
            }
            for &(key, from) in &self.reads[index] {
                if mine(key).is_some_and(|column| row[column] > from) {
                    return Err(Rejection::Read(id));
                }
            }
            for column in self.writes[index].iter().filter_map(|&key| mine(key)) {
                row[column] = place as u32;
            }
        }
        Ok(())
    }
}

/// What the causal past of each transaction wrote last, for some keys.
struct Pasts {
    /// Row p holds, for each key, the place of the latest writer in the past of the transaction at
    /// place p, itself included; row 0 is the initial state.
    rows: Vec<u32>,
    width: usize,
    /// The place of the one before each in its session.
    before: Vec<u32>,
}

/// For how many keys pasts are kept at a time: rows of them should stay in the cache.
const KEYS_AT_ONCE: usize = 64;
