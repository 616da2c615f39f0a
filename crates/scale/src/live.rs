//! Events as they happen, with a second opinion on what the online monitor says of them.
//!
//! An online monitor is right after every event, but gives no evidence. So nothing is called linearizable on its
//! word: an order is made beside it and replayed window by window (`Streamed`), from the first event to
//! the last. That is one order of many; where it cannot be continued, it refutes itself and nothing else. Nor is
//! anything called a violation on the monitor's word alone as long as everything that happened is still here
//! (`Kept`, [`MOST_KEPT`] operations): the ordinary check decides it then, with an order that is replayed or a
//! counterexample that is confirmed as any other. Beyond that, a violation is reported as what the online
//! monitor alone says, unless the order can be continued to the end: then the monitor is contradicted, and
//! there is no verdict.
//!
//! *Side condition*, a check that ends the watch without a verdict: all operations are of one object.
//! Memory: a window of [`WINDOW`] operations, twice the object, and the monitor; in the end all that was kept,
//! if it is needed. Time: a window is checked within [`PATIENCE`]; the first that is not ends the making of an
//! order, and the monitor goes on alone.

use crate::judge::{Evidence, Judge, SharedReader, Standing};
use crate::kept::Kept;
use crate::spill::Scratch;
use crate::split::Splitting;
use crate::windows::Streamed;
use seriatim_history::{
    Conventions, Forgets, Listener, LiveCall, LiveReturn, Time, Value, ValueId,
};
use seriatim_monitor::fast::{Called, Online, Returned, Stop};
use seriatim_monitor::partition::Partitioning;
use seriatim_monitor::{Monitors, Strategy};
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

/// What is watched.
pub struct Watch {
    monitor: Box<dyn Online>,
    judge: Judge,
    witness: Streamed,
    kept: Kept,
    /// How many events there were: the time.
    now: Time,
    operations: u64,
    /// The object of the first operation.
    object: Option<Option<Value>>,
    /// Why and in which line the watch ended, if it did.
    end: Option<(u64, End)>,
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
    /// Watches with a monitor and a specification, with a window of [`WINDOW`] operations.
    pub fn new(monitor: Box<dyn Online>, reader: SharedReader) -> Self {
        Watch::with_window(monitor, reader, WINDOW)
    }

    /// The same with a window of another size.
    pub fn with_window(monitor: Box<dyn Online>, reader: SharedReader, window: usize) -> Self {
        let judge = Judge {
            reader,
            files: Arc::new([]),
            conventions: Conventions::default(),
            splitting: Splitting::Whole,
            partitioning: Partitioning::ByKey,
            monitors: Monitors::Use,
            strategies: vec![Strategy::DepthFirst, Strategy::BreadthFirst],
            memory: 256 << 20,
            deadline: None,
            damaged_files: Vec::new(),
        };
        let witness = Streamed::new(&judge, 0).with_window(window).with_patience(PATIENCE);
        let kept = Kept::new(Scratch::new(std::env::temp_dir()), MOST_KEPT);
        Watch { monitor, judge, witness, kept, now: 0, operations: 0, object: None, end: None }
    }

    /// The same, keeping another number of operations for the ordinary check.
    pub fn keeping(self, most: u64) -> Self {
        Watch { kept: Kept::new(Scratch::new(std::env::temp_dir()), most), ..self }
    }

    /// An operation is called.
    pub fn call(&mut self, call: &LiveCall<'_>) -> ControlFlow<()> {
        let LiveCall { op, line, method, call: what, values, .. } = *call;
        self.now += 1;
        self.operations += 1;
        let object = what.object.is_present().then(|| values.get(what.object));
        if *self.object.get_or_insert_with(|| object.clone()) != object {
            return self.ends(line, End::SeveralObjects);
        }
        self.witness.call(self.now, call);
        self.kept.call(self.now, call);
        let called = Called { op, method, key: what.key, arg: what.arg, values };
        match self.monitor.call(called) {
            Ok(()) => ControlFlow::Continue(()),
            Err(stop) => self.ends(line, End::Monitor(stop)),
        }
    }

