//! A contradiction with a short derivation, in a history of some hundred transactions.
//!
//! The solver's refutation rests on the order in which it happened to look at things. What people
//! want to see is the one that needs the fewest transactions. Here everything that follows without
//! guessing is derived in the order of its cost:
//!
//! - a known edge costs the transaction that it adds;
//! - a path costs what its edges cost;
//! - if a path closes a cycle with an edge of "v before x", then "x before v" holds at the cost of
//!   the path, and brings its edges.
//!
//! This is Dijkstra's algorithm for derivations (Knuth 1977: costs never shrink along a rule), so
//! the first cycle is a cheapest one. Costs count a transaction as often as it is used, so it need
//! not be the smallest set; and a contradiction that needs cases is not found. No verdict rests on
//! this: what it finds is decided again.

use super::Core;
use super::graph::{Graph, Layout, choice_edges};
use crate::level::Level;
use crate::order::Node;
use crate::prepare::{Prepared, Version};
use hashbrown::{HashMap, HashSet};

/// At how many edges of choices it is not tried.
const MOST_EDGES: usize = 400_000;

/// At how many nodes it is not tried: paths are kept for every two of them.
const MOST_NODES: usize = 2_000;

/// The transactions of a contradiction that costs at most so much, if there is one.
pub fn short_refutation(prepared: &Prepared, level: Level, most: usize) -> Option<Vec<u32>> {
    let graph = Graph::new(prepared, level);
    if graph.order.len() > MOST_NODES {
        return None;
    }
    let mut derivation = Derivation::new(prepared, &graph, most)?;
    derivation.add_known(&graph);
    let cycle = derivation.run()?;
    Some(derivation.core(cycle))
}

type PathId = u32;
type EdgeId = u32;

/// By the ends of a path, the pairs that hold if there is one.
type Closes = HashMap<(Node, Node), Vec<(Version, Version)>>;

/// An edge, and what it follows from.
struct Edge {
    from: Node,
    to: Node,
    cost: u32,
    /// The pair of versions that it belongs to.
    pair: Option<(Version, Version)>,
    /// The path that the contrary would close.
    since: Option<PathId>,
}

/// A path: another one and an edge more.
#[derive(Clone, Copy)]
struct Path {
    from: Node,
    to: Node,
    cost: u32,
    start: Option<PathId>,
    edge: EdgeId,
}

struct Derivation<'p> {
    prepared: &'p Prepared,
    layout: Layout,
    /// What the ends of a path close, as the pair that then holds.
    closes: Closes,
    holds: HashSet<(Version, Version)>,
    edges: Vec<Edge>,
    out: Vec<Vec<EdgeId>>,
    paths: Vec<Path>,
    /// The paths that end in each node.
    ending: Vec<Vec<PathId>>,
    is_reached: Vec<bool>,
    /// What may be a cheapest path, by cost.
    open: Vec<Vec<Path>>,
}

impl<'p> Derivation<'p> {
    fn new(prepared: &'p Prepared, graph: &Graph, most: usize) -> Option<Self> {
        let nodes = graph.order.len();
        Some(Derivation {
            prepared,
            layout: graph.layout,
            closes: closes(prepared, &graph.layout)?,
            holds: HashSet::new(),
            edges: Vec::new(),
            out: vec![Vec::new(); nodes],
            paths: Vec::new(),
            ending: vec![Vec::new(); nodes],
            is_reached: vec![false; nodes * nodes],
            open: vec![Vec::new(); most + 1],
        })
    }

    fn add_known(&mut self, graph: &Graph) {
        for edge in graph.order.fixed() {
            let is_within = self.layout.txn(edge.to).is_none_or(|txn| {
                // From the begin of a transaction to its commit nothing is added.
                self.layout.txn(edge.from) == Some(txn)
            });
            let (from, to, cost) = (edge.from, edge.to, u32::from(!is_within));
            self.add_edge(Edge { from, to, cost, pair: None, since: None });
        }
        let keys = self.prepared.key_count() as Version;
        let versions = keys..self.prepared.versions.len() as Version;
        let initial = versions.map(|version| {
            let key = self.prepared.versions[version as usize].key;
            (key.0, version)
        });
        let pairs: Vec<(Version, Version)> =
            initial.chain(self.prepared.known.iter().copied()).collect();
        pairs.into_iter().for_each(|pair| self.hold(pair, 1, None));
    }

