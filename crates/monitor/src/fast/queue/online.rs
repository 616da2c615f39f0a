//! Queue, event by event: `enq`, `deq`, `front`, `is_empty`.
//!
//! **Decides** after every event whether what has been seen of a queue is linearizable; an open
//! dequeue has an unknown result and may have removed any value that is inside.
//!
//! **Theorem.** (See `queue`.) `a` *must be ahead of* `b` if `lo(a) < in.call(b)` or
//! `fo(a) < hi(b)`. Let the *deadline* of `a` be the least `fo` of all values that `a` must be
//! ahead of, directly or through others. The relation has no cycle iff `hi(a)` is at most the
//! deadline of `a`, for every value: a cycle enters some `a` from an `x` with `fo(x) < hi(a)`. So
//! it is enough to know the deadline of each value that is still inside. It changes when some `x`
//! is seen at the front with call `c`: (1) for the first time: the deadline of all values that
//! entered before `x` was enqueued is now; (2) everything that was at the front before `c`, or must
//! be ahead of something that was, must be ahead of `x`, too.
//!
//! (3) A value inside whose deadline is over must have been removed by an open dequeue called
//! before the deadline. Among values that were never seen at the front, deadlines grow with the
//! returns of the enqueues, so that giving the i-th such value to the i-th open dequeue is as good
//! as anything, and one comparison each decides. Of those that were seen, all but one must have
//! been removed: there are never more than open dequeues plus one, and all choices are tried. (4) A
//! moment is empty iff of the values that were inside, each has been returned by a dequeue called
//! before the moment, or can still be; see `gaps`.
//!
//! **Cost.** O(1 + open operations · list) an event; memory: values inside, operations open, the
//! list, and what was dequeued while a `front` that is still open ran: it may return any of it.
//!
//! **Precondition.** No value is enqueued while an equal one is inside, else declined; declined
//! also if an `is_empty` says no and nothing forces it, and if too many choices are left.

use crate::fast::Declined;
use crate::fast::objects::flag::Moment;
use crate::fast::online::{Called, Online, Returned, Stop};
use crate::fast::queue::fate::{Chosen, Fate, MOST_CHOICES};
use crate::fast::queue::gaps::Gaps;
use crate::fast::queue::gone::{Found, Gone};
use crate::fast::queue::residents::{OPEN, Residents, Slot};
use seriatim_history::{OpId, Outcome, ValueId};

/// An operation that has not returned.
#[derive(Clone, Copy, Debug)]
pub(in crate::fast) struct Running {
    pub op: OpId,
    pub call: Moment,
}

/// What a method does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Method {
    Enqueue,
    Dequeue,
    Front,
    IsEmpty,
}

/// The queue monitor for live streams.
#[derive(Default)]
pub struct Watch {
    now: Moment,
    /// The methods met so far.
    methods: Vec<(Box<str>, Method)>,
    values: Residents,
    enqueues: Vec<(OpId, Slot)>,
    /// Open dequeues by call.
    dequeues: Vec<Running>,
    /// Open queries by call.
    queries: Vec<Running>,
    /// What each of them asks.
    questions: Vec<Method>,
    /// Values that some open dequeue must have removed, in the order in which they entered.
    overdue: Vec<Slot>,
    /// Values inside that were seen at the front.
    seen: Vec<Slot>,
    gone: Gone,
    /// The number of values inside for certain.
    entered: u32,
    /// The latest call among enqueues of values that were at the front.
    latest: Moment,
    /// When there were last more values inside than open dequeues.
    certainly_not_empty: Moment,
    gaps: Gaps,
}

impl Watch {
    fn method(&mut self, name: &str) -> Result<Method, Stop> {
        if let Some((_, method)) = self.methods.iter().find(|(known, _)| **known == *name) {
            return Ok(*method);
        }
        let is = |names: &[&str]| names.iter().any(|known| known.eq_ignore_ascii_case(name));
        let names = &crate::fast::queue::WORDS.names;
        let method = if is(names.insert) {
            Method::Enqueue
        } else if is(names.remove) {
            Method::Dequeue
        } else if is(names.peek) {
            Method::Front
        } else if is(crate::fast::containers::container::IS_EMPTY) {
            Method::IsEmpty
        } else {
            let method = name.to_owned();
            return Err(Stop::Declined(Declined::UnknownMethod { method }));
        };
        self.methods.push((name.into(), method));
        Ok(method)
    }

    fn enqueue(&mut self, called: Called<'_>) -> Result<(), Stop> {
        let (op, value) = (called.op, called.arg);
        if !value.is_present() || value == ValueId::NIL {
            return Err(Stop::Declined(Declined::Unreadable {
                operation: called.method.to_owned(),
                expected: "a value as argument",
            }));
        }
        let Some(slot) = self.values.add(value, self.now) else {
            let value = called.values.get(value).to_string();
            return Err(Stop::Declined(Declined::RepeatedValue { value }));
        };
        self.enqueues.push((op, slot));
        Ok(())
    }

