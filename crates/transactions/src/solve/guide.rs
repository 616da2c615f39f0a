//! The order to start from: transactions one after another by known edges and, as far as they
//! allow, real time; among those that may come next, one that reads what is there and overwrites
//! nothing that is still to be read.
//!
//! Nothing rests on this order being good: the solver repairs it. But the better it is, the less
//! there is to repair.

use super::graph::{Graph, Shape};
use super::interval::Intervals;
use crate::level::Demand;
use crate::order::Node;
use crate::prepare::{Prepared, Version};
use seriatim_history::Time;
use seriatim_limits::checkpoint;
use std::collections::BTreeSet;

/// How many of the transactions that may come next are looked at.
const CANDIDATES: usize = 64;

/// How well a transaction fits next, best first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    ReadsOnly,
    FitsAndSpares,
    Spares,
    Fits,
    Neither,
}

/// An order of all nodes that respects the known edges, or `None` if they are cyclic.
pub fn initial_order(prepared: &Prepared, graph: &Graph) -> Option<Vec<Node>> {
    let mut guide = Guide::new(prepared, graph);
    let mut sequence = Vec::with_capacity(prepared.txns.len());
    while sequence.len() + 1 < prepared.txns.len() {
        checkpoint();
        let txn = match guide.best() {
            Some(txn) => txn,
            // Whoever could come next was called after another returned that cannot come next.
            None if graph.layout.demand == Demand::RealTime => return None,
            None => guide.free.first().or(guide.held.first())?.1,
        };
        guide.take(txn);
        sequence.push(txn);
    }
    Some(nodes(graph, &sequence))
}

struct Guide<'p> {
    prepared: &'p Prepared,
    intervals: &'p Intervals,
    after: &'p [Vec<u32>],
    before: Vec<u32>,
    /// The wishes: who should come after each, and whether one that should come before each is not
    /// taken.
    wished: Vec<Vec<u32>>,
    waits: Vec<bool>,
    /// Those whose known predecessors are taken, by call: those that nothing speaks against, and
    /// those that should wait for another.
    free: BTreeSet<(Time, u32)>,
    held: BTreeSet<(Time, u32)>,
    by_return: Vec<u32>,
    first_open: usize,
    is_taken: Vec<bool>,
    current: Vec<Version>,
    readers_left: Vec<u32>,
}

impl<'p> Guide<'p> {
    fn new(prepared: &'p Prepared, graph: &'p Graph) -> Self {
        let txns = prepared.txns.len();
        let (mut wished, mut waits) = (Vec::new(), vec![false; txns]);
        if !graph.wished.is_empty() {
            wished.resize_with(txns, Vec::new);
        }
        for &(first, then) in &graph.wished {
            wished[first as usize].push(then);
            waits[then as usize] = true;
        }
        let is_ready = |&txn: &usize| graph.before[txn] == 0;
        let (held, free): (Vec<usize>, Vec<usize>) =
            (1..txns).filter(is_ready).partition(|&txn| waits[txn]);
        let intervals = &graph.intervals;
        let entry = |txn: usize| (intervals.call[txn], txn as u32);
        Guide {
            prepared,
            intervals,
            after: &graph.after,
            before: graph.before.clone(),
            wished,
            waits,
            free: free.into_iter().map(entry).collect(),
            held: held.into_iter().map(entry).collect(),
            by_return: intervals.returned(),
            first_open: 0,
            is_taken: vec![false; txns],
            current: (0..prepared.key_count() as u32).collect(),
            readers_left: prepared.versions.iter().map(|v| v.readers.len() as u32).collect(),
        }
    }

    /// The best of those that real time allows next.
    fn best(&mut self) -> Option<u32> {
        let next = |at: usize| self.by_return.get(at).copied();
        while next(self.first_open).is_some_and(|txn| self.is_taken[txn as usize]) {
            self.first_open += 1;
        }
        let open = next(self.first_open).map_or(Time::MAX, |t| self.intervals.ret[t as usize]);
        let mut best = None;
        for &(_, txn) in self.free.range(..=(open, u32::MAX)).take(CANDIDATES) {
            let key = (self.fit(txn), self.intervals.ret[txn as usize], txn);
            if key.0 == Fit::ReadsOnly {
                return Some(txn);
            }
            if best.as_ref().is_none_or(|best| key < *best) {
                best = Some(key);
            }
        }
        best.map(|best| best.2)
    }

    fn fit(&self, txn: u32) -> Fit {
        let txn = &self.prepared.txns[txn as usize];
        let fits = txn.reads.iter().all(|&(key, seen)| self.current[key.index()] == seen);
        let spares = txn.writes.iter().all(|&(key, _)| {
            let current = self.current[key.index()];
            let own = txn.reads.iter().any(|read| read.1 == current);
            self.readers_left[current as usize] <= u32::from(own)
        });
        match (fits, spares) {
            (true, _) if txn.writes.is_empty() => Fit::ReadsOnly,
            (true, true) => Fit::FitsAndSpares,
            (false, true) => Fit::Spares,
            (true, false) => Fit::Fits,
            (false, false) => Fit::Neither,
        }
    }

    fn take(&mut self, txn: u32) {
        let info = &self.prepared.txns[txn as usize];
        let entry = (self.intervals.call[txn as usize], txn);
        if !self.free.remove(&entry) {
            self.held.remove(&entry);
        }
        self.is_taken[txn as usize] = true;
        for read in &info.reads {
            self.readers_left[read.1 as usize] -= 1;
        }
        for &(key, version) in &info.writes {
            self.current[key.index()] = version;
        }
        for &next in &self.after[txn as usize] {
            self.before[next as usize] -= 1;
            if self.before[next as usize] == 0 {
                let entry = (self.intervals.call[next as usize], next);
                match self.waits[next as usize] {
                    true => self.held.insert(entry),
                    false => self.free.insert(entry),
                };
            }
        }
        for &next in self.wished.get(txn as usize).into_iter().flatten() {
            self.waits[next as usize] = false;
            let entry = (self.intervals.call[next as usize], next);
            if self.held.remove(&entry) {
                self.free.insert(entry);
            }
        }
    }
}

/// The nodes of the transactions in this order, with the moments where calls need them.
fn nodes(graph: &Graph, sequence: &[u32]) -> Vec<Node> {
    let layout = &graph.layout;
    let mut nodes = vec![layout.begin(0)];
    if layout.shape != Shape::Serial {
        nodes.push(layout.commit(0));
    }
    let mut moment = layout.nodes();
    for &txn in sequence {
        while graph.moment[txn as usize].is_some_and(|needed| moment <= needed) {
            nodes.push(moment);
            moment += 1;
        }
        nodes.push(layout.begin(txn));
        if layout.shape != Shape::Serial {
            nodes.push(layout.commit(txn));
        }
    }
    nodes
}
