//! Counter: `inc`, `dec`, `read`. Also online, without `dec`.
//!
//! **Decides** whether a history of a counter that starts at 0 is linearizable.
//!
//! **How, increments only.** The count is raised as late as possible: when an increment returns, or
//! when a read returns that saw a higher count. In the second case some open increments have taken
//! effect already: each is a *slot*, claimed by the first increment that returns and was called
//! before it. A read that saw less than the present count is right iff it saw no less than the
//! count at its call. O(log n) an event of a recorded history, amortized; of a live one O(1) plus
//! the operations open; memory: the operations open.
//!
//! **With decrements** being lazy is wrong (going up and then down and going down and then up visit
//! different counts, and both may be needed): breadth first, see `tally`.
//!
//! **Precondition.** None without decrements; with them the limits of `tally`. Amounts other than 1
//! are declined: with arbitrary amounts the question is as hard as subset sum.

use crate::fast::objects::flag::Moment;
use crate::fast::objects::log::returned_int;
use crate::fast::objects::tally::{self, Action, Change, Guard};
use crate::fast::online::open_calls::OpenCalls;
use crate::fast::online::trace::{Forget, Keep, Place, Trace};
use crate::fast::online::{Called, Online, Returned, Stop};
use crate::fast::structures::slots::{Slot, Slots};
use crate::fast::violation::counterexample_until;
use crate::fast::{Declined, Part};
use hashbrown::HashMap;
use seriatim_history::{Event, OpId, Outcome, ValueId, Values};
use seriatim_spec::{Claim, Witness, names};

/// What an operation does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Method {
    Inc,
    Dec,
    Read,
}

impl Method {
    fn named(name: &str) -> Result<Self, Declined> {
        let is = |names: &[&str]| names.iter().any(|known| known.eq_ignore_ascii_case(name));
        if is(const { names("counter", "inc") }) || is(const { names("counter", "add") }) {
            Ok(Method::Inc)
        } else if is(const { names("counter", "dec") }) {
            Ok(Method::Dec)
        } else if is(const { names("counter", "read") }) {
            Ok(Method::Read)
        } else {
            let method = name.to_owned();
            Err(Declined::UnknownMethod { method })
        }
    }
}

/// Checks that an increment or decrement is by one.
fn by_one(arg: ValueId, operation: &str) -> Result<(), Declined> {
    match arg {
        ValueId::ABSENT | ValueId::NIL => Ok(()),
        arg if arg.as_inline_int() == Some(1) => Ok(()),
        _ => Err(Declined::Unreadable {
            operation: operation.to_owned(),
            expected: "a change by one",
        }),
    }
}

/// Decides a part of a counter's history.
pub fn check(part: Part<'_>) -> Result<Claim, Declined> {
    let actions = actions(&part)?;
    if actions.iter().any(|action| action.change == Change::Down) {
        return tally::decide(&part, &actions, 0);
    }
    let mut counter = Counter::new(Keep::with_capacity(part.len()));
    let mut next = actions.iter();
    let mut kinds: HashMap<OpId, Guard> = HashMap::new();
    for event in part.events() {
        let (Event::Call(op) | Event::Return(op)) = event;
        if let Event::Call(op) = event {
            let Some(action) = next.as_slice().first().filter(|action| action.op == op) else {
                continue;
            };
            next.next();
            kinds.insert(op, action.guard);
            counter.call(op, action.change);
        } else if let Some(guard) = kinds.remove(&op)
            && counter.ret(op, guard).is_err()
        {
            return Ok(violation(&part, &actions, op));
        }
    }
    let order = counter.finish().into_order();
    Ok(Claim::Linearizable(Witness { order }))
}

/// What the operations of a part do; without those that did not happen or say nothing.
fn actions(part: &Part<'_>) -> Result<Vec<Action>, Declined> {
    let history = part.history;
    let mut actions = Vec::with_capacity(part.len());
    for op in part.operations() {
        let operation = history.operation(op);
        let method = Method::named(operation.method())?;
        let (change, guard) = match (method, history.outcome(op)) {
            (_, Outcome::Failed) | (Method::Read, Outcome::Pending) => continue,
            (Method::Read, Outcome::Ok) => match seen(history.values(), history.result(op)) {
                Some(count) => (Change::Same, Guard::Exactly(count)),
                None if history.result(op) == ValueId::ABSENT => continue,
                None => {
                    return Err(Declined::Unreadable {
                        operation: operation.to_string(),
                        expected: "a number as result",
                    });
                }
            },
            (Method::Inc, _) => (Change::Up, Guard::None),
            (Method::Dec, _) => (Change::Down, Guard::None),
        };
        if method != Method::Read {
            by_one(history.arg(op), operation.method())?;
            if returned_int(history, op).is_some() {
                // A number would be the new count.
                return Err(Declined::Unreadable {
                    operation: operation.to_string(),
                    expected: "no result",
                });
            }
        }
        actions.push(Action { op, change, guard });
    }
    Ok(actions)
}

fn seen(values: &Values, result: ValueId) -> Option<i64> {
    values.as_int(result)
}

