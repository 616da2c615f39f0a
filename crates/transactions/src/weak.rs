//! Causal consistency, read atomicity and the two forms of read committed, in polynomial time.
//!
//! **Theorem** (Biswas and Enea, "On the complexity of checking transactional consistency", 2019).
//! A history satisfies the level if and only if there is an order of commits that contains the
//! order of sessions and reads-from, and in which, whenever t reads key k from w and another writer
//! x of k is in the *past* of that read, x commits before w. The past is: all that reaches t by
//! sessions and reads (causal); what does so in one step (read atomic); what an earlier read of t
//! saw (read committed). None of these pasts depends on the order, so the edges x → w are forced,
//! and such an order exists if and only if they close no cycle.
//!
//! Adya's read committed (PL-2) wants only that reads-from and the order of versions are acyclic.
//! The order of a register's versions is free, so reads-from alone must be; that of a list is
//! known.
//!
//! **Cost.** Read atomic and read committed: every edge is added at once. Causal pasts are large,
//! so edges are added only where the order at hand is wrong. Where keys are few, each transaction
//! and key has the latest writer in the past, joined along sessions and reads, a block of keys at a
//! time. Where sessions are fewer, each transaction has a vector clock (`clocks.rs`); every unknown
//! outcome opens a session. So the cost is that of transactions times the smaller of the two
//! numbers.
//!
//! It would be unsound to add an edge for a writer outside the past, and incomplete to stop before
//! a whole pass has found nothing.

use crate::clocks::Clocks;
use crate::level::{Demand, Level};
use crate::mutation::{Mutant, is_on};
use crate::order::{Edge, Node, Order, Tag, sorted};
use crate::prepare::Prepared;
use crate::solve::{Defect, Limits, sensible_order};
use crate::transaction::KeyId;
use hashbrown::HashMap;
use seriatim_limits::InOrder;
use seriatim_limits::checkpoint;
use std::collections::VecDeque;

/// What was found.
#[derive(Debug)]
pub enum Outcome {
    /// An order of commits.
    Ordered(Vec<Node>),
    /// There is none; these transactions alone have none.
    Refuted(Vec<u32>),
    /// A limit was reached.
    GaveUp,
}

/// Why an edge x → w is forced.
#[derive(Clone, Copy, Debug)]
struct Forced {
    writer: Node,
    reader: Node,
}

/// Decides one of the weak levels.
pub fn decide(prepared: &Prepared, level: Level, limits: Limits) -> Result<Outcome, Defect> {
    let mut weak = Weak::new(prepared, level, limits);
    weak.add_known();
    match level {
        Level::ReadCommitted => weak.force_program_order(),
        Level::ReadAtomic => weak.force_direct_past(),
        _ => {}
    }
    if let Some(refuted) = weak.refuted_by_initial() {
        return Ok(refuted);
    }
    let Some(start) = weak.topological() else {
        weak.build_graph();
        let no_cycle = || Defect("no order of commits, but no cycle either".to_owned());
        let cycle = weak.order.cycle().ok_or_else(no_cycle)?;
        return Ok(Outcome::Refuted(weak.core(&cycle)));
    };
    if level != Level::Causal {
        return Ok(ordered(&start));
    }
    weak.build_graph();
    if !weak.order.start(start) {
        return Err(Defect("the order of commits disagrees with its edges".to_owned()));
    }
    weak.saturate()
}

fn ordered(sequence: &[Node]) -> Outcome {
    Outcome::Ordered(sequence.iter().copied().filter(|&node| node != 0).collect())
}

struct Weak<'p> {
    prepared: &'p Prepared,
    level: Level,
    limits: Limits,
    /// The edges that are known before any order is.
    edges: Vec<Edge>,
    /// The graph of these edges, where more than one order of them is needed.
    order: Order,
    /// The one before each in its session; 0 if none.
    before: Vec<Node>,
    /// The edges that are forced; their tags are places here.
    forced: Vec<Forced>,
    /// What is forced before the initial state: a contradiction.
    before_initial: Option<(Node, Node)>,
}

const KNOWN: Tag = Tag::MAX;

impl<'p> Weak<'p> {
    fn new(prepared: &'p Prepared, level: Level, limits: Limits) -> Self {
        let mut before = vec![0; prepared.txns.len()];
        if level.demand() == Demand::Sessions {
            let mut last: HashMap<u32, Node> = HashMap::new();
            for (txn, info) in prepared.txns.iter().enumerate().skip(1) {
                before[txn] = last.get(&info.session).copied().unwrap_or(0);
                if info.precedes_session {
                    last.insert(info.session, txn as Node);
                }
            }
        }
        Weak {
            prepared,
            level,
            limits,
            edges: Vec::new(),
            order: Order::new(0),
            before,
            forced: Vec::new(),
            before_initial: None,
        }
    }

