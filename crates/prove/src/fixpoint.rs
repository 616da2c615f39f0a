//! The least set of views that contains the start and is closed under own steps and interference.
//!
//! Decided: whether every check holds in every view of that set. By induction over the steps of a run of any number of
//! threads, each thread's view of each state is then described by a view of the set: an own step stays inside by
//! the laws of [`crate::own`], a foreign one by those of [`crate::effect`] and [`crate::interfere`], because the acting
//! thread's view is in the set, too, and so is its effect. Cost: views times effects; the views are bounded by the
//! options, beyond which the verdict is unknown.

use crate::abstraction::initial_view;
use crate::content::Abstraction;
use crate::effect::{Effect, Outlook};
use crate::interfere::interfere;
use crate::model::Model;
use crate::outcome::{At, Obstacle, Options};
use crate::step::transitions;
use crate::view::View;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;
use std::rc::Rc;

/// The set of views, as far as it has grown.
pub struct Fixpoint<'m> {
    model: &'m Model,
    abstraction: Abstraction,
    /// The views.
    pub views: Vec<View>,
    /// How each view first came about: from which view, by which step.
    pub origins: Vec<(usize, At)>,
    /// The effects of one thread on others.
    pub effects: Vec<Rc<Effect>>,
    index: FxHashMap<Vec<u8>, usize>,
    known: FxHashSet<Rc<Effect>>,
    waiting: Vec<bool>,
    queue: VecDeque<usize>,
    work: u64,
}

/// Where a fixpoint got stuck.
pub struct Block {
    /// Why.
    pub obstacle: Obstacle,
    /// In which view.
    pub view: usize,
    /// At which step.
    pub at: At,
}

impl<'m> Fixpoint<'m> {
    /// An empty set.
    pub fn new(model: &'m Model, abstraction: Abstraction) -> Fixpoint<'m> {
        Fixpoint {
            model,
            abstraction,
            views: vec![],
            origins: vec![],
            effects: vec![],
            index: FxHashMap::default(),
            known: FxHashSet::default(),
            waiting: vec![],
            queue: VecDeque::new(),
            work: 0,
        }
    }

    /// Grows the set until it is closed.
    pub fn run(&mut self, options: &Options) -> Result<(), Block> {
        let stuck = |view, obstacle, at| Block { obstacle, view, at };
        let initial = initial_view(self.model).map_err(|o| stuck(0, o, At::Start))?;
        let initial = initial.canonical(self.model.tracking);
        let empty = self.abstraction.is_empty(self.model, &initial);
        self.add(initial, (0, At::Start));
        match empty {
            Ok(true) => {}
            Ok(false) => return Err(stuck(0, Obstacle::NotEmptyAtStart, At::Start)),
            Err(obstacle) => return Err(stuck(0, obstacle, At::Start)),
        }
        while let Some(number) = self.queue.pop_front() {
            if self.views.len() > options.views || self.work > options.work {
                return Err(stuck(number, Obstacle::Limit, At::Start));
            }
            self.waiting[number] = false;
            self.close(number)?;
        }
        Ok(())
    }

    fn close(&mut self, number: usize) -> Result<(), Block> {
        let view = self.views[number].clone();
        let stepped = transitions(self.model, &self.abstraction, &view)
            .map_err(|(obstacle, at)| Block { obstacle, view: number, at })?;
        for stepped in stepped {
            self.add(stepped.view, (number, stepped.at));
            if let Some(effect) = stepped.effect.map(Rc::new)
                && self.known.insert(effect.clone())
            {
                for other in 0..self.views.len() {
                    if !self.waiting[other] && other != number {
                        let outlook = Outlook::of(&self.views[other]);
                        self.disturb(other, &effect, &outlook)?;
                    }
                }
                self.effects.push(effect);
            }
        }
        let outlook = Outlook::of(&view);
        for effect in 0..self.effects.len() {
            let effect = self.effects[effect].clone();
            self.disturb(number, &effect, &outlook)?;
        }
        Ok(())
    }

    fn disturb(&mut self, number: usize, effect: &Effect, outlook: &Outlook) -> Result<(), Block> {
        self.work += 1;
        let at = At::Other(effect.pc);
        let block = |obstacle| Block { obstacle, view: number, at };
        let view = &self.views[number];
        let disturbed = interfere(self.model, effect, view, outlook).map_err(block)?;
        for mut view in disturbed {
            self.abstraction.observe(self.model, &mut view).map_err(block)?;
            self.add(view.canonical(self.model.tracking), (number, at));
        }
        Ok(())
    }

    fn add(&mut self, view: View, origin: (usize, At)) {
        let skeleton = view.skeleton(self.model.tracking);
        match self.index.get(&skeleton).copied() {
            None => {
                self.index.insert(skeleton, self.views.len());
                self.queue.push_back(self.views.len());
                self.waiting.push(true);
                self.views.push(view);
                self.origins.push(origin);
            }
            Some(number) => {
                if self.views[number].widen(&view) && !self.waiting[number] {
                    self.waiting[number] = true;
                    self.queue.push_back(number);
                }
            }
        }
    }

    /// Whether a canonical view is covered by the set.
    pub fn covers(&self, view: &View) -> bool {
        let skeleton = view.skeleton(self.model.tracking);
        self.index.get(&skeleton).is_some_and(|number| self.views[*number].covers(view))
    }
}
