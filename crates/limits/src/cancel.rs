//! Asking a long computation to stop.

use crate::{Instant, Reason, stopped};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What is left for the most important things when the time is over.
const MOMENT: Duration = Duration::from_millis(50);

/// A request to stop, shared by everyone who works on one check. It is raised by hand, by a
/// deadline, or when the process has to stop.
///
/// ```
/// let cancel = seriatim_limits::Cancel::never();
/// assert!(!cancel.is_raised());
/// cancel.raise();
/// assert!(cancel.clone().is_raised());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Cancel {
    raised: Arc<AtomicBool>,
    deadline: Option<Instant>,
    heeds_process: bool,
}

impl Cancel {
    /// A request that nothing raises but [`raise`](Cancel::raise): for short work that must be
    /// finished, such as telling what was found, even when the process has to stop.
    pub fn never() -> Self {
        Cancel::default()
    }

    /// A request that is raised at a deadline, if there is one, and when the process has to stop.
    pub fn at(deadline: Option<Instant>) -> Self {
        Cancel { raised: Arc::default(), deadline, heeds_process: true }
    }

    /// A request that is raised when the process has to stop.
    pub fn of_process() -> Self {
        Cancel::at(None)
    }

    /// A request for what is still worth doing when there is an answer, as asking for a second
    /// opinion: it is raised when the process has to stop, or, if it has to already, after a
    /// moment.
    pub fn last() -> Self {
        match stopped() {
            None => Cancel::of_process(),
            Some(_) => Cancel { deadline: Some(Instant::now() + MOMENT), ..Cancel::never() },
        }
    }

    /// Asks everyone to stop.
    pub fn raise(&self) {
        self.raised.store(true, Ordering::Relaxed);
    }

    /// Whether to stop.
    pub fn is_raised(&self) -> bool {
        self.reason().is_some()
    }

    /// Why to stop, if so.
    pub fn reason(&self) -> Option<Reason> {
        if self.heeds_process
            && let Some(reason) = stopped()
        {
            return Some(reason);
        }
        if self.raised.load(Ordering::Relaxed) {
            return Some(Reason::Interrupted);
        }
        let is_late = self.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        is_late.then_some(Reason::Time)
    }

    /// Whether the time is over.
    pub fn is_late(&self) -> bool {
        self.reason() == Some(Reason::Time)
    }
}
