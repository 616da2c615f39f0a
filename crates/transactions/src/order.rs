//! A directed graph with a topological order that is maintained while edges come and go.
//!
//! D. J. Pearce and P. H. J. Kelly, "A dynamic topological sort algorithm for directed acyclic
//! graphs", JEA 11 (2006). An edge a → b that agrees with the order costs nothing. One that does
//! not is answered by a search forward from b up to the place of a: if it meets a, the edge would
//! close a cycle, and the path found is the proof; else what was found forward from b and backward
//! from a is moved within the places that these nodes have already. Edges are undone last first;
//! the order stays valid, since fewer edges demand less.
//!
//! Edges that stay for ever lie side by side, those of a node together; edges that may be undone
//! are chained through the stack of all of them. It would be unsound to undo them in another order
//! than last first.

use seriatim_limits::InOrder;
use seriatim_limits::checkpoint;

/// A node.
pub type Node = u32;

/// Why an edge is there: the caller's number for it.
pub type Tag = u32;

/// An edge with its tag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Edge {
    /// The node that comes first.
    pub from: Node,
    /// The node that comes later.
    pub to: Node,
    /// Why.
    pub tag: Tag,
}

/// An order of so many nodes that respects some edges; `None` if they are cyclic.
pub fn sorted(nodes: usize, edges: &[Edge]) -> Option<Vec<Node>> {
    let targets = Rows::new(nodes, edges.iter().map(|edge| (edge.from, edge.to)));
    let mut before = vec![0u32; nodes];
    edges.iter().for_each(|edge| before[edge.to as usize] += 1);
    let mut sequence: Vec<Node> = Vec::with_capacity(nodes);
    sequence.extend((0..nodes as Node).filter(|&node| before[node as usize] == 0));
    let mut head = 0;
    while let Some(&node) = sequence.get(head) {
        for &next in targets.row(node) {
            before[next as usize] -= 1;
            if before[next as usize] == 0 {
                sequence.push(next);
            }
        }
        head += 1;
    }
    (sequence.len() == nodes).then_some(sequence)
}

/// No edge.
const NONE: u32 = u32::MAX;

/// An edge that can be undone. Those of a node are a chain, last one first.
#[derive(Clone, Copy, Debug)]
struct Added {
    edge: Edge,
    /// The one before it that leaves the same node, and the one that enters the same node.
    next_out: u32,
    next_into: u32,
}

/// The graph and its order.
#[derive(Debug)]
pub struct Order {
    nodes: usize,
    /// The edges that stay for ever.
    fixed: Vec<Edge>,
    /// The same from [`Order::start`] on, by the nodes that they leave and that they enter.
    out: Rows<(Node, Tag)>,
    into: Rows<Node>,
    /// The edges that can be undone, last one last, and the last one of each node.
    added: Vec<Added>,
    last_out: Vec<u32>,
    last_into: Vec<u32>,
    place: Vec<u32>,
    at: Vec<Node>,
    /// The lowest place whose node changed since it was asked for.
    lowest_moved: usize,
    // What a search uses; `mark` holds the number of the search that met a node.
    mark: Vec<u32>,
    search: u32,
    parent: Vec<(Node, Tag)>,
    queue: Vec<Node>,
}

/// What belongs to each node, side by side.
#[derive(Debug, Default)]
struct Rows<T> {
    /// Where the row of each node ends; that of the first starts at 0.
    end: Vec<u32>,
    items: Vec<T>,
}

impl<T: Copy + Default> Rows<T> {
    /// Puts items into the rows of their nodes, in the order in which they come.
    fn new(nodes: usize, items: impl Iterator<Item = (Node, T)> + Clone) -> Self {
        let mut end = vec![0u32; nodes];
        let mut count = 0;
        for (node, _) in items.clone() {
            end[node as usize] += 1;
            count += 1;
        }
        let mut sum = 0;
        for start in &mut end {
            sum += std::mem::replace(start, sum);
        }
        let mut sorted = vec![T::default(); count];
        for (node, item) in items {
            sorted[end[node as usize] as usize] = item;
            end[node as usize] += 1;
        }
        Rows { end, items: sorted }
    }

    #[inline]
    fn row(&self, node: Node) -> &[T] {
        let node = node as usize;
        let start = if node == 0 { 0 } else { self.end[node - 1] };
        &self.items[start as usize..self.end[node] as usize]
    }
}

