//! Interference on lists: what an effect of another thread does to a view.
//!
//! Decided: all views after the effect. Each node of the effect is an explicit node of the view, a
//! node in one of its segments, or, if no shared variable leads to it, a node of which the view
//! knows nothing; all ways are enumerated, and those that contradict a fact on either side are
//! dropped. Nodes that were private to the acting thread are in no other view. If a node of which
//! the view knows nothing becomes visible, the proof is stuck. Where an effect tells what lies on
//! the path between two nodes, the segments on that path keep only such nodes: the path is the
//! same, so the nodes are the same.
//!
//! Law (tested against the concrete machine, through the invariant): if the view describes a state
//! in which the effect takes place, one of the results describes the state after it.

use crate::effect::{
    Effect, Outlook, PathConstraint, Place, Target, as_seen_by_others, scalars_agree,
};
use crate::interference::Bystander;
use crate::model::Model;
use crate::outcome::Obstacle;
use crate::segment::{Cut, CutAt, Which, each_cut};
use crate::value::{Val, attrs};
use crate::view::{MOST, Node, Segment, View};

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

/// What to do with a view after an effect, in memory that is used again.
type Found<'f> = &'f mut dyn FnMut(&mut View) -> Result<(), Obstacle>;

/// The search for matchings, depth first: a choice is made, followed, and taken back. Keeps its
/// memory between searches.
#[derive(Default)]
pub struct Matcher {
    /// The view without its thread, which takes no part in the matching.
    heap: View,
    seats: Vec<Seat>,
    after: View,
}

#[derive(Clone, Copy)]
struct Job<'j> {
    model: &'j Model,
    effect: &'j Effect,
    view: &'j View,
}

impl Matcher {
    /// Calls `found` for every view after the effect of another thread.
    pub fn interfere(
        &mut self,
        model: &Model,
        effect: &Effect,
        bystander: Bystander<'_>,
        found: Found,
    ) -> Result<(), Obstacle> {
        let Bystander { view, outlook } = bystander;
        match self.begin(effect, view, outlook) {
            Some(()) => self.extend(Job { model, effect, view }, found),
            None => Ok(()),
        }
    }

    /// The matching that the shared variables force, unless they already exclude the effect.
    fn begin(&mut self, effect: &Effect, view: &View, outlook: &Outlook) -> Option<()> {
        let mut scalars = effect.scalars.iter().zip(&view.globals);
        if !scalars.all(|(acting, mine)| scalars_agree(*acting, *mine)) {
            return None;
        }
        if !effect.outlook.agrees(outlook) {
            return None;
        }
        let seat = |p: &Place| if p.fresh { Seat::Absent } else { Seat::Open };
        self.seats.clear();
        self.seats.extend(effect.places.iter().map(seat));
        for (target, global) in effect.references.iter().zip(&view.globals) {
            if let Target::At(i) = target {
                let i = *i as usize;
                let node = global.node()?;
                if !may_sit(view, &self.seats, i, &effect.places[i], node) {
                    return None;
                }
                self.seats[i] = Seat::Node(node);
            }
        }
        self.heap.globals.clone_from(&view.globals);
        self.heap.nodes.clone_from(&view.nodes);
        Some(())
    }

    fn extend(&mut self, job: Job, found: Found) -> Result<(), Obstacle> {
        match self.next_open(job.effect) {
            Some((place, Some(node))) => self.led(job, place, node, found),
            Some((place, None)) => self.anywhere(job, place, found),
            None if self.holds(job.effect) => {
                self.apply(job)?;
                found(&mut self.after)
            }
            None => Ok(()),
        }
    }

    /// Goes on with a place at an explicit node, if nothing speaks against it.
    fn seat(&mut self, job: Job, i: usize, node: usize, found: Found) -> Result<(), Obstacle> {
        if !may_sit(&self.heap, &self.seats, i, &job.effect.places[i], node) {
            return Ok(());
        }
        self.seats[i] = Seat::Node(node);
        let result = self.extend(job, found);
        self.seats[i] = Seat::Open;
        result
    }

    /// The next place to seat: one that a seated place leads to, if there is any; with the node
    /// that leads to it.
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

    /// The place is the successor of `node`.
    fn led(&mut self, job: Job, place: usize, node: usize, found: Found) -> Result<(), Obstacle> {
        let segment = self.heap.nodes[node].segment;
        if segment.optional
            && let Some(to) = self.heap.nodes[node].to.node()
        {
            self.heap.close(node);
            self.seat(job, place, to, found)?;
            self.heap.nodes[node].segment = segment;
        }
        self.pull(job, place, node, Which::First, found)
    }

