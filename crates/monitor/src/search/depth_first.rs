//! Depth first: the search of Wing & Gong with Lowe's memory of configurations.
//!
//! *Theorem* (Wing & Gong 1993; Lowe 2017): a history is linearizable iff repeatedly linearizing
//! some operation that no unlinearized one precedes, as the specification allows, reaches the end; and
//! a configuration that was left without success need never be entered again. The paper's bit set of
//! all operations is replaced by the frontier and a set of slots ([`part`](super::part)), so that a
//! remembered configuration takes a few words whatever the length of the history.
//!
//! It finds a witness fast where there is one, since it commits to choices; it must exhaust the space
//! to refute. Cost: one expansion a configuration; memory: all configurations met.

use super::engine::Search;
use super::mask::Mask;
use super::part::Rank;
use super::seen::Seen;
use super::space::{Configuration, Space, Step, Successors};
use super::{Effort, Progress};

/// A depth-first search that can be paused.
pub struct DepthFirst<'a, M> {
    space: Space<'a>,
    seen: Seen<M>,
    stack: Vec<Entry<M>>,
    /// The steps of the entries on the stack, in its order.
    steps: Vec<Step>,
    /// The steps from the root to the configuration entered last.
    trail: Vec<Step>,
    successors: Successors<M>,
    farthest: Rank,
}

struct Entry<M> {
    configuration: Configuration<M>,
    trail: u32,
    steps: u32,
}

impl<'a, M: Mask> DepthFirst<'a, M> {
    /// A search of a space, before its first step.
    pub fn new(mut space: Space<'a>) -> Self {
        let (root, steps) = space.root();
        let mut seen = Seen::default();
        seen.insert(&root, &space.uses);
        DepthFirst {
            space,
            seen,
            stack: vec![Entry { configuration: root, trail: 0, steps: 0 }],
            steps,
            trail: Vec::new(),
            successors: Successors::default(),
            farthest: Rank(0),
        }
    }

    /// The last successor is pushed first, so that the first is entered first.
    fn push_successors(&mut self) {
        let trail = self.trail.len() as u32;
        for (configuration, steps) in self.successors.iter().rev() {
            if self.seen.insert(configuration, &self.space.uses) {
                let start = self.steps.len() as u32;
                self.steps.extend_from_slice(steps);
                let configuration = configuration.clone();
                self.stack.push(Entry { configuration, trail, steps: start });
            }
        }
    }

    /// An estimate of the memory in use, in bytes.
    fn bytes(&self) -> usize {
        let stack = self.stack.len() * size_of::<Entry<M>>() + self.steps.len() * 8;
        self.space.bytes() + self.seen.bytes() + stack + self.trail.len() * 8
    }
}

impl<M: Mask> Search for DepthFirst<'_, M> {
    fn run(&mut self, effort: &mut Effort<'_>) -> Progress {
        while let Some(Entry { configuration, trail, steps }) = self.stack.pop() {
            self.trail.truncate(trail as usize);
            self.trail.extend(self.steps.drain(steps as usize..));
            if self.space.is_complete(&configuration) {
                return Progress::Found(std::mem::take(&mut self.trail));
            }
            if configuration.frontier > self.farthest {
                self.farthest = configuration.frontier;
            }
            self.space.expand(&configuration, &mut self.successors);
            self.push_successors();
            if let Some(pause) = effort.spend(|| self.bytes()) {
                return pause;
            }
        }
        Progress::Exhausted
    }

    fn farthest(&self) -> Rank {
        self.farthest
    }

    fn configurations(&self) -> usize {
        self.seen.len()
    }

    fn settled(&self) -> &[Step] {
        &[]
    }
}
