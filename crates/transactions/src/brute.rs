//! Every level by its definition and exhaustive search, for a few transactions.
//!
//! This is the second opinion on every *no*, and the oracle of the tests: it shares the recorded
//! history with the engines and nothing else. States that were met before are not searched again;
//! beyond that there is no cleverness, on purpose.

use crate::level::{Demand, Level};
use crate::transaction::{KeyId, Op, Outcome, Transaction, Transactions};
use hashbrown::HashSet;
use seriatim_history::ValueId;
use seriatim_limits::checkpoint;
use std::cell::Cell;

/// How many transactions can be searched.
pub const MOST: usize = 24;

/// How many states are looked at before a search gives up.
const STATES: u64 = 400_000;

/// Whether a history satisfies a level; `None` if it is too large to search.
pub fn satisfies(history: &Transactions, level: Level) -> Option<bool> {
    let real: Vec<(usize, &Transaction)> = history
        .list()
        .iter()
        .enumerate()
        .filter(|(_, txn)| txn.outcome != Outcome::Aborted)
        .collect();
    if real.len() > MOST || (level.orders_commits() && history.reads_counters()) {
        return None;
    }
    let unknown: Vec<usize> =
        (0..real.len()).filter(|&i| real[i].1.outcome == Outcome::Unknown).collect();
    let states = Cell::new(0);
    let is_satisfied = (0..1u32 << unknown.len()).any(|fate| {
        let happens = |index: &usize| match unknown.iter().position(|u| u == index) {
            Some(bit) => fate >> bit & 1 == 1,
            None => true,
        };
        let list = (0..real.len()).filter(happens).map(|index| real[index]).collect();
        states.get() <= STATES && Search { history, level, list, states: &states }.run()
    });
    // Whoever gives up finds nothing: only a *yes* is worth something then.
    (is_satisfied || states.get() <= STATES).then_some(is_satisfied)
}

/// The transactions that committed, with their places in the record.
struct Search<'h> {
    history: &'h Transactions,
    level: Level,
    list: Vec<(usize, &'h Transaction)>,
    /// How many states all searches together have met.
    states: &'h Cell<u64>,
}

/// What all keys hold: a register its value, a list its elements; a counter has a sum.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Contents {
    held: Vec<Vec<ValueId>>,
    sums: Vec<i128>,
}

