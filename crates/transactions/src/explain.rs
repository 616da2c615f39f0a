//! Why no order explains a small part of a history: a proof that a person can follow.
//!
//! The proof is found anew for the part, not taken from the solver: the known arrows, then for two
//! versions of a key "this one comes first, since the contrary closes a cycle", until one more
//! cycle closes; where that is not enough, a case distinction. Arrows carry the names of Adya's
//! graph: *wr* (read from), *ww* (overwrote), *rw* (did not see), and session and real time. The
//! proof is for people: the verdict does not rest on it.

use crate::level::{Demand, Level};
use crate::prepare::{FlawKind, Prepared, Version, prepare};
use crate::solve::{Layout, Shape, version_edge};
use crate::transaction::{KeyId, Transactions, TxnId};
use std::collections::VecDeque;
use std::fmt;

/// Why one transaction comes before another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// The second read what the first wrote.
    WriteRead(KeyId),
    /// The second overwrote what the first wrote.
    WriteWrite(KeyId),
    /// The first did not see what the second wrote.
    ReadWrite(KeyId),
    /// They are of one session.
    Session,
    /// The first returned before the second was called.
    RealTime,
    /// The first is in the past of a reader that read the key from the second.
    Missed(KeyId, TxnId),
    /// The session of the second, or the second itself, had read what the first wrote.
    HadRead(TxnId),
    /// The first is the initial state.
    Initial,
}

/// One step of a cycle. `None` is the initial state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrow {
    /// The one that comes first.
    pub from: Option<TxnId>,
    /// The one that comes later.
    pub to: Option<TxnId>,
    /// Why.
    pub why: Why,
    /// The choice that the arrow rests on, if any.
    rests_on: Option<(Version, Version)>,
}

/// Two versions of a key in the only order that is possible.
#[derive(Clone, Debug)]
pub struct Step {
    /// The key.
    pub key: KeyId,
    /// Whose version comes first.
    pub earlier: Option<TxnId>,
    /// Whose version comes later.
    pub later: Option<TxnId>,
    /// The cycle that the contrary closes.
    pub contrary: Vec<Arrow>,
    pair: (Version, Version),
}

/// How a proof ends.
#[derive(Clone, Debug)]
pub enum End {
    /// With a cycle.
    Cycle(Vec<Arrow>),
    /// With two cases: one version of a key comes first, or the other.
    Cases {
        /// The key.
        key: KeyId,
        /// The writers of the two versions.
        writers: [Option<TxnId>; 2],
        /// The proofs for "the first comes first" and "the second comes first".
        proofs: Box<[Proof; 2]>,
    },
    /// With an anomaly that needs no order.
    Flaw(FlawKind, KeyId),
    /// Nowhere: the part is too large for a proof like this.
    Open,
}

/// A proof that there is no order.
#[derive(Clone, Debug)]
pub struct Proof {
    /// What must be, in order of use.
    pub steps: Vec<Step>,
    /// What cannot be.
    pub end: End,
}

/// The names of anomalies, mostly Adya's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Anomaly {
    /// The name.
    pub name: &'static str,
    /// What it needs beside the reads: `-realtime`, `-process` or nothing.
    pub suffix: &'static str,
    /// The name in words.
    pub words: &'static str,
}

impl fmt::Display for Anomaly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{} ({})", self.name, self.suffix, self.words)
    }
}

/// An anomaly and the proof that shows it.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// What it is called.
    pub anomaly: Anomaly,
    /// Why it is one.
    pub proof: Proof,
}

/// How many transactions a part may have for a proof.
const FEW: usize = 24;

/// How many case distinctions may be nested.
const CASES: usize = 6;

/// Explains why a part of a history does not satisfy a level.
pub fn explain(part: &Transactions, level: Level) -> Explanation {
    let prepared = prepare(part, &[]);
    let flaw = prepared.flaws.iter().find(|flaw| flaw.kind.violates(level));
    let proof = match flaw {
        Some(flaw) => Proof { steps: Vec::new(), end: End::Flaw(flaw.kind, flaw.key) },
        None if part.len() > FEW => open(),
        None => Prover::new(&prepared, level).prove(),
    };
    if part.reads_counters() && !is_closed(&proof) {
        let words = "no order adds up to what was read of a counter";
        let anomaly = Anomaly { name: "counter", suffix: "", words };
        return Explanation { anomaly, proof: open() };
    }
    Explanation { anomaly: name(&proof, level), proof }
}

/// A violation that nobody had the time to explain.
pub fn unexplained(level: Level) -> Explanation {
    let proof = open();
    Explanation { anomaly: name(&proof, level), proof }
}

