//! What an effect of another thread does to a view, in all ways in which it can fit.
//!
//! Each place of the effect is a node that the view draws, or one in a segment, or one that the
//! observed thread cannot reach. The last is possible only if no shared variable leads to the node;
//! a fresh node is always of that kind. The rest follows: what the effect says must be possible in
//! the view, what it says of the nodes between two places included ([`crate::path_constraint`]);
//! then everything is written as it says. If a node that the view does not know becomes reachable
//! by that, unless it is fresh, the effect is not accepted.
//!
//! Places are looked for where they can be, not everywhere: a node or segment whose link cannot
//! lead where the effect says is not tried ([`Fit::may_link`]). Links are only ever refined while
//! places are found, so that what is not possible then is not possible in the end.
//!
//! It would be unsound to leave out a way to fit, or to refuse one because of something that is not
//! certain.

use crate::certificate::{Behind, Effect, Place, Target};
use crate::effect::behind_of;
use crate::execute::Objection;
use crate::heap_graph::{Face, HeapGraph, Item, Node, Segment, SegmentId, Time, To};
use crate::scalar::{Attribute, Attributes, Mark, NodeId, Scalar};
use crate::sort::Reference;
use crate::state::State;
use seriatim_lang::choices::Choices;

/// Where a place of the effect lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Where {
    /// Not decided yet.
    Open,
    /// It is this node.
    Node(NodeId),
    /// Out of the heap graph.
    Outside,
}

/// One way to fit, step by step.
pub struct Fit<'a> {
    effect: &'a Effect,
    view: &'a State,
    graph: HeapGraph,
    places: Vec<Where>,
    choices: &'a mut Choices,
}

/// Whether the effect can happen at all in this view, by a glance at the shared variables.
pub fn can_fit(effect: &Effect, state: &State) -> bool {
    let graph = &state.graph;
    let mut shared = effect.scalars.iter().zip(&graph.shared);
    let scalars = shared.all(|(told, is)| told.may_be(*is));
    let behind = effect.behind.iter().zip(&graph.shared).all(|(said, scalar)| {
        let known = [*said, behind_of(graph, *scalar)];
        known.contains(&Behind::Unknown) || known[0] == known[1]
    });
    let equal = |(a, b, said): &(Reference, Reference, bool)| a.equals(*b, &graph.shared) == *said;
    let references = effect.references.iter().zip(&graph.shared).all(|(said, is)| match said {
        Target::Unknown => true,
        Target::At(place) => match is {
            Scalar::Node(id) => may_look(&effect.places[*place], graph.node(*id)),
            _ => false,
        },
        said => (*said == Target::Null) == (*is == Scalar::Null),
    });
    scalars && behind && effect.equal.iter().all(equal) && references
}

/// Applies the effect in the way that the choices say; none if it does not fit in that way.
pub fn apply(
    effect: &Effect,
    state: &State,
    choices: &mut Choices,
) -> Result<Option<State>, Objection> {
    let start = |p: &Place| if p.fresh { Where::Outside } else { Where::Open };
    let places = effect.places.iter().map(start).collect();
    let graph = state.graph.roomy();
    let mut fit = Fit { effect, view: state, graph, places, choices };
    if fit.place_all().is_none() || !fit.learn_ways() || !fit.is_possible() {
        return Ok(None);
    }
    fit.learn();
    fit.write();
    let graph = fit.graph;
    let leaves = |scalar: Scalar| scalar == Scalar::Outside || graph.leads_out(scalar);
    if graph.shared.iter().chain(state.registers()).copied().any(leaves) {
        return Err("a node that the view does not know may become reachable".to_owned());
    }
    let (operation, records) = (state.operation.clone(), state.records.clone());
    let (own, window) = (state.own.clone(), state.window.clone());
    let (numbers, numerical) = (state.numbers.clone(), state.numerical);
    Ok(Some(State { operation, graph, records, own, window, numbers, numerical }))
}

