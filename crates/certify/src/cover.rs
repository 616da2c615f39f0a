//! Inclusion: is everything that a state describes described by one of the views?
//!
//! A view covers a state if its nodes can be given different nodes of the state, such that shared
//! variables, registers and links agree, every node of the view says no more than its counterpart,
//! and what lies between two counterparts is described by the segment between them. A register of
//! which the view says nothing may hold anything, and so may a field of a record. Different records
//! and threads of the view have different counterparts; what is said of an installed record is the
//! same. If no view covers a state, its optional segments are decided one after the other, and both
//! cases must be covered.
//!
//! It would be unsound to let a view claim anything (a bit of history, privacy, a lock) that the
//! state does not, or to account for one node twice.

use crate::certificate::Certificate;
use crate::content::Content;
use crate::heap_graph::{Item, Segment, Time, To};
use crate::limits::{Left, SPLITS, TRIES};
use crate::number::Translation;
use crate::scalar::{Attributes, Class, NodeId, RecordId, Scalar};
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
        let behind = graph.walk(Scalar::Node(*id), Time::Now).0;
        let next = behind.iter().skip(1).find_map(|item| match item {
            Item::Node(n) => nodes.iter().position(|m| m == n),
            Item::Segment(_) => None,
        });
        outline.push(next.map_or(1000, |n| n as u32));
    }
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

/// Whether one view covers a state.
pub fn covers(view: &State, state: &State) -> bool {
    let claims = match (&view.operation, &state.operation) {
        (None, None) => true,
        (Some(v), Some(s)) => {
            (!v.ghost.saw_yes || s.ghost.saw_yes)
                && (!v.ghost.saw_no || s.ghost.saw_no)
                && v.ghost.firsts & !s.ghost.firsts == 0
                && position(view) == position(state)
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
        image: vec![None; view.graph.nodes.len()],
        records: vec![],
        threads: vec![],
        bases: Translation::default(),
        taken: Vec::with_capacity(8),
        todo: Vec::with_capacity(8),
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
    image: Vec<Option<NodeId>>,
    /// Records that are counterparts, and threads.
    records: Vec<(RecordId, RecordId)>,
    threads: Vec<(u32, u32)>,
    bases: Translation,
    /// What of the state is accounted for.
    taken: Vec<Item>,
    /// Nodes of the view whose links are still to be compared.
    todo: Vec<NodeId>,
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
            && !self.taken.contains(&Item::Node(state));
        if fits {
            self.image[view.0 as usize] = Some(state);
            self.taken.push(Item::Node(state));
            self.todo.push(view);
        }
        fits
    }

    /// Compares all links that are left.
    fn complete(mut self, left: &mut Left) -> bool {
        while let Some(node) = self.todo.pop() {
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
                    let mut routes = self.routes(&segment, here);
                    match routes.len() {
                        0 => return false,
                        1 => {
                            let (route, stop) = routes.remove(0);
                            if !self.take(route, segment.to, stop) {
                                return false;
                            }
                        }
                        _ => {
                            return routes.into_iter().any(|(route, stop)| {
                                let mut one = self.clone();
                                left.take()
                                    && one.take(route, segment.to, stop)
                                    && one.complete(left)
                            });
                        }
                    }
                }
            }
        }
        true
    }

    fn take(&mut self, route: Vec<Item>, to: To, stop: To) -> bool {
        self.taken.extend(route);
        match (to, stop) {
            (To::Node(view), To::Node(state)) => self.pair(view, state),
            (to, stop) => to == stop,
        }
    }

    /// How far the state can go along its links within a segment of the view, with what it passes.
    fn routes(&self, segment: &Segment, from: To) -> Vec<(Vec<Item>, To)> {
        let mut routes = Vec::new();
        let mut passed: Vec<Item> = Vec::new();
        let mut at = from;
        let mut some = segment.optional;
        let mut floor = Class::MinusInf;
        loop {
            let ends = match (segment.to, at) {
                (To::Null, at) => at == To::Null,
                (To::Node(view), To::Node(id)) => match self.image[view.0 as usize] {
                    Some(image) => image == id,
                    None => !self.taken.contains(&at_item(at).expect("a node")),
                },
                _ => false,
            };
            if ends && some {
                routes.push((passed.clone(), at));
            }
            let Some(item) = at_item(at) else { return routes };
            if self.taken.contains(&item) || passed.contains(&item) {
                return routes;
            }
            let Some((next, sure)) = self.passes(segment, item, &mut floor) else { return routes };
            some |= sure;
            passed.push(item);
            at = next;
        }
    }

    /// What comes behind something that the segment describes, and whether it holds a node for
    /// sure.
    fn passes(&self, segment: &Segment, item: Item, floor: &mut Class) -> Option<(To, bool)> {
        let described = match item {
            Item::Node(id) => {
                let node = self.state.graph.node(id);
                let link = node.now.link;
                Segment {
                    attributes: [node.attribute(&node.now)].into_iter().collect(),
                    values: node.values,
                    optional: false,
                    sorted: true,
                    to: link,
                }
            }
            Item::Segment(id) => *self.state.graph.segment(id),
        };
        let lowest = described.attributes.iter().map(|a| a.class).min()?;
        let highest = described.attributes.iter().map(|a| a.class).max()?;
        let in_order = lowest >= *floor && (described.sorted || lowest == highest);
        let fits = segment.attributes.covers(described.attributes)
            && segment.values.covers(described.values)
            && (!segment.sorted || in_order);
        *floor = highest;
        fits.then_some((described.to, !described.optional))
    }
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
