//! Interference: every effect meets all views that look alike to it at once, on all processors.
//!
//! *Lemma.* What an effect does to a view depends on the heap graph of the view and on the nodes
//! that its thread names, and on nothing else: [`apply`](crate::interference::apply) reads the
//! registers only as places from which nodes are reached, and hands everything else on unchanged;
//! what an operation sees at the moment after the effect (`Execution::observe`) is read off the
//! heap graph alone and added to what it has seen before. So let views agree in everything but the
//! position, method, arguments, history and registers of their threads, and let their registers
//! name the same nodes. The states after an effect are then the same for all of them, up to these
//! parts:
//! 1. a state after the effect that the common part of the views covers, each view covers for
//!    itself: counterparts of the named nodes are the same, all other registers are as they were,
//!    and nothing that was seen is forgotten;
//! 2. a state that was met before, up to the numbers of its nodes, needs not be met again.
//!
//! All other states are completed by what the members of the group do not share, and looked for one
//! by one. The certificate does not change meanwhile, so that groups can be checked in any order
//! and at the same time; of several rejections the first one is told.
//!
//! It would be unsound to group views that differ in anything that `apply` or `observe` reads, or
//! to leave out a group.

use crate::cover::covers;
use crate::interference::can_fit;
use crate::pass::{Pass, Rejection};
use crate::scalar::{NodeId, Scalar};
use crate::state::{Ghost, State};
use seriatim_lang::steps::Pc;
use std::collections::HashMap;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{Builder, available_parallelism};

/// Below so many groups, one thread is as quick as several.
const FEW: usize = 100;

/// Views that effects cannot tell apart.
struct Group {
    /// What they have in common.
    common: State,
    /// Their numbers.
    members: Vec<usize>,
}

/// Every effect, in every view.
pub fn interference(pass: &Pass) -> Result<(), Rejection> {
    let groups = groups(pass);
    let next = AtomicUsize::new(0);
    let work = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let group = groups.get(at)?;
            if let Err(rejection) = group.meets_effects(pass) {
                next.fetch_max(groups.len(), Ordering::Relaxed);
                return Some((at, rejection));
            }
        }
    };
    let helpers =
        if groups.len() < FEW { 1 } else { available_parallelism().map_or(1, usize::from) };
    let found = std::thread::scope(|scope| {
        let helpers = (1..helpers).filter_map(|_| Builder::new().spawn_scoped(scope, work).ok());
        let helpers: Vec<_> = helpers.collect();
        // If this thread is asked to stop, its helpers stop with it.
        let _stop = Stop { next: &next, end: groups.len() };
        let own = work();
        let theirs =
            helpers.into_iter().map(|h| h.join().unwrap_or_else(|panic| resume_unwind(panic)));
        own.into_iter().chain(theirs.flatten()).min_by_key(|(at, _)| *at)
    });
    found.map_or(Ok(()), |(_, rejection)| Err(rejection))
}

/// Leaves no group to anybody when it is dropped.
struct Stop<'a> {
    next: &'a AtomicUsize,
    end: usize,
}

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.next.fetch_max(self.end, Ordering::Relaxed);
    }
}

/// The views, by what effects can depend on.
fn groups(pass: &Pass) -> Vec<Group> {
    let mut places: HashMap<State, usize> = HashMap::new();
    let mut groups: Vec<Group> = Vec::new();
    for (number, (view, _)) in pass.certificate.views.iter().enumerate() {
        let common = common(view);
        let place = *places.entry(common).or_insert_with_key(|common| {
            groups.push(Group { common: common.clone(), members: vec![] });
            groups.len() - 1
        });
        groups[place].members.push(number);
    }
    groups
}

/// A view without what effects do not depend on.
fn common(view: &State) -> State {
    let mut common = view.clone();
    if let Some(operation) = &mut common.operation {
        let names = operation.registers.iter().filter_map(|scalar| match scalar {
            Scalar::Node(id) => Some(*id),
            _ => None,
        });
        let mut names: Vec<NodeId> = names.collect();
        names.sort();
        names.dedup();
        operation.registers = names.into_iter().map(Scalar::Node).collect();
        (operation.pc, operation.method) = (Pc(0), 0);
        operation.arguments.clear();
        operation.ghost = Ghost::default();
    }
    common
}

impl Group {
    /// All effects, in all views of the group.
    fn meets_effects(&self, pass: &Pass) -> Result<(), Rejection> {
        for (effect, effect_line) in &pass.certificate.effects {
            if !can_fit(effect, &self.common) {
                continue;
            }
            let mut missing = None;
            let described = pass.after(effect, &self.common, &mut |state| {
                missing = match covers(&self.common, state) {
                    true => None,
                    false => self.not_described(pass, state),
                };
                missing.is_none()
            });
            let line = |view: usize| pass.certificate.views[view].1;
            described
                .map_err(|why| Rejection::Foreign(line(self.members[0]), *effect_line, why))?;
            if let Some(view) = missing {
                return Err(Rejection::Interference(line(view), *effect_line));
            }
        }
        Ok(())
    }

    /// A member whose thread no view describes after an effect.
    fn not_described(&self, pass: &Pass, after: &State) -> Option<usize> {
        let mut state = after.clone();
        let mut members = self.members.iter().copied();
        members.find(|member| {
            state.operation = pass.certificate.views[*member].0.operation.clone();
            if let (Some(operation), Some(moment)) = (&mut state.operation, &after.operation) {
                operation.ghost.saw_yes |= moment.ghost.saw_yes;
                operation.ghost.saw_no |= moment.ghost.saw_no;
                operation.ghost.firsts |= moment.ghost.firsts;
            }
            !pass.index.covers(&state)
        })
    }
}