/// Rows of the edges that leave each node.
fn outgoing(nodes: usize, edges: &[Edge]) -> Rows<(Node, Tag)> {
    Rows::new(nodes, edges.iter().map(|edge| (edge.from, (edge.to, edge.tag))))
}

/// Rows of the nodes before each node.
fn incoming(nodes: usize, edges: &[Edge]) -> Rows<Node> {
    Rows::new(nodes, edges.iter().map(|edge| (edge.to, edge.from)))
}

impl Order {
    /// A graph without edges on so many nodes. It has no order until [`Order::start`].
    pub fn new(nodes: usize) -> Self {
        Order {
            nodes,
            fixed: Vec::new(),
            out: Rows::default(),
            into: Rows::default(),
            added: Vec::new(),
            last_out: Vec::new(),
            last_into: Vec::new(),
            place: Vec::new(),
            at: Vec::new(),
            lowest_moved: usize::MAX,
            mark: Vec::new(),
            search: 0,
            parent: Vec::new(),
            queue: Vec::new(),
        }
    }

    /// The number of nodes.
    pub fn len(&self) -> usize {
        self.nodes
    }

    /// Adds a node before the order is started.
    pub fn add_node(&mut self) -> Node {
        self.nodes += 1;
        self.nodes as Node - 1
    }

    /// An order of all nodes that respects the edges that stay, found at once; `None` if they are
    /// cyclic.
    pub fn sorted(&self) -> Option<Vec<Node>> {
        sorted(self.nodes, &self.fixed)
    }

    /// Adds an edge before the order is started; it stays for ever.
    pub fn fix(&mut self, from: Node, to: Node, tag: Tag) {
        self.fixed.push(Edge { from, to, tag });
    }

    /// The edges that stay for ever.
    pub fn fixed(&self) -> &[Edge] {
        &self.fixed
    }

    /// Starts with an order of all nodes. Says whether it respects all edges.
    #[must_use]
    pub fn start(&mut self, at: Vec<Node>) -> bool {
        self.out = outgoing(self.nodes, &self.fixed);
        self.into = incoming(self.nodes, &self.fixed);
        self.last_out = vec![NONE; self.nodes];
        self.last_into = vec![NONE; self.nodes];
        self.mark = vec![0; self.nodes];
        self.parent = vec![(0, 0); self.nodes];
        self.place = vec![u32::MAX; self.nodes];
        for (place, &node) in at.iter().enumerate() {
            self.place[node as usize] = place as u32;
        }
        self.at = at;
        let is_whole = self.at.len() == self.nodes && !self.place.contains(&u32::MAX);
        let agrees = |edge: &Edge| self.place(edge.from) < self.place(edge.to);
        is_whole && self.fixed.iter().all(agrees)
    }

    /// The nodes in their order.
    pub fn sequence(&self) -> &[Node] {
        &self.at
    }

    /// Where a node stands.
    #[inline]
    pub fn place(&self, node: Node) -> u32 {
        self.place[node as usize]
    }

    /// The number of edges that can be undone.
    pub fn height(&self) -> usize {
        self.added.len()
    }

    /// Undoes the last edges until so many are left.
    pub fn undo(&mut self, height: usize) {
        while self.added.len() > height {
            let Added { edge, next_out, next_into } = self.added.pop().expect("it is higher");
            self.last_out[edge.from as usize] = next_out;
            self.last_into[edge.to as usize] = next_into;
        }
    }

    /// The lowest place whose node changed since this was asked last.
    pub fn take_lowest_moved(&mut self) -> Option<usize> {
        let lowest = std::mem::replace(&mut self.lowest_moved, usize::MAX);
        (lowest != usize::MAX).then_some(lowest)
    }

    /// Adds an edge. Says `false` if it would close a cycle, and leaves the path from `to` to
    /// `from` in `path` then.
    #[must_use]
    pub fn add(&mut self, from: Node, to: Node, tag: Tag, path: &mut Vec<Edge>) -> bool {
        path.clear();
        if from == to {
            return false;
        }
        if self.place(from) > self.place(to) {
            checkpoint();
            if self.path(to, from, path) {
                return false;
            }
            self.reorder(from, to);
        }
        let last = self.added.len() as u32;
        let next_out = std::mem::replace(&mut self.last_out[from as usize], last);
        let next_into = std::mem::replace(&mut self.last_into[to as usize], last);
        self.added.push(Added { edge: Edge { from, to, tag }, next_out, next_into });
        true
    }

