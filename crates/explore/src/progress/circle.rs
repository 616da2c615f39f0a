//! Cycles that meet conditions: in a graph whose nodes and edges carry marks, a strongly connected
//! set that has all marks that are needed, and a short walk round it that meets them.
//!
//! *Theorem*: a cycle that meets all marks lies in one strongly connected set, and a walk round all
//! of a set that has all marks is such a cycle. So it is enough to look at the maximal sets
//! (Tarjan 1972). Standing still is a cycle: it needs no edge, so a single node counts.

use std::collections::VecDeque;

/// An edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The node that it leads to.
    pub to: u32,
    /// What it meets.
    pub marks: u32,
    /// Which step it is, for those who ask.
    pub step: u32,
}

/// A graph whose nodes and edges carry marks.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// What each node meets.
    pub marks: Vec<u32>,
    /// The edges from each node.
    pub edges: Vec<Vec<Edge>>,
}

/// A cycle: where it begins, and its edges, each with the node from which it leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// The first node.
    pub start: u32,
    /// The edges.
    pub edges: Vec<(u32, Edge)>,
}

impl Graph {
    /// The strongly connected sets that meet all these marks, each sorted.
    pub fn sets(&self, needed: u32) -> Vec<Vec<u32>> {
        let (component, count) = self.components();
        let mut met = vec![0; count];
        let mut members = vec![Vec::new(); count];
        for (node, own) in component.iter().enumerate() {
            members[*own].push(node as u32);
            met[*own] |= self.marks[node];
            let inner = self.edges[node].iter().filter(|e| component[e.to as usize] == *own);
            met[*own] |= inner.fold(0, |marks, edge| marks | edge.marks);
        }
        let all = members.into_iter().zip(met);
        all.filter(|(_, met)| met & needed == needed).map(|(members, _)| members).collect()
    }

    /// A walk from a node of a set round to it again that meets all these marks, which the set
    /// does; always on to the nearest one that is missing.
    pub fn walk(&self, set: &[u32], start: u32, needed: u32) -> Cycle {
        let is_inside = |node: u32| set.binary_search(&node).is_ok();
        let mut cycle = Cycle { start, edges: Vec::new() };
        let mut at = start;
        let mut missing = needed & !self.marks[at as usize];
        while missing != 0 {
            let found = self.nearest(at, &is_inside, &|edge| {
                (edge.marks | self.marks[edge.to as usize]) & missing != 0
            });
            let Some(way) = found else { break };
            for (from, edge) in way {
                missing &= !(edge.marks | self.marks[edge.to as usize]);
                at = edge.to;
                cycle.edges.push((from, edge));
            }
        }
        if at != start {
            let home = self.nearest(at, &is_inside, &|edge| edge.to == start);
            cycle.edges.extend(home.unwrap_or_default());
        }
        cycle
    }

    /// A shortest way inside of a set whose last edge is of some kind.
    fn nearest(
        &self,
        from: u32,
        is_inside: &dyn Fn(u32) -> bool,
        is_last: &dyn Fn(&Edge) -> bool,
    ) -> Option<Vec<(u32, Edge)>> {
        let mut came: Vec<Option<(u32, Edge)>> = vec![None; self.edges.len()];
        let mut todo = VecDeque::from([from]);
        while let Some(node) = todo.pop_front() {
            for edge in self.edges[node as usize].iter().filter(|edge| is_inside(edge.to)) {
                if is_last(edge) {
                    let mut way = vec![(node, *edge)];
                    while way[0].0 != from {
                        way.insert(0, came[way[0].0 as usize]?);
                    }
                    return Some(way);
                }
                if edge.to != from && came[edge.to as usize].is_none() {
                    came[edge.to as usize] = Some((node, *edge));
                    todo.push_back(edge.to);
                }
            }
        }
        None
    }

    /// For each node the number of its maximal strongly connected set, and how many there are.
    fn components(&self) -> (Vec<usize>, usize) {
        const NONE: usize = usize::MAX;
        let nodes = self.edges.len();
        let (mut index, mut low) = (vec![NONE; nodes], vec![0; nodes]);
        let mut component = vec![NONE; nodes];
        let (mut count, mut clock) = (0, 0);
        let mut open: Vec<usize> = Vec::new();
        for root in 0..nodes {
            let mut path: Vec<(usize, usize)> = Vec::new();
            if index[root] == NONE {
                path.push((root, 0));
            }
            while let Some((node, next)) = path.last_mut() {
                let node = *node;
                if *next == 0 && index[node] == NONE {
                    (index[node], low[node]) = (clock, clock);
                    clock += 1;
                    open.push(node);
                }
                if let Some(edge) = self.edges[node].get(*next) {
                    *next += 1;
                    let target = edge.to as usize;
                    if index[target] == NONE {
                        path.push((target, 0));
                    } else if component[target] == NONE {
                        low[node] = low[node].min(index[target]);
                    }
                    continue;
                }
                path.pop();
                if let Some((parent, _)) = path.last() {
                    low[*parent] = low[*parent].min(low[node]);
                }
                if low[node] == index[node] {
                    while let Some(member) = open.pop() {
                        component[member] = count;
                        if member == node {
                            break;
                        }
                    }
                    count += 1;
                }
            }
        }
        (component, count)
    }
}
