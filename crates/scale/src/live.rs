//! Events as they happen, with a second opinion on what the online monitor says of them.
//!
//! *Who listens.* The online monitor of the object, where it has one; when it declines (a value
//! that repeats, an operation that fails), or where there is none, the [`frontier`] of everything
//! that may be true, which is exact for every specification: it is told everything that happened so
//! far from what is kept, and goes on from there. If it gives up as well (too much overlaps),
//! nobody listens any more, [`Watch::telling`] says so at once, and the ordinary check decides in
//! the end.
//!
//! A monitor is right after every event, but gives no evidence. So nothing is called linearizable
//! on its word: an order is made beside it and replayed window by window (`Streamed`), from the
//! first event to the last. That is one order of many; where it cannot be continued, it refutes
//! itself and nothing else. Nor is anything called a violation on the monitor's word alone as long
//! as everything that happened is still here (`Kept`, [`MOST_KEPT`] operations): the ordinary check
//! decides it then, with an order that is replayed or a counterexample that is confirmed as any
//! other. Beyond that, a violation is reported as what the online monitor alone says, unless the
//! order can be continued to the end: then the monitor is contradicted, and there is no verdict.
//!
//! *Side condition*, a check that ends the watch without a verdict: all operations are of one
//! object. Memory: a window of [`WINDOW`] operations, twice the object, and the monitor; in the end
//! all that was kept, if it is needed. Time: a window is checked within [`PATIENCE`]; the first
//! that is not ends the making of an order, and the monitor goes on alone.

use crate::judge::{Evidence, Judge, Judgement, SharedReader};
use crate::kept::Kept;
use crate::spill::Scratch;
use crate::split::Splitting;
use crate::windows::Streamed;
use seriatim_history::{
    Builder, Conventions, Event, Forgets, History, Listener, LiveCall, LiveReturn, OpId, Outcome,
    Time, Timescale, Value, ValueId,
};
use seriatim_monitor::fast::{Called, Declined, Online, Returned, Stop};
use seriatim_monitor::frontier::{Exact, frontier};
use seriatim_monitor::partition::Partitioning;
use seriatim_monitor::{Monitors, Strategy, watch};
use seriatim_spec::live::{MOST_VALUES, Sample, Told};
use seriatim_spec::{Cancel, Limit, Split};
use std::cell::RefCell;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How many operations wait at most before an order of them is made.
pub const WINDOW: usize = 1 << 15;

/// How long the check of one window may take.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// How many operations are kept for the ordinary check.
pub const MOST_KEPT: u64 = 1 << 21;

/// How long the ordinary check of all that was kept may take.
pub const LONG_PATIENCE: Duration = Duration::from_secs(60);

/// How often a frontier may begin again because something could not be heard any more.
const MOST_BEGINNINGS: usize = 16;