    fn add_known(&mut self) {
        let edges = self.prepared.known_edges(|txn| self.before[txn]);
        let known = |[from, to]: [Node; 2]| Edge { from, to, tag: KNOWN };
        self.edges = edges.into_iter().map(known).collect();
    }

    fn build_graph(&mut self) {
        self.order = Order::new(self.prepared.txns.len());
        for &Edge { from, to, tag } in &self.edges {
            self.order.fix(from, to, tag);
        }
    }

    /// x, another writer of what `reader` read from `from`, must commit before `from`.
    fn force(&mut self, writer: Node, from: Node, reader: Node) {
        if from == 0 && is_on(Mutant::PastPassesInitial) {
            return;
        }
        if from == 0 {
            self.before_initial = Some((writer, reader));
        } else {
            self.edges.push(Edge { from: writer, to: from, tag: self.forced.len() as Tag });
            self.forced.push(Forced { writer, reader });
        }
    }

    fn force_program_order(&mut self) {
        let mut sources: Vec<(KeyId, Node)> = Vec::new();
        for txn in 1..self.prepared.txns.len() {
            checkpoint();
            sources.clear();
            sources.extend(self.prepared.sources(txn));
            for (index, &(key, from)) in sources.iter().enumerate() {
                let end = if is_on(Mutant::CommittedLooksAhead) { sources.len() } else { index };
                for &(_, other) in &sources[..end] {
                    self.force_if_written(other, key, (from, txn as Node));
                }
            }
        }
    }

    fn force_if_written(&mut self, other: Node, key: KeyId, (from, reader): (Node, Node)) {
        let is_other = other != 0 && other != from && other != reader;
        if is_other && self.prepared.txns[other as usize].writes_to(key) {
            self.force(other, from, reader);
        }
    }

    fn force_direct_past(&mut self) {
        let mut by_session: HashMap<(u32, KeyId), Node> = HashMap::new();
        let mut sources: Vec<(KeyId, Node)> = Vec::new();
        for txn in 1..self.prepared.txns.len() {
            checkpoint();
            let info = &self.prepared.txns[txn];
            sources.clear();
            sources.extend(self.prepared.sources(txn));
            for &(key, from) in &sources {
                let own = by_session.get(&(info.session, key)).copied().unwrap_or(0);
                let own = if is_on(Mutant::AtomicIgnoresSession) { 0 } else { own };
                for other in sources.iter().map(|source| source.1).chain([own]) {
                    self.force_if_written(other, key, (from, txn as Node));
                }
            }
            for &(key, _) in info.writes.iter().filter(|_| info.precedes_session) {
                by_session.insert((info.session, key), txn as Node);
            }
        }
    }

    /// A writer that must commit before the initial state, with its reader and why it is in the
    /// past.
    fn refuted_by_initial(&self) -> Option<Outcome> {
        let (writer, reader) = self.before_initial?;
        let mut core = vec![writer, reader];
        core.extend(self.past_path(writer, reader));
        Some(Outcome::Refuted(self.finish(core)))
    }

    /// An order that respects all edges.
    fn topological(&self) -> Option<Vec<Node>> {
        match self.level {
            // One that explains many reads is a better start.
            Level::Causal => sensible_order(self.prepared, self.level.demand()),
            _ => sorted(self.prepared.txns.len(), &self.edges),
        }
    }

    /// Adds the edges that causal pasts force where the order is wrong, until it is right.
    fn saturate(&mut self) -> Result<Outcome, Defect> {
        let keys = self.prepared.key_count();
        let width = KEYS_AT_ONCE.min(keys.max(1));
        let mut blocks: Vec<usize> = (0..keys).step_by(width).collect();
        let clocks = Clocks::new(self.prepared, &self.before, self.order.sequence());
        let clocks = clocks.filter(|_| !is_on(Mutant::CausalPastIsSession));
        let mut past = Vec::new();
        match clocks {
            Some(_) => blocks.truncate(1),
            None => past.resize(self.order.len() * width, 0u32),
        }
        let mut clean = 0;
        let mut next = 0;
        // Invariant: the `clean` blocks before `next` were right, and nothing has moved since.
        while clean < blocks.len() {
            if self.limits.is_over() {
                return Ok(Outcome::GaveUp);
            }
            let missed = match &clocks {
                Some(clocks) => clocks.missed(self.prepared, &self.order),
                None => self.missed(blocks[next], width, &mut past),
            };
            if missed.is_empty() {
                clean += 1;
                next = (next + 1) % blocks.len();
                continue;
            }
            clean = 0;
            for (writer, from, reader) in missed {
                if from == 0 {
                    self.before_initial = Some((writer, reader));
                    return Ok(self.refuted_by_initial().expect("it was set"));
                }
                if self.order.place(writer) < self.order.place(from) {
                    continue;
                }
                let tag = self.forced.len() as Tag;
                self.forced.push(Forced { writer, reader });
                let mut cycle = Vec::new();
                if !self.order.add(writer, from, tag, &mut cycle) {
                    cycle.push(Edge { from: writer, to: from, tag });
                    return Ok(Outcome::Refuted(self.core(&cycle)));
                }
            }
        }
        Ok(ordered(self.order.sequence()))
    }

