//! The moments at which a live queue may have been empty.
//!
//! An operation that saw the queue empty needs a *gap*: a moment of its own at which each value
//! that was inside has been returned by a dequeue called before the gap, or can still be, by one
//! that was open then and still is, and at which no value was that an operation called later has
//! seen. Between two calls of open dequeues and queries the earliest gap is as good as any later
//! one: fewer values were inside, the same dequeues were open, and whatever rules it out rules out
//! the later ones. So one is kept between each two. An operation that depends on others which are
//! open stays *undecided* until they have returned; one that is right whenever another is, is
//! dropped.

use crate::fast::objects::flag::Moment;
use crate::fast::queue::online::Running;
use seriatim_history::OpId;

/// A moment at which the queue may have been empty.
#[derive(Clone, Copy, Debug)]
pub(in crate::fast) struct Gap {
    /// Behind the event of this number.
    pub after: Moment,
    /// Values inside then that no dequeue has returned yet.
    pub left: u32,
    /// Dequeues open then that are still open.
    pub open: u32,
}

/// Operations that have not returned: dequeues and queries, each by call.
pub(in crate::fast) type Open<'w> = (&'w [Running], &'w [Running]);

impl Gap {
    fn is_possible(&self) -> bool {
        self.left <= self.open
    }

    /// A dequeue called at `call` returned a value that was inside by `entered`, or none. Whether
    /// the gap can still be empty.
    fn left(&mut self, call: Moment, entered: Option<Moment>) -> bool {
        let was_inside = entered.is_some_and(|entered| entered <= self.after);
        let was_open = call <= self.after;
        self.left -= u32::from(was_inside);
        self.open -= u32::from(was_open);
        (was_open || !was_inside) && self.is_possible()
    }

    /// An operation called at `call` saw a value that was inside by `entered`. Whether the gap can
    /// still be empty.
    fn stayed(&self, call: Moment, entered: Moment) -> bool {
        entered > self.after || call <= self.after
    }

    /// Whether it was empty, whatever open operations return.
    fn is_settled(&self, queries: &[Running]) -> bool {
        self.left == 0 && queries.last().is_none_or(|query| query.call <= self.after)
    }
}

/// An operation that saw the queue empty, with the gaps of which it needs one.
#[derive(Clone, Debug)]
pub(in crate::fast) struct Undecided {
    op: OpId,
    pub gaps: Vec<Gap>,
}

/// The gaps so far.
#[derive(Default)]
pub(in crate::fast) struct Gaps {
    gaps: Vec<Gap>,
    undecided: Vec<Undecided>,
}

impl Gaps {
    /// The operations that are not decided.
    pub fn undecided(&self) -> &[Undecided] {
        &self.undecided
    }

    /// How many things are remembered.
    pub fn remembered(&self) -> usize {
        self.gaps.len() + self.undecided.iter().map(|one| one.gaps.len()).sum::<usize>()
    }

    /// The present moment is a gap if the queue may be empty now. `last` is the last call of an
    /// open dequeue or query.
    #[inline]
    pub fn look(&mut self, now: Moment, left: u32, open: u32, last: Moment) {
        let gap = Gap { after: now, left, open };
        let is_known = self.gaps.last().is_some_and(|gap| gap.after >= last);
        if !is_known && gap.is_possible() {
            self.gaps.push(gap);
        }
    }

    /// A dequeue called at `call` returned a value that was inside by `entered`, or none. Gives an
    /// operation that wrongly saw the queue empty.
    pub fn left(&mut self, call: Moment, entered: Option<Moment>, open: Open<'_>) -> Option<OpId> {
        self.retain(open, |gap| gap.left(call, entered))
    }

    /// A query called at `call` saw a value that was inside by `entered`.
    pub fn stayed(&mut self, call: Moment, entered: Moment, open: Open<'_>) -> Option<OpId> {
        self.retain(open, |gap| gap.stayed(call, entered))
    }

    /// A query has returned and says nothing new.
    pub fn settle(&mut self, open: Open<'_>) -> Option<OpId> {
        self.retain(open, |_| true)
    }

    fn retain(&mut self, open: Open<'_>, mut keep: impl FnMut(&mut Gap) -> bool) -> Option<OpId> {
        self.gaps.retain_mut(&mut keep);
        let mut wrong = None;
        self.undecided.retain_mut(|undecided| {
            undecided.gaps.retain_mut(&mut keep);
            if undecided.gaps.is_empty() {
                wrong = Some(undecided.op);
            }
            thin(&mut undecided.gaps, open);
            !undecided.gaps.iter().any(|gap| gap.is_settled(open.1))
        });
        wrong
    }

    /// An operation saw the queue empty. Whether it may be right.
    pub fn saw_empty(&mut self, by: Running, open: Open<'_>) -> bool {
        let within = self.gaps.iter().filter(|gap| gap.after >= by.call);
        let mut gaps: Vec<Gap> = within.copied().collect();
        if gaps.is_empty() {
            return false;
        }
        if !gaps.iter().any(|gap| gap.is_settled(open.1)) {
            thin(&mut gaps, open);
            self.undecided.retain(|other| !is_implied(&other.gaps, &gaps, open));
            self.undecided.push(Undecided { op: by.op, gaps });
        }
        true
    }

    /// Forgets gaps that are not better than others, now that an operation has returned.
    pub fn thin(&mut self, open: Open<'_>) {
        thin(&mut self.gaps, open);
    }
}

/// Between which calls of open operations a gap lies.
fn class(gap: &Gap, (dequeues, queries): Open<'_>) -> (usize, usize) {
    let before = |running: &[Running]| running.partition_point(|one| one.call <= gap.after);
    (before(dequeues), before(queries))
}

/// Keeps the first gap between each two calls of open operations.
fn thin(gaps: &mut Vec<Gap>, open: Open<'_>) {
    if gaps.len() > 1 {
        gaps.dedup_by_key(|gap| class(gap, open));
    }
}

/// Whether one of the gaps of `weak` is possible whenever one of those of `strong` is.
fn is_implied(weak: &[Gap], strong: &[Gap], open: Open<'_>) -> bool {
    strong.iter().all(|gap| {
        let same = |other: &&Gap| class(other, open) == class(gap, open);
        weak.iter().find(same).is_some_and(|other| other.after <= gap.after)
    })
}