    /// Whether there is a path between two nodes; leaves a shortest one in `path`. Only nodes that
    /// stand between them are looked at: the order is valid, so no path leaves that stretch.
    pub fn path(&mut self, from: Node, to: Node, path: &mut Vec<Edge>) -> bool {
        self.queue.clear();
        self.queue.push(from);
        path.clear();
        if from == to {
            return true;
        }
        let bound = self.place(to);
        if self.place(from) > bound {
            return false;
        }
        self.search += 1;
        self.mark[from as usize] = self.search;
        let mut head = 0;
        // Invariant: `queue` holds the nodes met so far, those before `head` with all successors.
        while head < self.queue.len() {
            let node = self.queue[head];
            head += 1;
            let mut meet = |next: Node, tag: Tag| {
                let index = next as usize;
                if self.place[index] <= bound && self.mark[index] != self.search {
                    self.mark[index] = self.search;
                    self.parent[index] = (node, tag);
                    self.queue.push(next);
                }
                next == to
            };
            let mut is_met = self.out.row(node).iter().any(|&(next, tag)| meet(next, tag));
            let mut last = self.last_out[node as usize];
            while last != NONE && !is_met {
                let Added { edge, next_out, .. } = self.added[last as usize];
                is_met = meet(edge.to, edge.tag);
                last = next_out;
            }
            if is_met {
                self.trace(from, to, path);
                return true;
            }
        }
        false
    }

    fn trace(&self, from: Node, to: Node, path: &mut Vec<Edge>) {
        let mut node = to;
        while node != from {
            let (before, tag) = self.parent[node as usize];
            path.push(Edge { from: before, to: node, tag });
            node = before;
        }
        path.reverse();
    }

    /// Makes room for the edge `from` → `to`, after a search from `to` that did not meet `from` and
    /// left what it met in `queue`.
    fn reorder(&mut self, from: Node, to: Node) {
        let mut forward = std::mem::take(&mut self.queue);
        let mut moved = self.ancestors(from, self.place(to));
        forward.put_in_order_by_own_key(|&node| self.place[node as usize]);
        moved.put_in_order_by_own_key(|&node| self.place[node as usize]);
        moved.append(&mut forward);
        let mut places: Vec<u32> = moved.iter().map(|&node| self.place[node as usize]).collect();
        places.put_in_order();
        self.lowest_moved = self.lowest_moved.min(places[0] as usize);
        for (&node, &place) in moved.iter().zip(&places) {
            self.place[node as usize] = place;
            self.at[place as usize] = node;
        }
        self.queue = forward;
    }

    /// The nodes from which a node can be reached, down to a place.
    fn ancestors(&mut self, node: Node, bound: u32) -> Vec<Node> {
        self.search += 1;
        self.mark[node as usize] = self.search;
        let mut found = vec![node];
        let mut head = 0;
        while head < found.len() {
            let node = found[head];
            head += 1;
            let mut meet = |before: Node| {
                let index = before as usize;
                if self.place[index] >= bound && self.mark[index] != self.search {
                    self.mark[index] = self.search;
                    found.push(before);
                }
            };
            self.into.row(node).iter().for_each(|&before| meet(before));
            let mut last = self.last_into[node as usize];
            while last != NONE {
                let Added { edge, next_into, .. } = self.added[last as usize];
                meet(edge.from);
                last = next_into;
            }
        }
        found
    }

    /// A short cycle among the edges that stay, if there is one; needs no order.
    pub fn cycle(&self) -> Option<Vec<Edge>> {
        let out = outgoing(self.nodes, &self.fixed);
        let left = self.cyclic_part(&out);
        let starts = (0..self.len() as Node).filter(|&node| left[node as usize]);
        // A shortest cycle would need a search from every node: a few of them give a short one.
        starts
            .take(SEARCHES_FOR_A_CYCLE)
            .filter_map(|start| cycle_through(start, &out, &left))
            .min_by_key(Vec::len)
    }