    fn anywhere(&mut self, job: Job, place: usize, found: Found) -> Result<(), Obstacle> {
        let wanted = job.effect.places[place].reach;
        if wanted == 0 {
            self.seats[place] = Seat::Absent;
            self.extend(job, found)?;
            self.seats[place] = Seat::Open;
        }
        let reach = self.heap.reach();
        for node in (0..self.heap.nodes.len()).filter(|n| reach[*n] == wanted) {
            self.seat(job, place, node, found)?;
            if !self.heap.nodes[node].private {
                self.pull(job, place, node, Which::Any, found)?;
            }
        }
        // A private node may lead to public nodes that nothing else leads to.
        for node in 0..self.heap.nodes.len() {
            if wanted == 0 && self.heap.nodes[node].private {
                self.pull(job, place, node, Which::Any, found)?;
            }
        }
        Ok(())
    }

    /// The place is in the segment behind `node`.
    fn pull(
        &mut self,
        job: Job,
        number: usize,
        node: usize,
        which: Which,
        found: Found,
    ) -> Result<(), Obstacle> {
        let saved = self.heap.nodes[node];
        if saved.segment.is_empty() {
            return Ok(());
        }
        if self.heap.nodes.len() >= MOST {
            return Err(Obstacle::NotUnderstood("a view with very many nodes"));
        }
        let place = &job.effect.places[number];
        let wanted = attrs(saved.segment.attrs).filter(|a| place.attr.agrees(*a));
        let wanted = wanted.fold(0, |set, a| set | a.bit());
        let mut result = Ok(());
        let emptiness = job.model.tracking.emptiness();
        each_cut(saved.segment, CutAt { wanted, which, emptiness }, |cut: Cut| {
            if result.is_ok() && may_lead(place, &self.seats, saved.to, cut.right()) {
                let pulled = self.heap.cut(node, &cut);
                self.seats[number] = Seat::Node(pulled);
                result = self.extend(job, found);
                self.seats[number] = Seat::Open;
                self.heap.nodes.truncate(pulled);
                self.heap.nodes[node] = saved;
            }
        });
        result
    }

    /// Whether the matching agrees with what the effect says about links and shared references.
    fn holds(&self, effect: &Effect) -> bool {
        let reach = self.heap.reach();
        let linked = |(place, seat): (&Place, &Seat)| {
            let Seat::Node(n) = *seat else { return true };
            let node = &self.heap.nodes[n];
            reach[n] == place.reach
                && place.path.is_none_or(|path| self.may_lead_along(n, path))
                && match place.link {
                    Target::Unknown => true,
                    Target::Elsewhere => {
                        let excluded = match node.to.node() {
                            Some(to) => self.seats.contains(&Seat::Node(to)),
                            None => true,
                        };
                        !node.segment.is_empty() || !excluded
                    }
                    Target::Null | Target::At(_) => {
                        Some(node.to) == self.resolve(place.link) && node.segment.optional
                    }
                }
        };
        let stray = |(target, global): (&Target, &Val)| {
            let seated = global.node().is_some_and(|n| self.seats.contains(&Seat::Node(n)));
            *target == Target::Elsewhere && seated
        };
        effect.places.iter().zip(&self.seats).filter(|(p, _)| !p.fresh).all(linked)
            && !effect.references.iter().zip(&self.heap.globals).any(stray)
    }

    /// Whether the first seated node behind a node can be the one to which a path leads, by nodes
    /// as on the path.
    fn may_lead_along(&self, from: usize, path: PathConstraint) -> bool {
        let Seat::Node(to) = self.seats[path.to as usize] else { return false };
        let mut at = from;
        for _ in 0..=self.heap.nodes.len() {
            let node = &self.heap.nodes[at];
            if !node.segment.optional && path.of(node.segment.attrs) == 0 {
                return false;
            }
            match node.to.node() {
                Some(next) if next == to => return true,
                Some(next) => {
                    let fits = path.of(self.heap.nodes[next].attr.bit()) != 0;
                    if !fits || self.seats.contains(&Seat::Node(next)) {
                        return false;
                    }
                    at = next;
                }
                None => return false,
            }
        }
        false
    }

