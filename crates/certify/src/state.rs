//! One thread and its picture: what a line of a certificate describes, and what a step starts from and leads to.

use crate::number::Numbers;
use crate::picture::{Item, Picture, Stretch, StretchId, Time, To};
use crate::word::{Class, NodeId, RecordId, Word};
use seriatim_lang::steps::Pc;

/// What an operation has seen and done so far.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Ghost {
    /// At some moment since its call the tracked key was a member, or the sequence was empty. If not set: not known.
    pub saw_yes: bool,
    /// At some moment since its call the tracked key was no member, or the sequence was not empty. If not set: not known.
    pub saw_no: bool,
    /// The colours, as bits, that the value of the first node of the sequence had for sure at some moments since its call.
    pub firsts: u8,
    /// Whether it has changed the content.
    pub done: bool,
    /// What it must return because of that; nothing in particular if none.
    pub got: Option<Word>,
}

/// An operation that runs.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Operation {
    /// Where its thread rests.
    pub pc: Pc,
    /// Its method.
    pub method: u32,
    /// Its arguments.
    pub arguments: Vec<Word>,
    /// What it has seen and done.
    pub ghost: Ghost,
    /// Its registers.
    pub registers: Vec<Word>,
}

impl Operation {
    /// The argument of an operation that has one.
    pub fn argument(&self) -> Word {
        self.arguments.first().copied().unwrap_or(Word::Unknown)
    }
}

/// A record: a struct without links, whose fields do not change once others know it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Record {
    /// Its fields; nothing is known of one that is unknown.
    pub fields: Vec<Word>,
    /// Whether only the observed thread knows it; if not set, others may find it.
    pub private: bool,
    /// Whether only the observed thread knew it before the step, or nobody.
    pub was_private: bool,
}

/// What is known about the operation whose record is installed in a cell. All of it is certain: it is a function of the past.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Window {
    /// Whether it is the operation of the observed thread.
    pub mine: bool,
    /// Its method.
    pub method: u32,
    /// Its arguments.
    pub arguments: Vec<Word>,
    /// The content of the cell when the record was installed.
    pub base: Word,
    /// The values that the control variable has had since, as bits.
    pub seen: u32,
}