impl Search<'_> {
    fn run(&self) -> bool {
        match self.level.orders_commits() {
            true => self.choose_sources(&mut Vec::new()),
            false => {
                let phases = vec![Phase::Before; self.list.len()];
                self.events(&phases, &self.initial(), &mut HashSet::new())
            }
        }
    }

    /// Counts a state. Says whether there were too many.
    fn gives_up(&self) -> bool {
        checkpoint();
        self.states.set(self.states.get() + 1);
        self.states.get() > STATES
    }

    fn initial(&self) -> Contents {
        let content = |key: u32| match self.history.kind(KeyId(key)) {
            crate::transaction::Kind::Register => vec![self.history.initial()],
            crate::transaction::Kind::List | crate::transaction::Kind::Counter => Vec::new(),
        };
        let keys = self.history.key_count();
        Contents { held: (0..keys as u32).map(content).collect(), sums: vec![0; keys] }
    }

    /// Whether a transaction must come before another by sessions or real time.
    fn precedes(&self, first: usize, then: usize) -> bool {
        let ((_, a), (_, b)) = (self.list[first], self.list[then]);
        // Nobody knows when one of unknown outcome ended, so nothing comes after it.
        let has_ended = a.outcome == Outcome::Committed;
        let by_session = self.is_earlier(first, then);
        let by_time = has_ended && a.ret.is_some_and(|ret| ret < b.call);
        match self.level.demand() {
            Demand::Nothing => false,
            Demand::Sessions => by_session,
            Demand::RealTime => by_session || by_time,
        }
    }

    /// Whether a transaction stands before another in their session.
    fn is_earlier(&self, first: usize, then: usize) -> bool {
        let ((place, a), (later, b)) = (self.list[first], self.list[then]);
        a.outcome == Outcome::Committed && a.session == b.session && place < later
    }

    fn reads(&self, txn: usize) -> impl Iterator<Item = (usize, &Op)> {
        let txn = self.list[txn].1;
        let is_known = txn.outcome == Outcome::Committed;
        txn.ops.iter().enumerate().filter(move |(_, op)| is_known && op.changes().is_none())
    }

    /// What a transaction wrote to the key of an operation before that.
    fn own(&self, txn: usize, position: usize) -> Vec<ValueId> {
        let ops = &self.list[txn].1.ops;
        let before = ops[..position].iter().filter_map(Op::written);
        before.filter(|write| write.0 == ops[position].key()).map(|write| write.1).collect()
    }

    fn keys(&self, txn: usize) -> Vec<KeyId> {
        self.list[txn].1.ops.iter().filter_map(Op::changes).collect()
    }

    fn apply(&self, txn: usize, contents: &mut Contents) {
        for op in &self.list[txn].1.ops {
            match op {
                Op::Write(key, value) => contents.held[key.index()] = vec![*value],
                Op::Append(key, value) => contents.held[key.index()].push(*value),
                Op::Increment(key, by) => contents.sums[key.index()] += i128::from(*by),
                Op::Read(..) | Op::ReadList(..) | Op::ReadCounter(..) => {}
            }
        }
    }

    fn sees(&self, txn: usize, contents: &Contents) -> bool {
        self.reads(txn).all(|(position, op)| {
            let own = self.own(txn, position);
            let held = &contents.held[op.key().index()];
            match op {
                Op::ReadCounter(key, value) => {
                    let own = self.list[txn].1.ops[..position].iter().map(|op| match op {
                        Op::Increment(other, by) if other == key => i128::from(*by),
                        _ => 0,
                    });
                    contents.sums[key.index()] + own.sum::<i128>() == i128::from(*value)
                }
                Op::Read(_, value) => own.last().or(held.first()) == Some(value),
                Op::ReadList(_, items) => **items == [held.as_slice(), &own].concat(),
                Op::Write(..) | Op::Append(..) | Op::Increment(..) => true,
            }
        })
    }

    fn lists_are_prefixes(&self, contents: &Contents) -> bool {
        (0..self.list.len()).all(|txn| {
            self.reads(txn).all(|(_, op)| match op {
                Op::ReadList(key, items) => contents.held[key.index()].starts_with(items),
                _ => true,
            })
        })
    }

    // Serial levels, snapshot isolation, prefix consistency: begins and commits one after another.

    fn events(
        &self,
        phases: &[Phase],
        contents: &Contents,
        seen: &mut HashSet<(Vec<Phase>, Contents)>,
    ) -> bool {
        if phases.iter().all(|&phase| phase == Phase::Committed) {
            return self.lists_are_prefixes(contents);
        }
        if self.gives_up() || !seen.insert((phases.to_vec(), contents.clone())) {
            return false;
        }
        let is_serial = matches!(
            self.level,
            Level::StrictSerializable | Level::StrongSessionSerializable | Level::Serializable
        );
        (0..phases.len()).any(|txn| {
            let mut phases = phases.to_vec();
            let mut contents = contents.clone();
            match phases[txn] {
                Phase::Committed => return false,
                Phase::Before if !self.may_begin(txn, &phases, &contents) => return false,
                Phase::Before if !is_serial => phases[txn] = Phase::Open,
                Phase::Before | Phase::Open => {
                    phases[txn] = Phase::Committed;
                    self.apply(txn, &mut contents);
                }
            }
            self.events(&phases, &contents, seen)
        })
    }

    fn may_begin(&self, txn: usize, phases: &[Phase], contents: &Contents) -> bool {
        let mut others = (0..phases.len()).filter(|&other| other != txn);
        let waits = |other: usize| phases[other] != Phase::Committed && self.precedes(other, txn);
        let keys = self.keys(txn);
        let overlaps = |other: usize| {
            phases[other] == Phase::Open && self.keys(other).iter().any(|key| keys.contains(key))
        };
        let is_refused =
            others.any(|other| waits(other) || (self.level != Level::Prefix && overlaps(other)));
        !is_refused && self.sees(txn, contents)
    }

    // The weak levels: reads-from, then an order of commits.

    /// Chooses whom each external read read from, in all ways.
    fn choose_sources(&self, chosen: &mut Vec<Source>) -> bool {
        let reads = (0..self.list.len()).flat_map(|txn| self.reads(txn).map(move |r| (txn, r)));
        let Some((reader, (position, op))) = reads.into_iter().nth(chosen.len()) else {
            return !self.gives_up() && self.commits(chosen);
        };
        let own = self.own(reader, position);
        let candidates: Vec<From> = match op {
            Op::Read(_, value) if !own.is_empty() => match own.last() == Some(value) {
                true => vec![From::Itself],
                false => Vec::new(),
            },
            Op::Read(key, value) => {
                let initial = (*value == self.history.initial()).then_some(From::Initial);
                initial.into_iter().chain(self.leavers(*key, *value)).collect()
            }
            Op::ReadList(key, items) => match items.strip_suffix(own.as_slice()) {
                None => Vec::new(),
                Some([]) => vec![From::Initial],
                Some([.., last]) => self.leavers(*key, *last).collect(),
            },
            // What a read of a counter saw of a smaller past than a prefix is not defined here.
            _ => Vec::new(),
        };
        let key = op.key();
        let left = match op {
            Op::ReadList(_, items) => items.strip_suffix(own.as_slice()).map(<[ValueId]>::to_vec),
            _ => None,
        };
        candidates.into_iter().filter(|from| *from != From::Txn(reader)).any(|from| {
            chosen.push(Source { reader, key, from, left: left.clone() });
            let found = self.choose_sources(chosen);
            chosen.pop();
            found
        })
    }

    /// Those that left a value as the last one they wrote to a key.
    fn leavers(&self, key: KeyId, value: ValueId) -> impl Iterator<Item = From> {
        let left = move |&txn: &usize| {
            let mut writes = self.list[txn].1.ops.iter().filter_map(Op::written);
            writes.rfind(|write| write.0 == key) == Some((key, value))
        };
        (0..self.list.len()).filter(left).map(From::Txn)
    }

    /// Looks for an order of commits under which no read misses a writer in its past.
    fn commits(&self, sources: &[Source]) -> bool {
        let count = self.list.len();
        let mut direct = vec![vec![false; count]; count];
        for (first, row) in direct.iter_mut().enumerate() {
            for (then, is_before) in row.iter_mut().enumerate() {
                *is_before = first != then && self.precedes(first, then);
            }
        }
        for source in sources {
            if let From::Txn(writer) = source.from {
                direct[writer][source.reader] = true;
            }
        }
        self.order_writes(sources, &mut direct);
        let mut past = direct.clone();
        for via in 0..count {
            for first in 0..count {
                for then in 0..count {
                    past[first][then] |= past[first][via] && past[via][then];
                }
            }
        }
        // `misses` holds (x, w): x must commit before w.
        let mut misses: Vec<(usize, From)> = Vec::new();
        for (index, source) in sources.iter().enumerate() {
            let Source { reader, key, from, .. } = *source;
            for other in (0..count).filter(|&other| From::Txn(other) != from) {
                let earlier = sources[..index].iter().filter(|earlier| earlier.reader == reader);
                let is_past = match self.level {
                    Level::Causal => past[other][reader],
                    Level::ReadAtomic => direct[other][reader],
                    Level::ReadCommitted => {
                        earlier.into_iter().any(|earlier| earlier.from == From::Txn(other))
                    }
                    Level::ReadYourWrites => self.is_earlier(other, reader),
                    Level::MonotonicReads => sources.iter().enumerate().any(|(place, before)| {
                        let is_own = before.reader == reader && place < index;
                        let is_before = is_own || self.is_earlier(before.reader, reader);
                        is_before && before.from == From::Txn(other)
                    }),
                    _ => false,
                };
                // A session may have read from the reader before that has run: then its reads go
                // back.
                let may_be = other != reader || self.level == Level::MonotonicReads;
                if is_past && may_be && from != From::Itself && self.keys(other).contains(&key) {
                    misses.push((other, from));
                }
            }
        }
        let order = Commits { search: self, sources, direct, misses };
        order.place(0, &self.initial(), &mut HashSet::new())
    }
}

