//! Ways: what an effect says of the nodes between two of its places, where a step takes out several nodes at once.
//!
//! A place of an effect may have a way to another place. It says of the state before the step: whoever follows the links from the
//! node of the one place comes to the node of the other one, and every node strictly between them has one of the listed
//! attributes (class of the key, marked or not) and is no place of the effect.
//!
//! *Theorem.* In a state, the nodes behind a node are the same for every thread, in the same order, and so are their classes and marks: two
//! pictures of one state that both draw the node describe one sequence of nodes behind it. Hence
//! 1. a way is certain in the picture of the acting thread ([`Way::is_certain`]) if the walk from the node of the first place, along the links
//!    before the step, meets the node of the second place, and before that only drawn nodes that are no places and have a
//!    listed attribute, and stretches of which every attribute is listed;
//! 2. in the picture of another thread ([`Way::learn`]) in which all places are drawn or out of reach, the walk from the first place has to meet the second one, and
//!    before that no drawn node that is a place or has no listed attribute. The stretches that it passes hold nodes of the
//!    way only, so that attributes that are not listed do not occur in them. A stretch of which nothing is left is empty.
//!
//! An effect without a way says less, and is right for every step for which the one with it is right.
//!
//! *Cost:* a walk for each way. Where a link leads out of the picture, nothing is certain and nothing is learnt.
//! *It would be unsound* to hold a way certain that passes an attribute that is not listed, another place, or the end of the list; to walk along
//! the links after the step; to drop a case because of a node that the way does not pass (behind its end, or on a branch that joins it).

use crate::picture::{Item, Picture, StretchId, Time, To};
use crate::word::{Attribute, Attributes, NodeId};

/// What an effect says of the nodes between two places.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Way {
    /// The place to which it leads.
    pub to: usize,
    /// What nodes in between look like to everybody.
    pub between: Attributes,
}

/// What a walk finds until it meets the end of a way.
enum Walked {
    /// The end; these stretches were passed.
    Arrived(Vec<StretchId>),
    /// A link out of the picture.
    Left,
    /// Something that the way does not pass, or no end at all.
    Astray,
}

impl Way {
    /// Whether this says no more than `other` says, or nothing at all.
    pub fn is_weaker(weaker: Option<Way>, other: Option<Way>) -> bool {
        match (weaker, other) {
            (None, _) => true,
            (Some(a), Some(b)) => a.to == b.to && b.between.iter().all(|x| a.lists(x)),
            (Some(_), None) => false,
        }
    }

    fn lists(self, attribute: Attribute) -> bool {
        self.between.iter().any(|a| a == attribute.of_another())
    }

    /// Whether what the way says is certain before the step, if the places are these nodes; `from` is the place at which it begins.
    pub fn is_certain(self, picture: &Picture, places: &[NodeId], from: usize) -> bool {
        let places: Vec<Option<NodeId>> = places.iter().copied().map(Some).collect();
        let all_listed = |id: &StretchId| {
            let mut attributes = picture.stretch(*id).attributes.iter();
            attributes.all(|a| self.lists(a))
        };
        match self.walk(picture, &places, (from, Time::Before)) {
            Walked::Arrived(passed) => passed.iter().all(all_listed),
            Walked::Left | Walked::Astray => false,
        }
    }

    /// Learns what the way says, in the picture of another thread before it sees the step: whether it is possible at all, and what is
    /// left in the stretches that it passes. Places without a node cannot be reached by that thread.
    pub fn learn(self, picture: &mut Picture, places: &[Option<NodeId>], from: usize) -> bool {
        let passed = match self.walk(picture, places, (from, Time::Now)) {
            Walked::Arrived(passed) => passed,
            Walked::Left => return true,
            Walked::Astray => return false,
        };
        passed.into_iter().all(|id| picture.narrow(id, |a| self.lists(a)))
    }