/// The violation at the return of a read.
fn violation(part: &Part<'_>, actions: &[Action], wrong: OpId) -> Claim {
    let history = part.history;
    let (call, until) = (history.call(wrong), history.ret(wrong).unwrap_or(0));
    let increments = || actions.iter().filter(|action| action.change == Change::Up);
    let returned = increments().filter(|d| history.ret(d.op).is_some_and(|ret| ret < call));
    let called = increments().filter(|action| history.call(action.op) <= until);
    let sentence = format!(
        "{} saw a count that the counter did not have: {} increments had returned when it was \
         called and {} were called before it returned",
        history.operation(wrong),
        returned.count(),
        called.count(),
    );
    counterexample_until(tally::core(part, actions, 0, wrong), until, sentence)
}

/// A counter and the operations open on it.
struct Counter<T> {
    trace: T,
    count: i64,
    open: OpenCalls,
    slots: Slots,
    /// Open reads with the count at their call.
    reads: HashMap<OpId, i64>,
    /// Where the count left each number; kept only for an order.
    left: Vec<Place>,
    now: Moment,
}

/// A read saw a count that the counter did not have.
struct Impossible;

impl<T: Trace> Counter<T> {
    fn new(trace: T) -> Self {
        Counter {
            trace,
            count: 0,
            open: OpenCalls::default(),
            slots: Slots::default(),
            reads: HashMap::new(),
            left: Vec::new(),
            now: 0,
        }
    }

    fn call(&mut self, op: OpId, change: Change) {
        self.now += 1;
        match change {
            Change::Same => {
                self.reads.insert(op, self.count);
            }
            Change::Up | Change::Down => self.open.push(op, self.now),
        }
    }

    fn ret(&mut self, op: OpId, guard: Guard) -> Result<(), Impossible> {
        self.now += 1;
        match guard {
            Guard::Exactly(seen) => self.read(op, seen),
            _ => {
                self.incremented(op);
                Ok(())
            }
        }
    }

    fn incremented(&mut self, op: OpId) {
        let Some(call) = self.open.take(op) else {
            return;
        };
        match self.slots.claim(call) {
            Some(place) => self.trace.fill(place, op),
            None => {
                let place = self.trace.place(op);
                self.raised(place);
            }
        }
    }

    fn raised(&mut self, place: Place) {
        self.count += 1;
        if T::KEEPS {
            self.left.push(place);
        }
    }

    fn read(&mut self, op: OpId, seen: i64) -> Result<(), Impossible> {
        let Some(at_call) = self.reads.remove(&op) else {
            return Ok(());
        };
        if seen < at_call || seen - self.count > (self.open.len() - self.slots.len()) as i64 {
            return Err(Impossible);
        }
        while self.count < seen {
            let place = self.trace.slot();
            self.slots.push(Slot { at: self.now, place });
            self.raised(place);
        }
        if seen == self.count {
            self.trace.place(op);
        } else if T::KEEPS {
            self.trace.before(self.left[seen as usize], op);
        }
        Ok(())
    }

    fn finish(mut self) -> T {
        for (slot, open) in self.slots.iter().zip(self.open.iter()) {
            self.trace.fill(slot.place, open.op);
        }
        self.trace
    }
}

/// The counter monitor for live streams, without decrements.
pub struct Watch {
    counter: Counter<Forget>,
    open: HashMap<OpId, Method>,
}

impl Default for Watch {
    fn default() -> Self {
        Watch { counter: Counter::new(Forget), open: HashMap::new() }
    }
}

impl Online for Watch {
    fn call(&mut self, called: Called<'_>) -> Result<(), Stop> {
        let method = Method::named(called.method)?;
        let change = match method {
            Method::Read => Change::Same,
            Method::Inc => Change::Up,
            Method::Dec => {
                let method = called.method.to_owned();
                return Err(Stop::Declined(Declined::UnknownMethod { method }));
            }
        };
        if method == Method::Inc {
            by_one(called.arg, called.method)?;
        }
        self.open.insert(called.op, method);
        self.counter.call(called.op, change);
        Ok(())
    }

    fn ret(&mut self, returned: Returned<'_>) -> Result<(), Stop> {
        let op = returned.op;
        let guard = match (self.open.get(&op), returned.outcome) {
            (None, _) | (_, Outcome::Pending) => return Ok(()),
            (Some(Method::Read), Outcome::Ok) => match returned.result.as_inline_int() {
                Some(seen) => Guard::Exactly(seen),
                None => {
                    return Err(Stop::Declined(Declined::Unreadable {
                        operation: format!("operation {}", op.0),
                        expected: "a number as result",
                    }));
                }
            },
            (Some(Method::Read), Outcome::Failed) => {
                self.counter.reads.remove(&op);
                return Ok(());
            }
            // It did not happen, but a read may have relied on it.
            (Some(_), Outcome::Failed) => return Err(Stop::failed(op)),
            (Some(_), Outcome::Ok) if returned.values.as_int(returned.result).is_some() => {
                return Err(Stop::Declined(Declined::Unreadable {
                    operation: format!("operation {}", op.0),
                    expected: "an increment without a number as result",
                }));
            }
            (Some(_), Outcome::Ok) => Guard::None,
        };
        self.open.remove(&op);
        self.counter.ret(op, guard).map_err(|Impossible| {
            Stop::violation(op, "it saw a count that the counter did not have")
        })
    }

    fn rename(&mut self, _: &mut dyn FnMut(ValueId) -> ValueId) {
        // No value is kept.
    }

    fn remembered(&self) -> usize {
        self.open.len() + self.counter.slots.len()
    }
}