    /// A value is in the queue by now.
    fn enter(&mut self, slot: Slot) {
        self.entered += 1;
        self.values.enter(slot, self.now);
    }

    /// A dequeue or a `front` has returned a value that is inside.
    fn saw(&mut self, by: Running, value: ValueId, does: Method) -> Result<(), Stop> {
        let now = self.now;
        let Some(slot) = self.values.find(value) else {
            let reason = "it returned a value that was never enqueued, or was dequeued already";
            return Err(Stop::violation(by.op, reason));
        };
        let mut inside = self.values.get(slot);
        if inside.entered == OPEN {
            // Its enqueue returns later, without effect.
            self.enqueues.retain(|&(_, enqueued)| enqueued != slot);
            self.enter(slot);
            inside.entered = now;
        }
        let is_first = inside.first == OPEN;
        inside.first = inside.first.min(now);
        inside.last = inside.last.max(by.call);
        if inside.stayed() > inside.deadline {
            let reason = "a value that must have left the queue after its own, or one that was enqueued later, \
                          had been at the front before it was called";
            return Err(Stop::violation(by.op, reason));
        }
        if does == Method::Dequeue {
            self.values.remove(slot);
            self.entered -= 1;
            self.overdue.retain(|&overdue| overdue != slot);
            self.seen.retain(|&seen| seen != slot);
            self.gone.add(value, inside, (by.call, now), &self.queries);
        } else {
            self.values.set(slot, inside);
            self.seen.extend(is_first.then_some(slot));
        }
        if is_first {
            self.latest = self.latest.max(inside.call);
            self.hurry();
        }
        self.bind(value, Some(slot), inside.stayed(), inside.bound());
        self.judge(by, Some(inside.entered), does)
    }

    /// What entered before the latest value that was at the front was enqueued must have left.
    fn hurry(&mut self) {
        while let Some(slot) = self.values.next_until(self.latest) {
            let mut inside = self.values.get(slot);
            inside.deadline = inside.deadline.min(self.now);
            self.values.set(slot, inside);
            self.overdue.push(slot);
        }
    }

    /// A value has not left before a moment, and must itself have left by another: so must
    /// everything that must be ahead of it.
    fn bind(&mut self, value: ValueId, itself: Option<Slot>, stayed: Moment, bound: Moment) {
        for &other in self.seen.iter().chain(&self.overdue) {
            let mut inside = self.values.get(other);
            if Some(other) != itself && inside.leads(stayed) {
                inside.deadline = inside.deadline.min(bound);
                self.values.set(other, inside);
            }
        }
        self.gone.bind(value, stayed, bound);
    }

    /// A `front` has returned a value.
    fn saw_front(&mut self, by: Running, value: ValueId) -> Result<(), Stop> {
        let is_inside = self.values.find(value).is_some();
        match (is_inside, self.gone.find(value, by.call)) {
            (_, Some(Found::Nothing)) => self.judge(by, None, Method::Front),
            (false, Some(Found::Stayed(mut inside))) => {
                inside.last = inside.last.max(by.call);
                self.gone.set_last(value, inside.last);
                if inside.stayed() > inside.deadline {
                    let reason = "its value had to leave the queue before it was called";
                    return Err(Stop::violation(by.op, reason));
                }
                self.bind(value, None, inside.stayed(), inside.bound());
                self.judge(by, Some(inside.entered), Method::Front)
            }
            (true, Some(_)) | (_, Some(Found::Several)) => {
                Err(Stop::Declined(Declined::RepeatedValue {
                    value: format!("that operation {} returned", by.op.0),
                }))
            }
            (_, None) => self.saw(by, value, Method::Front),
        }
    }

    /// Whether all that was seen can be, now that a dequeue or a query has returned. `entered` is
    /// when the value that it saw entered.
    fn judge(&mut self, by: Running, entered: Option<Moment>, does: Method) -> Result<(), Stop> {
        let open = (&self.dequeues[..], &self.queries[..]);
        let wrong = match (does, entered) {
            (Method::Dequeue, entered) => self.gaps.left(by.call, entered, open),
            (_, Some(entered)) => self.gaps.stayed(by.call, entered, open),
            (_, None) => self.gaps.settle(open),
        };
        if let Some(empty) = wrong {
            let reason = format!("operation {} saw an empty queue, which it never was", empty.0);
            return Err(Stop::violation(by.op, reason));
        }
        self.choose(by)
    }

    /// Whether the open dequeues can have removed what must have left.
    fn choose(&self, by: Running) -> Result<(), Stop> {
        if self.overdue.is_empty() && self.seen.is_empty() && self.gaps.undecided().is_empty() {
            return Ok(());
        }
        let pick = |slots: &[Slot]| slots.iter().map(|&slot| self.values.get(slot)).collect();
        let unseen = |slot: &&Slot| !self.seen.contains(slot);
        let overdue: Vec<Slot> = self.overdue.iter().filter(unseen).copied().collect();
        let fate = Fate {
            seen: pick(&self.seen),
            overdue: pick(&overdue),
            dequeues: &self.dequeues,
            undecided: self.gaps.undecided(),
        };
        match fate.choose() {
            Chosen::Possible => Ok(()),
            Chosen::TooMany => {
                Err(Stop::Declined(Declined::TooManyChoices { tried: MOST_CHOICES as usize }))
            }
            Chosen::Impossible => {
                let reason = "a value that was in the queue before another that was at the front is still inside, \
                              and no open dequeue can have removed it in time";
                Err(Stop::violation(by.op, reason))
            }
        }
    }

