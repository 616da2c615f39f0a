//! What one execution of a scenario gave, and the history that it is.

use crate::mishap::Mishap;
use crate::reply::Reply;
use crate::scenario::{KindId, Step};
use crate::subject::{Blocking, Caller, Subject};
use crate::tracked::Imbalance;
use seriatim_history::{
    Builder, Call, History, InputError, Interval, Outcome, Return, Time, Value,
};
use std::collections::hash_map::DefaultHasher;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::panic::Location;

/// What became of one call.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    pub call: Time,
    pub end: End,
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum End {
    /// It has not returned, or nobody knows what it did.
    Running,
    /// It waits, and nothing is left that could wake it.
    Stuck,
    Returned(Time, Reply),
    Panicked(String),
}

/// A call with what became of it.
#[derive(Clone, Debug)]
pub(crate) struct Called {
    pub step: Step,
    pub slot: Slot,
}

/// An access of a primitive of `seriatim-sync` inside a call.
#[derive(Clone, Debug)]
pub(crate) struct Accessed {
    pub stamp: Time,
    pub thread: usize,
    /// What was accessed, with its result.
    pub what: String,
    /// Where that stands.
    pub place: &'static Location<'static>,
}

impl fmt::Display for Accessed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.place.file().rsplit(['/', '\\']).next().unwrap_or_default();
        write!(f, "{} ({file}:{})", self.what, self.place.line())
    }
}

/// Whether accesses are written down.
#[cfg(any(feature = "shuttle", feature = "loom"))]
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum Trace {
    #[default]
    Off,
    On,
}

/// One execution of a scenario.
#[derive(Clone, Debug, Default)]
pub(crate) struct Run {
    /// What the main thread called, before and after.
    pub main: Vec<Called>,
    pub threads: Vec<Vec<Called>>,
    /// What the final checks found.
    pub complaint: Option<String>,
    /// What went wrong outside of its calls.
    pub mishap: Option<Mishap>,
    /// What the accounts of tracked values say, where they are looked at after each execution.
    pub imbalance: Option<Imbalance>,
    /// What the threads did inside of their calls, if somebody listened.
    pub accesses: Vec<Accessed>,
    /// Whether a system call ended early in it because of us, so that a failure is not believed.
    pub is_disturbed: bool,
}

impl Run {
    /// All calls with their callers.
    pub fn calls(&self) -> impl Iterator<Item = (Caller, &Called)> {
        let main = self.main.iter().map(|called| (Caller::Main, called));
        let threads = self.threads.iter().enumerate();
        let threads = threads.flat_map(|(thread, calls)| {
            calls.iter().map(move |called| (Caller::Thread(thread), called))
        });
        threads.chain(main)
    }

    /// Whether its calls came one after another because at most one of its threads made any.
    pub fn is_sequential(&self) -> bool {
        let returned =
            |(_, called): (Caller, &Called)| matches!(called.slot.end, End::Returned(..));
        let busy = self.threads.iter().filter(|calls| !calls.is_empty());
        busy.count() <= 1 && self.calls().all(returned)
    }

    /// The execution with a panic outside of its calls.
    #[cfg(any(feature = "shuttle", feature = "loom"))]
    pub fn spoilt_by(self, mishap: Mishap) -> Run {
        Run { mishap: Some(mishap), ..self }
    }

    /// The execution with some of its calls only, named by their places among
    /// [`calls`](Run::calls).
    pub fn restricted(&self, places: &[usize]) -> Run {
        let mut place = 0;
        let mut keep = |calls: &Vec<Called>| {
            let kept = calls.iter().filter(|_| {
                place += 1;
                places.contains(&(place - 1))
            });
            kept.cloned().collect::<Vec<Called>>()
        };
        let threads = self.threads.iter().map(&mut keep).collect();
        let (complaint, imbalance) = (self.complaint.clone(), self.imbalance);
        let (main, mishap) = (keep(&self.main), self.mishap.clone());
        let is_disturbed = self.is_disturbed;
        Run { threads, main, complaint, mishap, imbalance, accesses: Vec::new(), is_disturbed }
    }

    /// The first panic, if there was one: the caller, the call, the message.
    pub fn panic(&self) -> Option<(Caller, &Called, &str)> {
        self.calls().find_map(|(thread, called)| match &called.slot.end {
            End::Panicked(message) => Some((thread, called, message.as_str())),
            _ => None,
        })
    }

