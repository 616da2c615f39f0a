//! The set of views as far as it has grown: one view for each skeleton, which covers all that were
//! added with it, and a queue of those that are new or have grown.

use crate::model::Tracking;
use crate::outcome::At;
#[cfg(feature = "sabotage")]
use crate::sabotage::Sabotage;
use crate::view::View;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A set of views.
pub struct Views {
    tracking: Tracking,
    /// The views.
    pub list: Vec<View>,
    /// How each view first came about: from which view, by which step.
    pub origins: Vec<(usize, At)>,
    index: FxHashMap<Vec<u8>, u32>,
    waiting: Vec<bool>,
    /// The oldest first: what a late view adds to an old one is then collected before the old one
    /// is worked off again.
    queue: BinaryHeap<Reverse<usize>>,
    skeleton: Vec<u8>,
    /// What goes wrong on purpose.
    #[cfg(feature = "sabotage")]
    pub sabotage: Option<Sabotage>,
}

impl Views {
    /// The empty set.
    pub fn new(tracking: Tracking) -> Views {
        Views {
            tracking,
            list: vec![],
            origins: vec![],
            index: FxHashMap::default(),
            waiting: vec![],
            queue: BinaryHeap::new(),
            skeleton: vec![],
            #[cfg(feature = "sabotage")]
            sabotage: None,
        }
    }

    /// Adds a canonical view.
    pub fn add(&mut self, view: &View, origin: (usize, At)) {
        view.write_skeleton(self.tracking, &mut self.skeleton);
        #[cfg(feature = "sabotage")]
        if self.is_lost() {
            return;
        }
        match self.index.get(&self.skeleton) {
            None => {
                self.index.insert(self.skeleton.clone(), self.list.len() as u32);
                self.queue.push(Reverse(self.list.len()));
                self.waiting.push(true);
                self.list.push(view.clone());
                self.origins.push(origin);
            }
            Some(number) => {
                let number = *number as usize;
                if self.list[number].widen(view) && !self.waiting[number] {
                    self.waiting[number] = true;
                    self.queue.push(Reverse(number));
                }
            }
        }
    }

    /// Whether a view is lost on purpose.
    #[cfg(feature = "sabotage")]
    fn is_lost(&self) -> bool {
        let known = self.index.contains_key(&self.skeleton);
        match self.sabotage {
            Some(Sabotage::ForgottenViews) => {
                !known
                    && self.skeleton.iter().map(|b| u32::from(*b)).sum::<u32>() % 5 == 0
                    && !self.list.is_empty()
            }
            Some(Sabotage::NoJoin) => known,
            _ => false,
        }
    }

    /// The next view to work off.
    pub fn take(&mut self) -> Option<usize> {
        let Reverse(number) = self.queue.pop()?;
        self.waiting[number] = false;
        Some(number)
    }

    /// Has all views worked off again.
    pub fn requeue(&mut self) {
        for number in 0..self.list.len() {
            if !std::mem::replace(&mut self.waiting[number], true) {
                self.queue.push(Reverse(number));
            }
        }
    }

    /// Whether some view will be worked off later.
    pub fn is_any_waiting(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Whether a view will be worked off later.
    pub fn is_waiting(&self, number: usize) -> bool {
        self.waiting[number]
    }

    /// Whether a canonical view is covered by the set; `skeleton` is memory for its skeleton.
    pub fn covers(&self, view: &View, skeleton: &mut Vec<u8>) -> bool {
        view.write_skeleton(self.tracking, skeleton);
        let number = self.index.get(&*skeleton);
        number.is_some_and(|number| self.list[*number as usize].covers(view))
    }
}
