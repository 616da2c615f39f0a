//! Why a small part is not linearizable: the partial orders that go farthest, and where each fails.

use super::engine::operations_of;
use super::mask::Mask;
use super::origins::{OriginId, Origins};
use super::part::Part;
use super::space::{Configuration, Space, Step, Successors};
use hashbrown::HashSet;
use seriatim_history::OpId;
use seriatim_limits::checkpoint;
use seriatim_spec::{Attempt, Cancel};

/// The partial orders to show.
const ATTEMPTS: usize = 3;
/// Configurations to look at before we are content with the attempts that we have.
const EFFORT: usize = 20_000;

/// The partial orders of a non-linearizable part that place the most operations, each with the
/// operations that should come next and why they cannot; before them the state in which the part
/// starts. Looks at a limited number of orders.
pub fn explain(part: &Part<'_>) -> (String, Vec<Attempt>) {
    let mut collector = Collector::new(part);
    let start = collector.walk();
    (start, collector.attempts)
}

/// As many open operations as anyone will want explained.
type Wide = Box<[u64]>;

struct Collector<'a> {
    part: &'a Part<'a>,
    space: Space<'a>,
    attempts: Vec<Attempt>,
}

impl<'a> Collector<'a> {
    fn new(part: &'a Part<'a>) -> Self {
        let space = Space::new(part, &Cancel::never()).without_outlook();
        Collector { part, space, attempts: Vec::new() }
    }

    /// Walks the orders; gives the state in which the part starts.
    fn walk(&mut self) -> String {
        let (root, settled) = self.space.root::<Wide>();
        let start = self.space.transitions.automaton().show(root.state);
        let mut seen: HashSet<_> = [root.clone()].into_iter().collect();
        let mut origins = Origins::default();
        let mut stack = vec![(root, OriginId::ROOT, settled.len())];
        let mut successors = Successors::default();
        while let Some((configuration, origin, length)) = stack.pop() {
            checkpoint();
            if self.space.is_complete(&configuration) || seen.len() > EFFORT {
                break;
            }
            self.space.expand(&configuration, &mut successors);
            if successors.iter().next().is_none() {
                self.consider(&configuration, length, || {
                    [&settled[..], &origins.path(origin)].concat()
                });
            }
            for (next, steps) in successors.iter().rev() {
                if seen.insert(next.clone()) {
                    let origin = origins.add(origin, steps);
                    stack.push((next.clone(), origin, length + steps.len()));
                }
            }
        }
        start
    }

    /// Keeps a dead end after so many steps if it goes at least as far as those kept, and fails in
    /// another way.
    fn consider(
        &mut self,
        configuration: &Configuration<Wide>,
        length: usize,
        trail: impl FnOnce() -> Vec<Step>,
    ) {
        let longest = self.attempts.first().map_or(0, |attempt| attempt.order.len());
        if length < longest {
            return;
        }
        if length > longest {
            self.attempts.clear();
        }
        let stuck = self.stuck(configuration);
        let is_known = self.attempts.iter().any(|attempt| attempt.stuck == stuck);
        if self.attempts.len() < ATTEMPTS && !is_known {
            let state = self.space.transitions.automaton().show(configuration.state);
            let order = operations_of(self.part, &trail());
            self.attempts.push(Attempt { order, state, stuck });
        }
    }

    /// The open operations that the state does not allow, each with the reason.
    fn stuck(&mut self, configuration: &Configuration<Wide>) -> Vec<(OpId, String)> {
        let (part, state) = (self.part, configuration.state);
        let mut stuck = Vec::new();
        for &rank in part.open(configuration.frontier) {
            let (class, slot) = (part.class(rank), part.slot(rank));
            let is_open = !configuration.linearized.has(slot);
            if is_open && !self.space.transitions.is_possible(state, class) {
                let reason = self.space.transitions.automaton().explain(state, class);
                stuck.push((part.operation(rank), reason));
            }
        }
        stuck
    }
}