/// A thread and its picture.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct State {
    /// The operation of the thread, if it is in one.
    pub operation: Option<Operation>,
    /// What it can reach.
    pub picture: Picture,
    /// The records that it names.
    pub records: Vec<Record>,
    /// Its own elements of the arrays that have one for each thread.
    pub own: Vec<Word>,
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
        self.picture.settle();
        self.records.iter_mut().for_each(|r| r.was_private = r.private);
    }

    /// The registers.
    pub fn registers(&self) -> &[Word] {
        self.operation.as_ref().map_or(&[], |o| &o.registers)
    }

    /// The arguments of the operation.
    pub fn arguments(&self) -> &[Word] {
        self.operation.as_ref().map_or(&[], |o| &o.arguments)
    }

    /// Where walks begin now: the shared variables and the registers.
    pub fn roots(&self) -> impl Iterator<Item = Word> {
        self.picture.shared.iter().chain(self.registers()).copied()
    }

    /// Draws nodes that nobody names any more back into stretches, and numbers everything anew: two states that look
    /// the same become equal. A node is drawn back only if it was there before the step and has not changed,
    /// if exactly one link leads to it, and if its key is not the tracked one. The state describes the same or more afterwards.
    pub fn folded(&self) -> State {
        let mut state = self.clone();
        while state.fold_one() {}
        state.renumbered()
    }

    fn fold_one(&mut self) -> bool {
        let named = |id: NodeId| {
            let before = &self.picture.shared_before;
            self.roots().chain(before.iter().copied()).any(|w| w == Word::Node(id))
        };
        let foldable = |id: &NodeId| {
            let node = self.picture.node(*id);
            let plain = node.class != Class::Tracked && !node.now.private;
            node.before == Some(node.now) && plain && !named(*id)
        };
        let found = self
            .picture
            .ids()
            .filter(foldable)
            .find_map(|id| self.only_way_in(id).map(|from| (id, from)));
        let Some((id, into)) = found else { return false };
        self.fold(id, into);
        true
    }

    /// What leads to a node, if it is one link or stretch only, before the step and now.
    fn only_way_in(&self, id: NodeId) -> Option<Item> {
        let picture = &self.picture;
        let target = To::Node(id);
        let nodes = picture.ids().filter(|n| *n != id).filter(|n| {
            picture.link(*n, Time::Now) == target || picture.link(*n, Time::Before) == target
        });
        let stretches = (0..picture.stretches.len() as u32).map(StretchId);
        let used = stretches.filter(|s| picture.stretch(*s).to == target).filter(|s| {
            let into = To::Stretch(*s);
            picture.ids().any(|n| {
                picture.link(n, Time::Now) == into || picture.link(n, Time::Before) == into
            })
        });
        let mut ways = nodes.map(Item::Node).chain(used.map(Item::Stretch));
        match (ways.next(), ways.next()) {
            (Some(Item::Node(n)), None) => {
                let same = picture.link(n, Time::Now) == picture.link(n, Time::Before);
                same.then_some(Item::Node(n))
            }
            (only, None) => only,
            _ => None,
        }
    }

    fn fold(&mut self, id: NodeId, into: Item) {
        let node = self.picture.node(id).clone();
        let attribute = node.attribute(&node.now);
        let mut stretch = Stretch {
            attributes: [attribute].into_iter().collect(),
            values: node.values,
            optional: false,
            sorted: true,
            to: node.now.link,
        };
        if let To::Stretch(behind) = stretch.to {
            let behind = *self.picture.stretch(behind);
            stretch = stretch.followed_by(&behind);
        }
        match into {
            Item::Stretch(ahead) => {
                let joined = self.picture.stretch(ahead).followed_by(&stretch);
                self.picture.stretches[ahead.0 as usize] = joined;
            }
            Item::Node(ahead) => {
                self.picture.stretches.push(stretch);
                let link = To::Stretch(StretchId(self.picture.stretches.len() as u32 - 1));
                let node = self.picture.node_mut(ahead);
                node.now.link = link;
                node.before.iter_mut().for_each(|face| face.link = link);
            }
        }
        // Nothing leads to the node any more, and renumbering drops it; until then it must not be found again.
        let node = self.picture.node_mut(id);
        node.now.link = To::Null;
        node.now.private = true;
        node.before = Some(node.now);
    }

    /// Numbers everything anew, in the order in which it is reached, and drops what is not: two states that differ in numbers only
    /// become equal.
    pub fn renumbered(&self) -> State {
        let mut order: Vec<Item> = Vec::new();
        let mut roots: Vec<(Word, Time)> =
            self.picture.shared_before.iter().map(|w| (*w, Time::Before)).collect();
        roots.extend(self.roots().map(|w| (w, Time::Now)));
        for (root, time) in roots {
            for item in self.picture.walk(root, time).0 {
                if !order.contains(&item) {
                    order.push(item);
                }
            }
        }
        let nodes: Vec<NodeId> = order
            .iter()
            .filter_map(|i| if let Item::Node(id) = i { Some(*id) } else { None })
            .collect();
        let stretches: Vec<StretchId> = order
            .iter()
            .filter_map(|i| if let Item::Stretch(id) = i { Some(*id) } else { None })
            .collect();
        self.selected(&nodes, &stretches)
    }

    fn selected(&self, nodes: &[NodeId], stretches: &[StretchId]) -> State {
        let place = |id: NodeId| nodes.iter().position(|n| *n == id).map(|i| NodeId(i as u32));
        let word = |w: &Word| match w {
            Word::Node(id) => place(*id).map_or(Word::Unknown, Word::Node),
            other => *other,
        };
        let to = |t: To| match t {
            To::Node(id) => place(id).map_or(To::Outside, To::Node),
            To::Stretch(id) => stretches
                .iter()
                .position(|s| *s == id)
                .map_or(To::Outside, |i| To::Stretch(StretchId(i as u32))),
            other => other,
        };
        let mut picture = Picture {
            nodes: nodes.iter().map(|n| self.picture.node(*n).clone()).collect(),
            stretches: stretches.iter().map(|s| *self.picture.stretch(*s)).collect(),
            shared_before: self.picture.shared_before.iter().map(word).collect(),
            shared: self.picture.shared.iter().map(word).collect(),
        };
        for node in &mut picture.nodes {
            let faces = node.before.iter_mut().chain([&mut node.now]);
            faces.for_each(|face| face.link = to(face.link));
        }
        picture.stretches.iter_mut().for_each(|s| s.to = to(s.to));
        let operation = self.operation.clone().map(|mut operation| {
            operation.registers = operation.registers.iter().map(word).collect();
            operation
        });
        let (records, own) = (self.records.clone(), self.own.clone());
        let (window, numbers) = (self.window.clone(), self.numbers.clone());
        let numerical = self.numerical;
        State { operation, picture, records, own, window, numbers, numerical }
    }
}

impl Stretch {
    /// This stretch with another one behind it, as one.
    fn followed_by(&self, behind: &Stretch) -> Stretch {
        let highest = self.attributes.iter().map(|a| a.class).max();
        let lowest = behind.attributes.iter().map(|a| a.class).min();
        Stretch {
            attributes: self.attributes.and(behind.attributes),
            values: crate::word::Values(self.values.0 | behind.values.0),
            optional: self.optional && behind.optional,
            sorted: self.sorted && behind.sorted && highest <= lowest,
            to: behind.to,
        }
    }
}
