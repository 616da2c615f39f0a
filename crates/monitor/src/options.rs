//! How a history is to be checked: limits, threads, engines, and how much is said of a violation.

use crate::partition::Partitioning;
use crate::search::dovetail::{Standing, StopAt};
use seriatim_limits::addressable;
use seriatim_spec::{Cancel, Reason, Strategy};
use std::sync::OnceLock;
use std::time::Duration;

/// How to check.
pub struct Options<'o> {
    /// The time limit.
    pub time: Option<Duration>,
    /// The memory limit of the searches, in bytes.
    pub memory: usize,
    /// The number of threads.
    pub threads: usize,
    /// How finely to split.
    pub partitioning: Partitioning,
    /// Whether to go on after the first violation.
    pub stop_at: StopAt,
    /// Whether the fast monitors are asked first.
    pub monitors: Monitors,
    /// The directions of the general search, the first one first.
    pub strategies: Vec<Strategy>,
    /// How much to say of a violation.
    pub detail: Detail,
    /// The time for making a counterexample small, once there is a verdict.
    pub explain: Duration,
    /// Told now and then how it goes.
    pub observer: Option<&'o (dyn Fn(Standing) + Sync)>,
    /// A request to stop that the caller may raise, besides the time limit. One with a deadline
    /// ([`Cancel::at`]) is one limit for all that is asked with it; the time limit counts from each
    /// question anew.
    pub cancel: Option<&'o Cancel>,
}

impl Options<'_> {
    /// What stops the search for a verdict.
    pub(crate) fn request(&self) -> Cancel {
        let request = self.cancel.cloned().unwrap_or_else(Cancel::of_process);
        self.time.map_or_else(|| request.clone(), |time| request.within(time))
    }

    /// Whether the caller wants nothing more, not even an explanation.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.cancel.and_then(Cancel::reason) == Some(Reason::Interrupted)
    }
}

/// Whether the fast monitors are asked first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Monitors {
    /// They are.
    Use,
    /// The general search decides everything.
    Skip,
}

/// How much to say of a violation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Detail {
    /// The violating part as it is.
    Plain,
    /// A minimal counterexample.
    Minimal,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options::on(all_cores())
    }
}

impl Options<'_> {
    /// The default with a number of threads: whoever knows it need not ask the system for its cores.
    pub fn on(threads: usize) -> Self {
        Options {
            time: None,
            memory: addressable(4 << 30),
            threads,
            partitioning: Partitioning::ByKey,
            stop_at: StopAt::FirstViolation,
            monitors: Monitors::Use,
            strategies: vec![Strategy::DepthFirst, Strategy::BreadthFirst],
            detail: Detail::Minimal,
            explain: Duration::from_secs(2),
            observer: None,
            cancel: None,
        }
    }
}

/// The number of cores, asked once: the answer takes a look at the file system.
fn all_cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}