impl Fit<'_> {
    /// Finds nodes for all places; none if there is a place without.
    fn place_all(&mut self) -> Option<()> {
        while let Some(open) = self.places.iter().position(|w| *w == Where::Open) {
            match self.implied()? {
                Some((place, id)) => {
                    let new = self.may_be(place, id);
                    self.places[place] = new.then_some(Where::Node(id))?;
                }
                None => self.places[open] = self.choose(open)?,
            }
        }
        Some(())
    }

    /// An open place whose node follows from what the effect says of a variable or of a placed
    /// node.
    fn implied(&mut self) -> Option<Option<(usize, NodeId)>> {
        for (variable, said) in self.effect.references.iter().enumerate() {
            if let Target::At(place) = said
                && self.places[*place] == Where::Open
            {
                let Scalar::Node(id) = self.graph.shared[variable] else { return None };
                return Some(Some((*place, id)));
            }
        }
        for index in 0..self.places.len() {
            if let (Where::Node(from), Target::At(place)) =
                (self.places[index], self.effect.places[index].link)
                && self.places[place] == Where::Open
            {
                return Some(Some((place, self.next(from, place)?)));
            }
        }
        Some(None)
    }

    /// The node to which the link of a node leads, if it may be this place. Of the nodes with which
    /// a segment may begin, those that cannot be it are left out.
    fn next(&mut self, from: NodeId, place: usize) -> Option<NodeId> {
        loop {
            let id = match self.graph.node(from).now.link {
                To::Node(id) => return Some(id),
                To::Null | To::Outside => return None,
                To::Segment(id) => id,
            };
            let (said, segment) = (&self.effect.places[place], *self.graph.segment(id));
            let looks = segment.attributes.filter(|a| said.attribute.agrees(a));
            let firsts = if self.may_link(segment.to, said.link, true) {
                looks
            } else {
                Attributes::default()
            };
            let firsts: Vec<Attribute> = firsts.iter().collect();
            let empty = segment.optional
                && match segment.to {
                    To::Node(to) => self.may_be(place, to),
                    To::Segment(_) => true,
                    To::Null | To::Outside => false,
                };
            let cases = firsts.len() + usize::from(empty);
            if cases == 0 {
                return None;
            }
            match firsts.get(self.choices.pick(cases as u32) as usize) {
                None => self.graph.close(id),
                Some(first) => self.graph.begin(id, *first),
            }
        }
    }

    /// Whether a link may lead where the effect says in the end, as far as places are found.
    /// Refuses only what [`Fit::may_lead`] refuses: a place that has a node keeps it, and no split
    /// puts a node that is drawn already behind another link. `hidden`: further nodes may be drawn
    /// before it.
    fn may_link(&self, link: To, said: Target, hidden: bool) -> bool {
        let open = |place: usize| self.places[place] == Where::Open;
        match (said, link) {
            (Target::Unknown, _) | (_, To::Outside) => true,
            (Target::At(place), _) if open(place) => true,
            (Target::Elsewhere, _) if hidden => true,
            (Target::Null, To::Null) => true,
            (Target::At(place), To::Node(id)) => self.places[place] == Where::Node(id),
            (Target::Elsewhere, To::Node(id)) => !self.places.contains(&Where::Node(id)),
            (Target::Elsewhere, To::Segment(_)) => true,
            (said, To::Segment(id)) => {
                let Segment { optional, to, .. } = *self.graph.segment(id);
                optional && self.may_link(to, said, hidden)
            }
            (Target::At(_) | Target::Elsewhere, To::Null) | (Target::Null, To::Node(_)) => false,
        }
    }

    /// Whether a drawn node can be this place.
    fn may_be(&self, place: usize, id: NodeId) -> bool {
        let (said, node) = (&self.effect.places[place], self.graph.node(id));
        may_look(said, node)
            && !self.places.contains(&Where::Node(id))
            && self.may_link(node.now.link, said.link, false)
            && self.graph.reach(Item::Node(id), Time::Now) == said.reach
    }

    /// Any place for a node: drawn, in a segment, or outside.
    fn choose(&mut self, place: usize) -> Option<Where> {
        let said: &Place = &self.effect.places[place];
        let drawn: Vec<NodeId> = self.graph.ids().filter(|id| self.may_be(place, *id)).collect();
        let hidden = self.hidden(said);
        let outside = usize::from(said.reach == 0);
        let cases = drawn.len() + hidden.len() + outside;
        if cases == 0 {
            return None;
        }
        let pick = self.choices.pick(cases as u32) as usize;
        Some(if pick < drawn.len() {
            Where::Node(drawn[pick])
        } else if let Some((segment, attribute)) = hidden.get(pick - drawn.len()) {
            Where::Node(self.graph.cut(*segment, *attribute))
        } else {
            Where::Outside
        })
    }

    /// The segments in which a node can lie, and how it would look.
    fn hidden(&self, said: &Place) -> Vec<(SegmentId, Attribute)> {
        let graph = &self.graph;
        let mut met: Vec<SegmentId> = Vec::new();
        for root in graph.shared.iter().chain(self.view.registers()).copied() {
            for item in graph.walk(root, Time::Now).0 {
                if let Item::Segment(id) = item
                    && !met.contains(&id)
                {
                    met.push(id);
                }
            }
        }
        met.retain(|id| {
            self.may_link(graph.segment(*id).to, said.link, true)
                && graph.reach(Item::Segment(*id), Time::Now) == said.reach
        });
        let looks = |id: SegmentId| {
            let attributes = graph.segment(id).attributes.iter();
            attributes.filter(|a| said.attribute.agrees(*a)).map(move |a| (id, a))
        };
        met.iter().flat_map(|id| looks(*id)).collect()
    }

    /// Learns what the effect says of the nodes between places; whether that is possible.
    fn learn_ways(&mut self) -> bool {
        let node = |place: &Where| match place {
            Where::Node(id) => Some(*id),
            Where::Open | Where::Outside => None,
        };
        let places: Vec<Option<NodeId>> = self.places.iter().map(node).collect();
        let paths = self.effect.places.iter().enumerate();
        let mut paths = paths.filter_map(|(from, place)| Some((from, place.path?)));
        paths.all(|(from, path)| path.learn(&mut self.graph, &places, from))
    }

    /// Whether everything that the effect says can be true with these places.
    fn is_possible(&self) -> bool {
        let graph = &self.graph;
        let links = self.effect.places.iter().zip(&self.places).all(|(said, place)| match place {
            Where::Node(id) => self.may_lead(graph.node(*id).now.link, said.link),
            _ => true,
        });
        let references = self.effect.references.iter().zip(&graph.shared);
        let references = references.into_iter().all(|(said, scalar)| match scalar {
            Scalar::Node(id) => self.may_lead(To::Node(*id), *said),
            Scalar::Null => matches!(said, Target::Null | Target::Unknown),
            _ => true,
        });
        links && references
    }

    fn may_lead(&self, link: To, said: Target) -> bool {
        match (said, link) {
            (Target::Unknown, _) | (_, To::Outside) => true,
            (Target::Null, To::Segment(id)) => {
                let Segment { optional, to, .. } = *self.graph.segment(id);
                optional && self.may_lead(to, said)
            }
            (Target::Null, link) => link == To::Null,
            (Target::At(place), To::Node(id)) => self.places[place] == Where::Node(id),
            (Target::At(place), To::Segment(id)) => {
                let Segment { optional, to, .. } = *self.graph.segment(id);
                optional && self.places[place] != Where::Outside && self.may_lead(to, said)
            }
            (Target::At(_), _) => false,
            (Target::Elsewhere, To::Null) => false,
            (Target::Elsewhere, To::Node(id)) => !self.places.contains(&Where::Node(id)),
            (Target::Elsewhere, To::Segment(_)) => true,
        }
    }

    /// Decides what the effect says about optional segments behind its places: whether there is
    /// nothing in them.
    fn learn(&mut self) {
        for (said, place) in self.effect.places.iter().zip(&self.places) {
            let Where::Node(id) = place else { continue };
            let To::Segment(segment) = self.graph.node(*id).now.link else { continue };
            match said.link {
                Target::Null | Target::At(_) => self.graph.close(segment),
                Target::Elsewhere if !self.may_lead(self.graph.segment(segment).to, said.link) => {
                    self.graph.fill(segment);
                }
                Target::Elsewhere | Target::Unknown => {}
            }
        }
    }

    /// Writes what the effect says.
    fn write(&mut self) {
        let mut nodes: Vec<To> = Vec::new();
        for (said, place) in self.effect.places.iter().zip(&self.places) {
            nodes.push(match place {
                Where::Node(id) => To::Node(*id),
                _ if said.fresh => To::Node(draw_fresh(&mut self.graph, said)),
                _ => To::Outside,
            });
        }
        let leads = |said: Target| match said {
            Target::Null => To::Null,
            Target::At(place) => nodes[place],
            Target::Elsewhere | Target::Unknown => To::Outside,
        };
        for (said, to) in self.effect.places.iter().zip(&nodes) {
            if let (true, To::Node(id)) = (said.fresh, to) {
                self.graph.node_mut(*id).now.link = leads(said.link);
            }
        }
        for (place, said) in &self.effect.links {
            if let To::Node(id) = nodes[*place] {
                self.graph.node_mut(id).now.link = leads(*said);
            }
        }
        for (place, mark) in &self.effect.marks {
            if let To::Node(id) = nodes[*place] {
                let face = &mut self.graph.node_mut(id).now;
                if face.mark.is_set() != *mark {
                    face.mark = if *mark { Mark::Yes } else { Mark::No };
                }
            }
        }
        for (place, values) in &self.effect.values {
            if let To::Node(id) = nodes[*place] {
                self.graph.node_mut(id).values = *values;
            }
        }
        for (variable, told) in &self.effect.stores {
            // What others could not understand leads out of all views.
            self.graph.shared[*variable] = told.to_others().unwrap_or(Scalar::Outside);
        }
        for (reference, said) in &self.effect.moves {
            self.graph.shared[reference.variable()] = match leads(*said) {
                To::Null => Scalar::Null,
                To::Node(id) => Scalar::Node(id),
                _ => Scalar::Outside,
            };
        }
    }
}

