//! Objects that count: counter, fetch-and-add, mutex, semaphore.

use super::record::{Record, Said};
use super::{Model, Setup};
use seriatim_history::{Outcome, ProcessId, ValueId};

/// A number that is added to: `counter`, `fetch-and-add`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Number {
    value: i128,
    /// Whether an addition returns the value before it.
    is_fetched: bool,
}

verbs! {
    /// What is done with a number.
    NumberVerb {
        Read: "read" | "get" | "load" | "value",
        Add: "inc" | "increment" | "incr" | "add" | "fetch_add" | "fetch-and-add"
            | "fetch_and_add" | "fetch-add" | "getandadd" | "faa" | "getandincrement",
        Subtract: "dec" | "decrement" | "decr" | "fetch_sub" | "fetch-and-sub" | "fetch-sub"
            | "getanddecrement",
    }
}

/// What is added: the argument, 1 without one.
fn amount(record: &Record<'_>) -> Option<i128> {
    record.given().map_or(Some(1), |given| record.values().as_int(given).map(i128::from))
}

impl Model for Number {
    type Verb = NumberVerb;

    fn start(setup: &Setup<'_>) -> Self {
        Number { value: setup.integer("init").into(), is_fetched: setup.name == "fetch-and-add" }
    }

    fn step(&mut self, verb: NumberVerb, record: &Record<'_>) -> bool {
        let before = self.value;
        if verb == NumberVerb::Read {
            return record.tells(before);
        }
        let Some(amount) = amount(record) else { return false };
        self.value += if verb == NumberVerb::Add { amount } else { -amount };
        match record.tells_a_number() {
            _ if self.is_fetched => record.tells(before),
            true => record.tells(self.value),
            false => record.is_done(),
        }
    }
}

/// Held or free: `mutex`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Mutex {
    holder: Option<ProcessId>,
    /// Whether only the holder may release it.
    counts_owners: bool,
}

verbs! {
    /// What mutexes and semaphores do.
    LockVerb {
        Acquire: "acquire" | "lock" | "down" | "wait" | "p",
        Release: "release" | "unlock" | "incr" | "up" | "signal" | "post" | "v",
        TryAcquire: "try_acquire" | "try-acquire" | "try_lock" | "try-lock" | "trylock"
            | "tryacquire" | "decr" | "try_wait",
        Read: "is_locked" | "is-locked" | "islocked" | "locked" | "read" | "permits" | "available"
            | "available_permits" | "availablepermits",
    }
}

impl LockVerb {
    /// An `acquire` that returned `false` did not wait.
    fn as_meant(self, record: &Record<'_>) -> LockVerb {
        match self {
            LockVerb::Acquire if record.result == ValueId::FALSE => LockVerb::TryAcquire,
            verb => verb,
        }
    }
}

impl Model for Mutex {
    type Verb = LockVerb;

    fn start(setup: &Setup<'_>) -> Self {
        Mutex { holder: None, counts_owners: setup.flag("owner") }
    }

    fn observes(verb: LockVerb, record: &Record<'_>) -> bool {
        verb.as_meant(record) == LockVerb::TryAcquire
    }

    fn step(&mut self, verb: LockVerb, record: &Record<'_>) -> bool {
        let caller = match self.counts_owners {
            true => record.history.caller(record.op),
            false => ProcessId(0),
        };
        let is_free = self.holder.is_none();
        match verb.as_meant(record) {
            LockVerb::Acquire => {
                self.holder = Some(caller);
                is_free && record.is_done()
            }
            LockVerb::Release => self.holder.take() == Some(caller) && record.is_done(),
            LockVerb::TryAcquire => {
                self.holder.get_or_insert(caller);
                record.success(Said::This(true)).fits(is_free)
            }
            LockVerb::Read => record.truth().fits(!is_free),
        }
    }
}

/// Permits, never fewer than none: `semaphore`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Semaphore(i128);

/// Success or not, which some recorders write as the argument, and as 1 or 0.
fn permit(record: &Record<'_>) -> Said<bool> {
    let told = if record.result.is_present() { record.result } else { record.arg };
    match (record.ended, told, told.as_inline_int()) {
        (Outcome::Pending, ..) => Said::Nothing,
        (Outcome::Failed, ..) => Said::This(false),
        (_, ValueId::ABSENT | ValueId::NIL | ValueId::TRUE, _) | (.., Some(1)) => Said::This(true),
        (_, ValueId::FALSE, _) | (.., Some(0)) => Said::This(false),
        _ if record.is_bare() => Said::This(true),
        _ => Said::Nonsense,
    }
}

impl Model for Semaphore {
    type Verb = LockVerb;

    fn start(setup: &Setup<'_>) -> Self {
        Semaphore(setup.integer("init").into())
    }

    fn observes(verb: LockVerb, record: &Record<'_>) -> bool {
        verb.as_meant(record) == LockVerb::TryAcquire
    }

    fn step(&mut self, verb: LockVerb, record: &Record<'_>) -> bool {
        let has_permit = self.0 > 0;
        match verb.as_meant(record) {
            LockVerb::Acquire => {
                self.0 -= i128::from(has_permit);
                has_permit && record.is_done()
            }
            LockVerb::Release => {
                self.0 += 1;
                permit(record).fits(true)
            }
            LockVerb::TryAcquire => {
                self.0 -= i128::from(has_permit);
                permit(record).fits(has_permit)
            }
            LockVerb::Read => record.tells(self.0),
        }
    }
}
