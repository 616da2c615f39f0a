//! The views of a certificate, to be found by what they have in common with a state.
//!
//! A view that covers a state agrees with it in the place of its thread, in what is named by the
//! variables and registers that it speaks of, in how the ways from the named nodes join, and in
//! what may lie between them. Only views that do are compared in full ([`covers`]), which alone
//! decides. If no view covers a state, its optional segments are decided one after the other, and
//! both cases must be covered.
//!
//! *Why ways join alike.* Counterparts are different for different nodes, what lies between two of
//! them is accounted for once, and a segment of a view belongs to one node. So if the ways from two
//! named nodes meet in the view, they meet at the counterpart and not before it; and the order of
//! such points on a way is that of their counterparts.
//!
//! What is left out here by mistake would be a reason to reject, never one to accept. It would be
//! unsound to decide fewer than both cases of a segment.

use crate::certificate::Certificate;
use crate::content::Content;
use crate::cover::covers;
use crate::heap_graph::{HeapGraph, Item, Time, To};
use crate::limits::{Left, SPLITS};
use crate::scalar::{Attributes, Class, NodeId, Scalar};
use crate::state::State;
use seriatim_lang::choices::Choices;
use std::collections::HashMap;

/// Where a thread is: views with another place need not be looked at.
type Position = Option<(u32, u32, [Scalar; 3], bool, Option<Scalar>)>;

/// What the named nodes look like, in the order in which the variables and registers name them.
type Outline = Vec<u32>;

/// The views of a certificate, to be found by what they have in common with a state.
pub struct Index<'c> {
    content: Content,
    views: Vec<&'c State>,
    at: HashMap<Position, Vec<Group>>,
}

/// A number of a view may be another one in the state: numbers do not tell views apart, where there
/// are unknown ones.
fn vague(state: &State, scalar: Scalar) -> Scalar {
    match scalar {
        Scalar::Int(_) | Scalar::Own(_) | Scalar::Number(..) if state.numerical => Scalar::Unknown,
        other => other,
    }
}

/// Views that speak of the same registers.
struct Group {
    spoken: Vec<bool>,
    by_outline: HashMap<Outline, Vec<(usize, Vec<Between>)>>,
}

/// What lies behind a named node, up to the next one: how it may look, and whether there is a node
/// for sure.
struct Between {
    attributes: Attributes,
    sure: bool,
}

impl Between {
    /// All of a state whose named nodes are these.
    fn all(state: &State, named: &[NodeId]) -> Vec<Between> {
        named.iter().map(|id| Between::behind(*id, state, named)).collect()
    }

    fn behind(id: NodeId, state: &State, named: &[NodeId]) -> Between {
        let graph = &state.graph;
        let mut between = Between { attributes: Attributes::default(), sure: false };
        let mut to = graph.node(id).now.link;
        // No way is longer than all nodes and segments together.
        for _ in 0..=graph.nodes.len() + graph.segments.len() {
            match to {
                To::Node(id) if !named.contains(&id) => {
                    let node = graph.node(id);
                    between.attributes = between.attributes.with(node.attribute(&node.now));
                    between.sure = true;
                    to = node.now.link;
                }
                To::Segment(id) => {
                    let segment = graph.segment(id);
                    between.attributes = between.attributes.and(segment.attributes);
                    between.sure |= !segment.optional;
                    to = segment.to;
                }
                To::Null | To::Outside | To::Node(_) => break,
            }
        }
        between
    }

    /// Whether a view with this may cover a state with `other` in the same place: named nodes are
    /// counterparts, so that what lies between two of them is covered by what lies between their
    /// counterparts. Saves work only: what it lets through, [`covers`] decides.
    fn may_cover(&self, other: &Between) -> bool {
        self.attributes.covers(other.attributes) && (!self.sure || other.sure)
    }
}

