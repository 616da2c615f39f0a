//! Asking a long computation to stop.

use crate::{Instant, Reason, stopped};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
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
    /// Of a request that waits for a moment: when it would have been raised without.
    waits_since: Option<Arc<OnceLock<Instant>>>,
}

impl Cancel {
    /// A request that nothing raises but [`raise`](Cancel::raise): for short work that must be
    /// finished, such as telling what was found, even when the process has to stop.
    pub fn never() -> Self {
        Cancel::default()
    }

    /// A request that is raised at a deadline, if there is one, and when the process has to stop.
    pub fn at(deadline: Option<Instant>) -> Self {
        Cancel { deadline, heeds_process: true, ..Cancel::never() }
    }

    /// A request that is raised when the process has to stop.
    pub fn of_process() -> Self {
        Cancel::at(None)
    }

    /// The same request, which is raised after that time as well.
    pub fn within(&self, time: Duration) -> Self {
        let (deadline, waits_since) = (Instant::now() + time, None);
        let deadline = Some(self.deadline.map_or(deadline, |earlier| earlier.min(deadline)));
        Cancel { deadline, waits_since, ..self.clone() }
    }

    /// The request for what is still worth doing when there is an answer, as replaying it or asking
    /// for a second opinion: it is raised a moment later than this one. There is no such moment for who
    /// [raises](Cancel::raise) it by hand, nor where memory runs out meanwhile.
    pub fn patient(&self) -> Self {
        match self.reason() {
            Some(_) if !self.is_raised_by_hand() => {
                Cancel { deadline: Some(Instant::now() + MOMENT), ..Cancel::never() }
            }
            _ => Cancel { waits_since: Some(Arc::default()), ..self.clone() },
        }
    }

    /// The [patient](Cancel::patient) request of the process.
    pub fn last() -> Self {
        Cancel::of_process().patient()
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
        let reason = self.reason_at_once()?;
        let is_waiting = self.waits_since.as_ref().is_some_and(|since| {
            reason != Reason::Memory
                && !self.is_raised_by_hand()
                && since.get_or_init(Instant::now).elapsed() < MOMENT
        });
        (!is_waiting).then_some(reason)
    }

    fn is_raised_by_hand(&self) -> bool {
        self.raised.load(Ordering::Relaxed)
    }

    fn reason_at_once(&self) -> Option<Reason> {
        if self.heeds_process
            && let Some(reason) = stopped()
        {
            return Some(reason);
        }
        if self.is_raised_by_hand() {
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
