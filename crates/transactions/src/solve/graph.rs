//! The graph of a level: its nodes, the edges that are known, and the edges that a choice brings.
//!
//! | shape | nodes | reads-from w, r | v before x | reader r of v, x after v | order demanded |
//! | --- | --- | --- | --- | --- | --- |
//! | serial | t | w → r | v → x | r → x | t → u |
//! | snapshot | b(t) → c(t) | c(w) → b(r) | c(v) → b(x) | b(r) → c(x) | c(t) → b(u) |
//! | prefix | b(t) → c(t) | c(w) → b(r) | c(v) → c(x) | b(r) → c(x) | c(t) → b(u) |
//!
//! Real time is a chain of moments, one for each run of returns that a call follows: a return comes
//! before its moment, a call after the last moment before it, so that O(n) edges say what n² pairs
//! mean. Intervals are closed: a transaction that returns at the instant of another's call is
//! concurrent with it. Where the level does not demand real time, the edges to and from the moments
//! are *guards*: wishes that the solver may drop. Where no times are recorded and the level does
//! not demand sessions either, the order of the sessions is wished for instead.

use super::interval::Intervals;
use crate::level::{Demand, Level};
use crate::mutation::{Mutant, is_on};
use crate::order::{Node, Order, Tag};
use crate::prepare::{Prepared, Version};
use hashbrown::HashMap;
use seriatim_limits::InOrder;
use seriatim_limits::checkpoint;

/// The tag of an edge that is known.
pub const KNOWN: Tag = Tag::MAX;

/// What has to be ordered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// Transactions.
    Serial,
    /// Begins and commits; writers of a key do not overlap.
    Snapshot,
    /// Begins and commits.
    Prefix,
}

/// The nodes of a graph, by transaction.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    pub shape: Shape,
    /// The order that the level demands.
    pub demand: Demand,
    /// The number of transactions, with the initial one.
    pub txns: u32,
}

/// A node, told apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// A transaction, all at once.
    Whole(u32),
    Begin(u32),
    Commit(u32),
    Moment,
}

impl Layout {
    pub fn new(prepared: &Prepared, level: Level) -> Layout {
        let shape = match level {
            Level::StrictSerializable | Level::StrongSessionSerializable | Level::Serializable => {
                Shape::Serial
            }
            Level::Prefix => Shape::Prefix,
            _ => Shape::Snapshot,
        };
        Layout { shape, demand: level.demand(), txns: prepared.txns.len() as u32 }
    }

    #[inline]
    pub fn begin(&self, txn: u32) -> Node {
        if self.shape == Shape::Serial { txn } else { 2 * txn }
    }

    #[inline]
    pub fn commit(&self, txn: u32) -> Node {
        if self.shape == Shape::Serial { txn } else { 2 * txn + 1 }
    }

    /// The number of nodes that are not moments.
    pub fn nodes(&self) -> u32 {
        if self.shape == Shape::Serial { self.txns } else { 2 * self.txns }
    }

    #[inline]
    pub fn event(&self, node: Node) -> Event {
        match self.shape {
            _ if node >= self.nodes() => Event::Moment,
            Shape::Serial => Event::Whole(node),
            _ if node.is_multiple_of(2) => Event::Begin(node / 2),
            _ => Event::Commit(node / 2),
        }
    }

    /// The transaction of a node, unless it is a moment or the initial one.
    pub fn txn(&self, node: Node) -> Option<u32> {
        match self.event(node) {
            Event::Whole(txn) | Event::Begin(txn) | Event::Commit(txn) => (txn != 0).then_some(txn),
            Event::Moment => None,
        }
    }
}

/// The graph before any choice.
pub struct Graph {
    pub layout: Layout,
    pub order: Order,
    /// The wishes for real time or for sessions, in the order of time or of the order to start
    /// from.
    pub guards: Vec<(Node, Node)>,
    /// The transactions that must come after each by known edges, and how many must come before it.
    pub after: Vec<Vec<u32>>,
    pub before: Vec<u32>,
    /// The transactions that follow each other in a session, where that is a wish.
    pub wished: Vec<(u32, u32)>,
    /// The moment before which each transaction was not called.
    pub moment: Vec<Option<Node>>,
    /// When each transaction is taken to have happened.
    pub intervals: Intervals,
}

impl Graph {
    pub fn new(prepared: &Prepared, level: Level) -> Graph {
        let layout = Layout::new(prepared, level);
        let txns = prepared.txns.len();
        let intervals = Intervals::new(prepared, layout.demand);
        let (moments, moment) = moments(&intervals, layout.nodes());
        let has_no_guide = moments.count == 0;
        let mut graph = Graph {
            layout,
            order: Order::new(layout.nodes() as usize + moments.count),
            guards: Vec::new(),
            after: vec![Vec::new(); txns],
            before: vec![0; txns],
            wished: Vec::new(),
            moment,
            intervals,
        };
        graph.add_events();
        graph.add_reads(prepared);
        graph.add_versions(prepared);
        if level.demand() != Demand::Nothing && !is_on(Mutant::NoSessions) {
            session_edges(prepared, |first, then| graph.fix(first, then));
        }
        graph.add_time(&moments);
        if level.demand() == Demand::Nothing && has_no_guide {
            graph.wish_for_sessions(prepared);
        }
        graph
    }

    fn wish_for_sessions(&mut self, prepared: &Prepared) {
        let layout = self.layout;
        session_edges(prepared, |first, then| {
            self.guards.push((layout.commit(first), layout.begin(then)));
            self.wished.push((first, then));
        });
    }

