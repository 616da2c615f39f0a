//! Objects that count: counter, fetch-and-add, mutex, semaphore.

use super::record::{Record, Said};
use super::{Model, Setup};
use seriatim_history::{Outcome, ProcessId, ValueId};

/// A number that is added to: `counter`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Counter {
    value: i64,
}

/// What a counter does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum CounterVerb {
    Read,
    Inc,
    Dec,
    Add,
}

/// What is added: the argument, 1 without one.
fn amount(record: &Record<'_>) -> Option<i64> {
    record.given().map_or(Some(1), |given| record.values().as_int(given))
}

/// Adds; false if the sum has more than 64 bits.
fn add(value: &mut i64, amount: Option<i64>) -> bool {
    let sum = amount.and_then(|amount| value.checked_add(amount));
    *value = sum.unwrap_or(*value);
    sum.is_some()
}

impl Model for Counter {
    type Verb = CounterVerb;

    fn start(setup: &Setup<'_>) -> Self {
        Counter { value: setup.integer("init") }
    }

    fn verb(name: &str) -> Option<CounterVerb> {
        Some(match name {
            "read" | "get" | "load" | "value" => CounterVerb::Read,
            "inc" | "increment" | "incr" => CounterVerb::Inc,
            "dec" | "decrement" | "decr" => CounterVerb::Dec,
            "add" => CounterVerb::Add,
            _ => return None,
        })
    }

    fn step(&mut self, verb: CounterVerb, record: &Record<'_>) -> bool {
        let amount = match verb {
            CounterVerb::Read => return record.number().fits(self.value),
            CounterVerb::Dec => amount(record).and_then(i64::checked_neg),
            CounterVerb::Inc | CounterVerb::Add => amount(record),
        };
        add(&mut self.value, amount)
            && match record.tells_a_number() {
                true => record.number().fits(self.value),
                false => record.is_done(),
            }
    }
}

/// A number whose addition returns the value before: `fetch-and-add`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct FetchAndAdd(i64);

/// What it does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum FetchVerb {
    Read,
    FetchAdd,
    FetchSub,
}

impl Model for FetchAndAdd {
    type Verb = FetchVerb;

    fn start(setup: &Setup<'_>) -> Self {
        FetchAndAdd(setup.integer("init"))
    }

    fn verb(name: &str) -> Option<FetchVerb> {
        Some(match name {
            "read" | "get" | "load" | "value" => FetchVerb::Read,
            "fetch_add" | "fetch-and-add" | "fetch_and_add" | "fetch-add" | "getandadd" | "faa"
            | "inc" | "increment" | "getandincrement" => FetchVerb::FetchAdd,
            "fetch_sub" | "fetch-and-sub" | "fetch-sub" | "dec" | "decrement"
            | "getanddecrement" => FetchVerb::FetchSub,
            _ => return None,
        })
    }

    fn step(&mut self, verb: FetchVerb, record: &Record<'_>) -> bool {
        let fits = record.number().fits(self.0);
        fits && match verb {
            FetchVerb::Read => true,
            FetchVerb::FetchAdd => add(&mut self.0, amount(record)),
            FetchVerb::FetchSub => add(&mut self.0, amount(record).and_then(i64::checked_neg)),
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

/// What mutexes and semaphores do.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum LockVerb {
    Acquire,
    Release,
    TryAcquire,
    Read,
}

impl LockVerb {
    /// An `acquire` that returned `false` did not wait.
    fn of(self, record: &Record<'_>) -> LockVerb {
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

    fn verb(name: &str) -> Option<LockVerb> {
        Some(match name {
            "acquire" | "lock" => LockVerb::Acquire,
            "release" | "unlock" => LockVerb::Release,
            "try_acquire" | "try-acquire" | "try_lock" | "try-lock" | "trylock" | "tryacquire" => {
                LockVerb::TryAcquire
            }
            "is_locked" | "is-locked" | "islocked" | "locked" | "read" => LockVerb::Read,
            _ => return None,
        })
    }

    fn observes(verb: LockVerb, record: &Record<'_>) -> bool {
        verb.of(record) == LockVerb::TryAcquire
    }

    fn step(&mut self, verb: LockVerb, record: &Record<'_>) -> bool {
        let caller = match self.counts_owners {
            true => record.history.process(record.op),
            false => ProcessId(0),
        };
        let is_free = self.holder.is_none();
        match verb.of(record) {
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
pub struct Semaphore(i64);

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
        Semaphore(setup.integer("init"))
    }

    fn verb(name: &str) -> Option<LockVerb> {
        Some(match name {
            "acquire" | "down" | "wait" | "p" => LockVerb::Acquire,
            "release" | "incr" | "up" | "signal" | "post" | "v" => LockVerb::Release,
            "try_acquire" | "decr" | "try-acquire" | "tryacquire" | "try_wait" => {
                LockVerb::TryAcquire
            }
            "permits" | "read" | "available" | "available_permits" | "availablepermits" => {
                LockVerb::Read
            }
            _ => return None,
        })
    }

    fn observes(verb: LockVerb, record: &Record<'_>) -> bool {
        verb.of(record) == LockVerb::TryAcquire
    }

    fn step(&mut self, verb: LockVerb, record: &Record<'_>) -> bool {
        let has_permit = self.0 > 0;
        match verb.of(record) {
            LockVerb::Acquire => {
                self.0 -= i64::from(has_permit);
                has_permit && record.is_done()
            }
            LockVerb::Release => add(&mut self.0, Some(1)) && permit(record).fits(true),
            LockVerb::TryAcquire => {
                self.0 -= i64::from(has_permit);
                permit(record).fits(has_permit)
            }
            LockVerb::Read => record.number().fits(self.0),
        }
    }
}
