//! A witness for a part that does not fit in memory, made and replayed window by window.
//!
//! An online monitor says yes without giving an order. Here the order is made: the operations come
//! sorted by call, the ordinary check finds an order of a *window* of them that begins in the state
//! reached so far (given as operations that make that state, one after another, before the window),
//! and the beginning of that order is *placed* for good: up to the last operation that returned
//! before the middle of the window. The rest waits for the next window. What returns behind the
//! window is pending in it, so that nothing is demanded of an operation whose end is not in sight.
//!
//! **Theorem.** A sequence of operations is a witness iff it holds every completed operation once
//! and of the others some; no operation stands behind one that was called after its return; and the
//! object allows it from its initial state. All three are checked on what is placed, operation by
//! operation, by [`Streamed::place`] and the plain [`Object`], with the results that the log tells:
//! whatever the windows were taken for, the whole sequence is a witness, or there is no answer.
//!
//! *Incomplete, never wrong.* Of several orders of a window one is taken; if it was the wrong one,
//! which shows only later, there is no answer (and the part stays open). The half of a window that
//! looks ahead makes that rare: which of two values came first into a queue shows when they leave
//! it, so windows grow with what the object holds ([`LOOK_AHEAD`]). Memory: one window and the
//! object.
//!
//! Operations may come whole ([`Streamed::take`]) or as they happen ([`Streamed::call`],
//! [`Streamed::ret`]). An operation that is placed before it has returned leaves the object's
//! answer behind; its result is held against it when it comes.

mod object;

use crate::judge::Judge;
use crate::record;
use object::{Answer, Deed, Object};
use seriatim_history::{
    Builder, Call, History, InputError, Interval, LiveCall, LiveReturn, OpId, Outcome, Return,
    Time, Value, ValueId, Values,
};
use seriatim_monitor::{Detail, Options, check};
use seriatim_spec::Verdict;
use std::sync::Arc;
use std::time::Duration;

/// Why an operation that failed cannot be placed.
const FAILED: &str = "an operation failed";

/// Among how many operations the name of a method is looked for before it is written down again.
const KNOWN: usize = 16;

/// How many times as many operations as the object holds values make a window: as many must be in
/// sight as it takes until a value that comes now has left.
const LOOK_AHEAD: usize = 8;

/// No window has more operations.
const MOST: usize = 1 << 20;

/// How many bytes of memory an operation of a window is taken to need while it is checked.
const NEEDED: usize = 2000;

/// A witness that is being made.
pub struct Streamed {
    judge: Judge,
    object: Object,
    /// The operations that are not placed yet, by call.
    waiting: Vec<Waiting>,
    /// How many make a window.
    window: usize,
    /// How many make a window while the object holds little, if windows grow with what it holds.
    least: Option<usize>,
    /// How long the check of a window may take, if there is a limit.
    patience: Option<Duration>,
    /// The latest call of all that are placed; nothing if none is.
    latest_call: Option<Time>,
    /// Where the operations are that happen now, by their numbers.
    places: Vec<Place>,
    /// Why there is no witness, if there is none.
    failed: Option<String>,
}

/// Where an operation is that was called and has not returned.
enum Place {
    /// It has returned, or there is none of this number.
    Nowhere,
    /// It waits, with this index.
    Waiting(usize),
    /// It is placed with this argument, and this is what it must return.
    Placed(Option<Value>, Answer),
}

/// An operation that is not placed.
struct Waiting {
    interval: Interval,
    outcome: Outcome,
    line: u64,
    caller: Option<Value>,
    /// Its number, if it happens now and has not returned.
    number: Option<OpId>,
    method: Arc<str>,
    /// The object, the key, the argument and the result.
    values: [Option<Value>; 4],
}

impl Waiting {
    fn of(bytes: &[u8]) -> Result<Self, record::Damaged> {
        let mut values = Values::default();
        let row = record::take(bytes, &mut values)?;
        let value = |id: ValueId| id.is_present().then(|| values.get(id));
        Ok(Waiting {
            interval: row.interval,
            outcome: row.outcome,
            line: row.line,
            caller: row.caller,
            number: None,
            method: row.method.into(),
            values: row.ids.map(value),
        })
    }