    /// The order of two versions is derived.
    fn hold(&mut self, pair: (Version, Version), cost: u32, since: Option<PathId>) {
        if !self.holds.insert(pair) {
            return;
        }
        let mut edges = Vec::new();
        if choice_edges(self.prepared, &self.layout, pair, &mut edges) {
            for (from, to) in edges {
                self.add_edge(Edge { from, to, cost, pair: Some(pair), since });
            }
        }
    }

    fn add_edge(&mut self, added: Edge) {
        let Edge { from, to, cost, .. } = added;
        let edge = self.edges.len() as EdgeId;
        self.edges.push(added);
        self.out[from as usize].push(edge);
        self.offer(Path { from, to, cost, start: None, edge });
        for index in 0..self.ending[from as usize].len() {
            let start = self.ending[from as usize][index];
            self.extend(start, edge);
        }
    }

    fn extend(&mut self, start: PathId, edge: EdgeId) {
        let (path, next) = (self.paths[start as usize], &self.edges[edge as usize]);
        let (to, cost) = (next.to, path.cost + next.cost);
        self.offer(Path { from: path.from, to, cost, start: Some(start), edge });
    }

    fn offer(&mut self, path: Path) {
        let is_new = !self.is_reached[self.cell(&path)];
        if let Some(open) = self.open.get_mut(path.cost as usize).filter(|_| is_new) {
            open.push(path);
        }
    }

    fn cell(&self, path: &Path) -> usize {
        path.from as usize * self.out.len() + path.to as usize
    }

    /// Derives paths by their cost until one is a cycle.
    fn run(&mut self) -> Option<PathId> {
        for cost in 0..self.open.len() {
            // Invariant: all paths that cost less have been taken.
            while let Some(path) = self.open[cost].pop() {
                let cell = self.cell(&path);
                if self.is_reached[cell] {
                    continue;
                }
                self.is_reached[cell] = true;
                let id = self.paths.len() as PathId;
                self.paths.push(path);
                if path.from == path.to {
                    return Some(id);
                }
                self.ending[path.to as usize].push(id);
                for index in 0..self.out[path.to as usize].len() {
                    self.extend(id, self.out[path.to as usize][index]);
                }
                for pair in self.closes.remove(&(path.from, path.to)).unwrap_or_default() {
                    self.hold(pair, path.cost + 1, Some(id));
                }
            }
        }
        None
    }

    /// All transactions that a path rests on.
    fn core(&self, path: PathId) -> Vec<u32> {
        let mut core = Core::new(self.prepared);
        let mut seen: HashSet<PathId> = HashSet::from_iter([path]);
        let mut open = vec![path];
        while let Some(path) = open.pop() {
            let path = &self.paths[path as usize];
            let edge = &self.edges[path.edge as usize];
            core.add_node(&self.layout, edge.from);
            core.add_node(&self.layout, edge.to);
            if let Some((earlier, later)) = edge.pair {
                core.add_version(earlier);
                core.add_version(later);
            }
            let more = path.start.into_iter().chain(edge.since);
            open.extend(more.filter(|&path| seen.insert(path)));
        }
        core.finish()
    }
}

/// Which paths close a cycle with an edge of which choice: by the ends of the path, the contrary
/// choices.
fn closes(prepared: &Prepared, layout: &Layout) -> Option<Closes> {
    let keys = prepared.key_count();
    let mut by_key: Vec<Vec<Version>> = vec![Vec::new(); keys];
    for version in keys..prepared.versions.len() {
        by_key[prepared.versions[version].key.index()].push(version as Version);
    }
    let mut closes = Closes::new();
    let mut edges = Vec::new();
    let mut count = 0;
    for versions in by_key {
        for &earlier in &versions {
            for &later in versions.iter().filter(|&&later| later != earlier) {
                choice_edges(prepared, layout, (earlier, later), &mut edges);
                count += edges.len();
                if count > MOST_EDGES {
                    return None;
                }
                for &(from, to) in &edges {
                    closes.entry((to, from)).or_default().push((later, earlier));
                }
            }
        }
    }
    Some(closes)
}