    /// A dequeue or a query has found the queue empty.
    fn saw_empty(&mut self, by: Running, does: Method) -> Result<(), Stop> {
        self.judge(by, None, does)?;
        if !self.gaps.saw_empty(by, (&self.dequeues, &self.queries)) {
            let reason = "it saw an empty queue, but at every moment of it a value was inside";
            return Err(Stop::violation(by.op, reason));
        }
        self.choose(by)
    }

    fn returned_dequeue(&mut self, dequeue: Running, returned: Returned<'_>) -> Result<(), Stop> {
        match returned.result {
            ValueId::ABSENT => Err(Stop::Declined(unreadable(returned.op, "a result"))),
            ValueId::NIL => self.saw_empty(dequeue, Method::Dequeue),
            value => self.saw(dequeue, value, Method::Dequeue),
        }
    }

    fn returned_query(
        &mut self,
        query: Running,
        method: Method,
        returned: Returned<'_>,
    ) -> Result<(), Stop> {
        match (method, returned.result) {
            (Method::IsEmpty, ValueId::TRUE) => self.saw_empty(query, method),
            (Method::IsEmpty, ValueId::FALSE) => match self.certainly_not_empty >= query.call {
                true => Ok(()),
                false => {
                    let operation = format!("operation {}", returned.op.0);
                    Err(Stop::Declined(Declined::UnforcedQuery { operation }))
                }
            },
            (Method::IsEmpty, _) => {
                Err(Stop::Declined(unreadable(returned.op, "true or false as result")))
            }
            (_, ValueId::ABSENT) => Err(Stop::Declined(unreadable(returned.op, "a result"))),
            (_, ValueId::NIL) => self.saw_empty(query, method),
            (_, value) => self.saw_front(query, value),
        }?;
        self.gone.forget(&self.queries);
        Ok(())
    }

    /// Takes an open query out, with what it asks.
    fn take_query(&mut self, index: usize) -> (Running, Method) {
        (self.queries.remove(index), self.questions.remove(index))
    }

    /// What the present moment is good for.
    fn look(&mut self) {
        let dequeues = self.dequeues.len() as u32;
        if self.entered > dequeues {
            self.certainly_not_empty = self.now;
        }
        let dequeue = self.dequeues.last().map_or(0, |dequeue| dequeue.call);
        let query = self.queries.last().map_or(0, |query| query.call);
        self.gaps.look(self.now, self.entered, dequeues, dequeue.max(query));
    }

    fn thin(&mut self) {
        self.gaps.thin((&self.dequeues, &self.queries));
    }
}

fn unreadable(op: OpId, expected: &'static str) -> Declined {
    Declined::Unreadable { operation: format!("operation {}", op.0), expected }
}

impl Online for Watch {
    fn call(&mut self, called: Called<'_>) -> Result<(), Stop> {
        self.now += 1;
        let running = Running { op: called.op, call: self.now };
        match self.method(called.method)? {
            Method::Enqueue => self.enqueue(called)?,
            Method::Dequeue => self.dequeues.push(running),
            method => {
                self.queries.push(running);
                self.questions.push(method);
            }
        }
        self.look();
        Ok(())
    }

    fn ret(&mut self, returned: Returned<'_>) -> Result<(), Stop> {
        self.now += 1;
        let op = returned.op;
        if returned.outcome == Outcome::Failed {
            return Err(Stop::failed(op));
        }
        let query = self.queries.iter().position(|query| query.op == op);
        if returned.outcome == Outcome::Pending {
            // A query that nobody knows the result of says nothing.
            query.map(|query| self.take_query(query));
            return Ok(());
        }
        let dequeue = self.dequeues.iter().position(|dequeue| dequeue.op == op);
        if let Some(dequeue) = dequeue {
            let dequeue = self.dequeues.remove(dequeue);
            self.returned_dequeue(dequeue, returned)?;
            self.thin();
        } else if let Some(query) = query {
            let (query, method) = self.take_query(query);
            self.returned_query(query, method, returned)?;
            self.thin();
        } else if let Some(index) = self.enqueues.iter().position(|enqueue| enqueue.0 == op) {
            let (_, slot) = self.enqueues.swap_remove(index);
            self.enter(slot);
        }
        self.look();
        Ok(())
    }

    fn rename(&mut self, new_id: &mut dyn FnMut(ValueId) -> ValueId) {
        self.values.rename(new_id);
        self.gone.rename(new_id);
    }

    fn remembered(&self) -> usize {
        let open = self.dequeues.len() + self.queries.len();
        self.values.len() + open + self.gaps.remembered() + self.gone.len()
    }
}
