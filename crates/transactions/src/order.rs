//! A directed graph with a topological order that is maintained while edges come and go.
//!
//! D. J. Pearce and P. H. J. Kelly, "A dynamic topological sort algorithm for directed acyclic
//! graphs", JEA 11 (2006). An edge a → b that agrees with the order costs nothing. One that does
//! not is answered by a search forward from b up to the place of a: if it meets a, the edge would
//! close a cycle, and the path found is the proof; else what was found forward from b and backward
//! from a is moved within the places that these nodes have already. Edges are undone last first;
//! the order stays valid, since fewer edges demand less.
//!
//! It would be unsound to undo edges in another order than last first: adjacency lists are stacks.

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
    // The edges of each node lie side by side in `targets`, up to `end[node]`.
    let mut end = vec![0u32; nodes];
    let mut before = vec![0u32; nodes];
    for edge in edges {
        end[edge.from as usize] += 1;
        before[edge.to as usize] += 1;
    }
    let mut sum = 0;
    for start in &mut end {
        sum += std::mem::replace(start, sum);
    }
    let mut targets = vec![0 as Node; edges.len()];
    for edge in edges {
        targets[end[edge.from as usize] as usize] = edge.to;
        end[edge.from as usize] += 1;
    }
    let mut sequence: Vec<Node> = Vec::with_capacity(nodes);
    sequence.extend((0..nodes as Node).filter(|&node| before[node as usize] == 0));
    let mut head = 0;
    while let Some(&node) = sequence.get(head) {
        let start = if node == 0 { 0 } else { end[node as usize - 1] };
        for &next in &targets[start as usize..end[node as usize] as usize] {
            before[next as usize] -= 1;
            if before[next as usize] == 0 {
                sequence.push(next);
            }
        }
        head += 1;
    }
    (sequence.len() == nodes).then_some(sequence)
}

/// The graph and its order.
#[derive(Debug)]
pub struct Order {
    out: Vec<Vec<(Node, Tag)>>,
    into: Vec<Vec<Node>>,
    place: Vec<u32>,
    at: Vec<Node>,
    /// The edges that can be undone, last one last.
    trail: Vec<(Node, Node)>,
    /// The lowest place whose node changed since it was asked for.
    lowest_moved: usize,
    // What a search uses; `mark` holds the number of the search that met a node.
    mark: Vec<u32>,
    search: u32,
    parent: Vec<(Node, Tag)>,
    queue: Vec<Node>,
}

impl Order {
    /// A graph without edges on so many nodes. It has no order until [`Order::start`].
    pub fn new(nodes: usize) -> Self {
        Order {
            out: vec![Vec::new(); nodes],
            into: vec![Vec::new(); nodes],
            place: Vec::new(),
            at: Vec::new(),
            trail: Vec::new(),
            lowest_moved: usize::MAX,
            mark: vec![0; nodes],
            search: 0,
            parent: vec![(0, 0); nodes],
            queue: Vec::new(),
        }
    }

    /// The number of nodes.
    pub fn len(&self) -> usize {
        self.out.len()
    }

    /// Adds a node before the order is started.
    pub fn add_node(&mut self) -> Node {
        self.out.push(Vec::new());
        self.into.push(Vec::new());
        self.mark.push(0);
        self.parent.push((0, 0));
        self.out.len() as Node - 1
    }

    /// An order of all nodes that respects the edges, found at once; `None` if they are cyclic.
    pub fn sorted(&self) -> Option<Vec<Node>> {
        let mut before: Vec<usize> = self.into.iter().map(Vec::len).collect();
        let mut sequence: Vec<Node> =
            (0..self.len() as Node).filter(|&node| before[node as usize] == 0).collect();
        let mut head = 0;
        while head < sequence.len() {
            for &(next, _) in &self.out[sequence[head] as usize] {
                before[next as usize] -= 1;
                if before[next as usize] == 0 {
                    sequence.push(next);
                }
            }
            head += 1;
        }
        (sequence.len() == self.len()).then_some(sequence)
    }

