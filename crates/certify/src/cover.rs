//! Inclusion: is everything that a state describes described by one of the views?
//!
//! A view covers a state if its nodes can be given different nodes of the state, such that shared
//! variables, registers and links agree, every node of the view says no more than its counterpart,
//! and what lies between two counterparts is described by the segment between them. A register of
//! which the view says nothing may hold anything, and so may a field of a record. Different records
//! and threads of the view have different counterparts; what is said of an installed record is the
//! same.
//!
//! It would be unsound to let a view claim anything (a bit of history, privacy, a lock) that the
//! state does not, or to account for one node twice.

use crate::heap_graph::{Item, Segment, SegmentId, Time, To};
use crate::limits::{Left, NODES, TRIES};
use crate::number::Translation;
use crate::scalar::{Attributes, Class, NodeId, RecordId, Scalar};
use crate::state::{Operation, State};

/// Whether one view covers a state.
pub fn covers(view: &State, state: &State) -> bool {
    if view.graph.nodes.len() > NODES {
        return false;
    }
    let claims = match (&view.operation, &state.operation) {
        (None, None) => true,
        (Some(v), Some(s)) => {
            (!v.ghost.saw_yes || s.ghost.saw_yes)
                && (!v.ghost.saw_no || s.ghost.saw_no)
                && v.ghost.firsts & !s.ghost.firsts == 0
                && are_in_one_place(v, s)
        }
        _ => false,
    };
    if !claims {
        return false;
    }
    if view.window != state.window {
        return false;
    }
    let mut matching = Matching {
        view,
        state,
        image: [None; NODES],
        records: vec![],
        threads: vec![],
        bases: Translation::default(),
        taken: Taken::default(),
        todo: [NodeId(0); NODES],
        left: 0,
    };
    let mut left = Left::of(TRIES);
    let registers = view.registers().iter().zip(state.registers());
    let registers = registers.filter(|(v, _)| **v != Scalar::Unknown);
    let shared = view.graph.shared.iter().zip(&state.graph.shared);
    let own = view.own.iter().zip(&state.own);
    let arguments = view.arguments().iter().zip(state.arguments());
    let mut scalars = shared.chain(own).chain(registers).chain(arguments);
    scalars.all(|(v, s)| matching.scalar(*v, *s))
        && matching.bases.describes(&view.numbers, &state.numbers)
        && matching.complete(&mut left)
}

/// Counterparts that were found so far.
#[derive(Clone)]
struct Matching<'a> {
    view: &'a State,
    state: &'a State,
    image: [Option<NodeId>; NODES],
    /// Records that are counterparts, and threads.
    records: Vec<(RecordId, RecordId)>,
    threads: Vec<(u32, u32)>,
    bases: Translation,
    /// What of the state is accounted for.
    taken: Taken,
    /// Nodes of the view whose links are still to be compared: each is among them once.
    todo: [NodeId; NODES],
    left: usize,
}

/// A set of nodes and segments: those with small numbers as bits.
#[derive(Clone, Default)]
struct Taken {
    nodes: u64,
    segments: u64,
    others: Vec<Item>,
}

impl Taken {
    fn contains(&self, item: Item) -> bool {
        match item {
            Item::Node(NodeId(id)) if id < 64 => self.nodes >> id & 1 == 1,
            Item::Segment(SegmentId(id)) if id < 64 => self.segments >> id & 1 == 1,
            other => self.others.contains(&other),
        }
    }

    /// Adds something; whether it was not there.
    fn insert(&mut self, item: Item) -> bool {
        let is_new = !self.contains(item);
        match item {
            Item::Node(NodeId(id)) if id < 64 => self.nodes |= 1 << id,
            Item::Segment(SegmentId(id)) if id < 64 => self.segments |= 1 << id,
            other => self.others.push(other),
        }
        is_new
    }
}

/// A way through a segment of the view: how many nodes and segments of the state it passes, and
/// where it ends.
#[derive(Clone, Copy)]
struct Route {
    length: usize,
    stop: To,
}