    /// Walks from the node of a place to the end of the way.
    fn walk(
        self,
        picture: &Picture,
        places: &[Option<NodeId>],
        (from, time): (usize, Time),
    ) -> Walked {
        let Some(start) = places[from] else { return Walked::Left };
        let mut passed = Vec::new();
        let mut at = picture.link(start, time);
        // No way is longer than all nodes and stretches together.
        for _ in 0..=picture.nodes.len() + picture.stretches.len() {
            let item = match at {
                To::Node(id) if places[self.to] == Some(id) => return Walked::Arrived(passed),
                To::Node(id) => {
                    let node = picture.node(id);
                    let face = match time {
                        Time::Before => node.before.unwrap_or(node.now),
                        Time::Now => node.now,
                    };
                    if places.contains(&Some(id)) || !self.lists(node.attribute(&face)) {
                        return Walked::Astray;
                    }
                    Item::Node(id)
                }
                To::Stretch(id) => {
                    passed.push(id);
                    Item::Stretch(id)
                }
                To::Null => return Walked::Astray,
                To::Outside => return Walked::Left,
            };
            at = picture.behind_item(item, time);
        }
        Walked::Astray
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::{Face, Node, Stretch};
    use crate::word::{Class, Mark, Values};

    const MARKED: Attribute = Attribute { class: Class::Below, mark: Mark::Yes, locked: false };
    const MINE: Attribute = Attribute { mark: Mark::ByMe, ..MARKED };
    const UNMARKED: Attribute = Attribute { mark: Mark::No, ..MARKED };

    /// Four nodes in a row, the second one marked, with a stretch behind the first and one behind the third.
    fn row(optional: bool, first: &[Attribute], second: &[Attribute]) -> Picture {
        let mut picture = Picture::default();
        for (set, to) in [(first, 1), (second, 3)] {
            let attributes = set.iter().copied().collect();
            let (values, to) = (Values::NULL, To::Node(NodeId(to)));
            picture.stretches.push(Stretch { attributes, values, optional, sorted: false, to });
        }
        let links = [To::Stretch(StretchId(0)), To::Node(NodeId(2)), To::Stretch(StretchId(1))];
        for (link, mark) in
            links.into_iter().chain([To::Null]).zip([Mark::No, Mark::Yes, Mark::No, Mark::No])
        {
            let now = Face { link, mark, locked: false, private: false };
            let (class, values) = (Class::Below, Values::NULL);
            picture.draw(Node { class, values, before: Some(now), now });
        }
        picture
    }

    fn way(to: usize, between: &[Attribute]) -> Way {
        Way { to, between: between.iter().copied().collect() }
    }

    #[test]
    fn a_way_is_certain_if_nothing_else_lies_on_it() {
        let places = [NodeId(0), NodeId(2)];
        let certain = |picture: &Picture, way: Way| way.is_certain(picture, &places, 0);
        let marked = row(true, &[MARKED, MINE], &[UNMARKED]);
        assert!(certain(&marked, way(1, &[MARKED])));
        assert!(certain(&marked, way(1, &[MARKED, UNMARKED])));
        assert!(!certain(&marked, way(1, &[UNMARKED])));
        let mixed = row(true, &[MARKED, UNMARKED], &[MARKED]);
        assert!(!certain(&mixed, way(1, &[MARKED])));
        assert!(certain(&mixed, way(1, &[MARKED, UNMARKED])));
        // Another place lies on it; it leads nowhere; it leads back.
        let three = [NodeId(0), NodeId(2), NodeId(1)];
        assert!(!way(1, &[MARKED]).is_certain(&marked, &three, 0));
        assert!(!way(0, &[MARKED, UNMARKED]).is_certain(&marked, &places, 1));
        // The links that count are those before the step.
        let mut cut = marked.clone();
        cut.node_mut(NodeId(0)).now.link = To::Node(NodeId(2));
        cut.node_mut(NodeId(1)).now.mark = Mark::No;
        assert!(certain(&cut, way(1, &[MARKED])));
        let mut unmarked = marked;
        let face = Face { mark: Mark::No, ..unmarked.node(NodeId(1)).now };
        unmarked.node_mut(NodeId(1)).before = Some(face);
        assert!(!certain(&unmarked, way(1, &[MARKED])));
    }

    #[test]
    fn others_learn_of_the_way_and_of_nothing_behind_it() {
        let places = [Some(NodeId(0)), Some(NodeId(2))];
        let both = [MARKED, UNMARKED];
        let mut picture = row(false, &both, &both);
        assert!(way(1, &[MARKED]).learn(&mut picture, &places, 0));
        assert_eq!(picture, row(false, &[MARKED], &both));
        let mut empty = row(true, &[UNMARKED], &both);
        assert!(way(1, &[MARKED]).learn(&mut empty, &places, 0));
        assert_eq!(empty.node(NodeId(0)).now.link, To::Node(NodeId(1)));
        assert!(!way(1, &[MARKED]).learn(&mut row(false, &[UNMARKED], &both), &places, 0));
        assert!(!way(1, &[UNMARKED]).learn(&mut row(true, &both, &both), &places, 0));
        // A place that the thread cannot reach lies not on a way that it can.
        let outside = [Some(NodeId(0)), None];
        assert!(!way(1, &both).learn(&mut row(true, &both, &both), &outside, 0));
        // Nothing is learnt from a node that the thread cannot reach, nor where the picture ends.
        let mut same = row(true, &both, &both);
        assert!(way(0, &[MARKED]).learn(&mut same, &[outside[1], outside[0]], 0));
        assert_eq!(same, row(true, &both, &both));
        same.node_mut(NodeId(1)).now.link = To::Outside;
        let before = same.clone();
        assert!(way(1, &[MARKED]).learn(&mut same, &places, 0));
        assert_eq!(same, before);
    }

    #[test]
    fn a_longer_list_or_none_says_less() {
        let (short, long) = (Some(way(1, &[MARKED])), Some(way(1, &[MARKED, UNMARKED])));
        for (weaker, other, holds) in [
            (None, None, true),
            (None, short, true),
            (short, None, false),
            (short, short, true),
            (long, short, true),
            (short, long, false),
            (Some(way(2, &[MARKED])), short, false),
        ] {
            assert_eq!(Way::is_weaker(weaker, other), holds, "{weaker:?} {other:?}");
        }
    }
}
