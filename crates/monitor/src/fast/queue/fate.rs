//! Which open dequeue may have removed which value of a live queue.
//!
//! Of the values that were seen at the front and are not known to have left, at most one can still
//! be inside; the others must have been removed by open dequeues, one each. All choices are tried,
//! up to a limit. A choice says until when each of them stayed, and with that by when whatever must
//! be ahead of it must have left (see `queue::online`). The other values are given to the remaining
//! dequeues in order, which is as good as anything: their deadlines, and the gaps that an operation
//! that saw the queue empty needs, ask for prefixes of the same list.

use crate::fast::objects::flag::Moment;
use crate::fast::queue::gaps::{Gap, Undecided};
use crate::fast::queue::online::Running;
use crate::fast::queue::residents::{Inside, OPEN};

/// How many choices are tried.
pub(in crate::fast) const MOST_CHOICES: u32 = 100_000;

/// What must have happened to some values of a queue.
pub(in crate::fast) struct Fate<'w> {
    /// Values that were seen at the front.
    pub seen: Vec<Inside>,
    /// Others that must have left, in the order in which they entered.
    pub overdue: Vec<Inside>,
    /// Open dequeues by call.
    pub dequeues: &'w [Running],
    /// Operations that saw the queue empty.
    pub undecided: &'w [Undecided],
}

/// Whether it can have happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::fast) enum Chosen {
    Possible,
    Impossible,
    TooMany,
}

/// A choice for the values that were seen.
struct Choice {
    /// By value, until when it stayed: [`OPEN`] if it is still inside.
    stayed: Vec<Moment>,
    /// By dequeue, whether it has removed one of them.
    used: Vec<bool>,
    left: u32,
}

impl Fate<'_> {
    /// Looks for a choice that explains everything.
    pub fn choose(&self) -> Chosen {
        let is_easy = self.overdue.is_empty() && self.undecided.is_empty();
        match &self.seen[..] {
            [] if is_easy => return Chosen::Possible,
            [only] if is_easy && only.deadline == OPEN => return Chosen::Possible,
            _ => {}
        }
        let used = vec![false; self.dequeues.len()];
        let mut choice = Choice { stayed: Vec::new(), used, left: MOST_CHOICES };
        match self.choose_next(&mut choice) {
            true => Chosen::Possible,
            false if choice.left == 0 => Chosen::TooMany,
            false => Chosen::Impossible,
        }
    }

    /// Tries everything for the values from the next on.
    fn choose_next(&self, choice: &mut Choice) -> bool {
        if choice.left == 0 {
            return false;
        }
        let Some(value) = self.seen.get(choice.stayed.len()) else {
            choice.left -= 1;
            return self.explains(choice);
        };
        if value.deadline == OPEN && !choice.stayed.contains(&OPEN) {
            choice.stayed.push(OPEN);
            if self.choose_next(choice) {
                return true;
            }
            choice.stayed.pop();
        }
        for dequeue in 0..self.dequeues.len() {
            let stayed = self.dequeues[dequeue].call.max(value.stayed());
            if choice.used[dequeue] || stayed > value.deadline {
                continue;
            }
            choice.used[dequeue] = true;
            choice.stayed.push(stayed);
            if self.choose_next(choice) {
                return true;
            }
            choice.stayed.pop();
            choice.used[dequeue] = false;
        }
        false
    }

    /// Whether a choice explains everything.
    fn explains(&self, choice: &Choice) -> bool {
        let rest = self.dequeues.iter().zip(&choice.used).filter(|(_, used)| !**used);
        let rest: Vec<Moment> = rest.map(|(dequeue, _)| dequeue.call).collect();
        if rest.len() < self.overdue.len() {
            return false;
        }
        self.is_in_time(choice, &rest)
            && self
                .undecided
                .iter()
                .all(|undecided| undecided.gaps.iter().any(|gap| self.is_empty(gap, choice, &rest)))
    }

    /// Whether every value has left by its deadline.
    fn is_in_time(&self, choice: &Choice, rest: &[Moment]) -> bool {
        let mut values: Vec<(Inside, Moment)> =
            self.seen.iter().copied().zip(choice.stayed.iter().copied()).collect();
        let overdue = self.overdue.iter().copied().zip(rest);
        values.extend(overdue.map(|(inside, &call)| (inside, call.max(inside.stayed()))));
        loop {
            let mut is_settled = true;
            for index in 0..values.len() {
                let (inside, stayed) = values[index];
                if stayed > inside.deadline {
                    return false;
                }
                let bound = inside.bound();
                for (other, (ahead, _)) in values.iter_mut().enumerate() {
                    if other != index && ahead.leads(stayed) && ahead.deadline > bound {
                        ahead.deadline = bound;
                        is_settled = false;
                    }
                }
            }
            if is_settled {
                return true;
            }
        }
    }

    /// Whether a gap was empty.
    fn is_empty(&self, gap: &Gap, choice: &Choice, rest: &[Moment]) -> bool {
        let mut inside = gap.left;
        for (value, &stayed) in self.seen.iter().zip(&choice.stayed) {
            if value.entered <= gap.after {
                if stayed > gap.after {
                    return false;
                }
                inside -= 1;
            }
        }
        let open = rest.partition_point(|&call| call <= gap.after);
        inside as usize <= open
    }
}