/// Whether a proof leaves nothing open.
fn is_closed(proof: &Proof) -> bool {
    match &proof.end {
        End::Open => false,
        End::Cases { proofs, .. } => proofs.iter().all(is_closed),
        End::Cycle(_) | End::Flaw(..) => true,
    }
}

fn open() -> Proof {
    Proof { steps: Vec::new(), end: End::Open }
}

/// An edge between events, and the arrow between transactions that it stands for.
#[derive(Clone, Copy)]
struct Edge {
    from: u32,
    to: u32,
    why: Option<Why>,
    rests_on: Option<(Version, Version)>,
}

#[derive(Clone)]
struct Prover<'p> {
    prepared: &'p Prepared,
    level: Level,
    layout: Layout,
    edges: Vec<Edge>,
    /// The pairs of versions that are not ordered yet.
    open: Vec<(Version, Version)>,
    steps: Vec<Step>,
}

impl<'p> Prover<'p> {
    fn new(prepared: &'p Prepared, level: Level) -> Self {
        let layout = Layout::new(prepared, level);
        let (edges, open, steps) = (Vec::new(), Vec::new(), Vec::new());
        let mut prover = Prover { prepared, level, layout, edges, open, steps };
        prover.add_order();
        prover.add_reads();
        match level.orders_commits() {
            true => {
                prover.add_list_order();
                prover.add_missed();
                prover.add_order_of_writes();
            }
            false => prover.add_versions(),
        }
        prover
    }

    /// The weak levels order commits: one node for each transaction.
    fn is_weak(&self) -> bool {
        self.level.orders_commits()
    }

    fn begin(&self, txn: u32) -> u32 {
        if self.is_weak() { txn } else { self.layout.begin(txn) }
    }

    fn commit(&self, txn: u32) -> u32 {
        if self.is_weak() { txn } else { self.layout.commit(txn) }
    }

    fn txn(&self, node: u32) -> u32 {
        if self.is_weak() || self.layout.shape == Shape::Serial { node } else { node / 2 }
    }

    fn push(&mut self, from: u32, to: u32, why: Why) {
        self.edges.push(Edge { from, to, why: Some(why), rests_on: None });
    }

    fn add_order(&mut self) {
        let txns = &self.prepared.txns;
        for txn in 0..txns.len() as u32 {
            let (begin, commit) = (self.begin(txn), self.commit(txn));
            if begin != commit {
                self.edges.push(Edge { from: begin, to: commit, why: None, rests_on: None });
            }
            if txn != 0 {
                self.push(self.commit(0), self.begin(txn), Why::Initial);
            }
        }
        let demand = self.level.demand();
        for first in 1..txns.len() {
            for then in (1..txns.len()).filter(|&then| then != first) {
                let is_session = txns[first].session == txns[then].session
                    && txns[first].precedes_session
                    && first < then;
                let is_time = txns[first].ret < txns[then].call;
                let why = match demand {
                    Demand::Nothing => continue,
                    _ if is_session => Why::Session,
                    Demand::RealTime if is_time => Why::RealTime,
                    _ => continue,
                };
                self.push(self.commit(first as u32), self.begin(then as u32), why);
            }
        }
    }

    fn add_reads(&mut self) {
        for (txn, info) in self.prepared.txns.iter().enumerate().skip(1) {
            for &(key, version) in info.program() {
                let writer = self.prepared.writer(version);
                if writer != 0 {
                    self.push(self.commit(writer), self.begin(txn as u32), Why::WriteRead(key));
                }
            }
        }
    }

    fn add_list_order(&mut self) {
        for &(earlier, later) in &self.prepared.known {
            let key = self.prepared.versions[later as usize].key;
            let (first, then) = (self.prepared.writer(earlier), self.prepared.writer(later));
            if first != then && first != 0 {
                self.push(first, then, Why::WriteWrite(key));
            }
        }
    }

    fn add_versions(&mut self) {
        let versions = self.prepared.versions.len() as Version;
        for first in 0..versions {
            for second in first + 1..versions {
                let key = |version: Version| self.prepared.versions[version as usize].key;
                if key(first) != key(second) {
                    continue;
                }
                let is_initial = self.prepared.writer(first) == 0;
                let is_known = self.prepared.known.contains(&(first, second));
                if is_initial || is_known {
                    let edges = self.choice(first, second, None);
                    self.edges.extend(edges);
                } else if self.prepared.known.contains(&(second, first)) {
                    let edges = self.choice(second, first, None);
                    self.edges.extend(edges);
                } else {
                    self.open.push((first, second));
                }
            }
        }
    }

