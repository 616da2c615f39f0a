//! Interference: what an effect of another thread does to a view.
//!
//! Decided: all views after the effect. Each node of the effect is an explicit node of the view, a node in one of its
//! gaps, or, if no shared variable leads to it, a node of which the view knows nothing; all ways are enumerated, and those
//! that contradict a fact on either side are dropped. Nodes that were private to the acting thread are in no other view.
//! If a node of which the view knows nothing becomes visible, the proof is stuck.
//!
//! Law (tested against the concrete machine, through the invariant): if the view describes a state in which the effect
//! takes place, one of the results describes the state after it.

use crate::effect::{Effect, Outlook, Place, Target, as_seen_by_others, scalars_agree};
use crate::gap::{Which, cuts};
use crate::model::Model;
use crate::outcome::Obstacle;
use crate::value::{Val, attrs};
use crate::view::{Gap, Node, View};

/// Where a node of the effect lies in the view.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Seat {
    /// Not decided.
    Open,
    /// Not in the view.
    Absent,
    /// This explicit node.
    Node(usize),
}

#[derive(Clone)]
struct Matching {
    /// The view without its thread, which takes no part in the matching.
    view: View,
    seats: Vec<Seat>,
}

/// The views after the effect of another thread; `outlook` is that of the view.
pub fn interfere(
    model: &Model,
    effect: &Effect,
    view: &View,
    outlook: &Outlook,
) -> Result<Vec<View>, Obstacle> {
    let mut found = Vec::new();
    let Some(start) = begin(effect, view, outlook) else { return Ok(found) };
    let mut todo = vec![start];
    while let Some(matching) = todo.pop() {
        match matching.next_open(effect) {
            Some(place) => todo.extend(matching.extended(model, effect, place)),
            None => {
                if let Some(matching) = matching.narrowed(effect) {
                    found.push(matching.applied(effect, view)?);
                }
            }
        }
    }
    Ok(found)
}

/// The matching that the shared variables force, unless they already exclude the effect.
fn begin(effect: &Effect, view: &View, outlook: &Outlook) -> Option<Matching> {
    let scalars = effect.scalars.iter().zip(&view.globals);
    if !scalars.into_iter().all(|(acting, mine)| scalars_agree(*acting, *mine)) {
        return None;
    }
    if !effect.outlook.agrees(outlook) {
        return None;
    }
    let seat = |p: &Place| if p.fresh { Seat::Absent } else { Seat::Open };
    let mut seats: Vec<Seat> = effect.places.iter().map(seat).collect();
    for (target, global) in effect.references.iter().zip(&view.globals) {
        if let Target::At(i) = target {
            let i = *i as usize;
            let node = global.node()?;
            if !may_sit(view, &seats, (i, &effect.places[i]), node) {
                return None;
            }
            seats[i] = Seat::Node(node);
        }
    }
    let heap = View { busy: None, globals: view.globals.clone(), nodes: view.nodes.clone() };
    Some(Matching { view: heap, seats })
}

/// Whether nothing speaks against a place being this explicit node.
fn may_sit(view: &View, seats: &[Seat], (i, place): (usize, &Place), node: usize) -> bool {
    match seats[i] {
        Seat::Node(other) => other == node,
        Seat::Absent => false,
        Seat::Open => {
            let here = &view.nodes[node];
            !here.private
                && place.attr.agrees(here.attr)
                && !seats.contains(&Seat::Node(node))
                && may_lead(place, seats, (here.to, here.gap))
        }
    }
}

/// Whether a node with this link may be the place, as far as that is decided. Only saves work: what it drops is what
/// `narrowed` would drop.
fn may_lead(place: &Place, seats: &[Seat], (to, gap): (Val, Gap)) -> bool {
    match place.link {
        Target::Null => to == Val::Null && gap.optional,
        Target::At(i) => match seats[i as usize] {
            Seat::Open => true,
            Seat::Absent => false,
            Seat::Node(n) => to == Val::Node(n as u8) && gap.optional,
        },
        Target::Elsewhere => to != Val::Null || !gap.is_empty(),
        Target::Unknown => true,
    }
}

impl Matching {
    /// Seats a place at an explicit node, if nothing speaks against it.
    fn seated(&self, effect: &Effect, i: usize, node: usize) -> Option<Matching> {
        may_sit(&self.view, &self.seats, (i, &effect.places[i]), node).then(|| {
            let mut seated = self.clone();
            seated.seats[i] = Seat::Node(node);
            seated
        })
    }

    /// The next place to seat: one that a seated place leads to, if there is any; with the node that leads to it.
    fn next_open(&self, effect: &Effect) -> Option<(usize, Option<usize>)> {
        let open = |i: &usize| self.seats[*i] == Seat::Open;
        let leader = |i: usize| {
            effect.places.iter().zip(&self.seats).find_map(|(p, seat)| match (seat, p.link) {
                (Seat::Node(n), Target::At(to)) if to as usize == i && !p.fresh => Some(*n),
                _ => None,
            })
        };
        let all = (0..self.seats.len()).filter(open);
        let mut first = None;
        for place in all {
            if let Some(node) = leader(place) {
                return Some((place, Some(node)));
            }
            first = first.or(Some((place, None)));
        }
        first
    }

    fn extended(
        &self,
        model: &Model,
        effect: &Effect,
        (place, leader): (usize, Option<usize>),
    ) -> Vec<Matching> {
        match leader {
            Some(node) => self.led(model, effect, place, node),
            None => self.anywhere(model, effect, place),
        }
    }