    /// The reads of some keys that miss a writer in their causal past: that writer, whom they read
    /// from, and the reader. `past` gets, for each transaction and key, the place, plus one, of the
    /// latest writer in its past, itself included; 0 if there is none.
    fn missed(&self, first: usize, width: usize, past: &mut [u32]) -> Vec<(Node, Node, Node)> {
        let mine = |key: KeyId| key.index().checked_sub(first).filter(|&column| column < width);
        past[..width].fill(0);
        let mut row = vec![0u32; width];
        let mut missed = Vec::new();
        for &node in self.order.sequence() {
            if node == 0 {
                continue;
            }
            checkpoint();
            let txn = node as usize;
            row.fill(0);
            let sources =
                self.prepared.sources(txn).filter(|_| !is_on(Mutant::CausalPastIsSession));
            for from in sources.map(|source| source.1).chain([self.before[txn]]) {
                let start = from as usize * width;
                let other = &past[start..start + width];
                row.iter_mut().zip(other).for_each(|(mine, theirs)| *mine = (*mine).max(*theirs));
            }
            for &(key, version) in &self.prepared.txns[txn].reads {
                let Some(column) = mine(key) else { continue };
                let from = self.prepared.writer(version);
                if row[column] > 0 && row[column] - 1 > self.order.place(from) {
                    let writer = self.order.sequence()[row[column] as usize - 1];
                    missed.push((writer, from, node));
                }
            }
            for column in self.prepared.txns[txn].writes.iter().filter_map(|write| mine(write.0)) {
                row[column] = self.order.place(node) + 1;
            }
            past[txn * width..(txn + 1) * width].copy_from_slice(&row);
        }
        missed
    }

    /// The transactions that a cycle rests on.
    fn core(&self, cycle: &[Edge]) -> Vec<u32> {
        let mut core: Vec<Node> = cycle.iter().map(|edge| edge.from).collect();
        for edge in cycle.iter().filter(|edge| edge.tag != KNOWN) {
            let forced = self.forced[edge.tag as usize];
            core.push(forced.reader);
            core.extend(self.past_path(forced.writer, forced.reader));
        }
        self.finish(core)
    }

    fn finish(&self, mut core: Vec<Node>) -> Vec<u32> {
        for index in 0..core.len() {
            let writes = &self.prepared.txns[core[index] as usize].writes;
            let readers = writes.iter().filter_map(|write| self.prepared.longest.get(&write.0));
            for reader in readers {
                let txns = self.prepared.txns.iter();
                let node = txns.enumerate().find(|(_, txn)| txn.id == Some(*reader));
                core.extend(node.map(|(node, _)| node as Node));
            }
        }
        core.put_in_order();
        core.dedup();
        core.retain(|&node| node != 0);
        core
    }

    /// The transactions on a shortest way from one to another along sessions and reads.
    fn past_path(&self, from: Node, to: Node) -> Vec<Node> {
        let mut next: HashMap<Node, Node> = HashMap::new();
        let mut queue = VecDeque::from([to]);
        while let Some(node) = queue.pop_front() {
            if node == from {
                break;
            }
            let txn = node as usize;
            for before in
                self.prepared.sources(txn).map(|source| source.1).chain([self.before[txn]])
            {
                if before != 0 && before != to && !next.contains_key(&before) {
                    next.insert(before, node);
                    queue.push_back(before);
                }
            }
        }
        let mut path = Vec::new();
        let mut node = from;
        while let Some(&after) = next.get(&node).filter(|_| node != to) {
            path.push(after);
            node = after;
        }
        path
    }
}

/// For how many keys pasts are kept at a time: rows of them should stay in the cache.
const KEYS_AT_ONCE: usize = 64;
