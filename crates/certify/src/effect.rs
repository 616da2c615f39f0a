//! Whether an effect of the certificate describes a step of the observed thread.
//!
//! An effect speaks of the shared state before a step (its nodes, their attributes and links, the
//! shared variables) and of everything in it that the step changes. It describes a step if its
//! places can be given different nodes of the heap graph such that all that it says was true before
//! the step, and the step changed exactly what it says. Locks of nodes do not occur: others know a
//! lock only when they hold it themselves, and then nobody else takes or releases it. What it says
//! of the nodes between two places (`crate::path_constraint`) must be certain before the step as
//! well.
//!
//! It would be unsound to accept an effect that says anything that is not certain in the heap
//! graph.

use crate::certificate::{Behind, Effect, Place, Target};
use crate::heap_graph::{Face, HeapGraph, Item, Node, Time, To};
use crate::limits::{Left, TRIES};
use crate::path_constraint::PathConstraint;
use crate::scalar::{NodeId, Scalar};
use crate::sort::Reference;

/// Whether others can see anything of the step.
pub fn is_visible(graph: &HeapGraph) -> bool {
    let changed = |id: NodeId| is_fresh(graph, id) || is_changed(graph, id);
    graph.shared != graph.shared_before || graph.ids().any(changed)
}

/// Whether a node that only the thread could reach became public.
fn is_fresh(graph: &HeapGraph, id: NodeId) -> bool {
    let node = graph.node(id);
    !node.now.private && node.before.is_none_or(|face| face.private)
}

/// Whether a link, a mark or a value changed that others could see.
fn is_changed(graph: &HeapGraph, id: NodeId) -> bool {
    let node = graph.node(id);
    let differs = |f: &Face| {
        f.link != node.now.link
            || f.mark.is_set() != node.now.mark.is_set()
            || has_other_value(node)
    };
    node.before.is_some_and(|face| !face.private && differs(&face))
}

/// Whether a node that others could see may hold another value than before the step.
fn has_other_value(node: &Node) -> bool {
    node.overwritten.is_some_and(|before| before != node.values)
}

/// Whether the effect describes the step that led to this heap graph.
pub fn describes(effect: &Effect, graph: &HeapGraph) -> bool {
    if !speaks_of(effect, graph) {
        return false;
    }
    let mut search = Search { effect, graph, nodes: Vec::new(), left: Left::of(TRIES) };
    search.place_next()
}

/// Whether one effect describes every step that the other one describes, with the same places.
pub fn is_weaker(weaker: &Effect, other: &Effect) -> bool {
    let target = |a: &Target, b: &Target| *a == Target::Unknown || a == b;
    let place = |(a, b): (&Place, &Place)| {
        a.fresh == b.fresh
            && a.attribute.is_weaker(b.attribute)
            && a.reach == b.reach
            && target(&a.link, &b.link)
            && a.values.covers(b.values)
            && PathConstraint::is_weaker(a.path, b.path)
    };
    let references = weaker.references.iter().zip(&other.references);
    let behind = weaker.behind.iter().zip(&other.behind);
    weaker.places.len() == other.places.len()
        && weaker.places.iter().zip(&other.places).all(place)
        && references.into_iter().all(|(a, b)| target(a, b))
        && behind.into_iter().all(|(a, b)| *a == Behind::Unknown || a == b)
        && (&weaker.scalars, &weaker.equal) == (&other.scalars, &other.equal)
        && (&weaker.links, &weaker.marks) == (&other.links, &other.marks)
        && weaker.values.len() == other.values.len()
        && weaker.values.iter().zip(&other.values).all(|(a, b)| a.0 == b.0 && a.1.covers(b.1))
        && (&weaker.moves, &weaker.stores) == (&other.moves, &other.stores)
}

/// What can be said without knowing which nodes the places are.
fn speaks_of(effect: &Effect, graph: &HeapGraph) -> bool {
    let scalars = effect.scalars.iter().zip(&graph.shared_before);
    let before = scalars.into_iter().all(|(said, is)| said.is_so(*is));
    let behind = effect.behind.iter().zip(&graph.shared_before);
    let behind = behind.into_iter().all(|(said, scalar)| match said {
        Behind::Unknown => true,
        said => *said == behind_of(graph, *scalar),
    });
    let equal =
        |(a, b, said): &(Reference, Reference, bool)| a.equals(*b, &graph.shared_before) == *said;
    let stores = (0..graph.shared.len()).all(|variable| {
        let (was, is) = (graph.shared_before[variable], graph.shared[variable]);
        let said = effect.stores.iter().rev().find(|(v, _)| *v == variable);
        match said {
            // What changes nothing is not written: others would take it for a change.
            Some((_, told)) => told.is_so(is) && was.plain() != is.plain(),
            None => was == is || matches!(is, Scalar::Node(_) | Scalar::Null),
        }
    });
    before && behind && effect.equal.iter().all(equal) && stores
}

