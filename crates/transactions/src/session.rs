//! The four session guarantees: read your writes, monotonic reads, monotonic writes, writes follow
//! reads.
//!
//! D. B. Terry et al., "Session guarantees for weakly consistent replicated data" (1994), in the
//! form of P. Viotti and M. Vukolić, "Consistency in non-transactional distributed storage systems"
//! (2016), with the order of commits as arbitration. A history has a guarantee if there is an order
//! of commits that contains reads-from and the known order of lists, and in which
//!
//! - **read your writes**: whenever t reads key k from w, every other writer x of k that stands
//!   before t in t's session commits before w;
//! - **monotonic reads**: so does every other writer x of k that t's session, or t itself, had read
//!   from before this read;
//! - **monotonic writes**: the writers of a session commit in its order;
//! - **writes follow reads**: a writer commits after all that its session, or itself, had read
//!   from.
//!
//! Nothing here depends on the order that is sought: all edges are forced, and there is such an
//! order if and only if they are acyclic. With one operation a transaction this is the object's own
//! notion, for registers and maps. Each guarantee is asked by itself. Registers seldom show that
//! the last two are broken (nobody sees in which order two values were there); lists do.
//!
//! **Cost.** "All that the session wrote so far" would be quadratic: each session and key has a
//! chain of further nodes, the i-th after the first i writers, so that one edge stands for all of
//! them.
//!
//! It would be unsound to let the chain hold the very writer that was read from; that case adds
//! single edges instead.

use crate::level::Level;
use crate::mutation::{Mutant, is_on};
use crate::order::{Edge, Node, Order, Tag};
use crate::prepare::Prepared;
use crate::solve::Defect;
use crate::transaction::KeyId;
use crate::weak::Outcome;
use hashbrown::HashMap;
use seriatim_limits::InOrder;
use seriatim_limits::checkpoint;

/// Decides one of the session guarantees.
pub fn decide(prepared: &Prepared, level: Level) -> Result<Outcome, Defect> {
    let mut graph = Guarantee {
        prepared,
        order: Order::new(prepared.txns.len()),
        readers: Vec::new(),
        before_initial: None,
    };
    graph.add_known();
    match level {
        Level::ReadYourWrites => graph.add_own_writes(),
        Level::MonotonicReads => graph.add_earlier_reads(),
        Level::MonotonicWrites => graph.add_order_of_writes(),
        _ => graph.add_reads_before_writes(),
    }
    if let Some(core) = &graph.before_initial {
        return Ok(Outcome::Refuted(graph.core(core.clone())));
    }
    if let Some(sequence) = graph.order.sorted() {
        let is_real = |&node: &Node| node != 0 && (node as usize) < prepared.txns.len();
        return Ok(Outcome::Ordered(sequence.into_iter().filter(is_real).collect()));
    }
    let no_cycle = || Defect("no order of commits, but no cycle either".to_owned());
    let cycle = graph.order.cycle().ok_or_else(no_cycle)?;
    Ok(Outcome::Refuted(graph.core_of(&cycle)))
}

const KNOWN: Tag = Tag::MAX;

struct Guarantee<'p> {
    prepared: &'p Prepared,
    order: Order,
    /// The transactions whose reads force edges; the tags of these edges are places here.
    readers: Vec<[Node; 2]>,
    /// Transactions that together put a writer before the initial state.
    before_initial: Option<Vec<Node>>,
}

/// The writers of a key that a session knows of, in the order in which it came to know them.
#[derive(Default)]
struct Chain {
    writers: Vec<Node>,
    places: HashMap<Node, usize>,
    /// Through whom the session knows each.
    knowers: Vec<Node>,
    /// The i-th comes after the first i + 1 writers.
    links: Vec<Node>,
}

type Chains = HashMap<(u32, KeyId), Chain>;