    /// Adds an edge before the order is started; it stays for ever.
    pub fn fix(&mut self, from: Node, to: Node, tag: Tag) {
        self.out[from as usize].push((to, tag));
        self.into[to as usize].push(from);
    }

    /// All edges.
    pub fn edges(&self) -> impl Iterator<Item = Edge> + '_ {
        let of = |from: usize| {
            self.out[from].iter().map(move |&(to, tag)| Edge { from: from as Node, to, tag })
        };
        (0..self.len()).flat_map(of)
    }

    /// Starts with an order of all nodes. Says whether it respects all edges.
    #[must_use]
    pub fn start(&mut self, at: Vec<Node>) -> bool {
        self.place = vec![u32::MAX; self.out.len()];
        for (place, &node) in at.iter().enumerate() {
            self.place[node as usize] = place as u32;
        }
        self.at = at;
        let is_whole = self.at.len() == self.out.len() && !self.place.contains(&u32::MAX);
        let agrees = |from: usize| {
            self.out[from].iter().all(|&(to, _)| self.place[from] < self.place[to as usize])
        };
        is_whole && (0..self.out.len()).all(agrees)
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
        self.trail.len()
    }

    /// Undoes the last edges until so many are left.
    pub fn undo(&mut self, height: usize) {
        while self.trail.len() > height {
            let (from, to) = self.trail.pop().expect("the trail is higher");
            self.out[from as usize].pop();
            self.into[to as usize].pop();
        }
    }

    /// The lowest place whose node changed since this was asked last.
    pub fn take_lowest_moved(&mut self) -> Option<usize> {
        let lowest = std::mem::replace(&mut self.lowest_moved, usize::MAX);
        (lowest != usize::MAX).then_some(lowest)
    }

    /// Adds an edge.
    ///
    /// # Errors
    /// The path from `to` to `from`, if there is one: the edge would close a cycle.
    pub fn add(&mut self, from: Node, to: Node, tag: Tag) -> Result<(), Vec<Edge>> {
        if from == to {
            return Err(Vec::new());
        }
        if self.place(from) > self.place(to) {
            if let Some(path) = self.path(to, from) {
                return Err(path);
            }
            self.reorder(from, to);
        }
        self.out[from as usize].push((to, tag));
        self.into[to as usize].push(from);
        self.trail.push((from, to));
        Ok(())
    }

    /// A shortest path between two nodes, if there is one. Only nodes that stand between them are
    /// looked at: the order is valid, so no path leaves that stretch.
    pub fn path(&mut self, from: Node, to: Node) -> Option<Vec<Edge>> {
        self.queue.clear();
        self.queue.push(from);
        if from == to {
            return Some(Vec::new());
        }
        let bound = self.place(to);
        if self.place(from) > bound {
            return None;
        }
        self.search += 1;
        self.mark[from as usize] = self.search;
        let mut head = 0;
        // Invariant: `queue` holds the nodes met so far, those before `head` with all successors.
        while head < self.queue.len() {
            let node = self.queue[head];
            head += 1;
            for &(next, tag) in &self.out[node as usize] {
                let index = next as usize;
                if self.place[index] > bound || self.mark[index] == self.search {
                    continue;
                }
                self.mark[index] = self.search;
                self.parent[index] = (node, tag);
                if next == to {
                    return Some(self.traced(from, to));
                }
                self.queue.push(next);
            }
        }
        None
    }

    fn traced(&self, from: Node, to: Node) -> Vec<Edge> {
        let mut path = Vec::new();
        let mut node = to;
        while node != from {
            let (before, tag) = self.parent[node as usize];
            path.push(Edge { from: before, to: node, tag });
            node = before;
        }
        path.reverse();
        path
    }

    /// Makes room for the edge `from` → `to`, after a search from `to` that did not meet `from` and
    /// left what it met in `queue`.
    fn reorder(&mut self, from: Node, to: Node) {
        let mut forward = std::mem::take(&mut self.queue);
        let mut moved = self.ancestors(from, self.place(to));
        forward.sort_unstable_by_key(|&node| self.place[node as usize]);
        moved.sort_unstable_by_key(|&node| self.place[node as usize]);
        moved.append(&mut forward);
        let mut places: Vec<u32> = moved.iter().map(|&node| self.place[node as usize]).collect();
        places.sort_unstable();
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
            for &before in &self.into[node as usize] {
                let index = before as usize;
                if self.place[index] >= bound && self.mark[index] != self.search {
                    self.mark[index] = self.search;
                    found.push(before);
                }
            }
        }
        found
    }

    /// A short cycle among all edges, if there is one; needs no order.
    pub fn cycle(&self) -> Option<Vec<Edge>> {
        let left = self.cyclic_part();
        let starts = (0..self.len() as Node).filter(|&node| left[node as usize]);
        // A shortest cycle would need a search from every node: a few of them give a short one.
        starts
            .take(SEARCHES_FOR_A_CYCLE)
            .filter_map(|start| self.cycle_through(start, &left))
            .min_by_key(Vec::len)
    }

    /// The nodes that are left when those without predecessors, and those without successors, are
    /// taken away again and again: every cycle lies in them.
    fn cyclic_part(&self) -> Vec<bool> {
        let mut left = vec![true; self.len()];
        let ins: Vec<usize> = self.into.iter().map(Vec::len).collect();
        let outs: Vec<usize> = self.out.iter().map(Vec::len).collect();
        peel(&mut left, ins, |node| self.out[node].iter().map(|next| next.0).collect());
        peel(&mut left, outs, |node| self.into[node].clone());
        left
    }

    fn cycle_through(&self, start: Node, left: &[bool]) -> Option<Vec<Edge>> {
        let mut parent: hashbrown::HashMap<Node, (Node, Tag)> = hashbrown::HashMap::new();
        let mut queue = std::collections::VecDeque::from([start]);
        while let Some(node) = queue.pop_front() {
            for &(next, tag) in &self.out[node as usize] {
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
}

/// From how many nodes a short cycle is looked for.
const SEARCHES_FOR_A_CYCLE: usize = 64;

/// Takes nodes away whose degree is or becomes 0.
fn peel(left: &mut [bool], mut degree: Vec<usize>, next: impl Fn(usize) -> Vec<Node>) {
    let mut free: Vec<usize> = (0..left.len()).filter(|&node| degree[node] == 0).collect();
    while let Some(node) = free.pop() {
        left[node] = false;
        for next in next(node) {
            degree[next as usize] -= 1;
            if degree[next as usize] == 0 {
                free.push(next as usize);
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
            assert!(order.start((0..nodes).collect()));
            let mut edges: Vec<(Node, Node)> = Vec::new();
            for _ in 0..40 {
                if random(5) == 0 && !edges.is_empty() {
                    let height = random(edges.len() as u32) as usize;
                    order.undo(height);
                    edges.truncate(height);
                }
                let (from, to) = (random(nodes), random(nodes));
                match order.add(from, to, 7) {
                    Ok(()) => {
                        assert!(!reaches(&edges, to, from));
                        edges.push((from, to));
                    }
                    Err(path) => {
                        assert!(reaches(&edges, to, from));
                        let ends = path.first().map(|e| e.from).zip(path.last().map(|e| e.to));
                        assert!(from == to || ends == Some((to, from)));
                        assert!(path.windows(2).all(|pair| pair[0].to == pair[1].from));
                        assert!(path.iter().all(|e| edges.contains(&(e.from, e.to))));
                    }
                }
                assert!(edges.iter().all(|e| order.place(e.0) < order.place(e.1)));
            }
        }
    }
}