impl<'c> Index<'c> {
    /// An index of views.
    pub fn new(certificate: &'c Certificate) -> Index<'c> {
        let views = certificate.views.iter().map(|(view, _)| view).collect();
        let mut index = Index { content: certificate.content, views, at: HashMap::new() };
        for (number, view) in index.views.iter().enumerate() {
            let spoken: Vec<bool> =
                view.registers().iter().map(|w| *w != Scalar::Unknown).collect();
            let groups = index.at.entry(position(view)).or_default();
            let (outline, nodes) = outline(&index.content, view, &spoken);
            let group = match groups.iter_mut().position(|g| g.spoken == spoken) {
                Some(known) => &mut groups[known],
                None => {
                    groups.push(Group { spoken, by_outline: HashMap::new() });
                    groups.last_mut().expect("just added")
                }
            };
            let between = Between::all(view, &nodes);
            group.by_outline.entry(outline).or_default().push((number, between));
        }
        index
    }

    /// Whether the views cover a state.
    pub fn covers(&self, state: &State) -> bool {
        self.covers_without(state, usize::MAX)
    }

    /// Whether the views but this one cover a state.
    pub fn covers_without(&self, state: &State, missing: usize) -> bool {
        self.covers_within(state, missing, &mut Left::of(SPLITS))
    }

    /// The same, with so many cases to be told apart at most.
    fn covers_within(&self, state: &State, missing: usize, left: &mut Left) -> bool {
        left.take()
            && (self.covering(state).any(|view| view != missing)
                || self.cases(state, &mut |case| self.covers_within(case, missing, left)))
    }

    /// The views without which a state is not covered that all of them cover; none if it is not
    /// covered at all.
    pub fn needed(&self, state: &State) -> Option<Vec<usize>> {
        let mut covering = self.covering(state);
        match (covering.next(), covering.next()) {
            (Some(_), Some(_)) => Some(vec![]),
            (Some(only), None) => {
                let others = self.cases(state, &mut |case| self.covers_without(case, only));
                Some(if others { vec![] } else { vec![only] })
            }
            _ => {
                let mut needed = Vec::new();
                let covered = self.cases(state, &mut |case| {
                    let more = self.needed(case);
                    let covered = more.is_some();
                    needed.extend(more.into_iter().flatten());
                    covered
                });
                covered.then_some(needed)
            }
        }
    }

    /// The views that cover a state, by their numbers.
    pub fn covering(&self, state: &State) -> impl Iterator<Item = usize> {
        let groups = self.at.get(&position(state)).into_iter().flatten();
        let found = groups.filter_map(move |group| {
            let (outline, nodes) = outline(&self.content, state, &group.spoken);
            let views = group.by_outline.get(&outline)?;
            let here = Between::all(state, &nodes);
            Some(views.iter().filter(move |(_, between)| {
                between.iter().zip(&here).all(|(view, here)| view.may_cover(here))
            }))
        });
        let found = found.flatten().map(|(view, _)| *view);
        found.filter(move |view| covers(self.views[*view], state))
    }

    /// Decides the first segment that may be empty: whether there is one, and both cases are as
    /// wanted.
    fn cases(&self, state: &State, wanted: &mut dyn FnMut(&State) -> bool) -> bool {
        let graph = &state.graph;
        let Some(open) = graph.first_optional(state.roots(), Time::Now) else { return false };
        let mut choices = Choices::default();
        loop {
            let mut case = state.clone();
            case.graph.decide(open, &mut choices);
            if !wanted(&case) {
                return false;
            }
            if !choices.advance() {
                return true;
            }
        }
    }
}

fn position(state: &State) -> Position {
    let operation = state.operation.as_ref()?;
    let ghost = &operation.ghost;
    let argument = |i: usize| {
        operation.arguments.get(i).map_or(Scalar::Unknown, |scalar| vague(state, *scalar))
    };
    let arguments = [0, 1, 2].map(argument);
    Some((operation.pc.0, operation.method, arguments, ghost.done, ghost.got))
}

/// The scalars of the shared variables and of the registers that are spoken of.
fn named<'s>(state: &'s State, spoken: &'s [bool]) -> impl Iterator<Item = Scalar> + 's {
    let registers = state.registers().iter().zip(spoken);
    let registers = registers.filter(|(_, spoken)| **spoken).map(|(scalar, _)| *scalar);
    state.graph.shared.iter().chain(&state.own).copied().chain(registers)
}

/// What a state and every view that covers it have in common. A view that is not found because it
/// says too little of the tracked key is only a reason to reject. With the named nodes, in order.
fn outline(content: &Content, state: &State, spoken: &[bool]) -> (Outline, Vec<NodeId>) {
    let graph = &state.graph;
    let mut nodes: Vec<NodeId> = Vec::new();
    let mut outline = Outline::new();
    let mut met: Vec<Scalar> = Vec::new();
    for scalar in named(state, spoken) {
        outline.push(match vague(state, scalar) {
            Scalar::Thread(0) => 1030,
            Scalar::Record(_) | Scalar::Thread(_) => {
                let known = met.iter().position(|w| *w == scalar);
                1031 + known.unwrap_or_else(|| {
                    met.push(scalar);
                    met.len() - 1
                }) as u32
            }
            Scalar::Node(id) => match nodes.iter().position(|n| *n == id) {
                Some(known) => known as u32,
                None => {
                    nodes.push(id);
                    nodes.len() as u32 - 1
                }
            },
            Scalar::Unknown | Scalar::Outside => 1000,
            Scalar::Null => 1001,
            Scalar::Key(class) => 1002 + class as u32,
            Scalar::Value(colour) => 1010 + u32::from(colour),
            Scalar::Lock(holder) => 1020 + holder as u32,
            Scalar::Number(..) => 1000,
            Scalar::Int(number) | Scalar::Own(number) => 2000 + number as u32 % 100_000,
        });
    }
    for id in &nodes {
        let node = graph.node(*id);
        outline.push(node.class as u32 * 2 + u32::from(node.now.mark.is_set()));
    }
    joins(graph, &nodes, &mut outline);
    if let Some(window) = &state.window {
        outline.extend([window.method, window.seen, u32::from(window.mine)]);
    }
    let mut last = 1000;
    for item in graph.walk(graph.shared[content.root], Time::Now).0 {
        let Item::Node(id) = item else { continue };
        let node = graph.node(id);
        last = nodes.iter().position(|n| *n == id).map_or(last, |n| n as u32);
        if node.class == Class::Tracked && (content.counts_marked || !node.now.mark.is_set()) {
            outline.push(last);
        }
    }
    (outline, nodes)
}

/// How the ways from named nodes join. Each way is followed until it ends or meets one that was
/// followed before; of that point, the outline tells on which way it lies, and how many other such
/// points come before it there.
fn joins(graph: &HeapGraph, nodes: &[NodeId], outline: &mut Outline) {
    const NOWHERE: (u32, u32) = (u32::MAX, 0);
    let (drawn, all) = (graph.nodes.len(), graph.nodes.len() + graph.segments.len());
    let mut met = vec![NOWHERE; all];
    let mut points: Vec<(u32, u32)> = Vec::with_capacity(nodes.len());
    for (way, id) in nodes.iter().enumerate() {
        let mut to = To::Node(*id);
        let mut steps = 0;
        points.push(loop {
            let (item, number) = match to {
                To::Node(id) => (Item::Node(id), id.0 as usize),
                To::Segment(id) => (Item::Segment(id), drawn + id.0 as usize),
                To::Null | To::Outside => break NOWHERE,
            };
            if met[number] != NOWHERE {
                break met[number];
            }
            met[number] = (way as u32, steps);
            steps += 1;
            to = graph.behind_item(item, Time::Now);
        });
    }
    for (way, steps) in &points {
        let is_first = |other: usize| !points[..other].contains(&points[other]);
        let before = (0..points.len()).filter(|other| {
            points[*other].0 == *way && points[*other].1 < *steps && is_first(*other)
        });
        outline.extend([*way, before.count() as u32]);
    }
}
