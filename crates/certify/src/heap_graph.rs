//! A heap graph of what one thread can reach: nodes, and between them segments of nodes that nobody
//! names.
//!
//! Every link has two values: before the step under consideration, and now. A *segment* stands for
//! the nodes between two nodes: their attributes, their values, whether there may be none, whether
//! their key classes ascend. Nothing inside of a segment can be read or written; `HeapGraph::open`
//! and [`HeapGraph::cut`] first split it into all cases with the node in question drawn. Because a
//! segment is an object of its own, to which links point as they point to nodes, such a split
//! changes the heap graph before the step and now at once, and both stay heap graphs of the same
//! nodes.
//!
//! It would be unsound to forget a case in a split, or to leave a reachable node out of the heap
//! graph.

use crate::scalar::{Attribute, Attributes, Holder, Mark, NodeId, Scalar, Values};
use seriatim_lang::choices::Choices;

/// Numbers the segments of a heap graph.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SegmentId(pub u32);

/// Where a link leads.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum To {
    /// Nowhere.
    Null,
    /// To a node.
    Node(NodeId),
    /// Into a segment of nodes.
    Segment(SegmentId),
    /// To something that is not in the heap graph.
    Outside,
}

/// What of a node can change.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Face {
    /// Its link.
    pub link: To,
    /// Its mark.
    pub mark: Mark,
    /// Whether the observed operation is known to hold its lock.
    pub locked: bool,
    /// Whether only the observed thread can reach it.
    pub private: bool,
}

/// A node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Node {
    /// The class of its key; its mark and lock are those of the faces.
    pub class: crate::scalar::Class,
    /// The values that it may hold.
    pub values: Values,
    /// Those that it may have held before the step, if the step wrote another one where others
    /// could see it.
    pub overwritten: Option<Values>,
    /// Before the step; none if the step allocated it.
    pub before: Option<Face>,
    /// Now.
    pub now: Face,
}

impl Node {
    /// What is known about the node, apart from value and link, at this face.
    pub fn attribute(&self, face: &Face) -> Attribute {
        Attribute { class: self.class, mark: face.mark, locked: face.locked }
    }
}

/// A segment of nodes that nobody names.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Segment {
    /// The attributes that occur.
    pub attributes: Attributes,
    /// The values that occur.
    pub values: Values,
    /// Whether there may be no node at all.
    pub optional: bool,
    /// Whether the key classes ascend.
    pub sorted: bool,
    /// What comes behind it.
    pub to: To,
}

/// Which of the two heap graphs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Time {
    /// Before the step.
    Before,
    /// Now.
    Now,
}

/// What a walk along links meets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Item {
    /// A node.
    Node(NodeId),
    /// A segment.
    Segment(SegmentId),
}

/// A heap graph.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct HeapGraph {
    /// The nodes.
    pub nodes: Vec<Node>,
    /// The segments.
    pub segments: Vec<Segment>,
    /// The shared variables before the step.
    pub shared_before: Vec<Scalar>,
    /// The shared variables now.
    pub shared: Vec<Scalar>,
}

/// How a walk ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// At a null link.
    Null,
    /// At a node that it has met already.
    Cycle,
    /// At a link out of the heap graph.
    Outside,
}

impl HeapGraph {
    /// A copy, with room for some more nodes and segments.
    pub fn roomy(&self) -> HeapGraph {
        fn copied<T: Clone>(all: &[T]) -> Vec<T> {
            let mut copy = Vec::with_capacity(all.len() + 6);
            copy.extend_from_slice(all);
            copy
        }
        HeapGraph {
            nodes: copied(&self.nodes),
            segments: copied(&self.segments),
            shared_before: self.shared_before.clone(),
            shared: self.shared.clone(),
        }
    }

    /// A node.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    /// A node, to change it.
    pub fn node_mut(&mut self, id: NodeId) -> &mut Node {
        &mut self.nodes[id.0 as usize]
    }

    /// A segment.
    pub fn segment(&self, id: SegmentId) -> &Segment {
        &self.segments[id.0 as usize]
    }

