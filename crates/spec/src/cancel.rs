//! Asking a long computation to stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// A request to stop, shared by everyone who works on one check. It is raised by hand or by a
/// deadline.
///
/// ```
/// let cancel = seriatim_spec::Cancel::never();
/// assert!(!cancel.is_raised());
/// cancel.raise();
/// assert!(cancel.clone().is_raised());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Cancel {
    raised: Arc<AtomicBool>,
    deadline: Option<Instant>,
}

impl Cancel {
    /// A request that nothing raises but [`raise`](Cancel::raise).
    pub fn never() -> Self {
        Cancel::default()
    }

    /// A request that is raised at a deadline, if there is one.
    pub fn at(deadline: Option<Instant>) -> Self {
        Cancel { raised: Arc::default(), deadline }
    }

    /// Asks everyone to stop.
    pub fn raise(&self) {
        self.raised.store(true, Ordering::Relaxed);
    }

    /// Whether to stop.
    pub fn is_raised(&self) -> bool {
        self.raised.load(Ordering::Relaxed) || self.is_late()
    }

    /// Whether the deadline has passed.
    pub fn is_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }
}
