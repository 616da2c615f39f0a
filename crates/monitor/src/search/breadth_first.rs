//! Breadth first, just in time: all configurations that can stand at a return, return by return.
//!
//! *Theorem* (Lowe 2017, "just-in-time linearization"): it is enough to linearize operations when
//! some operation returns that is not linearized yet, so after each return the set of
//! configurations that reach it decides everything that follows; the history is linearizable iff
//! the set never becomes empty. The past can be forgotten: memory follows the concurrency, and
//! where the set becomes empty is a return up to which the history is linearizable and at which it
//! fails.
//!
//! It refutes as soon as the reason for it has passed, wherever the end of the history is; where
//! many operations are open together it keeps more than the depth-first search would visit.

use super::engine::Search;
use super::mask::Mask;
use super::origins::{OriginId, Origins};
use super::part::Rank;
use super::seen::Seen;
use super::space::{Configuration, Space, Step, Successors};
use super::{Effort, Progress};
use seriatim_limits::checkpoint;
use std::collections::BTreeMap;

/// A breadth-first search that can be paused.
pub struct BreadthFirst<'a, M> {
    space: Space<'a>,
    layers: BTreeMap<Rank, Layer<M>>,
    /// How each configuration was reached, back to the last moment at which there was only one.
    origins: Origins,
    /// The order up to that moment.
    settled: Vec<Step>,
    successors: Successors<M>,
    farthest: Rank,
    configurations: usize,
}

/// The configurations whose frontier is the same.
struct Layer<M> {
    seen: Seen<M>,
    waiting: Vec<(Configuration<M>, OriginId)>,
    next: usize,
}

impl<M> Default for Layer<M> {
    fn default() -> Self {
        Layer { seen: Seen::default(), waiting: Vec::new(), next: 0 }
    }
}

impl<'a, M: Mask> BreadthFirst<'a, M> {
    /// A search of a space, before its first step.
    pub fn new(mut space: Space<'a>) -> Self {
        let (root, settled) = space.root();
        let mut search = BreadthFirst {
            space,
            layers: BTreeMap::new(),
            origins: Origins::default(),
            settled,
            successors: Successors::default(),
            farthest: root.frontier,
            configurations: 1,
        };
        let layer = search.layers.entry(root.frontier).or_default();
        layer.seen.insert(&root, &search.space.uses);
        layer.waiting.push((root, OriginId::ROOT));
        search
    }

    fn keep_successors(&mut self, parent: OriginId) {
        for (configuration, steps) in self.successors.iter() {
            checkpoint();
            let layer = self.layers.entry(configuration.frontier).or_default();
            if layer.seen.insert(configuration, &self.space.uses) {
                let origin = self.origins.add(parent, steps);
                layer.waiting.push((configuration.clone(), origin));
                self.configurations += 1;
            }
        }
    }

    /// Makes the way to a configuration final and forgets all other ways; gives its new origin.
    fn settle(&mut self, origin: OriginId) -> OriginId {
        self.settled.extend(self.origins.path(origin));
        self.origins.clear();
        OriginId::ROOT
    }

    /// An estimate of the memory in use, in bytes.
    fn bytes(&self) -> usize {
        let layers: usize = self
            .layers
            .values()
            .map(|layer| {
                layer.seen.bytes() + layer.waiting.len() * size_of::<(Configuration<M>, u32)>()
            })
            .sum();
        self.space.bytes() + layers + self.origins.bytes() + self.settled.len() * 8
    }
}

impl<M: Mask> Search for BreadthFirst<'_, M> {
    fn run(&mut self, effort: &mut Effort<'_>) -> Progress {
        loop {
            let Some(mut first) = self.layers.first_entry() else {
                return Progress::Exhausted;
            };
            let frontier = *first.key();
            let layer = first.get_mut();
            let Some((configuration, origin)) = layer.waiting.get(layer.next).cloned() else {
                first.remove();
                continue;
            };
            layer.next += 1;
            let is_alone = layer.waiting.len() == 1 && frontier > self.farthest;
            self.farthest = frontier;
            let origin = match is_alone && self.layers.len() == 1 {
                true => self.settle(origin),
                false => origin,
            };
            if self.space.is_complete(&configuration) {
                self.settle(origin);
                return Progress::Found(std::mem::take(&mut self.settled));
            }
            if self.layers[&frontier].seen.is_least(&configuration) {
                self.space.expand(&configuration, &mut self.successors);
                self.keep_successors(origin);
                if let Some(pause) = effort.spend(self.successors.len(), || self.bytes()) {
                    return pause;
                }
            }
        }
    }

    fn farthest(&self) -> Rank {
        self.farthest
    }

    fn configurations(&self) -> usize {
        self.configurations
    }

    fn settled(&self) -> &[Step] {
        &self.settled
    }
}