impl Matching<'_> {
    /// Whether a scalar of the view says no more than one of the state.
    fn scalar(&mut self, view: Scalar, state: Scalar) -> bool {
        match (view, state) {
            (Scalar::Node(v), Scalar::Node(s)) => self.pair(v, s),
            (Scalar::Record(v), Scalar::Record(s)) => self.pair_records(v, s),
            (Scalar::Number(base, offset), s) => self.bases.pair(base, offset, s.plain()),
            // A view that says nothing of the last changer says less.
            (Scalar::Int(v), s) => s.plain() == Scalar::Int(v),
            (Scalar::Thread(0), s) => s == Scalar::Thread(0),
            (Scalar::Thread(v), Scalar::Thread(s)) => {
                s != 0 && both_new(&mut self.threads, v, s).is_ok()
            }
            (v, s) => v == s,
        }
    }

    fn pair_records(&mut self, view: RecordId, state: RecordId) -> bool {
        match both_new(&mut self.records, view, state) {
            Err(()) => return false,
            Ok(false) => return true,
            Ok(true) => {}
        }
        let (v, s) = (self.view.record(view), self.state.record(state));
        let fields = v.fields.iter().zip(&s.fields);
        // Exactly: from a record that may be private or not, nobody could tell when it is
        // published.
        v.private == s.private
            && v.fields.len() == s.fields.len()
            && fields.into_iter().all(|(v, s)| *v == Scalar::Unknown || self.scalar(*v, *s))
    }

    /// Makes two nodes counterparts, if they can be.
    fn pair(&mut self, view: NodeId, state: NodeId) -> bool {
        if let Some(known) = self.image[view.0 as usize] {
            return known == state;
        }
        let (v, s) = (self.view.graph.node(view), self.state.graph.node(state));
        let fits = v.attribute(&v.now).is_weaker(s.attribute(&s.now))
            && (!v.now.private || s.now.private)
            && v.values.covers(s.values)
            && self.taken.insert(Item::Node(state));
        if fits {
            self.image[view.0 as usize] = Some(state);
            self.todo[self.left] = view;
            self.left += 1;
        }
        fits
    }

    /// Compares all links that are left.
    fn complete(&mut self, tries: &mut Left) -> bool {
        while self.left > 0 {
            self.left -= 1;
            let node = self.todo[self.left];
            let Some(image) = self.image[node.0 as usize] else { return false };
            let here = self.state.graph.node(image).now.link;
            match self.view.graph.node(node).now.link {
                To::Outside => return false,
                To::Null if here == To::Null => {}
                To::Null => return false,
                To::Node(next) => match here {
                    To::Node(id) if self.pair(next, id) => {}
                    _ => return false,
                },
                To::Segment(id) => {
                    let segment = *self.view.graph.segment(id);
                    let (first, others) = self.routes(&segment, here);
                    let Some(first) = first else { return false };
                    if !others.is_empty() {
                        return [first].into_iter().chain(others).any(|route| {
                            let mut one = self.clone();
                            tries.take() && one.take(here, route, segment.to) && one.complete(tries)
                        });
                    }
                    if !self.take(here, first, segment.to) {
                        return false;
                    }
                }
            }
        }
        true
    }

    /// Accounts for what a route passes, none of it for the second time, and pairs its ends.
    fn take(&mut self, from: To, route: Route, to: To) -> bool {
        let mut at = from;
        for _ in 0..route.length {
            let Some(item) = at_item(at) else { return false };
            if !self.taken.insert(item) {
                return false;
            }
            at = self.state.graph.behind_item(item, Time::Now);
        }
        match (to, route.stop) {
            (To::Node(view), To::Node(state)) => self.pair(view, state),
            (to, stop) => to == stop,
        }
    }

    /// How far the state can go along its links within a segment of the view: the shortest route,
    /// and the others.
    fn routes(&self, segment: &Segment, from: To) -> (Option<Route>, Vec<Route>) {
        let (mut first, mut others) = (None, Vec::new());
        let mut at = from;
        let mut some = segment.optional;
        let mut floor = Class::MinusInf;
        // No way is longer than all nodes and segments together.
        for length in 0..=self.state.graph.nodes.len() + self.state.graph.segments.len() {
            let item = at_item(at);
            let ends = match (segment.to, at) {
                (To::Null, at) => at == To::Null,
                (To::Node(view), To::Node(id)) => match self.image[view.0 as usize] {
                    Some(image) => image == id,
                    None => !self.taken.contains(Item::Node(id)),
                },
                _ => false,
            };
            if ends && some {
                let route = Route { length, stop: at };
                match first {
                    None => first = Some(route),
                    Some(_) => others.push(route),
                }
            }
            let Some(item) = item.filter(|item| !self.taken.contains(*item)) else { break };
            let Some((next, sure)) = self.passes(segment, item, &mut floor) else { break };
            some |= sure;
            at = next;
        }
        (first, others)
    }

    /// What comes behind something that the segment describes, and whether it holds a node for
    /// sure.
    fn passes(&self, segment: &Segment, item: Item, floor: &mut Class) -> Option<(To, bool)> {
        let described = match item {
            Item::Node(id) => {
                let node = self.state.graph.node(id);
                let link = node.now.link;
                Segment {
                    attributes: Attributes::default().with(node.attribute(&node.now)),
                    values: node.values,
                    optional: false,
                    sorted: true,
                    to: link,
                }
            }
            Item::Segment(id) => *self.state.graph.segment(id),
        };
        let (lowest, highest) = described.attributes.classes()?;
        let in_order = lowest >= *floor && (described.sorted || lowest == highest);
        let fits = segment.attributes.covers(described.attributes)
            && segment.values.covers(described.values)
            && (!segment.sorted || in_order);
        *floor = highest;
        fits.then_some((described.to, !described.optional))
    }
}

/// Whether two operations are of one method with the same arguments, rest at the same position, and
/// have taken effect alike. Unknown numbers are left to their translation.
fn are_in_one_place(view: &Operation, state: &Operation) -> bool {
    let is_number =
        |scalar: &Scalar| matches!(scalar, Scalar::Int(_) | Scalar::Own(_) | Scalar::Number(..));
    let mut arguments = view.arguments.iter().zip(&state.arguments);
    (view.pc, view.method) == (state.pc, state.method)
        && (view.ghost.done, view.ghost.got) == (state.ghost.done, state.ghost.got)
        && view.arguments.len() == state.arguments.len()
        && arguments.all(|(v, s)| v == s || is_number(v) && is_number(s))
}

/// Makes two things counterparts; whether they were not before. An error if one of them has another
/// counterpart.
fn both_new<T: Copy + PartialEq>(pairs: &mut Vec<(T, T)>, view: T, state: T) -> Result<bool, ()> {
    match pairs.iter().find(|(v, s)| *v == view || *s == state) {
        Some(known) if *known == (view, state) => Ok(false),
        Some(_) => Err(()),
        None => {
            pairs.push((view, state));
            Ok(true)
        }
    }
}

fn at_item(to: To) -> Option<Item> {
    match to {
        To::Node(id) => Some(Item::Node(id)),
        To::Segment(id) => Some(Item::Segment(id)),
        To::Null | To::Outside => None,
    }
}
