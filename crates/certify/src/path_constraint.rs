//! Path constraints: what an effect says of the nodes between two of its places, where a step takes
//! out several nodes at once.
//!
//! A place of an effect may have a path to another place. It says of the state before the step:
//! whoever follows the links from the node of the one place comes to the node of the other one, and
//! every node strictly between them has one of the listed attributes (class of the key, marked or
//! not) and is no place of the effect.
//!
//! *Theorem.* In a state, the nodes behind a node are the same for every thread, in the same order,
//! and so are their classes and marks: two heap graphs of one state that both hold the node
//! describe one sequence of nodes behind it. Hence
//! 1. a constraint is certain in the heap graph of the acting thread
//!    ([`PathConstraint::is_certain`]) if the walk from the node of the first place, along the
//!    links before the step, meets the node of the second place, and before that only nodes of the
//!    graph that are no places and have a listed attribute, and segments of which every attribute
//!    is listed;
//! 2. in the heap graph of another thread ([`PathConstraint::learn`]) in which all places are nodes
//!    or out of reach, the walk from the first place has to meet the second one, and before that no
//!    node that is a place or has no listed attribute. The segments that it passes hold nodes of
//!    the path only, so attributes that are not listed do not occur in them. A segment of which
//!    nothing is left is empty.
//!
//! An effect without a path constraint says less, and is correct for every step for which the one
//! with it is correct.
//!
//! *Cost:* a walk for each constraint. Where a link leads out of the graph, nothing is certain and
//! nothing is learnt. *It would be unsound* to hold a constraint certain whose path passes an
//! attribute that is not listed, another place, or the end of the list; to walk along the links
//! after the step; to drop a case because of a node that the path does not pass (behind its end, or
//! on a branch that joins it).

use crate::heap_graph::{HeapGraph, Item, SegmentId, Time, To};
use crate::scalar::{Attribute, Attributes, NodeId};

/// What an effect says of the nodes between two places.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathConstraint {
    /// The place to which it leads.
    pub to: usize,
    /// What nodes in between look like to everybody.
    pub between: Attributes,
}

/// What a walk finds until it meets the end of a path.
enum Walked {
    /// The end; these segments were passed.
    Arrived(Vec<SegmentId>),
    /// A link out of the heap graph.
    Left,
    /// Something that the path does not pass, or no end at all.
    Astray,
}

impl PathConstraint {
    /// Whether this says no more than `other` says, or nothing at all.
    pub fn is_weaker(weaker: Option<PathConstraint>, other: Option<PathConstraint>) -> bool {
        match (weaker, other) {
            (None, _) => true,
            (Some(a), Some(b)) => a.to == b.to && b.between.iter().all(|x| a.lists(x)),
            (Some(_), None) => false,
        }
    }

    fn lists(self, attribute: Attribute) -> bool {
        self.between.iter().any(|a| a == attribute.of_another())
    }

    /// Whether what the constraint says is certain before the step, if the places are these nodes;
    /// `from` is the place at which the path begins.
    pub fn is_certain(self, graph: &HeapGraph, places: &[NodeId], from: usize) -> bool {
        let places: Vec<Option<NodeId>> = places.iter().copied().map(Some).collect();
        let all_listed = |id: &SegmentId| {
            let mut attributes = graph.segment(*id).attributes.iter();
            attributes.all(|a| self.lists(a))
        };
        match self.walk(graph, &places, from, Time::Before) {
            Walked::Arrived(passed) => passed.iter().all(all_listed),
            Walked::Left | Walked::Astray => false,
        }
    }

    /// Learns what the constraint says, in the heap graph of another thread before it sees the
    /// step: whether it is possible at all, and what is left in the segments that the path passes.
    /// Places without a node cannot be reached by that thread.
    pub fn learn(self, graph: &mut HeapGraph, places: &[Option<NodeId>], from: usize) -> bool {
        let passed = match self.walk(graph, places, from, Time::Now) {
            Walked::Arrived(passed) => passed,
            Walked::Left => return true,
            Walked::Astray => return false,
        };
        passed.into_iter().all(|id| graph.narrow(id, |a| self.lists(a)))
    }

