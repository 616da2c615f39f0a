//! One thread and its heap graph: what a line of a certificate describes, and what a step starts
//! from and leads to.

use crate::heap_graph::{HeapGraph, Item, Segment, SegmentId, Time, To};
use crate::number::Numbers;
use crate::scalar::{Class, NodeId, RecordId, Scalar};
use seriatim_lang::steps::Pc;

/// What an operation has seen and done so far.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Ghost {
    /// At some moment since its call the tracked key was a member, or the sequence was empty. If
    /// not set: not known.
    pub saw_yes: bool,
    /// At some moment since its call the tracked key was no member, or the sequence was not empty.
    /// If not set: not known.
    pub saw_no: bool,
    /// The colours, as bits, that the value of the first node of the sequence had for sure at some
    /// moments since its call.
    pub firsts: u8,
    /// Whether it has changed the content.
    pub done: bool,
    /// What it must return because of that; nothing in particular if none.
    pub got: Option<Scalar>,
}

/// An operation that runs.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Operation {
    /// Where its thread rests.
    pub pc: Pc,
    /// Its method.
    pub method: u32,
    /// Its arguments.
    pub arguments: Vec<Scalar>,
    /// What it has seen and done.
    pub ghost: Ghost,
    /// Its registers.
    pub registers: Vec<Scalar>,
}

impl Operation {
    /// The argument of an operation that has one.
    pub fn argument(&self) -> Scalar {
        self.arguments.first().copied().unwrap_or(Scalar::Unknown)
    }
}

/// A record: a struct without links, whose fields do not change once others know it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Record {
    /// Its fields; nothing is known of one that is unknown.
    pub fields: Vec<Scalar>,
    /// Whether only the observed thread knows it; if not set, others may find it.
    pub private: bool,
    /// Whether only the observed thread knew it before the step, or nobody.
    pub was_private: bool,
}

/// What is known about the operation whose record is installed in a cell. All of it is certain: it
/// is a function of the past.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Window {
    /// Whether it is the operation of the observed thread.
    pub mine: bool,
    /// Its method.
    pub method: u32,
    /// Its arguments.
    pub arguments: Vec<Scalar>,
    /// The content of the cell when the record was installed.
    pub base: Scalar,
    /// The values that the control variable has had since, as bits.
    pub seen: u32,
}

/// A thread and its heap graph.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct State {
    /// The operation of the thread, if it is in one.
    pub operation: Option<Operation>,
    /// What it can reach.
    pub graph: HeapGraph,
    /// The records that it names.
    pub records: Vec<Record>,
    /// Its own elements of the arrays that have one for each thread.
    pub own: Vec<Scalar>,
    /// The operation whose record is installed in the cell.
    pub window: Option<Window>,
    /// What is known about numbers, where the content is one.
    pub numbers: Numbers,
    /// Whether the content is one.
    pub numerical: bool,
}

impl State {
    /// A record.
    pub fn record(&self, id: RecordId) -> &Record {
        &self.records[id.0 as usize]
    }

    /// The step is over: what is now becomes what was before.
    pub fn settle(&mut self) {
        self.graph.settle();
        self.records.iter_mut().for_each(|r| r.was_private = r.private);
    }

    /// The registers.
    pub fn registers(&self) -> &[Scalar] {
        self.operation.as_ref().map_or(&[], |o| &o.registers)
    }

    /// The arguments of the operation.
    pub fn arguments(&self) -> &[Scalar] {
        self.operation.as_ref().map_or(&[], |o| &o.arguments)
    }

    /// Where walks begin now: the shared variables and the registers.
    pub fn roots(&self) -> impl Iterator<Item = Scalar> {
        self.graph.shared.iter().chain(self.registers()).copied()
    }

    /// Draws nodes that nobody names any more back into segments, and numbers everything anew: two
    /// states that look the same become equal. A node is drawn back only if it was there before the
    /// step and has not changed, if exactly one link leads to it, and if its key is not the tracked
    /// one. The state describes the same or more afterwards.
    pub fn folded(&self) -> State {
        let mut state = self.clone();
        while state.fold_one() {}
        state.renumbered()
    }

    fn fold_one(&mut self) -> bool {
        let named = |id: NodeId| {
            let before = &self.graph.shared_before;
            self.roots().chain(before.iter().copied()).any(|w| w == Scalar::Node(id))
        };
        let foldable = |id: &NodeId| {
            let node = self.graph.node(*id);
            let plain = node.class != Class::Tracked && !node.now.private;
            let same = node.before == Some(node.now) && node.overwritten.is_none();
            same && plain && !named(*id)
        };
        let found = self
            .graph
            .ids()
            .filter(foldable)
            .find_map(|id| self.only_way_in(id).map(|from| (id, from)));
        let Some((id, into)) = found else { return false };
        self.fold(id, into);
        true
    }

