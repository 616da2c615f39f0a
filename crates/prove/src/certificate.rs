//! Checking a proof again, in one pass and without the search that found it.
//!
//! A proof is a set of views. It is accepted if the start is covered, if every own step of every
//! view passes its checks and leads to a covered view, and if every effect that these steps have on
//! others takes every view to a covered one. That is the induction of [`crate::fixpoint`], without
//! its queue, its joins and its order of work. The pass shares the meaning of steps and effects
//! with the search; a mistake in those is for the concrete runs to find.

use crate::abstraction::initial_view;
use crate::effect::Outlook;
use crate::interference::list::Matcher;
use crate::interference::{Bystander, Interference};
use crate::model::Model;
use crate::outcome::{At, Obstacle, Proof};
use crate::step::{Setting, transitions};
use crate::view::View;
use rustc_hash::{FxHashMap, FxHashSet};
use seriatim_lang::Program;

/// Why a proof is not accepted.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Rejection {
    /// The program is outside of the class.
    Refused(String),
    /// The content is not one that the program can have.
    WrongAbstraction,
    /// The start is not covered, or the object is not empty there.
    Start,
    /// Two views have the same skeleton.
    Twice(usize),
    /// A step of the thread of this view does not pass.
    Check(usize, Obstacle),
    /// A step of the thread of this view leads out of the set.
    Step(usize, At),
    /// A step of another thread takes this view out of the set.
    Interference(usize, At),
}

impl std::fmt::Display for Rejection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Rejection::Refused(why) => f.write_str(why),
            Rejection::WrongAbstraction => f.write_str("the program cannot have this content"),
            Rejection::Start => f.write_str("the start is not covered, or not empty"),
            Rejection::Twice(view) => write!(f, "view {view} has the skeleton of another"),
            Rejection::Check(view, _) => write!(f, "a step of view {view} fails a check"),
            Rejection::Step(view, _) => write!(f, "a step of view {view} leads out of the set"),
            Rejection::Interference(view, _) => {
                write!(f, "a step of another thread takes view {view} out of the set")
            }
        }
    }
}

impl std::error::Error for Rejection {}

/// Checks a proof.
pub fn certify(program: &Program, proof: &Proof) -> Result<(), Rejection> {
    let model = Model::of(program, proof.reduction, 2).map_err(Rejection::Refused)?;
    let model = model.ok_or(Rejection::WrongAbstraction)?;
    let candidates = crate::content::Abstraction::candidates(&model);
    if !candidates.iter().any(|c| [*c, c.with_paths()].contains(&proof.abstraction)) {
        return Err(Rejection::WrongAbstraction);
    }
    Pass::new(&model, proof)?.run()
}

struct Pass<'p> {
    model: &'p Model,
    proof: &'p Proof,
    index: FxHashMap<Vec<u8>, usize>,
}

impl<'p> Pass<'p> {
    fn new(model: &'p Model, proof: &'p Proof) -> Result<Pass<'p>, Rejection> {
        let mut index = FxHashMap::default();
        for (number, view) in proof.views.iter().enumerate() {
            if index.insert(view.skeleton(model.tracking), number).is_some() {
                return Err(Rejection::Twice(number));
            }
        }
        Ok(Pass { model, proof, index })
    }

    fn run(&self) -> Result<(), Rejection> {
        let start = initial_view(self.model).map_err(|_| Rejection::Start)?;
        let start = start.canonical(self.model.tracking);
        let empty = self.proof.abstraction.is_empty(self.model, &start);
        if empty != Ok(true) || !self.covers(&start) {
            return Err(Rejection::Start);
        }
        let mut effects: FxHashSet<Interference> = FxHashSet::default();
        let shapes = &self.proof.shapes;
        let setting = Setting { model: self.model, abstraction: &self.proof.abstraction, shapes };
        for (number, view) in self.proof.views.iter().enumerate() {
            let stepped = transitions(setting, view)
                .map_err(|(obstacle, _)| Rejection::Check(number, obstacle))?;
            for stepped in stepped {
                if !self.covers(&stepped.view) {
                    return Err(Rejection::Step(number, stepped.at));
                }
                if !stepped.shapes.iter().all(|s| shapes.contains(s)) {
                    return Err(Rejection::Step(number, stepped.at));
                }
                effects.extend(stepped.interference);
            }
        }
        let mut views = self.proof.views.iter().enumerate();
        views.try_for_each(|(number, view)| self.stable(number, view, &effects))
    }

    fn stable(
        &self,
        number: usize,
        view: &View,
        effects: &FxHashSet<Interference>,
    ) -> Result<(), Rejection> {
        let outlook = Outlook::of(view);
        for effect in effects {
            let bystander = Bystander { view, outlook: &outlook };
            let (model, abstraction) = (self.model, &self.proof.abstraction);
            let mut covered = true;
            let mut found = |after: &mut View| {
                covered = covered && self.covers(&after.clone().canonical(self.model.tracking));
            };
            effect
                .disturb(model, abstraction, bystander, &mut Matcher::default(), &mut found)
                .map_err(|obstacle| Rejection::Check(number, obstacle))?;
            if !covered {
                return Err(Rejection::Interference(number, At::Other(effect.pc())));
            }
        }
        Ok(())
    }

    fn covers(&self, view: &View) -> bool {
        let number = self.index.get(&view.skeleton(self.model.tracking));
        number.is_some_and(|n| self.proof.views[*n].covers(view))
    }
}