    /// All nodes.
    pub fn ids(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..self.nodes.len() as u32).map(NodeId)
    }

    /// Draws a new node.
    pub fn draw(&mut self, node: Node) -> NodeId {
        self.nodes.push(node);
        NodeId(self.nodes.len() as u32 - 1)
    }

    fn add_segment(&mut self, segment: Segment) -> To {
        if segment.attributes.is_empty() {
            return segment.to;
        }
        self.segments.push(segment);
        To::Segment(SegmentId(self.segments.len() as u32 - 1))
    }

    /// The link of a node; a node that did not exist has none.
    pub fn link(&self, id: NodeId, time: Time) -> To {
        let node = self.node(id);
        match time {
            Time::Now => node.now.link,
            Time::Before => node.before.map_or(To::Null, |face| face.link),
        }
    }

    /// Everything on the way from a scalar, and how the way ends.
    pub fn walk(&self, from: Scalar, time: Time) -> (Vec<Item>, End) {
        let mut met = Vec::with_capacity(8);
        let mut to = match from {
            Scalar::Node(id) => To::Node(id),
            _ => To::Null,
        };
        loop {
            let item = match to {
                To::Null => return (met, End::Null),
                To::Outside => return (met, End::Outside),
                To::Node(id) => Item::Node(id),
                To::Segment(id) => Item::Segment(id),
            };
            if met.contains(&item) {
                return (met, End::Cycle);
            }
            met.push(item);
            to = self.behind_item(item, time);
        }
    }

    /// The shared variables from which something can be reached, as bits.
    pub fn reach(&self, item: Item, time: Time) -> u32 {
        let shared = match time {
            Time::Before => &self.shared_before,
            Time::Now => &self.shared,
        };
        let hits = shared.iter().enumerate().filter(|(_, w)| self.leads_to(**w, item, time));
        hits.fold(0, |bits, (i, _)| bits | 1 << i)
    }

    /// The first segment on the way from one of these scalars that may be empty.
    pub fn first_optional(
        &self,
        from: impl Iterator<Item = Scalar>,
        time: Time,
    ) -> Option<SegmentId> {
        let mut items = from.flat_map(|scalar| self.walk(scalar, time).0);
        items.find_map(|item| match item {
            Item::Segment(id) if self.segment(id).optional => Some(id),
            _ => None,
        })
    }

    /// Whether something lies on the way from a scalar. No way is longer than all nodes and
    /// segments together.
    fn leads_to(&self, from: Scalar, item: Item, time: Time) -> bool {
        let Scalar::Node(id) = from else { return false };
        let mut at = Item::Node(id);
        for _ in 0..=self.nodes.len() + self.segments.len() {
            if at == item {
                return true;
            }
            match self.behind_item(at, time) {
                To::Node(id) => at = Item::Node(id),
                To::Segment(id) => at = Item::Segment(id),
                To::Null | To::Outside => return false,
            }
        }
        false
    }

    /// What comes behind something.
    pub fn behind_item(&self, item: Item, time: Time) -> To {
        match item {
            Item::Node(id) => self.link(id, time),
            Item::Segment(id) => self.segment(id).to,
        }
    }

    /// Whether a link on the way from a scalar leads out of the heap graph now.
    pub fn leads_out(&self, from: Scalar) -> bool {
        let Scalar::Node(id) = from else { return false };
        let mut at = Item::Node(id);
        for _ in 0..=self.nodes.len() + self.segments.len() {
            match self.behind_item(at, Time::Now) {
                To::Node(id) => at = Item::Node(id),
                To::Segment(id) => at = Item::Segment(id),
                To::Null => return false,
                To::Outside => return true,
            }
        }
        false
    }

    fn replace(&mut self, segment: SegmentId, by: To) {
        let old = To::Segment(segment);
        for node in &mut self.nodes {
            let faces = node.before.iter_mut().chain([&mut node.now]);
            faces.filter(|f| f.link == old).for_each(|f| f.link = by);
        }
        self.segments.iter_mut().filter(|s| s.to == old).for_each(|s| s.to = by);
    }

    /// Decides whether an optional segment is empty.
    pub fn decide(&mut self, id: SegmentId, choices: &mut Choices) {
        match choices.pick(2) {
            0 => self.close(id),
            _ => self.fill(id),
        }
    }

    /// There is no node in a segment.
    pub fn close(&mut self, id: SegmentId) {
        self.replace(id, self.segment(id).to);
    }

    /// Only nodes with such attributes are in a segment; says whether that is possible.
    pub fn narrow(&mut self, id: SegmentId, keep: impl Fn(Attribute) -> bool) -> bool {
        let segment = &mut self.segments[id.0 as usize];
        segment.attributes = segment.attributes.filter(keep);
        match (segment.attributes.is_empty(), segment.optional) {
            (false, _) => true,
            (true, true) => {
                self.close(id);
                true
            }
            (true, false) => false,
        }
    }

    /// There is a node in a segment.
    pub fn fill(&mut self, id: SegmentId) {
        self.segments[id.0 as usize].optional = false;
    }

    /// Where a link of a node leads now: a node or nothing. A segment is split at its first node.
    pub fn follow(&mut self, id: NodeId, choices: &mut Choices) -> Option<Scalar> {
        loop {
            match self.node(id).now.link {
                To::Null => return Some(Scalar::Null),
                To::Node(next) => return Some(Scalar::Node(next)),
                To::Outside => return None,
                To::Segment(segment) => self.open(segment, choices),
            }
        }
    }

    /// Draws the first node of a segment, which has this attribute.
    pub fn begin(&mut self, id: SegmentId, first: Attribute) {
        let segment = *self.segment(id);
        let node = self.behind(&segment, first);
        self.replace(id, To::Node(node));
    }

    /// Draws the first node of a segment, or decides that there is none.
    fn open(&mut self, id: SegmentId, choices: &mut Choices) {
        let segment = *self.segment(id);
        let firsts: Vec<Attribute> = segment.attributes.iter().collect();
        let cases = firsts.len() as u32 + u32::from(segment.optional);
        match firsts.get(choices.pick(cases) as usize) {
            None => self.close(id),
            Some(first) => self.begin(id, *first),
        }
    }

    /// Draws some node of a segment that has this attribute, anywhere in it.
    pub fn cut(&mut self, id: SegmentId, attribute: Attribute) -> NodeId {
        let segment = *self.segment(id);
        let node = self.behind(&segment, attribute);
        let before = |a: Attribute| !segment.sorted || a.class <= attribute.class;
        let left = Segment {
            attributes: segment.attributes.filter(before),
            optional: true,
            to: To::Node(node),
            ..segment
        };
        let left = self.add_segment(left);
        self.replace(id, left);
        node
    }

    /// A node of a segment and the rest of the segment behind it.
    fn behind(&mut self, segment: &Segment, attribute: Attribute) -> NodeId {
        let after = |a: Attribute| !segment.sorted || a.class >= attribute.class;
        let rest =
            Segment { attributes: segment.attributes.filter(after), optional: true, ..*segment };
        let link = self.add_segment(rest);
        let Attribute { class, mark, locked } = attribute;
        let face = Face { link, mark, locked, private: false };
        let (values, before) = (segment.values, Some(face));
        self.draw(Node { class, values, overwritten: None, before, now: face })
    }

    /// Makes nodes public that others can reach now.
    pub fn publish(&mut self) {
        let shared = self.shared.iter().copied();
        let roots: Vec<Scalar> = shared
            .chain(self.ids().filter(|n| !self.node(*n).now.private).map(Scalar::Node))
            .collect();
        for root in roots {
            for item in self.walk(root, Time::Now).0 {
                if let Item::Node(id) = item {
                    self.node_mut(id).now.private = false;
                }
            }
        }
    }

    /// The step is over: what is now becomes what was before.
    pub fn settle(&mut self) {
        self.shared_before.clone_from(&self.shared);
        for node in &mut self.nodes {
            node.before = Some(node.now);
            node.overwritten = None;
        }
    }

    /// The observed operation is over: what it alone knew is forgotten.
    pub fn forget_me(&mut self) {
        for node in &mut self.nodes {
            node.now.mark = node.now.mark.by_anybody();
            node.now.locked = false;
        }
        for segment in &mut self.segments {
            segment.attributes = segment.attributes.iter().map(Attribute::of_another).collect();
        }
        for scalar in &mut self.shared {
            *scalar = match *scalar {
                Scalar::Lock(Holder::Mine) => Scalar::Lock(Holder::Other),
                other => other.plain(),
            };
        }
    }
}
