//! Interference on views that look alike: every effect meets all of them at once.
//!
//! *Lemma.* What an effect on a list does to a view depends on the shared variables, on the nodes,
//! and on which nodes the registers of the thread name; on nothing else of the thread. For the
//! matching reads the heap only, whether all is whole is asked of the nodes that are named, and the
//! canonical form keeps explicit what variables and registers name, whichever register it is. So
//! let views agree in these three things. The results are then the same for all of them, up to the
//! thread itself and the numbers of the nodes: each is completed by the member's own registers,
//! with the node in place of the name, and by what the member sees of the content at that moment.
//! 1. Results with one skeleton are joined before they are completed: their completions would have
//!    one skeleton, too.
//!    Where methods of a map depend on the value of the tracked key, every value that it may have is
//!    a result of its own, so that the moment tells it.
//! 2. A result that the common part covers, a member covers for itself, unless it sees something
//!    at that moment that it has not seen before.
//!
//! What other objects than lists do to a view (cells, numbers, completed operations) depends on
//! more, and is worked out for each view.
//!
//! It would be unsound to put views into one group that differ in something that the matching or
//! the canonical form reads, or to drop a result because of what only some members have seen.

use crate::content::{Abstraction, Moment};
use crate::effect::{Effect, Outlook};
use crate::interference::list::Matcher;
use crate::interference::{Bystander, Interference};
use crate::model::Model;
use crate::outcome::{At, Obstacle};
use crate::value::Val;
use crate::view::{ARGS, Busy, Ghost, Node, View};
use crate::views::Views;
use rustc_hash::FxHashMap;
use seriatim_lang::steps::Pc;

/// Views that effects cannot tell apart.
pub struct Group {
    /// What they have in common; the registers are the nodes that are named, in ascending order.
    common: View,
    /// Their numbers.
    members: Vec<usize>,
}

/// The views with these numbers, by what effects can depend on, in the order of their first
/// members.
pub fn groups(views: &[View], numbers: impl Iterator<Item = usize>) -> Vec<Group> {
    let mut places: FxHashMap<View, usize> = FxHashMap::default();
    let mut members: Vec<Vec<usize>> = Vec::new();
    for number in numbers {
        let place = *places.entry(common(&views[number])).or_insert_with(|| {
            members.push(Vec::new());
            members.len() - 1
        });
        members[place].push(number);
    }
    let mut groups: Vec<(usize, View)> =
        places.into_iter().map(|(common, place)| (place, common)).collect();
    groups.sort_unstable_by_key(|(place, _)| *place);
    let groups = groups.into_iter().zip(members);
    groups.map(|((_, common), members)| Group { common, members }).collect()
}

/// A view without what effects do not depend on.
fn common(view: &View) -> View {
    let regs = view.busy.iter().flat_map(|b| &b.regs);
    let mut named = regs.filter_map(|v| v.node()).fold(0u64, |set, n| set | 1 << n);
    let mut regs = Vec::with_capacity(named.count_ones() as usize);
    while named != 0 {
        regs.push(Val::Node(named.trailing_zeros() as u8));
        named &= named - 1;
    }
    let args = [Val::Dead; ARGS];
    let busy = Busy { pc: Pc(0), method: 0, args, regs, ghost: Ghost::default() };
    let (globals, nodes) = (view.globals.clone(), view.nodes.clone());
    View { busy: Some(busy), globals, nodes, ..View::default() }
}

/// A view that is not covered, and where it comes from.
pub type Found = (View, (usize, At));

/// Why a group cannot go on, for which view, at which step.
pub type Halted = (Obstacle, usize, At);

/// What groups meet effects with: keeps its memory between them.
pub struct Encounter<'a> {
    model: &'a Model,
    abstraction: &'a Abstraction,
    views: &'a Views,
    matcher: Matcher,
    spare: Vec<Node>,
    skeleton: Vec<u8>,
    view: View,
    /// The results for the group at hand, by their skeletons and moments.
    index: FxHashMap<(Vec<u8>, Moment), usize>,
    after: Vec<After>,
    /// What is not covered by the views.
    pub found: Vec<Found>,
}

/// What effects make of the common part of a group.
struct After {
    view: View,
    moment: Result<Moment, Obstacle>,
    at: At,
}