/// Whether a node that others know can look like this to the acting thread, apart from its link and
/// from where it is reached.
fn may_look(said: &Place, node: &Node) -> bool {
    !node.now.private && said.attribute.agrees(node.attribute(&node.now))
}

fn draw_fresh(graph: &mut HeapGraph, said: &Place) -> NodeId {
    let Attribute { class, mark, .. } = said.attribute.of_another();
    let face = Face { link: To::Outside, mark, locked: false, private: false };
    graph.draw(Node { class, values: said.values, overwritten: None, before: None, now: face })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Certificate, Object};
    use std::collections::HashMap;

    impl Fit<'_> {
        /// Finds places by trying every node, whatever its link.
        fn place_plainly(&mut self) -> Option<()> {
            while let Some(open) = self.places.iter().position(|w| *w == Where::Open) {
                let said: &Place = &self.effect.places[open];
                let fits = |id: &NodeId| {
                    may_look(said, self.graph.node(*id))
                        && !self.places.contains(&Where::Node(*id))
                        && self.graph.reach(Item::Node(*id), Time::Now) == said.reach
                };
                let drawn: Vec<NodeId> = self.graph.ids().filter(fits).collect();
                let mut hidden = Vec::new();
                for root in self.graph.shared.iter().chain(self.view.registers()) {
                    for item in self.graph.walk(*root, Time::Now).0 {
                        let Item::Segment(id) = item else { continue };
                        let reached = self.graph.reach(item, Time::Now) == said.reach;
                        for look in self.graph.segment(id).attributes.iter() {
                            let new = !hidden.contains(&(id, look));
                            if reached && new && said.attribute.agrees(look) {
                                hidden.push((id, look));
                            }
                        }
                    }
                }
                let outside = usize::from(said.reach == 0);
                let cases = drawn.len() + hidden.len() + outside;
                if cases == 0 {
                    return None;
                }
                let pick = self.choices.pick(cases as u32) as usize;
                self.places[open] =
                    match (drawn.get(pick), hidden.get(pick.wrapping_sub(drawn.len()))) {
                        (Some(id), _) => Where::Node(*id),
                        (None, Some((id, look))) => Where::Node(self.graph.cut(*id, *look)),
                        (None, None) => Where::Outside,
                    };
            }
            Some(())
        }
    }

    /// The certificate of an algorithm of the library.
    fn proved(name: &str) -> Certificate {
        let path = format!("{}/../../algorithms/{name}.seri", env!("CARGO_MANIFEST_DIR"));
        let source = std::fs::read_to_string(path).expect("it is in the library");
        let program = seriatim_lang::check(&source).expect("it is right");
        let outcome = seriatim_prove::prove(&program, &seriatim_prove::Options::default());
        let seriatim_prove::Outcome::Proved(proof) = outcome else {
            panic!("{name} is not proved")
        };
        let text = proof.certificate(&program).expect("it has a certificate");
        let object = Object::of(&program).expect("it is in the class");
        crate::certificate::read(&text, &object).expect("it can be read")
    }

    type Placing = fn(&mut Fit<'_>) -> Option<()>;

    /// How often each heap graph with its places comes out.
    fn fits(effect: &Effect, state: &State, place: Placing) -> HashMap<State, usize> {
        let mut found = HashMap::new();
        let mut choices = Choices::default();
        loop {
            let start = |p: &Place| if p.fresh { Where::Outside } else { Where::Open };
            let places = effect.places.iter().map(start).collect();
            let graph = state.graph.clone();
            let choices_now = &mut choices;
            let mut fit = Fit { effect, view: state, graph, places, choices: choices_now };
            if place(&mut fit).is_some() && fit.learn_ways() && fit.is_possible() {
                fit.learn();
                fit.write();
                let after = State { graph: fit.graph, ..state.clone() };
                *found.entry(after.renumbered()).or_default() += 1;
            }
            if !choices.advance() {
                return found;
            }
        }
    }

    /// What is left out when places are looked for does not fit in the end: with every node tried,
    /// the same heap graphs come out, each as often.
    #[test]
    fn places_are_found_wherever_they_fit() {
        let mut fitting = 0;
        for name in ["coarse_set", "michael_scott", "two_lock_queue", "orvyy_set"] {
            let certificate = proved(name);
            for (effect, _) in &certificate.effects {
                for (view, _) in certificate.views.iter().step_by(3) {
                    if can_fit(effect, view) {
                        let sparing = fits(effect, view, |fit| fit.place_all());
                        assert_eq!(
                            sparing,
                            fits(effect, view, |fit| fit.place_plainly()),
                            "{name}"
                        );
                        fitting += sparing.values().sum::<usize>();
                    }
                }
            }
        }
        assert!(fitting > 1_000, "{fitting}");
    }
}