    /// The edges of "one version before another".
    fn choice(
        &self,
        earlier: Version,
        later: Version,
        rests_on: Option<(Version, Version)>,
    ) -> Vec<Edge> {
        let (first, then) = (self.prepared.writer(earlier), self.prepared.writer(later));
        let key = self.prepared.versions[earlier as usize].key;
        let mut edges = Vec::new();
        if first != 0 {
            let (from, to) = version_edge(&self.layout, first, then);
            edges.push(Edge { from, to, why: Some(Why::WriteWrite(key)), rests_on });
        }
        for &reader in
            self.prepared.versions[earlier as usize].readers.iter().filter(|&&r| r != then)
        {
            let (from, to) = (self.layout.begin(reader), self.layout.commit(then));
            edges.push(Edge { from, to, why: Some(Why::ReadWrite(key)), rests_on });
        }
        edges
    }

    /// The arrows that pasts force, for the weak levels.
    fn add_missed(&mut self) {
        let count = self.prepared.txns.len();
        let mut past = vec![vec![false; count]; count];
        for edge in &self.edges {
            let is_direct = matches!(edge.why, Some(Why::WriteRead(_) | Why::Session));
            past[edge.from as usize][edge.to as usize] |= is_direct;
        }
        if self.level == Level::Causal {
            for via in 0..count {
                for first in 0..count {
                    for then in 0..count {
                        past[first][then] |= past[first][via] && past[via][then];
                    }
                }
            }
        }
        let level = self.level;
        for (reader, info) in self.prepared.txns.iter().enumerate().skip(1) {
            for (index, &(key, version)) in info.program().iter().enumerate() {
                let from = self.prepared.writer(version);
                let may_be = |other: &usize| *other != reader || level == Level::MonotonicReads;
                for other in (1..count).filter(may_be).filter(|&other| other as u32 != from) {
                    let is_past = match self.level {
                        Level::ReadCommittedAdya
                        | Level::MonotonicWrites
                        | Level::WritesFollowReads => false,
                        Level::ReadYourWrites => self.is_earlier(other, reader),
                        Level::MonotonicReads => self.had_read((reader, index), other),
                        Level::ReadCommitted => info.program()[..index]
                            .iter()
                            .any(|earlier| self.prepared.writer(earlier.1) == other as u32),
                        _ => past[other][reader],
                    };
                    if let (true, Some(id)) = (is_past, info.id)
                        && self.prepared.txns[other].writes_to(key)
                    {
                        self.push(other as u32, from, Why::Missed(key, id));
                    }
                }
            }
        }
    }

    /// Whether a transaction stands before another in their session.
    fn is_earlier(&self, first: usize, then: usize) -> bool {
        let txns = &self.prepared.txns;
        let is_same = txns[first].session == txns[then].session;
        is_same && txns[first].precedes_session && first < then
    }

    fn reads_from(&self, reader: usize, reads: usize, writer: usize) -> bool {
        let reads = self.prepared.txns[reader].program().iter().take(reads);
        reads.into_iter().any(|read| self.prepared.writer(read.1) as usize == writer)
    }

    /// Whether a session had read from a writer before the read at a place of one of its
    /// transactions.
    fn had_read(&self, (reader, index): (usize, usize), writer: usize) -> bool {
        let mut earlier = (1..reader).filter(|&other| self.is_earlier(other, reader));
        self.reads_from(reader, index, writer)
            || earlier.any(|other| self.reads_from(other, usize::MAX, writer))
    }

    /// What two of the session guarantees say of writers.
    fn add_order_of_writes(&mut self) {
        let txns = &self.prepared.txns;
        for writer in (1..txns.len()).filter(|&txn| !txns[txn].writes.is_empty()) {
            for other in 1..txns.len() {
                let (from, to) = (other as u32, writer as u32);
                let mut readers = (1..=writer)
                    .filter(|&txn| txn == writer || self.is_earlier(txn, writer))
                    .filter(|&txn| self.reads_from(txn, usize::MAX, other));
                let reader = readers.next().and_then(|txn| txns[txn].id);
                let is_written = !txns[other].writes.is_empty();
                match (self.level, reader) {
                    (Level::MonotonicWrites, _) if is_written && self.is_earlier(other, writer) => {
                        self.push(from, to, Why::Session);
                    }
                    (Level::WritesFollowReads, Some(reader)) => {
                        self.push(from, to, Why::HadRead(reader));
                    }
                    _ => {}
                }
            }
        }
    }

    /// Looks for a proof, with cases nested no deeper than [`CASES`].
    fn prove(self) -> Proof {
        self.prove_within(CASES)
    }

