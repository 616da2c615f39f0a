//! Numbers and locks of the generator: counter, fetch-and-add, semaphore, mutex.

use super::draw::Draw;
use super::model::{Crash, Datum, Done, Invocation, Model, Thread};

/// Counter, fetch-and-add and semaphore.
pub(crate) struct Number {
    pub value: i64,
    pub methods: &'static [(&'static str, f64)],
}

/// More than any history adds up to.
const BEYOND: i64 = 1 << 40;

impl Number {
    pub const COUNTER: &[(&str, f64)] = &[("inc", 0.3), ("dec", 0.1), ("add", 0.2), ("read", 0.4)];
    pub const FETCH_AND_ADD: &[(&str, f64)] = &[("fetch_add", 0.7), ("read", 0.3)];
    pub const SEMAPHORE: &[(&str, f64)] =
        &[("release", 0.45), ("try_acquire", 0.45), ("permits", 0.1)];
}

impl Model for Number {
    fn methods(&self) -> &'static [(&'static str, f64)] {
        self.methods
    }

    fn call(&mut self, method: &'static str, _: Thread, draw: &mut Draw) -> Invocation {
        match method {
            "add" | "fetch_add" => Invocation::int(method, 1 + draw.below(4) as i64),
            _ => Invocation::bare(method),
        }
    }

    fn apply(&mut self, call: &Invocation, _: Thread) -> Option<Datum> {
        let before = self.value;
        Some(match (call.method, &call.arg) {
            ("inc" | "release", _) => {
                self.value += 1;
                Datum::Absent
            }
            ("dec", _) => {
                self.value -= 1;
                Datum::Absent
            }
            ("try_acquire", _) => {
                self.value -= i64::from(before > 0);
                Datum::Truth(before > 0)
            }
            ("add", Datum::Int(amount)) => {
                self.value += amount;
                Datum::Absent
            }
            ("fetch_add", Datum::Int(amount)) => {
                self.value += amount;
                Datum::Int(before)
            }
            _ => Datum::Int(before),
        })
    }

    /// Two additions find the same value, although every addition raises it; or a read sees more
    /// than all operations add up to.
    fn contradiction(&mut self, _: &mut Draw, _: u64) -> Vec<Done> {
        match self.methods[0].0 {
            "fetch_add" => {
                let add = (Invocation::int("fetch_add", 1), Datum::Int(self.value));
                vec![add.clone(), add]
            }
            "release" => vec![(Invocation::bare("permits"), Datum::Int(BEYOND))],
            _ => vec![(Invocation::bare("read"), Datum::Int(BEYOND))],
        }
    }
}

/// Mutex. A thread that holds it releases it; nobody crashes while it holds it.
#[derive(Default)]
pub(crate) struct Lock {
    pub holder: Option<Thread>,
}

impl Model for Lock {
    fn methods(&self) -> &'static [(&'static str, f64)] {
        &[("acquire", 0.6), ("try_acquire", 0.3), ("is_locked", 0.1)]
    }

    fn call(&mut self, method: &'static str, thread: Thread, _: &mut Draw) -> Invocation {
        match self.holder == Some(thread) {
            true => Invocation::bare("release"),
            false => Invocation::bare(method),
        }
    }

    fn apply(&mut self, call: &Invocation, thread: Thread) -> Option<Datum> {
        let free = self.holder.is_none();
        match call.method {
            "acquire" if free => {
                self.holder = Some(thread);
                Some(Datum::Absent)
            }
            "acquire" => None,
            "release" => {
                self.holder = None;
                Some(Datum::Absent)
            }
            "try_acquire" => {
                self.holder = self.holder.or(Some(thread));
                Some(Datum::Truth(free))
            }
            _ => Some(Datum::Truth(!free)),
        }
    }

    fn crash(&self, call: &Invocation, thread: Thread) -> Crash {
        match call.method {
            "acquire" | "try_acquire" if self.holder != Some(thread) => Crash::WithoutEffect,
            _ => Crash::Never,
        }
    }

    fn is_awaited(&self, thread: Thread) -> bool {
        self.holder == Some(thread)
    }

    /// The mutex is acquired once more often than the operations that are open could release it.
    fn contradiction(&mut self, _: &mut Draw, open: u64) -> Vec<Done> {
        let acquired = (Invocation::bare("try_acquire"), Datum::Truth(true));
        vec![acquired; open as usize + 2]
    }
}