    /// The nodes that are left when those without predecessors, and those without successors, are
    /// taken away again and again: every cycle lies in them.
    fn cyclic_part(&self, out: &Rows<(Node, Tag)>) -> Vec<bool> {
        let into = incoming(self.nodes, &self.fixed);
        let mut left = vec![true; self.nodes];
        let nodes = 0..self.nodes as Node;
        let ins: Vec<usize> = nodes.clone().map(|node| into.row(node).len()).collect();
        let outs: Vec<usize> = nodes.map(|node| out.row(node).len()).collect();
        peel(&mut left, ins, |node| out.row(node).iter().map(|next| next.0).collect());
        peel(&mut left, outs, |node| into.row(node).to_vec());
        left
    }
}

fn cycle_through(start: Node, out: &Rows<(Node, Tag)>, left: &[bool]) -> Option<Vec<Edge>> {
    let mut parent: hashbrown::HashMap<Node, (Node, Tag)> = hashbrown::HashMap::new();
    let mut queue = std::collections::VecDeque::from([start]);
    while let Some(node) = queue.pop_front() {
        for &(next, tag) in out.row(node) {
            if !left[next as usize] || parent.contains_key(&next) {
                continue;
            }
            parent.insert(next, (node, tag));
            if next == start {
                return Some(around(start, &parent));
            }
            queue.push_back(next);
        }
    }
    None
}

/// From how many nodes a short cycle is looked for.
const SEARCHES_FOR_A_CYCLE: usize = 64;

/// Takes nodes away whose degree is or becomes 0.
fn peel(left: &mut [bool], mut degree: Vec<usize>, next: impl Fn(Node) -> Vec<Node>) {
    let mut free: Vec<Node> =
        (0..left.len() as Node).filter(|&node| degree[node as usize] == 0).collect();
    while let Some(node) = free.pop() {
        left[node as usize] = false;
        for next in next(node) {
            degree[next as usize] -= 1;
            if degree[next as usize] == 0 {
                free.push(next);
            }
        }
    }
}

fn around(start: Node, parent: &hashbrown::HashMap<Node, (Node, Tag)>) -> Vec<Edge> {
    let mut cycle = Vec::new();
    let mut node = start;
    loop {
        let (before, tag) = parent[&node];
        cycle.push(Edge { from: before, to: node, tag });
        node = before;
        if node == start {
            cycle.reverse();
            return cycle;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that look random.
    fn numbers(mut seed: u64) -> impl FnMut(u32) -> u32 {
        move |bound| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((seed >> 33) as u32) % bound
        }
    }

    fn reaches(edges: &[(Node, Node)], from: Node, to: Node) -> bool {
        let mut seen = vec![from];
        let mut head = 0;
        while head < seen.len() {
            let node = seen[head];
            head += 1;
            let next: Vec<Node> = edges.iter().filter(|e| e.0 == node).map(|e| e.1).collect();
            next.into_iter().for_each(|n| {
                if !seen.contains(&n) {
                    seen.push(n)
                }
            });
        }
        seen.contains(&to)
    }

    #[test]
    fn an_edge_is_refused_exactly_when_it_closes_a_cycle_and_the_order_stays_valid() {
        for seed in 0..200 {
            let mut random = numbers(seed);
            let nodes = 2 + random(8);
            let mut order = Order::new(nodes as usize);
            // The first ones stay.
            let mut edges: Vec<(Node, Node)> = Vec::new();
            for _ in 0..random(4) {
                let (from, to) = (random(nodes), random(nodes));
                if from < to {
                    order.fix(from, to, 7);
                    edges.push((from, to));
                }
            }
            let fixed = edges.len();
            assert!(order.start((0..nodes).collect()));
            for _ in 0..40 {
                if random(5) == 0 && edges.len() > fixed {
                    let height = random((edges.len() - fixed) as u32) as usize;
                    order.undo(height);
                    edges.truncate(fixed + height);
                }
                let (from, to) = (random(nodes), random(nodes));
                let mut path = Vec::new();
                if order.add(from, to, 7, &mut path) {
                    assert!(!reaches(&edges, to, from));
                    edges.push((from, to));
                } else {
                    assert!(reaches(&edges, to, from));
                    let ends = path.first().map(|e| e.from).zip(path.last().map(|e| e.to));
                    assert!(from == to || ends == Some((to, from)));
                    assert!(path.windows(2).all(|pair| pair[0].to == pair[1].from));
                    assert!(path.iter().all(|e| edges.contains(&(e.from, e.to))));
                }
                assert!(edges.iter().all(|e| order.place(e.0) < order.place(e.1)));
            }
        }
    }
}
