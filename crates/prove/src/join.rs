//! Joining views.
//!
//! The *skeleton* of a view is all of it but its weights: the content of gaps and, where values are coloured, the colours
//! of public nodes. Two views with one skeleton are joined weight by weight; the set of weights is finite and so is the
//! set of skeletons that canonical views of a program have, as far as the number of explicit nodes is. Law: the join
//! covers both, and a view that covers another describes all its states.

use crate::model::Tracking;
use crate::view::{Gap, View};

impl View {
    /// The view without its weights.
    pub fn skeleton(&self, tracking: Tracking) -> View {
        let mut view = self.clone();
        for node in &mut view.nodes {
            let empty = node.gap.is_empty();
            node.gap = Gap { attrs: 0, values: 0, optional: true, sorted: true };
            if tracking == Tracking::Colour {
                node.gap.optional = empty;
                node.values = if node.private { node.values } else { 0 };
            }
        }
        view
    }

    /// Widens this view so that it covers another one with the same skeleton; says whether it changed.
    pub fn widen(&mut self, other: &View) -> bool {
        let mut changed = false;
        for (mine, theirs) in self.nodes.iter_mut().zip(&other.nodes) {
            let before = (mine.gap, mine.values);
            mine.values |= theirs.values;
            mine.gap = Gap {
                attrs: mine.gap.attrs | theirs.gap.attrs,
                values: mine.gap.values | theirs.gap.values,
                optional: mine.gap.optional || theirs.gap.optional,
                sorted: mine.gap.sorted && theirs.gap.sorted,
            };
            changed |= before != (mine.gap, mine.values);
        }
        changed
    }

    /// Whether this view describes all that another one with the same skeleton does.
    pub fn covers(&self, other: &View) -> bool {
        !self.clone().widen(other)
    }
}