    /// Whether it returned before a moment.
    fn returned_before(&self, moment: Time) -> bool {
        self.outcome != Outcome::Pending && self.interval.ret.is_some_and(|ret| ret < moment)
    }
}

/// What may still come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Behind {
    /// Operations that are called at this moment or later.
    CalledFrom(Time),
    Nothing,
}

/// What became of a window.
enum Progress {
    /// Its beginning is placed.
    Places,
    /// More must be in sight first.
    Waits,
}

impl Streamed {
    /// Nothing is placed yet. A window has as many operations as fit into so many bytes.
    pub fn new(judge: &Judge, memory: usize) -> Self {
        let object = Object::of(judge);
        Streamed {
            judge: judge.clone(),
            failed: object.as_ref().err().cloned(),
            object: object.unwrap_or(Object::Lock(false)),
            waiting: Vec::new(),
            window: (memory / NEEDED).clamp(64, MOST),
            least: None,
            patience: None,
            latest_call: None,
            places: Vec::new(),
        }
    }

    /// The same with windows of so many operations, or more if the object holds much.
    pub fn with_window(self, window: usize) -> Self {
        let window = window.max(4);
        Streamed { window, least: Some(window), ..self }
    }

    /// How many operations make a window if the object holds so many values behind it.
    fn window_for(&self, held: usize) -> usize {
        self.least.map_or(self.window, |least| least.max((LOOK_AHEAD * held).min(MOST)))
    }

    /// The same with a limit of time for each window.
    pub fn with_patience(self, patience: Duration) -> Self {
        Streamed { patience: Some(patience), ..self }
    }

    /// Takes the next operation by call.
    pub fn take(&mut self, bytes: &[u8]) -> Result<(), record::Damaged> {
        if self.failed.is_none() {
            self.push(Waiting::of(bytes)?);
        }
        Ok(())
    }

    /// An operation is called now.
    pub fn call(&mut self, now: Time, call: &LiveCall<'_>) {
        if self.failed.is_some() {
            return;
        }
        let value = |id: ValueId| id.is_present().then(|| call.values.get(id));
        let LiveCall { op, line, method, call: Call { object, key, arg, .. }, .. } = *call;
        let known = self.waiting.iter().rev().take(KNOWN).find(|other| *other.method == *method);
        self.push(Waiting {
            interval: Interval { call: now, ret: None },
            outcome: Outcome::Pending,
            line,
            caller: None,
            number: Some(op),
            method: known.map_or_else(|| method.into(), |other| Arc::clone(&other.method)),
            values: [value(object), value(key), value(arg), None],
        });
        if self.places.len() <= op.index() {
            self.places.resize_with(op.index() + 1, || Place::Nowhere);
        }
        self.places[op.index()] = Place::Waiting(self.waiting.len().saturating_sub(1));
    }

    /// An operation returns now. One whose end nobody knows stays where it is.
    pub fn ret(&mut self, now: Time, ret: &LiveReturn<'_>) {
        let Some(place) = self.places.get_mut(ret.op.index()) else { return };
        if self.failed.is_some() || ret.ret.outcome == Outcome::Pending {
            return;
        }
        let value = |id: ValueId| id.is_present().then(|| ret.values.get(id));
        let result = value(ret.ret.result);
        match std::mem::replace(place, Place::Nowhere) {
            Place::Nowhere => self.fail("a return without a call".to_owned()),
            Place::Placed(..) if ret.ret.outcome != Outcome::Ok => self.fail(FAILED.to_owned()),
            // Some logs tell an argument at the return only.
            Place::Placed(arg, answer)
                if arg == value(ret.call.arg) && answer.fits(result.as_ref()) => {}
            Place::Placed(..) => self.fail(format!(
                "the order that was begun does not explain the result in line {}",
                ret.line
            )),
            Place::Waiting(index) => {
                let op = &mut self.waiting[index];
                op.values[2] = value(ret.call.arg);
                (op.values[3], op.outcome, op.number) = (result, ret.ret.outcome, None);
                op.interval.ret = Some(now);
                if ret.ret.outcome != Outcome::Ok {
                    self.fail(FAILED.to_owned());
                }
            }
        }
    }

