//! The least set of views that contains the start and is closed under own steps and interference.
//!
//! Decided: whether every check holds in every view of that set. By induction over the steps of a
//! run of any number of threads, each thread's view of each state is then described by a view of
//! the set: an own step stays inside by the laws of [`crate::own`], a foreign one by those of
//! [`crate::effect`] and [`crate::interference`], because the acting thread's view is in the set,
//! too, and so is its effect. Cost: views times effects; the views are bounded by the options,
//! beyond which the verdict is unknown. A view that is worked off before all its effects and
//! widenings have arrived would make it unsound; whatever grows is therefore queued again.

use crate::abstraction::initial_view;
use crate::content::Abstraction;
use crate::effect::Outlook;
use crate::interference::list::Matcher;
use crate::interference::{Bystander, Interference};
use crate::model::Model;
use crate::outcome::{At, Obstacle, Options};
use crate::record::Shape;
#[cfg(feature = "sabotage")]
use crate::sabotage::Sabotage;
use crate::step::{Setting, transitions};
use crate::view::{Node, View};
use crate::views::Views;
use rustc_hash::FxHashSet;
use seriatim_spec::Cancel;
use std::rc::Rc;

/// The set of views, as far as it has grown.
pub struct Fixpoint<'m> {
    model: &'m Model,
    abstraction: Abstraction,
    /// The views.
    pub views: Views,
    /// The effects of one thread on others.
    pub effects: Vec<Rc<Interference>>,
    /// The records that threads publish.
    pub shapes: Vec<Shape>,
    /// Whether a step took out several nodes at once, and its effect leaves out what lay on the
    /// path.
    pub path_untold: bool,
    known: FxHashSet<Rc<Interference>>,
    work: u64,
    cancel: Cancel,
    matcher: Matcher,
    spare: Vec<Node>,
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
            views: Views::new(model.tracking),
            effects: vec![],
            shapes: vec![],
            path_untold: false,
            known: FxHashSet::default(),
            work: 0,
            cancel: Cancel::never(),
            matcher: Matcher::default(),
            spare: vec![],
        }
    }

    /// Grows the set until it is closed.
    pub fn run(&mut self, options: &Options) -> Result<(), Block> {
        #[cfg(feature = "sabotage")]
        {
            self.views.sabotage = options.sabotage;
        }
        self.cancel = options.cancel.clone();
        let stuck = |view, obstacle, at| Block { obstacle, view, at };
        let initial = initial_view(self.model).map_err(|o| stuck(0, o, At::Start))?;
        let initial = initial.canonical(self.model.tracking);
        let empty = self.abstraction.is_empty(self.model, &initial);
        self.views.add(&initial, (0, At::Start));
        match empty {
            Ok(true) => {}
            Ok(false) => return Err(stuck(0, Obstacle::NotEmptyAtStart, At::Start)),
            Err(obstacle) => return Err(stuck(0, obstacle, At::Start)),
        }
        while let Some(number) = self.views.take() {
            if self.views.list.len() > options.views || self.work > options.work {
                return Err(stuck(number, Obstacle::Limit, At::Start));
            }
            self.close(number)?;
        }
        Ok(())
    }

    /// Adds what the steps of the view's thread and the known effects of others make of a view. If
    /// the view itself grows by that, it waits again.
    fn close(&mut self, number: usize) -> Result<(), Block> {
        let view = self.views.list[number].clone();
        let setting =
            Setting { model: self.model, abstraction: &self.abstraction, shapes: &self.shapes };
        let stepped = transitions(setting, &view).map_err(|(obstacle, at)| Block {
            obstacle,
            view: number,
            at,
        })?;
        for stepped in stepped {
            self.views.add(&stepped.view, (number, stepped.at));
            self.path_untold |= stepped.path_untold;
            for shape in stepped.shapes {
                self.publish(shape);
            }
            if let Some(effect) = stepped.interference.map(Rc::new)
                && self.known.insert(effect.clone())
                && !self.effects.iter().any(|known| known.is_weaker(&effect))
            {
                self.disturb_all(number, &effect)?;
                self.effects.retain(|known| !effect.is_weaker(known));
                self.effects.push(effect);
            }
        }
        let outlook = Outlook::of(&view);
        for effect in 0..self.effects.len() {
            let effect = self.effects[effect].clone();
            self.disturb(number, Bystander { view: &view, outlook: &outlook }, &effect)?;
        }
        Ok(())
    }

    /// A record that no thread has published so far may be found by all.
    fn publish(&mut self, shape: Shape) {
        if !self.shapes.contains(&shape) {
            self.shapes.push(shape);
            self.views.requeue();
        }
    }

    /// A new effect meets all views that were worked off before it was known; the one at hand meets
    /// it later.
    fn disturb_all(&mut self, at_hand: usize, effect: &Interference) -> Result<(), Block> {
        for other in 0..self.views.list.len() {
            if !self.views.is_waiting(other) && other != at_hand {
                let view = self.views.list[other].clone();
                let outlook = Outlook::of(&view);
                self.disturb(other, Bystander { view: &view, outlook: &outlook }, effect)?;
            }
        }
        Ok(())
    }

    fn disturb(
        &mut self,
        number: usize,
        bystander: Bystander<'_>,
        effect: &Interference,
    ) -> Result<(), Block> {
        self.work += 1;
        if self.cancel.is_raised() {
            return Err(Block { obstacle: Obstacle::Limit, view: number, at: At::Start });
        }
        #[cfg(feature = "sabotage")]
        if self.is_ignored(effect) {
            return Ok(());
        }
        let at = At::Other(effect.pc());
        let Fixpoint { model, abstraction, views, matcher, spare, .. } = self;
        let (model, abstraction) = (*model, *abstraction);
        let mut found = |view: &mut View| {
            view.canonicalize(model.tracking, spare);
            views.add(view, (number, at));
        };
        effect
            .disturb(model, &abstraction, bystander, matcher, &mut found)
            .map_err(|obstacle| Block { obstacle, view: number, at })
    }

    /// Whether an effect is ignored on purpose.
    #[cfg(feature = "sabotage")]
    fn is_ignored(&self, effect: &Interference) -> bool {
        match self.views.sabotage {
            Some(Sabotage::NoInterference) => true,
            Some(Sabotage::OneEffect) => {
                self.effects.first().is_some_and(|first| **first != *effect)
            }
            _ => false,
        }
    }

    /// Whether a canonical view is covered by the set.
    #[cfg(test)]
    pub fn covers(&self, view: &View) -> bool {
        self.views.covers(view)
    }
}