    /// Walks from the node of a place to the end of the path.
    fn walk(self, graph: &HeapGraph, places: &[Option<NodeId>], from: usize, time: Time) -> Walked {
        let Some(start) = places[from] else { return Walked::Left };
        let mut passed = Vec::new();
        let mut at = graph.link(start, time);
        // No path is longer than all nodes and segments together.
        for _ in 0..=graph.nodes.len() + graph.segments.len() {
            let item = match at {
                To::Node(id) if places[self.to] == Some(id) => return Walked::Arrived(passed),
                To::Node(id) => {
                    let node = graph.node(id);
                    let face = match time {
                        Time::Before => node.before.unwrap_or(node.now),
                        Time::Now => node.now,
                    };
                    if places.contains(&Some(id)) || !self.lists(node.attribute(&face)) {
                        return Walked::Astray;
                    }
                    Item::Node(id)
                }
                To::Segment(id) => {
                    passed.push(id);
                    Item::Segment(id)
                }
                To::Null => return Walked::Astray,
                To::Outside => return Walked::Left,
            };
            at = graph.behind_item(item, time);
        }
        Walked::Astray
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heap_graph::{Face, Node, Segment};
    use crate::scalar::{Class, Mark, Values};

    const MARKED: Attribute = Attribute { class: Class::Below, mark: Mark::Yes, locked: false };
    const MINE: Attribute = Attribute { mark: Mark::ByMe, ..MARKED };
    const UNMARKED: Attribute = Attribute { mark: Mark::No, ..MARKED };

    /// Four nodes in a row, the second one marked, with a segment behind the first and one behind
    /// the third.
    fn row(optional: bool, first: &[Attribute], second: &[Attribute]) -> HeapGraph {
        let mut graph = HeapGraph::default();
        for (set, to) in [(first, 1), (second, 3)] {
            let attributes = set.iter().copied().collect();
            let (values, to) = (Values::NULL, To::Node(NodeId(to)));
            graph.segments.push(Segment { attributes, values, optional, sorted: false, to });
        }
        let links = [To::Segment(SegmentId(0)), To::Node(NodeId(2)), To::Segment(SegmentId(1))];
        for (link, mark) in
            links.into_iter().chain([To::Null]).zip([Mark::No, Mark::Yes, Mark::No, Mark::No])
        {
            let now = Face { link, mark, locked: false, private: false };
            let (class, values) = (Class::Below, Values::NULL);
            graph.draw(Node { class, values, overwritten: None, before: Some(now), now });
        }
        graph
    }

    fn path(to: usize, between: &[Attribute]) -> PathConstraint {
        PathConstraint { to, between: between.iter().copied().collect() }
    }

    #[test]
    fn a_path_is_certain_if_nothing_else_lies_on_it() {
        let places = [NodeId(0), NodeId(2)];
        let certain = |graph: &HeapGraph, path: PathConstraint| path.is_certain(graph, &places, 0);
        let marked = row(true, &[MARKED, MINE], &[UNMARKED]);
        assert!(certain(&marked, path(1, &[MARKED])));
        assert!(certain(&marked, path(1, &[MARKED, UNMARKED])));
        assert!(!certain(&marked, path(1, &[UNMARKED])));
        let mixed = row(true, &[MARKED, UNMARKED], &[MARKED]);
        assert!(!certain(&mixed, path(1, &[MARKED])));
        assert!(certain(&mixed, path(1, &[MARKED, UNMARKED])));
        // Another place lies on it; it leads nowhere; it leads back.
        let three = [NodeId(0), NodeId(2), NodeId(1)];
        assert!(!path(1, &[MARKED]).is_certain(&marked, &three, 0));
        assert!(!path(0, &[MARKED, UNMARKED]).is_certain(&marked, &places, 1));
        // The links that count are those before the step.
        let mut cut = marked.clone();
        cut.node_mut(NodeId(0)).now.link = To::Node(NodeId(2));
        cut.node_mut(NodeId(1)).now.mark = Mark::No;
        assert!(certain(&cut, path(1, &[MARKED])));
        let mut unmarked = marked;
        let face = Face { mark: Mark::No, ..unmarked.node(NodeId(1)).now };
        unmarked.node_mut(NodeId(1)).before = Some(face);
        assert!(!certain(&unmarked, path(1, &[MARKED])));
    }

    #[test]
    fn others_learn_of_the_path_and_of_nothing_behind_it() {
        let places = [Some(NodeId(0)), Some(NodeId(2))];
        let both = [MARKED, UNMARKED];
        let mut graph = row(false, &both, &both);
        assert!(path(1, &[MARKED]).learn(&mut graph, &places, 0));
        assert_eq!(graph, row(false, &[MARKED], &both));
        let mut empty = row(true, &[UNMARKED], &both);
        assert!(path(1, &[MARKED]).learn(&mut empty, &places, 0));
        assert_eq!(empty.node(NodeId(0)).now.link, To::Node(NodeId(1)));
        assert!(!path(1, &[MARKED]).learn(&mut row(false, &[UNMARKED], &both), &places, 0));
        assert!(!path(1, &[UNMARKED]).learn(&mut row(true, &both, &both), &places, 0));
        // A place that the thread cannot reach does not lie on a path that it can reach.
        let outside = [Some(NodeId(0)), None];
        assert!(!path(1, &both).learn(&mut row(true, &both, &both), &outside, 0));
        // Nothing is learnt from a node that the thread cannot reach, nor where the heap graph
        // ends.
        let mut same = row(true, &both, &both);
        assert!(path(0, &[MARKED]).learn(&mut same, &[outside[1], outside[0]], 0));
        assert_eq!(same, row(true, &both, &both));
        same.node_mut(NodeId(1)).now.link = To::Outside;
        let before = same.clone();
        assert!(path(1, &[MARKED]).learn(&mut same, &places, 0));
        assert_eq!(same, before);
    }

    #[test]
    fn a_longer_list_or_none_says_less() {
        let (short, long) = (Some(path(1, &[MARKED])), Some(path(1, &[MARKED, UNMARKED])));
        for (weaker, other, holds) in [
            (None, None, true),
            (None, short, true),
            (short, None, false),
            (short, short, true),
            (long, short, true),
            (short, long, false),
            (Some(path(2, &[MARKED])), short, false),
        ] {
            assert_eq!(PathConstraint::is_weaker(weaker, other), holds, "{weaker:?} {other:?}");
        }
    }
}