    fn prove_within(mut self, cases: usize) -> Proof {
        loop {
            if let Some(cycle) = self.shortest_cycle() {
                return self.finish(End::Cycle(cycle));
            }
            if !self.force_a_pair() {
                break;
            }
        }
        let Some(pair) = self.open.pop().filter(|_| cases > 0) else {
            return open();
        };
        let case = |pair: (Version, Version)| {
            let mut prover = self.clone();
            prover.steps.clear();
            let edges = prover.choice(pair.0, pair.1, None);
            prover.edges.extend(edges);
            prover.prove_within(cases - 1)
        };
        let proofs = Box::new([case(pair), case((pair.1, pair.0))]);
        let writers = [self.id(pair.0), self.id(pair.1)];
        let key = self.prepared.versions[pair.0 as usize].key;
        let steps = self.steps;
        Proof { steps, end: End::Cases { key, writers, proofs } }
    }

    fn id(&self, version: Version) -> Option<TxnId> {
        self.prepared.txns[self.prepared.writer(version) as usize].id
    }

    /// Orders a pair of versions whose contrary closes a cycle: the shortest one of all pairs.
    fn force_a_pair(&mut self) -> bool {
        let mut best: Option<(Vec<Arrow>, usize, (Version, Version))> = None;
        for (index, &(first, second)) in self.open.iter().enumerate() {
            for (earlier, later) in [(first, second), (second, first)] {
                // The contrary: `later` before `earlier`.
                let edges = self.choice(later, earlier, Some((later, earlier)));
                let closes = edges.iter().filter_map(|edge| {
                    let mut path = self.path(edge.to, edge.from)?;
                    path.push(*edge);
                    Some(self.arrows(&path))
                });
                if let Some(cycle) = closes.min_by_key(Vec::len)
                    && best.as_ref().is_none_or(|best| cycle.len() < best.0.len())
                {
                    best = Some((cycle, index, (earlier, later)));
                }
            }
        }
        let Some((contrary, index, pair)) = best else { return false };
        self.open.swap_remove(index);
        let edges = self.choice(pair.0, pair.1, Some(pair));
        self.edges.extend(edges);
        let key = self.prepared.versions[pair.0 as usize].key;
        let (earlier, later) = (self.id(pair.0), self.id(pair.1));
        self.steps.push(Step { key, earlier, later, contrary, pair });
        true
    }

    fn shortest_cycle(&self) -> Option<Vec<Arrow>> {
        let cycles = self.edges.iter().filter_map(|edge| {
            let mut path = self.path(edge.to, edge.from)?;
            path.push(*edge);
            Some(self.arrows(&path))
        });
        // Among the shortest, one with as little real time and as few missed writes as possible.
        cycles.min_by_key(|cycle| {
            let is_outer = |arrow: &&Arrow| {
                matches!(arrow.why, Why::RealTime | Why::Session | Why::Missed(..) | Why::Initial)
            };
            (cycle.len(), cycle.iter().filter(is_outer).count())
        })
    }

    fn path(&self, from: u32, to: u32) -> Option<Vec<Edge>> {
        let mut parent: hashbrown::HashMap<u32, Edge> = hashbrown::HashMap::new();
        let mut queue = VecDeque::from([from]);
        while let Some(node) = queue.pop_front() {
            if node == to {
                break;
            }
            for edge in self.edges.iter().filter(|edge| edge.from == node && edge.to != from) {
                if !parent.contains_key(&edge.to) {
                    parent.insert(edge.to, *edge);
                    queue.push_back(edge.to);
                }
            }
        }
        let mut path = Vec::new();
        let mut node = to;
        while node != from {
            let edge = parent.get(&node)?;
            path.push(*edge);
            node = edge.from;
        }
        path.reverse();
        Some(path)
    }

    fn arrows(&self, path: &[Edge]) -> Vec<Arrow> {
        let id = |node: u32| self.prepared.txns[self.txn(node) as usize].id;
        let arrow = |edge: &Edge| {
            let (from, to, rests_on) = (id(edge.from), id(edge.to), edge.rests_on);
            Some(Arrow { from, to, why: edge.why?, rests_on })
        };
        path.iter().filter_map(arrow).collect()
    }

    /// Drops the steps that nothing rests on.
    fn finish(self, end: End) -> Proof {
        let mut needed: Vec<(Version, Version)> = match &end {
            End::Cycle(cycle) => cycle.iter().filter_map(|arrow| arrow.rests_on).collect(),
            _ => Vec::new(),
        };
        let mut steps = Vec::new();
        for step in self.steps.into_iter().rev() {
            if needed.contains(&step.pair) {
                needed.extend(step.contrary.iter().filter_map(|arrow| arrow.rests_on));
                steps.push(step);
            }
        }
        steps.reverse();
        Proof { steps, end }
    }
}

