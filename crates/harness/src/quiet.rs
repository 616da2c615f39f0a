//! Catching the panics of an object without a flood of messages.
//!
//! A broken object may panic thousands of times while its failure is being shrunk. The panic hook
//! of the process is wrapped, once, by one that says nothing about panics which the harness catches
//! on the same thread and passes all others on, so that other tests of the binary keep their
//! messages.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::Once;

thread_local! {
    static CATCHING: Cell<u32> = const { Cell::new(0) };
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// A panic that was caught.
pub(crate) struct Caught {
    payload: Box<dyn Any + Send>,
    place: Option<String>,
}

impl Caught {
    /// What it said and where.
    pub fn message(&self) -> String {
        let text = self.payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| self.payload.downcast_ref::<String>().cloned());
        let text = text.unwrap_or_else(|| "a panic without a message".to_owned());
        match &self.place {
            Some(place) => format!("{text} ({place})"),
            None => text,
        }
    }

    /// Lets it go on.
    pub fn resume(self) -> ! {
        panic::resume_unwind(self.payload)
    }

    /// What it carries.
    #[cfg(feature = "loom")]
    pub fn payload(&self) -> &(dyn Any + Send) {
        &*self.payload
    }
}

/// Runs something that may panic.
pub(crate) fn catch<R>(run: impl FnOnce() -> R) -> Result<R, Caught> {
    static FIRST: Once = Once::new();
    FIRST.call_once(install);
    CATCHING.set(CATCHING.get() + 1);
    let result = panic::catch_unwind(AssertUnwindSafe(run));
    CATCHING.set(CATCHING.get() - 1);
    result.map_err(|payload| Caught { payload, place: PLACE.take() })
}

/// [`catch`] around a whole exploration: executions that are given up on the way never come back
/// from the calls that they were in, and must not leave the thread quiet for ever.
#[cfg(any(feature = "shuttle", feature = "loom"))]
pub(crate) fn catch_all<R>(run: impl FnOnce() -> R) -> Result<R, Caught> {
    let before = CATCHING.get();
    let result = catch(run);
    CATCHING.set(before);
    result
}

/// Puts the quiet hook on top of the present one.
fn install() {
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |info: &PanicHookInfo<'_>| {
        let quiet = CATCHING.try_with(|catching| catching.get() > 0).unwrap_or(false);
        if !quiet {
            return before(info);
        }
        let place = info.location().map(|at| format!("{}:{}", at.file(), at.line()));
        let _ = PLACE.try_with(|last| last.replace(place));
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caught_panic_says_what_and_where() {
        let caught = catch(|| panic!("the {} is gone", "front")).err().unwrap();
        assert!(caught.message().starts_with("the front is gone (crates/harness/src/quiet.rs:"));
    }
}
