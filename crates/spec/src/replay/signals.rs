//! Objects that can be closed: weighted semaphore, watch cell, broadcast. Who receives is the
//! argument, else the process.

use super::record::{Record, Said};
use super::{Model, Setup};
use seriatim_history::{Outcome, ProcessId, Value, ValueId};
use std::collections::BTreeMap;

/// Whether the log says that all is closed, or leaves it open.
fn is_closed(record: &Record<'_>) -> bool {
    match record.ended {
        Outcome::Pending => true,
        Outcome::Failed => false,
        Outcome::Ok => record.values().as_str(record.result) == Some("closed"),
    }
}

/// Permits that are taken several at a time.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Permits {
    free: i128,
    is_closed: bool,
}

verbs! {
    /// What a weighted semaphore does.
    PermitVerb {
        Acquire: "acquire" | "acquire_many" | "acquire-many" | "acquiremany",
        TryAcquire: "try_acquire" | "try_acquire_many" | "try-acquire" | "tryacquire",
        Release: "release" | "add_permits" | "release_many" | "add-permits" | "addpermits",
        Forget: "forget" | "forget_permits" | "forget-permits" | "forgetpermits",
        Close: "close",
        IsClosed: "is_closed" | "is-closed" | "isclosed",
        Free: "permits" | "available" | "available_permits" | "availablepermits",
    }
}

impl Model for Permits {
    type Verb = PermitVerb;

    fn start(setup: &Setup<'_>) -> Self {
        Permits { free: setup.integer("init").into(), is_closed: false }
    }

    fn observes(verb: PermitVerb, _: &Record<'_>) -> bool {
        verb == PermitVerb::TryAcquire
    }

    fn step(&mut self, verb: PermitVerb, record: &Record<'_>) -> bool {
        let count = record.given().map_or(Some(1), |given| record.values().as_int(given));
        let Some(count) = count.filter(|count| *count >= 0) else { return false };
        let count = i128::from(count);
        let is_enough = count <= self.free;
        match verb {
            PermitVerb::Acquire | PermitVerb::TryAcquire if self.is_closed => is_closed(record),
            PermitVerb::Acquire | PermitVerb::TryAcquire => {
                self.free -= if is_enough { count } else { 0 };
                match verb {
                    PermitVerb::Acquire => is_enough && record.is_done(),
                    _ => record.success(Said::This(true)).fits(is_enough),
                }
            }
            PermitVerb::Release => {
                self.free += count;
                record.is_done()
            }
            PermitVerb::Forget => {
                let gone = count.min(self.free);
                self.free -= gone;
                record.tells(gone)
            }
            PermitVerb::Close => {
                self.is_closed = true;
                record.is_done()
            }
            PermitVerb::IsClosed => record.truth().fits(self.is_closed),
            PermitVerb::Free => record.tells(self.free),
        }
    }
}

/// Who receives.
type Receiver = (Option<ValueId>, Option<ProcessId>);

fn receiver(record: &Record<'_>) -> Receiver {
    let process = || record.history.caller(record.op);
    (record.given(), record.given().is_none().then(process))
}

/// All values that were sent, and how many of them each receiver has had: `watch`, `broadcast`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Sent {
    values: Vec<ValueId>,
    had: BTreeMap<Receiver, usize>,
    is_closed: bool,
    /// What a cell holds before; broadcasts keep so many.
    first: ValueId,
    capacity: usize,
}

verbs! {
    /// What is done with values that are sent to many.
    SentVerb {
        Send: "send" | "write" | "set" | "publish" | "broadcast",
        Replace: "send_replace" | "replace" | "swap",
        Read: "read" | "borrow" | "get" | "load",
        Update: "update" | "borrow_and_update",
        HasChanged: "has_changed" | "is_new",
        Changed: "changed" | "wait",
        Receive: "recv" | "receive",
        TryReceive: "try_recv" | "try_receive" | "poll",
        Behind: "len" | "behind" | "size",
        Subscribe: "subscribe" | "mark_unchanged" | "resubscribe",
        Close: "close",
    }
}

impl Sent {
    fn send(&mut self, record: &Record<'_>) -> bool {
        if !self.is_closed {
            self.values.push(record.arg);
        }
        record.success(Said::This(true)).fits(!self.is_closed)
    }

    /// What a receiver gets next, in a broadcast.
    fn receive(&mut self, verb: SentVerb, record: &Record<'_>) -> bool {
        let oldest = self.values.len().saturating_sub(self.capacity);
        let had = self.had.entry(receiver(record)).or_default();
        let said = record.values().as_pair(record.result);
        let lag = said.filter(|said| record.values().as_str(said.0) == Some("lagged"));
        match self.values.get(*had) {
            _ if *had < oldest => {
                let missed = std::mem::replace(had, oldest).abs_diff(oldest) as i64;
                let told = lag.and_then(|(_, count)| record.values().as_int(count));
                record.ended == Outcome::Pending || told == Some(missed) || is_silent(record)
            }
            None if self.is_closed => is_closed(record) || is_silent(record),
            None => verb == SentVerb::TryReceive && record.found().fits(None),
            Some(&value) => {
                *had += 1;
                record.found().fits(Some(value))
            }
        }
    }
}

/// Whether the log does not say what an operation returned that did return.
fn is_silent(record: &Record<'_>) -> bool {
    record.ended == Outcome::Ok && record.result == ValueId::ABSENT
}

impl Model for Sent {
    type Verb = SentVerb;

    fn start(setup: &Setup<'_>) -> Self {
        let capacity = setup.parameters.value("capacity").map(|_| setup.integer("capacity"));
        let capacity = capacity.and_then(|capacity| usize::try_from(capacity).ok());
        let first = setup.value("init", &Value::Nil);
        let capacity = capacity.unwrap_or(usize::MAX);
        Sent { values: Vec::new(), had: BTreeMap::new(), is_closed: false, first, capacity }
    }

    fn observes(verb: SentVerb, _: &Record<'_>) -> bool {
        matches!(verb, SentVerb::Send | SentVerb::Changed | SentVerb::TryReceive)
    }

    fn step(&mut self, verb: SentVerb, record: &Record<'_>) -> bool {
        let (sent, by) = (self.values.len(), receiver(record));
        let held = self.values.last().copied().unwrap_or(self.first);
        let had = self.had.get(&by).copied().unwrap_or(0);
        let sees = matches!(verb, SentVerb::Update | SentVerb::Changed | SentVerb::Subscribe);
        if sees {
            self.had.insert(by, sent);
        }
        match verb {
            SentVerb::Send => self.send(record),
            SentVerb::Replace => {
                self.values.push(record.arg);
                record.value().fits(held)
            }
            SentVerb::Read => record.value().fits(held),
            SentVerb::Update => {
                let said = record.values().as_pair(record.result);
                let is_told = said == Some((held, ValueId::from(had < sent)));
                record.ended == Outcome::Pending || is_told || is_silent(record)
            }
            SentVerb::HasChanged => record.truth().fits(had < sent),
            SentVerb::Changed if record.ended == Outcome::Failed => had == sent && self.is_closed,
            SentVerb::Changed if had < sent => record.is_done(),
            SentVerb::Changed => self.is_closed && is_closed(record),
            SentVerb::Receive | SentVerb::TryReceive => self.receive(verb, record),
            SentVerb::Behind => record.number().fits((sent - had) as i64),
            SentVerb::Subscribe => record.is_done(),
            SentVerb::Close => {
                self.is_closed = true;
                record.is_done()
            }
        }
    }
}