    /// Leaves on a path only nodes that it may have.
    fn narrow(&self, from: usize, path: PathConstraint, after: &mut View) {
        let Seat::Node(to) = self.seats[path.to as usize] else { return };
        let mut at = from;
        for _ in 0..=self.heap.nodes.len() {
            let segment = &mut after.nodes[at].segment;
            segment.attrs = path.of(segment.attrs);
            if segment.is_empty() {
                *segment = Segment::EMPTY;
            }
            match after.nodes[at].to.node() {
                Some(next) if next != to => at = next,
                _ => return,
            }
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

    /// Makes the view after the effect.
    fn apply(&mut self, job: Job) -> Result<(), Obstacle> {
        let mut after = std::mem::take(&mut self.after);
        after.clone_from(job.view);
        after.globals.clone_from(&self.heap.globals);
        after.nodes.clone_from(&self.heap.nodes);
        let result = self.write(job.effect, &mut after);
        self.after = after;
        for (seat, place) in self.seats.iter_mut().zip(&job.effect.places) {
            if place.fresh {
                *seat = Seat::Absent;
            }
        }
        result
    }

    fn write(&mut self, effect: &Effect, after: &mut View) -> Result<(), Obstacle> {
        for (place, seat) in effect.places.iter().zip(&self.seats) {
            if let (Some(path), Seat::Node(n)) = (place.path, seat) {
                self.narrow(*n, path, after);
            }
        }
        for (i, place) in effect.places.iter().enumerate() {
            match self.seats[i] {
                Seat::Node(n) if matches!(place.link, Target::Null | Target::At(_)) => {
                    after.close(n);
                }
                _ if place.fresh => {
                    self.seats[i] = Seat::Node(after.nodes.len());
                    after.nodes.push(Node {
                        attr: place.attr.common(),
                        values: place.values,
                        to: Val::Null,
                        segment: Segment::EMPTY,
                        private: false,
                    });
                }
                _ => {}
            }
        }
        if after.nodes.len() >= MOST {
            return Err(Obstacle::NotUnderstood("a view with very many nodes"));
        }
        for (i, place) in effect.places.iter().enumerate().filter(|(_, p)| p.fresh) {
            if let Seat::Node(n) = self.seats[i] {
                after.nodes[n].to = self.resolve(place.link).unwrap_or(Val::Dead);
            }
        }
        for (i, target) in &effect.links {
            if let Seat::Node(n) = self.seats[*i as usize] {
                after.nodes[n].to = self.resolve(*target).unwrap_or(Val::Dead);
                after.close(n);
            }
        }
        for (i, mark) in &effect.marks {
            if let Seat::Node(n) = self.seats[*i as usize] {
                after.nodes[n].attr = after.nodes[n].attr.with_mark(*mark);
            }
        }
        for (i, values) in &effect.values {
            if let Seat::Node(n) = self.seats[*i as usize] {
                after.nodes[n].values = *values;
            }
        }
        for (g, target) in &effect.moves {
            after.globals[*g as usize] = self.resolve(*target).unwrap_or(Val::Dead);
        }
        for (g, value) in &effect.stores {
            after.globals[*g as usize] = as_seen_by_others(*value);
        }
        match after.is_whole() {
            true => Ok(()),
            false => Err(Obstacle::UnknownNodeExposed),
        }
    }
}

/// Whether nothing speaks against a place being this explicit node.
fn may_sit(view: &View, seats: &[Seat], i: usize, place: &Place, node: usize) -> bool {
    match seats[i] {
        Seat::Node(other) => other == node,
        Seat::Absent => false,
        Seat::Open => {
            let here = &view.nodes[node];
            !here.private
                && place.attr.agrees(here.attr)
                && !seats.contains(&Seat::Node(node))
                && may_lead(place, seats, here.to, here.segment)
        }
    }
}

/// Whether a node with this link may be the place, as far as that is decided. Only saves work: what
/// it drops is what `holds` would drop.
fn may_lead(place: &Place, seats: &[Seat], to: Val, segment: Segment) -> bool {
    match place.link {
        Target::Null => to == Val::Null && segment.optional,
        Target::At(i) => match seats[i as usize] {
            Seat::Open => true,
            Seat::Absent => false,
            Seat::Node(n) => to == Val::Node(n as u8) && segment.optional,
        },
        Target::Elsewhere => to != Val::Null || !segment.is_empty(),
        Target::Unknown => true,
    }
}