    fn push(&mut self, next: Waiting) {
        if next.outcome == Outcome::Failed {
            return self.fail(FAILED.to_owned());
        }
        let behind = Behind::CalledFrom(next.interval.call);
        let before = self.waiting.len();
        if before >= self.window {
            match self.place_some(behind) {
                Err(reason) => return self.fail(reason),
                Ok(Progress::Waits) => {}
                Ok(Progress::Places) if self.waiting.len() > before / 4 * 3 => {
                    return self.fail("too many operations stay open".to_owned());
                }
                Ok(Progress::Places) => self.find_places(),
            }
        }
        self.waiting.push(next);
    }

    /// There is no witness, and nothing has to be kept any more.
    fn fail(&mut self, reason: String) {
        self.failed = Some(reason);
        self.waiting = Vec::new();
    }

    /// Notes where the operations are that wait and have not returned.
    fn find_places(&mut self) {
        for (index, op) in self.waiting.iter().enumerate() {
            if let Some(number) = op.number {
                self.places[number.index()] = Place::Waiting(index);
            }
        }
    }

    /// Places what is left; an error says why there is no witness.
    pub fn finish(&mut self) -> Result<(), String> {
        match self.failed.take() {
            Some(failed) => Err(failed),
            None => self.place_some(Behind::Nothing).map(|_| ()),
        }
    }

    /// Finds an order of what waits, and places its beginning, or all of it if nothing comes any
    /// more.
    fn place_some(&mut self, behind: Behind) -> Result<Progress, String> {
        let order = self.order(behind)?;
        let middle = self.waiting.get(self.waiting.len() / 2).map_or(0, |op| op.interval.call);
        let count = match behind {
            Behind::Nothing => order.len(),
            Behind::CalledFrom(_) => {
                let is_due = |&index: &usize| self.waiting[index].returned_before(middle);
                order.iter().rposition(is_due).map_or(0, |last| last + 1)
            }
        };
        if count == 0 && behind != Behind::Nothing {
            return Err("too many operations are open at the same time".to_owned());
        }
        let window = self.window_for(self.held_after(&order[..count]));
        if behind != Behind::Nothing && self.waiting.len() < window {
            // Too little is in sight: twice as much is waited for.
            self.window = window.min(2 * self.waiting.len());
            return Ok(Progress::Waits);
        }
        self.window = window;
        let mut is_placed = vec![false; self.waiting.len()];
        for &index in &order[..count] {
            if std::mem::replace(&mut is_placed[index], true) {
                return Err("an order names an operation twice".to_owned());
            }
            self.place(index)?;
        }
        let mut placed = is_placed.into_iter();
        self.waiting.retain(|_| placed.next() == Some(false));
        let is_owed = |op: &Waiting| match behind {
            Behind::Nothing => op.outcome != Outcome::Pending,
            Behind::CalledFrom(_) => op.returned_before(middle),
        };
        match self.waiting.iter().any(is_owed) {
            true => Err("an order leaves out a completed operation".to_owned()),
            false => Ok(Progress::Places),
        }
    }

    /// How many values the object holds after these operations.
    fn held_after(&self, order: &[usize]) -> usize {
        let mut object = self.object.clone();
        for op in order.iter().filter_map(|&index| self.waiting.get(index)) {
            _ = object.step(&op.method, op.values[2].as_ref());
        }
        object.len()
    }

    /// Replays the next operation of the witness.
    fn place(&mut self, index: usize) -> Result<(), String> {
        let op = &self.waiting[index];
        if self.latest_call.is_some_and(|latest| op.returned_before(latest)) {
            return Err("an order puts an operation behind one that was called later".to_owned());
        }
        self.latest_call = self.latest_call.max(Some(op.interval.call));
        let [_, _, arg, result] = &op.values;
        let answer = self.object.step(&op.method, arg.as_ref());
        let is_over = op.outcome != Outcome::Pending;
        match (answer, op.number) {
            (Some(answer), _) if is_over && answer.fits(result.as_ref()) => Ok(()),
            (Some(answer), Some(number)) if !is_over => {
                self.places[number.index()] = Place::Placed(arg.clone(), answer);
                Ok(())
            }
            (Some(_), None) if !is_over => Ok(()),
            _ => Err(format!("the order that was found is wrong at line {}", op.line)),
        }
    }

