//! Interference: what one thread's step does to the view of another.
//!
//! The proof is thread-modular, in the manner of rely and guarantee: each step of a thread in some
//! view leaves an effect, without regard to who took it, and every effect is applied to every view.
//!
//! *Theorem.* Let the views describe every thread in a state, and let another thread take a step.
//! If the step's effect is among the effects, and all that [`Interference::disturb`] gives for the
//! observed thread's view is among the views, then a view describes the observed thread after the
//! step. By induction on the length of a run, views that are closed under own steps and under
//! interference describe every thread in every reachable state.
//!
//! There are four forms, by what the object is: a list (`list`), a cell, a number, and an operation
//! that another thread completed (`help`). Each has its own law, tested against the concrete
//! machine.
//!
//! *It would be unsound to* leave out a result for one way in which an effect can fit a view, or to
//! take facts of the acting thread (that it holds a lock) for facts of the observed one.

pub mod list;

use crate::cell::Exchange;
use crate::content::Abstraction;
use crate::counter::Update;
use crate::effect::{Effect, Outlook};
use crate::help::Help;
use crate::model::Model;
use crate::outcome::Obstacle;
use crate::view::View;
use list::Matcher;
use seriatim_lang::steps::Pc;

/// What others see of a step.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Interference {
    /// A change of the list or of shared variables.
    List(Effect),
    /// A change of a cell.
    Cell(Exchange),
    /// A change of shared variables, where the content is a number.
    Update(Update),
    /// The operation of another thread was completed.
    Help(Help),
}

/// The thread in whose view another one takes a step.
#[derive(Clone, Copy)]
pub struct Bystander<'v> {
    /// Its view.
    pub view: &'v View,
    /// What the view knows about the shared references.
    pub outlook: &'v Outlook,
}

impl Interference {
    /// The step.
    pub fn pc(&self) -> Pc {
        match self {
            Interference::List(effect) => effect.pc,
            Interference::Cell(exchange) => exchange.pc,
            Interference::Update(update) => update.pc,
            Interference::Help(help) => help.pc,
        }
    }

    /// Whether this does to every view what the other one does to it, or leaves something that says
    /// less.
    pub fn is_weaker(&self, other: &Interference) -> bool {
        match (self, other) {
            (Interference::List(a), Interference::List(b)) => a.is_weaker(b),
            (Interference::Cell(a), Interference::Cell(b)) => a.is_same(b),
            _ => false,
        }
    }

    /// Calls `found` for every view after the step of another thread, with the history bits up to
    /// date and not yet in canonical form.
    pub fn disturb(
        &self,
        model: &Model,
        abstraction: &Abstraction,
        bystander: Bystander<'_>,
        matcher: &mut Matcher,
        found: &mut dyn FnMut(&mut View),
    ) -> Result<(), Obstacle> {
        let view = bystander.view;
        let mut observed = |view: &mut View| {
            abstraction.observe(model, view)?;
            found(view);
            Ok(())
        };
        match self {
            Interference::List(effect) => {
                matcher.interfere(model, effect, bystander, &mut observed)
            }
            Interference::Cell(exchange) => {
                exchange.applied(model, abstraction, view)?.iter_mut().try_for_each(observed)
            }
            Interference::Update(update) => update.applied(view).iter_mut().try_for_each(observed),
            Interference::Help(help) => {
                help.applied(model, view)?.iter_mut().try_for_each(observed)
            }
        }
    }
}