impl Search<'_> {
    /// What two of the session guarantees say of writers.
    fn order_writes(&self, sources: &[Source], direct: &mut [Vec<bool>]) {
        let writers = (0..self.list.len()).filter(|&txn| !self.keys(txn).is_empty());
        for writer in writers {
            for (first, row) in direct.iter_mut().enumerate() {
                let has_read = sources.iter().any(|source| {
                    let is_before =
                        source.reader == writer || self.is_earlier(source.reader, writer);
                    is_before && source.from == From::Txn(first)
                });
                row[writer] |= match self.level {
                    Level::MonotonicWrites => {
                        !self.keys(first).is_empty() && self.is_earlier(first, writer)
                    }
                    Level::WritesFollowReads => has_read,
                    _ => false,
                };
            }
        }
    }
}

/// How far a transaction is.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Phase {
    Before,
    Open,
    Committed,
}

/// Whom a read read from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum From {
    Initial,
    Itself,
    Txn(usize),
}

struct Source {
    reader: usize,
    key: KeyId,
    from: From,
    /// The whole list as whoever it was read from left it. Elements may be there twice: the last
    /// one alone does not tell.
    left: Option<Vec<ValueId>>,
}

struct Commits<'s, 'h> {
    search: &'s Search<'h>,
    sources: &'s [Source],
    direct: Vec<Vec<bool>>,
    misses: Vec<(usize, From)>,
}

impl Commits<'_, '_> {
    /// Places the next commit in all ways; `done` has a bit for each that is placed.
    fn place(&self, done: u32, contents: &Contents, seen: &mut HashSet<(u32, Contents)>) -> bool {
        let count = self.direct.len();
        if done == (1 << count) - 1 {
            return self.search.lists_are_prefixes(contents);
        }
        if self.search.gives_up() || !seen.insert((done, contents.clone())) {
            return false;
        }
        let is_done = |txn: usize| done >> txn & 1 == 1;
        (0..count).filter(|&txn| !is_done(txn)).any(|txn| {
            let waits = (0..count).any(|other| self.direct[other][txn] && !is_done(other));
            let is_late = self.misses.iter().any(|&(other, from)| {
                other == txn
                    && match from {
                        From::Txn(writer) => is_done(writer),
                        _ => true,
                    }
            });
            if waits || is_late {
                return false;
            }
            let mut contents = contents.clone();
            self.search.apply(txn, &mut contents);
            self.leaves_what_was_read(txn, &contents)
                && self.place(done | 1 << txn, &contents, seen)
        })
    }

    fn leaves_what_was_read(&self, txn: usize, contents: &Contents) -> bool {
        let mut readers = self.sources.iter().filter(|source| source.from == From::Txn(txn));
        readers.all(|source| {
            let held = &contents.held[source.key.index()];
            source.left.as_ref().is_none_or(|left| left == held)
        })
    }
}