    /// An order of the operations that wait, as their indices, found by the ordinary check.
    fn order(&self, behind: Behind) -> Result<Vec<usize>, String> {
        let setup = self.object.setup();
        if setup.len() > self.window {
            return Err(format!("the object holds more than {} values", self.window));
        }
        let mut history =
            self.history(&setup, behind).map_err(|problem: InputError| problem.to_string())?;
        let Some(options) = self.judge.options() else { return Err("no time is left".to_owned()) };
        let time = [self.patience, options.time].into_iter().flatten().min();
        let options = Options { detail: Detail::Plain, time, ..options };
        let checked = check(&mut history, &*self.judge.reader, &options);
        match checked.map_err(|problem| problem.to_string())?.verdict {
            Verdict::Linearizable(witness) => {
                let (first, rest) = witness.order.split_at(setup.len().min(witness.order.len()));
                match first.iter().all(|op| op.index() < setup.len()) {
                    true => Ok(rest.iter().map(|op| op.index() - setup.len()).collect()),
                    false => Err("an order begins within a window".to_owned()),
                }
            }
            Verdict::Violation(_) if self.latest_call.is_none() => {
                Err("the ordinary check finds a violation".to_owned())
            }
            Verdict::Violation(_) => Err("the order that was begun cannot be continued".to_owned()),
            Verdict::Unknown(unknown) => Err(unknown.limit.to_string()),
        }
    }

    /// The window as a history: what makes the state, then what waits.
    fn history(&self, setup: &[Deed], behind: Behind) -> Result<History, InputError> {
        let first = self.waiting.first();
        let [object, key] = match first {
            Some(op) => [op.values[0].as_ref(), op.values[1].as_ref()],
            None => [None, None],
        };
        let is_named = first.is_some_and(|op| op.caller.is_some());
        let start = first.map_or(0, |op| op.interval.call);
        let shift = 2 * setup.len() as u64 + 2;
        let mut builder = Builder::new("a window");
        builder.follow(self.judge.conventions);
        for (index, deed) in setup.iter().enumerate() {
            let time = 2 * index as u64;
            let interval = Interval { call: time, ret: Some(time + 1) };
            let values = [object, key, deed.arg.as_ref()];
            let caller = is_named.then(|| Value::text("what came before the window"));
            let told = (deed.method, values, deed.result.as_ref(), Outcome::Ok);
            push(&mut builder, (0, caller.as_ref(), interval), told)?;
        }
        for op in &self.waiting {
            let is_late = match behind {
                Behind::CalledFrom(moment) => !op.returned_before(moment),
                Behind::Nothing => op.outcome == Outcome::Pending,
            };
            let moment = |time: Time| time - start + shift;
            let interval = Interval {
                call: moment(op.interval.call),
                ret: op.interval.ret.filter(|_| !is_late).map(moment),
            };
            let [object, key, arg, result] = &op.values;
            let values = [object.as_ref(), key.as_ref(), arg.as_ref()];
            let (result, outcome) = match is_late {
                true => (None, Outcome::Pending),
                false => (result.as_ref(), op.outcome),
            };
            let told = (&*op.method, values, result, outcome);
            push(&mut builder, (op.line, op.caller.as_ref(), interval), told)?;
        }
        builder.finish()
    }
}

/// An operation's name, its object, key and argument, its result, and how it ended.
type StreamedOperation<'t> = (&'t str, [Option<&'t Value>; 3], Option<&'t Value>, Outcome);

fn push(
    builder: &mut Builder,
    (line, caller, interval): (u64, Option<&Value>, Interval),
    (method, values, result, outcome): StreamedOperation<'_>,
) -> Result<OpId, InputError> {
    let mut id = |value: Option<&Value>| match value {
        Some(value) => builder.values().intern(value),
        None => ValueId::ABSENT,
    };
    let [object, key, arg] = values.map(&mut id);
    let result = id(result);
    let process = caller.map(|caller| builder.process(caller));
    let call = Call { object, key, arg, ..Call::new(builder.method(method)) };
    builder.operation(line, process, call, interval, Return::new(outcome, result))
}