    /// An operation returns.
    pub fn ret(&mut self, ret: &LiveReturn<'_>) -> ControlFlow<()> {
        self.now += 1;
        self.witness.ret(self.now, ret);
        self.kept.ret(self.now, ret);
        let LiveReturn { op, line, ret, values, .. } = *ret;
        let returned = Returned { op, outcome: ret.outcome, result: ret.result, values };
        match self.monitor.ret(returned) {
            Ok(()) => ControlFlow::Continue(()),
            Err(stop) => self.ends(line, End::Monitor(stop)),
        }
    }

    fn ends(&mut self, line: u64, end: End) -> ControlFlow<()> {
        self.end = Some((line, end));
        ControlFlow::Break(())
    }

    /// Whoever tells the events forgets values; see [`Online::rename`].
    pub fn rename(&mut self, new_id: &mut dyn FnMut(ValueId) -> ValueId) {
        self.monitor.rename(new_id);
    }

    /// How many events there were.
    pub fn events(&self) -> u64 {
        self.now
    }

    /// How many operations were called.
    pub fn operations(&self) -> u64 {
        self.operations
    }

    /// The line at which the watch ended before the events did.
    pub fn line(&self) -> Option<u64> {
        self.end.as_ref().map(|end| end.0)
    }

    /// What can be said in the end, and is checked.
    pub fn conclude(&mut self, conventions: Conventions) -> Standing {
        self.judge.conventions = conventions;
        match self.end.take() {
            Some((line, End::Monitor(Stop::Violation(violation)))) => {
                self.contested(&violation.reason, line)
            }
            Some((_, End::Monitor(Stop::Declined(declined)))) => {
                Standing::Unknown(declined.to_string())
            }
            Some((_, End::SeveralObjects)) => {
                Standing::Unknown("several objects cannot be watched as one".to_owned())
            }
            None => match self.witness.finish() {
                Ok(()) => Standing::Linearizable,
                Err(reason) => self.reconsidered(&reason),
            },
        }
    }

    /// What the ordinary check says of everything, if it is all here.
    fn ordinary(&mut self) -> Option<Standing> {
        let history = self.kept.history(&self.judge)?;
        self.judge.deadline = Some(Instant::now() + LONG_PATIENCE);
        Some(match history {
            Ok((history, files)) => self.judge.decide(history, files).0,
            Err(problem) => Standing::Refused(problem.to_string()),
        })
    }

    /// What is known though the order that was made could not be continued.
    fn reconsidered(&mut self, reason: &str) -> Standing {
        let open = format!(
            "the online monitor finds no violation, but no order could be replayed: {reason}"
        );
        match self.ordinary() {
            Some(Standing::Linearizable) => Standing::Linearizable,
            Some(Standing::Violation(_)) => Standing::Unknown(
                "the online monitor finds no violation, but the ordinary check does: one of them is wrong, \
                 please report this log"
                    .to_owned(),
            ),
            Some(Standing::Unknown(limit)) => {
                Standing::Unknown(format!("{open}; the ordinary check gives up, {limit}"))
            }
            Some(refused @ Standing::Refused(_)) => refused,
            None => Standing::Unknown(open),
        }
    }

    /// What is left of a violation that the online monitor tells of.
    fn contested(&mut self, sentence: &str, line: u64) -> Standing {
        let disagree = |who: &str| {
            Standing::Unknown(format!(
                "the online monitor says \"{sentence}\", but {who}: one of them is wrong, please \
                 report this log"
            ))
        };
        let alone = |why: &str| {
            let sentence = format!("{sentence} (so says the online monitor alone: {why})");
            Standing::Violation(Box::new(Evidence::Sentence { sentence, file: 0, line }))
        };
        match self.ordinary() {
            Some(Standing::Linearizable) => disagree("the ordinary check finds an order"),
            Some(Standing::Unknown(reason)) => {
                alone(&format!("the ordinary check gives up, {reason}"))
            }
            Some(decided) => decided,
            None => match self.witness.finish() {
                Ok(()) => disagree("an order of everything up to there was replayed"),
                Err(_) => alone("what came before is not kept"),
            },
        }
    }
}
