//! A picture of what one thread can reach: nodes, and between them stretches of nodes that nobody names.
//!
//! Every link has two values: before the step under consideration, and now. A *stretch* stands for the nodes between
//! two nodes: their attributes, their values, whether there may be none, whether their key classes ascend. Nothing
//! inside of a stretch can be read or written; `Picture::open` and [`Picture::cut`] first split it into all cases with the
//! node in question drawn. Because a stretch is an object of its own, to which links point as they point to nodes, such a
//! split changes the picture before the step and now at once, and both stay pictures of the same nodes.
//!
//! It would be unsound to forget a case in a split, or to leave a reachable node out of the picture.

use crate::word::{Attribute, Attributes, Holder, Mark, NodeId, Values, Word};
use seriatim_lang::choices::Choices;

/// Numbers the stretches of a picture.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct StretchId(pub u32);

/// Where a link leads.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum To {
    /// Nowhere.
    Null,
    /// To a node.
    Node(NodeId),
    /// Into a stretch of nodes.
    Stretch(StretchId),
    /// To something that is not in the picture.
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
    pub class: crate::word::Class,
    /// The values that it may hold.
    pub values: Values,
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

/// A stretch of nodes that nobody names.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Stretch {
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

/// Which of the two pictures.
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
    /// A stretch.
    Stretch(StretchId),
}

/// A picture.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Picture {
    /// The nodes.
    pub nodes: Vec<Node>,
    /// The stretches.
    pub stretches: Vec<Stretch>,
    /// The shared variables before the step.
    pub shared_before: Vec<Word>,
    /// The shared variables now.
    pub shared: Vec<Word>,
}

/// How a walk ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// At a null link.
    Null,
    /// At a node that it has met already.
    Cycle,
    /// At a link out of the picture.
    Outside,
}

impl Picture {
    /// A node.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    /// A node, to change it.
    pub fn node_mut(&mut self, id: NodeId) -> &mut Node {
        &mut self.nodes[id.0 as usize]
    }

