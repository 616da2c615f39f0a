//! Queue, event by event: `enq`, `deq`, and `deq` that saw it empty.
//!
//! **Decides** after every event whether what has been seen of a queue is linearizable; an open
//! dequeue has an unknown result and may have removed any value that is inside.
//!
//! **Theorem.** (See `queue`; no peeks.) Let `M` be the latest call among the enqueues of values
//! that were dequeued. (1) A dequeue that returns `a` is wrong iff `a`'s enqueue had returned
//! before the `M` of the dequeue's call. (2) A value inside whose enqueue returned before `M` must
//! have been removed by an open dequeue called before the moment at which `M` passed it, its
//! *deadline*. Deadlines grow with the returns of the enqueues, so that giving the i-th such value
//! to the i-th open dequeue is as good as anything, and one comparison each decides. (3) A moment
//! is empty iff of the values that were inside, each has been returned by a dequeue called before
//! the moment, or can still be: there are at least as many open dequeues called before it as such
//! values. (2) and (3) ask for prefixes of the same list: the same assignment serves both.
//!
//! **How, (3).** Between two calls of open dequeues the earliest moment that can be empty is as
//! good as any later one, so that one is kept between each two. A dequeue that saw the queue empty
//! and depends on open ones stays on a list until they have returned; one that is right whenever
//! another on the list is, is dropped.
//!
//! **Cost.** O(1 + open dequeues · list) a return, O(1) a call; memory: values inside, operations
//! open, the list.
//!
//! **Precondition.** No value is enqueued while an equal one is inside, else declined; no peeks.

use super::Declined;
use super::flag::Moment;
use super::online::{Called, Online, Returned, Stop};
use hashbrown::HashMap;
use seriatim_history::{OpId, Outcome, ValueId};
use std::collections::VecDeque;

/// A moment at which the queue may have been empty.
#[derive(Clone, Copy, Debug)]
struct Gap {
    /// Behind the event of this number.
    after: Moment,
    /// Values inside then that no dequeue has returned yet.
    left: u32,
    /// Dequeues open then that are still open.
    open: u32,
}

impl Gap {
    fn is_possible(&self) -> bool {
        self.left <= self.open
    }

    /// A dequeue called at `call` returned a value whose enqueue had returned at `entered`, or
    /// none. Whether the gap can still be empty.
    fn update(&mut self, call: Moment, entered: Option<Moment>) -> bool {
        let was_inside = entered.is_some_and(|entered| entered <= self.after);
        let was_open = call <= self.after;
        self.left -= u32::from(was_inside);
        self.open -= u32::from(was_open);
        (was_open || !was_inside) && self.is_possible()
    }
}

/// A value inside, or being enqueued.
#[derive(Clone, Copy, Debug)]
struct Inside {
    call: Moment,
    /// The return of its enqueue; [`OPEN`] while it is open.
    entered: Moment,
}

const OPEN: Moment = Moment::MAX;

/// An open dequeue.
#[derive(Clone, Copy, Debug)]
struct Dequeue {
    op: OpId,
    call: Moment,
    /// The latest call among enqueues of values dequeued until then.
    latest: Moment,
}

/// The queue monitor for live streams.
#[derive(Default)]
pub struct Watch {
    now: Moment,
    values: HashMap<ValueId, Inside>,
    enqueues: HashMap<OpId, ValueId>,
    /// Open dequeues by call.
    dequeues: Vec<Dequeue>,
    /// Values by the return of their enqueue; those that are gone linger.
    line: VecDeque<(Moment, ValueId)>,
    /// Values that some open dequeue must have removed, with their deadlines, ascending.
    overdue: Vec<(Moment, ValueId)>,
    /// The number of values inside for certain.
    entered: u32,
    /// The latest call among enqueues of values dequeued so far.
    latest: Moment,
    /// Gaps, at most one between two calls of open dequeues, ascending.
    gaps: Vec<Gap>,
    /// Dequeues that saw the queue empty, each with the gaps of which it needs one.
    undecided: Vec<(OpId, Vec<Gap>)>,
}

impl Watch {
    fn enqueue(&mut self, called: Called<'_>) -> Result<(), Stop> {
        let (op, value) = (called.op, called.arg);
        let (call, entered) = (self.now, OPEN);
        if self.values.insert(value, Inside { call, entered }).is_some() {
            let value = called.values.get(value).to_string();
            return Err(Stop::Declined(Declined::RepeatedValue { value }));
        }
        self.enqueues.insert(op, value);
        Ok(())
    }

    fn enqueued(&mut self, value: ValueId) {
        let now = self.now;
        let Some(inside) = self.values.get_mut(&value) else {
            return;
        };
        inside.entered = now;
        self.entered += 1;
        self.line.push_back((now, value));
        if self.line.len() > 64 + 2 * self.values.len() {
            let values = &self.values;
            let present = |at: Moment, v: &ValueId| values.get(v).is_some_and(|i| i.entered == at);
            self.line.retain(|(at, value)| present(*at, value));
        }
    }

    fn dequeued(&mut self, dequeue: Dequeue, value: ValueId) -> Result<(), Stop> {
        let Some(inside) = self.values.remove(&value) else {
            let reason = "it returned a value that was never enqueued, or was dequeued already";
            return Err(Stop::violation(dequeue.op, reason));
        };
        if inside.entered < dequeue.latest {
            let reason = "a value enqueued after its own had been dequeued before it was called";
            return Err(Stop::violation(dequeue.op, reason));
        }
        if inside.entered == OPEN {
            // Its enqueue returns later, without effect.
            self.enqueues.retain(|_, enqueued| *enqueued != value);
        } else {
            self.entered -= 1;
        }
        self.overdue.retain(|&(_, overdue)| overdue != value);
        self.latest = self.latest.max(inside.call);
        while let Some(&(entered, first)) = self.line.front() {
            let present = self.values.get(&first).is_some_and(|i| i.entered == entered);
            if present && entered > self.latest {
                break;
            }
            self.line.pop_front();
            if present {
                self.overdue.push((self.now, first));
            }
        }
        let entered = Some(inside.entered).filter(|&entered| entered != OPEN);
        self.update(dequeue, entered)
    }