    /// The calls that wait for ever although they must not.
    pub fn stuck<'r>(
        &'r self,
        subject: &'r dyn Subject,
    ) -> impl Iterator<Item = (Caller, &'r Called)> {
        self.calls().filter(|(_, called)| {
            let never = matches!(subject.kind(called.step.kind).blocking, Blocking::Never);
            called.slot.end == End::Stuck && never
        })
    }

    /// The execution as a history. The line of an operation is its number among
    /// [`calls`](Run::calls), from 1.
    pub fn history(
        &self,
        subject: &dyn Subject,
        spec: Option<&str>,
    ) -> Result<History, InputError> {
        let mut builder = Builder::new("test");
        if let Some(spec) = spec {
            builder.name_spec(spec);
        }
        for (line, call) in self.calls().enumerate() {
            self.record(&mut builder, subject, line as u64 + 1, call)?;
        }
        builder.finish()
    }

    fn record(
        &self,
        builder: &mut Builder,
        subject: &dyn Subject,
        line: u64,
        (caller, called): (Caller, &Called),
    ) -> Result<(), InputError> {
        let kind = subject.kind(called.step.kind);
        let process = match caller {
            Caller::Main => Value::Name("main".into()),
            Caller::Thread(thread) => Value::Int(thread as i64),
        };
        let process = builder.process(&process);
        let (name, interval, reply) = match (&called.slot.end, &kind.blocking) {
            (End::Returned(ret, reply), _) => {
                (&kind.method, Interval { call: called.slot.call, ret: Some(*ret) }, Some(reply))
            }
            // It waits to the end: judged by a call at the end that would not have had to wait.
            (End::Stuck, Blocking::While(name, reply)) => {
                let end = self.last_stamp() + 1;
                (name, Interval { call: end, ret: Some(end + 1) }, Some(reply))
            }
            _ => (&kind.method, Interval { call: called.slot.call, ret: None }, None),
        };
        let mut call = Call::new(builder.method(name));
        if let Some(arg) = &called.step.arg {
            call = call.arg(builder.values().intern(arg));
        }
        let (outcome, result) = match reply {
            Some(Reply::Answer(value)) => (Outcome::Ok, value),
            Some(Reply::Failed(value)) => (Outcome::Failed, value),
            _ => (Outcome::Pending, &None),
        };
        let result = result.as_ref().map(|value| builder.values().intern(value));
        let ret = Return { outcome, ..Return::new(outcome, result.unwrap_or_else(absent)) };
        builder.operation(line, Some(process), call, interval, ret)?;
        Ok(())
    }

    fn last_stamp(&self) -> Time {
        let stamps = self.calls().map(|(_, called)| match called.slot.end {
            End::Returned(ret, _) => ret,
            _ => called.slot.call,
        });
        stamps.max().unwrap_or(0)
    }

    /// A fingerprint that two executions share exactly when their histories are the same up to the
    /// times themselves: same calls, same results, same operations before each other. `None` for
    /// executions that are too long to repeat themselves.
    pub fn fingerprint(&self) -> Option<u128> {
        let calls: Vec<(Caller, &Called)> = self.calls().collect();
        if calls.len() > 64 {
            return None;
        }
        let digest = |salt: u64| {
            let mut hasher = DefaultHasher::new();
            salt.hash(&mut hasher);
            (&self.complaint, &self.mishap, self.imbalance).hash(&mut hasher);
            for &(thread, called) in &calls {
                let before = calls.iter().enumerate().filter(|(_, (_, other))| {
                    matches!(other.slot.end, End::Returned(ret, _) if ret < called.slot.call)
                });
                let before = before.fold(0_u64, |mask, (place, _)| mask | 1 << place);
                (thread, &called.step, before).hash(&mut hasher);
                match &called.slot.end {
                    End::Returned(_, reply) => reply.hash(&mut hasher),
                    End::Panicked(message) => message.hash(&mut hasher),
                    End::Running => 1.hash(&mut hasher),
                    End::Stuck => 2.hash(&mut hasher),
                }
            }
            hasher.finish()
        };
        Some(u128::from(digest(1)) << 64 | u128::from(digest(2)))
    }
}

fn absent() -> seriatim_history::ValueId {
    seriatim_history::ValueId::ABSENT
}

/// How often the main thread drains at most.
const DRAINS: usize = 1000;

/// Lets a caller call an operation until it finds nothing more: nil, false, a failure, or no value.
pub(crate) fn drain(kind: KindId, mut call: impl FnMut(&Step) -> Slot) -> Vec<Called> {
    let step = Step { kind, arg: None };
    let mut calls = Vec::new();
    while calls.len() < DRAINS {
        let slot = call(&step);
        let more = matches!(
            &slot.end,
            End::Returned(_, Reply::Answer(Some(value))) if !matches!(value, Value::Nil | Value::Bool(false))
        );
        calls.push(Called { step: step.clone(), slot });
        if !more {
            break;
        }
    }
    calls
}