    /// Wishes for sessions are made as the order to start from comes to them.
    pub fn sort_wishes(&mut self) {
        if !self.wished.is_empty() {
            let order = &self.order;
            self.guards.put_in_order_by_key(|&(_, to)| order.place(to));
        }
    }

    fn add_events(&mut self) {
        if self.layout.shape != Shape::Serial {
            for txn in 0..self.layout.txns {
                self.order.fix(self.layout.begin(txn), self.layout.commit(txn), KNOWN);
            }
        }
    }

    fn fix(&mut self, first: u32, then: u32) {
        self.order.fix(self.layout.commit(first), self.layout.begin(then), KNOWN);
        self.note(first, then);
    }

    fn note(&mut self, first: u32, then: u32) {
        self.after[first as usize].push(then);
        self.before[then as usize] += 1;
    }

    fn add_reads(&mut self, prepared: &Prepared) {
        for (txn, info) in prepared.txns.iter().enumerate().skip(1) {
            checkpoint();
            let mut writers: Vec<u32> =
                info.program().iter().map(|read| prepared.writer(read.1)).collect();
            writers.put_in_order();
            writers.dedup();
            for writer in writers.into_iter().filter(|&writer| writer != 0) {
                self.fix(writer, txn as u32);
            }
        }
    }

    fn add_versions(&mut self, prepared: &Prepared) {
        for &(earlier, later) in &prepared.known {
            let (first, then) = (prepared.writer(earlier), prepared.writer(later));
            if first != 0 && first != then {
                let (from, to) = self.version_edge(first, then);
                self.order.fix(from, to, KNOWN);
                self.note(first, then);
            }
        }
    }

    fn version_edge(&self, first: u32, then: u32) -> (Node, Node) {
        version_edge(&self.layout, first, then)
    }

    fn add_time(&mut self, moments: &Moments) {
        let first = self.layout.nodes();
        for moment in 1..moments.count as u32 {
            self.order.fix(first + moment - 1, first + moment, KNOWN);
        }
        for &(txn, moment, side) in &moments.edges {
            let edge = match side {
                Side::Return => (self.layout.commit(txn), moment),
                Side::Call => (moment, self.layout.begin(txn)),
            };
            match self.layout.demand {
                Demand::RealTime => self.order.fix(edge.0, edge.1, KNOWN),
                _ => self.guards.push(edge),
            }
        }
    }
}

/// Gives every two transactions of a session that follow each other.
fn session_edges(prepared: &Prepared, mut edge: impl FnMut(u32, u32)) {
    let mut last: HashMap<u32, u32> = HashMap::new();
    for (txn, info) in prepared.txns.iter().enumerate().skip(1) {
        if let Some(&before) = last.get(&info.session) {
            edge(before, txn as u32);
        }
        if info.precedes_session {
            last.insert(info.session, txn as u32);
        }
    }
}

/// The edge that "the version of `first` before that of `then`" brings by itself.
pub fn version_edge(layout: &Layout, first: u32, then: u32) -> (Node, Node) {
    match layout.shape {
        Shape::Prefix => (layout.commit(first), layout.commit(then)),
        _ => (layout.commit(first), layout.begin(then)),
    }
}

/// The edges of "`earlier` before `later`", two versions of a key, into `edges`. Says `false` if
/// that cannot be at all, since `later` is the initial version.
pub fn choice_edges(
    prepared: &Prepared,
    layout: &Layout,
    (earlier, later): (Version, Version),
    edges: &mut Vec<(Node, Node)>,
) -> bool {
    edges.clear();
    let (first, then) = (prepared.writer(earlier), prepared.writer(later));
    if then == 0 {
        return false;
    }
    if first != 0 {
        edges.push(version_edge(layout, first, then));
    }
    let call = prepared.txns[then as usize].call;
    for &reader in &prepared.versions[earlier as usize].readers {
        // Where real time is demanded, the moments say already that an earlier reader comes first.
        let is_said =
            layout.demand == Demand::RealTime && prepared.txns[reader as usize].ret < call;
        if reader != then && !is_said && !is_on(Mutant::NoReaderEdges) {
            edges.push((layout.begin(reader), layout.commit(then)));
        }
    }
    true
}

#[derive(Clone, Copy)]
enum Side {
    Return,
    Call,
}

struct Moments {
    count: usize,
    /// The edges between transactions and moments, in the order of time.
    edges: Vec<(u32, Node, Side)>,
}

/// The moments of a history, numbered from `first`, and the last one before each call.
fn moments(intervals: &Intervals, first: Node) -> (Moments, Vec<Option<Node>>) {
    let mut by_call: Vec<u32> = (1..intervals.call.len() as u32).collect();
    by_call.put_in_order_by_key(|&txn| intervals.call[txn as usize]);
    let mut by_return = intervals.returned();
    by_return.reverse();
    let mut moments = Moments { count: 0, edges: Vec::new() };
    let mut last = vec![None; intervals.call.len()];
    for txn in by_call {
        let call = intervals.call[txn as usize];
        let bound = call + u64::from(is_on(Mutant::EqualInstantsAreOrdered));
        let earlier = |next: &u32| intervals.ret[*next as usize] < bound;
        if by_return.last().is_some_and(earlier) {
            moments.count += 1;
        }
        let now = first + moments.count as Node;
        while let Some(done) = by_return.pop_if(|next| earlier(next)) {
            moments.edges.push((done, now - 1, Side::Return));
        }
        if moments.count > 0 {
            moments.edges.push((txn, now - 1, Side::Call));
            last[txn as usize] = Some(now - 1);
        }
    }
    (moments, last)
}
