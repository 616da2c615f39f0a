//! Causal pasts as vector clocks: for every transaction and session, how many of the session's
//! transactions are in the past.
//!
//! Sessions are chains here: a transaction of unknown outcome, which those after it do not follow,
//! is a chain by itself. Since a chain's transactions commit in its order, of all writers of a key
//! that a past holds the last one of each chain is enough.

use crate::mutation::{Mutant, is_on};
use crate::order::{Node, Order};
use crate::prepare::Prepared;
use hashbrown::HashMap;
use seriatim_limits::checkpoint;

/// The clocks of all transactions.
pub struct Clocks {
    chains: usize,
    /// For every transaction a row: of each chain, how many of its transactions are in the past.
    rows: Vec<u32>,
    /// For every key and chain: its writers, by their places in the chain from 1.
    writers: Vec<Vec<(u32, Node)>>,
}

/// The most entries that all rows together may have.
const MOST: usize = 100_000_000;

impl Clocks {
    /// The clocks, where they are cheaper than an entry for each key. `before` is the one before
    /// each in its session; `sequence` is any order that respects sessions and reads.
    pub fn new(prepared: &Prepared, before: &[Node], sequence: &[Node]) -> Option<Clocks> {
        let count = prepared.txns.len();
        let mut chain = vec![0u32; count];
        let mut place = vec![0u32; count];
        let mut of_session: HashMap<u32, u32> = HashMap::new();
        let mut lengths: Vec<u32> = Vec::new();
        for (txn, info) in prepared.txns.iter().enumerate().skip(1) {
            let new = lengths.len() as u32;
            chain[txn] = match info.precedes_session {
                true => *of_session.entry(info.session).or_insert(new),
                false => new,
            };
            if chain[txn] == new {
                lengths.push(0);
            }
            lengths[chain[txn] as usize] += 1;
            place[txn] = lengths[chain[txn] as usize];
        }
        let chains = lengths.len();
        if 2 * chains >= prepared.key_count() || chains.saturating_mul(count) > MOST {
            return None;
        }
        let mut writers = vec![Vec::new(); prepared.key_count() * chains];
        for (txn, info) in prepared.txns.iter().enumerate().skip(1) {
            for &(key, _) in &info.writes {
                let entry = &mut writers[key.index() * chains + chain[txn] as usize];
                entry.push((place[txn], txn as Node));
            }
        }
        let mut clocks = Clocks { chains, rows: vec![0; count * chains], writers };
        let mut row = vec![0u32; chains];
        for &node in sequence.iter().filter(|&&node| node != 0) {
            checkpoint();
            let txn = node as usize;
            row.fill(0);
            let reads = prepared.txns[txn].program().iter();
            let sources = reads.map(|&(_, version)| prepared.writer(version));
            let sources = sources.filter(|_| !is_on(Mutant::ClockSkipsReads));
            for from in sources.chain([before[txn]]).filter(|&from| from != 0) {
                let from = from as usize;
                let other = &clocks.rows[from * chains..(from + 1) * chains];
                row.iter_mut().zip(other).for_each(|(mine, theirs)| *mine = (*mine).max(*theirs));
                let own = &mut row[chain[from] as usize];
                *own = (*own).max(place[from] - u32::from(is_on(Mutant::ClockForgetsItself)));
            }
            clocks.rows[txn * chains..(txn + 1) * chains].copy_from_slice(&row);
        }
        Some(clocks)
    }

    /// The reads that miss a writer in their past: the latest such writer, whom they read from, and
    /// the reader.
    pub fn missed(&self, prepared: &Prepared, order: &Order) -> Vec<(Node, Node, Node)> {
        let mut missed = Vec::new();
        for (txn, info) in prepared.txns.iter().enumerate().skip(1) {
            checkpoint();
            let row = &self.rows[txn * self.chains..(txn + 1) * self.chains];
            for &(key, version) in &info.reads {
                let from = prepared.writer(version);
                let start = key.index() * self.chains;
                let writers = &self.writers[start..start + self.chains];
                let latest = |(writers, &known): (&Vec<(u32, Node)>, &u32)| {
                    if known == 0 {
                        return None;
                    }
                    let end = writers.partition_point(|writer| writer.0 <= known);
                    match is_on(Mutant::FirstWriterOfChain) {
                        true => writers[..end].first().map(|writer| writer.1),
                        false => writers[..end].last().map(|writer| writer.1),
                    }
                };
                let all = writers.iter().zip(row).filter_map(latest);
                let worst = all.max_by_key(|&writer| order.place(writer));
                if let Some(writer) = worst.filter(|&w| order.place(w) > order.place(from)) {
                    missed.push((writer, from, txn as Node));
                }
            }
        }
        missed
    }
}