/// The name of what a proof shows.
fn name(proof: &Proof, level: Level) -> Anomaly {
    match &proof.end {
        End::Flaw(kind, _) => flaw_name(*kind),
        End::Cycle(cycle) => cycle_name(cycle, level),
        End::Cases { proofs, .. } => name(&proofs[0], level),
        End::Open => Anomaly { name: "no order", suffix: "", words: "no order explains the reads" },
    }
}

fn flaw_name(kind: FlawKind) -> Anomaly {
    let (name, words) = match kind {
        FlawKind::Unwritten => ("unwritten", "a read of what nobody wrote"),
        FlawKind::AbortedRead => ("G1a", "aborted read"),
        FlawKind::IntermediateRead => ("G1b", "intermediate read"),
        FlawKind::FutureRead => ("future-read", "a read of the reader's own later write"),
        FlawKind::Internal => ("internal", "a transaction does not see its own writes"),
        FlawKind::NonRepeatable => ("non-repeatable", "two reads of a key differ"),
        FlawKind::IncompatibleOrder => ("incompatible-order", "two reads of a list contradict"),
        FlawKind::DuplicateElement => ("duplicate-elements", "an element is in a list twice"),
        FlawKind::BrokenAppends => ("G0", "a transaction's appends are torn apart"),
    };
    Anomaly { name, suffix: "", words }
}

fn cycle_name(cycle: &[Arrow], level: Level) -> Anomaly {
    let count = |test: fn(&Why) -> bool| cycle.iter().filter(|arrow| test(&arrow.why)).count();
    let rw = count(|why| matches!(why, Why::ReadWrite(_)));
    let wr = count(|why| matches!(why, Why::WriteRead(_)));
    let ww = count(|why| matches!(why, Why::WriteWrite(_)));
    let missed = count(|why| matches!(why, Why::Missed(..)));
    let suffix = if count(|why| matches!(why, Why::RealTime)) > 0 {
        "-realtime"
    } else if count(|why| matches!(why, Why::Session)) > 0 {
        "-process"
    } else {
        ""
    };
    let is_long_fork = cycle.len() == 4 && rw == 2 && wr == 2 && !adjacent_misses(cycle);
    let (name, words) = match (missed, rw, level) {
        (1.., _, Level::Causal) => ("causal", "a read misses a write of its causal past"),
        (1.., _, Level::ReadYourWrites) => {
            ("read-your-writes", "a client does not see its own write")
        }
        (1.., _, Level::MonotonicReads) => {
            ("monotonic-reads", "what a client reads goes back behind what it read before")
        }
        (0, _, Level::MonotonicWrites) if suffix == "-process" => {
            ("monotonic-writes", "writes of a client take effect against its order")
        }
        (0, _, Level::WritesFollowReads) if count(|why| matches!(why, Why::HadRead(_))) > 0 => {
            ("writes-follow-reads", "a write takes effect before what its client had read")
        }
        (1.., _, Level::ReadAtomic) => ("fractured-read", "part of a transaction is seen"),
        (1.., _, _) => ("non-monotonic-read", "a later read goes back behind an earlier one"),
        (0, 0, _) if wr == 0 => ("G0", "write cycle"),
        (0, 0, _) => ("G1c", "circular information flow"),
        (0, 1, _) if cycle.len() == 2 && ww == 1 && of_one_key(cycle) => {
            ("lost-update", "two transactions update what only one of them read last")
        }
        (0, 1, _) if wr == 0 && ww == 0 => ("G-single", "stale read"),
        (0, 1, _) => ("G-single", "read skew"),
        (0, _, _) if is_long_fork => {
            ("long-fork", "two readers see two writes in different orders")
        }
        (0, 2, _) if cycle.len() == 2 => ("G2-item", "write skew"),
        _ => ("G2-item", "anti-dependency cycle"),
    };
    Anomaly { name, suffix, words }
}

fn adjacent_misses(cycle: &[Arrow]) -> bool {
    let is_rw = |index: usize| matches!(cycle[index % cycle.len()].why, Why::ReadWrite(_));
    (0..cycle.len()).any(|index| is_rw(index) && is_rw(index + 1))
}

fn of_one_key(cycle: &[Arrow]) -> bool {
    let key = |arrow: &Arrow| match arrow.why {
        Why::WriteRead(key) | Why::WriteWrite(key) | Why::ReadWrite(key) => Some(key),
        _ => None,
    };
    cycle.windows(2).all(|pair| key(&pair[0]) == key(&pair[1]))
}