    /// The place is the successor of `node`.
    fn led(&self, model: &Model, effect: &Effect, place: usize, node: usize) -> Vec<Matching> {
        let mut found = Vec::new();
        let gap = self.view.nodes[node].gap;
        if gap.optional
            && let Some(to) = self.view.nodes[node].to.node()
        {
            let mut closed = self.clone();
            closed.view.close(node);
            found.extend(closed.seated(effect, place, to));
        }
        found.extend(self.pulled(model, effect, (place, node), Which::First));
        found
    }

    fn anywhere(&self, model: &Model, effect: &Effect, place: usize) -> Vec<Matching> {
        let mut found = Vec::new();
        let wanted = effect.places[place].reach;
        if wanted == 0 {
            let mut absent = self.clone();
            absent.seats[place] = Seat::Absent;
            found.push(absent);
        }
        let reach = self.view.reach();
        for node in (0..self.view.nodes.len()).filter(|n| reach[*n] == wanted) {
            found.extend(self.seated(effect, place, node));
            if !self.view.nodes[node].private {
                found.extend(self.pulled(model, effect, (place, node), Which::Any));
            }
        }
        // A private node may lead to public nodes that nothing else leads to.
        for node in
            (0..self.view.nodes.len()).filter(|n| wanted == 0 && self.view.nodes[*n].private)
        {
            found.extend(self.pulled(model, effect, (place, node), Which::Any));
        }
        found
    }

    /// The place is in the gap behind `node`.
    fn pulled(
        &self,
        model: &Model,
        effect: &Effect,
        (number, node): (usize, usize),
        which: Which,
    ) -> Vec<Matching> {
        let gap = self.view.nodes[node].gap;
        let place = &effect.places[number];
        let acting = place.attr;
        let wanted = attrs(gap.attrs).filter(|a| acting.agrees(*a));
        let wanted = wanted.fold(0, |set, a| set | a.bit());
        let pull = |cut: &crate::gap::Cut| {
            let mut matching = self.clone();
            let pulled = matching.view.cut(node, cut);
            matching.seats[number] = Seat::Node(pulled);
            matching
        };
        let to = self.view.nodes[node].to;
        let all = cuts(gap, wanted, which, model.tracking.emptiness());
        let fitting = all.iter().filter(|cut| may_lead(place, &self.seats, (to, cut.right())));
        fitting.map(pull).collect()
    }

    /// The matching, narrowed by what the effect says about links; `None` if they contradict each other.
    fn narrowed(mut self, effect: &Effect) -> Option<Matching> {
        let reach = self.view.reach();
        for (i, place) in effect.places.iter().enumerate() {
            let Seat::Node(n) = self.seats[i] else { continue };
            if reach[n] != place.reach {
                return None;
            }
            let node = &self.view.nodes[n];
            match place.link {
                Target::Unknown => {}
                Target::Elsewhere => {
                    let known = node.gap.is_empty();
                    let excluded = match node.to.node() {
                        Some(to) => self.seats.contains(&Seat::Node(to)),
                        None => true,
                    };
                    if known && excluded {
                        return None;
                    }
                }
                Target::Null | Target::At(_) => {
                    let wanted = self.resolve(place.link)?;
                    if node.to != wanted || !node.gap.optional {
                        return None;
                    }
                    self.view.close(n);
                }
            }
        }
        let stray = |(target, global): (&Target, &Val)| {
            let seated = global.node().is_some_and(|n| self.seats.contains(&Seat::Node(n)));
            *target == Target::Elsewhere && seated
        };
        match effect.references.iter().zip(&self.view.globals).any(stray) {
            true => None,
            false => Some(self),
        }
    }

    fn resolve(&self, target: Target) -> Option<Val> {
        match target {
            Target::Null => Some(Val::Null),
            Target::At(i) => match self.seats[i as usize] {
                Seat::Node(n) => Some(Val::Node(n as u8)),
                _ => None,
            },
            Target::Elsewhere | Target::Unknown => None,
        }
    }

    fn applied(mut self, effect: &Effect, whole: &View) -> Result<View, Obstacle> {
        self.view.busy.clone_from(&whole.busy);
        for (i, place) in effect.places.iter().enumerate().filter(|(_, p)| p.fresh) {
            self.seats[i] = Seat::Node(self.view.nodes.len());
            self.view.nodes.push(Node {
                attr: place.attr.common(),
                values: place.values,
                to: Val::Null,
                gap: Gap::EMPTY,
                private: false,
            });
        }
        for (i, place) in effect.places.iter().enumerate().filter(|(_, p)| p.fresh) {
            if let Seat::Node(n) = self.seats[i] {
                self.view.nodes[n].to = self.resolve(place.link).unwrap_or(Val::Dead);
            }
        }
        for (i, target) in &effect.links {
            if let Seat::Node(n) = self.seats[*i as usize] {
                self.view.nodes[n].to = self.resolve(*target).unwrap_or(Val::Dead);
                self.view.close(n);
            }
        }
        for (i, mark) in &effect.marks {
            if let Seat::Node(n) = self.seats[*i as usize] {
                self.view.nodes[n].attr = self.view.nodes[n].attr.with_mark(*mark);
            }
        }
        for (g, target) in &effect.moves {
            self.view.globals[*g as usize] = self.resolve(*target).unwrap_or(Val::Dead);
        }
        for (g, value) in &effect.stores {
            self.view.globals[*g as usize] = as_seen_by_others(*value);
        }
        match self.view.is_whole() {
            true => Ok(self.view),
            false => Err(Obstacle::UnknownNodeExposed),
        }
    }
}
