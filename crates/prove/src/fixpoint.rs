//! The least set of views that contains the start and is closed under own steps and interference.
//!
//! Decided: whether every check holds in every view of that set. By induction over the steps of a
//! run of any number of threads, each thread's view of each state is then described by a view of
//! the set: an own step stays inside by the laws of [`crate::own`], a foreign one by those of
//! [`crate::effect`] and [`crate::interference`], because the acting thread's view is in the set,
//! too, and so is its effect.
//!
//! The set grows in rounds. First all views that wait, because they are new or have grown, take
//! their own steps, until none waits; then they meet all effects, and all others those that are new
//! since the last round, each effect once for all views that look alike ([`crate::alike`]). Views do
//! not change while effects are applied to a batch of groups, so the groups of a batch are shared by
//! all processors; what they find is added in the order of the groups, whoever found it, so that a
//! proof does not depend on how many processors there are.
//!
//! Cost: views times effects; the views are bounded by the options, beyond which the verdict is
//! unknown. A view that is worked off before all its effects and widenings have arrived would make
//! it unsound; whatever grows is therefore queued again, and is left out of the rest of its round
//! only then.

use crate::abstraction::initial_view;
use crate::alike::{Encounter, Found, Group, Halted, groups};
use crate::content::Abstraction;
use crate::interference::Interference;
use crate::model::Model;
use crate::outcome::{At, Obstacle, Options};
use crate::record::Shape;
#[cfg(feature = "sabotage")]
use crate::sabotage::Sabotage;
use crate::step::{Setting, transitions};
use crate::views::Views;
use rustc_hash::FxHashSet;
use seriatim_spec::Cancel;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread::{Builder, available_parallelism};

/// How many groups meet effects before what they found is added.
const BATCH: usize = 256;

/// Below so many encounters of a group with an effect, one thread is as quick as several.
const FEW: usize = 2_000;

/// The set of views, as far as it has grown.
pub struct Fixpoint<'m> {
    model: &'m Model,
    abstraction: Abstraction,
    /// The views.
    pub views: Views,
    /// The effects of one thread on others.
    pub effects: Vec<Arc<Interference>>,
    /// The records that threads publish.
    pub shapes: Vec<Shape>,
    /// Whether a step took out several nodes at once, and its effect leaves out what lay on the
    /// path.
    pub path_untold: bool,
    known: FxHashSet<Arc<Interference>>,
    /// How many of the effects all views that do not wait have met: the others are new.
    met: usize,
    work: u64,
    cancel: Cancel,
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

