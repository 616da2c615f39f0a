//! The object itself as its own specification: what it does when nobody disturbs it.
//!
//! A history is right if some order of its calls, made one after another on a fresh object, gives
//! the same results. The state of the specification is the list of calls so far; a step makes a new
//! object, repeats the list and calls once more. That asks nothing of the object: no `Clone`, no
//! equality. Price: a step costs as many calls as came before it, and two orders that lead to the
//! same state are not recognised as the same, so that this is for the short histories of scenarios
//! only; the answers are remembered for all runs of a test. It would be unsound for an object that
//! behaves differently from one sequential run to the next (random numbers, time): see
//! [`constancy`](crate::constancy).

use crate::constancy::{Constancy, Taken, inconstancy};
use crate::model::{Answered, ModelCall, call_of};
use crate::reply::Reply;
use crate::run::{End, Slot};
use crate::scenario::{KindId, Step};
use crate::subject::{Attached, Caller, Stamps, Subject};
use seriatim_history::Time;
use seriatim_spec::{Next, Spec};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::sync::{Arc, Mutex};

/// A sequential specification made of a subject.
pub(crate) struct Sequential {
    subject: Arc<dyn Subject>,
    answers: Mutex<HashMap<(Past, ModelCall), Reply>>,
}

/// The calls so far.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Past(Arc<[ModelCall]>);

impl Past {
    fn with(&self, call: &ModelCall) -> Past {
        Past(self.0.iter().chain([call]).cloned().collect())
    }
}

impl fmt::Debug for Past {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.len() {
            0 => f.write_str("new"),
            _ => write!(f, "after {:?}", &self.0),
        }
    }
}

/// Nobody asks for the time.
struct NoTime;

impl Stamps for NoTime {
    fn call(&self) -> Time {
        0
    }

    fn ret(&self) -> Time {
        0
    }
}

impl Sequential {
    pub fn new(subject: Arc<dyn Subject>) -> Self {
        Sequential { subject, answers: Mutex::default() }
    }

    /// Whether the object does the same in every sequential run.
    pub fn constancy(self: Arc<Self>) -> Constancy {
        Arc::new(move |history| {
            let calls: Vec<ModelCall> = history.operations().map(call_of).collect();
            inconstancy(&self.initial(), &calls, |past, call| Taken {
                answer: Answered(self.asked(past, call)),
                after: Some(past.with(call)),
            })
        })
    }

    fn asked(&self, past: &Past, call: &ModelCall) -> Reply {
        let (subject, calls, last) = (self.subject.clone(), past.0.clone(), call.clone());
        isolated(move || repeat(&*subject, &calls, &last))
    }

    fn answer(&self, past: &Past, call: &ModelCall) -> Reply {
        let key = (past.clone(), call.clone());
        if let Some(known) = self.answers.lock().expect("nobody panics with the lock").get(&key) {
            return known.clone();
        }
        let reply = self.asked(past, call);
        let mut answers = self.answers.lock().expect("nobody panics with the lock");
        if answers.len() > 1_000_000 {
            answers.clear();
        }
        answers.insert(key, reply.clone());
        reply
    }
}

/// Makes some calls on a fresh object and says what the last one returns.
fn repeat(subject: &dyn Subject, past: &[ModelCall], last: &ModelCall) -> Reply {
    let Ok(instance) = subject.fresh() else { return Reply::Unknown };
    let mut attached: HashMap<Caller, Box<dyn Attached>> = HashMap::new();
    let mut take = |call: &ModelCall| {
        let handle = match attached.entry(call.caller()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => place.insert(instance.attach(call.caller()).ok()?),
        };
        Some(handle.run(&step_of(subject, call), &NoTime))
    };
    for call in past {
        take(call);
    }
    match take(last) {
        Some(Slot { end: End::Returned(_, reply), .. }) => reply,
        _ => Reply::Unknown,
    }
}

fn step_of(subject: &dyn Subject, call: &ModelCall) -> Step {
    let kind = subject.kinds().iter().position(|kind| *kind.name == *call.name());
    let kind = KindId(kind.expect("the call was recorded from this subject") as u32);
    Step { kind, arg: call.value().cloned() }
}

/// Runs something that uses the primitives of this build, outside of any other execution.
fn isolated<R: Send + 'static>(run: impl Fn() -> R + Send + Sync + 'static) -> R {
    match seriatim_sync::BACKEND {
        #[cfg(feature = "shuttle")]
        seriatim_sync::Backend::Shuttle => crate::shuttle_engine::isolated(run),
        #[cfg(feature = "loom")]
        seriatim_sync::Backend::Loom => crate::loom_engine::isolated(run),
        _ => run(),
    }
}

impl Spec for Sequential {
    type State = Past;
    type Op = ModelCall;
    type Ret = Answered;

    fn initial(&self) -> Past {
        Past([].into())
    }

    fn step(&self, state: &Past, op: &ModelCall, ret: Option<&Answered>) -> Next<Past> {
        let possible = ret.is_none_or(|ret| ret.0.is_as(&self.answer(state, op)));
        Next::when(possible, || state.with(op))
    }

    fn explain(&self, state: &Past, op: &ModelCall, ret: Option<&Answered>) -> String {
        let right = Answered(self.answer(state, op));
        match ret {
            Some(ret) if !ret.0.is_as(&right.0) => {
                format!("{op:?} cannot return {ret:?} {state:?}: it returns {right:?}")
            }
            _ => String::new(),
        }
    }
}