    /// A stretch.
    pub fn stretch(&self, id: StretchId) -> &Stretch {
        &self.stretches[id.0 as usize]
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

    fn add_stretch(&mut self, stretch: Stretch) -> To {
        if stretch.attributes.is_empty() {
            return stretch.to;
        }
        self.stretches.push(stretch);
        To::Stretch(StretchId(self.stretches.len() as u32 - 1))
    }

    /// The link of a node; a node that did not exist has none.
    pub fn link(&self, id: NodeId, time: Time) -> To {
        let node = self.node(id);
        match time {
            Time::Now => node.now.link,
            Time::Before => node.before.map_or(To::Null, |face| face.link),
        }
    }

    /// Everything on the way from a word, and how the way ends.
    pub fn walk(&self, from: Word, time: Time) -> (Vec<Item>, End) {
        let mut met = Vec::with_capacity(8);
        let mut to = match from {
            Word::Node(id) => To::Node(id),
            _ => To::Null,
        };
        loop {
            let item = match to {
                To::Null => return (met, End::Null),
                To::Outside => return (met, End::Outside),
                To::Node(id) => Item::Node(id),
                To::Stretch(id) => Item::Stretch(id),
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

    /// Whether something lies on the way from a word. No way is longer than all nodes and stretches together.
    fn leads_to(&self, from: Word, item: Item, time: Time) -> bool {
        let Word::Node(id) = from else { return false };
        let mut at = Item::Node(id);
        for _ in 0..=self.nodes.len() + self.stretches.len() {
            if at == item {
                return true;
            }
            match self.behind_item(at, time) {
                To::Node(id) => at = Item::Node(id),
                To::Stretch(id) => at = Item::Stretch(id),
                To::Null | To::Outside => return false,
            }
        }
        false
    }

    /// What comes behind something.
    pub fn behind_item(&self, item: Item, time: Time) -> To {
        match item {
            Item::Node(id) => self.link(id, time),
            Item::Stretch(id) => self.stretch(id).to,
        }
    }

    /// Whether a link on the way from a word leads out of the picture now.
    pub fn leads_out(&self, from: Word) -> bool {
        let Word::Node(id) = from else { return false };
        let mut at = Item::Node(id);
        for _ in 0..=self.nodes.len() + self.stretches.len() {
            match self.behind_item(at, Time::Now) {
                To::Node(id) => at = Item::Node(id),
                To::Stretch(id) => at = Item::Stretch(id),
                To::Null => return false,
                To::Outside => return true,
            }
        }
        false
    }

    fn replace(&mut self, stretch: StretchId, by: To) {
        let old = To::Stretch(stretch);
        for node in &mut self.nodes {
            let faces = node.before.iter_mut().chain([&mut node.now]);
            faces.filter(|f| f.link == old).for_each(|f| f.link = by);
        }
        self.stretches.iter_mut().filter(|s| s.to == old).for_each(|s| s.to = by);
    }

    /// Decides whether an optional stretch is empty.
    pub fn decide(&mut self, id: StretchId, choices: &mut Choices) {
        match choices.pick(2) {
            0 => self.close(id),
            _ => self.fill(id),
        }
    }

    /// There is no node in a stretch.
    pub fn close(&mut self, id: StretchId) {
        self.replace(id, self.stretch(id).to);
    }

    /// Only nodes with such attributes are in a stretch; says whether that is possible.
    pub fn narrow(&mut self, id: StretchId, keep: impl Fn(Attribute) -> bool) -> bool {
        let stretch = &mut self.stretches[id.0 as usize];
        stretch.attributes = stretch.attributes.filter(keep);
        match (stretch.attributes.is_empty(), stretch.optional) {
            (false, _) => true,
            (true, true) => {
                self.close(id);
                true
            }
            (true, false) => false,
        }
    }

    /// There is a node in a stretch.
    pub fn fill(&mut self, id: StretchId) {
        self.stretches[id.0 as usize].optional = false;
    }

    /// Where a link of a node leads now: a node or nothing. A stretch is split at its first node.
    pub fn follow(&mut self, id: NodeId, choices: &mut Choices) -> Option<Word> {
        loop {
            match self.node(id).now.link {
                To::Null => return Some(Word::Null),
                To::Node(next) => return Some(Word::Node(next)),
                To::Outside => return None,
                To::Stretch(stretch) => self.open(stretch, choices),
            }
        }
    }

    /// Draws the first node of a stretch, which has this attribute.
    pub fn begin(&mut self, id: StretchId, first: Attribute) {
        let stretch = *self.stretch(id);
        let node = self.behind(&stretch, first);
        self.replace(id, To::Node(node));
    }

    /// Draws the first node of a stretch, or decides that there is none.
    fn open(&mut self, id: StretchId, choices: &mut Choices) {
        let stretch = *self.stretch(id);
        let firsts: Vec<Attribute> = stretch.attributes.iter().collect();
        let cases = firsts.len() as u32 + u32::from(stretch.optional);
        match firsts.get(choices.pick(cases) as usize) {
            None => self.close(id),
            Some(first) => self.begin(id, *first),
        }
    }

    /// Draws some node of a stretch that has this attribute, anywhere in it.
    pub fn cut(&mut self, id: StretchId, attribute: Attribute) -> NodeId {
        let stretch = *self.stretch(id);
        let node = self.behind(&stretch, attribute);
        let before = |a: Attribute| !stretch.sorted || a.class <= attribute.class;
        let left = Stretch {
            attributes: stretch.attributes.filter(before),
            optional: true,
            to: To::Node(node),
            ..stretch
        };
        let left = self.add_stretch(left);
        self.replace(id, left);
        node
    }

    /// A node of a stretch and the rest of the stretch behind it.
    fn behind(&mut self, stretch: &Stretch, attribute: Attribute) -> NodeId {
        let after = |a: Attribute| !stretch.sorted || a.class >= attribute.class;
        let rest =
            Stretch { attributes: stretch.attributes.filter(after), optional: true, ..*stretch };
        let link = self.add_stretch(rest);
        let Attribute { class, mark, locked } = attribute;
        let face = Face { link, mark, locked, private: false };
        self.draw(Node { class, values: stretch.values, before: Some(face), now: face })
    }

    /// Makes nodes public that others can reach now.
    pub fn publish(&mut self) {
        let shared = self.shared.iter().copied();
        let roots: Vec<Word> = shared
            .chain(self.ids().filter(|n| !self.node(*n).now.private).map(Word::Node))
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
        self.nodes.iter_mut().for_each(|n| n.before = Some(n.now));
    }

    /// The observed operation is over: what it alone knew is forgotten.
    pub fn forget_me(&mut self) {
        for node in &mut self.nodes {
            node.now.mark = node.now.mark.by_anybody();
            node.now.locked = false;
        }
        for stretch in &mut self.stretches {
            stretch.attributes = stretch.attributes.iter().map(Attribute::of_another).collect();
        }
        for word in &mut self.shared {
            *word = match *word {
                Word::Lock(Holder::Mine) => Word::Lock(Holder::Other),
                other => other.plain(),
            };
        }
    }
}