impl<'a> Encounter<'a> {
    /// Nothing met so far.
    pub fn new(model: &'a Model, abstraction: &'a Abstraction, views: &'a Views) -> Encounter<'a> {
        Encounter {
            model,
            abstraction,
            views,
            matcher: Matcher::default(),
            spare: vec![],
            skeleton: vec![],
            view: View::default(),
            index: FxHashMap::default(),
            after: vec![],
            found: vec![],
        }
    }

    /// All effects, in all views of a group that do not wait to be worked off again.
    pub fn meet<'e>(
        &mut self,
        group: &Group,
        effects: impl Iterator<Item = &'e Interference>,
    ) -> Result<(), Halted> {
        let members = group.members.iter().copied().filter(|m| !self.views.is_waiting(*m));
        let members: Vec<usize> = members.collect();
        let Some(first) = members.first() else { return Ok(()) };
        let outlook = Outlook::of(&group.common);
        let bystander = Bystander { view: &group.common, outlook: &outlook };
        self.index.clear();
        self.after.clear();
        for effect in effects {
            let at = At::Other(effect.pc());
            match effect {
                Interference::List(effect) => {
                    self.meet_list(bystander, effect).map_err(|why| (why, *first, at))?;
                }
                other => {
                    for member in &members {
                        self.meet_alone(*member, other).map_err(|why| (why, *member, at))?;
                    }
                }
            }
        }
        for after in std::mem::take(&mut self.after) {
            let is_same = group.common.has_same_skeleton(&after.view, self.model.tracking)
                && group.common.covers(&after.view);
            for member in &members {
                self.complete(group, &after, *member, is_same)
                    .map_err(|why| (why, *member, after.at))?;
            }
        }
        Ok(())
    }

    /// Collects what an effect on a list makes of the common part.
    fn meet_list(&mut self, bystander: Bystander<'_>, effect: &Effect) -> Result<(), Obstacle> {
        let Encounter { model, abstraction, matcher, spare, skeleton, index, after, .. } = self;
        let at = At::Other(effect.pc);
        let mut add = |view: &mut View| {
            let moment = abstraction.moment(model, view);
            view.canonicalize(model.tracking, spare);
            view.write_skeleton(model.tracking, skeleton);
            let seen = moment.clone().unwrap_or_default();
            let key = (std::mem::take(skeleton), seen);
            match index.get(&key) {
                Some(known) if moment.is_ok() => {
                    after[*known].view.widen(view);
                    *skeleton = key.0;
                }
                _ => {
                    if moment.is_ok() {
                        index.insert(key, after.len());
                    }
                    after.push(After { view: view.clone(), moment, at });
                }
            }
        };
        matcher.interfere(model, effect, bystander, &mut |view| {
            match abstraction.untold_entry(model, view) {
                None => add(view),
                Some(node) => {
                    let values = view.nodes[node].values;
                    for one in (0..3).map(|bit| values & 1 << bit).filter(|one| *one != 0) {
                        let mut view = view.clone();
                        view.nodes[node].values = one;
                        add(&mut view);
                    }
                }
            }
            Ok(())
        })
    }

    /// What an effect that concerns more than the heap does to one view.
    fn meet_alone(&mut self, member: usize, effect: &Interference) -> Result<(), Obstacle> {
        let Encounter { model, abstraction, views, matcher, spare, skeleton, found, .. } = self;
        let view = &views.list[member];
        let outlook = Outlook::default();
        let bystander = Bystander { view, outlook: &outlook };
        let at = At::Other(effect.pc());
        effect.disturb(model, abstraction, bystander, matcher, &mut |view| {
            view.canonicalize(model.tracking, spare);
            if !views.covers(view, skeleton) {
                found.push((view.clone(), (member, at)));
            }
        })
    }

    /// Completes a result by what a member does not share with its group.
    fn complete(
        &mut self,
        group: &Group,
        after: &After,
        member: usize,
        is_same: bool,
    ) -> Result<(), Obstacle> {
        let Encounter { model, abstraction, views, spare, skeleton, view, found, .. } = self;
        let mine = &views.list[member];
        let mut ghost = mine.busy.as_ref().map(|b| b.ghost);
        if let (Some(busy), Some(ghost)) = (&mine.busy, &mut ghost)
            && abstraction.is_observed(model, busy)
        {
            ghost.see(model, busy.method, after.moment.clone()?);
        }
        if is_same && ghost == mine.busy.as_ref().map(|b| b.ghost) {
            return Ok(());
        }
        view.clone_from(mine);
        view.globals.clone_from(&after.view.globals);
        view.nodes.clone_from(&after.view.nodes);
        if let (Some(busy), Some(ghost)) = (&mut view.busy, ghost) {
            busy.ghost = ghost;
            let (from, to) = (group.common.named(), after.view.named());
            for reg in busy.regs.iter_mut().filter(|reg| reg.node().is_some()) {
                let place = from.iter().position(|name| name == reg);
                *reg = place.map_or(Val::Dead, |place| to[place]);
            }
        }
        view.canonicalize(model.tracking, spare);
        if !views.covers(view, skeleton) {
            found.push((view.clone(), (member, after.at)));
        }
        Ok(())
    }
}

impl View {
    /// The registers.
    fn named(&self) -> &[Val] {
        self.busy.as_ref().map_or(&[], |b| &b.regs)
    }
}
