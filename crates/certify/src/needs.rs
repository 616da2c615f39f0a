//! Which views a certificate needs: those without which the checker rejects it.
//!
//! A view is needed if some state that has to be described, and that does not come from the view
//! itself, is described by no other one. Found in one pass over all such states, together with a
//! view from which such a state comes. A certificate in which all views are needed is minimal:
//! without any one of them it is rejected. Nothing here decides whether a certificate is accepted;
//! a mistake would only leave needless lines in it.

use crate::cover::covers;
use crate::pass::{Noticed, Pass, Rejection};
use crate::state::State;
use std::collections::BTreeSet;

/// From where a state comes that only one view describes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum From {
    /// From the start.
    Start,
    /// From this view.
    View(usize),
}

/// The needs of a certificate that is accepted.
pub struct Needs {
    /// For each view, from where a state comes that only it describes.
    pub by: Vec<Option<From>>,
    noticed: Noticed,
}

impl Needs {
    /// The needs of a certificate; an error if it is not accepted.
    pub fn of(pass: &Pass) -> Result<Needs, Rejection> {
        let count = pass.certificate.views.len();
        let mut by: Vec<Option<From>> = vec![None; count];
        let mut noticed = Noticed::default();
        noticed.effects = Some(BTreeSet::new());
        let mut meets = |from: Option<usize>, state: &State| note(pass, &mut by, from, state);
        pass.start(&mut meets)?;
        for view in 0..count {
            pass.own_steps(view, &mut noticed, &mut meets)?;
        }
        for view in 0..count {
            pass.others(view, &noticed, &mut meets)?;
        }
        let mut needs = Needs { by, noticed };
        needs.confirm(pass);
        Ok(needs)
    }

    /// Views without which nothing is missing.
    pub fn needless(&self) -> impl Iterator<Item = usize> {
        self.by.iter().enumerate().filter(|(_, by)| by.is_none()).map(|(view, _)| view)
    }

    /// An effect without which nothing is missing.
    pub fn needless_effect(&self, pass: &Pass) -> Option<usize> {
        let needed = self.noticed.effects.as_ref()?;
        (0..pass.certificate.effects.len()).find(|effect| !needed.contains(effect))
    }

    /// A view that is gone takes its own steps with it, and what others notice of these: for a need
    /// that rests on them, another one is looked for.
    fn confirm(&mut self, pass: &Pass) {
        if !pass.object.has_records() {
            return;
        }
        for view in 0..self.by.len() {
            if self.by[view].is_some() && self.rejection_without(pass, view).is_none() {
                let others = (0..self.by.len()).filter(|other| *other != view).map(From::View);
                let found = std::iter::once(From::Start)
                    .chain(others)
                    .find(|from| self.rejection_at(pass, view, *from).is_some());
                self.by[view] = found;
            }
        }
    }

    /// How the checker rejects the certificate without this view, at the place that needs it.
    pub fn rejection_without(&self, pass: &Pass, missing: usize) -> Option<Rejection> {
        self.rejection_at(pass, missing, self.by[missing]?)
    }

    fn rejection_at(&self, pass: &Pass, missing: usize, from: From) -> Option<Rejection> {
        let mut meets = |_: Option<usize>, state: &State| pass.index.covers_without(state, missing);
        match from {
            From::Start => pass.start(&mut meets).err(),
            From::View(from) => {
                let noticed = self.noticed.without(missing);
                let own = pass.own_steps(from, &mut Noticed::default(), &mut meets).err();
                own.or_else(|| pass.others(from, &noticed, &mut meets).err())
            }
        }
    }
}

/// Notes which views a state needs; says whether it is covered.
fn note(pass: &Pass, by: &mut [Option<From>], from: Option<usize>, state: &State) -> bool {
    // A state that the view it comes from describes needs no other one.
    if from.is_some_and(|from| covers(&pass.certificate.views[from].0, state)) {
        return true;
    }
    let Some(needed) = pass.index.needed(state) else { return false };
    for view in needed {
        let from = from.map_or(From::Start, From::View);
        if from != From::View(view) && by[view].is_none() {
            by[view] = Some(from);
        }
    }
    true
}
