//! What one thread's step does to the view of another: the effect on a list, on a cell, on a number, or on the thread whose
//! operation it helped.

use crate::cell::Exchange;
use crate::content::Abstraction;
use crate::counter::Update;
use crate::effect::{Effect, Outlook};
use crate::help::Help;
use crate::interfere::Matcher;
use crate::model::Model;
use crate::outcome::Obstacle;
use crate::view::View;
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

    /// Whether this does to every view what the other one does to it, or leaves something that says less.
    pub fn is_weaker(&self, other: &Interference) -> bool {
        match (self, other) {
            (Interference::List(a), Interference::List(b)) => a.is_weaker(b),
            _ => false,
        }
    }

    /// Calls `found` for every view after the step of another thread, with the history bits up to date and not yet
    /// in canonical form; `outlook` is that of the view.
    pub fn disturb(
        &self,
        (model, abstraction): (&Model, &Abstraction),
        (view, outlook): (&View, &Outlook),
        matcher: &mut Matcher,
        found: &mut dyn FnMut(&mut View),
    ) -> Result<(), Obstacle> {
        let mut observed = |view: &mut View| {
            abstraction.observe(model, view)?;
            found(view);
            Ok(())
        };
        match self {
            Interference::List(effect) => {
                matcher.interfere(model, (effect, view, outlook), &mut observed)
            }
            Interference::Cell(exchange) => {
                exchange.applied((model, abstraction), view)?.iter_mut().try_for_each(observed)
            }
            Interference::Update(update) => update.applied(view).iter_mut().try_for_each(observed),
            Interference::Help(help) => {
                help.applied(model, view)?.iter_mut().try_for_each(observed)
            }
        }
    }
}