impl Guarantee<'_> {
    fn forced(&mut self, readers: [Node; 2]) -> Tag {
        self.readers.push(readers);
        self.readers.len() as Tag - 1
    }

    fn add_known(&mut self) {
        let edges = self.prepared.known_edges(|_| 0);
        edges.into_iter().for_each(|[first, then]| self.order.fix(first, then, KNOWN));
    }

    fn add_own_writes(&mut self) {
        let mut chains = Chains::new();
        for txn in 1..self.prepared.txns.len() {
            let info = &self.prepared.txns[txn];
            for (key, from) in self.prepared.sources(txn) {
                if let Some(chain) = chains.get(&(info.session, key)) {
                    self.put_before(chain, from, txn as Node);
                }
            }
            let is_known = info.precedes_session && !is_on(Mutant::OwnWritesPass);
            for &(key, _) in info.writes.iter().filter(|_| is_known) {
                let chain = chains.entry((info.session, key)).or_default();
                self.extend(chain, txn as Node, txn as Node);
            }
        }
    }

    fn add_earlier_reads(&mut self) {
        let mut chains = Chains::new();
        for txn in 1..self.prepared.txns.len() {
            let session = self.prepared.txns[txn].session;
            for (key, from) in self.prepared.sources(txn) {
                if let Some(chain) = chains.get(&(session, key)) {
                    self.put_before(chain, from, txn as Node);
                }
                if from == 0 {
                    continue;
                }
                for &(written, _) in &self.prepared.txns[from as usize].writes {
                    if written != key && is_on(Mutant::ReadsKnowOneKey) {
                        continue;
                    }
                    let chain = chains.entry((session, written)).or_default();
                    self.extend(chain, from, txn as Node);
                }
            }
        }
    }

    /// The session comes to know a writer.
    fn extend(&mut self, chain: &mut Chain, writer: Node, knower: Node) {
        checkpoint();
        if chain.places.contains_key(&writer) {
            return;
        }
        chain.places.insert(writer, chain.writers.len());
        chain.writers.push(writer);
        chain.knowers.push(knower);
        let link = self.order.add_node();
        let tag = self.forced([knower; 2]);
        self.order.fix(writer, link, tag);
        if let Some(&last) = chain.links.last() {
            self.order.fix(last, link, KNOWN);
        }
        chain.links.push(link);
    }

    /// All writers of a chain but the one that was read from come before that one.
    fn put_before(&mut self, chain: &Chain, from: Node, reader: Node) {
        if from == 0 {
            let knowers = chain.writers.iter().zip(&chain.knowers).next_back();
            self.before_initial = knowers.map(|(&writer, &knower)| vec![writer, knower, reader]);
            return;
        }
        let place = chain.places.get(&from).copied();
        let place = place.filter(|_| !is_on(Mutant::ChainHoldsSource));
        let earlier = place.unwrap_or(chain.links.len());
        if let Some(&link) = chain.links[..earlier].last() {
            let tag = self.forced([reader; 2]);
            self.order.fix(link, from, tag);
        }
        let Some(place) = place.filter(|_| !is_on(Mutant::LaterWritersPass)) else { return };
        for later in place + 1..chain.writers.len() {
            checkpoint();
            let tag = self.forced([reader, chain.knowers[later]]);
            self.order.fix(chain.writers[later], from, tag);
        }
    }

    fn add_order_of_writes(&mut self) {
        let mut last: HashMap<u32, Node> = HashMap::new();
        for (txn, info) in self.prepared.txns.iter().enumerate().skip(1) {
            if info.writes.is_empty() || is_on(Mutant::WritersOutOfOrder) {
                continue;
            }
            if let Some(&before) = last.get(&info.session) {
                self.order.fix(before, txn as Node, KNOWN);
            }
            if info.precedes_session {
                last.insert(info.session, txn as Node);
            }
        }
    }

    fn add_reads_before_writes(&mut self) {
        let mut last: HashMap<u32, Node> = HashMap::new();
        for txn in 1..self.prepared.txns.len() {
            let info = &self.prepared.txns[txn];
            let sources: Vec<(KeyId, Node)> = self.prepared.sources(txn).collect();
            if !sources.is_empty() {
                let link = self.order.add_node();
                for (_, from) in sources {
                    let tag = self.forced([txn as Node; 2]);
                    self.order.fix(from, link, tag);
                }
                let before = last.insert(info.session, link);
                if let Some(before) = before.filter(|_| !is_on(Mutant::WritesBeforeReads)) {
                    self.order.fix(before, link, KNOWN);
                }
            }
            if let (false, Some(&link)) = (info.writes.is_empty(), last.get(&info.session)) {
                self.order.fix(link, txn as Node, KNOWN);
            }
        }
    }

    /// The transactions that a cycle rests on.
    fn core_of(&self, cycle: &[Edge]) -> Vec<u32> {
        let mut core: Vec<Node> = cycle.iter().map(|edge| edge.from).collect();
        for edge in cycle.iter().filter(|edge| edge.tag != KNOWN) {
            core.extend(self.readers[edge.tag as usize]);
        }
        self.core(core)
    }

    /// With those that make the order of a list known.
    fn core(&self, mut core: Vec<Node>) -> Vec<u32> {
        let txns = &self.prepared.txns;
        core.retain(|&node| node != 0 && (node as usize) < txns.len());
        for index in 0..core.len() {
            let writes = &txns[core[index] as usize].writes;
            for reader in writes.iter().filter_map(|write| self.prepared.longest.get(&write.0)) {
                let node = txns.iter().position(|txn| txn.id == Some(*reader));
                core.extend(node.map(|node| node as Node));
            }
        }
        core.put_in_order();
        core.dedup();
        core
    }
}