/// What lies behind the node of a shared variable before the step, as far as the heap graph tells.
pub fn behind_of(graph: &HeapGraph, scalar: Scalar) -> Behind {
    match scalar {
        Scalar::Node(id) => match graph.link(id, Time::Before) {
            To::Null => Behind::Nothing,
            To::Node(_) => Behind::Something,
            To::Outside => Behind::Unknown,
            To::Segment(segment) => {
                let segment = graph.segment(segment);
                match segment.optional && !matches!(segment.to, To::Node(_)) {
                    true => Behind::Unknown,
                    false => Behind::Something,
                }
            }
        },
        _ => Behind::NoNode,
    }
}

struct Search<'a> {
    effect: &'a Effect,
    graph: &'a HeapGraph,
    nodes: Vec<NodeId>,
    left: Left,
}

impl Search<'_> {
    /// Gives nodes to the places from the first that has none, in all ways.
    fn place_next(&mut self) -> bool {
        if !self.left.take() {
            return false;
        }
        let Some(place) = self.effect.places.get(self.nodes.len()) else { return self.is_right() };
        let fits = |id: &NodeId| !self.nodes.contains(id) && self.fits(place, *id);
        let candidates: Vec<NodeId> = self.graph.ids().filter(fits).collect();
        candidates.into_iter().any(|id| {
            self.nodes.push(id);
            let found = self.place_next();
            self.nodes.pop();
            found
        })
    }

    /// Whether a node has the attributes of a place.
    fn fits(&self, place: &Place, id: NodeId) -> bool {
        let node = self.graph.node(id);
        if place.fresh {
            let attribute = node.attribute(&node.now);
            let fresh = is_fresh(self.graph, id) && place.values.covers(node.values);
            return fresh && place.attribute.is_weaker(attribute);
        }
        let Some(before) = node.before.filter(|face| !face.private) else { return false };
        place.attribute.is_weaker(node.attribute(&before))
            && self.graph.reach(Item::Node(id), Time::Before) == place.reach
    }

    /// Whether all that the effect says is true of the chosen nodes.
    fn is_right(&self) -> bool {
        let (effect, graph) = (self.effect, self.graph);
        let complete = graph
            .ids()
            .all(|id| self.nodes.contains(&id) || !(is_fresh(graph, id) || is_changed(graph, id)));
        let links = effect.places.iter().zip(&self.nodes).all(|(place, id)| {
            let time = if place.fresh { Time::Now } else { Time::Before };
            self.leads(graph.link(*id, time), place.link)
        });
        let references = effect.references.iter().zip(&graph.shared_before);
        let references = references.into_iter().all(|(said, scalar)| match (said, scalar) {
            (Target::Unknown, _) => true,
            (said, Scalar::Node(id)) => self.leads(To::Node(*id), *said),
            (said, scalar) => *scalar == Scalar::Null && *said == Target::Null,
        });
        let mut paths =
            effect.places.iter().enumerate().filter_map(|(p, place)| Some((p, place.path?)));
        let paths = paths.all(|(from, path)| path.is_certain(graph, &self.nodes, from));
        complete && links && references && paths && self.writes()
    }

    /// Whether a link certainly leads where the effect says.
    fn leads(&self, link: To, said: Target) -> bool {
        match (said, link) {
            (Target::Unknown, _) => true,
            (Target::Null, link) => link == To::Null,
            (Target::At(place), link) => link == To::Node(self.nodes[place]),
            (Target::Elsewhere, To::Node(id)) => !self.nodes.contains(&id),
            (Target::Elsewhere, To::Segment(id)) => {
                let segment = self.graph.segment(id);
                !segment.optional || self.leads(segment.to, said)
            }
            (Target::Elsewhere, _) => false,
        }
    }

    /// Whether the step wrote exactly what the effect says.
    fn writes(&self) -> bool {
        let (effect, graph) = (self.effect, self.graph);
        let nodes = effect.places.iter().zip(&self.nodes).enumerate().all(|(place, (said, id))| {
            let node = graph.node(*id);
            let Some(before) = node.before.filter(|_| !said.fresh) else { return true };
            let link = match effect.links.iter().rev().find(|(p, _)| *p == place) {
                Some((_, Target::Null)) => node.now.link == To::Null,
                Some((_, Target::At(to))) => node.now.link == To::Node(self.nodes[*to]),
                Some(_) => false,
                None => node.now.link == before.link,
            };
            let mark = match effect.marks.iter().rev().find(|(p, _)| *p == place) {
                Some((_, mark)) => node.now.mark.is_set() == *mark,
                None => node.now.mark.is_set() == before.mark.is_set(),
            };
            let value = match effect.values.iter().find(|(p, _)| *p == place) {
                Some((_, values)) => values.covers(node.values),
                None => !has_other_value(node),
            };
            link && mark && value
        });
        let moves = (0..graph.shared.len()).all(|variable| {
            let is = graph.shared[variable];
            match effect.moves.iter().rev().find(|(v, _)| v.variable() == variable) {
                Some((_, Target::Null)) => is == Scalar::Null,
                Some((_, Target::At(to))) => is == Scalar::Node(self.nodes[*to]),
                Some(_) => false,
                None => {
                    !matches!(is, Scalar::Node(_) | Scalar::Null)
                        || is == graph.shared_before[variable]
                }
            }
        });
        nodes && moves
    }
}
