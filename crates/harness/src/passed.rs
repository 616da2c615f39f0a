//! What a test that found nothing has done, and when that is too little.

use crate::coverage::{Overlap, gaps};
use std::fmt;
use std::time::Duration;

/// What a test that found nothing has done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passed {
    /// How the object was run.
    pub engine: String,
    /// The number of scenarios.
    pub scenarios: u64,
    /// The number of executions of all scenarios.
    pub executions: u64,
    /// The number of executions that differed in a result or in the order of the operations.
    pub different: u64,
    /// The number of scenarios of which every execution was seen, up to the engine's bound.
    pub complete: u64,
    /// The number of executions that could not be decided in time.
    pub undecided: u64,
    /// The number of executions that an explorer showed although C11 does not allow them.
    pub impossible: u64,
    /// The number of executions whose failure is not believed, since a thread was stopped in a
    /// system call that returned `EINTR` for that reason.
    pub disturbed: u64,
    /// The number of calls in different executions.
    pub calls: u64,
    /// The number of those calls whose answer is known: the others may have done anything.
    pub answered: u64,
    /// The time that it took.
    pub time: Duration,
    /// For each pair of operations that can overlap, in how many different executions it did.
    pub overlaps: Vec<Overlap>,
    /// The values that outlived their objects without becoming more.
    pub outlived: i64,
}

/// Fewer than one known answer in so many calls is almost nothing.
const MOSTLY: u64 = 10;

/// Fewer executions than this are almost nothing.
const FEW: u64 = 100;

impl Passed {
    /// Why the test may be too weak, a sentence each; nothing if there is no reason to think so.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.executions < FEW && self.complete == 0 {
            let (count, time) = (self.executions, self.time);
            warnings.push(format!("only {count} executions ran in {time:.1?}"));
        }
        if self.undecided > 0 {
            warnings.push(format!(
                "{} of {} different executions could not be decided in time and count for nothing",
                self.undecided, self.different
            ));
        }
        if self.disturbed > 0 {
            warnings.push(format!(
                "{} failures are not believed: a thread was interrupted in a system call that \
                 returned EINTR, and the object made something else of it; without interruptions \
                 there was no failure",
                self.disturbed
            ));
        }
        if self.answered * MOSTLY < self.calls {
            let (calls, answered) = (self.calls, self.answered);
            warnings.push(format!(
                "almost nothing was tested: of {calls} calls only {answered} have an answer that is known"
            ));
        }
        if self.outlived > 0 {
            let values = self.outlived;
            warnings
                .push(format!("{values} values outlived their objects but did not become more"));
        }
        warnings.extend(gaps(&self.overlaps));
        warnings
    }

    /// The summary, with the warnings.
    pub(crate) fn told(&self, name: &str) -> Option<String> {
        let warnings = self.warnings();
        let lines = warnings.iter().map(|warning| format!("warning: {name}: {warning}\n"));
        (!warnings.is_empty()).then(|| lines.collect())
    }
}

impl fmt::Display for Passed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Passed { engine, scenarios, executions, different, complete, undecided, .. } = self;
        write!(
            f,
            "no failure found by {engine}: {scenarios} scenarios, {executions} executions, \
             {different} different interleavings"
        )?;
        if !self.overlaps.is_empty() {
            let seen = self.overlaps.iter().filter(|overlap| overlap.executions > 0).count();
            write!(f, ", {seen} of {} pairs of operations overlapped", self.overlaps.len())?;
        }
        if *complete > 0 {
            write!(f, ", {complete} scenarios explored completely")?;
        }
        if *undecided > 0 {
            write!(f, ", {undecided} executions undecided")?;
        }
        if self.impossible > 0 {
            write!(f, ", {} executions not judged since C11 forbids them", self.impossible)?;
        }
        Ok(())
    }
}
