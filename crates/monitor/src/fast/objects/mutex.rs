//! Mutex: `lock`, `unlock`, `try_lock`, `is_locked`. Also online.
//!
//! **Decides** whether a history of one lock, which anybody may release, is linearizable.
//!
//! **Theorem.** A mutex is one flag (see `flag`): `lock` and a `try_lock` that succeeds find it
//! free and take it, `unlock` finds it taken and frees it, a `try_lock` that answers false has seen
//! it taken.
//!
//! **Cost.** O(1) an event plus the operations open; memory: the operations open.
//!
//! **Precondition.** Anybody may release the lock. An operation that says that it failed did not
//! happen.

use crate::fast::objects::set::{Dialect, KeyRule, Presence, Watch as Keys, decide};
use crate::fast::online::{Called, Online, Returned, Stop};
use crate::fast::{Declined, Part};
use seriatim_history::ValueId;
use seriatim_spec::{Claim, names};

/// Decides a part of a mutex's history.
pub fn check(part: Part<'_>) -> Result<Claim, Declined> {
    decide(part, &DIALECT)
}

const DIALECT: Dialect = Dialect {
    insert: &[names("mutex", "acquire"), names("mutex", "try_acquire")],
    remove: names("mutex", "release"),
    contains: names("mutex", "is_locked"),
    keys: KeyRule::One,
    explain: |operation, _, presence| match presence {
        Presence::Present => format!("{operation} found the lock taken, but nobody held it"),
        Presence::Absent => {
            format!("{operation} found the lock free, but it was held all the time")
        }
    },
};

/// The mutex monitor for live streams.
pub struct Watch(Keys);

impl Default for Watch {
    fn default() -> Self {
        Watch(Keys::new(&DIALECT))
    }
}

impl Online for Watch {
    fn call(&mut self, called: Called<'_>) -> Result<(), Stop> {
        self.0.call(called)
    }

    fn ret(&mut self, returned: Returned<'_>) -> Result<(), Stop> {
        self.0.ret(returned)
    }

    fn rename(&mut self, new_id: &mut dyn FnMut(ValueId) -> ValueId) {
        self.0.rename(new_id);
    }

    fn remembered(&self) -> usize {
        self.0.remembered()
    }
}