    /// What leads to a node, if it is one link or segment only, before the step and now.
    fn only_way_in(&self, id: NodeId) -> Option<Item> {
        let graph = &self.graph;
        let target = To::Node(id);
        let nodes = graph.ids().filter(|n| *n != id).filter(|n| {
            graph.link(*n, Time::Now) == target || graph.link(*n, Time::Before) == target
        });
        let segments = (0..graph.segments.len() as u32).map(SegmentId);
        let used = segments.filter(|s| graph.segment(*s).to == target).filter(|s| {
            let into = To::Segment(*s);
            graph
                .ids()
                .any(|n| graph.link(n, Time::Now) == into || graph.link(n, Time::Before) == into)
        });
        let mut ways = nodes.map(Item::Node).chain(used.map(Item::Segment));
        match (ways.next(), ways.next()) {
            (Some(Item::Node(n)), None) => {
                let same = graph.link(n, Time::Now) == graph.link(n, Time::Before);
                same.then_some(Item::Node(n))
            }
            (only, None) => only,
            _ => None,
        }
    }

    fn fold(&mut self, id: NodeId, into: Item) {
        let node = self.graph.node(id).clone();
        let attribute = node.attribute(&node.now);
        let mut segment = Segment {
            attributes: [attribute].into_iter().collect(),
            values: node.values,
            optional: false,
            sorted: true,
            to: node.now.link,
        };
        if let To::Segment(behind) = segment.to {
            let behind = *self.graph.segment(behind);
            segment = segment.followed_by(&behind);
        }
        match into {
            Item::Segment(ahead) => {
                let joined = self.graph.segment(ahead).followed_by(&segment);
                self.graph.segments[ahead.0 as usize] = joined;
            }
            Item::Node(ahead) => {
                self.graph.segments.push(segment);
                let link = To::Segment(SegmentId(self.graph.segments.len() as u32 - 1));
                let node = self.graph.node_mut(ahead);
                node.now.link = link;
                node.before.iter_mut().for_each(|face| face.link = link);
            }
        }
        // Nothing leads to the node any more, and renumbering drops it; until then it must not be
        // found again.
        let node = self.graph.node_mut(id);
        node.now.link = To::Null;
        node.now.private = true;
        node.before = Some(node.now);
    }

    /// Numbers everything anew, in the order in which it is reached, and drops what is not: two
    /// states that differ in numbers only become equal.
    pub fn renumbered(&self) -> State {
        let mut order: Vec<Item> = Vec::new();
        let mut roots: Vec<(Scalar, Time)> =
            self.graph.shared_before.iter().map(|w| (*w, Time::Before)).collect();
        roots.extend(self.roots().map(|w| (w, Time::Now)));
        for (root, time) in roots {
            for item in self.graph.walk(root, time).0 {
                if !order.contains(&item) {
                    order.push(item);
                }
            }
        }
        let nodes: Vec<NodeId> = order
            .iter()
            .filter_map(|i| if let Item::Node(id) = i { Some(*id) } else { None })
            .collect();
        let segments: Vec<SegmentId> = order
            .iter()
            .filter_map(|i| if let Item::Segment(id) = i { Some(*id) } else { None })
            .collect();
        self.selected(&nodes, &segments)
    }

    fn selected(&self, nodes: &[NodeId], segments: &[SegmentId]) -> State {
        let place = |id: NodeId| nodes.iter().position(|n| *n == id).map(|i| NodeId(i as u32));
        let scalar = |w: &Scalar| match w {
            Scalar::Node(id) => place(*id).map_or(Scalar::Unknown, Scalar::Node),
            other => *other,
        };
        let to = |t: To| match t {
            To::Node(id) => place(id).map_or(To::Outside, To::Node),
            To::Segment(id) => segments
                .iter()
                .position(|s| *s == id)
                .map_or(To::Outside, |i| To::Segment(SegmentId(i as u32))),
            other => other,
        };
        let mut graph = HeapGraph {
            nodes: nodes.iter().map(|n| self.graph.node(*n).clone()).collect(),
            segments: segments.iter().map(|s| *self.graph.segment(*s)).collect(),
            shared_before: self.graph.shared_before.iter().map(scalar).collect(),
            shared: self.graph.shared.iter().map(scalar).collect(),
        };
        for node in &mut graph.nodes {
            let faces = node.before.iter_mut().chain([&mut node.now]);
            faces.for_each(|face| face.link = to(face.link));
        }
        graph.segments.iter_mut().for_each(|s| s.to = to(s.to));
        let operation = self.operation.clone().map(|mut operation| {
            operation.registers = operation.registers.iter().map(scalar).collect();
            operation
        });
        let (records, own) = (self.records.clone(), self.own.clone());
        let (window, numbers) = (self.window.clone(), self.numbers.clone());
        let numerical = self.numerical;
        State { operation, graph, records, own, window, numbers, numerical }
    }
}

impl Segment {
    /// This segment with another one behind it, as one.
    fn followed_by(&self, behind: &Segment) -> Segment {
        let highest = self.attributes.iter().map(|a| a.class).max();
        let lowest = behind.attributes.iter().map(|a| a.class).min();
        Segment {
            attributes: self.attributes.and(behind.attributes),
            values: crate::scalar::Values(self.values.0 | behind.values.0),
            optional: self.optional && behind.optional,
            sorted: self.sorted && behind.sorted && highest <= lowest,
            to: behind.to,
        }
    }
}