/// Makes the frontier of a specification; an error says why there is none.
pub type Begins = Box<dyn Fn(Sample<'_>) -> Result<Box<dyn Exact>, String>>;

/// What is watched.
pub struct Watch {
    listens: Listens,
    begins: Begins,
    /// How often a frontier has begun.
    beginnings: usize,
    judge: Judge,
    witness: Streamed,
    kept: Kept,
    /// How many events there were: the time.
    now: Time,
    operations: u64,
    /// How many operations and events somebody listened to, if nobody does any more.
    followed: Option<(u64, u64)>,
    /// The object of the first operation.
    object: Option<Option<Value>>,
    /// Why and in which line the watch ended, if it did.
    end: Option<(u64, End)>,
    /// Whom to tell that nobody listens any more.
    tell: Box<dyn FnMut(&str)>,
}

/// Who listens.
enum Listens {
    /// The monitor of the object.
    Monitor(Box<dyn Online>),
    /// The frontier, by parts or not.
    Frontier(Split, Box<dyn Exact>),
    /// Nobody, for this reason.
    Nobody(String),
}

/// Hands the events that a reader meets to a watch, and lets the reader forget values meanwhile.
pub struct Listening(pub Rc<RefCell<Watch>>);

impl Listener for Listening {
    fn call(&mut self, call: LiveCall<'_>) -> ControlFlow<()> {
        self.0.borrow_mut().call(&call)
    }

    fn ret(&mut self, ret: LiveReturn<'_>) -> ControlFlow<()> {
        self.0.borrow_mut().ret(&ret)
    }

    fn forgets(&self) -> Forgets {
        Forgets::Values
    }

    fn rename(&mut self, new_id: &mut dyn FnMut(ValueId) -> ValueId) {
        self.0.borrow_mut().rename(new_id);
    }
}

enum End {
    Monitor(Stop),
    SeveralObjects,
}

impl Watch {
    /// Watches a specification.
    ///
    /// ```
    /// use seriatim_scale::live::Watch;
    /// use seriatim_spec::{ChosenReader, Failures, SpecChoice};
    /// use std::sync::Arc;
    /// let choice = SpecChoice::parse("stack").unwrap();
    /// let watch = Watch::new(Arc::new(ChosenReader { choice, failures: Failures::default() }));
    /// assert!(watch.is_ok());
    /// ```
    pub fn new(reader: SharedReader) -> Result<Self, String> {
        let Some(chosen) = reader.chosen().cloned() else {
            return Err(format!("{} cannot be watched", reader.name()));
        };
        let monitor = watch(&chosen.choice).ok();
        let begins: Begins = Box::new(move |sample| frontier(&chosen, sample));
        Watch::of(reader, monitor, begins)
    }

    /// Watches a specification with a monitor, if there is one, and with a frontier where that
    /// declines.
    pub fn of(
        reader: SharedReader,
        monitor: Option<Box<dyn Online>>,
        begins: Begins,
    ) -> Result<Self, String> {
        let judge = Judge {
            reader,
            files: Arc::new([]),
            conventions: Conventions::default(),
            timescale: Timescale::default(),
            splitting: Splitting::Whole,
            partitioning: Partitioning::ByKey,
            monitors: Monitors::Use,
            strategies: vec![Strategy::DepthFirst, Strategy::BreadthFirst],
            memory: 256 << 20,
            deadline: None,
            damaged_files: Vec::new(),
        };
        let witness = Streamed::new(&judge, 0).with_window(WINDOW).with_patience(PATIENCE);
        let listens = match monitor {
            Some(monitor) => Listens::Monitor(monitor),
            None => Listens::Frontier(Split::Parts, first(&begins, Conventions::default())?),
        };
        Ok(Watch {
            listens,
            begins,
            beginnings: 0,
            judge,
            witness,
            kept: Kept::new(Scratch::new(std::env::temp_dir()), MOST_KEPT),
            now: 0,
            operations: 0,
            followed: None,
            object: None,
            end: None,
            tell: Box::new(|_| ()),
        })
    }

    /// The same with windows of another size for the order that is made.
    pub fn with_window(self, window: usize) -> Self {
        Watch { witness: self.witness.with_window(window), ..self }
    }

    /// The same, keeping another number of operations for the ordinary check.
    pub fn keeping(self, most: u64) -> Self {
        Watch { kept: Kept::new(Scratch::new(std::env::temp_dir()), most), ..self }
    }

    /// The same, telling somebody when nobody listens any more, and why.
    pub fn telling(self, tell: impl FnMut(&str) + 'static) -> Self {
        Watch { tell: Box::new(tell), ..self }
    }

    /// An operation is called.
    pub fn call(&mut self, call: &LiveCall<'_>) -> ControlFlow<()> {
        let LiveCall { op, line, method, call: what, values, conventions, .. } = *call;
        self.now += 1;
        self.operations += 1;
        let object = what.object.is_present().then(|| values.get(what.object));
        if *self.object.get_or_insert_with(|| object.clone()) != object {
            return self.ends(line, End::SeveralObjects);
        }
        if self.operations == 1 && self.judge.conventions != conventions {
            self.judge.conventions = conventions;
            self.begin_as_told();
        }
        self.witness.call(self.now, call);
        self.kept.call(self.now, call);
        let (key, arg) = (what.key, what.arg);
        let heard = match &mut self.listens {
            Listens::Monitor(monitor) => monitor.call(Called { op, method, key, arg, values }),
            Listens::Frontier(_, frontier) => {
                let (outcome, result) = (Outcome::Pending, ValueId::ABSENT);
                frontier.call(op, Told { method, key, arg, outcome, result, values })
            }
            Listens::Nobody(_) => Ok(()),
        };
        self.heard(heard, line)
    }

    /// An operation returns.
    pub fn ret(&mut self, ret: &LiveReturn<'_>) -> ControlFlow<()> {
        self.now += 1;
        self.witness.ret(self.now, ret);
        self.kept.ret(self.now, ret);
        let LiveReturn { op, line, ret, values, method, call } = *ret;
        let (outcome, result) = (ret.outcome, ret.result);
        let heard = match &mut self.listens {
            Listens::Monitor(monitor) => monitor.ret(Returned { op, outcome, result, values }),
            Listens::Frontier(_, frontier) => {
                let (key, arg) = (call.key, call.arg);
                frontier.ret(op, Told { method, key, arg, outcome, result, values })
            }
            Listens::Nobody(_) => Ok(()),
        };
        self.heard(heard, line)
    }

    /// What follows from what a listener says of an event.
    fn heard(&mut self, heard: Result<(), Stop>, line: u64) -> ControlFlow<()> {
        let mut heard = heard;
        loop {
            let declined = match heard {
                Ok(()) => return ControlFlow::Continue(()),
                Err(Stop::Violation(_)) => {
                    let Err(stop) = heard else { return ControlFlow::Continue(()) };
                    return self.ends(line, End::Monitor(stop));
                }
                Err(Stop::Declined(declined)) => declined,
            };
            heard = match self.next_split(&declined) {
                Some(split) => self.begin_again(split, &declined),
                None => self.give_up(declined.to_string()),
            };
        }
    }

    /// How a frontier listens after a decline, if one can.
    fn next_split(&self, declined: &Declined) -> Option<Split> {
        let may_begin = self.beginnings < MOST_BEGINNINGS;
        match (&self.listens, declined) {
            (Listens::Monitor(_), _) => Some(Split::Parts),
            (Listens::Frontier(Split::Parts, _), Declined::Whole) => Some(Split::Whole),
            (Listens::Frontier(split, _), Declined::Unheard { .. }) if may_begin => Some(*split),
            _ => None,
        }
    }

    /// Nobody listens any more.
    fn give_up(&mut self, why: String) -> Result<(), Stop> {
        (self.tell)(&why);
        self.leave(why);
        Ok(())
    }

    /// Nobody listens from the present event on.
    fn leave(&mut self, why: String) {
        self.listens = Listens::Nobody(why);
        self.followed.get_or_insert((self.operations, self.now - 1));
    }

    /// The results of the stream are to be read in another way than was thought before the first of
    /// them.
    fn begin_as_told(&mut self) {
        if let Listens::Frontier(split, _) = self.listens {
            match first(&self.begins, self.judge.conventions) {
                Ok(frontier) => self.listens = Listens::Frontier(split, frontier),
                Err(why) => self.leave(why),
            }
        }
    }

    /// A frontier hears everything that happened so far, and goes on from there.
    fn begin_again(&mut self, split: Split, declined: &Declined) -> Result<(), Stop> {
        self.beginnings += 1;
        let Some(Ok((mut history, _))) = self.kept.history(&self.judge) else {
            let why = format!("{declined}, and what came before is not kept");
            return self.give_up(why);
        };
        let conventions = self.judge.conventions;
        let sample = Sample { history: &mut history, conventions, split, most_values: MOST_VALUES };
        let mut frontier = match (self.begins)(sample) {
            Ok(frontier) => frontier,
            Err(why) => return self.give_up(why),
        };
        let heard = tell_all(&mut *frontier, &history, &self.kept);
        // An operation that cannot be heard though it is known from the beginning never will be.
        if let Err(Stop::Declined(Declined::Unheard { why })) = heard {
            return self.give_up(why);
        }
        self.listens = Listens::Frontier(split, frontier);
        heard
    }

    fn ends(&mut self, line: u64, end: End) -> ControlFlow<()> {
        self.end = Some((line, end));
        ControlFlow::Break(())
    }

    /// Whoever tells the events forgets values; see [`Online::rename`].
    pub fn rename(&mut self, new_id: &mut dyn FnMut(ValueId) -> ValueId) {
        if let Listens::Monitor(monitor) = &mut self.listens {
            monitor.rename(new_id);
        }
    }

    /// How many events there were.
    pub fn events(&self) -> u64 {
        self.now
    }

    /// How many operations were called.
    pub fn operations(&self) -> u64 {
        self.operations
    }

    /// How many operations and events there were until nobody listened any more, if that is so.
    pub fn followed(&self) -> Option<(u64, u64)> {
        self.followed
    }

    /// The line at which the watch ended before the events did.
    pub fn line(&self) -> Option<u64> {
        self.end.as_ref().map(|end| end.0)
    }

    /// Whether somebody listened to the end, so that a violation is known by the very event.
    pub fn was_heard(&self) -> bool {
        !matches!(self.listens, Listens::Nobody(_))
    }

    /// What can be said in the end, and is checked.
    pub fn conclude(&mut self, conventions: Conventions) -> Judgement {
        self.judge.conventions = conventions;
        match self.end.take() {
            Some((line, End::Monitor(Stop::Violation(violation)))) => {
                self.contested(&violation.reason, line)
            }
            Some((_, End::Monitor(Stop::Declined(declined)))) => {
                self.decided_in_the_end(declined.to_string())
            }
            Some((_, End::SeveralObjects)) => {
                Judgement::Unknown("several objects cannot be watched as one".to_owned())
            }
            None => match (self.witness.finish(), &self.listens) {
                (Ok(()), _) => Judgement::Linearizable,
                (Err(_), Listens::Nobody(why)) => {
                    let why = why.clone();
                    self.decided_in_the_end(why)
                }
                (Err(reason), Listens::Monitor(_)) => self.reconsidered(&reason),
                (Err(_), Listens::Frontier(..)) => self.replayed_by_the_frontier(),
            },
        }
    }

    /// What the order tells that the frontier has made.
    fn replayed_by_the_frontier(&mut self) -> Judgement {
        let Listens::Frontier(_, frontier) = &mut self.listens else {
            return self.reconsidered("nobody has made one");
        };
        match frontier.finish() {
            Ok(()) => Judgement::Linearizable,
            Err(reason) => self.reconsidered(reason),
        }
    }

    /// What the ordinary check says of events that nobody could listen to.
    fn decided_in_the_end(&mut self, why: String) -> Judgement {
        match self.ordinary() {
            Some(Judgement::Unknown(limit)) => {
                Judgement::Unknown(format!("{why}; the ordinary check gives up, {limit}"))
            }
            Some(decided) => decided,
            None => Judgement::Unknown(why),
        }
    }

    /// What the ordinary check says of everything, if it is all here. If the process has to stop
    /// meanwhile, it says nothing, and what the listener said stands.
    fn ordinary(&mut self) -> Option<Judgement> {
        self.judge.deadline = Some(Instant::now() + LONG_PATIENCE);
        let check = || {
            Some(match self.kept.history(&self.judge)? {
                Ok((history, files)) => self.judge.decide(history, files).0,
                Err(problem) => Judgement::Refused(problem.to_string()),
            })
        };
        let checked = Cancel::of_process().during(check);
        checked.unwrap_or_else(|stopped| Some(Judgement::Unknown(stopped.0.text().to_owned())))
    }

    /// What is known though the order that was made could not be continued.
    fn reconsidered(&mut self, reason: &str) -> Judgement {
        let open = format!(
            "the online monitor finds no violation, but no order could be replayed: {reason}"
        );
        match self.ordinary() {
            Some(Judgement::Linearizable) => Judgement::Linearizable,
            Some(Judgement::Violation(_)) => Judgement::Unknown(
                "the online monitor finds no violation, but the ordinary check does: one of them is wrong, \
                 please report this log"
                    .to_owned(),
            ),
            Some(Judgement::Unknown(limit)) => {
                Judgement::Unknown(format!("{open}; the ordinary check gives up, {limit}"))
            }
            Some(refused @ Judgement::Refused(_)) => refused,
            None => Judgement::Unknown(open),
        }
    }

    /// What is left of a violation that the online monitor tells of.
    fn contested(&mut self, sentence: &str, line: u64) -> Judgement {
        let disagree = |who: &str| {
            Judgement::Unknown(format!(
                "the online monitor says \"{sentence}\", but {who}: one of them is wrong, please \
                 report this log"
            ))
        };
        let alone = |why: &str| {
            let sentence = format!("{sentence} (so says the online monitor alone: {why})");
            Judgement::Violation(Box::new(Evidence::Sentence { sentence, file: 0, line }))
        };
        match self.ordinary() {
            Some(Judgement::Linearizable) => disagree("the ordinary check finds an order"),
            Some(Judgement::Unknown(reason)) if is_defect(&reason) => {
                disagree(&format!("of the ordinary check, {reason}"))
            }
            Some(Judgement::Unknown(reason)) => {
                alone(&format!("the ordinary check gives up, {reason}"))
            }
            Some(decided) => decided,
            None => match Cancel::of_process().during(|| self.witness.finish()) {
                Ok(Ok(())) => disagree("an order of everything up to there was replayed"),
                Ok(Err(_)) | Err(_) => alone("what came before is not kept"),
            },
        }
    }
}

/// Whether the ordinary check gave up since its own checker rejects its answer: the monitor that is
/// in doubt may be the one that was wrong there.
fn is_defect(reason: &str) -> bool {
    reason.starts_with(&Limit::Defect.to_string())
}

/// A frontier that has heard nothing.
fn first(begins: &Begins, conventions: Conventions) -> Result<Box<dyn Exact>, String> {
    let mut nothing = Builder::new("events").finish().map_err(|problem| problem.to_string())?;
    let (split, most_values) = (Split::Parts, MOST_VALUES);
    begins(Sample { history: &mut nothing, conventions, split, most_values })
}

/// Tells a frontier everything that happened. What is still open has the number by which it will
/// return.
fn tell_all(frontier: &mut dyn Exact, history: &History, kept: &Kept) -> Result<(), Stop> {
    let numbers = kept.open_numbers();
    let above = numbers.values().map(|op| op.0 + 1).max().unwrap_or(0);
    let number = |op: OpId| match numbers.get(&history.call(op)) {
        Some(&number) if history.ret(op).is_none() => number,
        _ => OpId(above + op.0),
    };
    let told = |op: OpId, outcome: Outcome, result: ValueId| Told {
        method: history.operation(op).method(),
        key: history.key(op),
        arg: history.arg(op),
        outcome,
        result,
        values: history.values(),
    };
    for event in history.events() {
        match event {
            Event::Call(op) => {
                frontier.call(number(op), told(op, Outcome::Pending, ValueId::ABSENT))?;
            }
            Event::Return(op) => {
                frontier.ret(number(op), told(op, history.outcome(op), history.result(op)))?;
            }
        }
    }
    Ok(())
}
