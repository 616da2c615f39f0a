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
//! *Cost.* Where pending operations lead from a state is found out once and remembered, and so is what
//! each class gains by one of them. Of a pair of them, the second gains where its moves after the
//! first are not among its moves before: both are sorted lists, and one walk along them tells. (Most
//! writes lead to the same state wherever they start; asking about each pair by itself was most of the
//! work with dozens of them.) The search depth first asks for all that last, since most configurations
//! need no pending operation.
//!
//! *It would be unsound to* try only chains of one pending operation, or to drop a chain because
//! another one led to the same states with other operations, unless that one used no more of any
//! class.

use super::mask::Mask;
use super::part::{PendingId, Rank};
use super::space::{Configuration, Space, Step, Successors};
use super::used::UseId;
use hashbrown::HashMap;
use seriatim_limits::{InOrder, checkpoint, checkpoint_after};
use seriatim_spec::{ClassId, StateId};
use std::sync::Arc;

/// Beyond this many bytes of what is remembered all is forgotten: what was asked lately is asked
/// again, and the memory is better used for configurations.
const LIMIT: usize = 4 << 20;

/// So many moves are compared in the time between two checkpoints.
const LOOKED_AT_ONCE: u32 = 64;

/// A pending operation that leads to another state.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Move {
    pending: PendingId,
    to: StateId,
}

/// Two pending operations of which the first makes the second lead somewhere new.
#[derive(Clone, Copy)]
pub(super) struct Chain {
    first: Move,
    second: Move,
}

/// What is remembered of pending operations that make others possible.
#[derive(Default)]
pub(super) struct Enabling {
    /// By state: where pending operations lead, sorted.
    moves: HashMap<StateId, Arc<[Move]>>,
    /// By state and class: the pending operations after which the class leads somewhere new, and
    /// where it leads.
    enablers: HashMap<(StateId, ClassId), Arc<[Move]>>,
    /// By state: the chains that begin there.
    chains: HashMap<StateId, Arc<[Chain]>>,
    bytes: usize,
}

impl Enabling {
    /// About how much memory that takes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Notes that something of this size is remembered, before it is.
    fn note<T>(&mut self, remembered: &[T]) {
        if self.bytes > LIMIT {
            *self = Enabling::default();
        }
        self.bytes += size_of_val(remembered) + 64;
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
                    self.emit(from, used, &steps, (rank, enabler.to), successors);
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
        for &Chain { first, second } in self.chains(from.state).iter() {
            let is_there = |pending| helpers.binary_search(pending).is_ok();
            if !is_there(&first.pending) || !is_there(&second.pending) {
                continue;
            }
            let used = self.uses.with(from.used, first.pending);
            if self.is_exhausted(from.frontier, used, second.pending) {
                continue;
            }
            let used = self.uses.with(used, second.pending);
            walk.steps.extend([Step::Pending(first.pending), Step::Pending(second.pending)]);
            self.follow_chain(from, used, (first.to, second.to), &mut walk, successors);
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
            let class = self.part.class(rank);
            let answer = self.transitions.step(now, class);
            for nth in 0..self.transitions.count(answer) {
                checkpoint();
                let after = self.transitions.nth(answer, nth);
                if !self.transitions.leads_to(before, class, after) {
                    self.emit(from, used, &walk.steps, (rank, after), successors);
                }
            }
        }
        let moves = self.moves(now);
        let mut moves = &moves[..];
        for &pending in walk.helpers {
            let skipped = moves.partition_point(|next| next.pending < pending);
            moves = &moves[skipped..];
            let here = moves.iter().take_while(|next| next.pending == pending);
            if here.clone().next().is_none() || self.is_exhausted(from.frontier, used, pending) {
                continue;
            }
            for &Move { to: after, .. } in here {
                if !self.transitions.leads_to(before, self.part.pending_class(pending), after) {
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

    /// Where pending operations lead from a state, but for those that change nothing; sorted.
    fn moves(&mut self, state: StateId) -> Arc<[Move]> {
        if let Some(known) = self.enabling.moves.get(&state) {
            return known.clone();
        }
        let mut found = Vec::new();
        for pending in self.part.pending() {
            let answer = self.transitions.step(state, self.part.pending_class(pending));
            for nth in 0..self.transitions.count(answer) {
                checkpoint();
                let to = self.transitions.nth(answer, nth);
                found.extend((to != state).then_some(Move { pending, to }));
            }
        }
        found.put_in_order();
        let found: Arc<[Move]> = found.into();
        self.enabling.note(&found);
        self.enabling.moves.insert(state, found.clone());
        found
    }

    /// The pending operations after which a class leads somewhere new from a state, and where it
    /// leads.
    fn enablers(&mut self, state: StateId, class: ClassId) -> Arc<[Move]> {
        if let Some(known) = self.enabling.enablers.get(&(state, class)) {
            return known.clone();
        }
        let mut found = Vec::new();
        for &Move { pending, to: between } in self.moves(state).iter() {
            let answer = self.transitions.step(between, class);
            for nth in 0..self.transitions.count(answer) {
                checkpoint();
                let after = self.transitions.nth(answer, nth);
                if !self.transitions.leads_to(state, class, after) {
                    found.push(Move { pending, to: after });
                }
            }
        }
        let found: Arc<[Move]> = found.into();
        self.enabling.note(&found);
        self.enabling.enablers.insert((state, class), found.clone());
        found
    }

    /// The pairs of pending operations of which the first makes the second lead somewhere new.
    fn chains(&mut self, state: StateId) -> Arc<[Chain]> {
        if let Some(known) = self.enabling.chains.get(&state) {
            return known.clone();
        }
        let mut found = Vec::new();
        let before = self.moves(state);
        for &first in before.iter() {
            let after = self.moves(first.to);
            checkpoint_after(after.len() as u32 / LOOKED_AT_ONCE);
            let (mut known, mut second) = (&before[..], &after[..]);
            loop {
                // Nearly all are known.
                let same = known.iter().zip(second).take_while(|(a, b)| a == b).count();
                (known, second) = (&known[same..], &second[same..]);
                let Some((&next, rest)) = second.split_first() else { break };
                match known.first() {
                    Some(&other) if other < next => known = &known[1..],
                    _ => {
                        // Back to the state itself is no move there, and so is not among the known.
                        if next.to != state || !self.stays(state, next.pending) {
                            found.push(Chain { first, second: next });
                        }
                        second = rest;
                    }
                }
            }
        }
        let found: Arc<[Chain]> = found.into();
        self.enabling.note(&found);
        self.enabling.chains.insert(state, found.clone());
        found
    }

    /// Whether a pending operation may leave a state as it is.
    fn stays(&mut self, state: StateId, pending: PendingId) -> bool {
        self.transitions.leads_to(state, self.part.pending_class(pending), state)
    }
}