    /// What the return of a dequeue, of a value or of none, means for gaps and deadlines.
    fn update(&mut self, dequeue: Dequeue, entered: Option<Moment>) -> Result<(), Stop> {
        let op = dequeue.op;
        let open = |index: usize| self.dequeues.get(index).map_or(OPEN, |d| d.call);
        let overdue = self.overdue.iter().enumerate();
        for (index, &(deadline, _)) in overdue {
            if open(index) >= deadline {
                let reason = "a value enqueued before another that was dequeued is still inside, and no open \
                              dequeue can have removed it in time";
                return Err(Stop::violation(op, reason));
            }
        }
        self.gaps.retain_mut(|gap| gap.update(dequeue.call, entered));
        let calls: Vec<Moment> = self.dequeues.iter().map(|d| d.call).collect();
        let mut wrong = None;
        self.undecided.retain_mut(|(empty, gaps)| {
            gaps.retain_mut(|gap| gap.update(dequeue.call, entered));
            if gaps.is_empty() {
                wrong = Some(*empty);
            }
            thin(gaps, &calls);
            gaps.iter().all(|gap| gap.left > 0)
        });
        match wrong {
            Some(empty) => {
                let reason =
                    format!("operation {} saw an empty queue, which it never was", empty.0);
                Err(Stop::violation(op, reason))
            }
            None => Ok(()),
        }
    }

    fn saw_empty(&mut self, dequeue: Dequeue) -> Result<(), Stop> {
        self.update(dequeue, None)?;
        let within = self.gaps.iter().filter(|gap| gap.after >= dequeue.call);
        let mut gaps: Vec<Gap> = within.copied().collect();
        if gaps.is_empty() {
            let reason = "it saw an empty queue, but at every moment of it a value was inside";
            return Err(Stop::violation(dequeue.op, reason));
        }
        if gaps.iter().all(|gap| gap.left > 0) {
            let calls: Vec<Moment> = self.dequeues.iter().map(|d| d.call).collect();
            thin(&mut gaps, &calls);
            self.undecided.retain(|(_, other)| !implied(other, &gaps, &calls));
            self.undecided.push((dequeue.op, gaps));
        }
        Ok(())
    }

    /// The present moment is a gap if the queue may be empty now.
    fn look_for_gap(&mut self) {
        let last_call = self.dequeues.last().map_or(0, |d| d.call);
        let gap = Gap { after: self.now, left: self.entered, open: self.dequeues.len() as u32 };
        let known = self.gaps.last().is_some_and(|gap| gap.after >= last_call);
        if !known && gap.is_possible() {
            self.gaps.push(gap);
        }
    }
}

/// Between which calls of open dequeues a gap lies.
fn class(gap: &Gap, calls: &[Moment]) -> usize {
    calls.partition_point(|&call| call <= gap.after)
}

/// Keeps the first gap between each two calls of open dequeues.
fn thin(gaps: &mut Vec<Gap>, calls: &[Moment]) {
    gaps.dedup_by_key(|gap| class(gap, calls));
}

/// Whether one of the gaps of `weak` is possible whenever one of those of `strong` is.
fn implied(weak: &[Gap], strong: &[Gap], calls: &[Moment]) -> bool {
    strong.iter().all(|gap| {
        let same = |other: &&Gap| class(other, calls) == class(gap, calls);
        weak.iter().find(same).is_some_and(|other| other.after <= gap.after)
    })
}

impl Online for Watch {
    fn call(&mut self, called: Called<'_>) -> Result<(), Stop> {
        self.now += 1;
        let is = |names: &[&str]| {
            let name = called.method;
            names.iter().any(|known| known.eq_ignore_ascii_case(name))
        };
        if is(super::queue::WORDS.names.insert) {
            self.enqueue(called)?;
        } else if is(super::queue::WORDS.names.remove) {
            self.dequeues.push(Dequeue { op: called.op, call: self.now, latest: self.latest });
        } else {
            let method = called.method.to_owned();
            return Err(Stop::Declined(Declined::UnknownMethod { method }));
        }
        self.look_for_gap();
        Ok(())
    }

    fn ret(&mut self, returned: Returned<'_>) -> Result<(), Stop> {
        self.now += 1;
        if returned.outcome == Outcome::Pending {
            return Ok(());
        }
        if returned.outcome == Outcome::Failed {
            return Err(Stop::failed(returned.op));
        }
        if let Some(value) = self.enqueues.remove(&returned.op) {
            self.enqueued(value);
        } else if let Some(index) = self.dequeues.iter().position(|d| d.op == returned.op) {
            let dequeue = self.dequeues.remove(index);
            match returned.result {
                ValueId::NIL => self.saw_empty(dequeue)?,
                value => self.dequeued(dequeue, value)?,
            }
            let calls: Vec<Moment> = self.dequeues.iter().map(|d| d.call).collect();
            thin(&mut self.gaps, &calls);
        }
        self.look_for_gap();
        Ok(())
    }

    fn remembered(&self) -> usize {
        let undecided = self.undecided.iter().map(|(_, gaps)| gaps.len());
        self.values.len() + self.dequeues.len() + self.gaps.len() + undecided.sum::<usize>()
    }
}