impl From<Halted> for Block {
    fn from((obstacle, view, at): Halted) -> Block {
        Block { obstacle, view, at }
    }
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
            met: 0,
            work: 0,
            cancel: Cancel::never(),
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
        while self.views.is_any_waiting() {
            let moved = self.own_steps(options)?;
            let (old, new) = self.effects.split_at(self.met);
            let (old, new) = (old.to_vec(), new.to_vec());
            self.met = self.effects.len();
            let rest: Vec<usize> = if new.is_empty() {
                vec![]
            } else {
                let has_moved: FxHashSet<usize> = moved.iter().copied().collect();
                (0..self.views.list.len()).filter(|view| !has_moved.contains(view)).collect()
            };
            let all: Vec<Arc<Interference>> = old.iter().chain(&new).cloned().collect();
            self.disturb(&moved, &all, options)?;
            self.disturb(&rest, &new, options)?;
        }
        Ok(())
    }

    /// Own steps of all views that wait, and of those that come about by them; gives their numbers.
    fn own_steps(&mut self, options: &Options) -> Result<Vec<usize>, Block> {
        let mut moved: Vec<usize> = Vec::new();
        while let Some(number) = self.views.take() {
            self.heed(options, number)?;
            self.step(number)?;
            moved.push(number);
        }
        moved.sort_unstable();
        moved.dedup();
        Ok(moved)
    }

    /// Stops at the limits, and when asked to.
    fn heed(&self, options: &Options, number: usize) -> Result<(), Block> {
        let is_over = self.views.list.len() > options.views || self.work > options.work;
        match is_over || self.cancel.is_raised() {
            true => Err(Block { obstacle: Obstacle::Limit, view: number, at: At::Start }),
            false => Ok(()),
        }
    }

    /// Adds what the steps of the view's thread make of a view, and what others see of them.
    fn step(&mut self, number: usize) -> Result<(), Block> {
        let view = self.views.list[number].clone();
        let setting =
            Setting { model: self.model, abstraction: &self.abstraction, shapes: &self.shapes };
        let stuck = |obstacle, at| Block { obstacle, view: number, at };
        // A step may have any number of outcomes, so it is left in the middle.
        let stepped = self.cancel.during(|| transitions(setting, &view));
        let stepped = stepped.map_err(|_| stuck(Obstacle::Limit, At::Start))?;
        for stepped in stepped.map_err(|(obstacle, at)| stuck(obstacle, at))? {
            self.views.add(&stepped.view, (number, stepped.at));
            self.path_untold |= stepped.path_untold;
            for shape in stepped.shapes {
                self.publish(shape);
            }
            if let Some(effect) = stepped.interference.map(Arc::new)
                && self.known.insert(effect.clone())
                && !self.effects.iter().any(|known| known.is_weaker(&effect))
            {
                self.notice(effect);
            }
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

    /// A new effect takes the place of those that say more.
    fn notice(&mut self, effect: Arc<Interference>) {
        let stays = |known: &&Arc<Interference>| !effect.is_weaker(known);
        self.met = self.effects[..self.met].iter().filter(stays).count();
        self.effects.retain(|known| stays(&known));
        self.effects.push(effect);
    }

    /// Adds what effects make of views.
    fn disturb(
        &mut self,
        views: &[usize],
        effects: &[Arc<Interference>],
        options: &Options,
    ) -> Result<(), Block> {
        #[cfg(feature = "sabotage")]
        let effects = &self.heeded(effects)[..];
        let left = views.iter().copied().filter(|view| !self.views.is_waiting(*view));
        let groups = if effects.is_empty() { vec![] } else { groups(&self.views.list, left) };
        for batch in groups.chunks(BATCH) {
            for found in self.meet(batch, effects) {
                for (view, origin) in found? {
                    self.views.add(&view, origin);
                }
            }
            self.work += (effects.len() * batch.len()) as u64;
            self.heed(options, 0)?;
        }
        Ok(())
    }

    /// What effects make of a batch of groups, in the order of the groups.
    fn meet(&self, batch: &[Group], effects: &[Arc<Interference>]) -> Vec<Met> {
        let processors = match batch.len() * effects.len() < FEW {
            true => 1,
            false => available_parallelism().map_or(1, usize::from),
        };
        let share = batch.len().div_ceil(processors);
        let work = &|groups: &[Group]| -> Met {
            let mut encounter = Encounter::new(self.model, &self.abstraction, &self.views);
            for group in groups {
                if self.cancel.is_raised() {
                    break;
                }
                encounter.meet(group, effects.iter().map(|effect| &**effect))?;
            }
            Ok(encounter.found)
        };
        let mut shares = batch.chunks(share);
        let own = shares.next();
        std::thread::scope(|scope| {
            let others: Vec<_> = shares
                .map(|share| (share, Builder::new().spawn_scoped(scope, move || work(share))))
                .collect();
            let mut met: Vec<Met> = own.map(work).into_iter().collect();
            met.extend(others.into_iter().map(|(share, thread)| match thread {
                Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
                Err(_) => work(share),
            }));
            met
        })
    }

    /// The effects that are not ignored on purpose.
    #[cfg(feature = "sabotage")]
    fn heeded(&self, effects: &[Arc<Interference>]) -> Vec<Arc<Interference>> {
        let is_first = |effect: &Arc<Interference>| self.effects.first() == Some(effect);
        let heeded = effects.iter().filter(|effect| match self.views.sabotage {
            Some(Sabotage::NoInterference) => false,
            Some(Sabotage::OneEffect) => is_first(effect),
            _ => true,
        });
        heeded.cloned().collect()
    }

    /// Whether a canonical view is covered by the set.
    #[cfg(test)]
    pub fn covers(&self, view: &crate::view::View) -> bool {
        self.views.covers(view, &mut Vec::new())
    }
}

/// What a share of a batch found.
type Met = Result<Vec<Found>, Halted>;
