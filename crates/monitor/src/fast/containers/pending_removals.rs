//! Removals that never returned: which value did each of them take, if any?
//!
//! **Decides** whether some assignment of pending removals to values leaves a container that a
//! monitor can order.
//!
//! **Theorem.** A pending removal removed one of the values that no completed removal returned, or
//! nothing. If it removed `v`, that only shortens the cells that `v` covers, and never harms the
//! rest; an earlier call is at least as good. So an injective assignment of pending removals to
//! never removed values is looked for. Where a discipline says so, the assignment in order (the
//! first inserted to the first called) is as good as any. Else: run the monitor; if it is stuck on
//! a core of values that has no order under the present assignment, then every solution assigns a
//! removal to a never removed value of that core: branch on these. Exact.
//!
//! **Cost.** At most k deep for k pending removals, and immediate if no value of the core is never
//! removed, which is the usual case of a real violation. More than [`NODES`] cases are declined.
//!
//! **What would make it unsound:** leaving out a choice of [`Branching::choices`] that shortens the
//! coverage of a value differently from the one that is tried; branching on a core that has an
//! order.

use crate::fast::containers::container::{Container, Item, Rank, Span};
use crate::fast::containers::container_driver::{Core, Discipline, minimal};
use crate::fast::containers::coverage::Coverage;
use crate::fast::{Declined, Part};
use seriatim_limits::InOrder;

/// How many cases of pending removals are tried before the monitor declines.
const NODES: usize = 4096;

/// What became of the search for an assignment.
pub(in crate::fast) enum Assigned<P> {
    /// With these removals the monitor has a plan.
    Decided(Box<Container>, (Coverage, P)),
    /// There is none: the cores that it was stuck on.
    Stuck(Vec<Core>),
}

/// Assigns pending removals to values of a container, which is stuck on a core without them.
pub(in crate::fast) fn assign<D: Discipline>(
    discipline: &D,
    part: Part<'_>,
    container: &Container,
    core: Core,
) -> Result<Assigned<D::Plan>, Declined> {
    let mut search = Branching {
        discipline,
        part,
        container: container.clone(),
        used: vec![false; container.pending.len()],
        nodes: 0,
        cores: Vec::new(),
    };
    Ok(match search.branch(core)? {
        Some(decided) => Assigned::Decided(Box::new(search.container), decided),
        None => Assigned::Stuck(search.cores),
    })
}

/// The i-th of the never removed values, by insertion, gets the i-th pending removal.
pub(in crate::fast) fn assign_in_order(container: &mut Container) {
    let mut inside: Vec<Item> = container.items().collect();
    inside.retain(|item| !container.remove[item.index()].exists());
    inside.put_in_order_by_key(|item| container.insert[item.index()].ret);
    let assigned = inside.len().min(container.pending.len());
    let left = container.pending.split_off(assigned);
    for (item, removal) in inside.into_iter().zip(std::mem::replace(&mut container.pending, left)) {
        container.assign(item, removal);
    }
}

struct Branching<'d, D: Discipline> {
    discipline: &'d D,
    part: Part<'d>,
    container: Container,
    used: Vec<bool>,
    nodes: usize,
    cores: Vec<Core>,
}

impl<D: Discipline> Branching<'_, D> {
    /// Tries to get rid of a core by assigning a removal to one of its values.
    fn branch(&mut self, core: Core) -> Result<Option<(Coverage, D::Plan)>, Declined> {
        let core = minimal(self.discipline, self.part, &self.container, core);
        self.cores.push(core.clone());
        for item in core.items {
            if self.container.remove[item.index()].exists() {
                continue;
            }
            for choice in self.choices(item) {
                self.nodes += 1;
                self.part.spend(self.container.len() + 1)?;
                if self.nodes > NODES {
                    let tried = self.nodes;
                    return Err(Declined::TooManyChoices { tried });
                }
                self.used[choice] = true;
                self.container.assign(item, self.container.pending[choice]);
                let solution = self.node()?;
                if solution.is_some() {
                    return Ok(solution);
                }
                self.used[choice] = false;
                self.container.remove[item.index()] = Span::NONE;
            }
        }
        Ok(None)
    }

    fn node(&mut self) -> Result<Option<(Coverage, D::Plan)>, Declined> {
        // An assigned removal returns at the end: it cannot contradict the value's other
        // operations.
        let Ok(coverage) = Coverage::new(&self.container) else {
            return Ok(None);
        };
        match self.discipline.plan(&self.container, &coverage) {
            Ok(plan) => Ok(Some((coverage, plan))),
            Err(core) => self.branch(core),
        }
    }

    /// The unused pending removals with different effects on a value: of those called before the
    /// value's own last call only the last, since they do the same.
    fn choices(&self, item: Item) -> Vec<usize> {
        let peeks = self.container.peeks_of(item);
        let insert = self.container.insert[item.index()].call;
        let last_call = peeks.iter().map(|p| p.span.call).fold(insert, Rank::max);
        let unused = (0..self.used.len()).filter(|&index| !self.used[index]);
        let (same, later): (Vec<usize>, Vec<usize>) =
            unused.partition(|&index| self.container.pending[index].call <= last_call);
        same.last().copied().into_iter().chain(later).collect()
    }
}
