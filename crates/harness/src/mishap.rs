//! Panics outside of calls: an object, or a thread's handle of it, that panics while it is made or
//! dropped.
//!
//! That is a failure of the object and told as one. A destructor that panics has to be caught right
//! where it runs: objects are dropped many at a time, and a second panic would end the process.

use crate::failure::Failure;
use crate::quiet;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex};

/// A panic outside of a call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Mishap {
    /// What was done.
    pub doing: &'static str,
    /// What the panic said.
    pub message: String,
}

impl From<Mishap> for Failure {
    fn from(mishap: Mishap) -> Self {
        Failure::Panic { call: mishap.doing.to_owned(), message: mishap.message }
    }
}

/// Does something with an object that is no call.
pub(crate) fn attempt<R>(doing: &'static str, run: impl FnOnce() -> R) -> Result<R, Mishap> {
    quiet::catch(run).map_err(|panic| Mishap { doing, message: panic.message() })
}

/// The first mishap of an object and its handles, which outlives them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mishaps(Arc<Mutex<Option<Mishap>>>);

impl Mishaps {
    pub fn note(&self, mishap: Mishap) {
        self.0.lock().expect("nobody panics inside").get_or_insert(mishap);
    }

    pub fn first(&self) -> Option<Mishap> {
        self.0.lock().expect("nobody panics inside").clone()
    }
}

/// Something of the user's whose destructor may panic.
pub(crate) struct Guarded<T> {
    /// Gone only while it is dropped.
    value: Option<T>,
    dropping: &'static str,
    mishaps: Mishaps,
}

impl<T> Guarded<T> {
    pub fn new(value: T, dropping: &'static str, mishaps: &Mishaps) -> Self {
        Guarded { value: Some(value), dropping, mishaps: mishaps.clone() }
    }
}

impl<T> Deref for Guarded<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value.as_ref().expect("it lives until it is dropped")
    }
}

impl<T> DerefMut for Guarded<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.value.as_mut().expect("it lives until it is dropped")
    }
}

impl<T> Drop for Guarded<T> {
    fn drop(&mut self) {
        let value = self.value.take();
        if let Err(mishap) = attempt(self.dropping, || drop(value)) {
            self.mishaps.note(mishap);
        }
    }
}
