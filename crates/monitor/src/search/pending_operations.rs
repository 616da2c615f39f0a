//! Operations that never returned, in the general search: each is tried only where it is needed.
//!
//! A pending operation may have taken effect at any time after its call, or never. Trying all of
//! them everywhere would double the configurations with each.
//!
//! *Theorem.* If a configuration can be completed, it can be completed so that pending operations
//! are used only in *chains*, each of which makes the next operation lead to a state to which it
//! could not have led without, and which end in a completed operation. *Proof.* Take a completion
//! that uses the fewest pending operations. If the operation right after a pending one could have
//! led to the same state without it, the pending one could be left out, and there would be fewer.
//! Nothing ends a completion: a last pending operation would be useless. That operations of one
//! class are interchangeable lets the search count them instead of telling them apart (`used`).
//!
//! *Cost.* What enables what is computed once for a state and a class, and remembered. The search
//! depth first asks for it last, since most configurations need no pending operation.
//!
//! *It would be unsound to* try only chains of one pending operation, or to drop a chain because
//! another one led to the same states with other operations, unless that one used no more of any
//! class.

use super::mask::Mask;
use super::part::{PendingId, Rank};
use super::space::{Configuration, Space, Step, Successors};
use super::used::UseId;
use hashbrown::HashMap;
use seriatim_spec::{ClassId, StateId};
use std::sync::Arc;

/// Beyond this many remembered enablers all are forgotten.
const LIMIT: usize = 1 << 20;

/// A pending operation that makes another one possible: it leads from a state to `between`, and the
/// other from there to `after`.
#[derive(Clone, Copy)]
pub(super) struct Enabler {
    pending: PendingId,
    between: StateId,
    after: StateId,
}

/// What is remembered of pending operations that make others possible.
#[derive(Default)]
pub(super) struct Enabling {
    /// By state and class: those that make the class lead somewhere new.
    enablers: HashMap<(StateId, ClassId), Arc<[Enabler]>>,
    /// By state: pairs of which the first makes the second lead somewhere new.
    chains: HashMap<StateId, Arc<[(PendingId, Enabler)]>>,
}

impl Enabling {
    /// About how much memory that takes.
    pub fn bytes(&self) -> usize {
        self.enablers.len() * 64
    }
}

/// What a walk along chains of pending operations needs to know.
struct ChainWalk<'c> {
    candidates: &'c [Rank],
    helpers: &'c [PendingId],
    steps: Vec<Step>,
    /// The least uses with which each pair of states was reached.
    seen: HashMap<(StateId, StateId), Vec<UseId>>,
}

impl Space<'_> {
    /// Tries every candidate after one pending operation that helps it.
    pub(super) fn emit_helped<M: Mask>(
        &mut self,
        from: &Configuration<M>,
        candidates: &[Rank],
        helpers: &[PendingId],
        successors: &mut Successors<M>,
    ) {
        for &rank in candidates {
            for enabler in self.enablers(from.state, self.part.class(rank)).iter() {
                if helpers.binary_search(&enabler.pending).is_ok() {
                    let used = self.uses.with(from.used, enabler.pending);
                    let steps = [Step::Pending(enabler.pending)];
                    self.emit(from, used, &steps, (rank, enabler.after), successors);
                }
            }
        }
    }

    /// Tries every chain of several pending operations that ends in a candidate.
    pub(super) fn emit_chained<M: Mask>(
        &mut self,
        from: &Configuration<M>,
        candidates: &[Rank],
        helpers: &[PendingId],
        successors: &mut Successors<M>,
    ) {
        let mut walk = ChainWalk { candidates, helpers, steps: Vec::new(), seen: HashMap::new() };
        for (second, enabler) in self.chains(from.state).iter() {
            let first = enabler.pending;
            if helpers.binary_search(&first).is_err() || helpers.binary_search(second).is_err() {
                continue;
            }
            let used = self.uses.with(from.used, first);
            if self.is_exhausted(from.frontier, used, *second) {
                continue;
            }
            let used = self.uses.with(used, *second);
            walk.steps.extend([Step::Pending(first), Step::Pending(*second)]);
            let states = (enabler.between, enabler.after);
            self.follow_chain(from, used, states, &mut walk, successors);
            walk.steps.clear();
        }
    }

    /// Continues a chain of pending operations whose last one led from the first of `states` to the
    /// second.
    fn follow_chain<M: Mask>(
        &mut self,
        from: &Configuration<M>,
        used: UseId,
        states: (StateId, StateId),
        walk: &mut ChainWalk<'_>,
        successors: &mut Successors<M>,
    ) {
        let known = walk.seen.entry(states).or_default();
        if known.iter().any(|&other| self.uses.dominates(other, used)) {
            return;
        }
        known.push(used);
        let (before, now) = states;
        for &rank in walk.candidates {
            for after in self.gained(before, now, self.part.class(rank)) {
                self.emit(from, used, &walk.steps, (rank, after), successors);
            }
        }
        for &pending in walk.helpers {
            if self.is_exhausted(from.frontier, used, pending) {
                continue;
            }
            for after in self.gained(before, now, self.part.pending_class(pending)) {
                if after != now {
                    let used = self.uses.with(used, pending);
                    walk.steps.push(Step::Pending(pending));
                    self.follow_chain(from, used, (now, after), walk, successors);
                    walk.steps.pop();
                }
            }
        }
    }

    /// Whether all pending operations of a class that are called are used.
    fn is_exhausted(&self, frontier: Rank, used: UseId, pending: PendingId) -> bool {
        self.part.available(pending, frontier) <= self.uses.count(used, pending)
    }

    /// The states to which a class leads from `now` but not from `before`.
    fn gained(&mut self, before: StateId, now: StateId, class: ClassId) -> Vec<StateId> {
        let answer = self.transitions.step(now, class);
        let after: Vec<StateId> =
            (0..self.transitions.count(answer)).map(|i| self.transitions.nth(answer, i)).collect();
        after.into_iter().filter(|&s| !self.transitions.leads_to(before, class, s)).collect()
    }

    /// The pending operations that make a class lead somewhere new from a state.
    fn enablers(&mut self, state: StateId, class: ClassId) -> Arc<[Enabler]> {
        if let Some(known) = self.enabling.enablers.get(&(state, class)) {
            return known.clone();
        }
        let mut found = Vec::new();
        for pending in self.part.pending() {
            let answer = self.transitions.step(state, self.part.pending_class(pending));
            for nth in 0..self.transitions.count(answer) {
                let between = self.transitions.nth(answer, nth);
                if between == state {
                    continue;
                }
                let gained = self.gained(state, between, class);
                found.extend(gained.iter().map(|&after| Enabler { pending, between, after }));
            }
        }
        if self.enabling.enablers.len() > LIMIT {
            self.enabling.enablers.clear();
        }
        let found: Arc<[Enabler]> = found.into();
        self.enabling.enablers.insert((state, class), found.clone());
        found
    }

    /// The pairs of pending operations of which the first makes the second lead somewhere new.
    fn chains(&mut self, state: StateId) -> Arc<[(PendingId, Enabler)]> {
        if let Some(known) = self.enabling.chains.get(&state) {
            return known.clone();
        }
        let mut found = Vec::new();
        for second in self.part.pending() {
            for enabler in self.enablers(state, self.part.pending_class(second)).iter() {
                if enabler.after != enabler.between {
                    found.push((second, *enabler));
                }
            }
        }
        if self.enabling.chains.len() > LIMIT {
            self.enabling.chains.clear();
        }
        let found: Arc<[(PendingId, Enabler)]> = found.into();
        self.enabling.chains.insert(state, found.clone());
        found
    }
}
